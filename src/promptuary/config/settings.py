"""Settings: one frozen value, read once, each setting from the nearest place that names it.

    options  >  PROMPTUARY_* in the environment  >  the workspace  >  the user's configuration  >  defaults

The workspace's own files (``.promptuary/config.toml`` before ``promptuary.toml`` before ``[tool.promptuary]`` in
``pyproject.toml``) may come from strangers: they can say how much context is wanted, never open a door, and nothing
that is wrong with them stops anything. What a person sets wrongly is a ``ConfigError``.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from promptuary.config.values import converted, cut, nearest
from promptuary.core.errors import Code, ConfigError, SourceError
from promptuary.core.text import one_line
from promptuary.tokens import DEFAULT_VOCABULARY, DEFAULT_WINDOW, Model, for_model, known_model
from promptuary.workspace.disk.policy import ReadPolicy
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import Root

MARKERS: Final = (".promptuary", ".git", "promptuary.toml")
"""What makes a folder a workspace."""

# From the least specific to the most: a later one wins.
_WORKSPACE_FILES: Final = ("pyproject.toml", "promptuary.toml", ".promptuary/config.toml")
_PREFIX: Final = "PROMPTUARY_"
_MOST_NOTES: Final = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Sizes are bytes, times seconds, shares parts of the window."""

    model: str = ""
    window: int = 0
    vocabulary: str = ""
    warn_share: float = 0.25
    limit_share: float = 0.5
    timeout: float = 30.0
    max_file_size: int = 1024 * 1024
    allowed_extensions: tuple[str, ...] = ()
    allow_sensitive: tuple[str, ...] = ()
    follow_symlinks: bool = False
    allow_hosts: tuple[str, ...] = ()
    fetch_timeout: float = 15.0
    reply_reserve: int = 4096
    compact_share: float = 0.7
    chunk_tokens: int = 256
    chunk_overlap: int = 32
    embedder: str = "auto"
    embed_url: str = ""
    embed_model: str = ""
    embed_key: str = ""
    watch_debounce: float = 0.2
    recall_tokens: int = 2000
    notes: tuple[str, ...] = field(default=(), metadata={"internal": True})
    """What was left out and why, and what else the person should know: a line of harmless text each."""
    origins: tuple[tuple[str, str], ...] = field(default=(), metadata={"internal": True})
    """Where each setting that was set came from."""

    @property
    def effective_window(self) -> int:
        """The window that was set, else the model's, else the default."""
        return self.window or self._model.window

    @property
    def effective_vocabulary(self) -> str:
        """The vocabulary that was set, else the model's, else the default."""
        return self.vocabulary or self._model.vocabulary

    @property
    def approximate(self) -> bool:
        """Whether tokens are counted with a vocabulary that may not be the model's."""
        return not self.vocabulary and not self._model.exact

    @property
    def _model(self) -> Model:
        if not self.model:
            return Model(DEFAULT_WINDOW, DEFAULT_VOCABULARY)
        return known_model(self.model) or Model(DEFAULT_WINDOW, DEFAULT_VOCABULARY, exact=False)

    def origin(self, name: str) -> str:
        """Return where a setting comes from.

        That is "default", "model", "your configuration", the name of a file, "environment" or "option".
        """
        by_model = name in {"window", "vocabulary"} and known_model(self.model) is not None
        return dict(self.origins).get(name, "model" if by_model else "default")


OPENS_A_DOOR: Final = frozenset(
    {
        "allow_hosts",
        "allowed_extensions",
        "allow_sensitive",
        "embed_key",
        "embed_url",
        "embedder",
        "follow_symlinks",
        "max_file_size",
    }
)
"""Settings that only the person may give."""

_FIELDS: Final[Mapping[str, Field[Any]]] = {one.name: one for one in fields(Settings) if not one.metadata}
SETTINGS: Final = tuple(_FIELDS)
"""The names of everything that can be set."""


def load(workspace: Path, options: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings for ``workspace``; ``options`` are what was given by hand, ``None`` where it was not.

    Raises ``ConfigError`` for what the person set wrongly. What a file of the workspace sets wrongly is left out,
    with a note.
    """
    draft = _Draft()
    path = _user_file()
    draft.take(_user_values(path), "your configuration", lambda name: f"{name} in {path}")
    _take_workspace(draft, workspace)
    draft.take(_environment(draft.notes), "environment", lambda name: _PREFIX + name.upper())
    given = {name: value for name, value in (options or {}).items() if value is not None}
    draft.take(given, "option", lambda name: f"option {name}")
    return draft.settled()


def find_workspace(start: Path) -> Path:
    """Return the nearest folder from ``start`` upwards that is a workspace, else ``start`` itself."""
    start = start.absolute()
    return next((folder for folder in (start, *start.parents) if _is_workspace(folder)), start)


def _is_workspace(folder: Path) -> bool:
    try:
        return any((folder / marker).exists() for marker in MARKERS)
    except OSError:  # a folder above that may not be looked into
        return False


@dataclass(slots=True)
class _Draft:
    """Settings in the making."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take(self, given: Mapping[str, Any], origin: str, called: Callable[[str], str]) -> None:
        """Take settings that a person gave; ``called`` says how an error names one."""
        for name, value in given.items():
            self._set(name, value, origin, called(name))

    def take_harmless(self, given: Mapping[str, Any], origin: str) -> None:
        """Take what a workspace may set; note the rest, of a flood of unknown names the first few."""
        unknown = [name for name in given if name not in _FIELDS]
        for name in (*(name for name in given if name in _FIELDS), *unknown[:_MOST_NOTES]):
            where = f"{cut(name)} in {origin}"
            if name in OPENS_A_DOOR:
                self.notes.append(f"{where} is ignored: only you can set it, by a flag or in your own configuration")
                continue
            try:
                self._set(name, given[name], origin, where)
            except ConfigError as error:
                self.notes.append(f"{error} (ignored)")
        if len(unknown) > _MOST_NOTES:
            self.notes.append(f"{origin} sets {len(unknown) - _MOST_NOTES:,} more names that are no settings (ignored)")

    def _set(self, name: str, value: object, origin: str, where: str) -> None:
        self.values[name] = _value(name, value, where)
        self.origins[name] = origin

    def settled(self) -> Settings:
        """Return the settings, with a note where the model is not known well enough to count exactly."""
        settings = Settings(**self.values)
        known = known_model(settings.model)
        shown = cut(settings.model)
        if settings.model and known is None and not settings.window:
            if self.origins["model"] not in _WORKSPACE_FILES:
                for_model(settings.model)
            self.notes.append(f"model {shown} in {self.origins['model']} is not known: set window too")
        if settings.approximate:
            why = "its vocabulary is not public" if known else "the model is not known"
            used = settings.effective_vocabulary
            self.notes.append(f"counts are approximate for {shown}: {why}, so tokens are counted with {used}")
        notes = tuple(map(one_line, self.notes))
        return Settings(**self.values, notes=notes, origins=tuple(self.origins.items()))


def _user_file() -> Path | None:
    base = os.environ.get("XDG_CONFIG_HOME")
    try:
        return Path(base or Path.home() / ".config") / "promptuary" / "config.toml"
    except RuntimeError:  # a user without a home
        return None


def _user_values(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    try:
        return _parsed(path.read_text(encoding="utf-8"), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from error


def _take_workspace(draft: _Draft, workspace: Path) -> None:
    with Root(workspace) as root:
        for name in _WORKSPACE_FILES:
            try:
                draft.take_harmless(_table(_parsed(read_text(root, name, ReadPolicy()).text, name), name), name)
            except SourceError as error:
                if error.code is not Code.NOT_FOUND:
                    draft.notes.append(
                        f"{name} is ignored ({error.code}): it must be a text file of at most 1 MB, and no link"
                    )
            except ConfigError as error:
                draft.notes.append(f"{error} (ignored)")


def _table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if name != "pyproject.toml":
        return values
    for key in ("tool", "promptuary"):
        values = values.get(key, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{key} in {name} must be a table")
    return values


def _environment(notes: list[str]) -> Mapping[str, str]:
    """Return the settings in the environment; an empty variable counts as unset, and a misspelled one is noted.

    A name that is like no setting's may belong to another program, so nothing is said of it.
    """
    found = {}
    for variable in sorted(os.environ):
        name = variable.removeprefix(_PREFIX).lower()
        if not variable.startswith(_PREFIX) or not os.environ[variable].strip():
            continue
        if name in _FIELDS and variable.isupper():
            found[name] = os.environ[variable]
        elif meant := nearest(name, _FIELDS):
            notes.append(f"{cut(variable)} in the environment is no setting; did you mean {_PREFIX}{meant.upper()}?")
    return found


def _parsed(text: str, name: str) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  (most have no file of settings)

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not valid TOML: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{name} is not valid TOML: a number in it is too long") from error
    except RecursionError as error:
        raise ConfigError(f"{name} is not valid TOML: it is nested too deeply") from error


def _value(name: str, value: object, where: str) -> object:
    if name in _FIELDS:
        return converted(name, value, where, _FIELDS[name].default)
    meant = nearest(name, _FIELDS)
    advice = f"did you mean {meant}?" if meant else "`promptuary config` shows all there are"
    raise ConfigError(f"{where} is no setting; {advice}")

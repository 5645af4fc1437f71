"""Settings: one frozen value, read once, each setting from the nearest place that names it.

    flags  >  PROMPTUARY_* in the environment  >  the workspace  >  the user's configuration  >  defaults

The workspace's own files (``.promptuary/config.toml``, ``promptuary.toml``, ``[tool.promptuary]`` in
``pyproject.toml``) may come from strangers: they can say how much context is wanted, never open a door. A setting
that widens what can be read or fetched is taken from the person alone.
"""

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from promptuary.core.errors import ConfigError, SourceError
from promptuary.tokens import DEFAULT_VOCABULARY, DEFAULT_WINDOW, VOCABULARIES, for_model
from promptuary.workspace.policy import ReadPolicy
from promptuary.workspace.read import read_text
from promptuary.workspace.root import Root

MARKERS: Final = (".promptuary", ".git", "promptuary.toml")
"""What makes a folder a workspace."""

_SIZE = re.compile(r"(?P<digits>[0-9][0-9_]*)(?P<unit>|[kmg](?:i?b)?|b)")
_WORKSPACE_FILES = (".promptuary/config.toml", "promptuary.toml", "pyproject.toml")


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
    ignored: tuple[str, ...] = field(default=(), metadata={"internal": True})
    """Settings that the workspace asked for and may not have."""

    @property
    def effective_window(self) -> int:
        """The window that was set, else the model's, else the default."""
        return self.window or (for_model(self.model).window if self.model else DEFAULT_WINDOW)

    @property
    def effective_vocabulary(self) -> str:
        """The vocabulary that was set, else the model's, else the default."""
        return self.vocabulary or (for_model(self.model).vocabulary if self.model else DEFAULT_VOCABULARY)


OPENS_A_DOOR: Final = frozenset(
    {"allow_hosts", "allowed_extensions", "allow_sensitive", "follow_symlinks", "max_file_size"}
)
"""Settings that only the person may give."""


def load(workspace: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings for ``workspace``; ``flags`` are what was given by hand, ``None`` where it was not."""
    settings = _applied(Settings(), _user_file(), "the user's configuration")
    settings = _applied_from_workspace(settings, workspace)
    settings = _applied(settings, _environment(), "the environment")
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    return _checked(_applied(settings, given, "the command line"))


def find_workspace(start: Path) -> Path:
    """Return the nearest folder from ``start`` upwards that is a workspace, else ``start`` itself."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if any((folder / marker).exists() for marker in MARKERS):
            return folder
    return start


def _user_file() -> Mapping[str, Any]:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    path = Path(base) / "promptuary" / "config.toml"
    try:
        return _parsed(path.read_text(encoding="utf-8"), str(path))
    except OSError:
        return {}


def _applied_from_workspace(settings: Settings, workspace: Path) -> Settings:
    with Root(workspace) as root:
        for name in _WORKSPACE_FILES:
            try:
                text = read_text(root, name, ReadPolicy()).text
            except SourceError:
                continue
            values = _parsed(text, name)
            if name == "pyproject.toml":
                values = values.get("tool", {}).get("promptuary", {})
            refused = tuple(f"{key} in {name}" for key in sorted(OPENS_A_DOOR & values.keys()))
            harmless = {key: value for key, value in values.items() if key not in OPENS_A_DOOR}
            settings = _applied(settings, harmless, name)
            settings = replace(settings, ignored=settings.ignored + refused)
    return settings


def _environment() -> Mapping[str, Any]:
    prefix = "PROMPTUARY_"
    known = {prefix + one.name.upper(): one.name for one in _public_fields()}
    return {name: os.environ[variable] for variable, name in known.items() if variable in os.environ}


def _parsed(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not valid TOML: {error}") from error


def _applied(settings: Settings, values: Mapping[str, Any], origin: str) -> Settings:
    known = {one.name: one for one in _public_fields()}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"{origin} sets {name}, which is no setting; there are: {', '.join(sorted(known))}")
        changes[name] = _converted(known[name].default, value, f"{name} in {origin}")
    return replace(settings, **changes)


def _converted(default: object, value: object, where: str) -> object:
    """Return ``value`` in the type of ``default``; text from the environment counts as what it spells."""
    match default:
        case bool():
            return _boolean(value, where)
        case int():
            return _integer(value, where)
        case float():
            return _number(value, where)
        case tuple():
            return _names(value, where)
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be text, not {value!r}")
    return value


def _boolean(value: object, where: str) -> bool:
    spelled = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in spelled:
        return spelled[value.lower()]
    raise ConfigError(f"{where} must be true or false, not {value!r}")


def _integer(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    spelled = _SIZE.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    if spelled is None:
        raise ConfigError(f"{where} must be a whole number (128000, 128k, 2MB), not {value!r}")
    scale = 1024 if "b" in spelled["unit"] else 1000
    steps = "kmg".find(spelled["unit"][:1] or "-") + 1
    return int(spelled["digits"].replace("_", "")) * math.prod([scale] * steps)


def _number(value: object, where: str) -> float:
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            percent = isinstance(value, str) and value.endswith("%")
            number = float(str(value).removesuffix("%")) / (100 if percent else 1)
            if math.isfinite(number):
                return number
    except ValueError:
        pass
    raise ConfigError(f"{where} must be a number, not {value!r}")


def _names(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ConfigError(f"{where} must be a list of names, not {value!r}")


def _checked(settings: Settings) -> Settings:
    if settings.window and settings.window < 100:
        raise ConfigError(f"window must be at least 100 tokens, not {settings.window}")
    for name in ("warn_share", "limit_share"):
        if not 0 < getattr(settings, name) <= 1:
            raise ConfigError(f"{name} must be above 0 and at most 1 (or 100%), not {getattr(settings, name)}")
    for name in ("timeout", "fetch_timeout", "max_file_size"):
        if getattr(settings, name) <= 0:
            raise ConfigError(f"{name} must be above 0, not {getattr(settings, name)}")
    if settings.vocabulary and settings.vocabulary not in VOCABULARIES:
        known = ", ".join(VOCABULARIES)
        raise ConfigError(f"vocabulary {settings.vocabulary!r} is not known; use one of: {known}")
    if settings.model and not (settings.window and settings.vocabulary):
        for_model(settings.model)
    return settings


def _public_fields() -> tuple[Field[Any], ...]:
    return tuple(one for one in fields(Settings) if not one.metadata.get("internal"))

"""Changes a file of settings: the person's own, or one of a workspace. Comments and all other settings stay."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.config.settings import (
    MAX_FILE_SIZE,
    USER_ONLY,
    WORKSPACE_FILES,
    check_setting,
    check_settings,
    setting_value,
    user_file,
)
from promptuary.config.settings_file import parse_settings, spellings, workspace_table
from promptuary.config.toml_statements import TomlPair, tables
from promptuary.workspace.access import Access
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import Root
from promptuary.workspace.programs.agents.config_files import config_text, replace_config

_IN_PYPROJECT: Final = ("tool", "promptuary")


class SettingsFile(Struct, frozen=True):
    """A file of settings, which need not exist. ``name`` is its path in a ``workspace``; the person's own has none."""

    path: Path
    name: str = ""
    workspace: Path | None = None

    @property
    def origin(self) -> str:
        """The origin that a setting in it has."""
        return self.name or "your configuration"

    def text(self) -> str | None:
        """Return its text; ``None`` if there is none. Raises ``PromptuaryError`` if it cannot be read."""
        if self.workspace is None:
            return config_text(self.path)
        with Root(self.workspace) as root:
            return _text_in(root, self.name)

    def check(self, text: str) -> None:
        """Raise ``ConfigError`` for a mistake in a text that is going to be the file's."""
        check_settings(text, self.name or str(self.path))

    def write(self, before: str | None, after: str) -> None:
        """Replace its text ``before``. Raises ``PromptuaryError`` if it has changed meanwhile, or is read-only."""
        if self.workspace is None:
            replace_config(self.path, before, after)
            return
        with Root(self.workspace) as root:
            if _text_in(root, self.name) != before:
                raise ConfigError(f"{self.name} has changed meanwhile; try again")
            root.replace_file(self.name, after.encode())

    def set(self, name: str, value: str | Sequence[str]) -> object:
        """Set a setting, and return its value. Raises ``ConfigError`` if it is wrong, or cannot be set here."""
        name = check_setting(name, name)
        if self.workspace is not None and name in USER_ONLY:
            raise ConfigError(f"a workspace cannot set {name}; only your own configuration can")
        found = setting_value(name, value, name)
        before = self.text()
        after = with_setting(before or "", name, found, self.name)
        # What else a workspace has that is ignored does not concern this setting.
        self.check(after if self.workspace is None else with_setting("", name, found, self.name))
        self.write(before, after)
        return found


def settings_file(workspace: Path, *, here: bool) -> SettingsFile:
    """Return the person's own file or, with ``here``, the one of the workspace that wins there.

    Without one, that is a new ``promptuary.toml``. Raises ``ConfigError`` for a user without a home.
    """
    if not here:
        own = user_file()
        if own is None:
            raise ConfigError("there is no home folder for your configuration; set XDG_CONFIG_HOME")
        return SettingsFile(own)
    with Root(workspace) as root:
        found = [name for name in reversed(WORKSPACE_FILES) if _has_settings(_text_in(root, name), name)]
        return SettingsFile(root.path / (name := [*found, "promptuary.toml"][0]), name, root.path)


def _has_settings(text: str | None, name: str) -> bool:
    return text is not None and (name != "pyproject.toml" or bool(workspace_table(parse_settings(text, name), name)))


def _text_in(root: Root, name: str) -> str | None:
    try:
        return read_text(root, name, Access(max_bytes=MAX_FILE_SIZE, protected=None)).text
    except SourceError as error:
        if error.code is Code.NOT_FOUND:
            return None
        raise


def with_setting(text: str, name: str, value: object, file: str = "") -> str:
    """Return the text of a file with another value of a setting.

    One that is there keeps its place, also in a table; a new one follows the others outside of tables. Raises
    ``ConfigError`` if the file is not TOML, or so unusual that it cannot be changed.
    """
    parse_settings(text, file or "your configuration")
    inside = _IN_PYPROJECT if file == "pyproject.toml" else ()
    places = {(*inside, *path) for path in spellings(name)}
    spelled = _spelled(value)
    for table in tables(text):
        for path, pair in _pairs(table.pairs, table.path):
            if path in places and not table.is_item:
                return _checked(f"{text[: pair.value]}{spelled}{text[pair.end :]}", name, spelled, file)
    return _checked(_with_line(text, f"{name} = {spelled}", inside), name, spelled, file)


def _pairs(pairs: Sequence[TomlPair], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], TomlPair]]:
    """Yield every key with its whole path, also those in inline tables."""
    for pair in pairs:
        path = (*above, *pair.path)
        yield path, pair
        yield from _pairs(pair.members or (), path)


def _with_line(text: str, line: str, inside: tuple[str, ...]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    every = tables(text)
    table = next((table for table in every if table.path == inside and not table.is_item), None)
    if table is None:
        above = f"{text.rstrip()}{newline * 2}" if text.strip() else ""
        return f"{above}[{'.'.join(inside)}]{newline}{line}{newline}"
    if table.pairs or table.path:
        end = text.find("\n", table.stop)
    elif len(every) > 1:  # only tables: before the first, and before the comments above that
        return f"{line}{newline * 2}{text}"
    else:
        end = -1
    before, after = (text, "") if end < 0 else (text[: end + 1], text[end + 1 :])
    gap = newline if before and not before.endswith("\n") else ""
    return f"{before}{gap}{line}{newline}{after}"


def _spelled(value: object) -> str:
    """Return a value as TOML spells it, which is mostly how JSON does."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _checked(after: str, name: str, spelled: str, file: str) -> str:
    """Return a changed text, if it has the setting and is still TOML."""
    wanted: Mapping[str, Any] = parse_settings(f"x = {spelled}", name)
    try:
        found = workspace_table(parse_settings(after, file), file)
    except ConfigError:
        found = {}
    if found.get(name) != wanted["x"]:
        raise ConfigError(f"the file cannot be changed by a program; write it yourself: {name} = {spelled}")
    return after

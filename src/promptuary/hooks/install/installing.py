"""Plans the change of a client's settings, applies it, and undoes it.

Install records what it has written, and that decides what is ours: a file that nobody has changed since is restored
whole; from any other, only our entries are removed, and the entries that they replaced are restored.
"""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.hooks.install import jsonc, toml_text
from promptuary.hooks.install.clients import SettingsFile
from promptuary.hooks.install.entries import SettingsEntry, put_in, take_out
from promptuary.workspace.programs.agents.config_files import (
    NotedSettings,
    SettingsEdit,
    WrittenEntry,
    apply_edits,
    check_writable,
    config_text,
    list_noted_files,
    undo_edits,
)

_TEXT = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*')([ \t]*[:=])?""")
"""A text in a settings file, and what makes it the name of something."""
_SHORT = 5
_OWN_NAME = "promptuary"

Undone = Literal["as it was", "taken out", "not there", "left"]
"""The result for a file: restored whole; our entries removed; nothing of ours in it; it could not be undone."""


class SettingsChange(SettingsEdit, frozen=True):
    """A change of a settings file. ``left`` says what stays unchanged although something else is wanted.

    A change may affect only our record.
    """

    left: tuple[str, ...] = ()

    def diff(self, *, undoing: bool = False) -> str:
        """Return the change as a patch; empty if the file does not change.

        Others keep keys in these files: the lines around the change are left out, and a text that is not ours is "…".
        """
        name, others = str(self.path), (self.after if undoing else self.before) or ""
        old, new = (self.before or "").splitlines(), (self.after or "").splitlines()
        source, target = (name if text is not None else "/dev/null" for text in (self.before, self.after))

        def shown(found: re.Match[str]) -> str:
            text, is_name = found[1], found[2]
            ours = is_name or len(text) <= _SHORT or _OWN_NAME in text or text not in others
            return found[0] if ours else f"{text[0]}…{text[0]}"

        lines = difflib.unified_diff(old, new, source, target, n=0, lineterm="")
        return "\n".join(_TEXT.sub(shown, line) for line in lines)


class UndoneFile(Struct, frozen=True):
    """What undoing does to a file, and a sentence for each entry that stays, with the reason."""

    change: SettingsChange
    how: Undone
    reasons: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why entries stay, in one text; empty if none do."""
        return "; ".join(self.reasons)


def planned(client: str, files: Sequence[SettingsFile], *, force: bool = False) -> list[SettingsChange]:
    """Return the changes that make the settings contain ``files``, and nothing else that install wrote earlier.

    Raises ``PromptuaryError``, which names the file, if a file cannot be changed, or has somebody else's entry.
    """
    noted = {one.path: one for one in list_noted_files(client)}
    wanted = {one.path: one.entries for one in files}
    found: list[SettingsChange] = []
    for path in dict.fromkeys([*wanted, *noted]):
        try:
            change = _changed(path, wanted.get(path, ()), noted.get(path), force=force)
            if change.after != change.before:
                check_writable(path)
        except PromptuaryError as error:
            named = str(error) if str(path) in str(error) else f"{one_line(str(path))}: {error}"
            raise PromptuaryError(f"{named}; nothing was written") from error
        if change.after != change.before or change.left:
            found.append(change)
    return found


def write(client: str, changes: Sequence[SettingsChange]) -> None:
    """Apply the changes, after recording how to undo them."""
    apply_edits(client, [one for one in changes if one.after != one.before])


def planned_undo(client: str, files: Sequence[SettingsFile], *, force: bool = False) -> list[UndoneFile]:
    """Return what undoing does to each file."""
    noted = {one.path: one for one in list_noted_files(client)}
    wanted = {one.path: one.entries for one in files}
    return [
        _undone(path, wanted.get(path, ()), noted.get(path), force=force) for path in dict.fromkeys([*noted, *wanted])
    ]


def undo(client: str, steps: Sequence[UndoneFile]) -> list[UndoneFile]:
    """Undo what was written for a client, as planned; return the result for each file."""
    noted = {one.path for one in list_noted_files(client)}
    edits = [
        one.change
        for one in steps
        if one.change.after != one.change.before or (one.how != "left" and one.change.path in noted)
    ]
    failed = undo_edits(client, edits) if edits else {}
    return [
        replace(one, how="left", reasons=(failed[one.change.path],)) if one.change.path in failed else one
        for one in steps
    ]


def _changed(
    path: Path, wanted: Sequence[SettingsEntry], noted: NotedSettings | None, *, force: bool
) -> SettingsChange:
    """Return the change of one file: adds the wanted entries, and removes those of install that are not wanted now."""
    before = config_text(path)
    text, left = before or "", list[str]()
    known = {} if noted is None else {_name(one): one for one in noted.entries}
    named = {_name(one) for one in wanted}
    for one in [] if noted is None else reversed(noted.entries):
        if _name(one) not in named:
            edited = take_out(text, _entry(one), one.values, (noted.without or "") if noted else "", force=force)
            text = edited.text
            left.extend(filter(None, [edited.left]))
    for entry in wanted:
        edited = put_in(text, entry, _values(known, entry), force=force)
        is_new, text = edited.text != text, edited.text
        left.extend(filter(None, [edited.left]))
        if is_new:
            values = tuple(one for one in _values(known, entry) if one != entry.value)
            known[_name(entry)] = WrittenEntry(entry.kind, entry.path, (*values[-7:], entry.value))
    after = None if before is None and not text else text
    if noted is not None and noted.without is None and _is_empty(path, text):
        after = None
    return SettingsChange(path, before, after, _without(path, before, noted), tuple(known.values()), tuple(left))


def _without(path: Path, text: str | None, noted: NotedSettings | None) -> str | None:
    """Return the text of a file without our entries."""
    if noted is None or text is None:
        return text
    return noted.without if noted.is_as_written(text) else _taken_out(path, text, noted, force=False)[0]


def _undone(path: Path, wanted: Sequence[SettingsEntry], noted: NotedSettings | None, *, force: bool) -> UndoneFile:
    text: str | None = None
    try:
        text = config_text(path)
        if noted is not None and (text == noted.without or noted.is_as_written(text)):
            how: Undone = "as it was" if text != noted.without else "not there"
            return UndoneFile(SettingsChange(path, text, noted.without), how)
        if text is None:
            return UndoneFile(SettingsChange(path, None, None), "not there")
        after, left, reasons = _taken_out(path, text, noted, force=force)
        known = set() if noted is None else {_name(one) for one in noted.entries}
        for entry in wanted:
            if _name(entry) not in known and after is not None:
                edited = take_out(after, entry, (), None, force=force)
                after = edited.text
                reasons.extend(filter(None, [edited.left]))
        how = "taken out" if after != text else "left" if reasons else "not there"
        return UndoneFile(SettingsChange(path, text, after, entries=tuple(left)), how, tuple(reasons))
    except PromptuaryError as error:
        return UndoneFile(SettingsChange(path, text, text), "left", (str(error),))


def _taken_out(
    path: Path, text: str, noted: NotedSettings | None, *, force: bool
) -> tuple[str | None, list[WrittenEntry], list[str]]:
    """Return a text without the recorded entries, which of them stay, and why."""
    left: list[WrittenEntry] = []
    reasons: list[str] = []
    if noted is None:
        return text, left, reasons
    for one in reversed(noted.entries):
        edited = take_out(text, _entry(one), one.values, noted.without or "", force=force)
        text = edited.text
        if edited.left:
            left.append(one)
            reasons.append(edited.left)
    nothing_left = _is_empty(path, text) and _is_empty(path, noted.without or "")
    return noted.without if nothing_left else text, left, reasons


def _is_empty(path: Path, text: str) -> bool:
    return toml_text.is_empty(text) if path.suffix == ".toml" else jsonc.is_empty(text)


def _name(one: WrittenEntry | SettingsEntry) -> tuple[str, tuple[str, ...]]:
    return one.kind, one.path


def _entry(one: WrittenEntry) -> SettingsEntry:
    kind: Any = one.kind
    return SettingsEntry(kind, one.path, one.values[-1])


def _values(known: dict[tuple[str, tuple[str, ...]], WrittenEntry], entry: SettingsEntry) -> tuple[Any, ...]:
    found = known.get(_name(entry))
    return () if found is None else found.values

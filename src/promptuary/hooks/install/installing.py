"""Plans the change of a client's settings, makes it, and undoes it."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line
from promptuary.hooks.install.clients import SettingsFile
from promptuary.machine import apply_edits, config_text, forget_noted, noted_files, restored, write_config

Undone = Literal["as it was", "taken out", "not there", "left"]
"""What became of a file: all of it as before; our entries taken out; nothing of ours in it; it could not be undone."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A settings file as it is, ``None`` if there is none, and as it is to be."""

    path: Path
    before: str | None
    after: str

    @property
    def diff(self) -> str:
        """The change as a patch."""
        name = str(self.path)
        old, new = (self.before or "").splitlines(), self.after.splitlines()
        return "\n".join(
            difflib.unified_diff(old, new, name if self.before is not None else "/dev/null", name, lineterm="")
        )


@dataclass(frozen=True, slots=True)
class UndoneFile:
    """What became of a file when a change was undone, and why if it was left."""

    path: Path
    how: Undone
    reason: str = ""


def planned(files: Sequence[SettingsFile]) -> list[SettingsChange]:
    """Return the changes that are still to be made. Raises ``PromptuaryError``, which names the file, if one cannot."""
    found: list[SettingsChange] = []
    for one in files:
        text = config_text(one.path)
        try:
            after = one.written(text or "")
        except PromptuaryError as error:
            raise PromptuaryError(f"{one_line(str(one.path))}: {error}; nothing was written") from error
        if after != text:
            found.append(SettingsChange(one.path, text, after))
    return found


def write(client: str, changes: Sequence[SettingsChange]) -> None:
    """Make the changes, after noting what the files were before."""
    apply_edits(client, [(one.path, one.before, one.after) for one in changes])


def planned_undo(client: str, files: Sequence[SettingsFile]) -> list[SettingsChange]:
    """Return what undoing would change."""
    noted = {one.path: one for one in noted_files(client)}
    found: list[SettingsChange] = []
    for one in files:
        text = config_text(one.path)
        known = noted.get(one.path)
        if text is None:
            continue
        before = None if known is None else (known.before or b"").decode("utf-8", "replace")
        after = before if known is not None and known.is_current and before is not None else one.taken_out(text)
        if after != text:
            found.append(SettingsChange(one.path, text, after))
    return found


def undo(client: str, files: Sequence[SettingsFile]) -> list[UndoneFile]:
    """Undo what was written for a client: whole files where nobody changed them since, else our entries alone."""
    noted = {one.path: one for one in noted_files(client)}
    paths = list(dict.fromkeys([*noted, *(one.path for one in files)]))
    wanted = {one.path: one for one in files}
    done: list[UndoneFile] = []
    for path in paths:
        known = noted.get(path)
        if known is not None and restored(known):
            done.append(UndoneFile(path, "as it was"))
        else:
            done.append(_taken_out(path, wanted.get(path)))
    if not any(one.how == "left" for one in done):
        forget_noted(client)
    return done


def _taken_out(path: Path, file: SettingsFile | None) -> UndoneFile:
    try:
        text = config_text(path)
        if text is None or file is None:
            return UndoneFile(path, "not there")
        after = file.taken_out(text)
        if after == text:
            return UndoneFile(path, "not there")
        write_config(path, after)
    except PromptuaryError as error:
        return UndoneFile(path, "left", str(error))
    return UndoneFile(path, "taken out")

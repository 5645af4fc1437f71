"""Anthropic's memory tool over Promptuary's notes. Its answers have the wording of Anthropic's own tool for files.

    client.beta.messages.tool_runner(tools=[PromptuaryMemoryTool(p)], ...)

A file of the model is a note. All other notes that the principal may see are below ``/memories/notes``; the model can
read them there, and only people can change them. There are no empty folders or files. A note keeps its text, except for
blank lines at its beginning, blank space at its end, and carriage returns: `str_replace` does not look for these.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.integrations.formats.memory_texts import folder_text, is_below, numbered, replaced, what_is_wrong
from promptuary.integrations.path_notes import PathNotes

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
except ImportError as error:
    raise ImportError(f"This needs the extra anthropic: {how_to_install('anthropic')}.") from error

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from promptuary.blocking import Promptuary
    from promptuary.memory.values import Note, NoteHeader

_ROOT: Final = "/memories"
_OTHERS: Final = "notes/"
_LISTED: Final = 500
_ABSENT: Final = "The path {} does not exist. Please provide a valid path."


class PromptuaryMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for the blocking client."""

    def __init__(self, promptuary: Promptuary) -> None:
        super().__init__()
        self._notes = PathNotes(promptuary, "memories")

    def execute(self, command: BetaMemoryTool20250818Command) -> Any:
        """Run the model's command; an error becomes an answer for the model."""
        if wrong := what_is_wrong(command):
            raise ToolError(wrong)
        try:
            return super().execute(command)
        except PromptuaryError as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a note with line numbers, or a list of a folder."""
        name, files = _name(command.path), self._files()
        if name in files:
            lines = self._shown(name, files[name], command.path).split("\n")
            start, end = command.view_range or (1, -1)
            if start > len(lines):
                raise ToolError(f"Invalid `view_range` parameter: {[start, end]}. The file has {len(lines)} lines.")
            shown = numbered(lines, max(start, 1), len(lines) if end == -1 else end)
            return f"Here's the content of {command.path} with line numbers:\n{shown}"
        below = {one: header for one, header in files.items() if is_below(one, name)}
        if name and not below:
            raise ToolError(_ABSENT.format(command.path))
        notes = {one: self._notes.promptuary.memory.get(below[one].id) for one in islice(below, _LISTED)}
        sizes = {one.removeprefix(f"{name}/"): len(note.body.encode()) for one, note in notes.items() if note}
        return folder_text(command.path, sizes, more=max(len(below) - _LISTED, 0))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new note."""
        name, files = self._own(command.path), self._files()
        if any(one == name or is_below(one, name) or is_below(name, one) for one in files):
            raise ToolError(f"File {command.path} already exists")
        self._notes.write(name, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs in a note once."""
        after, line = replaced(command.path, self._text(command.path), command.old_str, command.new_str or "")
        self._notes.write(self._own(command.path), after)
        shown = numbered(after.split("\n"), max(line - 2, 1), line + 2)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line."""
        lines = self._text(command.path).split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._notes.write(self._own(command.path), "\n".join(lines))
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Archive a note, or all notes of a folder: a person can restore them."""
        for header in self._chosen(command.path, "delete").values():
            self._notes.remove(header)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a note, or all notes of a folder."""
        chosen = self._chosen(command.old_path, "rename")
        old, new = self._own(command.old_path), self._own(command.new_path)
        if any(one == new or is_below(one, new) or is_below(new, one) for one in self._files()):
            raise ToolError(f"The destination {command.new_path} already exists")
        for name, header in chosen.items():
            self._notes.move(header, new + name.removeprefix(old))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Archive every file of the model; notes that have become the person's stay."""
        for header in self._notes.names().values():
            with suppress(PromptuaryError):
                self._notes.remove(header)
        return "All memory cleared"

    def _files(self) -> dict[str, NoteHeader]:
        """Return every file by name: those of the model, and the notes of others below their folder."""
        own = dict(self._notes.names())
        others: dict[str, NoteHeader] = {}
        for one in sorted(self._notes.promptuary.memory.list(), key=lambda header: header.path):
            if self._notes.name_of(one) is None:
                short = _OTHERS + one.path.rpartition("/")[2]
                others[_OTHERS + one.path if short in others else short] = one
        return own | others

    def _chosen(self, path: str, what: str) -> dict[str, NoteHeader]:
        if not _name(path):
            raise ToolError(f"Cannot {what} the {_ROOT} directory itself")
        name, files = self._own(path), self._notes.names()
        chosen = {one: header for one, header in files.items() if one == name or is_below(one, name)}
        if not chosen:
            raise ToolError(f"The path {path} does not exist")
        for header in chosen.values():
            self._notes.check(header)
        return chosen

    def _own(self, path: str) -> str:
        name = _name(path)
        if not name or f"{name}/".startswith(_OTHERS):
            raise ToolError(f"{path} cannot be changed: the notes below {_ROOT}/notes are the person's")
        return name

    def _text(self, path: str) -> str:
        files = self._files()
        if (name := _name(path)) not in files:
            is_folder = any(is_below(one, name) for one in files)
            raise ToolError(f"The path {path} is not a file." if is_folder else _ABSENT.format(path))
        return self._read(files[name], path).body.strip("\n")

    def _shown(self, name: str, header: NoteHeader, path: str) -> str:
        """Return the text of a note; text that somebody else wrote is put inside a boundary that it cannot forge."""
        if not name.startswith(_OTHERS):
            return self._read(header, path).body
        found = self._notes.promptuary.memory.call_tool("search_recall_memories", {"memory_id": header.id})
        if "content" not in found:
            raise ToolError(_ABSENT.format(path))
        return str(found["content"]).rstrip("\n")

    def _read(self, header: NoteHeader, path: str) -> Note:
        note = self._notes.promptuary.memory.get(header.id)
        if note is None:
            raise ToolError(_ABSENT.format(path))
        return note


class AsyncPromptuaryMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for the client with ``async``."""

    def __init__(self, promptuary: Promptuary) -> None:
        super().__init__()
        self._tool = PromptuaryMemoryTool(promptuary)

    async def execute(self, command: BetaMemoryTool20250818Command) -> Any:
        """Run the model's command."""
        return await concurrency.run(lambda: self._tool.execute(command))

    view = create = str_replace = insert = delete = rename = execute


def _name(path: str) -> str:
    """Return a path below ``/memories`` as a name. Raises ``ToolError`` if it leads out of there."""
    name = path.removeprefix(_ROOT)
    if name == path or (name and not name.startswith("/")):
        raise ToolError(f"Path must start with {_ROOT}, got: {path[:200]}")
    parts = name.strip("/").split("/")
    if any(one in {".", ".."} for one in parts) or "" in parts[1:]:
        raise ToolError(f"Path {path[:200]} would escape {_ROOT} directory")
    return "/".join(parts)

"""Anthropic's memory tool over Promptuary's notes, and turns with the client's tool runner.

    with Promptuary.open(".") as p:
        memory = PromptuaryMemoryTool(p)
        message = run_turn(p, Anthropic(), "Review @diff", tools=[memory], model="claude-sonnet-5-5", max_tokens=4096)

A file of the model is a note. All other notes that the principal may see stand below ``/memories/notes``; the model
reads them there, and only people change them. There are no empty folders and no empty files.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError, how_to_install
from promptuary.integrations.path_notes import PathNotes

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
except ImportError as error:
    raise ImportError(f"This needs the extra anthropic: {how_to_install('anthropic')}.") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anthropic import Anthropic
    from anthropic.types.beta import (
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
    from anthropic.types.beta.parsed_beta_message import ParsedBetaMessage

    from promptuary.blocking import Promptuary
    from promptuary.core.notes import Note, NoteHeader

logger = logging.getLogger(__name__)

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
        """Do what the model asks for; what cannot be done is an answer for the model."""
        try:
            return super().execute(command)
        except PromptuaryError as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a note with numbers of lines, or what there is."""
        name, files = _name(command.path), self._files()
        if name in files:
            lines = self._shown(name, files[name], command.path).split("\n")
            start, end = command.view_range or (1, -1)
            chosen = lines[max(start, 1) - 1 : len(lines) if end == -1 else end]
            numbered = [f"{number:>6}\t{line}" for number, line in enumerate(chosen, max(start, 1))]
            return f"Here's the content of {command.path} with line numbers:\n" + "\n".join(numbered)
        below = [one for one in files if one.startswith(f"{name}/")] if name else list(files)
        if name and not below:
            raise ToolError(_ABSENT.format(command.path))
        listed = [f"{_ROOT}/{one}" for one in below[:_LISTED]]
        more = [f"({len(below) - _LISTED} more)"] if len(below) > _LISTED else []
        head = f"Here're the files and directories in {command.path}, excluding hidden items:"
        return "\n".join([head, *listed, *more])

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new note."""
        name = self._own(command.path)
        if name in self._files():
            raise ToolError(f"File {command.path} already exists")
        self._notes.write(name, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a note once."""
        text = self._text(command.path)
        if (count := text.count(command.old_str)) != 1 or not command.old_str:
            raise ToolError(f"No replacement was performed: old_str appears {count} times in {command.path}, not once.")
        self._notes.write(self._own(command.path), text.replace(command.old_str, command.new_str or ""))
        return "The memory file has been edited."

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines behind a line."""
        lines = self._text(command.path).split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(f"Invalid `insert_line`: {command.insert_line}. It should be within [0, {len(lines)}].")
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._notes.write(self._own(command.path), "\n".join(lines))
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Archive a note, or all of a folder: a person can bring them back."""
        for header in self._chosen(command.path).values():
            self._notes.remove(header)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a note another name, or all of a folder."""
        old, new = self._own(command.old_path), self._own(command.new_path)
        if new in self._files():
            raise ToolError(f"The destination {command.new_path} already exists")
        for name, header in self._chosen(command.old_path).items():
            self._notes.move(header, new + name.removeprefix(old))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def _files(self) -> dict[str, NoteHeader]:
        """Return every file: those of the model, and the notes of others below their folder."""
        own = dict(self._notes.names())
        every = self._notes.promptuary.memory.list()
        others = {_OTHERS + one.path: one for one in every if self._notes.name_of(one) is None}
        return own | dict(sorted(others.items()))

    def _chosen(self, path: str) -> dict[str, NoteHeader]:
        name, files = self._own(path), self._notes.names()
        chosen = {one: header for one, header in files.items() if one == name or one.startswith(f"{name}/")}
        if not chosen:
            raise ToolError(_ABSENT.format(path))
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
            raise ToolError(_ABSENT.format(path))
        return self._read(files[name], path).body.strip("\n")

    def _shown(self, name: str, header: NoteHeader, path: str) -> str:
        """Return the text of a note; what somebody else wrote stands inside a boundary that it cannot forge."""
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
        """Do what the model asks for."""
        return await concurrency.run(lambda: self._tool.execute(command))

    view = create = str_replace = insert = delete = rename = execute


def run_turn(
    promptuary: Promptuary,
    client: Anthropic,
    text: str,
    *,
    thread: str = "main",
    tools: Sequence[Any] = (),
    **options: Any,
) -> ParsedBetaMessage[Any]:
    """Run one turn of a thread with the tool runner of the client, and return the model's last message.

    ``options`` are those of a request: the model, how long its answer may be, and so on. If an answer cannot be
    recorded, a warning is logged.
    """
    turn = promptuary.threads.prepare(text, thread=thread)
    if turn.receipt.blocked:
        promptuary.threads.abandon(turn)
        raise PromptuaryError("; ".join(turn.receipt.warnings))
    # Each request whole: the conversation is kept here, and not by the service.
    runner = client.beta.messages.tool_runner(tools=list(tools), thread=False, **turn.render("anthropic"), **options)
    said: list[Any] = []
    message: ParsedBetaMessage[Any]
    for message in runner:
        said += [message, *([result] if (result := runner.generate_tool_call_response()) else [])]
    try:
        promptuary.threads.finish(turn, said)
    except PromptuaryError as error:
        logger.warning("the answer in thread %r was not recorded: %s", thread, error)
    return message


def _name(path: str) -> str:
    """Return a path below ``/memories`` as a name; nothing that leads out of it has one."""
    name = path.removeprefix(_ROOT)
    parts = name.strip("/").split("/")
    outside = name == path or (name and not name.startswith("/"))
    if outside or any(one in {".", ".."} for one in parts) or "" in parts[1:]:
        raise ToolError(f"Path must be below {_ROOT}, got: {path[:200]}")
    return "/".join(parts)

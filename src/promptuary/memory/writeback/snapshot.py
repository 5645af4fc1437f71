"""What was said in a finished turn and shortly before, bounded and without secrets, and which foreign text it held.

Attached texts are left out: they are not part of the conversation. But they, and everything else that is neither the
person's nor the model's own words, decide how far anything is trusted that the turn teaches.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from promptuary.base.blocks import Trust
from promptuary.base.errors import StorageError
from promptuary.base.messages import Item, ToolCall
from promptuary.config.tool_servers import SEPARATOR
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.memory.recall.digest import BY_AGENTS
from promptuary.memory.secret_texts import without_secrets
from promptuary.memory.writeback.own_words import own_words
from promptuary.tools import WRITE_NOTE

Speaker = Literal["person", "assistant", "tool"]
"""Who said something."""

Foreign = Literal["none", "results", "outside"]
"""The foreign text of a turn: none, results of tools on this machine only, or text that anybody may have written."""

NOTES: Final = "writeback"
"""The name of the learner of notes."""

MAX_MESSAGES: Final = 18
_MAX_MESSAGE: Final = 4_000
_MAX_RESULT: Final = 400
_MAX_TEXT: Final = 12_000
_MIN_TEXT: Final = 80
_SPEAKERS: Final[dict[str, Speaker]] = {"user": "person", "assistant": "assistant", "tool": "tool"}
OWN_PARTS: Final = frozenset(
    {"message", "history", "instructions", "memory_digest", "memory_recall", "experience", "tools", "system"}
)
"""Parts of a prompt that come from the person or the program, unless a block in them is labelled as external.

``system`` are the instructions of a client whose conversation is recorded.
"""
INSTRUCTIONS: Final = "instructions"
"""The part with ``AGENTS.md`` and similar files. Those of a clone are obeyed, but are not the person's words."""

_MAX_NAME: Final = 40
_MAX_ARGUMENTS: Final = 64_000
_MAX_COMMAND: Final = 400
_WORD: Final = re.compile("[a-z]+")
_NETWORK_TOOLS: Final = frozenset(
    _WORD.findall(
        "web http https url urls fetch browse browser crawl scrape download curl wget internet mail email gmail inbox "
        "slack discord teams telegram tweet twitter reddit rss feed wiki wikipedia google bing duckduckgo tavily jira "
        "notion issue issues ticket tickets comment comments gh"
    )
)
"""Words in the names of tools that bring in text that anybody may have written."""
_NETWORK_COMMANDS: Final = frozenset({"curl", "wget", "gh", "www", "ssh", "lynx", "telnet"})
"""The same in the arguments of a tool."""

OwnFile = Callable[[str], bool]
"""Returns whether only the person can have written the file of an address, such as ``file:AGENTS.md``."""


def nobodys(_: str) -> bool:
    """Treat no file as the person's own."""
    return False


class FinishedTurn(Struct, frozen=True):
    """A turn to learn from: the history of the thread, which ends with the messages of the turn, and its receipt.

    Of a turn of another program the receipt is unknown; ``before`` is the foreign text that its conversation held
    earlier. ``noted`` says that the message had a note written on purpose.
    """

    turn: str
    thread: str
    history: Sequence[Item]
    receipt: Receipt | None = None
    noted: bool = False
    before: Foreign = "none"

    @property
    def items(self) -> list[Item]:
        """The messages of the turn."""
        return [item for item in self.history if item.turn == self.turn]


class Said(Struct, frozen=True, array_like=True):
    """One message: who spoke, and what they said."""

    speaker: Speaker
    text: str


class TurnSnapshot(Struct, frozen=True):
    """The last messages of a thread after a turn.

    ``learner`` is the name of the learner that it waits for in the queue. A stored one that does not say which foreign
    text there was counts as one with text from outside.
    """

    turn: str
    thread: str
    at: str
    said: tuple[Said, ...]
    foreign: Foreign = "outside"
    learner: str = NOTES

    @property
    def external(self) -> bool:
        """Whether words that were said may come from somebody else."""
        return self.foreign != "none"

    @property
    def persons_words(self) -> str:
        """All that the person said themselves, without what they quoted or pasted."""
        return "\n\n".join(own_words(part.text).text for part in self.said if part.speaker == "person")


def snapshot(finished: FinishedTurn, at: str, foreign: Foreign) -> TurnSnapshot:
    """Return the snapshot of a turn."""
    return TurnSnapshot(finished.turn, finished.thread, at, _shorten_history(finished.history), foreign)


def foreign_text(
    history: Sequence[Item],
    receipt: Receipt | None,
    *,
    earlier: Collection[Foreign] = (),
    own_file: OwnFile = nobodys,
) -> Foreign:
    """Return which foreign text a turn held, neither the person's nor the model's: the one rule, for all that learns.

    ``history`` ends with the messages of the turn, and ``earlier`` is what earlier prompts held: the model may have
    repeated it since.

    Text is from ``outside`` if anybody may have written it: a layer or a file in the prompt, an attachment, a paste, an
    import, a summary, or the result of a tool that reached out. Nothing that such a turn teaches is trusted.

    Results of other tools are the state of this machine. They are foreign to whatever stores words, since a file may
    say anything: notes, and lessons that a model reads out of a conversation (``TurnSnapshot.external``). A lesson from
    tool calls stores no words of a result: a value that repeats one is replaced, and the line of an error is shown as
    external text. So there they do not count. If they did, every turn with a tool would be foreign, and the same error
    would be made a second time.
    """
    said = [item for item in history if item.role != "tool"]
    reached_out = any(reaches_out(call) for item in history for call in item.tool_calls)
    if reached_out or "outside" in earlier or any(map(_is_foreign, said)) or has_foreign_text(receipt, own_file):
        return "outside"
    return "results" if len(said) < len(history) or "results" in earlier else "none"


def has_foreign_text(receipt: Receipt | None, own_file: OwnFile = nobodys) -> bool:
    """Return whether a prompt held text that is neither the person's nor the model's."""
    entries = receipt.entries if receipt is not None else ()
    return any(entry.status != "out" and _is_foreign_entry(entry, own_file) for entry in entries)


def _is_foreign_entry(entry: ReceiptEntry, own_file: OwnFile) -> bool:
    if entry.source == BY_AGENTS:
        return False
    if entry.trust is Trust.EXTERNAL or entry.layer not in OWN_PARTS:
        return True
    return entry.layer == INSTRUCTIONS and not own_file(entry.source)


def _is_foreign(item: Item) -> bool:
    """Return whether a message holds more than the person's or the model's words."""
    if item.imported or item.attachments or item.kind == "summary":
        return True
    return item.role == "user" and own_words(item.words).foreign


def _is_of_a_server(tool: str) -> bool:
    """Return whether a tool is one of an MCP server of the person, whatever it is called there."""
    return SEPARATOR in tool and not tool.startswith(f"mcp{SEPARATOR}")  # agents call tools that; no server of ours


def reaches_out(call: ToolCall) -> bool:
    """Return whether a call brings in text that anybody may have written: by its name, an address, a command."""
    name = _WORD.findall(call.name.casefold()[:_MAX_NAME])
    given = call.arguments[:_MAX_ARGUMENTS]
    if "://" in given or not _NETWORK_TOOLS.isdisjoint(name) or _is_of_a_server(call.name):
        return True
    return not _NETWORK_COMMANDS.isdisjoint(_WORD.findall(given[:_MAX_COMMAND]))


def _shorten_history(history: Sequence[Item]) -> tuple[Said, ...]:
    spoken = [item for item in history if item.role in _SPEAKERS and item.words.strip()]
    parts: list[Said] = []
    left = _MAX_TEXT
    for item in reversed(spoken[-MAX_MESSAGES:]):
        speaker = _SPEAKERS[item.role]
        most = min(_MAX_RESULT if speaker == "tool" else _MAX_MESSAGE, left)
        if most < _MIN_TEXT and parts:
            break
        parts.append(Said(speaker, _shorten(without_secrets(item.words), most)))
        left -= len(parts[-1].text)
    return tuple(reversed(parts))


def _shorten(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} […] {text[len(text) - (most - head - 7) :]}"


def wrote_a_note(items: Sequence[Item]) -> bool:
    """Return whether the agent wrote a note itself in these messages: then writeback has nothing to do."""
    return any(call.name == WRITE_NOTE for item in items for call in item.tool_calls)


def to_text(turn: TurnSnapshot) -> str:
    """Return a snapshot as the queue stores it, with every character as it is: forgetting searches for words in it."""
    return json.dumps(msgspec.to_builtins(turn), ensure_ascii=False)


def from_text(text: str) -> TurnSnapshot:
    """Return the snapshot in the output of ``to_text``. Raises ``StorageError`` if the text is invalid."""
    try:
        return msgspec.convert(json.loads(text), TurnSnapshot)
    except ValueError as error:
        raise StorageError("a turn that waits for writeback cannot be read") from error

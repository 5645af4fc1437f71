"""What was said in a finished turn and shortly before, as input of writeback: bounded, without secrets, with its trust.

Attached texts are left out: they are not part of the conversation. But they, and everything else that is neither the
person's nor the model's own words, decide how far the snapshot is trusted.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from promptuary.base.blocks import Trust
from promptuary.base.errors import StorageError
from promptuary.base.messages import Item
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.memory.recall.digest import BY_AGENTS
from promptuary.memory.secret_texts import without_secrets
from promptuary.memory.writeback.own_words import own_words
from promptuary.tools import WRITE_NOTE

Speaker = Literal["person", "assistant", "tool"]
"""Who said something."""

MOST_MESSAGES: Final = 18
_LONGEST_MESSAGE: Final = 4_000
_LONGEST_RESULT: Final = 400
_LONGEST: Final = 12_000
_SPEAKERS: Final[dict[str, Speaker]] = {"user": "person", "assistant": "assistant", "tool": "tool"}
OWN_PARTS: Final = frozenset(
    {"message", "history", "instructions", "memory_digest", "memory_recall", "experience", "tools"}
)
"""Parts of a prompt that come from the person or the program, unless a block in them is labelled as external."""
INSTRUCTIONS: Final = "instructions"
"""The part with ``AGENTS.md`` and similar files. Those of a clone are obeyed, but are not the person's words."""

OwnFile = Callable[[str], bool]
"""Returns whether only the person can have written the file of an address, such as ``file:AGENTS.md``."""


def nobodys(_: str) -> bool:
    """Treat no file as the person's own."""
    return False


class Said(Struct, frozen=True):
    """One message: who spoke, and what they said."""

    speaker: Speaker
    text: str


NOTES: Final = "notes"
"""The purpose of turns that wait for notes."""


class TurnSnapshot(Struct, frozen=True):
    """The last messages of a thread after a turn.

    ``external``: the prompt held text that is neither the person's nor the model's, so anything that was said may come
    from it. ``purpose`` is what it waits for in the queue.
    """

    turn: str
    thread: str
    at: str
    said: tuple[Said, ...]
    external: bool
    purpose: str = NOTES

    @property
    def persons_words(self) -> str:
        """All that the person said themselves, without what they quoted or pasted."""
        return "\n\n".join(own_words(one.text).text for one in self.said if one.speaker == "person")


def snapshot(
    turn: str,
    thread: str,
    at: str,
    history: Sequence[Item],
    receipt: Receipt,
    *,
    foreign_turns: Collection[str] = (),
    own_file: OwnFile = nobodys,
) -> TurnSnapshot:
    """Return the snapshot of a turn. ``history`` ends with the turn's own messages.

    ``foreign_turns`` are earlier turns whose prompts held foreign text: what the model replied may repeat it.
    """
    external = held_foreign_text(history, receipt, foreign_turns=foreign_turns, own_file=own_file)
    return TurnSnapshot(turn, thread, at, _bounded(history), external)


def held_foreign_text(
    history: Sequence[Item],
    receipt: Receipt | None,
    *,
    foreign_turns: Collection[str] = (),
    own_file: OwnFile = nobodys,
) -> bool:
    """Return whether a turn held text that is neither the person's nor the model's: the one rule, for all that learns.

    Such text was in its prompt, in an earlier prompt, or is in the history.
    """
    repeated = any(item.turn in foreign_turns for item in history)
    return repeated or any(map(_is_foreign, history)) or prompt_held_foreign_text(receipt, own_file)


def prompt_held_foreign_text(receipt: Receipt | None, own_file: OwnFile = nobodys) -> bool:
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
    """Return whether an entry of a history holds more than the person's and the model's words."""
    if item.imported or item.attachments or item.role == "tool" or item.kind == "summary":
        return True
    return item.role == "user" and own_words(item.words).foreign


def _bounded(history: Sequence[Item]) -> tuple[Said, ...]:
    spoken = [item for item in history if item.role in _SPEAKERS and item.words.strip()]
    kept: list[Said] = []
    left = _LONGEST
    for item in reversed(spoken[-MOST_MESSAGES:]):
        speaker = _SPEAKERS[item.role]
        most = min(_LONGEST_RESULT if speaker == "tool" else _LONGEST_MESSAGE, left)
        if most < 80 and kept:
            break
        kept.append(Said(speaker, _shortened(without_secrets(item.words), most)))
        left -= len(kept[-1].text)
    return tuple(reversed(kept))


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} […] {text[len(text) - (most - head - 7) :]}"


def wrote_a_note(items: Sequence[Item]) -> bool:
    """Return whether the agent wrote a note itself in these messages: then writeback has nothing to do."""
    return any(call.name == WRITE_NOTE for item in items for call in item.tool_calls)


def to_text(one: TurnSnapshot) -> str:
    """Return a snapshot as the queue stores it."""
    said = [[part.speaker, part.text] for part in one.said]
    about = {"turn": one.turn, "thread": one.thread, "at": one.at, "purpose": one.purpose}
    return json.dumps({**about, "said": said, "external": one.external})


def from_text(text: str) -> TurnSnapshot:
    """Return the snapshot in the output of ``to_text``. Raises ``StorageError`` if the text is invalid."""
    try:
        stored: dict[str, Any] = json.loads(text)
        said = tuple(Said(speaker, str(words)) for speaker, words in stored["said"])
        # Anything that is not explicitly clean counts as external.
        external = stored["external"] is not False
        purpose = str(stored.get("purpose", NOTES))
        return TurnSnapshot(str(stored["turn"]), str(stored["thread"]), str(stored["at"]), said, external, purpose)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError("a turn that waits for writeback cannot be read") from error

"""Values that describe threads: what is attached to them, how long their histories are, and past turns."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Message
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.layers.tracked.state import TrackedFile
from promptuary.threads.records import TurnRecord

_LONGEST_NAME: Final = 200
_SHELL: Final = frozenset("!\"#$&'()*;<>?[\\]^`{|}~")
"""The characters to which shells give a meaning: names are offered by completion, and copied into commands."""


def thread_name(name: str, existing: Callable[[], Collection[str]] = tuple, *, what: str = "thread") -> str:
    """Return ``name``. Raises ``PromptuaryError`` if it cannot name a thread.

    A name with characters of the shell stands only for a thread that exists: a backup that was restored may have some.
    """
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:20]}…"
        raise PromptuaryError(f"{shown!r} cannot name a {what}; use up to {_LONGEST_NAME} printable characters")
    if not _SHELL.isdisjoint(name) and name not in existing():
        raise PromptuaryError(
            f"{name!r} cannot name a {what}, because shells give a meaning to {''.join(sorted(_SHELL & set(name)))}; "
            "use letters, digits, blanks and any of -_.,:/@+=%"
        )
    return name


class AttachmentList(Struct, frozen=True):
    """The tracked files of a thread, by priority, and the references that are queued for its next message."""

    tracked: Sequence[TrackedFile]
    queued: Sequence[str]


class CompactedThread(Struct, frozen=True):
    """The result of compacting the history of a thread on request; ``reason`` is a sentence for people."""

    thread: str
    tokens_before: int
    tokens_after: int
    replaced: int
    reason: str


def turn_numbers(numbers: Sequence[int]) -> str:
    """Return the numbers of the turns of a message as people read them: ``turn 3``, ``turns 4 and 5``, ``4 to 7``."""
    match numbers:
        case [one]:
            return f"turn {one}"
        case [one, other]:
            return f"turns {one} and {other}"
        case _:
            return f"turns {numbers[0]} to {numbers[-1]}"


class UndoneTurn(Struct, frozen=True):
    """An undone turn: its number, what the person had said, and what was answered.

    ``answered`` is false for a turn that had no reply yet. ``messages`` is how many left the history. ``queued`` are
    the references and documents that wait for the next message again, ``untracked`` the files that its message had put
    into view. ``requests`` are the numbers of all turns of its message, in their order.
    """

    thread: str
    number: int
    text: str
    reply: str
    answered: bool
    messages: int
    queued: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    requests: tuple[int, ...] = ()


ExportForm = Literal["json", "md"]
"""How a thread is written: JSON, which can be imported, or Markdown for people."""


class ImportedThread(Struct, frozen=True):
    """A thread that was imported: its name, how many messages it has, and what was not taken over.

    ``tracked`` are the files that were tracked where it was exported; ``turns`` is how many turns its ledger had.
    """

    thread: str
    messages: int
    tracked: Sequence[str]
    turns: int


DriftKind = Literal["changed", "gone", "not readable", "archived", "forgotten", "not fetched again", "not compared"]
"""How a source differs from what the model saw, or why that is not known."""

UNKNOWN_DRIFT: Final[frozenset[DriftKind]] = frozenset({"not fetched again", "not compared"})
"""Drifts of sources that were not compared."""


class Drift(Struct, frozen=True):
    """A source that is no longer what the model saw: the path of a file, the address of anything else."""

    path: str
    kind: DriftKind


class Replay(Struct, frozen=True):
    """A past turn, exactly as it was sent except for what was forgotten, and which of its sources have changed since.

    ``requests`` are the numbers of all turns of its message, in their order: each round of tool calls adds one.
    """

    turn: TurnRecord
    drift: Sequence[Drift]
    requests: tuple[int, ...] = ()

    def heading(self, *, dated: bool = False) -> str:
        """Return which turn it is: its number, what became of it and when, and which others its message has."""
        turn, every = self.turn, self.requests
        became = f"{turn.status}, {turn.created}" if dated else turn.status
        if len(every) < 2:
            return f"turn {turn.number} ({became})"
        place = f"request {every.index(turn.number) + 1} of {len(every)} for this message, {turn_numbers(every)}"
        return f"turn {turn.number} ({became}; {place})"

    @property
    def forgotten(self) -> Sequence[str]:
        """The addresses of sources that were forgotten since; marks replace them."""
        return self.turn.forgotten


class EntryChange(Struct, frozen=True):
    """A line of a receipt that differs in another: ``None`` where it is missing."""

    layer: str
    label: str
    before: ReceiptEntry | None
    after: ReceiptEntry | None

    @property
    def is_change(self) -> bool:
        """Whether the two differ."""
        return _shape(self.before) != _shape(self.after)


def differences(before: Receipt, after: Receipt) -> list[EntryChange]:
    """Return the entries whose status differs between two receipts, in the order of the receipts."""
    return [one for one in pairs(before, after) if one.is_change]


def pairs(before: Receipt, after: Receipt) -> list[EntryChange]:
    """Return every entry of two receipts beside that of the other, in the order of the receipts."""

    def lines(receipt: Receipt) -> dict[tuple[str, str, int], ReceiptEntry]:
        found: dict[tuple[str, str, int], ReceiptEntry] = {}
        seen: Counter[tuple[str, str]] = Counter()
        for entry in receipt.entries:
            name = (entry.layer, entry.source or entry.label)
            found[(*name, seen[name])] = entry
            seen[name] += 1
        return found

    then, now = lines(before), lines(after)
    return [
        EntryChange(key[0], (now.get(key) or then[key]).label, then.get(key), now.get(key))
        for key in dict.fromkeys((*then, *now))
    ]


def _shape(entry: ReceiptEntry | None) -> tuple[object, ...] | None:
    return None if entry is None else (entry.status, entry.tokens, entry.revision)


class Rerun(Struct, frozen=True):
    """A past turn that was run again; nothing of it is recorded.

    ``messages`` is what would be sent now: exactly what was sent, or the turn prepared again for another window, and
    then ``receipt`` says what is in it. ``answer`` is what the model said, if one was asked.
    """

    turn: TurnRecord
    messages: Sequence[Message]
    receipt: Receipt | None
    answer: str | None
    drift: Sequence[Drift]

    @property
    def differences(self) -> Sequence[EntryChange]:
        """The differences between the windows of then and now."""
        return differences(self.turn.receipt, self.receipt) if self.receipt else ()

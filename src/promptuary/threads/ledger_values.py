"""The sources of a turn, and how each got into its prompt. Pure.

Knows receipts and items. It does not know how the ledger is stored, nor what a source is now.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from promptuary.base.blocks import Attachment, Detail, content_hash
from promptuary.base.messages import Item, Message
from promptuary.context.receipt import Receipt
from promptuary.memory.recall.digest import HEADING, LISTS, listed_notes

Way = Literal["direct", "history", "summary", "list", "name"]
"""How a source got into a prompt: in a separate block, in a message of the history, or in a summary of messages.

Of a note in a "list" the title and the summary were sent. Of a source that did not fit only its "name" was sent: no
answer rests on that.
"""

_SAID: Final = frozenset({"history", "message", "loop", "tools"})
"""Layers of a receipt that are what was said, not what was looked up."""

LIVE_TAG: Final = "promptuary"
"""The tag around what is added to the last message of a conversation that somebody else keeps."""

ATTACHED: Final = "references"
"""The layer of what messages attach."""


class Origin(NamedTuple):
    """A source in a prompt: ``lines`` are the first and last line that were shown, ``revision`` what it was then."""

    source: str
    how: Way
    layer: str
    revision: str
    lines: tuple[int, int] | None

    @property
    def order(self) -> tuple[str, str, str, str, tuple[int, int]]:
        """The sort key of the sources of one turn."""
        return (*self[:4], self.lines or (0, 0))


class SourceUse(Struct, frozen=True):
    """A source in the prompt of one turn of a thread. ``status`` is what became of the turn."""

    thread: str
    number: int
    created: str
    status: str
    origin: Origin


class AuditRow(Struct, frozen=True):
    """A turn that a source influenced.

    ``current`` is whether the source is still what the model saw; ``None`` if that cannot be determined without the
    turn, or without a connection. ``text`` and ``answer`` are the beginnings of what the person said and of the reply;
    only an audit of a source has them.
    """

    thread: str
    number: int
    created: str
    status: str
    source: str
    how: Way
    layer: str
    revision: str
    lines: tuple[int, int] | None
    current: bool | None
    text: str = ""
    answer: str = ""


class Audit(Struct, frozen=True):
    """The turns that a source influenced, the newest first; ``more`` says that there are others.

    ``sources`` are the addresses that receipts use for it: the file itself, and its lines in the index.
    """

    sources: tuple[str, ...]
    rows: tuple[AuditRow, ...]
    more: bool = False


class Pruned(Struct, frozen=True):
    """What the removal of old turns removed, or would remove: whole threads, turns, messages, and bytes of texts."""

    threads: int = 0
    turns: int = 0
    messages: int = 0
    bytes: int = 0


class ThreadSize(Struct, frozen=True):
    """The size of a thread in the database; shared texts count for each of their threads."""

    thread: str
    turns: int
    messages: int
    bytes: int


def shown(receipt: Receipt) -> list[Origin]:
    """Return the sources with a block of their own in a prompt, whole or in part, each once."""
    return list(dict.fromkeys(origin for origin, _ in _shown(receipt)))


def listed(receipt: Receipt, messages: Iterable[Message]) -> Iterator[Origin]:
    """Yield the notes in the lists of a prompt with these messages. Their revision is that of the line."""
    lists = {entry.source: entry.layer for entry in receipt.entries if entry.status != "out" and entry.source in LISTS}
    for message in messages if lists else ():
        for address, notes in lists_in(message).items():
            if layer := lists.get(address):
                yield from (Origin(note, "list", layer, content_hash(line), None) for note, line in notes.items())


def lists_in(message: Message) -> Mapping[str, Mapping[str, str]]:
    """Return the line of each note that a message lists, by the address of the list and of the note.

    What people, models, tools and instructions say may look like a list, and is none.
    """
    role, text = message["role"], message["content"]
    is_ours = text.startswith(HEADING) if role == "developer" else text.startswith(f"<{LIVE_TAG}>\n")
    return listed_notes(text) if is_ours else {}


def only_named(receipt: Receipt) -> set[Origin]:
    """Return those of ``shown`` of which nothing but the name is in the prompt."""
    every = list(_shown(receipt))
    return {origin for origin, detail in every if detail is Detail.PATH} - {
        origin for origin, detail in every if detail is not Detail.PATH
    }


def _shown(receipt: Receipt) -> Iterator[tuple[Origin, Detail | None]]:
    for entry in receipt.entries:
        if entry.status != "out" and entry.layer not in _SAID and entry.source:
            yield Origin(entry.source, "direct", entry.layer, entry.revision, entry.lines), entry.detail


def carried(item: Item, behind: Iterable[Origin]) -> list[Origin]:
    """Return the sources that an item of a history brings into a prompt, each once.

    ``behind`` are the sources of the items that it stands for; those that are still attached to it do not count as
    summarised.
    """
    own = [_attached(one) for one in item.attachments if one.source]
    attached = {one.source for one in own}
    summed = (one if one.how == "name" else one._replace(how="summary") for one in behind if one.source not in attached)
    return list(dict.fromkeys((*own, *summed)))


def _attached(one: Attachment) -> Origin:
    how: Way = "name" if one.detail is Detail.PATH else "history"
    return Origin(one.source, how, ATTACHED, one.revision, one.lines)


def history_before(items: Sequence[Item], turn: str | None) -> list[Item]:
    """Return the history as it was before a turn was prepared.

    ``items`` is everything that was ever said in the thread, in the order in which it was added; ``turn`` is the turn,
    or the first one after it that added an item, ``None`` if none did. Items that were compacted only to prepare this
    turn are returned uncompacted.
    """
    added = list(takewhile(lambda item: item.turn != turn, items))
    while added and added[-1].stands_for:
        added.pop()
    standing: list[Item] = []
    for item in added:
        gone = set(item.stands_for)
        if not gone:
            standing.append(item)
            continue
        place = next((at for at, one in enumerate(standing) if one.id in gone), len(standing))
        standing = [*standing[:place], item, *(one for one in standing[place:] if one.id not in gone)]
    return standing

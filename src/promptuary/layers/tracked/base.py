"""The base: the tracked files as they were sent when the stable part of the prompt was last written. Pure.

While files change, the base is repeated byte for byte, so that providers' caches hit, and the changes follow the
history. The state has no copy of the text: it has its hash and the position of each file in it, and the text comes from
the ledger. If it was forgotten there, the lookup fails and the files are rewritten.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from promptuary.base.blocks import Block, Detail, Source, content_hash
from promptuary.base.messages import Item
from promptuary.base.values import Json
from promptuary.layers.layer import Recall

OUTDATED: Final = "outdated: what it is now follows the history"


class Shown(Struct, frozen=True):
    """A file in the base: the position of its block in the text and of its content in the block.

    ``revision`` is empty if a warning was shown instead of the content.
    """

    label: str
    address: str
    revision: str
    start: int
    end: int
    body: tuple[int, int]
    lines: tuple[int, int] | None
    tokens: int

    def text(self, base: str) -> str:
        """Return the block from the text of the base."""
        return base[self.start : self.end]

    def content(self, base: str) -> str:
        """Return the content of the file in the text of the base."""
        first, last = self.body
        return self.text(base)[first:last]

    def block(self, base: str) -> Block:
        """Return the block as it was sent; it is outdated."""
        source = Source(self.address, self.label, "file", self.content(base), self.revision, lines=self.lines)
        return Block(source, Detail.FULL, self.text(base), self.tokens, self.body, reason=OUTDATED)


class Base(Struct, frozen=True):
    """What was sent: the hash of the text, its files, and which of them were pinned.

    ``summaries`` is a hash of what had been compacted in the history. ``paid`` is what sending the changes has cost
    since, in all requests together.
    """

    revision: str
    files: tuple[Shown, ...]
    pinned: tuple[str, ...]
    summaries: str
    paid: int = 0

    @property
    def by_label(self) -> Mapping[str, Shown]:
        """Its files by their names."""
        return {one.label: one for one in self.files}


def base_of(recall: Recall, pinned: Iterable[str], history: Sequence[Item]) -> Base | None:
    """Return the base for ``recall``; ``None`` if it does not show every file whole.

    Shortened files depend on the room at each turn, so they cannot be repeated.
    """
    if recall.omitted or any(block.detail is not Detail.FULL and block.source.revision for block in recall.blocks):
        return None
    files, start = [], len(recall.heading) + 2
    for block in recall.blocks:
        source, end = block.source, start + len(block.text)
        files.append(
            Shown(
                label=source.label,
                address=source.address,
                revision=source.revision,
                start=start,
                end=end,
                body=block.body,
                lines=source.lines,
                tokens=block.tokens,
            )
        )
        start = end + 2
    return Base(content_hash(recall.text), tuple(files), tuple(sorted(pinned)), summaries_of(history))


def summaries_of(history: Sequence[Item]) -> str:
    """Return a hash of the summaries in ``history``: it changes whenever a history is compacted."""
    return content_hash("\n".join(item.id for item in history if item.stands_for))


def to_json(base: Base | None) -> Json:
    if base is None:
        return None
    return {
        "sha256": base.revision,
        "files": [
            [one.label, one.address, one.revision, one.start, one.end, *one.body, *(one.lines or (0, 0)), one.tokens]
            for one in base.files
        ],
        "pinned": list(base.pinned),
        "summaries": base.summaries,
        "paid": base.paid,
    }


def from_json(value: Json) -> Base | None:
    """Return the base from its JSON; ``None`` if that is invalid."""
    match value:
        case {
            "sha256": str(revision),
            "files": [*entries],
            "pinned": [*pinned],
            "summaries": str(summaries),
            "paid": int(paid),
        }:
            files = [one for entry in entries if (one := _shown(entry))]
            names = tuple(one for one in pinned if isinstance(one, str))
            # A base with any invalid part is not used: its positions would not match the text.
            return Base(revision, tuple(files), names, summaries, paid) if len(files) == len(entries) else None
        case _:
            return None


def _shown(entry: object) -> Shown | None:
    match entry:
        case [
            str(label),
            str(address),
            str(revision),
            int(start),
            int(end),
            int(first),
            int(last),
            int(from_line),
            int(to_line),
            int(tokens),
        ]:
            lines = (from_line, to_line) if from_line or to_line else None
            return Shown(
                label=label,
                address=address,
                revision=revision,
                start=start,
                end=end,
                body=(first, last),
                lines=lines,
                tokens=tokens,
            )
        case _:
            return None

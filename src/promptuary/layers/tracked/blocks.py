"""Tracked files as blocks that share a budget. Pure.

Every file gets at least its name before any gets more; the rest is shared by water-filling, by the weights of the
files, and what one does not use is offered to the next by priority. A last line names the files that do not fit at all.
Render, then measure: the result is counted as it is sent, whatever the parts added up to. Nothing here reads a file or
decides on priorities.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Omitted, Source
from promptuary.base.budget import TokenCounter, water_fill
from promptuary.base.text import one_line
from promptuary.layers.layer import Recall
from promptuary.layers.tracked.state import Tracked, Tracking
from promptuary.references.detail import best_within, name_only, whole
from promptuary.references.render import without_gap

HEADING = "# Referenced Files"

_GAP = "\n\n"  # rendered blocks end with it, and so do these until they are placed


class Offer(Struct, frozen=True):
    """The blocks that a file can be shown as, from ``least``, its name, to ``most``, all of it.

    A file without content has one block only: the warning that says why.
    """

    file: Tracked
    most: Block
    least: Block

    def within(self, budget: int, counter: TokenCounter) -> Block | None:
        """Return the most detailed block that costs at most ``budget``."""
        if self.most is self.least:
            return self.most if self.most.tokens <= budget else None
        return best_within(self.most.source, budget, counter, self.most)


def offers(tracking: Tracking, sources: Mapping[str, Source], counter: TokenCounter) -> list[Offer]:
    """Return what can be shown of each file, by priority; a file without a source is a warning."""
    return [_offer(file, tracking.slugs[file.label], sources.get(file.label), counter) for file in tracking.in_order()]


def _offer(file: Tracked, slug: str, source: Source | None, counter: TokenCounter) -> Offer:
    if source is None or not file.condition.readable:
        warned = warning(file, slug, counter)
        return Offer(file, warned, warned)
    full = whole(replace(source, label=file.label, anchor=slug), counter)
    name = name_only(full.source, counter, full.tokens)
    return Offer(file, full, min(name, full, key=lambda block: block.tokens))


def warning(file: Tracked, slug: str, counter: TokenCounter) -> Block:
    """Return the block that says why there is no content."""
    text = f"## {one_line(file.label)} {{#{slug}}}\n{_why_not(file)}{_GAP}"
    source = Source(f"file:{file.label}", file.label, "file", "", file.condition.revision, path=file.path, anchor=slug)
    return Block(source, Detail.PATH, text, counter.count(text))


def _why_not(file: Tracked) -> str:
    path, condition = one_line(file.label), file.condition
    match condition.state:
        case "missing":
            return f"[MISSING: {path}]"
        case "deleted":
            return f"[FILE DELETED: {path}]"
        case "error":
            return f"[ERROR {one_line(condition.code)}: {one_line(condition.reason)}]"
        case _:
            return f"[ERROR READ_FAILED: {path} could not be read just now]"


def why_not_shown(file: Tracked) -> str:
    """Return why there is no content, in a sentence for people."""
    match file.condition.state:
        case "missing":
            return "there is no such file; in a thread the model sees it as soon as there is one"
        case "deleted":
            return "the file was deleted"
        case _:
            return one_line(file.condition.reason) or "it could not be read just now"


def compose(tracking: Tracking, offered: Sequence[Offer], budget: int, counter: TokenCounter) -> Recall:
    """Return the files as they fit into ``budget``, heading, gaps and last line included."""
    allowed = max(budget, 0)
    while True:
        recall = _composed(tracking, offered, allowed, counter)
        excess = counter.count(recall.text) - budget if recall.text else 0
        if excess <= 0:
            return recall
        allowed -= excess  # a tokenizer that joins across blocks: ask for less, until nothing is left


def _composed(tracking: Tracking, offered: Sequence[Offer], budget: int, counter: TokenCounter) -> Recall:
    available = budget - counter.count(HEADING + _GAP)
    placed, out, reserved = _places_beside_notice(tracking, offered, available, counter)
    notice = _fitting_notice(tracking, out, reserved if placed else available, counter)
    room = available - (counter.count(notice) if notice else 0)
    chosen = _shared(placed, room, counter)
    blocks = [in_place(one.file, block, counter) for one, block in zip(placed, chosen, strict=True)]
    if notice:
        said, tokens = "what did not fit, by name", counter.count(notice)
        blocks.append(Block.of(notice, "not shown", detail=Detail.PATH, tokens=tokens, reason=said))
    reason = f"did not fit into {budget:,} tokens"
    omitted = [
        Omitted(one.file.label, reason, one.most.source.address, one.file.priority, one.most.tokens) for one in out
    ]
    omitted += [
        Omitted(name, f"not tracked: {len(tracking.files)} files are the limit") for name in tracking.turned_away
    ]
    return Recall(tuple(blocks), HEADING, tuple(omitted))


def _places_beside_notice(
    tracking: Tracking, offered: Sequence[Offer], available: int, counter: TokenCounter
) -> tuple[list[Offer], list[Offer], int]:
    """Return the files that fit, those that do not, and the tokens reserved for the line that names the latter.

    The line gets at most a quarter of the room.
    """
    reserved = 0
    while True:
        placed, out = _places(offered, available - reserved)
        needed = min(counter.count(_notice(tracking, out)), max(available, 0) // 4)
        if needed <= reserved:
            return placed, out, reserved
        reserved = needed  # this may push out another file, and make the line longer


def _places(offered: Sequence[Offer], available: int) -> tuple[list[Offer], list[Offer]]:
    """Return the files whose shortest form fits, and those whose does not."""
    placed, out = [], []
    for one in offered:
        if one.least.tokens <= available:
            placed.append(one)
            available -= one.least.tokens
        else:
            out.append(one)
    return placed, out


def _shared(placed: Sequence[Offer], room: int, counter: TokenCounter) -> list[Block]:
    rest = room - sum(one.least.tokens for one in placed)
    wants = [one.most.tokens - one.least.tokens for one in placed]
    more = water_fill(wants, rest, [one.file.weight for one in placed])
    chosen = [
        one.within(one.least.tokens + extra, counter) or one.least for one, extra in zip(placed, more, strict=True)
    ]
    left = room - sum(block.tokens for block in chosen)
    for index, (one, block) in enumerate(zip(placed, chosen, strict=True)):
        if block is not one.most and block.detail is not Detail.FULL and left > 0:
            chosen[index] = one.within(block.tokens + left, counter) or block
            left -= chosen[index].tokens - block.tokens
    return chosen


def in_place(file: Tracked, block: Block, counter: TokenCounter) -> Block:
    """Return ``block`` as it is placed among the others, with the reason."""
    why = "; ".join(filter(None, ("pinned" if file.pinned else "", file.why if file.condition.readable else "")))
    score, reason = float(file.priority), why or file.condition.state
    return replace(without_gap(block, counter), score=score, reason=reason)


def _fitting_notice(tracking: Tracking, out: Sequence[Offer], budget: int, counter: TokenCounter) -> str:
    """Return the line that names what is not shown: all of it, or as many names as fit, or nothing."""
    names = max(len(out), len(tracking.turned_away))
    while names >= 0:
        notice = _notice(tracking, out, names)
        if counter.count(notice) <= budget:
            return notice
        names = names // 2 if names else -1
    return ""


def _notice(tracking: Tracking, out: Sequence[Offer], names: int | None = None) -> str:
    lines = []
    if out:
        lines.append(f"omitted: {_named([one.file.label for one in out], names)}")
    if away := tracking.turned_away:
        lines.append(f"not tracked, {len(tracking.files)} files are the limit: {_named(away, names)}")
    return "\n".join(lines)


def _named(labels: Sequence[str], names: int | None) -> str:
    some = [one_line(label) for label in labels[:names]]
    if len(some) == len(labels):
        return ", ".join(some)
    return f"{', '.join(some)} and {len(labels) - len(some)} more" if some else f"{len(labels)} files"

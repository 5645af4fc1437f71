"""How tracked files look to the model, and how they share a budget. Pure.

Every file gets at least its name before any gets more; what is left is shared by water-filling, and what one leaves is
offered to the next by priority. What does not even get its name is named in one last line. Render, then measure: the
whole is counted as it is sent, whatever the parts added up to. Nothing here reads a file or decides on priorities.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from promptuary.core.blocks import Block, Detail, Source
from promptuary.core.budget import water_fill
from promptuary.core.counting import TokenCounter
from promptuary.core.layers import Omitted, Piece, Recall
from promptuary.core.text import one_line
from promptuary.layers.tracked.state import Tracked, Tracking
from promptuary.references.detail import best_within, name_only, whole

HEADING = "# Referenced Files"

_GAP = "\n\n"  # what pieces are joined by; a block from the wire ends with it


@dataclass(frozen=True, slots=True)
class Shown:
    """Something as it is sent; ``tokens`` include the empty line after it."""

    text: str
    tokens: int
    detail: Detail


@dataclass(frozen=True, slots=True)
class Offer:
    """What a file can be shown as: ``most`` is all of it, ``least`` its name; without content both are a warning."""

    file: Tracked
    most: Shown
    least: Shown
    block: Block | None = None

    def within(self, budget: int, counter: TokenCounter) -> Shown | None:
        """Return the richest form that costs at most ``budget``."""
        if self.block is None:
            return self.most if self.most.tokens <= budget else None
        found = best_within(self.block.source, budget, counter, self.block)
        return _shown(found) if found else None


def offers(tracking: Tracking, sources: Mapping[str, Source], counter: TokenCounter) -> list[Offer]:
    """Return what can be shown of each file, by priority; a file without a source is a warning."""
    return [_offer(file, tracking.slugs[file.label], sources.get(file.label), counter) for file in tracking.in_order()]


def _offer(file: Tracked, slug: str, source: Source | None, counter: TokenCounter) -> Offer:
    if source is None or not file.condition.readable:
        text = warning(file, slug)
        shown = Shown(text, counter.count(text + _GAP), Detail.PATH)
        return Offer(file, shown, shown)
    full = whole(replace(source, label=file.label, anchor=slug), counter)
    name = name_only(full.source, counter, full.tokens)
    return Offer(file, _shown(full), _shown(min(name, full, key=lambda block: block.tokens)), full)


def _shown(block: Block) -> Shown:
    return Shown(block.text.removesuffix(_GAP), block.tokens, block.detail)


def warning(file: Tracked, slug: str) -> str:
    """Return the block that says why there is no content."""
    path, condition = one_line(file.label), file.condition
    match condition.state:
        case "missing":
            said = f"[MISSING: {path}]"
        case "deleted":
            said = f"[FILE DELETED: {path}]"
        case "error":
            said = f"[ERROR {one_line(condition.code)}: {one_line(condition.reason)}]"
        case _:
            said = f"[ERROR READ_FAILED: {path} could not be read just now]"
    return f"## {path} {{#{slug}}}\n{said}"


def compose(tracking: Tracking, sources: Mapping[str, Source], budget: int, counter: TokenCounter) -> Recall:
    """Return the files as they fit into ``budget``, heading, gaps and last line included."""
    offered = offers(tracking, sources, counter)
    allowed = max(budget, 0)
    while True:
        recall = _composed(tracking, offered, allowed, counter)
        excess = counter.count(recall.text) - budget if recall.text else 0
        if excess <= 0:
            return recall
        allowed -= excess  # a tokenizer that joins across pieces: ask for less, until nothing is left


def _composed(tracking: Tracking, offered: Sequence[Offer], budget: int, counter: TokenCounter) -> Recall:
    available = budget - counter.count(HEADING + _GAP)
    seated, out, reserved = _seated_beside_notice(tracking, offered, available, counter)
    notice = _fitting_notice(tracking, out, reserved if seated else available, counter)
    room = available - (counter.count(notice) if notice else 0)
    pieces = [_piece(one.file, shown) for one, shown in zip(seated, _shared(seated, room, counter), strict=True)]
    if notice:
        pieces.append(Piece(notice, label="not shown", detail=Detail.PATH, reason="what did not fit, by name"))
    omitted = [Omitted(one.file.label, f"did not fit into {budget:,} tokens", score=one.file.priority) for one in out]
    omitted += [
        Omitted(name, f"not tracked: {len(tracking.files)} files are the limit") for name in tracking.turned_away
    ]
    return Recall(tuple(pieces), HEADING, tuple(omitted))


def _seated_beside_notice(
    tracking: Tracking, offered: Sequence[Offer], available: int, counter: TokenCounter
) -> tuple[list[Offer], list[Offer], int]:
    """Return who has a place, who has none, and what is kept for the line that names the latter: a quarter at most."""
    reserved = 0
    while True:
        seated, out = _seated(offered, available - reserved)
        needed = min(counter.count(_notice(tracking, out)), max(available, 0) // 4)
        if needed <= reserved:
            return seated, out, reserved
        reserved = needed  # which may cost another file its place, and make the line longer


def _seated(offered: Sequence[Offer], available: int) -> tuple[list[Offer], list[Offer]]:
    """Return the files whose least form has a place, and those that have none."""
    seated, out = [], []
    for one in offered:
        if one.least.tokens <= available:
            seated.append(one)
            available -= one.least.tokens
        else:
            out.append(one)
    return seated, out


def _shared(seated: Sequence[Offer], room: int, counter: TokenCounter) -> list[Shown]:
    rest = room - sum(one.least.tokens for one in seated)
    more = water_fill([one.most.tokens - one.least.tokens for one in seated], rest)
    chosen = [
        one.within(one.least.tokens + extra, counter) or one.least for one, extra in zip(seated, more, strict=True)
    ]
    left = room - sum(shown.tokens for shown in chosen)
    for index, (one, shown) in enumerate(zip(seated, chosen, strict=True)):
        if shown is not one.most and shown.detail is not Detail.FULL and left > 0:
            chosen[index] = one.within(shown.tokens + left, counter) or shown
            left -= chosen[index].tokens - shown.tokens
    return chosen


def _piece(file: Tracked, shown: Shown) -> Piece:
    why = "; ".join(filter(None, ("pinned" if file.pinned else "", file.why if file.condition.readable else "")))
    return Piece(
        shown.text,
        label=file.label,
        source=f"file:{file.path}",
        revision=file.condition.revision,
        detail=shown.detail,
        score=float(file.priority),
        reason=why or file.condition.state,
    )


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

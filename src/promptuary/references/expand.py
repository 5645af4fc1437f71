"""Expands a message: finds its references, resolves and fits them, and renders what is sent."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import MOST_IMAGE_BYTES, MOST_IMAGES, Block, Detail, Omitted, Source
from promptuary.base.budget import TokenCounter, most_tokens, water_fill
from promptuary.base.errors import Code, SourceError
from promptuary.base.excerpt import largest
from promptuary.base.references import PATH_KINDS, WRITING_KINDS, Reference
from promptuary.base.text import counted, human_size, one_line, unique_slug
from promptuary.references.detail import best_within, name_only, whole
from promptuary.references.expansion import Expansion, Outcome, TokenUse, Typo
from promptuary.references.kinds.image import wire_image
from promptuary.references.message import ParsedMessage
from promptuary.references.render import masked_warnings, preamble, render_message
from promptuary.references.resolve import Resolution, remember, resolve, told_apart
from promptuary.references.resolve_context import Kind, ResolveContext
from promptuary.references.scan import MAX_REFERENCES, Scanned, scan
from promptuary.references.selection import interpretations
from promptuary.references.typos import KnownPaths, slips, with_blanks
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.base.messages import Message

_BRING_ALONG = frozenset({"glob", "folder"})
_DETAILS = tuple(Detail)
_NOT_THERE = frozenset({Code.NOT_FOUND, Code.NO_MATCH, Code.BAD_REVISION})
_UNREAD_MARKS = ("@/", "@~/", "@*", "@'", "#/", "#~/", "#'")
"""What no reference begins with, but people write: ``slips`` looks at it."""
_ABSENT_TOKENS = 400
"""The most tokens for telling the model what it does not get."""
_MOST_LEFT_OUT = 20
"""How many of the things that do not fit at all the receipt names."""
_NO_ROOM = "not even its name fits into the limit; attach less, or raise --share"


class RankedSource(Struct, frozen=True):
    """A source and its rank: 0 if it was named explicitly, 1 if it was matched."""

    source: Source
    rank: int = 0


def fit(candidates: Sequence[RankedSource], limit: int, counter: TokenCounter) -> list[Block | None]:
    """Return a block for each candidate, together at most ``limit`` tokens; ``None`` where not even the name fits."""
    return _fit(candidates, [whole(one.source, counter) for one in candidates], limit, counter)


def _fit(
    candidates: Sequence[RankedSource], full: Sequence[Block], limit: int, counter: TokenCounter
) -> list[Block | None]:
    if sum(block.tokens for block in full) <= limit:
        return list(full)
    names = [min(name_only(b.source, counter, b.tokens), b, key=lambda block: block.tokens) for b in full]
    chosen: list[Block | None] = [None] * len(full)
    left = limit
    for rank in sorted({one.rank for one in candidates}):
        members = [index for index, one in enumerate(candidates) if one.rank == rank]
        later = sum(names[index].tokens for index, one in enumerate(candidates) if one.rank > rank)
        reserved = min(later, left // 2)  # a pattern that matches thousands must not push out what was named
        for index, block in zip(members, _share([full[i] for i in members], left - reserved, counter), strict=True):
            chosen[index] = block
        left -= sum(block.tokens for index in members if (block := chosen[index]))
    return chosen


def _share(full: Sequence[Block], budget: int, counter: TokenCounter) -> list[Block | None]:
    shares = water_fill([block.tokens for block in full], budget)
    chosen = [best_within(b.source, share, counter, b) for b, share in zip(full, shares, strict=True)]
    left = budget - sum(block.tokens for block in chosen if block)
    for index, block in enumerate(chosen):  # naming everything comes before showing anything in full
        if block is None and (name := name_only(full[index].source, counter, full[index].tokens)).tokens <= left:
            chosen[index] = name
            left -= name.tokens
    for index, block in enumerate(chosen):
        if block is not None and block.detail is Detail.FULL:
            continue
        spent = block.tokens if block else 0
        if better := best_within(full[index].source, spent + left, counter, full[index]):
            chosen[index] = better
            left -= better.tokens - spent
    return chosen


class Limits(Struct, frozen=True):
    """Limits of the cost of the attached context, and of the time for one reference."""

    window: int
    warn_at: int
    limit: int
    timeout: float


def expand(
    message: ParsedMessage,
    context: ResolveContext,
    kinds: Mapping[str, Kind],
    limits: Limits,
    *,
    also: str = "",
    tracked: bool = True,
    brought: Sequence[Source] = (),
) -> Expansion:
    """Return ``message`` with everything it points at, fitted into ``limits``.

    ``also`` holds references that are attached without being part of the message. ``tracked`` says whether ``#path`` is
    attached here; in a thread, a layer does that. ``brought`` are documents that came with the message.
    """
    scanned = message.scanned
    found = [one for one in (*scanned.references, *_elsewhere(also, message.kinds)) if tracked or one.sigil == "@"]
    references, unread = told_apart(found, context.workspace)
    elsewhere = [] if tracked else [one for one in scanned.references if one.sigil == "#"]
    resolutions = _resolved(references, context, kinds, limits)
    resolutions = _few_images(resolutions)
    slips: list[Typo] = []
    if context.advice:
        resolutions, slips = _examined(scanned, resolutions, [*unread, *elsewhere], context.workspace)
    resolutions += [Resolution(_sent_along(one), (one,)) for one in brought]
    links = _links(resolutions)
    sources = _SourceSet.of(resolutions, links)
    sent = _linked(message.text, resolutions, links)
    room = _room(sent, limits, context)
    fitted = _fitted(sources, resolutions, room, context)
    blocks, absent = fitted.blocks, fitted.absent
    outcomes = [sources.outcome(one, fitted, _target(one, context.workspace)) for one in resolutions]
    attached = [replace(block, reason=_why(block)) for block in blocks if block]
    rendered = render_message(sent, attached, absent)
    frame = context.counter.count(preamble([""], absent)) if rendered.words_start else 0
    # Blocks begin and end where tokenizers split, so their costs add up to the cost of the whole.
    injected = frame + sum(block.tokens for block in attached)
    spend = TokenUse(injected, limits.window, limits.warn_at, limits.limit)
    too_many = sum(not one.bare for one in found) >= MAX_REFERENCES
    return Expansion(
        text=sent,
        messages=(_message(rendered.content, attached),),
        outcomes=tuple(outcomes),
        blocks=tuple(attached),
        spend=spend,
        # Two searches may have the same notes about their index.
        general_warnings=(
            *_warnings(spend, blocks, room, too_many=too_many),
            *masked_warnings(attached),
            *dict.fromkeys(context.notes),
            *_listing_warnings(context.workspace),
        ),
        blocked=room < 0 or any(one.code is Code.BUDGET_EXCEEDED for one in outcomes),
        named=tuple(sources.named()),
        attachments=rendered.attachments,
        words_start=rendered.words_start,
        left_out=tuple(sources.left_out(fitted)),
        slips=tuple(slips),
    )


def _resolved(
    references: Sequence[Reference], context: ResolveContext, kinds: Mapping[str, Kind], limits: Limits
) -> list[Resolution]:
    """Return the result of each reference, in order. ``@remember:`` writes after all others are resolved."""
    pointing = [one for one in references if one.kind not in WRITING_KINDS]
    found = iter(resolve(pointing, context, kinds, timeout=limits.timeout))
    return [remember(one, context) if one.kind in WRITING_KINDS else next(found) for one in references]


def _examined(
    scanned: Scanned, resolutions: list[Resolution], unread: Sequence[Reference], workspace: Workspace
) -> tuple[list[Resolution], list[Typo]]:
    """Return the resolutions, with suggestions for those that failed, and the slips of the message."""
    missing = {n for n, one in enumerate(resolutions) if one.error and one.error.code in _NOT_THERE}
    if not (missing or unread or scanned.valueless or any(mark in scanned.text for mark in _UNREAD_MARKS)):
        return resolutions, []
    paths = KnownPaths(workspace, blind=workspace.access.is_limited)
    # A located reference no longer depends on the current folder; the typed one has the words of the text.
    typed = {one.start: one for one in scanned.references}
    for n in missing:
        one = resolutions[n]
        meant, _ = with_blanks(scanned.text, typed.get(one.reference.start, one.reference), paths)
        if meant:
            name = typed[one.reference.start].value
            reason = f'There is no "{name}" in the workspace; a path with blanks needs quotes: {meant}'
            resolutions[n] = replace(one, error=SourceError(one.error.code if one.error else Code.NOT_FOUND, reason))
    bare = [one for one in unread if one.start >= 0]
    return resolutions, slips(scanned.text, scanned.valueless, bare, paths)


def _few_images(resolutions: list[Resolution]) -> list[Resolution]:
    """Return the resolutions; images beyond what a request can have become errors."""
    if not any(source.picture for one in resolutions for source in one.sources):
        return resolutions
    kept, seen, together = [], set[str](), 0
    for one in resolutions:
        pictures = {source.key: source.picture for source in one.sources if source.picture and source.key not in seen}
        size = sum(len(picture.data) for picture in pictures.values())
        if pictures and (len(seen) + len(pictures) > MOST_IMAGES or together + size > MOST_IMAGE_BYTES):
            reason = f"A message has at most {MOST_IMAGES} images of {MOST_IMAGE_BYTES:,} bytes together; attach fewer."
            kept.append(replace(one, sources=(), error=SourceError(Code.FILE_TOO_LARGE, reason)))
            continue
        seen, together = seen | set(pictures), together + size
        kept.append(one)
    return kept


def _message(content: str, blocks: Sequence[Block]) -> "Message":
    """Return the message: the text, and the images of its blocks in order."""
    message: Message = {"role": "user", "content": content}
    pictures = [(block.source, block.picture) for block in blocks if block.picture is not None]
    if pictures:
        message["images"] = [wire_image(*one) for one in pictures]
    return message


def _listing_warnings(workspace: Workspace) -> list[str]:
    cut = workspace.cut_rules()
    others = f" and {len(cut) - 1:,} more" if len(cut) > 1 else ""
    said = "too many rules to apply all, so files that they should hide may be listed"
    return [f"{said}: {cut[0]}{others}"] if cut else []


def _why(block: Block) -> str:
    return "goes with the message" if block.detail is Detail.FULL else "does not fit whole"


def _room(text: str, limits: Limits, context: ResolveContext) -> int:
    """Return what may be attached: the limit, but no more than the message leaves; negative if it does not fit."""
    if most_tokens(text) <= limits.window - limits.limit:  # no need to count: the vocabulary may not be loaded yet
        return limits.limit
    return min(limits.limit, limits.window - context.counter.count(text))


class _Fitted(Struct, frozen=True):
    """The block of each candidate that fits, lines for the model that name what is missing, and each block in full."""

    blocks: Sequence[Block | None] = ()
    absent: Sequence[str] = ()
    full: Sequence[Block] = ()


def _fitted(sources: "_SourceSet", resolutions: Sequence[Resolution], room: int, context: ResolveContext) -> _Fitted:
    """Return the blocks that fit, and lines for the model that name what is missing, together within ``room``."""
    failed = [f"{one.reference.raw}: {_told(one.error)}" for one in resolutions if one.error]
    if not failed and not sources.candidates:
        return _Fitted()
    full = [whole(one.source, context.counter) for one in sources.candidates]

    def fitting(limit: int) -> list[Block | None]:
        return _fit(sources.candidates, full, limit, context.counter)

    allowance = min(max(room, 0) // 4, _ABSENT_TOKENS)
    absent = _within(failed, allowance, context)
    if not absent:
        # If everything fits even with the largest possible frame, the frame need not be counted first.
        blocks = fitting(room - most_tokens(preamble([""])))
        if all(block is not None and block.detail is Detail.FULL for block in blocks):
            return _Fitted(blocks, absent, full)
    frame = context.counter.count(preamble([""], absent))
    blocks = fitting(room - frame)
    if None not in blocks:
        return _Fitted(blocks, absent, full)
    blocks = fitting(room - frame - allowance)
    gone = [one.source.label for one, block in zip(sources.candidates, blocks, strict=True) if block is None]
    left_out = absent + _within([f"{label}: {Code.BUDGET_EXCEEDED}" for label in gone], allowance, context)
    frame = context.counter.count(preamble([""], left_out))
    better = fitting(room - frame)  # with the allowance that the lines left unused
    same = [block is None for block in better] == [block is None for block in blocks]
    return _Fitted(better if same else blocks, left_out, full)


def _told(error: SourceError) -> str:
    """Return what a model is told about a source that failed: reasons are for the person."""
    return error.code if error.size is None else f"{error.code} ({human_size(error.size)})"


def _within(lines: list[str], allowance: int, context: ResolveContext) -> list[str]:
    """Return as many of the lines as fit, and how many more there are; empty if not even that fits."""

    def some(count: int) -> list[str]:
        more = len(lines) - count
        return lines[:count] + ([f"and {more:,} more"] if more else [])

    def cost(shown: list[str]) -> int:
        return context.counter.count(preamble([""], shown)) if shown else 0

    return largest(some, cost, allowance, least=0, most=len(lines)) or []


def _sent_along(source: Source) -> Reference:
    """Return a source that came with the message as a reference, without a position in it."""
    return Reference(source.label, "@", source.kind, source.label, -1, -1, quoted=True, rooted=True)


def _elsewhere(text: str, kinds: frozenset[str]) -> list[Reference]:
    """Return the references of a text that is not sent, without a position in the message."""
    return [replace(one, start=-1, end=-1, rooted=True) for one in scan(text, kinds=kinds)]


class _SourceSet(Struct):
    """Every source once, with its rank and the first reference that asked for it."""

    candidates: list[RankedSource]
    places: dict[str, int]
    owners: dict[str, Reference]

    def named(self) -> list[str]:
        """Return the paths that were named explicitly."""
        return [one.source.path for one in self.candidates if one.rank == 0 and one.source.path]

    @classmethod
    def of(cls, resolutions: Sequence[Resolution], links: Mapping[str, str]) -> "_SourceSet":
        sources = cls([], {}, {})
        for one in resolutions:
            rank = int(one.reference.kind in _BRING_ALONG and len(one.sources) > 1)
            asked = one.reference.raw if len(one.sources) == 1 else ""
            for source in one.sources:
                sources._put(replace(source, asked=asked), rank, one.reference, links)
        return sources

    def _put(self, source: Source, rank: int, owner: Reference, links: Mapping[str, str]) -> None:
        place = self.places.get(source.key)
        if place is None:
            self.places[source.key] = len(self.candidates)
            self.owners[source.key] = owner
            # Every attempt to fit a source needs its shorter forms, and parsing is the most expensive part.
            once = replace(source, anchor=links.get(source.key, ""), outlines=cache(source.outlines))
            self.candidates.append(RankedSource(once, rank))
        elif rank < self.candidates[place].rank:
            named = replace(self.candidates[place].source, asked=source.asked)
            self.candidates[place] = RankedSource(named, rank)

    def left_out(self, fitted: _Fitted) -> Iterator[Omitted]:
        """Yield what does not fit at all: the largest, with the reference that asked for each, then how many more."""
        every = zip(fitted.full, fitted.blocks, strict=True)
        gone = sorted((full for full, block in every if block is None), key=lambda full: -full.tokens)
        for full in gone[:_MOST_LEFT_OUT]:
            source, asked = full.source, one_line(self.owners[full.source.key].raw)
            why = _NO_ROOM if source.asked else f"of {asked}, not even its name fits into the limit"
            yield Omitted(source.label, f"{Code.BUDGET_EXCEEDED}: {why}", source.address, tokens=full.tokens)
        if more := gone[_MOST_LEFT_OUT:]:
            reason = f"{Code.BUDGET_EXCEEDED}: not even their names fit into the limit; attach less, or raise --share"
            yield Omitted(f"and {counted(len(more), 'more file')}", reason, tokens=sum(full.tokens for full in more))

    def outcome(self, one: Resolution, fitted: _Fitted, target: str) -> Outcome:
        if one.error:
            return _failed(one.reference, one.error, target)
        if one.done:
            return Outcome(one.reference, "included", target=one.done.address, reason=one.done.reason)
        own = {source.key for source in one.sources if self.owners[source.key] is one.reference}
        mine = [fitted.blocks[self.places[source.key]] for source in one.sources]
        shown = [block for block in mine if block]
        whole_tokens = sum(fitted.full[self.places[key]].tokens for key in own)
        if not shown:
            return replace(_failed(one.reference, _over_budget(), target), whole_tokens=whole_tokens)
        tokens = sum(block.tokens for block in shown if block.source.key in own)
        detail = max((block.detail for block in shown), key=_DETAILS.index)
        whole = detail is Detail.FULL and len(shown) == len(mine) and not any(source.partial for source in one.sources)
        return Outcome(
            one.reference,
            "included" if whole else "degraded",
            target=target,
            tokens=tokens,
            lines=one.sources[0].lines if len(one.sources) == 1 else None,
            detail=detail,
            sha256=one.sources[0].revision if len(one.sources) == 1 else None,
            reason=_joined(one.reference.remark, _reason(mine, one.sources) if own else self._before(one)),
            whole_tokens=whole_tokens if whole_tokens > tokens else 0,
        )

    def _before(self, one: Resolution) -> str:
        return f"already attached by {self.owners[one.sources[0].key].raw}"


def _joined(*reasons: str | None) -> str | None:
    return "; ".join(filter(None, reasons)) or None


def _reason(blocks: Sequence[Block | None], sources: Sequence[Source]) -> str | None:
    """Return the notes of the sources and what was not shown whole; ``None`` if there is nothing to report."""
    reasons = [note for source in sources for note in source.notes]
    missing = sum(block is None for block in blocks)
    short = sum(block is not None and block.detail is not Detail.FULL for block in blocks)
    if missing:
        reasons.append(f"{missing} of {len(blocks)} files did not fit at all, {short} only in part")
    elif short:
        reasons.append("did not fit whole" if len(blocks) == 1 else f"{short} of {len(blocks)} files did not fit whole")
    return "; ".join(reasons) or None


def _failed(reference: Reference, error: SourceError, target: str) -> Outcome:
    return Outcome(reference, error.code.status, target=target, code=error.code, reason=one_line(error.reason))


def _over_budget() -> SourceError:
    return SourceError(Code.BUDGET_EXCEEDED, _NO_ROOM)


def _target(one: Resolution, workspace: Workspace) -> str:
    """Return the path of the file or folder that a reference leads to, else its value; never with a range."""
    reference = one.reference
    if reference.kind in {"file", "symbol"} and len(one.sources) == 1:
        return one.sources[0].path
    if reference.kind in PATH_KINDS:
        *_, part = interpretations(reference)
        path = part.path if workspace.kind_of(reference.value) in {None, "outside"} else reference.value
        return path.rstrip("/") or path if reference.kind == "folder" else path
    return reference.value or reference.kind


def _links(resolutions: Sequence[Resolution]) -> dict[str, str]:
    """Return a unique anchor for the source of each tracked reference."""
    anchors: dict[str, str] = {}
    for one in resolutions:
        if one.reference.sigil != "#" or not one.sources:
            continue
        key = one.sources[0].key
        if key not in anchors:
            anchors[key] = unique_slug(one.sources[0].label, set(anchors.values()))
    return anchors


def _linked(text: str, resolutions: Sequence[Resolution], links: Mapping[str, str]) -> str:
    """Return the message with each tracked path as a link to its block; the rest is unchanged."""
    parts, position = [], 0
    for one in resolutions:
        if one.reference.sigil == "#" and one.sources and one.reference.start >= 0:
            parts += [
                text[position : one.reference.start],
                f"[{one.reference.raw}](#{links[one.sources[0].key]})",
            ]
            position = one.reference.end
    return "".join([*parts, text[position:]])


def _warnings(spend: TokenUse, blocks: Sequence[Block | None], room: int, *, too_many: bool) -> list[str]:
    warnings = []
    if room < 0:
        warnings.append(f"the message alone is {spend.window - room:,} tokens, and the window is {spend.window:,}")
    if spend.injected > spend.warn_at:
        share = spend.injected / spend.window
        warnings.append(f"the attached context is {spend.injected:,} tokens, {share:.0%} of the window")
    if any(block is None or block.detail is not Detail.FULL for block in blocks):
        allowed = max(min(spend.limit, room), 0)
        warnings.append(f"not everything fits into {allowed:,} tokens: some of it is shown in less detail")
    if too_many:
        warnings.append(f"only the first {MAX_REFERENCES:,} references were read; the rest is sent as text")
    return warnings

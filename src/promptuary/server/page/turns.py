"""Turns: what went into each prompt, what did not, and why."""

from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from typing import Final

from msgspec import Struct

from promptuary.base.blocks import path_of
from promptuary.base.errors import ConfigError, SourceError
from promptuary.base.messages import Item, ToolCall
from promptuary.context.receipt import AROUND, Receipt, ReceiptEntry
from promptuary.server.page.view import Asked, Page, View
from promptuary.threads.ledger_values import Audit, AuditRow
from promptuary.threads.records import SeenTurn, SentMessage, SentText
from promptuary.threads.values import EntryChange, differences, pairs

_AT_ONCE: Final = 30
_MOST_USES: Final = 50
_NEWEST: Final = 20
"""In how many of the newest turns sources are looked for, to offer them."""
_OFFERED: Final = 12
_FEW: Final = 8
"""How many things of a layer that were left out are shown at once: a search has many hits that do not fit."""
_WITH_MESSAGE: Final = frozenset({"references", "message"})


class Line(Struct, frozen=True):
    """An entry of a receipt, its place there, and the place of the message that it is in, ``None`` if unknown."""

    place: int
    entry: ReceiptEntry
    message: int | None

    @property
    def path(self) -> str:
        """The file that it is of, if it is one."""
        return path_of(self.entry.source)

    @property
    def is_source(self) -> bool:
        """Whether it is something that other turns may rest on, too."""
        return ":" in self.entry.source

    @property
    def is_offered(self) -> bool:
        """Whether it is one that somebody may ask about: neither left out nor a list of titles."""
        return self.is_source and self.entry.status != "out" and self.entry.layer != "memory_digest"


class SourceTurn(Struct, frozen=True):
    """A turn that had a source in its prompt, and each way in which it had it."""

    thread: str
    number: int
    created: str
    status: str
    text: str
    answer: str
    ways: Sequence[AuditRow]


class Called(Struct, frozen=True):
    """A call of a tool in a prompt, with the places of the messages of the call and of its result."""

    call: ToolCall
    message: int
    result: int | None
    beginning: str


class Segment(Struct, frozen=True):
    """A layer in the bar of a window, in tokens."""

    layer: str
    start: int
    tokens: int


class SourceUses(Struct, frozen=True):
    """The turns that had a source in their prompts: which may rest on it, and which were only sent its name."""

    sources: Sequence[str]
    turns: Sequence[SourceTurn]
    named: Sequence[SourceTurn]
    more: bool = False


class TurnDifference(Struct, frozen=True):
    """Two turns, and every entry of the one beside that of the other, but for those that neither prompt has."""

    left: SeenTurn
    right: SeenTurn
    entries: Sequence[EntryChange]


async def recent(asked: Asked) -> View:
    """Show the newest turns of all threads, or of one."""
    thread = asked.query.get("thread") or None
    found = await asked.workspace.threads.recent(thread=thread, limit=_AT_ONCE, cursor=asked.query.get("cursor", ""))
    return View("turns/recent.html", found, {"thread": thread, "is_first": not asked.query.get("cursor")})


async def turn(asked: Asked) -> View:
    """Show one turn."""
    threads = asked.workspace.threads
    found = await _seen(asked, asked.parts["thread"], asked.parts["number"])
    before = await threads.seen(thread=found.thread, number=found.earlier) if found.earlier else None
    lines = lines_of(found)
    few, many = few_and_many([line for line in lines if line.entry.status == "out"])
    more = {
        "segments": segments(found.receipt),
        "boundary": cache_boundary(found.receipt),
        "lines": [line for line in lines if line.entry.status != "out"],
        "omitted": few,
        "many_omitted": many,
        "around": next((row for row in found.receipt.rows if row.layer == AROUND), None),
        "calls": calls_of(found.messages),
        "changes": changed_most(differences(before.receipt, found.receipt)) if before else [],
        "before": before,
    }
    return View("turns/turn.html", found, more)


async def text(asked: Asked) -> View:
    """Show a part of a message of a prompt, exactly as it was sent."""
    thread, number = asked.parts["thread"], asked.number("the turn", asked.parts["number"])
    message = asked.number("the message", asked.parts["message"])
    start = asked.number("from", asked.query.get("from", "0"))
    found = await asked.workspace.threads.sent(thread=thread, number=number, message=message, start=start)
    more = {"thread": thread, "number": number, "message": message, "label": "", "is_exact": True}
    return View("turns/text.html", found, more)


async def block(asked: Asked) -> View:
    """Show the text of a block exactly, where it is known which part of its message it is; else all of the message."""
    found = await _seen(asked, asked.parts["thread"], asked.parts["number"])
    lines, place = lines_of(found), asked.number("the block", asked.parts["block"])
    line = lines[place] if place < len(lines) else None
    if line is None or line.message is None:
        raise ConfigError("it is not known where in the prompt this block is; the messages of the turn have all of it")
    start = asked.number("from", asked.query.get("from", "0"))
    items = await asked.workspace.threads.history(thread=found.thread, everything=True)
    span = span_of(line, lines, [item for item in items if item.turn == found.id])
    begin, end = span or (0, None)
    part = await asked.workspace.threads.sent(
        thread=found.thread, number=found.number, message=line.message, start=begin + start
    )
    whole = part.length if end is None else end
    value = SentText(part.role, part.text[: max(whole - begin - start, 0)], start, whole - begin)
    more = {"thread": found.thread, "number": found.number, "message": line.message}
    return View("turns/text.html", value, {**more, "label": line.entry.label, "is_exact": span is not None})


async def beside(asked: Asked) -> View:
    """Show two turns side by side."""
    left = await _seen(asked, asked.parts["thread"], asked.parts["number"])
    thread, number = asked.query.get("with_thread") or left.thread, asked.query.get("with") or str(left.earlier or 1)
    right = await _seen(asked, thread, number)
    value = TurnDifference(left, right, list(filter(is_in_either, pairs(left.receipt, right.receipt))))
    more = {"segments": {"left": segments(left.receipt), "right": segments(right.receipt)}}
    return View("turns/beside.html", value, more)


async def source(asked: Asked) -> View:
    """Show every turn that rests on a file, a note or anything else with an address."""
    named = asked.query.get("of", "").strip()
    if not named:
        return View(
            "turns/source.html",
            None,
            {"named": "", "nothing": "", "alike": (), "offered": await _newest_sources(asked)},
        )
    try:
        found = await asked.workspace.threads.audit(named, limit=_MOST_USES)
    except SourceError as error:  # that nothing rests on it is an answer, too
        alike = await asked.workspace.find_files(named, limit=_OFFERED)
        more = {"named": named, "nothing": error.reason, "alike": alike, "offered": await _newest_sources(asked)}
        return View("turns/source.html", None, more, status=404)
    names = list(dict.fromkeys(path_of(source) or source for source in found.sources))
    return View("turns/source.html", uses_of(found), {"named": path_of(named) or named, "names": names})


def uses_of(found: Audit) -> SourceUses:
    """Return the turns of an audit, those that were only sent a name apart."""
    ways: dict[tuple[str, int], list[AuditRow]] = {}
    for row in found.rows:
        ways.setdefault((row.thread, row.number), []).append(row)
    turns = [
        SourceTurn(rows[0].thread, rows[0].number, rows[0].created, rows[0].status, rows[0].text, rows[0].answer, rows)
        for rows in ways.values()
    ]
    named = [turn for turn in turns if all(row.how == "name" for row in turn.ways)]
    return SourceUses(found.sources, [turn for turn in turns if turn not in named], named, found.more)


async def _newest_sources(asked: Asked) -> Mapping[str, str]:
    """Return what the newest turns had in their prompts and other turns may rest on, too: names with addresses."""
    threads = asked.workspace.threads
    found: dict[str, str] = {}
    for head in (await threads.recent(limit=_NEWEST)).turns:
        if len(found) >= _OFFERED:
            break
        turn = await threads.seen(thread=head.thread, number=head.number)
        for line in lines_of(turn):
            if line.is_offered:
                found.setdefault(line.path or line.entry.label, line.entry.source)
    return dict(islice(found.items(), _OFFERED))


async def _seen(asked: Asked, thread: str, number: str) -> SeenTurn:
    return await asked.workspace.threads.seen(thread=thread, number=asked.number("the turn", number))


def few_and_many(lines: Sequence[Line]) -> tuple[list[Line], dict[str, list[Line]]]:
    """Return the lines of layers that have few, and those of layers that have many, by layer."""
    layers: dict[str, list[Line]] = {}
    for line in lines:
        layers.setdefault(line.entry.layer, []).append(line)
    many = {layer: every for layer, every in layers.items() if len(every) > _FEW}
    return [line for line in lines if line.entry.layer not in many], many


def is_in_either(change: EntryChange) -> bool:
    """Return whether one of two prompts has what was compared: what neither has is no difference to a model."""
    return any(entry is not None and entry.status != "out" for entry in (change.before, change.after))


def changed_most(changes: Sequence[EntryChange]) -> list[tuple[EntryChange, int]]:
    """Return what differs between two prompts with by how many tokens, the most first."""
    found = [(change, _tokens(change.after) - _tokens(change.before)) for change in changes if is_in_either(change)]
    return sorted(found, key=lambda one: -abs(one[1]))


def _tokens(entry: ReceiptEntry | None) -> int:
    return 0 if entry is None or entry.status == "out" else entry.tokens


def segments(receipt: Receipt) -> list[Segment]:
    """Return the layers of a window from its beginning, in the order of the prompt."""
    found, start = list[Segment](), 0
    for layer, tokens in receipt.by_layer().items():
        found.append(Segment(layer, start, tokens))
        start += tokens
    return found


def cache_boundary(receipt: Receipt) -> int:
    """Return how many tokens stand before the last part of the history; 0 if there is none.

    The next turn repeats them, so that a service can take them from its cache.
    """
    layers = [entry.layer for entry in receipt.entries]
    if "history" not in layers:
        return 0
    last = max(place for place, layer in enumerate(layers) if layer == "history")
    return sum(entry.taken for entry in receipt.entries[: last + 1])


def lines_of(turn: SeenTurn) -> list[Line]:
    """Return the entries of a receipt with the message in which each is."""
    places = _messages_of_groups(turn.receipt.entries, turn.messages)
    return [Line(place, entry, places.get(place)) for place, entry in enumerate(turn.receipt.entries)]


def _messages_of_groups(entries: Sequence[ReceiptEntry], messages: Sequence[SentMessage]) -> dict[int, int]:
    """Return the message of each entry, by its place in the receipt.

    Each layer has a message of its own before the history or after it, in the order of the receipt. Where the numbers
    of both do not agree, as after results of tools, nothing is guessed.
    """
    words = max((place for place, one in enumerate(messages) if one.role == "user"), default=None)
    developers = [place for place, one in enumerate(messages) if one.role in {"developer", "system"}]
    found: dict[int, int] = {}
    groups: list[list[int]] = []
    for layer, group in groupby(enumerate(entries), key=_layer_of):
        placed: list[int] = [place for place, entry in group if entry.status != "out" and entry.tokens]
        if layer in _WITH_MESSAGE and words is not None:
            found |= dict.fromkeys(placed, words)
        elif placed and layer not in {"history", "tools", "loop"}:
            groups.append(placed)
    if len(groups) == len(developers):
        for places, message in zip(groups, developers, strict=True):
            found |= dict.fromkeys(places, message)
    return found


def span_of(line: Line, lines: Sequence[Line], items: Sequence[Item]) -> tuple[int, int | None] | None:
    """Return from where to where in its message a block is, ``None`` if that was not recorded."""
    said = next((item for item in items if item.role == "user"), None)
    if line.entry.layer in _WITH_MESSAGE:
        if said is None:
            return None
        if line.entry.layer == "message":
            return said.words_start, None
        return next(
            (
                (one.start, one.end)
                for one in said.attachments
                if (one.source, one.label, one.lines) == (line.entry.source, line.entry.label, line.entry.lines)
            ),
            None,
        )
    return (0, None) if sum(one.message == line.message for one in lines) == 1 else None


def calls_of(messages: Sequence[SentMessage]) -> list[Called]:
    """Return the calls of tools since the message of the person, each with its result: those have the same order."""
    words = max((place for place, one in enumerate(messages) if one.role == "user"), default=len(messages))
    results = [place for place, one in enumerate(messages) if one.role == "tool" and place > words]
    calls = [(place, call) for place, one in enumerate(messages) if place > words for call in one.calls]
    places: list[int | None] = [*results, *[None] * len(calls)]
    return [
        Called(call, place, result, "" if result is None else messages[result].beginning)
        for (place, call), result in zip(calls, places, strict=False)
    ]


def _layer_of(numbered: tuple[int, ReceiptEntry]) -> str:
    return numbered[1].layer


PAGES: Final = (
    Page("GET", "/turns", recent, nav="Turns"),
    Page("GET", "/turns/{thread}/{number}", turn),
    Page("GET", "/turns/{thread}/{number}/beside", beside),
    Page("GET", "/turns/{thread}/{number}/messages/{message}", text),
    Page("GET", "/turns/{thread}/{number}/blocks/{block}", block),
    Page("GET", "/sources", source, nav="Sources"),
)

"""Computes the cost of a history, the items that belong together, and the part that fits. Pure.

Knows items and a counter. It does not know how a history is compacted (``compact`` does), what else is in the window,
or where histories are stored.

An assistant's message with tool calls and the results right after it are one group, in the history and in any view of
it: no provider accepts a call without its result, or a result without its call. A group that lacks a result, and a
result without a call, stay in the history and are never sent.
"""

from collections import Counter as Tally
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.errors import ConfigError
from promptuary.base.messages import (
    SPEAKERS,
    Item,
    cost,
)

SUMMARY_SHARE = 0.25
"""Summaries up to this part of the room are sent even if not all messages after them fit."""

_CACHED_CHARACTERS = 16 * 1024 * 1024
_EACH = 128
"""The overhead of an entry besides its text, in characters."""


class HistoryStats(Struct, frozen=True):
    """A history in figures; ``share`` is the part of the window that it takes."""

    messages: int
    tokens: int
    window: int
    share: float
    needs_compaction: bool
    summaries: int


class CachingCounter:
    """A counter that caches the counts of texts, up to a total number of characters. Safe to share between threads.

    Nearly all of a prompt was also in the last one, mostly as the same string objects, whose hash Python has already
    computed.
    """

    __slots__ = ("_counter", "_seen", "_size")

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._seen: dict[str, int] = {}
        self._size = 0

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is."""
        known = self._seen.get(text)
        if known is None:
            if self._size > _CACHED_CHARACTERS:
                self._seen, self._size = {}, 0
            known = self._seen[text] = self._counter.count(text)
            self._size += len(text) + _EACH
        return known


class CompactionPolicy(Struct, frozen=True):
    """When a history is compacted and how far.

    Compaction is due when the history costs more than ``threshold`` of the window, however many messages it has; it
    brings the history down to ``goal`` of the window. The ``keep_last`` newest items are not changed as long as they
    are small (see ``kept``). Tool results and attachments above ``shorten_over`` tokens are cut to ``shorten_to``. A
    summary costs at most ``summary_tokens``, and may cost ``summary_least`` even if the goal leaves less. A model that
    writes it reads at most ``transcript_tokens`` and has ``model_seconds``.
    """

    threshold: float = 0.70
    goal: float = 0.35
    keep_last: int = 6
    shorten_over: int = 400
    shorten_to: int = 160
    summary_tokens: int = 1_500
    summary_least: int = 300
    transcript_tokens: int = 32_000
    model_seconds: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.goal < self.threshold <= 1:
            raise ConfigError(
                f"compaction needs 0 < goal < threshold <= 1, not goal {self.goal!r} and threshold {self.threshold!r}"
            )
        if self.keep_last < 0:
            raise ConfigError("compaction needs keep_last from 0 on")
        if not 40 <= self.shorten_to < self.shorten_over:
            raise ConfigError("compaction needs shorten_to from 40 tokens on, and shorten_over above it")
        if self.summary_tokens < 100 or self.summary_least < 0 or self.transcript_tokens < 1:
            raise ConfigError(
                "compaction needs at least 100 summary_tokens, summary_least from 0 and transcript_tokens from 1 on"
            )
        if not self.model_seconds > 0:
            raise ConfigError("compaction needs model_seconds above 0")

    def within(self, room: int, window: int) -> "CompactionPolicy":
        """Return the policy for a history that currently has only ``room`` of its ``window``.

        The goal stays the same number of tokens if that leaves space for new messages, and is smaller otherwise.
        """
        return replace(self, goal=min(self.goal * window / max(room, 1), (self.goal + self.threshold) / 2))


DEFAULT_POLICY = CompactionPolicy()


class Group(Struct, frozen=True):
    """Items that are kept or removed together, from index ``start``. ``sendable`` are those that a provider accepts."""

    start: int
    items: tuple[Item, ...]
    sendable: tuple[Item, ...]

    @property
    def is_fixed(self) -> bool:
        """Whether it may never be compacted or left out: instructions and pinned items."""
        for item in self.items:  # noqa: SIM110  (asked of a whole history, and `any` takes three times as long)
            if item.pinned or item.role not in SPEAKERS:
                return True
        return False

    @property
    def has_strays(self) -> bool:
        """Whether some of its items are never sent."""
        return len(self.sendable) != len(self.items)

    @property
    def end(self) -> int:
        """The index after its last item."""
        return self.start + len(self.items)


def spoken(items: Sequence[Item]) -> Sequence[Item]:
    """Return the items that a user, an assistant or a tool said."""
    return [item for item in items if item.role in SPEAKERS]


def groups(items: Sequence[Item]) -> list[Group]:
    """Return ``items`` as groups, in order; every item is in exactly one."""
    found: list[Group] = []
    end = 0
    for start, item in enumerate(items):
        if start < end:
            continue  # a result that belongs to the call before it
        end = start + 1
        if not item.tool_calls or item.role != "assistant":  # nearly always: a message by itself
            run: tuple[Item, ...] = (item,)
            found.append(Group(start, run, () if item.role == "tool" else run))
        else:
            while end < len(items) and items[end].role == "tool":
                end += 1
            run = tuple(items[start:end])
            found.append(Group(start, run, _answered(run)))
    return found


def _answered(run: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the call with one result for each of its calls; nothing if a result is missing."""
    head = run[0]
    waiting = Tally(call.id for call in head.tool_calls)
    answers = []
    for result in run[1:]:
        if waiting[result.tool_call_id] > 0:
            waiting[result.tool_call_id] -= 1
            answers.append(result)
    return () if waiting.total() else (head, *answers)


def older(items: Sequence[Item], keep_last: int) -> list[Group]:
    """Return the groups that may be compacted: those that end before the last ``keep_last`` items and are not fixed."""
    tail = len(items) - keep_last
    return [group for group in groups(items) if group.end <= tail and not group.is_fixed]


class PricedHistory(Struct, frozen=True):
    """A history with its costs: grouped and counted once, used several times in a turn.

    ``priced`` has each group that can be sent and what it costs; ``sent`` is the sum. ``strays`` are the groups of
    which some items are never sent. ``tokens`` is what all items cost, the strays included. ``whole`` is
    what they would cost as they were said, before any compaction; 0 if that is not known. ``unspoken`` counts the items
    with roles that a conversation does not have, which are ignored: a history must not give instructions.
    """

    items: Sequence[Item]
    priced: Sequence[tuple[Group, int]]
    strays: Sequence[Group]
    sent: int
    tokens: int
    whole: int
    unspoken: int = 0

    @classmethod
    def of(cls, items: Sequence[Item], counter: TokenCounter) -> "PricedHistory":
        """Return the conversation in ``items``, grouped and priced."""
        said = spoken(items)
        every = groups(said)
        priced = [(group, cost(group.sendable, counter)) for group in every if group.sendable]
        sent = sum(price for _, price in priced)
        strays = [group for group in every if group.has_strays]
        unsent = sum(cost(group.items, counter) - cost(group.sendable, counter) for group in strays)
        short = [item for item in said if item.stands_for]
        saved = sum(item.whole_tokens for item in short) - cost(short, counter)
        whole = sent + unsent + saved if all(item.whole_tokens for item in short) else 0
        return cls(said, priced, strays, sent, sent + unsent, whole, len(items) - len(said))

    @property
    def fixed(self) -> int:
        """The cost of its fixed groups."""
        return sum(price for group, price in self.priced if group.is_fixed)

    def newest(self, budget: int) -> tuple[Item, ...]:
        """Return the items to send for at most ``budget`` tokens: whole groups, in order.

        Pinned items are always included, even above the budget. Then come summaries, which stand for much at a low
        cost, as long as they take a small part of the room; then the newest groups, up to the first that does not fit.
        If something is left out, the rest begins with a message of the user.
        """
        taken = None if self.sent <= budget else _taken(self.priced, budget)
        return tuple(
            item for group, _ in self.priced if taken is None or group.start in taken for item in group.sendable
        )


def _taken(priced: Sequence[tuple[Group, int]], budget: int) -> set[int]:
    """Return the starts of the groups that fit into ``budget``."""
    taken = {group.start for group, _ in priced if group.is_fixed}
    room = budget - sum(price for group, price in priced if group.start in taken)
    for group, price in reversed(priced):
        if group.start not in taken and is_summary(group) and price <= room * SUMMARY_SHARE:
            taken.add(group.start)
            room -= price
    for group, price in reversed(priced):
        if group.start in taken:
            continue
        room -= price
        if room < 0:
            break
        taken.add(group.start)
    return taken - _before_the_first_user(priced, taken)


def _before_the_first_user(priced: Sequence[tuple[Group, int]], taken: set[int]) -> set[int]:
    """Return the starts of the taken groups before the first message of the user: an answer without its question.

    Some providers refuse a conversation that begins with the assistant. A fixed group stays.
    """
    early = set()
    for group, _ in priced:
        if group.is_fixed or (group.start in taken and group.items[0].role == "user"):
            break
        early.add(group.start)
    return early


def is_summary(group: Group) -> bool:
    return group.items[0].kind == "summary"

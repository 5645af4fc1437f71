"""The interface of a layer: content that is in the window turn after turn.

A layer is a subclass of ``Layer`` that overrides the hooks it needs. It depends on this module alone. The runner calls
each hook with a timeout and in isolation: a failure becomes an entry in the receipt and never loses the turn. State is
JSON; the engine stores it per scope, in the same transaction as the turn.

    init          once per process and scope, before all others; ``context.state`` is the stored state, or ``None``
    on_message    the person's text, before any recall; may rewrite it and ask for a new recall
    refresh       before each further request of a turn, in which tools were called; then ``recall`` is asked again
    recall        returns what to put into the window, at most ``request.budget`` tokens
    after_model   the reply, as soon as it is there
    store         saves what was learnt; all layers run concurrently
    complete      the turn is over, however it ended
    dispose       the process ends
"""

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from typing import ClassVar, Final, Literal, NamedTuple, get_args

from msgspec import Struct

from promptuary.base.blocks import Block, Omitted, Passage
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import ConfigError
from promptuary.base.messages import Item
from promptuary.base.principals import LOCAL, Principal
from promptuary.base.references import carried_spans
from promptuary.base.values import Json
from promptuary.references.message import ParsedMessage
from promptuary.workspace.access import Access

PRIVATE_SCOPES: Final = frozenset({"thread", "user"})
"""State of these scopes belongs to the owner; that of the others is shared by everybody who uses the workspace."""


StateScope = Literal["thread", "user", "resource", "global"]
"""The scope of a layer's state."""


class StateKey(NamedTuple):
    """The key of a layer's state. ``name`` is the thread or the resource, and empty for the other scopes."""

    layer: str
    scope: StateScope
    name: str = ""


class LayerState(Struct, frozen=True):
    """The state of a layer in one scope, with the version of its shape."""

    key: StateKey
    version: int
    value: Json


class Slot(IntEnum):
    """The usual places of layers; smaller is earlier. Any whole number from 0 on is allowed."""

    REMINDER = 80
    STEERING = 90
    WORKING_MEMORY = 100
    STATIC = 105
    ENTITY = 150
    OBSERVATIONS = 200
    PROCEDURAL = 250
    EPISODIC = 300
    FILES = 350
    SEMANTIC_RECALL = 400


Band = Literal["stable", "live"]
"""``stable`` comes before the history and should rarely change; ``live`` follows it."""

Scope = Literal["thread", "user", "resource", "global", "execution"]
"""The scope of stored state.

One thread, all threads of the principal, all threads of a resource, everything, or (not stored) this process. State of
the scopes ``thread`` and ``user`` is private to the principal; in a group it belongs to the group.
"""

Hook = Literal["init", "on_message", "refresh", "recall", "after_model", "store", "complete", "dispose"]

TIMEOUTS: Mapping[Hook, float] = {
    "init": 10.0,
    "on_message": 5.0,
    "refresh": 5.0,
    "recall": 5.0,
    "after_model": 10.0,
    "store": 30.0,
    "complete": 30.0,
    "dispose": 5.0,
}
"""Default timeouts of hooks in seconds; a layer may override them. Zero or less means no timeout."""


class BudgetRange(Struct, frozen=True):
    """A budget with a reservation and a ceiling."""

    min: int = 0
    max: int | None = None


Budget = int | BudgetRange | Literal["auto"]
"""A number is both the reservation and the ceiling; ``BudgetRange`` sets them apart; ``auto`` has neither.

The number 0 reserves everything that the layer wants: instructions are rather too long than missing.
"""


Earlier = Callable[[str], Awaitable[str]]
"""Returns the message of the thread's last request that has this SHA-256; an empty text if there is none."""


async def _nothing_earlier(_: str) -> str:
    return ""


class LayerContext(Struct):
    """The argument of every hook. A hook sets ``state`` to change it; one that fails or times out changes nothing."""

    thread: str
    scope_key: str
    """An opaque string, different for every scope and every owner: what a layer may cache under."""
    state: Json
    counter: TokenCounter
    window: int
    turn: str = ""
    principal: Principal = LOCAL
    access: Access = Access()
    """What the thread may see: a layer shows nothing else."""
    earlier: Earlier = _nothing_earlier
    """Looks up earlier messages in the ledger, so that a layer that repeats one need not store it.

    Forgotten messages are missing.
    """


class Incoming(Struct, frozen=True, dict=True):
    """The person's message before recall. Layers with smaller slots may have rewritten ``text``.

    ``pasted`` are the parts of ``text`` in which nothing is a reference.
    """

    text: str
    original: str
    pasted: Sequence[tuple[int, int]] = ()

    @cached_property
    def parsed(self) -> ParsedMessage:
        """The message as it is now, parsed."""
        return self.typed if self.text == self.original else ParsedMessage(self.text, self.pasted)

    @cached_property
    def typed(self) -> ParsedMessage:
        """The message as the person typed it, parsed."""
        return ParsedMessage(self.original, carried_spans(self.pasted, self.text, self.original))


class Changed(Struct, frozen=True):
    """What ``on_message`` may return: another text, and whether to recall again."""

    text: str | None = None
    rerender: Literal["immediate", "next_turn"] | None = None


class RecallRequest(Struct, frozen=True):
    """A request for at most ``budget`` tokens that help with ``query``, the person's words.

    ``in_view`` are the blocks that are already in the window beside the ``history``: the message, its attachments, and
    the output of earlier layers.
    """

    query: str
    budget: int
    history: Sequence[Item] = ()
    in_view: Sequence[Block] = ()
    parsed: ParsedMessage | None = None
    """The person's words, if they are parsed already; see ``message``."""

    @property
    def message(self) -> ParsedMessage:
        """The person's words, parsed."""
        return self.parsed or ParsedMessage(self.query)

    def passages(self) -> Iterator[Passage]:
        """Yield every text that is already in the window."""
        for block in self.in_view:
            yield block.passage
        for item in self.history:
            yield from item.passages()


class Recall(Struct, frozen=True):
    """The output of a layer: ``heading`` first, then its blocks, with an empty line between them.

    ``notes`` are for the person and not for the model: they become warnings of the turn. ``updates`` say what has
    changed since the blocks were first sent. They follow the history in a separate message that begins with
    ``updates_heading``, so a stable layer can repeat its bytes and still be current.
    """

    blocks: Sequence[Block] = ()
    heading: str = ""
    omitted: Sequence[Omitted] = ()
    notes: Sequence[str] = ()
    updates: Sequence[Block] = ()
    updates_heading: str = ""

    @property
    def text(self) -> str:
        """Exactly what goes into the prompt; empty if the layer adds nothing."""
        return _below(self.heading, self.blocks)

    @property
    def updates_text(self) -> str:
        """Exactly what goes into the prompt after the history; empty if nothing has changed."""
        return _below(self.updates_heading, self.updates)


def _below(heading: str, blocks: Sequence[Block]) -> str:
    bodies = [block.text for block in blocks if block.text]
    return "\n\n".join([heading, *bodies] if heading else bodies) if bodies else ""


class Reply(Struct, frozen=True):
    """The reply of the model: the items in order; the last one is what the person sees."""

    items: Sequence[Item]

    @property
    def text(self) -> str:
        """The last thing the assistant said."""
        return next((item.content for item in reversed(self.items) if item.role == "assistant"), "")


Ending = Literal["finished", "failed", "abandoned"]
"""How a turn ended."""


class Layer:
    """Content that is in the window turn after turn. Subclass it and override what you need.

    ``id`` must be unique. Raise ``state_version`` when the shape of the state changes: stored state of another version
    is refused with a clear error and not overwritten.
    """

    id: str = ""
    slot: int = Slot.WORKING_MEMORY
    band: Band = "live"
    scope: Scope = "thread"
    budget: Budget = "auto"
    timeouts: ClassVar[Mapping[Hook, float]] = {}
    on_init_error: Literal["raise", "disable"] = "raise"
    state_version: int = 1

    async def init(self, context: LayerContext) -> None:
        """Prepare; called once per process and scope."""

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        """Look at the person's message; return a change, or ``None``."""

    async def refresh(self, context: LayerContext) -> None:
        """Look again at what tools may have changed.

        A layer that has this hook is recalled for every request of a turn; the output of other layers is not changed.
        """

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
        """Return what to put into the window; a plain text becomes one block, ``None`` adds nothing."""

    async def after_model(self, reply: Reply, context: LayerContext) -> None:
        """Look at the reply."""

    async def store(self, reply: Reply, context: LayerContext) -> None:
        """Save what was learnt; all layers run concurrently."""

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        """Clean up after the turn, however it ended."""

    async def dispose(self) -> None:
        """Release everything: the process ends."""

    def mark(self, state: Json) -> Json:
        """Return what ``undone`` needs to know about ``state``; called before and after every message."""
        del state

    def undone(self, state: Json, before: Json, after: Json) -> Json:
        """Return ``state`` without what an undone turn added; ``before`` and ``after`` are the marks of that turn."""
        del before, after
        return state


def check(layers: Sequence[Layer]) -> None:
    """Raise ``ConfigError`` if the layers could not work together."""
    seen: set[str] = set()
    for layer in layers:
        if not layer.id or not isinstance(layer.id, str):
            raise ConfigError(f"{type(layer).__name__} has no id; give every layer one of its own")
        if layer.id in seen:
            raise ConfigError(f"two layers are called {layer.id!r}; give each an id of its own")
        seen.add(layer.id)
        _check_slot(layer)
        _check_budget(layer)
        _check_choices(layer)


def _check_slot(layer: Layer) -> None:
    if not _is_whole(layer.slot):
        raise ConfigError(f"layer {layer.id!r}: slot must be a whole number from 0 on, not {layer.slot!r}")


def _check_budget(layer: Layer) -> None:
    budget = layer.budget
    if budget == "auto":
        return
    numbers: list[object] = [budget]
    if isinstance(budget, BudgetRange):
        numbers = [budget.min] if budget.max is None else [budget.min, budget.max]
    for number in numbers:
        if not _is_whole(number):
            raise ConfigError(f"layer {layer.id!r}: budget must be whole tokens from 0 on, or auto, not {budget!r}")
    if isinstance(budget, BudgetRange) and budget.max is not None and budget.min > budget.max:
        raise ConfigError(f"layer {layer.id!r}: budget has min {budget.min} above max {budget.max}")


def _is_whole(value: object) -> bool:
    """Return whether ``value`` is a whole number from 0 on; layers are also written without a type checker."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_choices(layer: Layer) -> None:
    if layer.band not in {"stable", "live"}:
        raise ConfigError(f"layer {layer.id!r}: band must be stable or live, not {layer.band!r}")
    if layer.scope not in get_args(Scope):
        raise ConfigError(f"layer {layer.id!r}: scope must be one of {', '.join(get_args(Scope))}")
    for hook, seconds in layer.timeouts.items():
        if hook not in TIMEOUTS or math.isnan(seconds):
            raise ConfigError(f"layer {layer.id!r}: timeouts must name hooks and seconds, not {hook!r}: {seconds!r}")


class HookRun(Struct, frozen=True):
    """How long a hook took, in milliseconds."""

    layer: str
    hook: str
    milliseconds: float


class Failure(Struct, frozen=True):
    """A layer's failure: a stable ``code`` and a sentence. The turn went on without that layer."""

    layer: str
    hook: str
    code: Literal["TIMEOUT", "ERROR", "OVER_BUDGET", "BAD_STATE", "DISABLED"]
    reason: str

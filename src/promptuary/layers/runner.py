"""Calls the hooks of layers, each with a timeout, isolated and timed.

A hook that exceeds its timeout is cancelled. It works on a copy of its layer's state, which is committed only if the
hook succeeds, so a failure or a timeout changes nothing. An exception becomes a ``Failure`` and the turn continues. The
runner knows no layer by name, and neither storage nor budgets.
"""

import asyncio
import json
import logging
import marshal
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Omitted, Trust
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import ConfigError, LayerInitError
from promptuary.base.messages import MESSAGE_OVERHEAD
from promptuary.base.principals import LOCAL, Principal
from promptuary.base.references import carried_spans
from promptuary.base.values import Json
from promptuary.layers.layer import (
    TIMEOUTS,
    Changed,
    Earlier,
    Ending,
    Failure,
    Hook,
    HookRun,
    Incoming,
    Layer,
    LayerContext,
    LayerState,
    Recall,
    RecallRequest,
    Reply,
    StateKey,
    StateScope,
)
from promptuary.workspace.access import Access

logger = logging.getLogger(__name__)

_FAILED = object()

LoadStates = Callable[[Sequence[StateKey]], Awaitable[Sequence[LayerState | None]]]
"""Returns the state under each key, in the order of the keys."""


class HookLog(Struct):
    """The log of the hooks of one turn: their times, their failures, and their notes for the person, each once."""

    hooks: list[HookRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)


class LayerRun(Struct):
    """A layer in one scope: its current state, and whether that has to be stored."""

    layer: Layer
    context: LayerContext
    key: StateKey | None
    """The key of the stored state; ``None`` if it is not stored."""
    ready: bool = False
    disabled: bool = False
    refused: bool = False
    dirty: bool = False
    as_before: bool = False
    """Whether to repeat the last recall: the layer postponed its change to the next turn."""
    last: Recall | None = None


def state_key(layer: Layer, thread: str, resource: str) -> StateKey | None:
    """Return the key of a layer's stored state; ``None`` if it is not stored."""
    names: Mapping[str, tuple[StateScope, str]] = {
        "thread": ("thread", thread),
        "user": ("user", ""),
        "resource": ("resource", resource),
        "global": ("global", ""),
    }
    return StateKey(layer.id, *names[layer.scope]) if layer.scope in names else None


class Runner:
    """The layers of one thread, in the order of their slots."""

    def __init__(
        self,
        layers: Sequence[Layer],
        thread: str,
        resource: str,
        counter: TokenCounter,
        window: int,
        *,
        principal: Principal = LOCAL,
    ) -> None:
        self._runs: list[LayerRun] = []
        for layer in sorted(layers, key=lambda layer: layer.slot):
            key = state_key(layer, thread, resource)
            # The threads of all principals of a process share layers, which use this as a cache key.
            scope_key = repr((principal.owner, layer.scope, key.name)) if key else ""
            context = LayerContext(thread, scope_key, None, counter, window, principal=principal)
            self._runs.append(LayerRun(layer, context, key))

    @property
    def active(self) -> list[LayerRun]:
        """The layers that take part."""
        return [run for run in self._runs if run.ready and not run.disabled and not run.refused]

    def take_changes(self) -> list[LayerState]:
        """Return the states that are to be stored, and mark them as stored."""
        states = [
            LayerState(run.key, run.layer.state_version, run.context.state)
            for run in self._runs
            if run.dirty and run.key is not None
        ]
        for run in self._runs:
            run.dirty = False
        return states

    def marks(self) -> dict[str, Json]:
        """Return the marks that are needed to undo a turn, by the ids of the layers."""
        kept = [run for run in self.active if run.key is not None and run.key.scope == "thread"]
        return {run.layer.id: mark for run in kept if (mark := run.layer.mark(run.context.state)) is not None}

    def take_back(self, marks: Mapping[str, tuple[Json, Json]]) -> None:
        """Remove from the states what a turn added to them: ``marks`` are those before and after its message."""
        for run in self.active:
            if run.key is not None and run.layer.id in marks:
                run.context.state = run.layer.undone(run.context.state, *marks[run.layer.id])
                run.dirty = True

    def look_through(self, access: Access) -> None:
        """Set what the thread may see, for every layer."""
        for run in self._runs:
            run.context.access = access

    def look_back(self, earlier: Earlier) -> None:
        """Set the lookup of earlier messages for every layer."""
        for run in self._runs:
            run.context.earlier = earlier

    async def init(self, load: LoadStates, log: HookLog) -> None:
        """Prepare every layer in turn, with its stored state, which another process may have changed."""
        keys = [run.key for run in self._runs if not run.disabled and run.key is not None]
        stored = dict(zip(keys, await load(keys), strict=True))
        for run in self._runs:
            state = None if run.key is None else stored.get(run.key)
            if run.disabled or not self._restore(run, state, log) or run.ready:
                continue
            done = await self._call(run, "init", log)
            run.ready = done is not _FAILED
            if not run.ready:
                self._init_failed(run, log)

    async def on_message(self, message: Incoming, log: HookLog) -> Incoming:
        """Pass the message to every layer in turn; return it after their changes."""
        for run in self.active:
            changed = await self._call(run, "on_message", log, message)
            run.as_before = False
            if isinstance(changed, Changed) and not _is_text(changed.text or ""):
                log.failures.append(_misfit(run, "on_message", changed.text, "text"))
            elif isinstance(changed, Changed):
                text = message.text if changed.text is None else changed.text
                message = replace(message, text=text, pasted=carried_spans(message.pasted, message.text, text))
                run.as_before = changed.rerender == "next_turn"
        return message

    async def refresh(self, log: HookLog) -> list[LayerRun]:
        """Call ``refresh`` of the layers that have it: tools may have changed something. Return these layers."""
        runs = [run for run in self.active if _has(run.layer, "refresh")]
        for run in runs:
            await self._call(run, "refresh", log)
            run.as_before = False
        return runs

    async def recall(self, run: LayerRun, request: RecallRequest, log: HookLog) -> Recall:
        """Return the recall of a layer, its last one if it asked for that and it fits; empty if the layer fails."""
        if run.as_before and run.last and _size(run.last, run.context.counter) <= request.budget:
            return run.last
        found = await self._call(run, "recall", log, request)
        if isinstance(found, str):
            found = Recall([Block.of(found, run.layer.id, source=f"layer:{run.layer.id}")] if found else ())
        if isinstance(found, Recall) and _is_sound(found):
            run.last = _measured(found, run.context.counter)
            return run.last
        if found is not None and found is not _FAILED:
            log.failures.append(_misfit(run, "recall", found, "text, a Recall or nothing"))
        return Recall()

    async def after_model(self, reply: Reply, log: HookLog) -> None:
        """Pass the reply to every layer in turn."""
        for run in self.active:
            await self._call(run, "after_model", log, reply)

    async def store(self, reply: Reply, log: HookLog) -> None:
        """Call ``store`` of all layers concurrently."""
        await asyncio.gather(*(self._call(run, "store", log, reply) for run in self.active))

    async def complete(self, ending: Ending, log: HookLog) -> None:
        """Call ``complete`` of every layer: the turn is over."""
        for run in self.active:
            await self._call(run, "complete", log, ending)

    def _restore(self, run: LayerRun, stored: LayerState | None, log: HookLog) -> bool:
        """Give ``run`` its stored state; return whether the layer can use it."""
        if run.key is None:
            return True
        run.refused = stored is not None and stored.version != run.layer.state_version
        if stored is None:
            if run.context.state is not None:
                # It was cleared, or the step that made it was cancelled or could not be written: the layer starts over.
                run.context.state, run.ready, run.dirty = None, False, False
            return True
        if run.refused:
            reason = (
                f"its state is of version {stored.version}, and this program knows version {run.layer.state_version}; "
                "it is not changed: update the program, or clear the state to start over"
            )
            log.failures.append(Failure(run.layer.id, "init", "BAD_STATE", reason))
            return False
        run.context.state, run.dirty = stored.value, False
        return True

    def _init_failed(self, run: LayerRun, log: HookLog) -> None:
        reason = log.failures[-1].reason
        if run.layer.on_init_error == "raise":
            raise LayerInitError(f"layer {run.layer.id!r} could not be prepared: {reason}")
        log.failures.append(Failure(run.layer.id, "init", "DISABLED", "left out because it could not be prepared"))
        run.disabled = True

    async def _call(self, run: LayerRun, hook: Hook, log: HookLog, *arguments: object) -> object:
        """Run one hook on a copy of the state; commit the copy only if the hook succeeds."""
        if not _has(run.layer, hook):
            return None
        began = time.perf_counter()
        try:
            context = replace(run.context, state=_copy(run.context.state))
            async with asyncio.timeout(_seconds(run.layer.timeouts, hook)):
                result: object = await getattr(run.layer, hook)(*arguments, context)
            changed = context.state != run.context.state
            state = _as_json(context.state) if changed else run.context.state
        except TimeoutError:
            log.failures.append(Failure(run.layer.id, hook, "TIMEOUT", _late(_seconds(run.layer.timeouts, hook))))
            return _FAILED
        except (ConfigError, asyncio.CancelledError):
            raise
        except Exception as error:  # a plug-in may raise anything
            logger.exception("layer %s failed in %s", run.layer.id, hook)
            log.failures.append(Failure(run.layer.id, hook, "ERROR", f"{type(error).__name__}: {error}"))
            return _FAILED
        finally:
            log.hooks.append(HookRun(run.layer.id, hook, (time.perf_counter() - began) * 1000))
        if changed:
            run.context.state, run.dirty = state, True
        return result


async def dispose(layers: Sequence[Layer], log: HookLog) -> None:
    """Dispose every layer, the last first. Threads share layers, so this is done once for all of them."""
    for layer in sorted(layers, key=lambda layer: layer.slot, reverse=True):
        try:
            async with asyncio.timeout(_seconds(layer.timeouts, "dispose")):
                await layer.dispose()
        except TimeoutError:
            log.failures.append(Failure(layer.id, "dispose", "TIMEOUT", "stopped: it took too long"))
        except Exception as error:  # a plug-in may raise anything, and the other layers are still to be disposed
            logger.exception("layer %s failed in dispose", layer.id)
            log.failures.append(Failure(layer.id, "dispose", "ERROR", f"{type(error).__name__}: {error}"))


def _has(layer: Layer, hook: Hook) -> bool:
    return getattr(type(layer), hook, None) is not getattr(Layer, hook) or hook in vars(layer)


def _seconds(timeouts: Mapping[Hook, float], hook: Hook) -> float | None:
    seconds = timeouts.get(hook, TIMEOUTS[hook])
    return seconds if seconds > 0 else None


def _late(seconds: float | None) -> str:
    return "gave up by itself" if seconds is None else f"stopped after {seconds:g} s"


def _is_sound(recall: Recall) -> bool:
    """Return whether every part of ``recall`` has its type; layers are also written without a type checker."""
    try:
        both: list[Block | Omitted] = [*recall.blocks, *recall.updates, *recall.omitted]
        texts: list[object] = [recall.heading, recall.updates_heading, *recall.notes, *(one.reason for one in both)]
        numbers = list[float]()
        for block in (*recall.blocks, *recall.updates):
            source = block.source
            numbers.append(float(block.whole_tokens))
            texts += (block.text, source.label, source.address, source.revision)
            Detail(block.detail)
            Trust(source.trust)
            first, last = source.lines or (0, 0)
            range(first, last)  # which takes whole numbers only
        for one in recall.omitted:
            texts += (one.label, one.source)
        numbers += [float(one.score or 0) for one in both] + [float(one.tokens) for one in both]
    except (AttributeError, TypeError, ValueError):
        return False
    return all(map(_is_text, texts)) and all(map(math.isfinite, numbers))


def _measured(recall: Recall, counter: TokenCounter) -> Recall:
    """Return ``recall`` with the exact cost of each block; the same object if its layer has counted them."""
    blocks, updates = (_counted(blocks, counter) for blocks in (recall.blocks, recall.updates))
    if blocks is recall.blocks and updates is recall.updates:
        return recall
    return replace(recall, blocks=blocks, updates=updates)


def _counted(blocks: Sequence[Block], counter: TokenCounter) -> Sequence[Block]:
    costs = [counter.count(block.text) for block in blocks]
    if costs == [block.tokens for block in blocks]:
        return blocks
    return [replace(block, tokens=tokens) for block, tokens in zip(blocks, costs, strict=True)]


def _size(recall: Recall, counter: TokenCounter) -> int:
    """Return the cost of the texts of ``recall``, without the envelope of the first."""
    updates = recall.updates_text
    return counter.count(recall.text) + (counter.count(updates) + MESSAGE_OVERHEAD if updates else 0)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _misfit(run: LayerRun, hook: Hook, given: object, wanted: str) -> Failure:
    reason = f"returned {type(given).__name__} with wrong types or values; return {wanted}"
    return Failure(run.layer.id, hook, "ERROR", reason)


def _as_json(state: Json) -> Json:
    """Return a copy of ``state`` as a store would return it; raise if it is not JSON."""
    return json.loads(json.dumps(state, ensure_ascii=False))


def _copy(state: Json) -> Json:
    """Return a copy of ``state``. It is JSON, which ``marshal`` copies in a quarter of the time."""
    return marshal.loads(marshal.dumps(state))  # noqa: S302  (it was dumped a moment ago)

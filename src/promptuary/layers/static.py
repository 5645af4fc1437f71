"""Text that is in the window on every turn: style guides, conventions, a persona.

The layer calls the function that loads the text, caches the result, and shows it between tags (``sections``). It does
not call it while a recall can be answered from the cache.
"""

import asyncio
import hashlib
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Omitted, Source
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.base.text import one_line, shortened
from promptuary.base.values import Json
from promptuary.layers import sections
from promptuary.layers.layer import (
    TIMEOUTS,
    Budget,
    Hook,
    Layer,
    LayerContext,
    Recall,
    RecallRequest,
    Scope,
    Slot,
    check,
)

LoadText = Callable[[], str | Awaitable[str]]
"""Returns the text; a plain function runs in a thread, so it may block."""

Revision = Callable[[], object]
"""Returns, or awaits, a cheap value that changes when the text does: a modification time, an ETag."""

Reload = Literal["never", "on_change"] | float
"""When to reload: never in this process, at every turn on which it changed, or after a number of seconds."""

OnError = Literal["raise", "disable", "stale"]
"""What to do if loading fails: raise, leave the source out, or show the last good text."""

Result = TypeVar("Result")

_SHARE_OF_TIMEOUT = 0.9
_LONGEST_REASON = 300


class NamedText(Struct, frozen=True):
    """One source of several: ``label`` names it to the model and in the receipt, ``source`` says where it is from."""

    label: str
    load: LoadText
    revision: Revision | None = None
    source: str = ""


class _Held(Struct, frozen=True):
    """The last loaded text; ``problem`` says why it is missing or stale."""

    text: str = ""
    revision: str = ""
    mark: object = None
    problem: str = ""


class StaticContent(Layer):
    """Loads text once and shows it on every turn, between ``<tag>`` and ``</tag>``.

    Give one ``load``, or several ``sources``: each of those becomes a block, with its label in the opening tag. The
    text is shown as loaded, except that a byte order mark and Windows line ends are removed, invisible characters are
    spelled out, and the tag itself is escaped. Blank text adds nothing.

    Text that exceeds the budget is cut after a line, a word or a character, with a remark about how much is missing. If
    not even the tags and that remark fit, nothing is shown, and the receipt says so. Both are a warning of the turn.
    A layer whose budget is 0 is not cut as long as it fits into the window: a turn reserves all that it wants.

    ``reload`` and ``on_error`` say when to reload and how to handle a failure. With ``"raise"``, ``init`` or the recall
    fails; with ``"disable"`` the source is left out until it can be loaded; with ``"stale"`` the last good text stays,
    even across restarts, and the receipt says why it is old. A load that takes nearly as long as the timeout of its
    hook is cancelled and counts as failed.
    """

    band = "stable"

    def __init__(
        self,
        load: LoadText | None = None,
        *,
        sources: Sequence[NamedText] = (),
        revision: Revision | None = None,
        id: str = "static_content",  # noqa: A002  (it is the layer's id)
        slot: int = Slot.STATIC,
        scope: Scope = "resource",
        tag: str = "instructions",
        budget: Budget = "auto",
        reload: Reload = "never",
        on_error: OnError = "raise",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if (load is None) == (not sources):
            raise ConfigError(f"layer {id!r}: give either load or sources")
        self.id, self.slot, self.scope, self.budget = id, slot, scope, budget
        self.on_init_error = "raise" if on_error == "raise" else "disable"
        self._named = bool(sources)
        self._sources = tuple(sources) if load is None else (NamedText(id, load, revision),)
        self._tag, self._reload, self._on_error, self._clock = tag, reload, on_error, clock
        self._held: dict[str, _Held] = {}
        self._loaded_at: float | None = None
        self._fresh = False
        check((self,))
        sections.check_tag(tag)
        _check_sources(id, self._sources)
        _check_policies(id, reload, on_error)

    async def init(self, context: LayerContext) -> None:
        """Load everything, once per process for all scopes."""
        if self._loaded_at is None:
            await self._refresh("init", context)
            self._fresh = True
        self._store(context)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the text, reloaded if that is due; byte for byte the same as long as it did not change."""
        if self._due():
            await self._refresh("recall", context)
        self._fresh = False
        self._store(context)
        held = [(source, self._held[source.label]) for source in self._sources]
        shown = [self._section(index, source, one) for index, (source, one) in enumerate(held)]
        failed = [(source, one.problem) for source, one in held if one.problem and not one.text.strip()]
        omitted = [Omitted(source.label, problem, source.source) for source, problem in failed]
        notes = [sections.not_sent(source.label, problem) for source, problem in failed]
        return sections.recall(shown, request.budget, context.counter, omitted, notes)

    def _section(self, index: int, source: NamedText, held: _Held) -> sections.Section:
        shown = Source(source.source or source.label, source.label, "text", held.text, held.revision)
        return sections.Section(
            self._tag,
            shown,
            name=source.label if self._named else "",
            reason=f"stale, the last good text: {held.problem}" if held.problem else "",
            rest=source.source,
            rank=-index,
        )

    def _due(self) -> bool:
        if self._loaded_at is None:
            return True
        if isinstance(self._reload, str):
            return self._reload == "on_change" and not self._fresh
        return self._clock() - self._loaded_at >= self._reload

    async def _refresh(self, hook: Hook, context: LayerContext) -> None:
        began = self._clock()
        seconds = self.timeouts.get(hook, TIMEOUTS[hook]) * _SHARE_OF_TIMEOUT
        results = await asyncio.gather(*(self._load(source, seconds) for source in self._sources))
        stored = _stored(context.state)
        held = {
            source.label: self._held_after(source, one, stored)
            for source, one in zip(self._sources, results, strict=True)
        }
        self._held, self._loaded_at = held, began

    def _held_after(self, source: NamedText, result: _Held | SourceError, stored: Mapping[str, _Held]) -> _Held:
        """Return what to show after a load: its text, or the fallback that ``on_error`` specifies."""
        if isinstance(result, _Held):
            return result
        if self._on_error == "raise":
            raise result
        last = self._held.get(source.label, _Held())
        if not last.revision:
            last = stored.get(source.label, last)
        return replace(last if self._on_error == "stale" else _Held(), mark=None, problem=result.reason)

    async def _load(self, source: NamedText, seconds: float) -> _Held | SourceError:
        try:
            async with asyncio.timeout(seconds if seconds > 0 else None):
                return await _loaded(source, self._held.get(source.label))
        except TimeoutError:
            return SourceError(Code.TIMEOUT, f"{source.label!r} could not be loaded in {seconds:g} s")
        except Exception as error:  # noqa: BLE001  (it may raise anything; ``on_error`` decides what that means)
            failure = SourceError(Code.READ_FAILED, _why(source.label, error))
            failure.__cause__ = error
            return failure

    def _store(self, context: LayerContext) -> None:
        """Store the revisions, and the texts only if they may have to replace a failed load."""
        texts = self._on_error == "stale"
        context.state = {
            "sources": {
                label: {"sha256": held.revision} | ({"text": held.text} if texts else {})
                for label, held in self._held.items()
                if held.revision
            }
        }


async def _loaded(source: NamedText, known: _Held | None) -> _Held:
    # Requested before the text: a change in between is then noticed the next time.
    mark = await _answer(source.revision) if source.revision else None
    if known and not known.problem and mark is not None and mark == known.mark:
        return known
    text: object = await _answer(source.load)
    if not isinstance(text, str):
        raise TypeError(f"load returned {type(text).__name__}, not text")
    return _held(text, mark)


async def _answer(function: Callable[[], Result | Awaitable[Result]]) -> Result:
    result = function() if inspect.iscoroutinefunction(function) else await concurrency.run(function)
    return await result if inspect.isawaitable(result) else result


def _why(label: str, error: Exception) -> str:
    reason = one_line(f"{label!r} could not be loaded ({type(error).__name__}: {error})")
    return shortened(reason, _LONGEST_REASON)


def _held(text: str, mark: object = None) -> _Held:
    shown = sections.readable(text)
    return _Held(shown, hashlib.sha256(shown.encode()).hexdigest(), mark)


def _stored(state: Json) -> dict[str, _Held]:
    """Return the texts in ``state``, ignoring everything else in it."""
    sources = state.get("sources") if isinstance(state, dict) else None
    entries = sources.items() if isinstance(sources, dict) else ()
    texts = {label: one.get("text") for label, one in entries if isinstance(one, dict)}
    return {label: _held(text) for label, text in texts.items() if isinstance(text, str)}


def _check_sources(layer: str, sources: Sequence[NamedText]) -> None:
    labels: list[object] = [source.label for source in sources]
    if not all(isinstance(label, str) and label.strip() for label in labels) or len(set(labels)) < len(labels):
        raise ConfigError(f"layer {layer!r}: every source needs a label of its own, not {labels!r}")
    if not all(callable(source.load) for source in sources):
        raise ConfigError(f"layer {layer!r}: load must be a function that returns text")


def _check_policies(layer: str, reload: object, on_error: object) -> None:
    seconds = reload if isinstance(reload, int | float) and not isinstance(reload, bool) else math.nan
    if reload not in {"never", "on_change"} and not 0 <= seconds < math.inf:
        raise ConfigError(f"layer {layer!r}: reload must be never, on_change or seconds, not {reload!r}")
    if on_error not in {"raise", "disable", "stale"}:
        raise ConfigError(f"layer {layer!r}: on_error must be raise, disable or stale, not {on_error!r}")

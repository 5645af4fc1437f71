"""The layer ``file_reference``: ``#path`` in a message tracks the file in that thread from then on.

For each message the layer rereads every tracked file, and requests a new recall if one has changed. This module
connects the others: ``reader`` reads, ``state`` decides what a change means, ``scoring`` how relevant a file is,
``links`` how the message links to it, and ``blocks`` how it is shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Detail, content_hash
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.base.references import Reference
from promptuary.base.values import Json
from promptuary.layers.layer import (
    Band,
    Budget,
    Changed,
    Hook,
    Incoming,
    Layer,
    LayerContext,
    Recall,
    RecallRequest,
    Scope,
    Slot,
)
from promptuary.layers.tracked.base import base_of
from promptuary.layers.tracked.blocks import Offer, compose, offers, why_not_shown
from promptuary.layers.tracked.changes import RepeatedBase, changed_since
from promptuary.layers.tracked.links import linked
from promptuary.layers.tracked.reader import Reader, names_of, opened
from promptuary.layers.tracked.scoring import RelevanceQuestion, Score, ask_all, judge
from promptuary.layers.tracked.state import (
    MAX_ASKED,
    Tracked,
    TrackedFile,
    Tracking,
    added,
    dropped,
    from_json,
    pinned,
    scored,
    sent,
    to_json,
)
from promptuary.models.protocols import ChatModel
from promptuary.references.resolve import Resolution
from promptuary.workspace.access import WHOLE, Access
from promptuary.workspace.workspace import Workspace

Cached = TypeVar("Cached")

MAX_FILES = 100
"""The most files that one thread tracks."""

_CACHED_THREADS = 64
"""For how many threads the state and the last recall are cached."""


class _Rendered(Struct, frozen=True):
    """The last recall of a thread, and what it was made from."""

    tracking: Tracking
    counter: TokenCounter
    recall: Recall
    budget: int

    def fits(self, budget: int) -> bool:
        """Return whether this is also the recall for ``budget``: it fits, and more room would not make it longer."""
        # A block without a revision is a warning: that file cannot be shown.
        whole = all(block.detail is Detail.FULL or not block.source.revision for block in self.recall.blocks)
        enough = budget <= self.budget or (whole and not self.recall.omitted)
        return enough and self.counter.count(self.recall.text) <= budget

    def is_of(self, tracking: Tracking, counter: TokenCounter) -> bool:
        """Return whether the recall was made from this state and with this counter.

        One with changes is made again each time: their cost adds up.
        """
        if counter is not self.counter or self.recall.updates or tracking.standing != self.tracking.standing:
            return False
        return tracking is self.tracking or tracking.outlook == self.tracking.outlook


class _StateCache:
    """The parsed states of threads: comparing a state with the last one is cheap, parsing it is not."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Json, Tracking]] = {}

    def read(self, place: str, state: Json) -> Tracking:
        """Return ``state`` parsed; the same object for equal states."""
        last = self._last.get(place)
        if last and last[0] == state:
            return last[1]
        return self._keep(place, from_json(state))

    def written(self, place: str, tracking: Tracking) -> Json:
        return to_json(self._keep(place, tracking))

    def _keep(self, place: str, tracking: Tracking) -> Tracking:
        # A separate copy of the JSON: the caller may change the state.
        _remember(self._last, place, (to_json(tracking), tracking))
        return tracking


class TrackedFiles(Layer):
    """Shows the files that the person named with ``#``, with their current content, the most relevant first.

    Pass one to ``Promptuary.open(layers=[...])`` to replace the built-in one; that also sets its workspace.

    Options that are not given default to those of the workspace: ``base_dir`` is its root, ``max_file_size`` is 1 MiB
    unless configured, ``follow_symlinks`` is off unless configured, ``allowed_extensions`` are all text files. A
    relative ``base_dir`` is relative to the root and must not leave it.
    """

    id = "file_reference"
    band: Band = "stable"
    scope: Scope = "thread"
    budget: Budget = "auto"
    timeouts: ClassVar[Mapping[Hook, float]] = {"on_message": 30.0, "refresh": 30.0, "recall": 30.0}
    state_version = 1

    def __init__(
        self,
        workspace: Workspace | None = None,
        *,
        base_dir: str | Path | None = None,
        slot: int = Slot.FILES,
        scoring_model: ChatModel | None = None,
        max_file_size: int | None = None,
        follow_symlinks: bool | None = None,
        allowed_extensions: Iterable[str] | None = None,
        max_files: int = MAX_FILES,
        scoring_timeout: float = 10.0,
    ) -> None:
        self.slot = slot
        self._names = None if allowed_extensions is None else names_of(allowed_extensions)
        self._base_dir, self._max_file_size, self._follow_symlinks = base_dir, max_file_size, follow_symlinks
        self._bound: Reader | None = None
        self._to_close: Workspace | None = None
        if workspace is not None:
            self.bind(workspace)
        self._model, self._timeout, self._limit = scoring_model, scoring_timeout, max_files
        self._known, self._rendered = _StateCache(), dict[str, _Rendered]()

    def bind(self, workspace: Workspace) -> None:
        """Set the workspace to read from; the engine calls this for a layer that is passed to it."""
        own = opened(
            workspace,
            base_dir=self._base_dir,
            max_file_size=self._max_file_size,
            follow_symlinks=self._follow_symlinks,
            names=self._names,
        )
        if self._to_close:
            self._to_close.close()
        self._bound = Reader(own, self._names, workspace.root.path)
        self._to_close = None if own is workspace else own

    @property
    def _reader(self) -> Reader:
        if self._bound is None:
            raise ConfigError("TrackedFiles has no workspace yet; pass it to Promptuary.open(layers=[...])")
        return self._bound

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        """Track what the message names, reread every tracked file, and link the references."""
        stored = self._known.read(context.scope_key, context.state)
        before = sent(stored)
        if before == stored and not (stored.files or stored.turned_away or "#" in message.text):
            return None  # nothing is tracked, and nothing will be
        reader = self._reader.within(context.access)
        look = await concurrency.run(lambda: self._look(message, before, context.counter, reader))
        after = await self._with_scores(look)
        if after != stored:
            context.state = self._known.written(context.scope_key, after)
        text = look.text if look.text != message.text else None
        news = after != before and after.outlook != before.outlook
        return Changed(text, "immediate" if news else None) if news or text is not None else None

    async def refresh(self, context: LayerContext) -> None:
        """Reread every tracked file: tools may have changed it."""
        await self.on_message(Incoming("", ""), context)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | None:
        """Return the tracked files by priority, within the budget: the same bytes as before, and the changes since."""
        place, counter = context.scope_key, context.counter
        tracking = self._known.read(place, context.state)
        if not tracking.files and not tracking.turned_away:
            return None
        reader = self._reader.within(context.access)
        last = self._rendered.get(place)
        if last and last.is_of(tracking, counter) and last.fits(request.budget):
            return _with_notes(last.recall, tracking, request, reader)
        now = await concurrency.run(lambda: _look_again(tracking, request, counter, reader))
        text = await context.earlier(now.wanted) if now.wanted else ""
        after, recall = await concurrency.run(lambda: _recalled(now, text, request, counter))
        if after != tracking:
            context.state = self._known.written(place, after)
        _remember(self._rendered, place, _Rendered(after, counter, recall, request.budget))
        return _with_notes(recall, after, request, reader)

    async def dispose(self) -> None:
        """Close the folder, if it was opened for this layer."""
        if self._to_close:
            self._to_close.close()

    async def track(self, state: Json, path: str, counter: TokenCounter, access: Access = WHOLE) -> Json:
        """Return ``state`` with ``path`` (or ``path:10-20``) tracked; raise ``SourceError`` if it cannot be read.

        ``access`` is what the thread may see.
        """
        reader = self._reader.within(access)
        wanted = reader.meaning(
            Reference(path, "#" if path.startswith("#") else "@", "file", path.removeprefix("#"), 0, 0)
        )
        before = from_json(state)
        tracking = added(before, [wanted], self._limit)
        if tracking.turned_away:
            raise SourceError(Code.BUDGET_EXCEEDED, f"{len(before.files)} files are tracked; untrack one first.")
        after, found = await concurrency.run(lambda: reader.look(tracking, counter))
        if error := found[wanted.label].error:
            raise error
        return to_json(await self._with_scores(_Look(after, found, "", "", frozenset())))

    def untrack(self, state: Json, path: str) -> Json:
        """Return ``state`` without ``path``; raise ``SourceError`` if it is not tracked."""
        tracking = from_json(state)
        return to_json(dropped(tracking, self._reader.spelling(tracking, path)))

    def pin(self, state: Json, path: str, *, on: bool = True) -> Json:
        """Return ``state`` with ``path`` pinned or unpinned; raise ``SourceError`` if it is not tracked."""
        tracking = from_json(state)
        return to_json(pinned(tracking, self._reader.spelling(tracking, path), on=on))

    def clear(self, state: Json) -> Json:
        """Return ``state`` with nothing tracked; links in old messages stay valid."""
        return to_json(replace(from_json(state), files=(), turned_away=()))

    def mark(self, state: Json) -> Json:
        """Return what is tracked."""
        return [file.label for file in from_json(state).files]

    def undone(self, state: Json, before: Json, after: Json) -> Json:
        """Return ``state`` without the files that were tracked ``after`` a turn and not ``before``."""
        tracking = from_json(state)
        gone = set(after or ()) - set(before or ())
        return to_json(replace(tracking, files=tuple(file for file in tracking.files if file.label not in gone)))

    def listed(self, state: Json, counter: TokenCounter, access: Access = WHOLE) -> tuple[TrackedFile, ...]:
        """Return the tracked files of ``state`` as they are now, by priority. Reads the files, so it blocks."""
        tracking, found = self._reader.within(access).look(from_json(state), counter)
        sources = {label: one.sources[0] for label, one in found.items() if one.sources}
        return tuple(_line(one.file, one.most.tokens) for one in offers(tracking, sources, counter))

    def _look(self, message: Incoming, before: Tracking, counter: TokenCounter, reader: Reader) -> "_Look":
        # Only what the person wrote counts: an earlier layer may have put other people's text into the message.
        found = reader.references(message.typed)
        query = message.typed.without(message.typed.tracked)
        named = {one.label: replace(one, asked=query[:MAX_ASKED]) for _, one in found}
        tracking, seen = reader.look(added(before, named.values(), self._limit), counter)
        meant = {reference.raw: one.label for reference, one in found}
        if message.text != message.original:
            found = reader.references(message.parsed)
        slugs = {file.label: tracking.slugs[file.label] for file in tracking.files if file.condition.readable}
        links = [(one, slugs[label]) for one, _ in found if (label := meant.get(one.raw)) in slugs]
        return _Look(tracking, seen, linked(message.text, links), query, frozenset(named))

    async def _with_scores(self, look: "_Look") -> Tracking:
        """Return the tracked files with a score for each that is new or changed."""
        questions = {file.label: look.question(file) for file in look.tracking.files if file.needs_score}
        if not questions:
            return look.tracking
        scores = await self._judged(list(questions.values()))
        return scored(
            look.tracking, {label: (one.value, one.why) for label, one in zip(questions, scores, strict=True)}
        )

    async def _judged(self, questions: Sequence[RelevanceQuestion]) -> list[Score]:
        if self._model is None:
            return await concurrency.run(lambda: list(map(judge, questions)))
        return await ask_all(self._model, questions, timeout=self._timeout)


def _with_notes(recall: Recall, tracking: Tracking, request: RecallRequest, reader: Reader) -> Recall:
    """Return ``recall`` with a sentence for each file that the message names and that cannot be shown."""
    unread = {file.label: file for file in tracking.files if not file.condition.readable}
    if not unread or "#" not in request.query:
        return recall
    named = dict.fromkeys(one.label for _, one in reader.references(request.message))
    notes = tuple(f"#{label}: {why_not_shown(unread[label])}" for label in named if label in unread)
    return replace(recall, notes=notes) if notes else recall


def _look_again(tracking: Tracking, request: RecallRequest, counter: TokenCounter, reader: Reader) -> "_Now":
    after, sources = reader.contents(tracking, counter)
    offered = offers(after, sources, counter)
    return _Now(after, offered, compose(after, offered, request.budget, counter))


def _recalled(now: "_Now", text: str, request: RecallRequest, counter: TokenCounter) -> tuple[Tracking, Recall]:
    """Return the state and the recall: the base with this ``text`` if that pays, else the rewritten files."""
    tracking, base = now.tracking, now.tracking.base
    if base and base.revision == content_hash(now.anew.text):
        return replace(tracking, sending=None), now.anew
    if base and text:
        standing = RepeatedBase(base, text, now.anew)
        found = changed_since(standing, now.offered, request.budget, request.history, counter)
        if found is not None:
            return replace(tracking, sending=replace(base, paid=base.paid + found[1])), found[0]
    pinned = [file.label for file in tracking.files if file.pinned]
    sending = base_of(now.anew, pinned, request.history)
    return replace(tracking, base=base if sending else None, sending=sending), now.anew


class _Now(Struct, frozen=True):
    """The current tracked files: what can be shown of each, and all of them rewritten."""

    tracking: Tracking
    offered: Sequence[Offer]
    anew: Recall

    @property
    def wanted(self) -> str:
        """The hash of the base to repeat; empty if there is none, or if it equals the current files."""
        base = self.tracking.base
        return base.revision if base and base.revision != content_hash(self.anew.text) else ""


class _Look(Struct, frozen=True):
    """The result of a message: the tracked files, their contents, the message with its links, and its own words."""

    tracking: Tracking
    found: Mapping[str, Resolution]
    text: str
    query: str
    named: frozenset[str]

    def question(self, file: Tracked) -> RelevanceQuestion:
        """Return what to score ``file`` by: the message that named it counts, even if the file appears only later."""
        words = self.query if file.label in self.named else f"{file.asked}\n{self.query}".strip()
        return RelevanceQuestion(words, file.path, self.found[file.label].sources[0].text)


def _remember(cache: dict[str, Cached], place: str, value: Cached) -> None:
    cache.pop(place, None)
    cache[place] = value
    if len(cache) > _CACHED_THREADS:
        cache.pop(next(iter(cache)))


def _line(file: Tracked, tokens: int) -> TrackedFile:
    return TrackedFile(file.label, file.condition.state, file.condition.code, tokens, file.priority, file.pinned)

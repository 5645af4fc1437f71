"""What a person attaches to a thread without a message: the same objects as ``#`` and ``@`` in a message.

A path is tracked for the thread; any other reference (``@diff``, ``@url:…``) is queued for its next message.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from promptuary.base import concurrency
from promptuary.base.blocks import Source, Trust
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import Code, SourceError
from promptuary.base.languages import language_of
from promptuary.base.references import KINDS, WRITING_KINDS, Reference
from promptuary.base.values import Json
from promptuary.layers.layer import LayerState, StateKey
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.references.locate import rooted_spelling
from promptuary.references.scan import scan
from promptuary.threads.options import Waiting
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.store import ThreadStore
from promptuary.threads.values import AttachmentList
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.workspace.access import Access

_PATHS: Final = frozenset({"file", "path"})

_QUEUE: Final = "attachments"
"""The layer id under whose state the references for the next message of a thread are stored."""

_DOCUMENTS: Final = "documents"
MAX_DOCUMENTS: Final = 10
"""The most documents that may wait for the next message of a thread."""


def queue_key(thread: str) -> StateKey:
    """Return the key of the references for the next message of ``thread``."""
    return StateKey(_QUEUE, "thread", thread)


def documents_key(thread: str) -> StateKey:
    """Return the key of the documents for the next message of ``thread``."""
    return StateKey(_DOCUMENTS, "thread", thread)


def documents_of(state: LayerState | None) -> list[Source]:
    """Return the documents that wait for the next message, as untrusted sources: anybody may have written them."""
    value = state.value if state is not None else None
    return [
        Source(
            key=f"document:{one['name']}",
            label=str(one["name"]),
            kind="document",
            text=str(one["text"]),
            revision=str(one["sha256"]),
            language="markdown" if one["about"] else language_of(str(one["name"])),
            trust=Trust.EXTERNAL,
            facts=tuple(filter(None, [str(one["about"])])),
            first_line=1,
        )
        for one in (value if isinstance(value, list) else ())
        if isinstance(one, dict)
    ]


def queued_again(store: ThreadStore, thread: str) -> Callable[[], None]:
    """Return a function that restores the current queue, for use after a turn that took it failed. Blocks."""
    keys = [queue_key(thread), documents_key(thread)]
    before = _values(store, keys)

    def queue() -> None:
        states = [
            LayerState(key, 1, [*had, *(one for one in since if one not in had)])
            for key, had, since in zip(keys, before, _values(store, keys), strict=True)
            if had
        ]
        if states:
            store.apply(ThreadChange(thread, states=states))

    return queue


def waiting(store: ThreadStore, thread: str) -> Waiting:
    """Return what is queued for the next message of a thread. Blocks."""
    queued, documents = store.states([queue_key(thread), documents_key(thread)])
    also = " ".join(queued.value) if queued and isinstance(queued.value, list) else ""
    return Waiting(also, documents_of(documents))


def _values(store: ThreadStore, keys: Sequence[StateKey]) -> list[list[Json]]:
    states = store.states(keys)
    return [list(one.value) if one and isinstance(one.value, list) else [] for one in states]


class Attachments:
    """What is attached to one thread. Every method but ``add`` blocks."""

    def __init__(
        self,
        thread: str,
        store: ThreadStore,
        files: TrackedFiles,
        counter: TokenCounter,
        workspace: Workspace,
        *,
        kinds: frozenset[str] = KINDS,
    ) -> None:
        self._thread, self._store, self._files, self._counter = thread, store, files, counter
        self._workspace, self._kinds = workspace, kinds
        self._files_key = StateKey(files.id, "thread", thread)

    async def add(self, word: str, access: "Access") -> None:
        """Track a path, or queue a reference; raise ``SourceError`` if it cannot be read or is neither.

        ``access`` is what the thread may see.
        """
        found = _reference(word, self._kinds)
        if found and found.sigil == "@" and found.kind not in _PATHS:
            if found.kind in WRITING_KINDS:
                reason = "only what you type in a message is remembered; send it, or run `promptuary remember`"
                raise SourceError(Code.NOT_REMEMBERED, reason)
            if (refusal := access.refusal("use", found.kind)) is not None:
                raise refusal
            await concurrency.run(lambda: self._queue(rooted_spelling(found, self._workspace)))
            return
        before = await concurrency.run(self._tracked)
        state = await self._files.track(before, _path(word), self._counter, access)
        await concurrency.run(lambda: self._store_files(state))

    def add_document(self, name: str, data: bytes) -> str:
        """Queue a document for the next message, and return its name there.

        Raises ``SourceError`` if it is not text and cannot be converted to text, or if too many documents wait.
        """
        (stored,) = self._store.states([documents_key(self._thread)])
        before = list(stored.value) if stored and isinstance(stored.value, list) else []
        if len(before) >= MAX_DOCUMENTS:
            raise SourceError(Code.BUDGET_EXCEEDED, f"{MAX_DOCUMENTS} documents wait already; send a message first.")
        file = self._workspace.document(name, data)
        taken = {str(one["name"]) for one in before if isinstance(one, dict)}
        label = next(one for one in (name, *(f"{name} ({n})" for n in range(2, 99))) if one not in taken)
        made: Json = {"name": label, "text": file.text, "sha256": file.sha256, "about": file.converted}
        self._apply(LayerState(documents_key(self._thread), 1, [*before, made]))
        return label

    def drop(self, word: str) -> None:
        """Untrack a path or remove a reference from the queue; raise ``SourceError`` if it is in neither."""
        queued, found = self._queued(), _reference(word, self._kinds)
        spellings = {word, rooted_spelling(found, self._workspace)} if found and queued else {word}
        if spellings & set(queued):
            self._apply(LayerState(queue_key(self._thread), 1, [one for one in queued if one not in spellings]))
        else:
            self._store_files(self._files.untrack(self._tracked(), _path(word)))

    def pin(self, path: str, *, on: bool = True) -> None:
        """Put a tracked file before all others, or undo that."""
        self._store_files(self._files.pin(self._tracked(), _path(path), on=on))

    def clear(self) -> None:
        """Untrack everything and empty the queue, whichever version of the program stored it."""
        stored = self._stored_files()
        known = stored.value if stored and stored.version == self._files.state_version else None
        files = LayerState(self._files_key, self._files.state_version, self._files.clear(known))
        emptied = [LayerState(key(self._thread), 1, []) for key in (queue_key, documents_key)]
        self._apply(files, *emptied)

    def list(self, access: "Access") -> AttachmentList:
        return AttachmentList(self._files.listed(self._tracked(), self._counter, access), self._queued())

    def _queue(self, raw: str) -> None:
        queued = self._queued()
        if raw not in queued:
            self._apply(LayerState(queue_key(self._thread), 1, [*queued, raw]))

    def _tracked(self) -> Json:
        stored = self._stored_files()
        if stored is not None and stored.version != self._files.state_version:
            reason = (
                f"the files tracked in {self._thread} were stored by another version of Promptuary "
                f"(format {stored.version}); upgrade it, or clear the thread's attachments"
            )
            raise SourceError(Code.READ_FAILED, reason)
        return stored.value if stored else None

    def _stored_files(self) -> LayerState | None:
        return self._store.states([self._files_key])[0]

    def _queued(self) -> Sequence[str]:
        (stored,) = self._store.states([queue_key(self._thread)])
        return list(stored.value) if stored and isinstance(stored.value, list) else []

    def _store_files(self, value: Json) -> None:
        self._apply(LayerState(self._files_key, self._files.state_version, value))

    def _apply(self, *states: LayerState) -> None:
        self._store.apply(ThreadChange(self._thread, states=states))


def _reference(word: str, kinds: frozenset[str] = KINDS) -> Reference | None:
    """Return the reference if all of ``word`` is one; a word without a sigil is a path."""
    found = scan(word, kinds=kinds) if word.startswith(("@", "#")) else []
    return found[0] if len(found) == 1 and found[0].raw == word else None


def _path(word: str) -> str:
    found = _reference(word)
    return found.value + found.suffix if found else word

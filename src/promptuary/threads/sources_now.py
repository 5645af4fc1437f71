"""Compares sources with what a model saw of them: files, notes, changes and commits, pages.

Each is read in the same way as the first time. If a source cannot be read, that is reported; it never counts as
unchanged. Every method blocks.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from promptuary.base.blocks import content_hash, path_of
from promptuary.base.errors import Code, PromptuaryError, SourceError
from promptuary.base.references import KEYWORDS, Reference
from promptuary.base.text import split_lines, visible, with_unix_lines
from promptuary.memory.digest_layer import MemoryDigest
from promptuary.memory.recall.digest import LISTS, digest, list_line, read_digest
from promptuary.memory.recall.visible import NoteKey, VisibleNotes
from promptuary.references.kinds import KINDS
from promptuary.references.resolve import resolve
from promptuary.references.resolve_context import ResolveContext
from promptuary.threads.ledger_values import Origin
from promptuary.threads.values import DriftKind

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase

_RESOLVED: Final = frozenset({"folder", "git", "commit", *KEYWORDS}) - {"clipboard"}
"""Kinds of sources that are read again through the reference that named them."""

_GONE: Final = frozenset({Code.NOT_FOUND, Code.NO_MATCH, Code.NOT_A_REPOSITORY})


class SourcesNow:
    """Compares what was shown of sources with what they are now."""

    def __init__(self, app: "App", state: "StateDatabase") -> None:
        self._app, self._state, self._workspace = app, state, app.workspace
        self._revision: Callable[[Reference], str] = self._read_again
        self._digests: Callable[[str], Mapping[str, str]] = self._list_notes
        self._visible: Callable[[str], VisibleNotes] = self._see_notes

    def at_this_moment(self) -> "SourcesNow":
        """Return a copy for comparing many sources at one time: it reads each reference and each list once."""
        now = SourcesNow(self._app, self._state)
        now._revision, now._digests = cache(now._read_again), cache(now._list_notes)
        now._visible = cache(now._see_notes)
        return now

    def note_address(self, key: str) -> str | None:
        """Return the address of the note that ``key`` names by its id, the beginning of it, or its path."""
        with suppress(PromptuaryError):
            found = self._app.memory.of().get(key)
            return None if found is None else found.header.address
        return None

    def drift(self, origin: Origin, *, thread: str, sent: str = "", fetch: bool = False) -> DriftKind | None:
        """Return how a source differs from what was shown of it; ``None`` if it does not.

        ``sent`` is the text of the prompt, which is searched for lines from the index. Pages are fetched if ``fetch``.
        """
        scheme, _, value = origin.source.partition(":")
        match scheme:
            case "file":
                return self._file(value, origin.revision)
            case "index":
                return self._indexed(origin, sent)
            case "memory" if origin.how == "list":
                return self._listed(value, origin.revision, thread)
            case "memory":
                return self._memory(value, origin.revision, thread)
            case "experience":
                return self._experience(value, origin.revision)
            case "url":
                return self._referenced("url", value, origin.revision) if fetch else "not fetched again"
            case "mcp":
                return "not fetched again"  # a server may have to be started for it
            case _ if scheme in _RESOLVED:
                return self._referenced(scheme, value, origin.revision)
            case _:
                return None  # a layer's own words, which have no source that could change

    def _file(self, path: str, revision: str) -> DriftKind | None:
        try:
            return None if self._workspace.revision(path) == revision else "changed"
        except SourceError as error:
            return "gone" if error.code is Code.NOT_FOUND else "not readable"

    def _indexed(self, origin: Origin, sent: str) -> DriftKind | None:
        """Search the prompt for the lines: their recorded hash is that of the index, which includes headings."""
        if not sent or origin.lines is None:
            return "not compared"
        try:
            text = self._workspace.read(path_of(origin.source)).text
        except SourceError as error:
            return "gone" if error.code is Code.NOT_FOUND else "not readable"
        first, last = origin.lines
        now = visible(with_unix_lines("".join(split_lines(text)[first - 1 : last])))[0].strip()
        return None if now and now in sent else "changed"

    def _memory(self, name: str, revision: str, thread: str) -> DriftKind | None:
        if f"memory:{name}" in LISTS or "/" in name:  # pages have a path in their addresses
            return None if self._digests(thread).get(name) == revision else "changed"
        return self._note(name, revision, thread)

    def _listed(self, note: str, revision: str, thread: str) -> DriftKind | None:
        """Return how the line of a note differs from that in a list."""
        visible = self._visible(thread)
        headers = (visible.header(NoteKey(scope, note)) for scope in visible.views)
        header = next((one for one in headers if one is not None), None)
        if header is None:
            return self._note(note, "", thread)
        return None if content_hash(list_line(header)) == revision else "changed"

    def _referenced(self, kind: str, value: str, revision: str) -> DriftKind | None:
        raw = f"@{kind}:{value}" if value else f"@{kind}"
        try:
            now = self._revision(Reference(raw, "@", kind, value, 0, len(raw), quoted=True, rooted=True))
        except SourceError as error:
            return "gone" if error.code in _GONE else "not readable"
        return None if now == revision else "changed"

    def _note(self, note: str, revision: str, thread: str) -> DriftKind | None:
        memory = self._app.memory.of(thread)
        found = memory.exact(f"memory:{note}")
        if found is None:
            changes = [change for notebook in memory.notebooks() for change in notebook.view.changes(note)]
            return "forgotten" if any(change.kind == "forget" for change in changes) else "gone"
        if found.header.status == "archived":
            return "archived"
        return None if found.header.rev == revision else "changed"

    def _experience(self, experience: str, revision: str) -> DriftKind | None:
        found = self._app.experiences_in(self._state).some([experience]).get(experience)
        if found is None:
            return "gone"
        return None if found.rev == revision else "changed"

    def _read_again(self, reference: Reference) -> str:
        """Return the revision of what a reference names now."""
        with self._workspace.visit() as visit:
            context = ResolveContext(visit, self._app.counter)
            (found,) = resolve([reference], context, KINDS, timeout=self._app.settings.timeout)
        if found.error is not None:
            raise SourceError(found.error.code, found.error.reason)
        return found.sources[0].revision

    def _see_notes(self, thread: str) -> VisibleNotes:
        """Return the notes that a thread may see."""
        return self._app.memory.of(thread).current_notes()

    def _list_notes(self, thread: str) -> Mapping[str, str]:
        """Return the revisions of the lists of notes."""
        known = read_digest(self._visible(thread))
        made = digest(known, MemoryDigest.most, self._app.counter)
        return {block.source.key.partition(":")[2]: block.source.revision for block in (made.blocks if made else ())}

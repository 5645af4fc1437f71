"""The durable memory of one principal: the notes of the workspace and those of the person, combined.

Everything that reads or writes notes goes through here: the public interface, the layers of a turn, the tools of an
agent, and writeback. Who sees a note is decided below, by the views of the journals. Every method blocks, and may be
called from any thread.
"""

import logging
import re
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher, get_close_matches, unified_diff
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import PromptuaryError, UnknownNoteError
from promptuary.base.principals import NoteScope
from promptuary.base.text import one_line
from promptuary.memory.note_file import as_bytes, as_text
from promptuary.memory.notebook.drafting import Writer, check_choices, check_selection, scope_of
from promptuary.memory.notebook.history import found_at, headers_at, moment, notes_at, text_before
from promptuary.memory.notebook.notebook import Notebook, Written
from promptuary.memory.notebook.pages import MemoryPages
from promptuary.memory.places import MemoryPlace
from promptuary.memory.recall.digest import is_external
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery
from promptuary.memory.recall.visible import MemoryPage, NoteKey, VisibleNotes
from promptuary.memory.roots import Roots
from promptuary.memory.values import (
    STATUSES,
    ImportReport,
    MemoryResult,
    Note,
    NoteChange,
    NoteDraft,
    NoteFields,
    NoteFilter,
    NoteHeader,
    NoteList,
    NoteSelection,
    NoteTrust,
    is_note_id,
)
from promptuary.memory.writeback.wording import are_about_the_same
from promptuary.search.records import LONG_PATIENCE
from promptuary.search.values import IndexBusy, SearchNote
from promptuary.workspace.programs.editor import edit_copy

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.memory.transfer.formats import ForeignMemory, ForeignNote

logger = logging.getLogger(__name__)

ADDRESS: Final = "memory:"
"""The prefix before a note's id in prompts and receipts."""
_MIN_PREFIX: Final = 4
_MAX_NAMED: Final = 5
_PAGES_AFTER: Final = 0.3
"""Seconds without a write until the lists of notes are updated: that takes the lock, for which writes wait."""
_PAGES_AT_LAST: Final = 5.0
"""Seconds after which they are updated even while writes continue."""
_MIN_BETWEEN: Final = 1.0
_MIN_ID: Final = 12
_EVER: Final = "9999"
"""A time after every change."""
_MAX_SIMILAR: Final = 500
"""How many of the newest notes a new one is compared with."""
_MAX_COMPARED: Final = 2_000
"""How many titles are compared with an unknown name."""
_PATIENCE: Final = 1.0
"""Seconds for which a turn waits for a scan of the files."""
_MAX_SCANNED_HERE: Final = 5_000
"""The most files that are scanned in the thread that asks: with more, the scan may go on in the background."""
_REST: Final = 10
"""The pause between two scans of all files, as a multiple of how long a scan took."""


_MAX_COUNT: Final = 3
_MAX_LENGTH: Final = 80
_ALIKE: Final = 0.6
_MIN_WORD: Final = 3


def is_called(name: str, header: NoteHeader) -> bool:
    """Return whether ``name`` is the title of a note, or the name of its file with or without its ending."""
    wanted, file = name.strip().casefold(), header.path.rsplit("/", 1)[-1].casefold()
    return wanted != "" and wanted in {header.title.strip().casefold(), file, file.removesuffix(".md")}


def near(wanted: str, headers: Sequence[NoteHeader]) -> list[NoteHeader]:
    """Return the notes whose id or title is like ``wanted``, or has words of it, the nearest first."""
    said = _plain(wanted)
    words = {word for word in said.split() if len(word) >= _MIN_WORD}
    names = {header.id: header for header in headers}
    chosen = [names[name] for name in get_close_matches(wanted[:_MAX_LENGTH], list(names), _MAX_COUNT, _ALIKE)]
    scored = []
    for header in headers:
        title = _plain(header.title)
        shared = len(words & set(title.split())) / max(1, len(words))
        matcher = SequenceMatcher(None, said, title)
        alike = matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0
        if shared >= 0.5 or alike >= _ALIKE:
            scored.append((shared + alike, header))
    scored.sort(key=lambda one: -one[0])
    chosen += [header for _, header in scored if header not in chosen]
    return chosen[:_MAX_COUNT]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text[:_MAX_LENGTH].lower()))


class Memory:
    """The notes of one principal at one place."""

    def __init__(self, app: "App", place: MemoryPlace) -> None:
        self._principal, self._clock = place.principal, now_in_seconds
        self._roots = Roots(app, place, self.changed)
        self.visible = VisibleNotes(
            self._roots.views(), self._read, self._page_texts, now_in_seconds, self._count_waiting
        )
        self.search = NoteIndex.open(app, place, self.visible)
        self._lock = threading.Lock()
        self._upkeep: concurrency.Task[None] | None = None
        self._stale: set[NoteScope] = set()
        self._app, self._space = app, place.space
        self._scanned: frozenset[NoteScope] = frozenset()
        self._syncing: dict[NoteScope, concurrency.Task[bool]] = {}
        self._large: set[NoteScope] = set()
        self._closing = threading.Event()
        self._writes = concurrency.Debounce(_PAGES_AFTER, _PAGES_AT_LAST)

    def pages(self, notebook: Notebook) -> MemoryPages:
        """Return the lists of the notes of a notebook."""
        return self._roots.pages(notebook)

    # Reading

    def get(self, key: str) -> Note | None:
        """Return a note by its id or the beginning of it, its path, file or title, or ``memory:ID``; else ``None``."""
        found = self._find_note(key)
        return None if found is None else found[0].read(found[1].id)

    def exact(self, key: str) -> Note | None:
        """Return the note with exactly this id or path, or ``memory:ID``; ``None`` if there is none."""
        found = self._exact(key)
        return None if found is None else found[0].read(found[1].id)

    def list(
        self, *, limit: int | None = None, as_of: str | None = None, **selection: Unpack[NoteSelection]
    ) -> NoteList:
        """Return notes, pinned ones first, then the most recently updated; without a status, only active ones.

        ``as_of`` is a day or a time, and returns what was known then.
        """
        check_selection(selection)
        complete = self.refresh(LONG_PATIENCE)
        scopes = selection.get("scopes") or ()
        books = [notebook for notebook in self._roots.existing() if not scopes or notebook.scope in scopes]
        if as_of is not None:
            if selection.get("statuses"):
                raise PromptuaryError("as_of returns notes that were active at that time; leave out statuses")
            at = moment(as_of)
            past = [header for book in books for header in headers_at(book.view, book.scope, at)]
            chosen = [header for header in past if _selected(header, selection)] if any(selection.values()) else past
            return NoteList(chosen[:limit], len(chosen), complete)
        wanted = _filter(selection)
        headers = [header for book in books for header in book.view.headers(replace(wanted, limit=limit))]
        if len(books) > 1:
            headers.sort(key=lambda one: one.updated_at or one.created_at, reverse=True)
            headers.sort(key=lambda one: not one.pinned)
        return NoteList(headers[:limit], sum(book.view.count(wanted) for book in books), complete)

    def find(
        self,
        query: str,
        *,
        limit: int = 10,
        as_of: str | None = None,
        lexical_only: bool = False,
        **selection: Unpack[NoteSelection],
    ) -> MemoryResult:
        """Return the active notes that match a question best; ``as_of`` searches what was known at a time."""
        check_selection(selection)
        if selection.get("statuses"):
            raise PromptuaryError("a search finds only active notes; leave out statuses, or list the notes with them")
        unread = _unread(complete=self.refresh(LONG_PATIENCE))
        if as_of is not None:
            at = moment(as_of)
            every = [
                note for notebook in self._roots.existing() for note in notes_at(notebook.view, notebook.scope, at)
            ]
            past = found_at([note for note in every if _selected(note.header, selection)], query, limit)
            return replace(past, notes=(*past.notes, *unread))
        tags = set(selection.get("tags") or ())
        asked = NoteQuery(
            query,
            limit * 5 if tags else limit,
            selection.get("scopes") or (),
            selection.get("audiences") or (),
            selection.get("kinds") or (),
            lexical_only,
        )
        if not lexical_only:
            self.search.embed_few()
        found = self.search.find(asked, timeout=LONG_PATIENCE)
        hits = [hit for hit in found.hits if tags <= set(hit.header.tags)][:limit]
        return MemoryResult(hits, found.mode, found.confidence, (*found.notes, *unread))

    def history(self, key: str) -> Sequence[NoteChange]:
        """Return the changes of a note, the oldest first, even if its file is gone."""
        notebook, note = self.locate(key)
        return notebook.view.changes(note)

    def diff(self, key: str, *, number: int | None = None) -> str:
        """Return a change of a note's file as a patch: the change ``number``, else the last one."""
        changes = [change for change in self.history(key) if change.kind != "forget"]
        chosen = [change for change in changes if number in (None, change.number)]
        if not chosen:
            raise PromptuaryError(
                f"the note {key} has no change {number}; `promptuary memory history {key}` lists them"
            )
        after = chosen[-1]
        before = next((change for change in reversed(changes[: changes.index(after)])), None)
        old, new = (
            (change.text or "").splitlines(keepends=True) if change is not None else [] for change in (before, after)
        )
        old_name, new_name = (
            f"{change.path} ({change.at})" if change is not None else "nothing" for change in (before, after)
        )
        return "".join(unified_diff(old, new, old_name, new_name))

    # Writing

    def write(
        self,
        content: str | None = None,
        *,
        if_rev: str | None = None,
        reason: str = "",
        trust: NoteTrust = "person",
        **fields: Unpack[NoteFields],
    ) -> Note:
        """Write a note, or change the one that ``id`` names; fields not given stay. ``trust``: whose words it holds.

        Raises ``NoteConflictError`` if ``if_rev`` is given and the note has another revision by now.
        """
        draft = NoteDraft(content=content, trust=trust, source="manual" if trust == "person" else "tool", **fields)
        return self.put(draft, if_rev=if_rev, reason=reason)

    def remember(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Note:
        """Write a note. If no kind is given, it is inferred from a clear statement in the text."""
        return self.write_statement(text, reason=reason, **fields).note

    def write_statement(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Written:
        """Do the same, and return whether the note is new."""
        from promptuary.memory.writeback.statements import statements  # noqa: PLC0415  (reading needs none)

        kinds = {statement.kind for statement in statements(text)}
        if "kind" not in fields and len(kinds) == 1:
            fields["kind"] = kinds.pop()
        return self._write(NoteDraft(content=text, **fields), None, reason)

    def put(self, draft: NoteDraft, *, if_rev: str | None = None, reason: str = "") -> Note:
        """Write a draft, or return the note that already says it: the one path for people, tools and writeback.

        The validity of a note that it supersedes ends after the new one is written.
        """
        return self._write(draft, if_rev, reason).note

    def _write(self, draft: NoteDraft, if_rev: str | None, reason: str) -> Written:
        check_choices(draft)
        ended = self.locate(draft.supersedes) if draft.supersedes else None
        if ended is not None:
            draft = replace(draft, supersedes=ended[1])
        if draft.id is None:
            scope = "project" if self._principal.group is not None and draft.scope is None else scope_of(draft)
            written = self._roots.get_or_create(scope).write(draft, reason=reason)
        else:
            notebook, known = self.locate(draft.id)
            if draft.scope not in (None, notebook.scope):
                raise PromptuaryError(f"the note {known} stays where it is; write a new one for {draft.scope}")
            written = notebook.write(replace(draft, id=known), if_rev=if_rev, reason=reason)
        if ended is not None and ended[1] != written.note.header.id:
            self._end(*ended, by=written.note.header.id)
        if written.is_new and ended is None and draft.source in {"manual", "tool"}:
            written = replace(written, note=replace(written.note, similar=self._similar_to(written.note.header)))
        return written

    def _similar_to(self, new: NoteHeader) -> Sequence[NoteHeader]:
        """Return older notes that a new one may contradict, by their titles, the newest first."""
        older = (
            header for header in self.visible.newest(_MAX_SIMILAR) if header.id != new.id and not is_external(header)
        )
        return [header for header in older if are_about_the_same(header.title, new.title)][:_MAX_NAMED]

    def _end(self, notebook: Notebook, note: str, *, by: str) -> None:
        header = notebook.view.header(note)
        if header is not None and not header.valid_until:
            notebook.write(NoteDraft(id=note, valid_until=self._clock()), reason=f"superseded by {by}")

    def archive(self, key: str, *, reason: str = "") -> Note:
        """Archive a note: it stays stored, but is no longer recalled."""
        return self.put(NoteDraft(id=key, status="archived"), reason=reason)

    def restore(self, key: str, *, reason: str = "") -> Note:
        return self.put(NoteDraft(id=key, status="active"), reason=reason)

    def undo(self, key: str, *, number: int | None = None, reason: str = "") -> Note:
        """Undo the last change of a note, or restore it as of the change ``number``.

        Undoing again undoes the change before that. A note is archived when the change that created it is undone.
        """
        notebook, note = self.locate(key)
        changes = [change for change in notebook.view.changes(note) if change.kind != "forget"]
        if not changes:
            raise PromptuaryError(f"the note {note} has no recorded change, so there is nothing to undo")
        if number is not None:
            chosen = next((change for change in changes if change.number == number), None)
            if chosen is None or chosen.text is None:
                raise PromptuaryError(f"the note {note} has no text of change {number}; see `memory history {note}`")
            return notebook.restore_text(note, chosen.text, if_rev=None, reason=reason).note
        before = text_before(changes)
        if before is None:
            return self.archive(note, reason=reason or "undone")
        return notebook.restore_text(note, before, if_rev=None, reason=reason).note

    def edit(self, key: str, *, reason: str = "") -> Note:
        """Let a person edit the file of a note; raises ``NoteConflictError`` if it was changed meanwhile."""
        notebook, note = self.locate(key)
        before = notebook.read(note)
        if before is None:
            raise UnknownNoteError(
                f"the file of the note {note} is gone; `promptuary memory undo {note}` brings it back"
            )
        with edit_copy(as_bytes(before.text), before.header.path.rpartition("/")[2]) as data:
            if data == as_bytes(before.text):
                return before
            if not data.strip():
                raise PromptuaryError("the file was emptied, so nothing was changed; to remove a note, archive it")
            return notebook.replace_text(note, as_text(data), if_rev=before.header.rev, reason=reason).note

    # Exchange with other memories

    def import_notes(self, found: "ForeignMemory", *, owner: str | None = None, dry_run: bool = False) -> ImportReport:
        """Write the notes of another memory that are not here yet; ``dry_run`` only reports which."""
        from promptuary.memory.transfer.transfer import import_memory  # noqa: PLC0415  (seldom needed)

        existing = self.list(statuses=STATUSES).headers
        writer = Writer(self._principal.owner, "", self._clock())
        told = partial(self._foretold, writer=writer, existing=[header for header in existing if not header.external])
        return import_memory(found, told if dry_run else self._take_in, existing, owner=owner)

    def everything(self) -> Sequence[Note]:
        """Return every note that the principal may see, whatever its status."""
        headers = self.list(statuses=STATUSES).headers
        return [note for header in headers if (note := self._read(NoteKey(header.scope, header.id))) is not None]

    def _foretold(self, note: "ForeignNote", writer: Writer, existing: Sequence[NoteHeader]) -> NoteHeader:
        from promptuary.memory.transfer.transfer import preview  # noqa: PLC0415  (seldom needed)

        return preview(note, self._imported_draft(note), writer, existing)

    def _imported_draft(self, note: "ForeignNote") -> NoteDraft:
        return note.draft if self._principal.group is None else replace(note.draft, scope="project")

    def _take_in(self, note: "ForeignNote") -> NoteHeader:
        draft, reason = self._imported_draft(note), f"imported from {note.path}"
        if note.original is not None:
            taken = self._roots.get_or_create(draft.scope or scope_of(draft)).take_in(note.original, reason=reason)
            if taken is not None:
                return taken.note.header
        return self.put(draft, reason=reason).header

    # Unadopted notes

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that wait for ``adopt``: nobody here wrote them, or an agent did and nobody confirmed them.

        The first came with a folder, by hand, or outlived their database.
        """
        self.refresh(wait=True)
        return [
            header for notebook in self._roots.existing() for header in (*notebook.unadopted(), *notebook.unconfirmed())
        ]

    def _count_waiting(self) -> int:
        return sum(len(notebook.unadopted()) for notebook in self._roots.existing())

    def adopt(self, keys: Collection[str] = ()) -> Sequence[NoteHeader]:
        """Take over notes as one's own words, by id or path, or all that wait; return them.

        Also one that an agent wrote: this confirms it.
        """
        taken = [header for notebook in self._roots.existing() for header in notebook.adopt(keys)]
        missing = {key for key in keys if not any(key in (adopted.id, adopted.path) for adopted in taken)}
        if missing:
            raise PromptuaryError(
                f"no unadopted note is called {', '.join(sorted(missing))}; `promptuary memory adopt` lists them"
            )
        return taken

    # Upkeep

    def notebooks(self) -> Sequence[Notebook]:
        """Return the notebook of each place, for maintenance."""
        return self._roots.existing()

    def refresh(self, timeout: float = _PATIENCE, *, wait: bool = False) -> bool:
        """Scan the files for changes made by hand, unless that was just done; ``wait`` always scans.

        With very many files the scan continues in the background after ``timeout`` seconds: then it returns false.
        """
        complete = True
        for notebook in self._roots.existing():
            if wait:
                self._sync(notebook)
            elif (looking := self._looking(notebook)) is not None:
                complete = looking.wait(timeout) and complete
        return complete

    def _looking(self, notebook: Notebook) -> "concurrency.Task[bool] | None":
        """Return the running scan; ``None`` if one was just done."""
        with self._lock:
            task = self._syncing.get(notebook.scope)
            if task is not None and not task.wait(0):
                return task
            ended, took = self._app.note_scans.get(self._folder(notebook), (float("-inf"), 0.0))
            if time.monotonic() - ended < max(_MIN_BETWEEN, _REST * took):
                return None
            if notebook.scope in self._large:
                task = concurrency.begin(lambda: self._sync(notebook), daemon=False, name="promptuary-notes-by-hand")
                self._syncing[notebook.scope] = task
                return task
        if self._sync(notebook, limit=_MAX_SCANNED_HERE):
            return None
        self._large.add(notebook.scope)
        return self._looking(notebook)

    def _sync(self, notebook: Notebook, limit: int | None = None) -> bool:
        """Scan the files; return False, and scan nothing, if there are more than ``limit``."""
        began = time.monotonic()
        if notebook.sync(limit=limit) is None:
            return False
        is_first, self._scanned = notebook.scope not in self._scanned, self._scanned | {notebook.scope}
        self._app.note_scans[self._folder(notebook)] = (time.monotonic(), time.monotonic() - began)
        # An earlier process may have been killed before its list was written.
        if is_first and self.pages(notebook).may_be_outdated():
            self._list_later(notebook.scope)
        return True

    def _folder(self, notebook: Notebook) -> tuple[str, Path | None]:
        """Return what tells the folder of a notebook from the others of the workspace and its principals."""
        return self._space, self._app.person_notes if notebook.scope == "user" else None

    def current_notes(self) -> VisibleNotes:
        """Return what the principal may see, after a scan for changes made by hand."""
        self.refresh()
        return self.visible

    def search_now(self, query: NoteQuery) -> MemoryResult:
        """Return the best matching notes, after a scan for changes made by hand."""
        unread = _unread(complete=self.refresh())
        found = self.search.find(query)
        return replace(found, notes=(*found.notes, *unread))

    def changed(self, scope: NoteScope, notes: Collection[str]) -> None:
        """Schedule an update of the index and the lists after a change. Returns at once."""
        self.search.mark_changed([NoteKey(scope, note) for note in notes])
        self._list_later(scope)

    def similar(self, text: str, limit: int) -> Sequence[str]:
        """Return the ids of notes that are about the same as a text, the nearest first."""
        return [hit.header.id for hit in self.search.find(NoteQuery(text, limit)).hits]

    def settle(self) -> None:
        """Wait until the lists and the index include everything that was written."""
        with self._lock:
            upkeep = self._upkeep
        self._closing.set()
        if upkeep is not None:
            upkeep.wait()
        self._closing.clear()
        self.search.settle()

    def close(self) -> None:
        """Write pending updates of the lists and the index, and close every file."""
        self._closing.set()
        for task in tuple(self._syncing.values()):
            task.wait()
        with self._lock:
            upkeep = self._upkeep
        if upkeep is not None:
            upkeep.wait()
        self.search.close()
        self._roots.close()

    def _list_later(self, scope: NoteScope) -> None:
        if self._app.settings.notes == "database":  # which has no lists
            return
        self._writes.touch()
        with self._lock:
            self._stale.add(scope)
            if self._upkeep is None:
                # Without a thread now, the next write or the next process updates the lists.
                with suppress(RuntimeError):
                    self._upkeep = concurrency.begin(self._write_lists, daemon=False, name="promptuary-lists")

    def _write_lists(self) -> None:
        while True:
            self._writes.wait_for_a_pause(self._closing)
            with self._lock:
                scopes, self._stale = self._stale, set()
                if not scopes:
                    self._upkeep = None
                    return
            for scope in scopes:
                notebook = self._roots.find(scope)
                try:
                    if notebook is not None:
                        self.pages(notebook).refresh()
                except PromptuaryError as error:  # the next write, or the next process, repairs the list
                    logger.warning("the list of notes could not be written: %s", error)

    # Finding a note

    def _read(self, key: NoteKey) -> Note | None:
        notebook = self._roots.find(key.scope)
        return None if notebook is None else notebook.read(key.id)

    def _page_texts(self) -> Sequence[MemoryPage]:
        return [page for notebook in self._roots.existing() for page in self.pages(notebook).read()]

    def _find_note(self, key: str) -> tuple[Notebook, NoteHeader] | None:
        if (found := self._exact(key)) is not None:
            return found
        wanted, books = self._places(key)
        is_prefix = len(wanted) >= _MIN_PREFIX and is_note_id(wanted)
        return (self._by_prefix(wanted, books) if is_prefix else None) or self._by_name(wanted, books)

    def _places(self, key: str) -> tuple[str, Sequence[Notebook]]:
        """Return the id or path in a key, and where to look for it: a path may begin with the scope."""
        wanted, books = key.strip().removeprefix(ADDRESS), self._roots.existing()
        scope = next((book.scope for book in books if wanted.startswith(f"{book.scope}/")), None)
        wanted = wanted.removeprefix(f"{scope}/") if scope else wanted
        return wanted, [book for book in books if scope in (None, book.scope)]

    def _exact(self, key: str) -> tuple[Notebook, NoteHeader] | None:
        """Return a note by its id or path. All files are scanned only if it is unknown."""
        found = self._record(key)
        if found is None:
            self.refresh(LONG_PATIENCE)
            found = self._record(key)
        return found

    def _record(self, key: str) -> tuple[Notebook, NoteHeader] | None:
        wanted, books = self._places(key)
        for notebook in books:
            with suppress(PromptuaryError):
                if (header := notebook.view.header(wanted)) is not None:
                    return notebook, header
        return None

    def _by_prefix(self, prefix: str, books: Sequence[Notebook]) -> tuple[Notebook, NoteHeader] | None:
        every = NoteFilter(statuses=())
        found = [
            (book, header) for book in books for header in book.view.headers(every) if header.id.startswith(prefix)
        ]
        if len(found) > 1:
            raise PromptuaryError(f"{len(found)} notes have an id that begins with {prefix!r}; give more of it")
        return found[0] if found else None

    def _by_name(self, name: str, books: Sequence[Notebook]) -> tuple[Notebook, NoteHeader] | None:
        """Return the one note whose file or title has this name."""
        every = NoteFilter(statuses=())
        found = [(book, header) for book in books for header in book.view.headers(every) if is_called(name, header)]
        if len(found) > 1:
            ids = " or ".join(header.id for _, header in found[:_MAX_NAMED])
            raise PromptuaryError(f"{len(found)} notes are called {name[:80]!r}; name one by its id: {ids}")
        return found[0] if found else None

    def locate(self, key: str) -> tuple[Notebook, str]:
        """Return where a note is and its id, even if its file is gone. Raises ``PromptuaryError``."""
        found = self._find_note(key)
        if found is not None:
            notebook, header = found
            current = notebook.read(header.id)
            if current is None or current.header.rev != header.rev:  # an edit by hand is a change like any other
                notebook.sync(None if current is None else [header.path])
            return notebook, header.id
        wanted = key.strip().removeprefix(ADDRESS)
        for notebook in self._roots.existing():
            changes = self._changes_of(notebook, wanted) if is_note_id(wanted) else ()
            if changes and changes[-1].kind == "forget":
                raise UnknownNoteError(
                    f"the note {wanted} was forgotten on {changes[-1].at[:10]}; nothing of it is left"
                )
            if changes:
                return notebook, changes[-1].note
        raise UnknownNoteError(f"there is no note {key[:80]!r}; {self._advice(wanted)}")

    def _changes_of(self, notebook: Notebook, wanted: str) -> Sequence[NoteChange]:
        """Return the history of a note whose file is gone, by its id or an unambiguous beginning of it."""
        if (changes := notebook.view.changes(wanted)) or not _MIN_PREFIX <= len(wanted) < _MIN_ID:
            return changes
        gone = [
            change.note
            for change in notebook.view.changed_until(_EVER)
            if change.text is None and change.kind != "forget"
        ]
        near = [note for note in gone if note.startswith(wanted)]
        return notebook.view.changes(near[0]) if len(near) == 1 else ()

    def _advice(self, wanted: str) -> str:
        """Return advice for an unknown name: the visible notes with similar titles."""
        every = NoteFilter(statuses=(), limit=_MAX_COMPARED)
        headers = [header for notebook in self._roots.existing() for header in notebook.view.headers(every)]
        found = [f"{header.id} ({one_line(header.title)[:60]})" for header in near(wanted, headers)]
        return f"is it {' or '.join(found)}?" if found else "`promptuary memory list` shows which there are"


def _unread(*, complete: bool) -> tuple[SearchNote, ...]:
    return () if complete else (IndexBusy(here=True),)


def _filter(selection: NoteSelection) -> NoteFilter:
    return NoteFilter(
        audiences=tuple(selection.get("audiences") or ()),
        kinds=tuple(selection.get("kinds") or ()),
        statuses=tuple(selection.get("statuses") or ("active",)),
        tags=tuple(selection.get("tags") or ()),
    )


def _selected(header: NoteHeader, selection: NoteSelection) -> bool:
    chosen: Mapping[str, Sequence[str]] = {
        "scope": selection.get("scopes") or (),
        "audience": selection.get("audiences") or (),
        "kind": selection.get("kinds") or (),
    }
    if any(values and getattr(header, name) not in values for name, values in chosen.items()):
        return False
    return set(selection.get("tags") or ()) <= set(header.tags)

"""Maintains the ``MEMORY.md`` of each audience: a list of its notes for a person, beside what the person wrote there.

The list is updated after a write is acknowledged; after a kill, the next process repairs it. Only the list between the
marks is ever changed, and a version that an editor saves at that moment is never overwritten.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from promptuary.base.errors import NoteFileError
from promptuary.base.principals import Owner
from promptuary.memory.index_page import MAX_ENTRIES, page_path, persons_text, update_page
from promptuary.memory.note_file import as_bytes, as_text
from promptuary.memory.notebook.external_edits import Tracked
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.recall.visible import MemoryPage
from promptuary.memory.values import AUDIENCES, Audience, NoteFilter

_TRIES: Final = 3
"""How often the update is retried because an editor saved the page at the same moment."""


class MemoryPages:
    """The pages of one notebook that ``owner`` may see. ``on_shared`` is called while there are shared notes."""

    def __init__(
        self, notebook: Notebook, owner: Owner, *, tracked: Tracked, on_shared: Callable[[], object] = lambda: None
    ) -> None:
        self._notebook, self._owner, self._tracked, self._on_shared = notebook, owner, tracked, on_shared
        # Nobody would read lists in a database; it has pages on which a person wrote something when they were files.
        self._audiences = AUDIENCES if notebook.files.by_hand else ()

    def refresh(self) -> None:
        """Update the lists. An audience without notes gets no page, but an existing one stays."""
        for audience in self._audiences:
            with self._notebook.files.lock():
                self._refresh(audience)
        if self._audiences and self._notebook.view.headers(NoteFilter(audiences=("shared",), statuses=(), limit=1)):
            self._on_shared()

    def may_be_outdated(self) -> bool:
        """Return whether a list is missing, or older than a note: only then it may lack one. Looks at no note."""
        for audience in self._audiences:
            known = self._notebook.last_known.items()
            newest = max((file.stamp.modified for path, file in known if path.startswith(f"{audience}/")), default=0)
            with suppress(NoteFileError):
                stamp = self._notebook.files.stamp(page_path(audience, self._owner)) if newest else None
                if newest and (stamp is None or stamp.modified < newest):
                    return True
        return False

    def read(self) -> list[MemoryPage]:
        """Return what the person wrote on the pages.

        Private ones that are in git, or were here before the journal, are skipped: anybody may have written them.
        """
        found: list[MemoryPage] = []
        for audience in AUDIENCES:
            path = page_path(audience, self._owner)
            with suppress(NoteFileError):
                data = self._notebook.files.read(path) if self._is_used(path) else None
                text = persons_text(as_text(data)) if data is not None else ""
                if not text:
                    continue
                external = self._is_external(path)
                if audience == "shared" or not external:
                    found.append(MemoryPage(self._notebook.scope, path, text, external=external))
        return found

    def _is_external(self, path: str) -> bool:
        if not self._notebook.files.by_hand:
            return False
        if self._notebook.journal.is_brought(path):
            return True
        tracked = self._tracked()
        return tracked is None or path in tracked or not self._notebook.files.is_own(path)

    def _is_used(self, path: str) -> bool:
        """Return whether a page is used: a private one that may be a hard link to another user's file is not."""
        files = self._notebook.files
        return not files.by_hand or path.startswith("shared/") or files.is_own(path) or files.stamp(path) is None

    def outdated(self) -> list[str]:
        """Return the pages whose lists do not match the notes."""
        found = []
        for audience in self._audiences:
            path = page_path(audience, self._owner)
            with suppress(NoteFileError):
                now = self._notebook.files.read(path)
                if self._is_used(path) and self._build_page(audience, now) != now:
                    found.append(path)
        return found

    def _refresh(self, audience: Audience) -> None:
        files, path = self._notebook.files, page_path(audience, self._owner)
        for _ in range(_TRIES):
            if not self._is_used(path):
                return
            now = files.read(path)
            page = self._build_page(audience, now)
            if page is None or page == now:
                return
            if files.create(path, page) if now is None else files.replace(path, page, expected=now):
                return

    def _build_page(self, audience: Audience, now: bytes | None) -> bytes | None:
        """Return a page with the current list of notes; ``None`` if no page is needed."""
        view = self._notebook.view
        headers = view.headers(NoteFilter(audiences=(audience,), limit=MAX_ENTRIES))
        if now is None and not headers:
            return None
        total = view.count(NoteFilter(audiences=(audience,)))
        return as_bytes(update_page(None if now is None else as_text(now), audience, headers, total))

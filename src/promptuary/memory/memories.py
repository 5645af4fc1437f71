"""The durable memory of one principal: by thread, and as far as a session may see it.

Each is opened on first use, and all are closed with the database of the workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptuary.base.errors import UnknownNoteError
from promptuary.memory.copies import CopyEraser, finish_forgetting
from promptuary.memory.forget import forget
from promptuary.memory.memory import Memory
from promptuary.memory.pinned import PinnedMemory
from promptuary.memory.places import MemoryPlace, has_notes, places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptuary.app import App
    from promptuary.memory.values import ForgetReport
    from promptuary.state import StateDatabase
    from promptuary.workspace.access import Access


class Memories:
    """All memories of a principal."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._opened: dict[MemoryPlace, Memory] = {}
        self._pinned: dict[str, PinnedMemory] = {}

    def of(self, thread: str = "main") -> Memory:
        """Return the durable memory of the principal; ``thread`` matters if the settings isolate threads."""
        with self._app.opening:
            self._app.renew()
            place = self._place(thread)
            if place not in self._opened:
                memory = self._opened[place] = Memory(self._app, place)
                if (state := self._app.state(create=False)).persistent:
                    finish_forgetting(memory, CopyEraser(self._app, place, state))
            return self._opened[place]

    def every(self) -> Mapping[str, tuple[MemoryPlace, Memory]]:
        """Return every memory of the principal by thread: one, unless the settings isolate threads."""
        app = self._app
        threads = [thread.id for thread in app.state(create=False).threads(app.principal).threads()]
        every = places(app.principal, app.settings.memory_folder, threads)
        return {
            thread: (place, self.of(thread))
            for number, (thread, place) in enumerate(every.items())
            if number == 0 or has_notes(app, place)
        }

    def erasers(self, state: StateDatabase) -> Mapping[str, tuple[Memory, CopyEraser]]:
        """Return every memory by thread, with what removes copies of its notes."""
        return {
            thread: (memory, CopyEraser(self._app, place, state)) for thread, (place, memory) in self.every().items()
        }

    def within(self, thread: str, access: Access) -> Memory | PinnedMemory:
        """Return the memory of a thread, as far as it may see it."""
        base, session = self.of(thread), access.session
        if session is None:
            return base
        with self._app.opening:
            known = self._pinned.get(session.id)
            if known is None:
                known = self._pinned[session.id] = PinnedMemory(
                    self._app, self._place(thread), base, session, access.pins
                )
            known.see(session, access.pins)
            return known

    def forget(self, key: str, *, everywhere: bool, dry_run: bool) -> ForgetReport:
        """Forget a note with all its copies, in the first memory that has it. Raises ``UnknownNoteError``."""
        unknown: list[UnknownNoteError] = []
        for memory, eraser in self.erasers(self._app.state(create=False)).values():
            try:
                return forget(memory, key, eraser, everywhere=everywhere, dry_run=dry_run)
            except UnknownNoteError as error:
                unknown.append(error)
        raise unknown[0]

    def close(self) -> None:
        """Close every memory; the next use reopens them."""
        for pinned in self._pinned.values():
            pinned.close()
        for memory in self._opened.values():
            memory.close()
        self._opened.clear()
        self._pinned.clear()

    def _place(self, thread: str) -> MemoryPlace:
        return MemoryPlace.of(self._app.principal, self._app.settings.memory_folder, thread)

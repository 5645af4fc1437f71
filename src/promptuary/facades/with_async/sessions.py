"""``Promptuary.sessions`` with ``async``; ``without_async.sessions`` is the same without."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from promptuary import concurrency

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptuary.core.sessions import Session, SessionReport
    from promptuary.sessions.sessions import Sessions, Wanted
    from promptuary.wiring.core import Core

Result = TypeVar("Result")


class AsyncSessions:
    """What conversations may see: ``Promptuary.sessions``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def create(
        self,
        name: str,
        *,
        thread: str | None = None,
        roots: Sequence[str] = (),
        notes: Wanted = "all",
        experiences: Wanted = "all",
        memory: bool = True,
    ) -> Session:
        """Create a session: what a new thread may see, pinned at its current revisions.

        The thread has the name of the session unless ``thread`` is given. ``roots`` are files and folders of the
        workspace, all of it if there are none. ``notes`` and ``experiences`` are ``"all"``, ``"none"`` or ids. Without
        ``memory``, turns neither recall nor write any.
        """
        return await self._run(
            lambda sessions: sessions.create(
                name, thread=thread, roots=roots, notes=notes, experiences=experiences, memory=memory
            ),
            create=True,
        )

    async def list(self) -> Sequence[Session]:
        """Return every session of the principal, the newest first."""
        return await self._run(lambda sessions: sessions.list())

    async def show(self, name: str) -> SessionReport:
        """Return a session, and what has changed since it was pinned."""
        return await self._run(lambda sessions: sessions.show(name))

    async def refresh(self, name: str) -> SessionReport:
        """Pin everything that a session may see at its current revision, and return what had changed."""
        return await self._run(lambda sessions: sessions.refresh(name))

    async def archive(self, name: str) -> Session:
        """Archive a session: no turn is prepared in its thread until it is restored."""
        return await self._run(lambda sessions: sessions.archive(name))

    async def restore(self, name: str) -> Session:
        """Restore an archived session."""
        return await self._run(lambda sessions: sessions.restore(name))

    async def remove(self, name: str) -> Session:
        """Remove a session for good, and return what it was.

        Raises ``PromptuaryError`` if its thread has turns, which have to be removed first.
        """
        return await self._run(lambda sessions: sessions.remove(name))

    async def _run(self, work: Callable[[Sessions], Result], *, create: bool = False) -> Result:
        return await concurrency.run(lambda: work(self._core.sessions(create=create)))

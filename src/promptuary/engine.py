"""``Promptuary``: what a surface (command line, chat, server) may ask for, grouped by noun.

Blocking work runs in threads, so no access to the disk or the database runs on the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from promptuary import concurrency
from promptuary.core.principals import LOCAL, Principal
from promptuary.facades.with_async.experiences import AsyncExperiences
from promptuary.facades.with_async.inbox import AsyncInbox
from promptuary.facades.with_async.memory import AsyncMemory
from promptuary.facades.with_async.models import AsyncModels
from promptuary.facades.with_async.search import AsyncSearch
from promptuary.facades.with_async.sessions import AsyncSessions
from promptuary.facades.with_async.threads import AsyncThreads
from promptuary.wiring.core import Core

# Types only: each part is imported when it is used.
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from promptuary.config.settings import Settings, SettingsOptions
    from promptuary.context.render import Provider
    from promptuary.core.expansion import Expansion, Measured
    from promptuary.core.layers import Layer
    from promptuary.core.ledger import KeptReport
    from promptuary.core.notes import (
        Examination,
    )
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.references import Completion, MenuItem, Pasted
    from promptuary.core.sessions import Reach

__all__ = ["AsyncExperiences", "AsyncInbox", "AsyncMemory", "AsyncModels", "AsyncSearch", "AsyncThreads", "Promptuary"]

Result = TypeVar("Result")


class Promptuary:
    """A workspace with everything that can be done in it, for one principal.

    ```python
    async with Promptuary.open(".", window=128_000) as p:
        expansion = await p.expand("Review @file:src/app.py:10-50 against @diff")
        expansion.messages  # ready for any chat API

        turn = await p.threads.prepare("And #docs/style.md?", thread="review")
        await p.threads.finish(turn, reply)

        result = await p.search.find("how do we deploy")
    ```
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.threads = AsyncThreads(core)
        """Conversations: their turns, what is attached to them, and the ledger of what models saw."""
        self.search = AsyncSearch(core)
        """The file index: folders of notes and code, searched by words and by meaning."""
        self.memory = AsyncMemory(core)
        """Durable memory: notes that people and agents write, as Markdown files."""
        self.experiences = AsyncExperiences(core)
        """Experiences: what worked and what went wrong; they fade with time and strengthen with use."""
        self.sessions = AsyncSessions(core)
        """Sessions: which files, notes and experiences a conversation may see."""
        self.models = AsyncModels(core)
        """Named models for search by meaning: the available ones, and those that were fetched."""

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        principal: Principal = LOCAL,
        exact: bool = False,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
        current_folder: str | Path | None = None,
        reach: Reach | None = None,
        **options: Unpack[SettingsOptions],
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``.

        ``principal`` is who acts: threads and private state belong to them. ``layers`` are added to the built-in ones
        in every thread; one with the id of a built-in layer replaces it. ``chat_model`` scores files and summarises
        histories; it is optional. ``current_folder`` is for surfaces with a current folder, such as a command line:
        typed paths are relative to it first, then to the workspace. ``reach`` limits what messages may refer to, for
        people who are not trusted with everything. ``options`` are settings by name.
        """
        return cls(
            Core.open(
                path,
                principal=principal,
                exact=exact,
                layers=layers,
                chat_model=chat_model,
                options=options,
                current_folder=current_folder,
                reach=reach,
            )
        )

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._core.path

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self._core.settings

    @property
    def principal(self) -> Principal:
        """Who acts."""
        return self._core.principal

    async def acting_as(
        self, principal: Principal, *, reach: Reach | None = None, model: str | None = None
    ) -> Promptuary:
        """Return the same workspace for another principal. It shares files with this one, so close it first.

        With it, a program serves many people from one process and opens files only once. ``reach`` is as in ``open``.
        ``model`` replaces the answering model (answer_model), which decides window, vocabulary and warnings.
        """
        return await concurrency.run(lambda: Promptuary(self._core.acting_as(principal, reach, model)))

    async def expand(self, text: str, *, pasted: Pasted = ()) -> Expansion:
        """Return ``text`` with everything it points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent but not searched for references.
        """
        return await concurrency.run(lambda: self._core.messages.expand(text, pasted=pasted))

    async def measure(self, text: str, *, pasted: Pasted = (), thread: str | None = None) -> Measured:
        """Return what a message that is being typed would cost; nothing is fetched, written or recorded for it.

        With a ``thread``, what is queued there for the next message counts, too. Pages and the clipboard are not
        fetched; the result names such references.
        """
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        core, vocabulary, expand = self._core, self.settings.effective_vocabulary, self._core.messages.expand
        waiting = None if thread is None else (lambda: core.threads(create=False).waiting(thread=thread))
        return await concurrency.run(lambda: being_typed.measure(text, pasted, expand, vocabulary, waiting))

    async def typed(self) -> Sequence[str]:
        """Return what the principal typed in the chats of this workspace, the oldest first."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        return await concurrency.run(lambda: being_typed.lines(self.path, self.principal))

    async def keep_typed(self, line: str) -> None:
        """Store what the principal typed in a chat, in their own state folder."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        await concurrency.run(lambda: being_typed.keep(self.path, self.principal, line))

    async def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the format of a provider, without a thread; nothing is stored."""
        return self._core.messages.render(expansion, provider)

    async def complete(
        self, text: str, *, limit: int = 20, timeout: float = 1.0, ignored: bool = False, hints: bool = True
    ) -> Completion:
        """Return what the ``@``, ``#`` and ``[[`` menus offer at the end of ``text``.

        The listing of the workspace is built in the background; ``timeout`` is how many seconds a call may wait for
        it, which only the first ones do: the menu says if it was not enough. With 0, no key waits. ``ignored`` also
        offers files that ignore files hide. Without ``hints``, no file is read to measure it: call ``hint`` for the
        rows that are shown.
        """
        return await concurrency.run(
            lambda: self._core.messages.complete(text, limit=limit, timeout=timeout, ignored=ignored, hints=hints)
        )

    async def warm_up(self) -> None:
        """Load what counting and completing messages needs, and start listing the files, before the person types."""
        await concurrency.run(self._core.messages.warm_up)

    async def hint(self, item: MenuItem) -> str:
        """Return the missing hint of a row: size, lines and tokens of its file.

        A menu does not wait until every file is measured. Show its rows, then request the hints of those on the screen,
        and fill them in as they arrive.
        """
        return await concurrency.run(lambda: self._core.messages.hint(item))

    async def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return await concurrency.run(lambda: self._core.messages.find_files(words, limit=limit))

    async def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard of the person at this machine; ``SourceError`` if that cannot be done.

        Return whether it is certain: without a program for it, the terminal is used, which does not confirm it.
        """
        return await concurrency.run(lambda: self._core.copy(text))

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the person: which settings were ignored, and what was noticed in the workspace."""
        return tuple(self._core.notes)

    async def adopt(self) -> None:
        """Adopt the ``state.db`` of the workspace as the person's own, although it came from elsewhere."""
        await concurrency.run(self._core.kept.adopt)

    async def backup(self, path: str | Path, *, everywhere: bool = False, force: bool = False) -> KeptReport:
        """Back up all stored files to one archive: of this workspace or of all, and of the person."""
        return await concurrency.run(lambda: self._core.kept.backup(path, everywhere=everywhere, force=force))

    async def restore(
        self,
        path: str | Path,
        *,
        everywhere: bool = False,
        force: bool = False,
        config: bool = False,
        dry_run: bool = False,
    ) -> KeptReport:
        """Restore a backup; its configuration only with ``config``.

        Unless ``force`` is set, nothing is done if a file exists with other content.
        """
        return await concurrency.run(
            lambda: self._core.kept.restore(path, everywhere=everywhere, force=force, config=config, dry_run=dry_run)
        )

    async def purge(self, *, everywhere: bool = False, models: bool = False, dry_run: bool = False) -> KeptReport:
        """Remove all stored files of this workspace, or of all; fetched models only with ``models``."""
        return await concurrency.run(
            lambda: self._core.kept.purge(everywhere=everywhere, models=models, dry_run=dry_run)
        )

    async def examine(self, *, fix: bool = False) -> Examination:
        """Check the database and the notes, and return the problems; ``fix`` repairs what can be repaired."""
        return await concurrency.run(lambda: self._core.memories.examine(fix=fix))

    async def close(self) -> None:
        """Close the workspace and everything opened for it."""
        await self._core.dispose()
        await concurrency.run(self._core.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

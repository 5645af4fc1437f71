"""``Promptuary``: what a surface (command line, chat, server) may ask for, grouped by noun.

Whatever blocks runs in a thread, so nothing of the disk or the database runs on the event loop.
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
        """What worked before and what went wrong: found again, weaker with time, stronger with use."""
        self.sessions = AsyncSessions(core)
        """Sessions: which files, notes and experiences a conversation may see."""
        self.models = AsyncModels(core)
        """Models for search by meaning that have a name: those that there are, and those that were fetched."""

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

        ``principal`` is who acts: threads and private state belong to them. ``layers`` are added to ours in every
        thread; one with the id of one of ours replaces it. ``chat_model`` scores files and summarises histories; it is
        optional. ``current_folder`` is for surfaces on which a person is somewhere, such as a command line: the paths
        that they type count from there first, then from the workspace. ``reach`` is what messages may refer to, if
        people write them who are not trusted with everything. ``options`` are settings by name.
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
        """Return the same workspace for another principal; close it before this one, with which it shares the files.

        So a program serves many people from one process: what is open is opened once. ``reach`` is as in ``open``.
        ``model`` is the one to talk to (answer_model) from then on: window, vocabulary and warnings are for it.
        """
        return await concurrency.run(lambda: Promptuary(self._core.acting_as(principal, reach, model)))

    async def expand(self, text: str, *, pasted: Pasted = ()) -> Expansion:
        """Return ``text`` with everything it points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent and never looked into for references.
        """
        return await concurrency.run(lambda: self._core.messages.expand(text, pasted=pasted))

    async def measure(self, text: str, *, pasted: Pasted = (), thread: str | None = None) -> Measured:
        """Return what a message that is being typed would cost; nothing is fetched, written or recorded for it.

        With a ``thread``, what waits there for the next message counts, too. Pages and the clipboard are not looked at;
        the result names such references.
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
        """Keep what the principal typed in a chat, in their own state folder."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        await concurrency.run(lambda: being_typed.keep(self.path, self.principal, line))

    async def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the words of a provider; nothing is stored, and there is no thread."""
        return self._core.messages.render(expansion, provider)

    async def complete(
        self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False, hints: bool = True
    ) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``.

        The listing of the workspace is built in the background; ``timeout`` is how many seconds the first call may
        wait for it. ``ignored`` also offers files that ignore files hide. Without ``hints``, no file is read to tell
        its size: ask ``hint`` for those of the rows that are shown.
        """
        return await concurrency.run(
            lambda: self._core.messages.complete(text, limit=limit, timeout=timeout, ignored=ignored, hints=hints)
        )

    async def warm_up(self) -> None:
        """Load what messages are counted and completed with, and begin to list the files: for whoever types soon."""
        await concurrency.run(self._core.messages.warm_up)

    async def hint(self, item: MenuItem) -> str:
        """Return the hint of a row that has none yet: size, lines and tokens of its file.

        A menu does not wait until every file is measured. Show its rows, then ask for the hints of those that are on
        the screen, and fill them in as they come.
        """
        return await concurrency.run(lambda: self._core.messages.hint(item))

    async def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return await concurrency.run(lambda: self._core.messages.find_files(words, limit=limit))

    async def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard of the person at this machine; ``SourceError`` if that cannot be done.

        Return whether it is certain: without a program for it, the terminal is asked, which does not answer.
        """
        return await concurrency.run(lambda: self._core.copy(text))

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the person: what of the configuration was ignored, and what was found in the workspace."""
        return tuple(self._core.notes)

    async def adopt(self) -> None:
        """Take the ``state.db`` of the workspace for the person's own, although it came from elsewhere."""
        await concurrency.run(self._core.kept.adopt)

    async def backup(self, path: str | Path, *, everywhere: bool = False, force: bool = False) -> KeptReport:
        """Write all that is kept to one file: for this workspace or everywhere, and for the person."""
        return await concurrency.run(lambda: self._core.kept.backup(path, everywhere=everywhere, force=force))

    async def restore(
        self, path: str | Path, *, everywhere: bool = False, force: bool = False, dry_run: bool = False
    ) -> KeptReport:
        """Bring back what a backup has. Unless ``force`` is set, nothing is done if something else is there already."""
        return await concurrency.run(
            lambda: self._core.kept.restore(path, everywhere=everywhere, force=force, dry_run=dry_run)
        )

    async def purge(self, *, everywhere: bool = False, models: bool = False, dry_run: bool = False) -> KeptReport:
        """Remove all that is kept for this workspace, or everywhere; fetched ``models`` only if asked for."""
        return await concurrency.run(
            lambda: self._core.kept.purge(everywhere=everywhere, models=models, dry_run=dry_run)
        )

    async def examine(self, *, fix: bool = False) -> Examination:
        """Return what is not as promised in the database and the notes; with ``fix``, repair what can be repaired."""
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

"""``Promptuary`` without ``async``: the same methods, which return when they are done.

Synchronous work runs in the caller's thread. Turns need an event loop, since layers are asynchronous: it runs in a
separate thread, so a loop in the caller's thread (a notebook, an application) is neither needed nor a problem.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from promptuary.core.principals import LOCAL, Principal
from promptuary.facades.without_async.calls import Calls
from promptuary.facades.without_async.experiences import BlockingExperiences
from promptuary.facades.without_async.memory import BlockingMemory
from promptuary.facades.without_async.models import BlockingModels
from promptuary.facades.without_async.search import BlockingSearch
from promptuary.facades.without_async.sessions import BlockingSessions
from promptuary.facades.without_async.threads import BlockingThreads
from promptuary.wiring.core import Core

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

__all__ = ["BlockingExperiences", "BlockingMemory", "BlockingModels", "BlockingSearch", "BlockingThreads", "Promptuary"]

Result = TypeVar("Result")


class Promptuary:
    """See ``promptuary.Promptuary``. May be used from several threads, also where an event loop is running."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._calls = calls = Calls()
        self.threads = BlockingThreads(core, calls)
        """Conversations: their turns, what is attached to them, and the ledger of what models saw."""
        self.search = BlockingSearch(core, calls)
        """The file index: folders of notes and code, searched by words and by meaning."""
        self.memory = BlockingMemory(core, calls)
        """Durable memory: notes that people and agents write, as Markdown files."""
        self.experiences = BlockingExperiences(core, calls)
        """Experiences: what worked and what went wrong; they fade with time and strengthen with use."""
        self.sessions = BlockingSessions(core, calls)
        """Sessions: which files, notes and experiences a conversation may see."""
        self.models = BlockingModels(core, calls)
        """Named models for search by meaning: the available ones, and those that were fetched."""
        weakref.finalize(self, calls.stop_loop).atexit = False

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
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``; ``options`` are settings by name.

        Typed paths are relative to ``current_folder`` first, if it is given, then to the workspace. ``reach`` limits
        what messages may refer to, for people who are not trusted with everything.
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

    def acting_as(self, principal: Principal, *, reach: Reach | None = None, model: str | None = None) -> Promptuary:
        """Return the same workspace for another principal. It shares files with this one, so close it first.

        ``model`` replaces the answering model (answer_model), which decides window, vocabulary and warnings.
        """
        return self._calls.run(lambda: Promptuary(self._core.acting_as(principal, reach, model)))

    def expand(self, text: str, *, pasted: Pasted = ()) -> Expansion:
        """Return ``text`` with everything it points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent but not searched for references.
        """
        return self._calls.run(lambda: self._core.messages.expand(text, pasted=pasted))

    def measure(self, text: str, *, pasted: Pasted = (), thread: str | None = None) -> Measured:
        """Return what a message that is being typed would cost; nothing is fetched, written or recorded for it.

        With a ``thread``, what is queued there for the next message counts, too. Pages and the clipboard are not
        fetched; the result names such references.
        """
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        core, vocabulary, expand = self._core, self.settings.effective_vocabulary, self._core.messages.expand
        waiting = None if thread is None else (lambda: core.threads(create=False).waiting(thread=thread))
        return self._calls.run(lambda: being_typed.measure(text, pasted, expand, vocabulary, waiting))

    def typed(self) -> Sequence[str]:
        """Return what the principal typed in the chats of this workspace, the oldest first."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        return self._calls.run(lambda: being_typed.lines(self.path, self.principal))

    def keep_typed(self, line: str) -> None:
        """Store what the principal typed in a chat, in their own state folder."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        self._calls.run(lambda: being_typed.keep(self.path, self.principal, line))

    def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the format of a provider, without a thread; nothing is stored."""
        return self._core.messages.render(expansion, provider)

    def complete(
        self, text: str, *, limit: int = 20, timeout: float = 1.0, ignored: bool = False, hints: bool = True
    ) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``; without ``hints``, no file is read."""
        return self._calls.run(
            lambda: self._core.messages.complete(text, limit=limit, timeout=timeout, ignored=ignored, hints=hints)
        )

    def warm_up(self) -> None:
        """Load what counting and completing messages needs, and start listing the files, before the person types."""
        self._calls.run(self._core.messages.warm_up)

    def hint(self, item: MenuItem) -> str:
        """Return the missing hint of a row: size, lines and tokens of its file."""
        return self._calls.run(lambda: self._core.messages.hint(item))

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return self._calls.run(lambda: self._core.messages.find_files(words, limit=limit))

    def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard of the person at this machine; ``SourceError`` if that cannot be done.

        Return whether it is certain: without a program for it, the terminal is used, which does not confirm it.
        """
        return self._calls.run(lambda: self._core.copy(text))

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the person: which settings were ignored, and what was noticed in the workspace."""
        return tuple(self._core.notes)

    def adopt(self) -> None:
        """Adopt the ``state.db`` of the workspace as the person's own, although it came from elsewhere."""
        self._calls.run(self._core.kept.adopt)

    def backup(self, path: str | Path, *, everywhere: bool = False, force: bool = False) -> KeptReport:
        """Back up all stored files to one archive: of this workspace or of all, and of the person."""
        return self._calls.run(lambda: self._core.kept.backup(path, everywhere=everywhere, force=force))

    def restore(
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
        return self._calls.run(
            lambda: self._core.kept.restore(path, everywhere=everywhere, force=force, config=config, dry_run=dry_run)
        )

    def purge(self, *, everywhere: bool = False, models: bool = False, dry_run: bool = False) -> KeptReport:
        """Remove all stored files of this workspace, or of all; fetched models only with ``models``."""
        return self._calls.run(lambda: self._core.kept.purge(everywhere=everywhere, models=models, dry_run=dry_run))

    def examine(self, *, fix: bool = False) -> Examination:
        """Check the database and the notes, and return the problems; ``fix`` repairs what can be repaired."""
        return self._calls.run(lambda: self._core.memories.examine(fix=fix))

    def close(self) -> None:
        """Close the workspace; running calls in other threads end with an error. Closing twice is harmless."""
        self._calls.close(self._core)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

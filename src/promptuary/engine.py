"""``Promptuary``: what a surface (command line, chat, server) may ask for, grouped by noun.

Whatever blocks runs in a thread, so nothing of the disk or the database runs on the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from promptuary import concurrency
from promptuary.core.fading import HALF_LIFE, PRUNE_BELOW
from promptuary.core.principals import LOCAL, Principal
from promptuary.facades.async_inbox import AsyncInbox
from promptuary.facades.async_models import AsyncModels
from promptuary.facades.async_sessions import AsyncSessions
from promptuary.facades.async_threads import AsyncThreads
from promptuary.wiring.core import Core

# Types only: each part is imported when it is used.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from promptuary.config.settings import Settings, SettingsOptions
    from promptuary.context.render import Provider
    from promptuary.core.expansion import Expansion, Measured
    from promptuary.core.experiences import (
        Experience,
        ExperienceFields,
        ExperienceList,
        ExperienceOutcome,
        ExperienceResult,
        ExperienceStats,
        Feedback,
        PruneReport,
    )
    from promptuary.core.layers import Json, Layer
    from promptuary.core.ledger import KeptReport
    from promptuary.core.messages import Message
    from promptuary.core.notes import (
        Examination,
        ForeignForm,
        ForgetReport,
        ImportReport,
        MemoryResult,
        Note,
        NoteChange,
        NoteFields,
        NoteHeader,
        NoteList,
        NoteSelection,
        NoteTrust,
    )
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.ports.writeback import Proposal, ProposalFields
    from promptuary.core.references import Completion, MenuItem, Pasted
    from promptuary.core.search import (
        EmbedProgress,
        IndexStatus,
        IndexUpdate,
        SearchQuery,
        SearchResult,
        SyncProgress,
        SyncReport,
    )
    from promptuary.core.sessions import Reach
    from promptuary.experiences.experiences import Experiences
    from promptuary.memory.doors.tools import ToolForm
    from promptuary.memory.memory import Memory
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.search.service import SearchService
    from promptuary.threads.prepared import Turn

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

    async def acting_as(self, principal: Principal, *, reach: Reach | None = None) -> Promptuary:
        """Return the same workspace for another principal; close it before this one, with which it shares the files.

        So a program serves many people from one process: what is open is opened once. ``reach`` is as in ``open``.
        """
        return await concurrency.run(lambda: Promptuary(self._core.acting_as(principal, reach)))

    async def expand(self, text: str, *, pasted: Pasted = ()) -> Expansion:
        """Return ``text`` with everything it points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent and never looked into for references.
        """
        return await concurrency.run(lambda: self._core.expand(text, pasted=pasted))

    async def measure(self, text: str, *, pasted: Pasted = ()) -> Measured:
        """Return what a message that is being typed would cost; nothing is fetched, written or recorded for it.

        Pages and the clipboard are not looked at; the result names such references.
        """
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        expand = lambda text, skip: self._core.expand(text, pasted=skip, recorded=False)  # noqa: E731
        vocabulary = self.settings.effective_vocabulary
        return await concurrency.run(lambda: being_typed.measure(text, pasted, expand, vocabulary))

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
        return self._core.render(expansion, provider)

    async def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``.

        The listing of the workspace is built in the background; ``timeout`` is how many seconds the first call may
        wait for it. ``ignored`` also offers files that ignore files hide.
        """
        return await concurrency.run(lambda: self._core.complete(text, limit=limit, timeout=timeout, ignored=ignored))

    async def hint(self, item: MenuItem) -> str:
        """Return the hint of a row that has none yet: size, lines and tokens of its file.

        A menu does not wait until every file is measured. Show its rows, then ask for the hints of those that are on
        the screen, and fill them in as they come.
        """
        return await concurrency.run(lambda: self._core.hint(item))

    async def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return await concurrency.run(lambda: self._core.find_files(words, limit=limit))

    async def copy(self, text: str) -> None:
        """Put ``text`` into the clipboard of the person at this machine; ``SourceError`` if that cannot be done."""
        await concurrency.run(lambda: self._core.copy(text))

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
        return await concurrency.run(lambda: self._core.examine(fix=fix))

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


class AsyncSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring the index up to date; it can be searched by words at once.

        ``rebuild`` discards the old index; ``prune`` drops files that are gone even if a whole folder is.
        """
        return await self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    async def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return await self._run(lambda search: search.remove(path))

    async def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute the vectors that are missing, and return how many.

        ``progress`` is called with the number computed so far and returns whether to go on.
        """
        return await self._run(lambda search: search.embed(progress))

    async def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best answers from the indexed files, as the files are now."""
        return await concurrency.run(lambda: self._core.find(query, limit=limit))

    async def status(self) -> IndexStatus:
        """Return what is indexed."""
        return await self._run(lambda search: search.status())

    async def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop``; ``on_update`` is called with every update."""
        await self._run(lambda search: search.watch(on_update))

    async def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        await self._run(lambda search: search.stop())

    async def _run(self, work: Callable[[SearchService], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.search()))


class AsyncMemory:
    """The durable memory of the principal: ``Promptuary.memory``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def write(
        self,
        content: str | None = None,
        *,
        if_rev: str | None = None,
        reason: str = "",
        trust: NoteTrust = "person",
        **fields: Unpack[NoteFields],
    ) -> Note:
        """Remember something as a note, or change the note that ``id`` names; what is not given stays as it is.

        ``trust`` says whose words these are: the person's, an agent's, or anybody's (external).
        Raises ``NoteConflictError`` if ``if_rev`` is given and the note has another revision by now.
        """
        return await self._run(
            lambda memory: memory.write(content, if_rev=if_rev, reason=reason, trust=trust, **fields)
        )

    async def remember(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Note:
        """Remember something in one go: its kind is guessed where the text says plainly what it is about."""
        return await self._run(lambda memory: memory.remember(text, reason=reason, **fields))

    async def get(self, key: str) -> Note | None:
        """Return a note by its id, the beginning of its id, or its path; ``None`` if there is none."""
        return await self._run(lambda memory: memory.get(key))

    async def list(
        self, *, limit: int | None = None, as_of: str | None = None, **selection: Unpack[NoteSelection]
    ) -> NoteList:
        """Return notes, pinned ones first, then the ones updated last; ``as_of`` a time, what was known then."""
        return await self._run(lambda memory: memory.list(limit=limit, as_of=as_of, **selection))

    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        as_of: str | None = None,
        lexical_only: bool = False,
        **selection: Unpack[NoteSelection],
    ) -> MemoryResult:
        """Return the notes that answer a question best; ``as_of`` searches what was known at a time."""
        return await self._run(
            lambda memory: memory.find(query, limit=limit, as_of=as_of, lexical_only=lexical_only, **selection)
        )

    async def history(self, key: str) -> Sequence[NoteChange]:
        """Return what happened to a note, the oldest change first."""
        return await self._run(lambda memory: memory.history(key))

    async def diff(self, key: str, *, number: int | None = None) -> str:
        """Return what a change did to a note, as a patch: the change ``number``, else the last one."""
        return await self._run(lambda memory: memory.diff(key, number=number))

    async def undo(self, key: str, *, number: int | None = None, reason: str = "") -> Note:
        """Undo the last change of a note, then the one before it; or bring back what it was after change ``number``."""
        return await self._run(lambda memory: memory.undo(key, number=number, reason=reason))

    async def archive(self, key: str, *, reason: str = "") -> Note:
        """Archive a note: it is kept, and not recalled any more."""
        return await self._run(lambda memory: memory.archive(key, reason=reason))

    async def restore(self, key: str, *, reason: str = "") -> Note:
        """Bring back a note that was archived."""
        return await self._run(lambda memory: memory.restore(key, reason=reason))

    async def forget(self, key: str, *, everywhere: bool = False, dry_run: bool = False) -> ForgetReport:
        """Forget a note for good: file, history, index, vectors, and its copies in stored prompts.

        Where the same words stand as somebody said them, the report names the places; ``everywhere`` takes them out
        there, too. With ``dry_run`` nothing is done.
        """
        return await concurrency.run(lambda: self._core.forget(key, everywhere=everywhere, dry_run=dry_run))

    async def edit(self, key: str, *, reason: str = "") -> Note:
        """Open a copy of a note in the person's editor, and write what they saved.

        Raises ``NoteConflictError`` if the note was changed meanwhile; the copy is kept then.
        """
        from promptuary.wiring.memory.editing import edit_note  # noqa: PLC0415  (seldom needed)

        return await concurrency.run(lambda: edit_note(self._core.memory(), key, reason=reason))

    async def import_notes(
        self, path: str | Path, *, form: ForeignForm | None = None, owner: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take over the notes of another memory: a folder, or a file, of Markdown.

        ``form`` says which program wrote it, where that is not clear; ``owner`` whose private notes are wanted, if
        there are those of several. What is here already is not written again. ``dry_run`` writes nothing.
        """
        return await concurrency.run(lambda: self._core.import_notes(path, form=form, owner=owner, dry_run=dry_run))

    async def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder, and return which these are."""
        from promptuary.wiring.memory.transfer import exported  # noqa: PLC0415  (seldom needed)

        return await concurrency.run(lambda: exported(self._core.memory(), path))

    async def tools(self, form: ToolForm = "openai") -> Sequence[Mapping[str, object]]:
        """Return the tools with which an agent reads and writes notes, as a provider wants them described."""
        return await concurrency.run(lambda: self._core.memory_tools(form))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        *,
        turn: Turn | None = None,
        messages: Sequence[Message] | None = None,
    ) -> Mapping[str, object]:
        """Return what a tool answers, as JSON can represent it; a mistake of the model is an answer, too.

        ``turn`` and the ``messages`` since it was prepared say what the model has read. Without them, or where text of
        others is among it, what the model writes is labelled as words from elsewhere.
        """
        return await concurrency.run(lambda: self._core.call_tool(name, arguments, turn, messages))

    async def learn(
        self, messages: Sequence[Message], *, thread: str = "main", timeout: float = 1.5
    ) -> Sequence[Proposal]:
        """Learn from a turn of another program, which begins with what the person said; return what it proposes.

        ``messages`` after the first are what models and tools answered, in any shape that a finished turn takes.
        ``timeout`` is how many seconds to wait for it; what takes longer goes on in the background.
        """
        from promptuary.wiring.memory.learning import learnt_elsewhere  # noqa: PLC0415  (seldom needed)

        core = self._core
        return await concurrency.run(
            lambda: learnt_elsewhere(
                core.state(), core.writeback(), core.proposals(create=True), messages, thread=thread, timeout=timeout
            )
        )

    async def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that came by hand, by a clone or from a lost state, and wait for ``adopt``."""
        return await self._run(lambda memory: memory.unadopted())

    async def adopt(self, keys: Sequence[str] = ()) -> Sequence[NoteHeader]:
        """Take over unadopted notes as one's own, by id or path, or all of them; return them."""
        return await self._run(lambda memory: memory.adopt(keys))

    async def proposals(self) -> Sequence[Proposal]:
        """Return what was learnt and waits for the person, the oldest first."""
        return await self._proposed(lambda proposals: proposals.all())

    async def accept(self, proposal: str) -> Note:
        """Do what a proposal says, as the person's own act, and return the note."""
        return await self._proposed(lambda proposals: proposals.accept(proposal))

    async def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        await self._proposed(lambda proposals: proposals.reject(proposal))

    async def edit_proposal(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write; it still waits to be accepted.

        Without fields, its text is opened in the person's editor.
        """
        from promptuary.wiring.memory.editing import edit_proposal  # noqa: PLC0415  (seldom needed)

        return await concurrency.run(lambda: edit_proposal(self._core.proposals(), proposal, fields))

    async def _run(self, work: Callable[[Memory], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.memory()))

    async def _proposed(self, work: Callable[[Proposals], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.proposals()))


class AsyncExperiences:
    """The experience store of the principal: ``Promptuary.experiences``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def add(
        self,
        type: str,  # noqa: A002  (what it is called everywhere else)
        intent: str,
        solution: Json = None,
        *,
        trust: NoteTrust = "person",
        **fields: Unpack[ExperienceFields],
    ) -> Experience:
        """Store what worked or what went wrong; the same as before is reinforced. Secrets are taken out.

        ``type`` is tool_chain, user_preference, task_solution, error_recovery, or ``package.name`` for a plug-in's own.
        ``trust`` says whose words it holds: what is external is shown in no turn before somebody confirmed it.
        """
        return await self._run(lambda one: one.add(type, intent, solution, trust=trust, **fields), create=True)

    async def record(self, messages: Sequence[Message], *, turn: Turn | None = None) -> Sequence[Experience]:
        """Store what the calls of tools in ``messages`` teach, and return it. ``finish`` does it by itself.

        ``messages`` follow the prompt of ``turn``; without one they are a conversation of another program and begin
        with what the person said.
        """
        return await concurrency.run(lambda: self._core.record(messages, turn))

    async def track_preference(self, category: str, value: str, **fields: Unpack[ExperienceFields]) -> Experience:
        """Store that ``value`` is preferred where it is about ``category``: surer each time, other values less so."""
        return await self._run(lambda one: one.track_preference(category, value, **fields), create=True)

    async def get(self, key: str) -> Experience | None:
        """Return an experience by its id or the beginning of its id; ``None`` if there is none."""
        return await self._run(lambda one: one.get(key))

    async def list(
        self,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        tags: Sequence[str] = (),
        outcome: ExperienceOutcome | None = None,
        limit: int | None = None,
    ) -> ExperienceList:
        """Return experiences, the ones used last first; each has every one of ``tags``."""
        return await self._run(lambda one: one.list(type=type, tags=tags, outcome=outcome, limit=limit))

    async def find_similar(
        self,
        query: str,
        tags: Sequence[str] = (),
        limit: int = 10,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        outcome: ExperienceOutcome | None = None,
        strict_tags: bool = False,
        lexical_only: bool = False,
    ) -> ExperienceResult:
        """Return the experiences that are like ``query``, by words and meaning; relevance first, then all else.

        Strength, success and shared ``tags`` are preferred. With ``strict_tags``, every hit shares a tag.
        """
        return await self._run(
            lambda one: one.find_similar(
                query, tags, limit, type=type, outcome=outcome, strict_tags=strict_tags, lexical_only=lexical_only
            )
        )

    async def mark_used(self, key: str) -> Experience:
        """Count a use: the strength of an experience is its base weight again."""
        return await self._run(lambda one: one.mark_used(key))

    async def feedback(self, key: str, feedback: Feedback) -> Experience:
        """Say whether an experience helped, is wrong, or is stale."""
        return await self._run(lambda one: one.feedback(key, feedback))

    async def apply_decay(self, half_life_days: float = HALF_LIFE) -> int:
        """Store what everything is worth now; return how many changed. Daily or once, the result is the same."""
        return await self._run(lambda one: one.apply_decay(half_life_days))

    async def prune_expired(self, min_weight: float = PRUNE_BELOW, *, dry_run: bool = False) -> PruneReport:
        """Remove what is worth less than ``min_weight`` by now; with ``dry_run``, only say what that is."""
        return await self._run(lambda one: one.prune_expired(min_weight, dry_run=dry_run))

    async def forget(self, key: str) -> Experience:
        """Remove an experience so that no byte of it is left, and return what it was."""
        return await self._run(lambda one: one.forget(key))

    async def stats(self) -> ExperienceStats:
        """Return how many experiences there are, and of what kind."""
        return await self._run(lambda one: one.stats())

    async def _run(self, work: Callable[[Experiences], Result], *, create: bool = False) -> Result:
        return await concurrency.run(lambda: work(self._core.experiences(create=create)))

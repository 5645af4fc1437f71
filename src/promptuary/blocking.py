"""``Promptuary`` without ``async``: the same methods, which return when they are done.

What is synchronous inside runs in the caller's thread. Turns need an event loop, since layers are asynchronous: it runs
in a thread of its own, so a loop in the caller's thread (a notebook, an application) is neither needed nor in the way.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from promptuary.core.fading import HALF_LIFE, PRUNE_BELOW
from promptuary.core.principals import LOCAL, Principal
from promptuary.facades.blocking_sessions import BlockingSessions
from promptuary.facades.blocking_threads import BlockingThreads
from promptuary.facades.calls import Calls
from promptuary.wiring.core import Core

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
    from promptuary.core.ports.models import ChatModel, FetchProgress, ModelInfo
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
        """What worked before and what went wrong: found again, weaker with time, stronger with use."""
        self.sessions = BlockingSessions(core, calls)
        """Sessions: which files, notes and experiences a conversation may see."""
        self.models = BlockingModels(core, calls)
        """Models for search by meaning that have a name: those that there are, and those that were fetched."""
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

        The paths that a person types count from ``current_folder`` first, if it is given, then from the workspace.
        ``reach`` is what messages may refer to, if people write them who are not trusted with everything.
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

    def acting_as(self, principal: Principal, *, reach: Reach | None = None) -> Promptuary:
        """Return the same workspace for another principal; close it before this one, with which it shares the files."""
        return self._calls.run(lambda: Promptuary(self._core.acting_as(principal, reach)))

    def expand(self, text: str, *, pasted: Pasted = ()) -> Expansion:
        """Return ``text`` with everything it points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent and never looked into for references.
        """
        return self._calls.run(lambda: self._core.expand(text, pasted=pasted))

    def measure(self, text: str, *, pasted: Pasted = ()) -> Measured:
        """Return what a message that is being typed would cost; nothing is fetched, written or recorded for it.

        Pages and the clipboard are not looked at; the result names such references.
        """
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        expand = lambda text, skip: self._core.expand(text, pasted=skip, recorded=False)  # noqa: E731
        vocabulary = self.settings.effective_vocabulary
        return self._calls.run(lambda: being_typed.measure(text, pasted, expand, vocabulary))

    def typed(self) -> Sequence[str]:
        """Return what the principal typed in the chats of this workspace, the oldest first."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        return self._calls.run(lambda: being_typed.lines(self.path, self.principal))

    def keep_typed(self, line: str) -> None:
        """Keep what the principal typed in a chat, in their own state folder."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        self._calls.run(lambda: being_typed.keep(self.path, self.principal, line))

    def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the words of a provider; nothing is stored, and there is no thread."""
        return self._core.render(expansion, provider)

    def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``."""
        return self._calls.run(lambda: self._core.complete(text, limit=limit, timeout=timeout, ignored=ignored))

    def hint(self, item: MenuItem) -> str:
        """Return the hint of a row that has none yet: size, lines and tokens of its file."""
        return self._calls.run(lambda: self._core.hint(item))

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return self._calls.run(lambda: self._core.find_files(words, limit=limit))

    def copy(self, text: str) -> None:
        """Put ``text`` into the clipboard of the person at this machine; ``SourceError`` if that cannot be done."""
        self._calls.run(lambda: self._core.copy(text))

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the person: what of the configuration was ignored, and what was found in the workspace."""
        return tuple(self._core.notes)

    def adopt(self) -> None:
        """Take the ``state.db`` of the workspace for the person's own, although it came from elsewhere."""
        self._calls.run(self._core.kept.adopt)

    def backup(self, path: str | Path, *, everywhere: bool = False, force: bool = False) -> KeptReport:
        """Write all that is kept to one file: for this workspace or everywhere, and for the person."""
        return self._calls.run(lambda: self._core.kept.backup(path, everywhere=everywhere, force=force))

    def restore(
        self, path: str | Path, *, everywhere: bool = False, force: bool = False, dry_run: bool = False
    ) -> KeptReport:
        """Bring back what a backup has. Unless ``force`` is set, nothing is done if something else is there already."""
        return self._calls.run(
            lambda: self._core.kept.restore(path, everywhere=everywhere, force=force, dry_run=dry_run)
        )

    def purge(self, *, everywhere: bool = False, models: bool = False, dry_run: bool = False) -> KeptReport:
        """Remove all that is kept for this workspace, or everywhere; fetched ``models`` only if asked for."""
        return self._calls.run(lambda: self._core.kept.purge(everywhere=everywhere, models=models, dry_run=dry_run))

    def examine(self, *, fix: bool = False) -> Examination:
        """Return what is not as promised in the database and the notes; with ``fix``, repair what can be repaired."""
        return self._calls.run(lambda: self._core.examine(fix=fix))

    def close(self) -> None:
        """Close the workspace; calls that are running in other threads end with an error. Closing twice is harmless."""
        self._calls.close(self._core)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BlockingSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core, self._calls = core, calls

    def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring the index up to date; it can be searched by words at once."""
        return self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return self._run(lambda search: search.remove(path))

    def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute the vectors that are missing, and return how many."""
        return self._run(lambda search: search.embed(progress))

    def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best answers from the indexed files, as the files are now."""
        return self._calls.run(lambda: self._core.find(query, limit=limit))

    def status(self) -> IndexStatus:
        """Return what is indexed."""
        return self._run(lambda search: search.status())

    def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop``; ``on_update`` is called with every update."""
        self._run(lambda search: search.watch(on_update))

    def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        self._run(lambda search: search.stop())

    def _run(self, work: Callable[[SearchService], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.search()))


class BlockingMemory:
    """The durable memory of the principal: ``Promptuary.memory``."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core = core
        self._calls = calls

    def write(
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
        return self._run(lambda memory: memory.write(content, if_rev=if_rev, reason=reason, trust=trust, **fields))

    def remember(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Note:
        """Remember something in one go: its kind is guessed where the text says plainly what it is about."""
        return self._run(lambda memory: memory.remember(text, reason=reason, **fields))

    def get(self, key: str) -> Note | None:
        """Return a note by its id, the beginning of its id, or its path; ``None`` if there is none."""
        return self._run(lambda memory: memory.get(key))

    def list(
        self, *, limit: int | None = None, as_of: str | None = None, **selection: Unpack[NoteSelection]
    ) -> NoteList:
        """Return notes, pinned ones first, then the ones updated last; ``as_of`` a time, what was known then."""
        return self._run(lambda memory: memory.list(limit=limit, as_of=as_of, **selection))

    def find(
        self,
        query: str,
        *,
        limit: int = 10,
        as_of: str | None = None,
        lexical_only: bool = False,
        **selection: Unpack[NoteSelection],
    ) -> MemoryResult:
        """Return the notes that answer a question best; ``as_of`` searches what was known at a time."""
        return self._run(
            lambda memory: memory.find(query, limit=limit, as_of=as_of, lexical_only=lexical_only, **selection)
        )

    def history(self, key: str) -> Sequence[NoteChange]:
        """Return what happened to a note, the oldest change first."""
        return self._run(lambda memory: memory.history(key))

    def diff(self, key: str, *, number: int | None = None) -> str:
        """Return what a change did to a note, as a patch: the change ``number``, else the last one."""
        return self._run(lambda memory: memory.diff(key, number=number))

    def undo(self, key: str, *, number: int | None = None, reason: str = "") -> Note:
        """Undo the last change of a note, then the one before it; or bring back what it was after change ``number``."""
        return self._run(lambda memory: memory.undo(key, number=number, reason=reason))

    def archive(self, key: str, *, reason: str = "") -> Note:
        """Archive a note: it is kept, and not recalled any more."""
        return self._run(lambda memory: memory.archive(key, reason=reason))

    def restore(self, key: str, *, reason: str = "") -> Note:
        """Bring back a note that was archived."""
        return self._run(lambda memory: memory.restore(key, reason=reason))

    def forget(self, key: str, *, everywhere: bool = False, dry_run: bool = False) -> ForgetReport:
        """Forget a note for good: file, history, index, vectors, and its copies in stored prompts.

        Where the same words stand as somebody said them, the report names the places; ``everywhere`` takes them out
        there, too. With ``dry_run`` nothing is done.
        """
        return self._calls.run(lambda: self._core.forget(key, everywhere=everywhere, dry_run=dry_run))

    def edit(self, key: str, *, reason: str = "") -> Note:
        """Open a copy of a note in the person's editor, and write what they saved.

        Raises ``NoteConflictError`` if the note was changed meanwhile; the copy is kept then.
        """
        from promptuary.wiring.memory.editing import edit_note  # noqa: PLC0415  (seldom needed)

        return self._calls.run(lambda: edit_note(self._core.memory(), key, reason=reason))

    def import_notes(
        self, path: str | Path, *, form: ForeignForm | None = None, owner: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take over the notes of another memory: a folder, or a file, of Markdown.

        ``form`` says which program wrote it, where that is not clear; ``owner`` whose private notes are wanted, if
        there are those of several. What is here already is not written again. ``dry_run`` writes nothing.
        """
        return self._calls.run(lambda: self._core.import_notes(path, form=form, owner=owner, dry_run=dry_run))

    def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder, and return which these are."""
        from promptuary.wiring.memory.transfer import exported  # noqa: PLC0415  (seldom needed)

        return self._calls.run(lambda: exported(self._core.memory(), path))

    def tools(self, form: ToolForm = "openai") -> Sequence[Mapping[str, object]]:
        """Return the tools with which an agent reads and writes notes, as a provider wants them described."""
        return self._calls.run(lambda: self._core.memory_tools(form))

    def call_tool(
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
        return self._calls.run(lambda: self._core.call_tool(name, arguments, turn, messages))

    def learn(self, messages: Sequence[Message], *, thread: str = "main", timeout: float = 1.5) -> Sequence[Proposal]:
        """Learn from a turn of another program, which begins with what the person said; return what it proposes.

        ``messages`` after the first are what models and tools answered, in any shape that a finished turn takes.
        ``timeout`` is how many seconds to wait for it; what takes longer goes on in the background.
        """
        from promptuary.wiring.memory.learning import learnt_elsewhere  # noqa: PLC0415  (seldom needed)

        core = self._core
        return self._calls.run(
            lambda: learnt_elsewhere(
                core.state(), core.writeback(), core.proposals(create=True), messages, thread=thread, timeout=timeout
            )
        )

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that came by hand, by a clone or from a lost state, and wait for ``adopt``."""
        return self._run(lambda memory: memory.unadopted())

    def adopt(self, keys: Sequence[str] = ()) -> Sequence[NoteHeader]:
        """Take over unadopted notes as one's own, by id or path, or all of them; return them."""
        return self._run(lambda memory: memory.adopt(keys))

    def proposals(self) -> Sequence[Proposal]:
        """Return what was learnt and waits for the person, the oldest first."""
        return self._proposed(lambda proposals: proposals.all())

    def accept(self, proposal: str) -> Note:
        """Do what a proposal says, as the person's own act, and return the note."""
        return self._proposed(lambda proposals: proposals.accept(proposal))

    def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        self._proposed(lambda proposals: proposals.reject(proposal))

    def edit_proposal(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write; it still waits to be accepted.

        Without fields, its text is opened in the person's editor.
        """
        from promptuary.wiring.memory.editing import edit_proposal  # noqa: PLC0415  (seldom needed)

        return self._calls.run(lambda: edit_proposal(self._core.proposals(), proposal, fields))

    def _run(self, work: Callable[[Memory], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.memory()))

    def _proposed(self, work: Callable[[Proposals], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.proposals()))


class BlockingExperiences:
    """The experience store of the principal: ``Promptuary.experiences``."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core = core
        self._calls = calls

    def add(
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
        return self._run(lambda one: one.add(type, intent, solution, trust=trust, **fields), create=True)

    def record(self, messages: Sequence[Message], *, turn: Turn | None = None) -> Sequence[Experience]:
        """Store what the calls of tools in ``messages`` teach, and return it. ``finish`` does it by itself.

        ``messages`` follow the prompt of ``turn``; without one they are a conversation of another program and begin
        with what the person said.
        """
        return self._calls.run(lambda: self._core.record(messages, turn))

    def track_preference(self, category: str, value: str, **fields: Unpack[ExperienceFields]) -> Experience:
        """Store that ``value`` is preferred where it is about ``category``: surer each time, other values less so."""
        return self._run(lambda one: one.track_preference(category, value, **fields), create=True)

    def get(self, key: str) -> Experience | None:
        """Return an experience by its id or the beginning of its id; ``None`` if there is none."""
        return self._run(lambda one: one.get(key))

    def list(
        self,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        tags: Sequence[str] = (),
        outcome: ExperienceOutcome | None = None,
        limit: int | None = None,
    ) -> ExperienceList:
        """Return experiences, the ones used last first; each has every one of ``tags``."""
        return self._run(lambda one: one.list(type=type, tags=tags, outcome=outcome, limit=limit))

    def find_similar(
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
        return self._run(
            lambda one: one.find_similar(
                query, tags, limit, type=type, outcome=outcome, strict_tags=strict_tags, lexical_only=lexical_only
            )
        )

    def mark_used(self, key: str) -> Experience:
        """Count a use: the strength of an experience is its base weight again."""
        return self._run(lambda one: one.mark_used(key))

    def feedback(self, key: str, feedback: Feedback) -> Experience:
        """Say whether an experience helped, is wrong, or is stale."""
        return self._run(lambda one: one.feedback(key, feedback))

    def apply_decay(self, half_life_days: float = HALF_LIFE) -> int:
        """Store what everything is worth now; return how many changed. Daily or once, the result is the same."""
        return self._run(lambda one: one.apply_decay(half_life_days))

    def prune_expired(self, min_weight: float = PRUNE_BELOW, *, dry_run: bool = False) -> PruneReport:
        """Remove what is worth less than ``min_weight`` by now; with ``dry_run``, only say what that is."""
        return self._run(lambda one: one.prune_expired(min_weight, dry_run=dry_run))

    def forget(self, key: str) -> Experience:
        """Remove an experience so that no byte of it is left, and return what it was."""
        return self._run(lambda one: one.forget(key))

    def stats(self) -> ExperienceStats:
        """Return how many experiences there are, and of what kind."""
        return self._run(lambda one: one.stats())

    def _run(self, work: Callable[[Experiences], Result], *, create: bool = False) -> Result:
        return self._calls.run(lambda: work(self._core.experiences(create=create)))


class BlockingModels:
    """Models that have a name: ``Promptuary.models``. They belong to the person, and not to a workspace."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core, self._calls = core, calls

    def list(self) -> Sequence[ModelInfo]:
        """Return every model of the catalogue, and those that were fetched besides."""
        return self._calls.run(lambda: self._core.models().list())

    def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with the hash that it had when it was fetched."""
        return self._calls.run(lambda: self._core.models().show(name))

    def add(self, name: str, progress: FetchProgress | None = None) -> ModelInfo:
        """Fetch a model by its name, or from the repository ``OWNER/NAME``, unless it is there already."""
        return self._calls.run(lambda: self._core.models().add(name, progress))

    def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any."""
        return self._calls.run(lambda: self._core.models().remove(name))

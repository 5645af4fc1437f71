"""The durable memory of one principal: by thread and by session, with its tools and writeback.

Each is opened on first use, and all are closed with the database of the workspace.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from promptuary.config.settings import Settings
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Message
    from promptuary.core.notes import Examination, ForeignForm, ForgetReport, ImportReport, Note, NoteHeader
    from promptuary.core.principals import Principal
    from promptuary.core.sessions import Sight
    from promptuary.core.writeback import Proposal, ProposalFields, QueuedTurn
    from promptuary.experiences.experiences import Experiences
    from promptuary.experiences.learning.learner import ExperienceLearner
    from promptuary.memory.doors.tools import ToolForm
    from promptuary.memory.forget import Oblivion
    from promptuary.memory.memory import Memory
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.memory.writeback.runner import Writeback
    from promptuary.sessions.memory import PinnedMemory
    from promptuary.storage.state import StateDatabase
    from promptuary.threads.prepared import Turn
    from promptuary.tokens import Counter
    from promptuary.wiring.memory.notes import MemoryPlace
    from promptuary.workspace.workspace import Workspace


class OtherParts(Protocol):
    """What memory needs from its workspace."""

    def renew(self) -> None:
        """Raise an error if it is closed; reopen the database if it was removed or replaced."""
        ...

    def state(self, *, create: bool = True) -> StateDatabase:
        """Return the database of the workspace."""
        ...

    def sight(self, thread: str, state: StateDatabase) -> Sight | None:
        """Return what the session of a thread may see."""
        ...

    def experiences_in(self, state: StateDatabase) -> Experiences:
        """Return the experience store in ``state``."""
        ...

    def learner(self) -> ExperienceLearner:
        """Return the learner of experiences."""
        ...


class Memories:
    """All memories of a principal. ``opening`` is the lock under which parts of the workspace are opened."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        principal: Principal,
        counter: Counter,
        *,
        parts: OtherParts,
        opening: threading.RLock,
    ) -> None:
        self._workspace, self._settings, self._principal, self._counter = workspace, settings, principal, counter
        self._parts, self._opening = parts, opening
        self._opened: dict[MemoryPlace, Memory] = {}
        self._pinned: dict[str, PinnedMemory] = {}
        self._writeback: Writeback | None = None
        self._learns_later = False

    def of(self, thread: str = "main") -> Memory:
        """Return the durable memory of the principal; ``thread`` matters if the settings isolate threads."""
        from promptuary.wiring.memory.notes import MemoryPlace, open_memory  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            self._parts.renew()
            place = MemoryPlace.of(self._principal, self._settings.memory_folder, thread)
            if place not in self._opened:
                memory = self._opened[place] = open_memory(self._workspace, self._settings, place, self._parts.state)
                if (state := self._parts.state(create=False)).persistent:
                    from promptuary.wiring.memory.forgetting import beside_notes, forget_the_rest  # noqa: PLC0415

                    beside = beside_notes(self._workspace, place, state, lambda: self._parts.experiences_in(state))
                    forget_the_rest(self._workspace, memory, beside)
            return self._opened[place]

    def every(self) -> Mapping[str, tuple[MemoryPlace, Memory]]:
        """Return every memory of the principal by thread: one, unless the settings isolate threads."""
        from promptuary.wiring.memory.notes import has_notes, places  # noqa: PLC0415  (most expansions need none)

        threads = [one.id for one in self._parts.state(create=False).threads(self._principal).threads()]
        every = places(self._principal, self._settings.memory_folder, threads)
        return {
            thread: (place, self.of(thread))
            for number, (thread, place) in enumerate(every.items())
            if number == 0 or has_notes(self._workspace, place)
        }

    def within(self, thread: str, sight: Sight | None) -> Memory | PinnedMemory:
        """Return the memory of a thread, as far as its session may see it."""
        if sight is None:
            return self.of(thread)
        from promptuary.wiring.memory.notes import MemoryPlace  # noqa: PLC0415  (few threads have a session)
        from promptuary.wiring.memory.pinned import open_pinned_memory  # noqa: PLC0415

        base = self.of(thread)
        with self._opening:
            if (known := self._pinned.get(sight.session.id)) is not None:
                known.see(sight)
                return known
            place = MemoryPlace.of(self._principal, self._settings.memory_folder, thread)
            made = open_pinned_memory(
                self._workspace, self._settings, place, base, sight=sight, state=self._parts.state()
            )
            self._pinned[sight.session.id] = made
            return made

    def _pinned_for(self, thread: str) -> PinnedMemory | None:
        """Return the memory of the session of a thread; ``None`` if it has none."""
        sight = self._parts.sight(thread, self._parts.state())
        if sight is None:
            return None
        self.within(thread, sight)
        return self._pinned[sight.session.id]

    def layers(self) -> Sequence[Layer]:
        """Return the layers of memory in a turn."""
        from promptuary.wiring.memory.writeback import memory_layers  # noqa: PLC0415  (most expansions need none)

        return memory_layers(self._settings, self.within)

    def tool_schemas(self, form: ToolForm) -> Sequence[Mapping[str, object]]:
        """Return the tools of memory in a provider's format."""
        from promptuary.memory.doors.tools import tool_schemas  # noqa: PLC0415  (only agents need it)

        return tool_schemas(form)

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        turn: Turn | None,
        messages: Sequence[Message] | None,
    ) -> dict[str, object]:
        """Return the result of a tool of memory, in ``turn`` after ``messages``."""
        from promptuary.wiring.memory.writeback import tool_answer, turn_so_far  # noqa: PLC0415  (only agents need it)

        proposals = lambda: self.proposals(create=True)  # noqa: E731
        if turn is None:
            return tool_answer(self.of(), proposals, self._counter, name, arguments)
        state, said = self._parts.state(create=False), None
        if messages is not None:
            said = turn_so_far(turn, state.threads(self._principal), messages, self._workspace)
        memory = self.within(turn.thread, self._parts.sight(turn.thread, state))
        answer = tool_answer(memory, proposals, self._counter, name, arguments, said=said)
        if "written" in answer and turn.thread:  # an unrecorded turn is not learnt from
            self.writeback().skip(turn.id)
        return answer

    def proposals(self, *, create: bool = False) -> Proposals:
        """Return the proposals. Unless ``create`` is set, no database is created."""
        from promptuary.wiring.memory.writeback import open_proposals  # noqa: PLC0415  (most expansions need none)

        return open_proposals(self._parts.state(create=create), self._principal, self.of)

    def writeback(self) -> Writeback:
        """Return the writeback of finished turns."""
        from promptuary.wiring.memory.writeback import open_writeback  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            if self._writeback is None:
                self._writeback = open_writeback(
                    self._workspace,
                    self._parts.state(),
                    self._settings,
                    self._principal,
                    self.of,
                    pinned=self._pinned_for,
                    learner=self._parts.learner,
                )
                if self._learns_later:
                    self._writeback.leave_for_later()
            return self._writeback

    def learn_later(self) -> None:
        """Leave what finished turns teach to another process."""
        self._learns_later = True
        if self._writeback is not None:
            self._writeback.leave_for_later()

    def catch_up(self, timeout: float) -> Sequence[QueuedTurn]:
        """Learn from the finished turns that wait; return those that still wait."""
        state = self._parts.state(create=False)
        waiting = state.writeback_queue(self._principal).waiting()
        return self.writeback().catch_up(timeout) if waiting and timeout > 0 else waiting

    def learn(self, messages: Sequence[Message], *, thread: str, timeout: float) -> Sequence[Proposal]:
        """Learn from a turn of another program; return its proposals."""
        from promptuary.wiring.memory.learning import learnt_elsewhere  # noqa: PLC0415  (seldom needed)

        waiting = self.proposals(create=True)
        return learnt_elsewhere(
            self._parts.state(), self.writeback(), waiting, messages, thread=thread, timeout=timeout
        )

    def forget(self, key: str, *, everywhere: bool, dry_run: bool) -> ForgetReport:
        """Forget a note with all its copies, in whichever thread's memory it is."""
        from promptuary.wiring.memory.forgetting import forget_first  # noqa: PLC0415  (seldom needed)

        every = self._forgetting(self._parts.state(create=False)).values()
        return forget_first(every, key, everywhere=everywhere, dry_run=dry_run)

    def _forgetting(self, state: StateDatabase) -> Mapping[str, tuple[Memory, Oblivion]]:
        """Return every memory by thread, with what removes copies of its notes."""
        from promptuary.wiring.memory.forgetting import beside_each  # noqa: PLC0415  (seldom needed)

        return beside_each(self._workspace, self.every(), state, lambda: self._parts.experiences_in(state))

    def import_notes(
        self, path: str | Path, *, form: ForeignForm | None, owner: str | None, dry_run: bool
    ) -> ImportReport:
        """Import the notes of another memory."""
        from promptuary.wiring.memory.transfer import imported  # noqa: PLC0415  (seldom needed)

        return imported(self.of(), self._workspace, Path(path), form=form, owner=owner, dry_run=dry_run)

    def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder."""
        from promptuary.wiring.memory.transfer import exported  # noqa: PLC0415  (seldom needed)

        return exported(self.of(), path)

    def edit(self, key: str, *, reason: str) -> Note:
        """Let the person edit a note, and return it."""
        from promptuary.wiring.memory.editing import edit_note  # noqa: PLC0415  (seldom needed)

        return edit_note(self.of(), key, reason=reason)

    def edit_proposal(self, proposal: str, fields: ProposalFields) -> Proposal:
        """Change what a proposal would write; without fields, the person edits its text."""
        from promptuary.wiring.memory.editing import edit_proposal  # noqa: PLC0415  (seldom needed)

        return edit_proposal(self.proposals(), proposal, fields)

    def examine(self, *, fix: bool = False) -> Examination:
        """Check the database and the notes, and return the problems; ``fix`` repairs what can be repaired."""
        from promptuary.wiring.memory.doctor import examined  # noqa: PLC0415  (seldom needed)

        state = self._parts.state(create=False)
        return examined(state, self._principal, self._forgetting(state), fix=fix)

    def close(self) -> None:
        """Close every memory and the writeback; the next use reopens them."""
        if self._writeback is not None:
            self._writeback.close()
        for pinned in self._pinned.values():
            pinned.close()
        for memory in self._opened.values():
            memory.close()
        self._writeback = None
        self._opened.clear()
        self._pinned.clear()

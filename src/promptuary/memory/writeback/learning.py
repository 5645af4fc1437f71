"""What finished turns teach about notes: the writeback of one principal, and the proposals from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptuary.base.clock import now_in_seconds
from promptuary.context.receipt import Receipt
from promptuary.context.replies import asked_item, said_items, turn_of_others
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.writeback.prompts import Prompts
from promptuary.memory.writeback.proposals import Proposals
from promptuary.memory.writeback.runner import Writeback, foreign_turns
from promptuary.memory.writeback.snapshot import OwnFile, TurnSnapshot, snapshot
from promptuary.memory.writeback.values import FinishedTurn
from promptuary.models.from_settings import chat_model
from promptuary.workspace.programs.editor import edited_copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.app import App
    from promptuary.base.messages import Message
    from promptuary.memory.pinned import TurnMemory
    from promptuary.memory.writeback.values import Proposal, ProposalFields, QueuedTurn
    from promptuary.threads.prepared import Turn
    from promptuary.workspace.workspace import Workspace

_FILE: Final = "file:"


class Learning:
    """The writeback of one principal, opened on first use."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._writeback: Writeback | None = None
        self._later = False

    def writeback(self) -> Writeback:
        """Return the writeback of finished turns."""
        app, settings = self._app, self._app.settings
        with app.opening:
            if self._writeback is None:
                state = app.state()
                self._writeback = Writeback(
                    state.writeback_queue(app.principal),
                    self.proposals(create=True),
                    self._memory,
                    model=chat_model(settings, settings.writeback_model) if settings.writeback_model else None,
                    threads=state.threads(app.principal),
                    has_secret=has_secret,
                    own_file=own_file(app.workspace),
                    prompts=Prompts(qa=settings.writeback_qa_prompt, profile=settings.writeback_profile_prompt),
                    readers=app.lesson_readers(),
                    soft_drain=settings.writeback_wait_policy == "soft_drain",
                )
                if self._later:
                    self._writeback.leave_for_later()
            return self._writeback

    def proposals(self, *, create: bool = False) -> Proposals:
        """Return the proposals. Unless ``create`` is set, no database is created."""
        store = self._app.state(create=create).proposals(self._app.principal)
        return Proposals(store, self._app.memory.of, has_secret=has_secret)

    def edit_proposal(self, proposal: str, fields: ProposalFields) -> Proposal:
        """Change what a proposal would write; without fields, the person edits its text."""
        proposals = self.proposals()
        return proposals.edit(proposal, **fields) if fields else proposals.edit_text(proposal, edited_copy)

    def learn_later(self) -> None:
        """Leave what finished turns teach to another process."""
        self._later = True
        if self._writeback is not None:
            self._writeback.leave_for_later()

    def catch_up(self, timeout: float) -> Sequence[QueuedTurn]:
        """Learn from the finished turns that wait; return those that still wait."""
        waiting = self._app.state(create=False).writeback_queue(self._app.principal).waiting()
        return self.writeback().catch_up(timeout) if waiting and timeout > 0 else waiting

    def learn(self, messages: Sequence[Message], *, thread: str, timeout: float) -> Sequence[Proposal]:
        """Learn from a turn of another program; return the proposals from it so far.

        Its prompts are unknown. If it has results of tools, the model has read text from outside.
        """
        turn, items = turn_of_others(messages)
        finished = FinishedTurn(turn, thread, items, Receipt(turn, thread, window=0, reserve=0, tokens=0))
        proposals, writeback = self.proposals(create=True), self.writeback()
        before = {proposal.id for proposal in proposals.all()}
        with self._app.state().transaction():
            writeback.record(finished)
        writeback.drain(timeout)
        return [proposal for proposal in proposals.all() if proposal.id not in before]

    def close(self) -> None:
        """Close the writeback; the next use reopens it."""
        if self._writeback is not None:
            self._writeback.close()
        self._writeback = None

    def _memory(self, thread: str) -> TurnMemory:
        app = self._app
        return app.memory.within(thread, app.access(thread, app.state()))


def own_file(workspace: Workspace) -> OwnFile:
    """Return a function that decides whether only the person can have written a file."""
    return lambda address: workspace.is_persons(address.removeprefix(_FILE))


def turn_so_far(app: App, turn: Turn, messages: Sequence[Message]) -> TurnSnapshot:
    """Return a snapshot of a turn that is not finished: ``messages`` followed its prompt."""
    threads = app.state(create=False).threads(app.principal)
    history = [*threads.history(turn.thread), asked_item(turn), *said_items(messages, turn.id)]
    foreign = foreign_turns(threads, turn.thread)
    own = own_file(app.workspace)
    return snapshot(turn.id, turn.thread, now_in_seconds(), history, turn.receipt, foreign_turns=foreign, own_file=own)

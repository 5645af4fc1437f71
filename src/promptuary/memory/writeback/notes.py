"""Learns notes from finished turns: a model proposes them; without one, what the person stated is proposed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, assert_never

from promptuary.base.errors import PromptuaryError, StorageError
from promptuary.base.text import one_line
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.values import Note, NoteDraft, new_note_id
from promptuary.memory.writeback.decisions import (
    Archive,
    Decision,
    Drop,
    Known,
    Outcome,
    Propose,
    Write,
    dispose,
    find_known,
    proposal_fingerprint,
)
from promptuary.memory.writeback.from_model import SCHEMA, note_question, parse_decisions
from promptuary.memory.writeback.proposals import thread_reference
from promptuary.memory.writeback.snapshot import NOTES, TurnSnapshot, wrote_a_note
from promptuary.memory.writeback.statements import statements
from promptuary.memory.writeback.values import Proposal
from promptuary.models.from_settings import chat_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptuary.app import App
    from promptuary.base.messages import Message
    from promptuary.memory.pinned import TurnMemory
    from promptuary.memory.writeback.snapshot import FinishedTurn, Foreign
    from promptuary.models.json_answers import Schema

logger = logging.getLogger(__name__)

_MAX_CANDIDATES: Final = 8


class NoteLearner:
    """Learns the notes of one principal."""

    name = NOTES
    schema: Schema = SCHEMA

    def __init__(self, app: App) -> None:
        self._app = app
        self.model = chat_model(app.settings, app.settings.writeback_model) if app.settings.writeback_model else None
        self._written: set[str] = set()

    def skip(self, turn: str) -> None:
        """Skip a turn: a note was written in it explicitly."""
        self._written.add(turn)

    def record(self, finished: FinishedTurn, _foreign: Foreign) -> bool:
        """Return whether a turn may teach notes: not if the person or the agent wrote one in it."""
        own = finished.items
        if finished.noted or finished.turn in self._written or wrote_a_note(own):
            return False
        return self.model is not None or any(statements(item.words) for item in own if item.role == "user")

    def question(self, turn: TurnSnapshot) -> Sequence[Message]:
        """Return what to ask the model."""
        settings = self._app.settings
        notes = _candidates(turn, self._memory(turn))
        return note_question(turn, notes, qa=settings.writeback_qa_prompt, profile=settings.writeback_profile_prompt)

    def learn(self, turn: TurnSnapshot, answer: Mapping[str, Any] | None) -> None:
        """Carry out what is allowed of the model's decisions; without them, propose what the person stated."""
        memory = self._memory(turn)
        if answer is None:
            self._propose_statements(turn, memory)
            return
        for decision in parse_decisions(answer):
            known = find_known(decision, memory.get, memory.similar, memory.history)
            self._act(dispose(decision, turn, known, new_id=new_note_id()), memory)

    def _propose_statements(self, turn: TurnSnapshot, memory: TurnMemory) -> None:
        """Propose what the person stated in the turn itself, that is, in their last message."""
        words = next((part.text for part in reversed(turn.said) if part.speaker == "person"), "")
        for statement in statements(words):
            if has_secret(statement.text) or _is_known(statement.text, memory):
                continue
            draft = NoteDraft(statement.text, kind=statement.kind, source_ref=thread_reference(turn.thread))
            mark = proposal_fingerprint("write", draft)
            proposal = Proposal(new_note_id(), "write", turn.at, "extract", draft, mark, evidence=statement.text)
            self._act(Propose(proposal), memory)

    def _act(self, outcome: Outcome, memory: TurnMemory) -> None:
        try:
            match outcome:
                case Write(draft, rev, _, reason):
                    memory.put(draft, if_rev=rev or None, reason=reason)
                case Archive(note, reason):
                    memory.archive(note.id, reason=reason)
                case Propose(proposal):
                    self._app.proposals(create=True).add(proposal)
                case Drop():
                    pass
                case _:
                    assert_never(outcome)
        except StorageError:
            raise  # retried later
        except PromptuaryError as error:  # the note was changed meanwhile, or the write path refuses it
            logger.info("a decision of the model was dropped: %s", one_line(str(error)))

    def _memory(self, turn: TurnSnapshot) -> TurnMemory:
        app = self._app
        return app.memory.within(turn.thread, app.access(turn.thread, app.state()))


def _is_known(text: str, memory: TurnMemory) -> bool:
    """Return whether a note already says this."""
    decision = Decision("upsert", NoteDraft(text, title=text))
    nothing = TurnSnapshot("", "", "", (), "none")
    notes = [note for key in memory.similar(text, 1) if (note := memory.get(key))]
    known = Known(similar=notes[0] if notes else None)
    return isinstance(dispose(decision, nothing, known, new_id=""), Drop)


def _candidates(turn: TurnSnapshot, memory: TurnMemory) -> list[Note]:
    """Return the notes that the conversation may be about: by what was said last, and by what the person said.

    Notes from elsewhere are left out: the model might follow them in a conversation that held no other foreign text.
    """
    last = turn.said[-1].text if turn.said else ""
    keys = [*memory.similar(turn.persons_words[-2_000:], _MAX_CANDIDATES), *memory.similar(last[:2_000], 3)]
    found = [note for key in dict.fromkeys(keys) if (note := memory.get(key)) is not None]
    usable = [note for note in found if note.header.status == "active" and note.header.trust != "external"]
    return usable[:_MAX_CANDIDATES]

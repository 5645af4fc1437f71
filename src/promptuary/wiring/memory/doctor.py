"""Examines a workspace: its database, what waits for writeback, and the notes of the principal."""

from collections.abc import Iterator

from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import Examination, Finding
from promptuary.core.ports.threads import StateDatabase
from promptuary.core.principals import Principal
from promptuary.memory import doctor
from promptuary.memory.memory import Memory
from promptuary.storage.sqlite.state import SqliteState


def examined(state: StateDatabase, principal: Principal, memory: Memory, *, fix: bool) -> Examination:
    """Return what is not as promised; with ``fix``, what can be repaired without a loss is."""
    found = [*_of_database(state), *_of_writeback(state, principal)]
    notes = doctor.examined(memory, fix=fix)
    counts = [("threads", len(state.threads(principal).threads())), *notes.counts]
    return Examination(counts, [*found, *notes.findings])


def _of_database(state: StateDatabase) -> Iterator[Finding]:
    if isinstance(state, SqliteState):
        try:
            state.verify()
        except PromptuaryError as error:
            yield Finding("DATABASE", str(error), state.name, "Restore it from a backup; files and notes are not lost.")


def _of_writeback(state: StateDatabase, principal: Principal) -> Iterator[Finding]:
    for turn in state.writeback_queue(principal).waiting():
        if turn.tries:
            later = "It is tried again." if turn.due is not None else "It is not tried again by itself."
            said = f"what turn {turn.id} taught could not be written down: {turn.error}"
            yield Finding("WRITEBACK_FAILED", said, f"thread {turn.thread}", later)

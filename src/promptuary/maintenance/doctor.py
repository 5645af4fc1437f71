"""Checks a workspace: its database, the queue of writeback, and the notes of the principal."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from promptuary.core.errors import PromptuaryError
from promptuary.core.ledger import ThreadSize
from promptuary.core.notes import Examination, Finding
from promptuary.core.principals import Principal
from promptuary.memory import doctor
from promptuary.memory.copies import CopyEraser
from promptuary.memory.memory import Memory
from promptuary.storage.state import StateDatabase


def examined(
    state: StateDatabase, principal: Principal, memories: Mapping[str, tuple[Memory, CopyEraser]], *, fix: bool
) -> Examination:
    """Return the problems; ``fix`` repairs what can be repaired without loss. ``memories`` are by thread."""
    found = [*_of_database(state), *_of_writeback(state, principal)]
    counts = Counter({"threads": len(state.threads(principal).threads())})
    if waiting := len(state.writeback_queue(principal).waiting()):
        counts["waiting turns"] = waiting
    for number, (thread, (memory, eraser)) in enumerate(memories.items()):
        notes = doctor.examined(memory, eraser, fix=fix)
        counts.update(dict(notes.counts))
        found += [replace(one, where=f"thread {thread}: {one.where}") if number else one for one in notes.findings]
    return Examination(list(counts.items()), found, _sizes(state, principal))


def _sizes(state: StateDatabase, principal: Principal) -> Sequence[ThreadSize]:
    """Return the sizes of the threads; empty if the database is damaged, which is reported as a finding."""
    with suppress(PromptuaryError):
        return state.threads(principal).sizes()
    return ()


def _of_database(state: StateDatabase) -> Iterator[Finding]:
    if isinstance(state, StateDatabase):
        try:
            state.verify()
        except PromptuaryError as error:
            yield Finding("DATABASE", str(error), state.name, "Restore it from a backup; files and notes are not lost.")


def _of_writeback(state: StateDatabase, principal: Principal) -> Iterator[Finding]:
    for turn in state.writeback_queue(principal).waiting():
        if turn.tries:
            later = "It will be retried." if turn.due is not None else "It is not retried automatically."
            said = f"the writeback of turn {turn.id} failed: {turn.error}"
            yield Finding("WRITEBACK_FAILED", said, f"thread {turn.thread}", later)

"""What forgetting a note reaches beside the notes: the ledger of the workspace, and the indexes of its principals."""

from promptuary.core.ports.threads import StateDatabase
from promptuary.memory.forget import Oblivion
from promptuary.memory.memory import Memory
from promptuary.wiring.memory.notes import MemoryPlace, index_name
from promptuary.wiring.search import drop_note_indexes
from promptuary.workspace.workspace import Workspace


def beside_notes(workspace: Workspace, place: MemoryPlace, state: StateDatabase) -> Oblivion:
    """Return what forgets a note where it was copied to."""
    own = index_name(place)
    return Oblivion(state.forgetting(place.principal), lambda: drop_note_indexes(workspace, but=own))


def forget_copies(workspace: Workspace, memory: Memory, beside: Oblivion) -> None:
    """Forget the copies of notes that follow the person and were forgotten in another workspace."""
    forgotten = [note for one in memory.notebooks() if one.scope == "user" for note in one.journal.forgotten()]
    if sum(beside.ledger.redact_note(f"memory:{note}") for note in forgotten):
        drop_note_indexes(workspace)
        beside.ledger.purge()

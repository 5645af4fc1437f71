"""Opens the memory of a session: its pinned notes. Imported only if a thread has a session."""

from promptuary.config.settings import Settings
from promptuary.core.sessions import Sight
from promptuary.memory.memory import Memory
from promptuary.sessions.memory import PinnedMemory
from promptuary.storage.state import StateDatabase
from promptuary.wiring.memory.notes import MemoryPlace, open_search
from promptuary.workspace.workspace import Workspace


def open_pinned_memory(
    workspace: Workspace, settings: Settings, place: MemoryPlace, base: Memory, *, sight: Sight, state: StateDatabase
) -> PinnedMemory:
    """Return the session's part of ``base``, the memory at ``place``."""
    store, session = state.sessions(place.principal), sight.session
    return PinnedMemory(
        base,
        sight,
        open_search=lambda visible: open_search(workspace, settings, place, visible, session=session.id),
        pin=lambda notes: store.pin_notes(session.name, notes),
    )

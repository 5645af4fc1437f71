"""Opens the sessions of a workspace. Imported only if a thread has a session."""

from collections.abc import Callable, Sequence

from promptuary.core.clock import now_in_seconds
from promptuary.core.errors import UnknownExperienceError
from promptuary.core.principals import Principal
from promptuary.experiences.experiences import Experiences
from promptuary.memory.memory import Memory
from promptuary.sessions.sessions import Knowledge, Sessions
from promptuary.storage.state import StateDatabase
from promptuary.workspace.workspace import Workspace


def open_sessions(
    workspace: Workspace,
    state: StateDatabase,
    principal: Principal,
    memory: Callable[[str], Memory],
    experiences: Callable[[], Experiences],
) -> Sessions:
    """Return the sessions of ``principal`` in ``state``. ``memory`` is that of a thread."""
    knowledge = Knowledge(workspace, memory, lambda chosen: _experience_pins(experiences(), chosen))
    return Sessions(state.sessions(principal), state.threads(principal), knowledge, clock=now_in_seconds)


def _experience_pins(experiences: Experiences, chosen: Sequence[str] | None) -> dict[str, str]:
    if chosen is None:
        return {one.id: one.rev for one in experiences.list().experiences}
    found = [(key, experiences.get(key)) for key in chosen]
    if unknown := [key for key, one in found if one is None]:
        raise UnknownExperienceError(
            f"there is no experience {unknown[0][:80]!r}; `promptuary experience list` lists them"
        )
    return {one.id: one.rev for _, one in found if one is not None}

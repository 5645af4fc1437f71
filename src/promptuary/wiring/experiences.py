"""Opens the experience store of a principal: its rows, and their index."""

from collections.abc import Collection
from hashlib import sha256

from promptuary.config.settings import Settings
from promptuary.core.clock import now
from promptuary.core.principals import Owner, Principal
from promptuary.experiences.experiences import Experiences
from promptuary.experiences.index import RECIPE, ExperienceIndex
from promptuary.experiences.search import ExperienceSearch
from promptuary.search.indexes import records_backend
from promptuary.storage.state import StateDatabase
from promptuary.tokens import Counter
from promptuary.workspace.workspace import Workspace


def open_experiences(
    workspace: Workspace, settings: Settings, state: StateDatabase, principal: Principal
) -> Experiences:
    """Return the experiences of ``principal`` in ``state``. The index is not created before there is one."""
    search: ExperienceSearch

    def changed(ids: Collection[str]) -> None:
        search.changed(ids)

    store = state.experiences(principal, changed)

    def index() -> ExperienceIndex:
        backend = records_backend(workspace, settings, _index_name(principal.owner), RECIPE)
        return ExperienceIndex(backend, store, now)

    search = ExperienceSearch(store, index)
    return Experiences(
        store, search, state.forgetting(principal), clock=now, counter=Counter(settings.effective_vocabulary)
    )


def _index_name(owner: Owner) -> str:
    """Return the name of the index of an owner: each has a separate one."""
    # Names are printable, so none contains a NUL.
    named = sha256(f"{owner.kind}\0{owner.name}\0{owner.agent}".encode()).hexdigest()
    return f"experiences-{named[:16]}"

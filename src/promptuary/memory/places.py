"""Where the memories of a principal are."""

import re
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from promptuary.base.principals import Principal
from promptuary.memory.persons import are_in_database, persons_database
from promptuary.memory.store.rows import has_files
from promptuary.memory.values import folder_name
from promptuary.workspace.data_folder.data_path import data_path

if TYPE_CHECKING:
    from promptuary.app import App

MEMORY: Final = "memory"
_MAIN: Final = "main"
_THREAD: Final = "{thread}"
_PLACEHOLDER: Final = re.compile(r"\{(thread|user)\}")


class MemoryPlace(Struct, frozen=True):
    """The principal and the place of a memory: ``space`` is the agent's folder below ``memory``."""

    principal: Principal
    space: str

    @classmethod
    def of(cls, principal: Principal, template: str, thread: str) -> "MemoryPlace":
        """Return the place for a principal in a thread; ``template`` names a folder below that of the agent."""
        # Names are printable, so no user can have the name of a group.
        user = principal.user if principal.group is None else f"group\0{principal.group}"
        filled = {"thread": thread or _MAIN, "user": user}  # an unrecorded turn has no thread
        parts = [
            folder_name(_PLACEHOLDER.sub(lambda found: filled[found[1]], part)) for part in template.split("/") if part
        ]
        return cls(principal, "/".join(["agents", folder_name(principal.agent), *parts]))


def places(principal: Principal, template: str, threads: Iterable[str]) -> Mapping[str, MemoryPlace]:
    """Return the places of the memories of a principal, by thread: that of ``main`` first, and each once."""
    found: dict[MemoryPlace, str] = {}
    for thread in (_MAIN, *(threads if _THREAD in template else ())):
        found.setdefault(MemoryPlace.of(principal, template, thread), thread)
    return {thread: place for place, thread in found.items()}


def has_notes(app: "App", place: MemoryPlace) -> bool:
    """Return whether there are notes at a place, of the project or of the person."""
    has_own = place.principal.group is None
    if are_in_database(app.settings):
        state = app.state(create=False)
        persons = persons_database(app, create=False) if has_own else None
        with closing(persons) if persons is not None else nullcontext():
            every = [state.database if state.persistent else None, persons]
            return any(has_files(database, place.space) for database in every if database is not None)
    in_project = data_path(app.path).has(f"{MEMORY}/{place.space}")
    return in_project or (has_own and (app.person_notes / place.space).exists())

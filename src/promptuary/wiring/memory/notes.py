"""Opens the durable memory of a principal: its folders, journals and index."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.config.settings import Settings
from promptuary.core.clock import now_in_seconds
from promptuary.core.notes import NoteScope, folder_name
from promptuary.core.principals import Principal
from promptuary.memory.memory import Memory
from promptuary.memory.notebook.by_hand import Tracked
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.notebook.pages import MemoryPages
from promptuary.memory.recall.index import RECIPE, NoteIndex
from promptuary.memory.recall.select import RecallPolicy
from promptuary.memory.recall.service import NoteSearch
from promptuary.memory.recall.visible import VisibleNotes
from promptuary.memory.roots import OpenRoot, Roots
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.indexes import notes_backend
from promptuary.storage.notes.files import NoteFiles
from promptuary.storage.state import StateDatabase
from promptuary.tokens import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.disk.own.closed_folders import FOLDER
from promptuary.workspace.disk.own.notes_folders import notes_beside, person_notes, workspace_notes
from promptuary.workspace.disk.own.own_place import own_place
from promptuary.workspace.disk.own.private_folder import let_git_see
from promptuary.workspace.user_folders import notes_folder
from promptuary.workspace.workspace import Workspace

_MEMORY: Final = "memory"
_STATE: Final = "state.db"
_MAIN: Final = "main"
_PERSONS: Final = "person"
"""The owner of the database of a person's own notes, which is in their own data folder."""
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


def has_notes(workspace: Workspace, place: MemoryPlace) -> bool:
    """Return whether there is a folder of notes at a place, of the project or of the person."""
    in_project = own_place(workspace.root.path).has(f"{_MEMORY}/{place.space}")
    return in_project or (place.principal.group is None and (notes_folder() / place.space).exists())


def open_memory(
    workspace: Workspace,
    settings: Settings,
    place: MemoryPlace,
    state: Callable[[], StateDatabase],
) -> Memory:
    """Return the memory at ``place``. ``state`` returns the database of the workspace, creating it if needed."""
    principal = place.principal
    opened: list[StateDatabase] = []
    of_person = notes_folder() / place.space

    def changed(scope: NoteScope, notes: Collection[str]) -> None:
        memory.changed(scope, notes)

    def pages(one: Notebook) -> MemoryPages:
        tracked = _tracked(workspace, place.space, scope=one.scope)
        if one.scope == "user":
            return MemoryPages(one, principal.owner, tracked=tracked)
        return MemoryPages(one, principal.owner, tracked=tracked, on_shared=lambda: let_git_see(workspace.root.path))

    def notebook(scope: NoteScope, base: Path, database: StateDatabase, tracked: Tracked) -> Notebook:
        files, journal = NoteFiles(base, place.space), database.notes(place.space)
        return Notebook(scope, files, journal, principal, tracked=tracked, clock=now_in_seconds, on_change=changed)

    def of_project(create: bool) -> Notebook | None:  # noqa: FBT001
        if not create and not own_place(workspace.root.path).has(f"{_MEMORY}/{place.space}"):
            return None
        base = workspace_notes(workspace.root.path)
        return notebook("project", base, state(), _tracked(workspace, place.space))

    def of_user(create: bool) -> Notebook | None:  # noqa: FBT001
        if not create and not of_person.exists():
            return None
        base = person_notes()
        database = _persons_state(base / _STATE)
        opened.append(database)
        return notebook("user", base, database, frozenset)

    def close() -> None:
        for database in opened:
            database.close()

    openers: dict[NoteScope, OpenRoot] = {"project": of_project}
    if principal.group is None:  # a group does not see a person's own notes
        openers["user"] = of_user
    roots = Roots(openers, close)
    memory = Memory(
        roots,
        principal,
        clock=now_in_seconds,
        open_search=lambda visible: open_search(workspace, settings, place, visible),
        pages=pages,
    )
    return memory


def _persons_state(path: Path) -> StateDatabase:
    """Return the database of the person's own notes. Notes that are there before it may be anybody's."""
    state = StateDatabase(path)
    if state.database.binding is None:
        state.database.bind(_PERSONS, notes_beside(path) if state.database.is_unused else ())
    return state


def index_name(place: MemoryPlace, session: str = "") -> str:
    """Return the name of the index of what a principal sees at a place: each principal and session has its own."""
    owner = place.principal.owner
    named = f"{owner.kind}\0{owner.name}\0{place.space}" + (f"\0{session}" if session else "")
    return sha256(named.encode()).hexdigest()[:16]


def recall_policy(settings: Settings) -> RecallPolicy:
    """Return the policy of ``settings`` for selecting notes for a message."""
    return RecallPolicy(
        mode="legacy_blocking" if settings.recall_mode == "legacy_blocking" else "hybrid_async",
        timeout=settings.recall_timeout_ms / 1000,
        most=settings.recall_max_selected,
        prompt=settings.recall_prompt,
        thread_tokens=settings.memory_tokens,
    )


def open_search(
    workspace: Workspace, settings: Settings, place: MemoryPlace, visible: VisibleNotes, *, session: str = ""
) -> NoteSearch:
    """Return the search of the notes that a principal sees at a place, or that one of its sessions sees."""
    sizes = Sizes(settings.chunk_tokens, settings.chunk_overlap)

    def index() -> NoteIndex:
        backend = notes_backend(workspace, settings, index_name(place, session), f"{RECIPE} {sizes.recipe}")
        return NoteIndex(backend, visible, Counter(DEFAULT_VOCABULARY), sizes)

    return NoteSearch(visible, index)


def _tracked(workspace: Workspace, space: str, *, scope: NoteScope = "project") -> Tracked:
    folder = f"{FOLDER}/{_MEMORY}/{space}"

    if scope == "user" or not own_place(workspace.root.path).inside:
        return frozenset
    return lambda: workspace.tracked_by_git(folder)

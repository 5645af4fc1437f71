"""Creates the layers of threads: those that settings describe, those of memory, plug-ins, and those of the program.

Settings in a file of the workspace can only narrow what is read: a larger file, another extension or an outside folder
needs the person's own settings. A mistake of the workspace becomes a note, and the layer is created without it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, SourceError
from promptuary.base.text import one_line
from promptuary.config.settings import WORKSPACE_FILES, Settings
from promptuary.config.static_layers import StaticLayer
from promptuary.experiences.layer import ExperienceRecall
from promptuary.experiences.search import ExperienceQuery
from promptuary.layers.instructions.layer import Instructions
from promptuary.layers.layer import (
    Budget,
    BudgetRange,
    Changed,
    Ending,
    Incoming,
    Layer,
    LayerContext,
    Recall,
    RecallRequest,
    Reply,
    Scope,
    check,
)
from promptuary.layers.plugins import installed_layers
from promptuary.layers.recall import SemanticRecall
from promptuary.layers.static import StaticContent
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.memory.digest_layer import MemoryDigest
from promptuary.memory.layer import MemoryRecall
from promptuary.memory.recall.digest import read_digest
from promptuary.memory.recall.select import RecallPolicy, Selector
from promptuary.models.from_settings import chat_model
from promptuary.models.protocols import ChatModel
from promptuary.workspace.access import Access
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import Workspace, open_door

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase

OnNote = Callable[[str], object]
"""Called with a sentence for the person."""

_FILES: Final = "file_reference_"


_MAIN: Final = "main"


class PerThread(Layer):
    """A separate layer for each session, created by ``make`` for a thread and what its session may see.

    With ``apart``, each thread without a session also has a separate layer; otherwise they share one.
    """

    def __init__(self, make: Callable[[str, Access], Layer], *, apart: bool) -> None:
        self._make, self._apart = make, apart
        self._made: dict[tuple[object, ...], Layer] = {}
        pattern = self._made[_MAIN, None] = make(_MAIN, Access())
        self.id, self.slot, self.band, self.scope = pattern.id, pattern.slot, pattern.band, pattern.scope
        self.budget, self.state_version = pattern.budget, pattern.state_version
        # These are class attributes in other layers, and instance attributes here.
        self.timeouts = pattern.timeouts  # type: ignore[misc]

    async def init(self, context: LayerContext) -> None:
        await self._of(context).init(context)

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        """Look at the person's message."""
        return await self._of(context).on_message(message, context)

    async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
        """Return what to put into the window."""
        return await self._of(context).recall(request, context)

    async def after_model(self, reply: Reply, context: LayerContext) -> None:
        await self._of(context).after_model(reply, context)

    async def store(self, reply: Reply, context: LayerContext) -> None:
        """Save what was learnt."""
        await self._of(context).store(reply, context)

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        """Clean up after the turn."""
        await self._of(context).complete(ending, context)

    async def dispose(self) -> None:
        """Release everything."""
        for layer in self._made.values():
            await layer.dispose()

    def _of(self, context: LayerContext) -> Layer:
        access = context.access
        thread = context.thread if self._apart or access.session is not None else _MAIN
        key = (thread, access.session_key)
        if key not in self._made:
            # When a session was pinned again, its previous layer is no longer needed.
            self._made = {one: layer for one, layer in self._made.items() if one[0] != thread or not one[1]}
            self._made[key] = self._make(thread, access)
        return self._made[key]


def build_layers(app: "App", state: "StateDatabase", files: TrackedFiles) -> Sequence[Layer]:
    """Return the layers of every thread. One that the program passed replaces the built-in one with its id."""
    settings, workspace = app.settings, app.workspace
    given = {layer.id for layer in app.layers}
    ours = [
        instructions(workspace, settings),
        *standing_files(workspace, settings),
        files,
        *_recall(app),
        *_memory(app),
        *_experience(app, state),
        *installed_layers(),
    ]
    every = [*(layer for layer in ours if layer.id not in given), *app.layers]
    check(every)
    return every


def files_layer(app: "App") -> TrackedFiles:
    """Return the layer of tracked files: the one that the program passed, bound to this workspace, else ours."""
    for layer in app.layers:
        if isinstance(layer, TrackedFiles) and layer.id == TrackedFiles.id:
            layer.bind(app.workspace)
            return layer
    return tracked_files(app.workspace, app.settings, app.chat_model, app.note)


def _recall(app: "App") -> list[Layer]:
    if not app.settings.recall_tokens:
        return []
    folders = IndexedFoldersFile(app.path)
    return [
        SemanticRecall(
            app.find,
            lambda: bool(folders.all()),
            str(app.path),
            most=app.settings.recall_tokens,
            within=lambda query, access: app.find(query, access=access),
        )
    ]


def _memory(app: "App") -> list[Layer]:
    """Return the layers of memory: the digest, and the notes that a message needs."""
    settings = app.settings
    if not settings.memory_tokens:
        return []
    policy = recall_policy(settings)
    model = chat_model(settings, settings.recall_model) if settings.recall_model else None

    def digest(thread: str, access: "Access") -> Layer:
        own = app.memory.within(thread, access)
        return MemoryDigest(lambda: read_digest(own.current_notes()), waiting=own.visible.waiting)

    def recall(thread: str, access: "Access") -> Layer:
        own = app.memory.within(thread, access)
        return MemoryRecall(Selector(own.search_now, own.visible, policy, model), own.visible)

    apart = "{thread}" in settings.memory_folder
    return [PerThread(digest, apart=apart), PerThread(recall, apart=apart)]


def _experience(app: "App", state: "StateDatabase") -> list[Layer]:
    settings = app.settings
    if not (settings.experiences and settings.experience_tokens):
        return []
    return [
        ExperienceRecall(
            lambda words, limit: app.experiences_in(state).similar_now(ExperienceQuery(words, limit=limit)),
            lambda ids: app.experiences_in(state).some(ids),
            now,
            most=settings.experience_tokens,
        )
    ]


def recall_policy(settings: Settings) -> RecallPolicy:
    """Return the policy of ``settings`` for selecting notes for a message."""
    return RecallPolicy(
        mode="legacy_blocking" if settings.recall_mode == "legacy_blocking" else "hybrid_async",
        timeout=settings.recall_timeout_ms / 1000,
        most=settings.recall_max_selected,
        prompt=settings.recall_prompt,
        thread_tokens=settings.memory_tokens,
    )


def tracked_files(workspace: Workspace, settings: Settings, model: ChatModel | None, on_note: OnNote) -> TrackedFiles:
    """Return the layer of tracked files for ``settings``; ``model`` scores unless they name another."""
    size = settings.file_reference_max_file_size or None
    if size is not None and _by_workspace(settings, f"{_FILES}max_file_size"):
        size = min(size, workspace.access.max_bytes)
    follow = settings.file_reference_follow_symlinks
    named = settings.file_reference_scoring_model

    def made(base_dir: str | None) -> TrackedFiles:
        return TrackedFiles(
            workspace,
            base_dir=base_dir,
            slot=settings.file_reference_slot,
            scoring_model=chat_model(settings, named) if named else model,
            max_file_size=size,
            follow_symlinks=None if settings.origin(f"{_FILES}follow_symlinks") == "default" else follow,
            allowed_extensions=_extensions(workspace, settings, on_note),
            max_files=settings.file_reference_max_files,
        )

    folder = settings.file_reference_base_dir
    try:
        return made(str(Path(folder).expanduser()) if folder else None)
    except ConfigError as error:
        if not _by_workspace(settings, f"{_FILES}base_dir"):
            raise
        on_note(one_line(f"{_FILES}base_dir in {settings.origin(f'{_FILES}base_dir')} is ignored: {error}"))
        return made(None)


def instructions(workspace: Workspace, settings: Settings) -> Instructions:
    """Return the layer of instruction files for ``settings``."""
    budget = settings.instructions_budget
    return Instructions(
        workspace,
        folder=settings.instructions_folder,
        max_bytes=settings.instructions_max_bytes,
        max_file_bytes=settings.instructions_max_file_bytes,
        slot=settings.instructions_slot,
        tag=settings.instructions_tag,
        budget=BudgetRange(0, budget) if budget else "auto",
    )


def standing_files(workspace: Workspace, settings: Settings) -> Sequence[Layer]:
    """Return a layer for each ``[layers.static.NAME]``."""
    return [_standing(workspace, settings, one) for one in settings.static_layers]


def _standing(workspace: Workspace, settings: Settings, given: StaticLayer) -> Layer:
    name = given.file
    own = Path(given.file).expanduser()

    def load() -> str:
        if given.of_workspace or not own.is_absolute():
            return workspace.read(name).text
        try:
            door = open_door(own.parent, settings)
        except ConfigError as error:
            raise ConfigError(f"{given.file} cannot be read: {error}") from error
        try:
            return door.read(own.name).text
        finally:
            door.close()

    def revision() -> object:
        if given.of_workspace or not own.is_absolute():
            status = workspace.root.status_of(name)
            return status.st_mtime_ns, status.st_size, status.st_ino
        return None  # always reread: it is the person's own, and small

    budget: Budget = "auto"
    if given.budget is not None:
        least, most = given.budget
        budget = least if least == most else BudgetRange(least, most)
    return StaticContent(
        load,
        revision=revision if given.of_workspace or not own.is_absolute() else None,
        id=given.id,
        slot=given.slot,
        scope=cast("Scope", given.scope),
        tag=given.tag,
        budget=budget,
        reload=given.reload,
        on_error="disable",
    )


def _extensions(workspace: Workspace, settings: Settings, on_note: OnNote) -> Iterable[str] | None:
    """Return the only extensions to track; a workspace can only narrow those that the person allows."""
    given = settings.file_reference_allowed_extensions
    if not given:
        return None
    if not _by_workspace(settings, f"{_FILES}allowed_extensions"):
        return given
    known = [one for one in given if _is_read_anyway(workspace, one)]
    if len(known) < len(given):
        others = ", ".join(one for one in given if one not in known)
        on_note(one_line(f"{_FILES}allowed_extensions: a workspace cannot allow {others}; use a flag for them"))
    return known or None


def _is_read_anyway(workspace: Workspace, entry: str) -> bool:
    try:
        return "*" not in entry and all(
            workspace.access.refusal("read", one) is None for one in (entry.lstrip("."), f"a.{entry.lstrip('.')}")
        )
    except SourceError:
        return False


def _by_workspace(settings: Settings, name: str) -> bool:
    return settings.origin(name) in WORKSPACE_FILES

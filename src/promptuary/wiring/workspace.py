"""Opens a workspace by its settings: what may be read there, and what may be fetched."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from promptuary.config.settings import WORKSPACE_FILES, Settings
from promptuary.core.text import one_line
from promptuary.workspace.disk.policy import ReadPolicy
from promptuary.workspace.web.policy import FetchPolicy
from promptuary.workspace.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from promptuary.core.sessions import Reach


def talking_to(settings: Settings, name: str) -> Settings:
    """Return ``settings`` with another answering model; its window and vocabulary apply, unless they were set."""
    other = replace(settings, model="", answer_model=name)
    told = [note for note in settings.notes if note not in settings.counting_notes]
    return replace(other, notes=(*told, *map(one_line, other.counting_notes)))


def narrowed(settings: Settings, reach: "Reach | None") -> Settings:
    """Return ``settings`` without layers that show the person's own files, for people who may not see them."""
    if reach is None:
        return settings
    # A file with an absolute path, or one in the home folder, is not in the workspace.
    standing = tuple(one for one in settings.static_layers if one.of_workspace or not one.file.startswith(("/", "~")))
    folders = [
        folder if settings.origin(name) in WORKSPACE_FILES else ""
        for name, folder in (
            ("file_reference_base_dir", settings.file_reference_base_dir),
            ("instructions_folder", settings.instructions_folder),
        )
    ]
    return replace(
        settings,
        static_layers=standing,
        allow_sensitive=(),
        file_reference_follow_symlinks=False,
        file_reference_base_dir=folders[0],
        instructions_folder=folders[1],
    )


def open_door(folder: Path, settings: Settings, current_folder: Path | None = None) -> Workspace:
    """Return the workspace of ``folder`` with ``settings``; typed paths are relative to ``current_folder`` first."""
    extensions = {
        one if one.startswith((".", "*")) else f".{one}" for one in map(str.lower, settings.allowed_extensions)
    }
    policy = ReadPolicy(
        max_bytes=settings.max_file_size,
        also=frozenset(extensions),
        allow_sensitive=frozenset(settings.allow_sensitive),
    )
    fetching = FetchPolicy(
        allow_hosts=frozenset(host.lower() for host in settings.allow_hosts), timeout=settings.fetch_timeout
    )
    return open_workspace(
        folder, policy, fetching, follow_symlinks=settings.follow_symlinks, current_folder=current_folder
    )

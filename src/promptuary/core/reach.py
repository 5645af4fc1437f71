"""What people may refer to who are not trusted with a whole workspace, such as those who write to a chat gateway.

Whoever opens the engine passes a ``Reach``; everything that reads, lists or searches asks it. What is refused gets the
same words as what does not exist, so that nobody learns from a refusal what there is. Values only, no input or output.
"""

from dataclasses import dataclass
from typing import Final

from promptuary.core.errors import Code, ConfigError, SourceError
from promptuary.core.references import KEYWORDS, KINDS

HOST_KINDS: Final = frozenset({"clipboard"})
"""Kinds that reach the person at the machine and not the workspace: nobody else gets them."""

REMOTE_KINDS: Final = frozenset({*KINDS, *KEYWORDS} - HOST_KINDS)
"""Every kind that a ``Reach`` may have."""

OPEN_KINDS: Final = frozenset({"url", "memory", "remember"})
"""Kinds that need no workspace: pages, and the notes of whoever asks."""

_OF_GIT: Final = frozenset({"commit", "diff", "git", "staged", "status"})
_TOLD: Final = frozenset(
    {
        Code.BAD_RANGE,
        Code.BAD_REVISION,
        Code.BAD_URL,
        Code.UNSUPPORTED_TYPE,
        Code.RESPONSE_TOO_LARGE,
        Code.BUDGET_EXCEEDED,
        Code.HOLDS_SECRET,
        Code.NOT_REMEMBERED,
    }
)
"""Codes whose reasons say nothing but what whoever asks has written, or may read."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What messages may refer to: ``kinds`` of references, and ``folders`` of the workspace.

    Folders are relative to the workspace and in normal form; ``""`` is all of it, and none means no file. ``hosts`` are
    those that ``@url`` may fetch from although they are not public.
    """

    kinds: frozenset[str] = OPEN_KINDS
    folders: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if unknown := sorted(self.kinds - REMOTE_KINDS):
            raise ConfigError(f"{unknown[0]} is no kind of reference to allow; use {', '.join(sorted(REMOTE_KINDS))}")
        for folder in self.folders:
            if (
                folder.startswith("/")
                or folder.endswith("/")
                or {"..", ".", ""} & set(folder.split("/") if folder else ())
            ):
                raise ConfigError(f"{folder!r} is no folder of the workspace in its plain form, such as docs/guides")

    @property
    def whole(self) -> bool:
        """Whether every file of the workspace is inside."""
        return "" in self.folders

    def covers(self, path: str) -> bool:
        """Return whether a path, relative to the workspace and in normal form, is inside the folders."""
        return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in self.folders)

    def leads_to(self, folder: str) -> bool:
        """Return whether a folder is inside the folders, or above one of them."""
        return self.covers(folder) or any(not folder or one.startswith(f"{folder}/") for one in self.folders)

    def allows(self, kind: str) -> bool:
        """Return whether a kind of reference may be used at all; a path without a kind is that of a file."""
        kind = "file" if kind == "path" else kind
        return kind in self.kinds and (self.whole or kind not in _OF_GIT)

    def told(self, kind: str, error: SourceError) -> SourceError:
        """Return the error as whoever asked may read it: the same for what is refused and for what does not exist."""
        return error if error.code in _TOLD and self.allows(kind) else unavailable(kind)


def unavailable(kind: str) -> SourceError:
    """Return the one error for everything that somebody may not have, whether it exists or not."""
    what = "it cannot be fetched from here" if kind == "url" else "it is not available here"
    return SourceError(Code.NOT_AVAILABLE, what)

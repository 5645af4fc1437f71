r"""Which of very many paths may be read: the same answer as ``access`` and ``root``, but faster.

Most paths of a project are harmless for simple reasons: an ordinary extension, no suspicious word, no suspicious
folder. These are allowed at once; ``Access`` itself decides about all others. A path is allowed if and only if
``Access`` allows its name, and ``Root`` can open it under that name.
"""

import re

from promptuary.base.errors import SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.disk.root import normalise
from promptuary.workspace.disk.sensitive_names import (
    BACKUPS,
    SECRET_ANYWHERE,
    SECRET_ENDINGS,
    SECRET_FILES,
    SECRET_PATHS,
    SECRET_WORDS,
)

_PLAIN_NAME = re.compile(r"[\w@+(\[{#-][\w @+(){}\[\]#,=.-]*", re.ASCII)
_PLAIN_FOLDER = re.compile(rf"(?:{_PLAIN_NAME.pattern})(?<![ .])", re.ASCII)
_SUSPICIOUS_FOLDERS = SECRET_ANYWHERE | {path.split("/", 1)[0] for path in SECRET_PATHS}
_SUSPICIOUS_NAMES = SECRET_ANYWHERE | SECRET_FILES | {path.split("/", 1)[0] for path in SECRET_PATHS}


class ReadableNames:
    """What may be read, for one pass over a workspace; caches the result for each folder."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._folders: dict[str, bool] = {}
        backups = {f".{ending}" for ending in BACKUPS}
        # ``Access`` also checks the name before .txt: server.key.txt.
        self._harmless_endings = self._access.allowed - SECRET_ENDINGS - backups - {".txt"}

    def allows(self, path: str) -> bool:
        """Return whether the file ``path``, relative to the workspace, may be read, judging by its name alone."""
        folder, _, name = path.rpartition("/")
        harmless = self._folders.get(folder)
        if harmless is None:
            harmless = self._folders[folder] = (
                _is_plain(folder) and self._access.covers(folder) and not self._access.protects(folder)
            )
        return (harmless and self._is_harmless(name)) or self._is_allowed(path)

    def _is_harmless(self, name: str) -> bool:
        lower = name.lower()
        stem, dot, extension = lower.rpartition(".")
        return (
            stem != ""
            and dot + extension in self._harmless_endings
            and lower not in _SUSPICIOUS_NAMES
            and SECRET_WORDS.search(lower) is None
            and _PLAIN_NAME.fullmatch(name) is not None
        )

    def _is_allowed(self, path: str) -> bool:
        try:
            # A path that changes when it is normalised would open another file.
            return normalise(path) == path and self._access.refusal("read", path) is None
        except SourceError:
            return False


def _is_plain(folder: str) -> bool:
    """Return whether no name in the path ``folder`` can make its files sensitive."""
    names = folder.lower().split("/") if folder else []
    return _SUSPICIOUS_FOLDERS.isdisjoint(names) and all(map(_PLAIN_FOLDER.fullmatch, names))

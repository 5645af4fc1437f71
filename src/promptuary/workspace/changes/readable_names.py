r"""Which of very many paths may be read: the answer of ``policy`` and ``root`` at the price of a look.

Nearly every path of a project is harmless for simple reasons: an ordinary extension, no suspicious word, no suspicious
folder. These pass here at once; everything else is asked of the policy itself. So a path passes if and only if the
policy has nothing against its name, the door could open it under that name, and it is not ours: of ``.promptuary`` only
the memory is anybody's to read.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from promptuary.core.errors import SourceError
from promptuary.workspace.disk.policy import ReadPolicy
from promptuary.workspace.disk.private_folder import FOLDER
from promptuary.workspace.disk.root import normalise
from promptuary.workspace.disk.sensitive_names import (
    BACKUPS,
    SECRET_ANYWHERE,
    SECRET_ENDINGS,
    SECRET_FILES,
    SECRET_PATHS,
    SECRET_WORDS,
)

PRIVATE_PATH: Final = re.compile(rf"(?:^|/){re.escape(FOLDER)}/(?!memory/)")
"""Found in every path of ours that nobody else has a use for."""

_PLAIN_NAME = re.compile(r"[\w@+(\[{#-][\w @+(){}\[\]#,=.-]*", re.ASCII)
_PLAIN_FOLDER = re.compile(rf"(?:{_PLAIN_NAME.pattern})(?<![ .])", re.ASCII)
_SUSPICIOUS_FOLDERS = SECRET_ANYWHERE | {path.split("/", 1)[0] for path in SECRET_PATHS}
_SUSPICIOUS_NAMES = SECRET_ANYWHERE | SECRET_FILES | {path.split("/", 1)[0] for path in SECRET_PATHS}


@dataclass(slots=True)
class ReadableNames:
    """The read policy for one pass over a workspace; what it finds out about a folder it remembers."""

    policy: ReadPolicy
    _plain: frozenset[str] = field(init=False)
    _folders: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {f".{ending}" for ending in BACKUPS}
        self._plain = self.policy.allowed - SECRET_ENDINGS - kept

    def allows(self, path: str) -> bool:
        """Return whether the file ``path``, relative to the workspace, may be read as far as names go."""
        folder, _, name = path.rpartition("/")
        plain = self._folders.get(folder)
        if plain is None:
            plain = self._folders[folder] = _is_plain(folder)
        return (plain and self._is_harmless(name)) or self._is_allowed(path)

    def _is_harmless(self, name: str) -> bool:
        lower = name.lower()
        stem, dot, extension = lower.rpartition(".")
        return (
            stem != ""
            and dot + extension in self._plain
            and lower not in _SUSPICIOUS_NAMES
            and SECRET_WORDS.search(lower) is None
            and _PLAIN_NAME.fullmatch(name) is not None
        )

    def _is_allowed(self, path: str) -> bool:
        if PRIVATE_PATH.search(path):
            return False
        try:
            # A name that reads otherwise than it is written would open another file.
            return normalise(path) == path and self.policy.refusal(path) is None
        except SourceError:
            return False


def _is_plain(folder: str) -> bool:
    """Return whether no name of ``folder`` can make a difference to what is in it."""
    names = folder.lower().split("/") if folder else []
    return _SUSPICIOUS_FOLDERS.isdisjoint(names) and all(map(_PLAIN_FOLDER.fullmatch, names))

"""Reads the listing of a model repository, and selects the needed files. Pure.

The listing comes from the network: every name and number in it is checked, and no name can leave the folder.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.models.onnx_folder import SETTINGS_FILES, TOKENIZER, choose_weights, external_names
from promptuary.workspace.web.download import ExpectedFile

LARGEST_FILE: Final = 2 * 1024**3
_LARGEST_SETTINGS: Final = 1024**2
_MOST_FILES: Final = 20_000
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class ModelSnapshot(Struct, frozen=True):
    """The files of a repository that are needed, at one commit."""

    revision: str
    files: Mapping[str, ExpectedFile]

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files.values())


def listing_url(base: str, repository: str, revision: str) -> str:
    """Return the URL of the listing of a repository at a revision."""
    return f"{base.rstrip('/')}/api/models/{quote(repository)}/revision/{quote(revision, safe='')}?blobs=true"


def file_url(base: str, repository: str, revision: str, name: str) -> str:
    return f"{base.rstrip('/')}/{quote(repository)}/resolve/{quote(revision, safe='')}/{quote(name)}"


def snapshot(listing: Any, repository: str) -> ModelSnapshot:
    """Return the files to fetch, from the answer to ``listing_url``. Raises ``PromptuaryError`` if it has no model."""
    revision = listing.get("sha") if isinstance(listing, dict) else None
    rows = listing.get("siblings") if isinstance(listing, dict) else None
    if not isinstance(revision, str) or not _COMMIT.fullmatch(revision) or not isinstance(rows, list):
        raise PromptuaryError(f"the host does not say what is in {repository}; check model_url")
    known = {row["rfilename"]: row for row in rows[:_MOST_FILES] if isinstance(row, dict) and _is_text(row)}
    weights = choose_weights(known)
    if not weights:
        raise PromptuaryError(f"{repository} has no weights in the ONNX format; name another repository")
    if TOKENIZER not in known:
        raise PromptuaryError(f"{repository} has no {TOKENIZER}, which Promptuary needs; name another repository")
    # Promptuary's own file decides how a model is used, and is never taken from a repository.
    settings = [name for name in SETTINGS_FILES[1:] if name in known]
    wanted = [weights, *(name for name in external_names(weights) if name in known), TOKENIZER, *settings]
    limits = dict.fromkeys(settings, _LARGEST_SETTINGS)
    files = {name: _expected(known[name], limits.get(name, LARGEST_FILE), repository) for name in wanted}
    return ModelSnapshot(revision, files)


def _is_text(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("rfilename"), str)


def _expected(row: Mapping[str, Any], largest: int, repository: str) -> ExpectedFile:
    size, large = row.get("size"), row.get("lfs")
    sha256 = large.get("sha256") if isinstance(large, dict) else None
    blob = row.get("blobId") if not isinstance(large, dict) else None
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= largest:
        raise PromptuaryError(f"{row['rfilename']} of {repository} is too large, or has no size: it is not fetched")
    return ExpectedFile(
        size,
        sha256 if isinstance(sha256, str) and _SHA256.fullmatch(sha256) else "",
        blob if isinstance(blob, str) and _COMMIT.fullmatch(blob) else "",
    )

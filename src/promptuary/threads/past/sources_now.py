"""Compares sources with what a model saw of them: files, notes, changes and commits, pages.

Each is read in the same way as the first time. If a source cannot be read, that is reported; it never counts as
unchanged. Every method blocks.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from promptuary.core.blocks import path_of
from promptuary.core.errors import Code, SourceError
from promptuary.core.ledger import Origin
from promptuary.core.references import KEYWORDS, Reference
from promptuary.core.text import split_lines, visible, with_unix_lines
from promptuary.core.threads import DriftKind
from promptuary.workspace.workspace import Workspace

_RESOLVED: Final = frozenset({"folder", "git", "commit", *KEYWORDS}) - {"clipboard"}
"""Kinds of sources that are read again through the reference that named them."""

_LISTS: Final = frozenset({"digest", "elsewhere"})
"""Lists of notes, whose addresses look like those of notes; pages have a path in theirs."""

_GONE: Final = frozenset({Code.NOT_FOUND, Code.NO_MATCH, Code.NOT_A_REPOSITORY})


class Lookups(Struct, frozen=True):
    """Functions that read sources other than files.

    ``revision`` reads a reference again; ``note`` returns how a note has changed since a revision, ``digests`` the
    revisions of the lists of notes, both in the memory of a thread; ``experience`` how an experience has changed.
    """

    revision: Callable[[Reference], str]
    note: Callable[[str, str, str], DriftKind | None]
    digests: Callable[[str], Mapping[str, str]]
    experience: Callable[[str, str], DriftKind | None]


class SourcesNow:
    """Compares what was shown of sources with what they are now."""

    def __init__(self, workspace: Workspace, lookups: Lookups) -> None:
        self._workspace, self._lookups = workspace, lookups

    def at_this_moment(self) -> "SourcesNow":
        """Return a copy for comparing many sources at one time: it reads each reference and each list once."""
        lookups = self._lookups
        once = Lookups(cache(lookups.revision), lookups.note, cache(lookups.digests), lookups.experience)
        return SourcesNow(self._workspace, once)

    def drift(self, origin: Origin, *, thread: str, sent: str = "", fetch: bool = False) -> DriftKind | None:
        """Return how a source differs from what was shown of it; ``None`` if it does not.

        ``sent`` is the text of the prompt, which is searched for lines from the index. Pages are fetched if ``fetch``.
        """
        scheme, _, value = origin.source.partition(":")
        match scheme:
            case "file":
                return self._file(value, origin.revision)
            case "index":
                return self._indexed(origin, sent)
            case "memory":
                return self._memory(value, origin.revision, thread)
            case "experience":
                return self._lookups.experience(value, origin.revision)
            case "url":
                return self._referenced("url", value, origin.revision) if fetch else "not fetched again"
            case _ if scheme in _RESOLVED:
                return self._referenced(scheme, value, origin.revision)
            case _:
                return None  # a layer's own words, which have no source that could change

    def _file(self, path: str, revision: str) -> DriftKind | None:
        try:
            return None if self._workspace.revision(path) == revision else "changed"
        except SourceError as error:
            return "gone" if error.code is Code.NOT_FOUND else "not readable"

    def _indexed(self, origin: Origin, sent: str) -> DriftKind | None:
        """Search the prompt for the lines: their recorded hash is that of the index, which includes headings."""
        if not sent or origin.lines is None:
            return "not compared"
        try:
            text = self._workspace.read(path_of(origin.source)).text
        except SourceError as error:
            return "gone" if error.code is Code.NOT_FOUND else "not readable"
        first, last = origin.lines
        now = visible(with_unix_lines("".join(split_lines(text)[first - 1 : last])))[0].strip()
        return None if now and now in sent else "changed"

    def _memory(self, name: str, revision: str, thread: str) -> DriftKind | None:
        if name in _LISTS or "/" in name:
            return None if self._lookups.digests(thread).get(name) == revision else "changed"
        return self._lookups.note(name, revision, thread)

    def _referenced(self, kind: str, value: str, revision: str) -> DriftKind | None:
        raw = f"@{kind}:{value}" if value else f"@{kind}"
        try:
            now = self._lookups.revision(Reference(raw, "@", kind, value, 0, len(raw), quoted=True, rooted=True))
        except SourceError as error:
            return "gone" if error.code in _GONE else "not readable"
        return None if now == revision else "changed"

"""Reads tracked files: finds what a message names, and what each file holds now.

Everything here blocks and may be called from any thread. Each file is read through a ``Workspace``, with a timeout and
in isolation: an error affects only that file. ``state`` decides what an observation means.
"""

import copy
import threading
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from promptuary.base.blocks import Source
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.base.references import Reference
from promptuary.layers.tracked.state import Gone, Observation, Refused, Seen, Tracked, Tracking, observed, target
from promptuary.references.kinds.file import part_at_lines, part_at_symbol, whole_file
from promptuary.references.locate import located
from promptuary.references.message import ParsedMessage
from promptuary.references.resolve import CONCURRENCY, Resolution, classify, resolve
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.selection import interpretations
from promptuary.workspace.access import Access
from promptuary.workspace.disk.root import display_path
from promptuary.workspace.workspace import Workspace, open_workspace

READ_TIMEOUT = 5.0
"""The timeout for one file in seconds; a disk that hangs fails only that file."""

LOOK_TIMEOUT = 8.0
"""The timeout for all files together in seconds, if all of them hang: the hook has its own timeout."""

_CACHED_CHARACTERS = 32 * 1024 * 1024


class Reader:
    """A workspace, what may be read of it, and a cache of contents.

    ``names`` are the extensions and whole names that may be read; ``None`` allows all that the workspace allows.
    ``home`` is the folder to which references are relative, if it is not that of ``workspace``.
    """

    def __init__(self, workspace: Workspace, names: frozenset[str] | None = None, home: Path | None = None) -> None:
        self.workspace = workspace
        self._names = names
        self._home = home or workspace.root.path
        self._cache = _ContentCache()

    def within(self, access: Access) -> "Reader":
        """Return a reader of what a thread may see, with the same cache. No session sees another ``base_dir``."""
        if access.session is not None and self.workspace.root.path != self._home:
            access = replace(access, roots=())
        narrow = copy.copy(self)
        narrow.workspace = self.workspace.within(access)
        return narrow

    def references(self, message: ParsedMessage) -> list[tuple[Reference, Tracked]]:
        """Return the ``#`` references of a message that name files, and what each means."""
        return [(one, self.meaning(one)) for one in classify(message.tracked, self.workspace)]

    def meaning(self, reference: Reference) -> Tracked:
        """Return what ``reference`` means: the literal path is tried before any interpretation as a range."""
        *_, part = interpretations(located(reference, self.workspace))
        return target(part)

    def spelling(self, tracking: Tracking, path: str) -> str:
        """Return which of the tracked paths a person means by ``path``; as typed if none of them."""
        known = {name for file in tracking.files for name in (file.label, file.path)}
        try:
            readings = self.workspace.standpoint.readings(path, absolute=True)
        except SourceError:
            return path
        return next((one for one in readings if one in known), path)

    def look(self, tracking: Tracking, counter: TokenCounter) -> tuple[Tracking, dict[str, Resolution]]:
        """Return ``tracking`` after reading each file, and what was found, by label."""
        with self.workspace.visit() as visit:
            wanted = [_reference(file) for file in tracking.files]
            timeout = min(READ_TIMEOUT, round(LOOK_TIMEOUT * CONCURRENCY / max(len(wanted), 1), 1))
            found = resolve(wanted, ResolveContext(visit, counter), {"file": self._source}, timeout=timeout)
        self._cache.put(one.sources[0] for one in found if one.sources)
        after = observed(tracking, [_observation(one) for one in found])
        return after, {file.label: one for file, one in zip(after.files, found, strict=True)}

    def contents(self, tracking: Tracking, counter: TokenCounter) -> tuple[Tracking, dict[str, Source]]:
        """Return the content of each file, from the cache or by reading again."""
        readable = [file for file in tracking.files if file.condition.readable]
        cached = self._cache.get(readable)
        if len(cached) == len(readable):
            return tracking, cached
        after, found = self.look(tracking, counter)
        return after, {label: one.sources[0] for label, one in found.items() if one.sources}

    def _source(self, reference: Reference, _: ResolveContext) -> list[Source]:
        reading = next(interpretations(reference))
        self._check_name(reading.path)
        file = self.workspace.read(reading.path)
        label = reference.value + reference.suffix
        if cached := self._cache.same(label, file.sha256):
            return [cached]  # with the outlines that were made from it
        place = self.workspace.root.path / file.path
        inside = place.is_relative_to(self._home)
        if inside:  # ``read_on`` and the origin are set as for any other reference
            file = replace(file, path=place.relative_to(self._home).as_posix())
        if reading.selection.symbol and file.text:
            found = part_at_symbol(file, reading.selection.symbol)
        elif reading.selection.ranges and file.text:
            found = part_at_lines(file, reading)
        else:
            found = whole_file(file)
        if not inside:
            found = replace(found, path="", origin=f"file:{place.as_posix()}", read_on="")
        return [replace(found, label=label)]

    def _check_name(self, path: str) -> None:
        """Refuse names without an extension that are not listed; the policy of the workspace allows all of them."""
        name = path.rsplit("/", 1)[-1].lower()
        if self._names is None or "." in name[1:] or not {name, "*"}.isdisjoint(self._names):
            return
        raise SourceError(
            Code.DISALLOWED_EXTENSION,
            f"{display_path(path)} is not among the allowed_extensions; name it there to read it.",
        )


def _reference(file: Tracked) -> Reference:
    """Return ``file`` as a quoted reference, which has one interpretation only."""
    return Reference(file.label, "#", "file", file.path, 0, 0, file.suffix, quoted=True)


def _observation(found: Resolution) -> Observation:
    if found.sources:
        return Seen(found.sources[0].revision, empty=not found.sources[0].text)
    error = found.error
    if error is None or error.code is Code.NOT_FOUND:
        return Gone()
    return Refused(error.code, error.reason)


class _ContentCache:
    """The last content of each file, for all threads, up to a total number of characters."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._lock = threading.Lock()

    def put(self, sources: Iterable[Source]) -> None:
        with self._lock:
            for source in sources:
                self._sources.pop(source.label, None)
                self._sources[source.label] = source
            total = sum(len(source.text) for source in self._sources.values())
            while total > _CACHED_CHARACTERS:
                total -= len(self._sources.pop(next(iter(self._sources))).text)

    def same(self, label: str, revision: str) -> Source | None:
        """Return the cached content with that name, if it has that revision."""
        cached = self._sources.get(label)
        return cached if cached and cached.revision == revision else None

    def get(self, files: Iterable[Tracked]) -> dict[str, Source]:
        """Return the cached contents whose revision is the current one."""
        with self._lock:
            cached = [(file, self._sources.get(file.label)) for file in files]
        return {file.label: one for file, one in cached if one and one.revision == file.condition.revision}


def opened(
    workspace: Workspace,
    *,
    base_dir: str | Path | None,
    max_file_size: int | None,
    follow_symlinks: bool | None,
    names: frozenset[str] | None,
) -> Workspace:
    """Return ``workspace``, or a new one if another folder or other rules are wanted."""
    root = workspace.root
    folder = root.path if base_dir is None else _folder(root.path, Path(base_dir))
    follow = root.follow_symlinks if follow_symlinks is None else follow_symlinks
    access = workspace.access
    if max_file_size is not None:
        access = replace(access, max_bytes=max_file_size)
    if names is not None:
        access = replace(access, allowed=frozenset(), also=names)
    if (folder, follow, access) == (root.path, root.follow_symlinks, workspace.access):
        return workspace
    return open_workspace(folder, access, follow_symlinks=follow)


def _folder(root: Path, wanted: Path) -> Path:
    folder = (root / wanted).resolve()
    if not wanted.is_absolute() and not folder.is_relative_to(root):
        raise ConfigError(f"base_dir {str(wanted)!r} leaves the workspace; give a folder inside it, or an absolute one")
    return folder


def names_of(extensions: Iterable[str]) -> frozenset[str]:
    """Return what ``extensions`` allow: ``py`` and ``.py`` are the same extension, ``Dockerfile`` is a whole name."""
    names = frozenset(one for entry in extensions if entry for one in (entry.lower(), f".{entry.lower().lstrip('.')}"))
    if not names:
        raise ConfigError("allowed_extensions is empty, so nothing could be read; leave it out for all text files")
    return names

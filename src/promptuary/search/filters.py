"""Which files pass the filters of a query. Paths are compared here, everything else by the index.

A pattern for paths is a glob, a file, or a folder with everything below it; ``!`` before it excludes. One that begins
with ``/`` is compared with the absolute path of a file, any other with its path relative to the current folder, if that
is known and any file matches there, else to the indexed folder and to the workspace.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from promptuary.base.errors import SourceError
from promptuary.search.index.port import SearchIndex
from promptuary.search.values import Filters
from promptuary.workspace.listing.glob import match_glob

_WILD = re.compile(r"[*?\[\]{}\\]")


def passing_files(filters: Filters, index: SearchIndex) -> Collection[int] | None:
    """Return the numbers of the files that pass the filters; ``None`` means all."""
    if not filters:
        return None
    files = index.select(filters)
    if not filters.paths and not filters.within:
        return {number for number, _, _ in files}
    whole = {number: f"{folder.rstrip('/')}/{path}" for number, folder, path in files}
    short = {number: path for number, _, path in files}

    def named(pattern: str) -> set[int]:
        ways = _readings(pattern, filters)
        return next(filter(None, (_named(short, whole, way) for way in ways)), set())

    included = [pattern for pattern in filters.paths if not pattern.startswith("!")]
    wanted = set().union(*map(named, included)) if included else set(short)
    if filters.within:
        wanted &= set().union(*map(named, filters.within))
    return wanted.difference(*(named(pattern[1:]) for pattern in filters.paths if pattern.startswith("!")))


def from_workspace(filters: Filters, root: str) -> Filters:
    """Return filters whose paths may also be relative to the workspace ``root``, as hits show them."""
    return replace(filters, workspace=root) if filters.paths else filters


def _readings(pattern: str, filters: Filters) -> Iterator[Sequence[str]]:
    """Yield the patterns that ``pattern`` can mean; the first that match any file count, and no others."""
    if pattern.startswith("/"):
        yield [pattern]
        return
    if filters.current_folder:
        yield [_joined(filters.current_folder, pattern)]
    yield [pattern, _joined(filters.workspace, pattern)] if filters.workspace else [pattern]


def _joined(root: str, pattern: str) -> str:
    """Return the pattern below the root; leading ``..`` climb out of it."""
    names = root.strip("/").split("/") if root.strip("/") else []
    rest = pattern.removeprefix("./")
    while rest == ".." or rest.startswith("../"):
        names, rest = names[:-1], rest[3:]
    # The names of the root are not patterns: a wildcard in one of them matches any character instead.
    literal = [_WILD.sub("?", name) for name in names]
    return "/" + "/".join([*literal, rest] if rest else literal)


def _named(short: dict[int, str], whole: dict[int, str], patterns: Sequence[str]) -> set[int]:
    absolute = [pattern.lstrip("/") for pattern in patterns if pattern.startswith("/")]
    relative = [pattern for pattern in patterns if not pattern.startswith("/")]
    found = _matching(short, relative) if relative else set()
    if absolute:
        found |= _matching({number: path.lstrip("/") for number, path in whole.items()}, absolute)
    return found


def _matching(paths: dict[int, str], patterns: Sequence[str]) -> set[int]:
    try:
        matching = set(match_glob(sorted(set(paths.values())), [*_spread(patterns)], []))
    except SourceError as error:
        raise SourceError(error.code, f"the path filter cannot be used: {error.reason}") from error
    return {number for number, path in paths.items() if path in matching}


def _spread(patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns:
        plain = pattern.removeprefix("./").rstrip("/")
        yield plain or "**"
        if plain:
            yield f"{plain}/**"

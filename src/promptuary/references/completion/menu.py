"""The sources of menu items, and how one item is written.

``complete`` decides what to offer; this module builds one item. Nothing here reads a disk: ``CompletionSources`` holds
functions that do, and each of them is optional.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from promptuary.base.errors import SourceError
from promptuary.base.references import KEYWORDS, MenuItem, Sigil, format_reference, quote
from promptuary.base.text import counted, human_size, one_line
from promptuary.references.scan import scan
from promptuary.workspace.disk.root import normalise
from promptuary.workspace.git.repository import CommitLine
from promptuary.workspace.matching.ranker import MatchKind, PathMatch

Rank = Callable[[str, int, Sequence[MatchKind]], Sequence[PathMatch]]
"""Returns the best paths for a query, up to a limit, of these kinds."""

Size = tuple[int, int | None, int | None]
"""Bytes, lines and tokens; lines and tokens are ``None`` for a file that is large or not text."""

HELP: Mapping[str, str] = {
    "file": "a file, or lines of it: @file:src/app.py:10-50",
    "folder": "the tree of a folder",
    "glob": "every file that matches a pattern: @glob:src/**/*.py",
    "diff": "unstaged changes, or those of a path or since a branch: @diff:src, @diff:main",
    "staged": "staged changes, or those of a path: @staged:src",
    "status": "the changed files, as git status lists them",
    "clipboard": "the text that was copied last",
    "git": "the last commits, or a range: @git:3, @git:main..HEAD",
    "commit": "one commit with its changes",
    "url": "a web page",
    "symbol": "a function or class, by name",
    "search": 'the best passages of indexed files: @search:"how do we deploy"',
    "memory": 'notes that answer, or one by its id: @memory:"deploy"',
    "remember": 'write a note: @remember:"always use tabs"',
}
"""Every kind with a one-line explanation, in menu order."""


class NoteLine(Struct, frozen=True):
    """A note in the menu: what to write after ``@memory:``, its title, and a hint."""

    id: str
    title: str
    hint: str


class ResourceLine(Struct, frozen=True):
    """A resource of a server in the menu: what to write after ``@NAME:``, and its name."""

    uri: str
    name: str


class CompletionSources(Struct, frozen=True):
    """The functions that supply the items of a menu, all optional. Only ``allowed`` paths are offered."""

    rank: Rank = lambda _query, _limit, _kinds: ()
    query: Callable[[str], str] = lambda typed: typed
    """Returns the path from the workspace that somebody is typing: ``../RE`` is ``RE`` in a folder of it."""
    spelled: Callable[[str], str] = lambda path: path
    """Returns how a path is written so that it means the same file in the current folder."""
    recent: Callable[[int], Sequence[str]] = lambda _limit: ()
    """Returns files to offer before anything is typed, up to a limit: changed ones, then recently used ones."""
    extensions: Callable[[str], Mapping[str, int]] = lambda _folder: {}
    """Counts the files below a folder (empty, or ending in ``/``) by extension without its dot."""
    commits: Callable[[], Sequence[CommitLine]] = tuple
    branches: Callable[[], Sequence[str]] = tuple
    ancestors: Callable[[], int] = int
    """Returns how many commits back a menu may go: ``HEAD~N``."""
    resources: Callable[[str], Sequence[ResourceLine]] = lambda _server: ()
    """Returns the resources of a server, as far as they are known."""
    symbols: Callable[[str], Sequence[tuple[str, str]]] = lambda _query: ()
    """Returns symbols for a query: what to write after ``@symbol:``, and where it is defined."""
    urls: Callable[[], Sequence[str]] = tuple
    notes: Callable[[], Sequence[NoteLine]] = tuple
    """Returns the notes of the current user, the pinned and newest first."""
    allowed: Callable[[str], bool] = lambda _path: True
    measure: Callable[[str], Size | None] = lambda _path: None
    measuring: float = 0.010
    """Seconds that measuring the items of one menu may take; the remaining ones have no size."""
    scanning: Callable[[], bool] = lambda: False
    kinds: Mapping[str, str] = field(default_factory=lambda: HELP)
    clock: Callable[[], float] = time.perf_counter


def extensions_of(paths: Sequence[str], folder: str = "") -> dict[str, int]:
    """Return how many files below ``folder`` have each extension, the most frequent first."""
    counts: dict[str, int] = {}
    for path in paths:
        if path.startswith(folder):
            stem, dot, extension = path.rpartition("/")[2].rpartition(".")
            if stem and dot and extension:
                counts[extension] = counts.get(extension, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def kind_item(kind: str, explanation: str) -> MenuItem:
    """Return the item of a kind: ``@diff`` for a keyword, ``@file:`` for the others."""
    written = f"@{kind}" if kind in KEYWORDS else f"@{kind}:"
    return MenuItem(written, written, "kind", explanation, ())


def path_items(
    hits: Sequence[PathMatch], spell: Callable[[str, MatchKind], str], sources: CompletionSources, limit: int
) -> list[MenuItem]:
    """Return items for the allowed paths, with sizes as far as ``sources.measuring`` seconds allow."""
    until = sources.clock() + sources.measuring
    items: list[MenuItem] = []
    for hit in hits:
        if len(items) == limit:
            break
        if not offerable(hit.path) or not sources.allowed(hit.path):
            continue
        hint = "folder" if hit.kind == "folder" else ""
        if hit.kind == "file" and sources.clock() < until:
            hint = size_hint(sources.measure(hit.path))
        path = f"{hit.path}/" if hit.kind == "folder" else hit.path
        measured = hit.path if hit.kind == "file" else ""
        items.append(MenuItem(spell(path, hit.kind), one_line(path), hit.kind, hint, _shown(hit), measured))
    return items


def offerable(path: str) -> bool:
    """Return whether ``path`` can be written in a message as it is."""
    try:
        return normalise(path) == path
    except SourceError:
        return False


def _shown(hit: PathMatch) -> tuple[int, ...]:
    """Return the matching offsets; none if the label differs from the path."""
    return hit.positions if one_line(hit.path) == hit.path else ()


def spell_bare(path: str, kind: MatchKind) -> str:
    """Return ``@path``, or ``@file:path`` where the bare form would be read as something else."""
    bare = f"@{path}"
    found = scan(bare)
    whole = len(found) == 1 and found[0].raw == bare and found[0].bare and found[0].value == path
    return bare if whole and quote(path) == path else format_reference(kind, path)


def spell_kind(path: str, kind: MatchKind) -> str:
    """Return ``@file:path`` or ``@folder:path``."""
    return format_reference(kind, path)


def spell_tracked(path: str, _kind: MatchKind) -> str:
    """Return ``#path``, in double quotes if it needs any."""
    bare = f"#{path}"
    found = scan(bare)
    if len(found) == 1 and found[0].raw == bare and quote(path) == path:
        return bare
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'#"{escaped}"'


def spell_value(kind: str, value: str) -> str:
    """Return ``@kind:value``, quoted only if ``scan`` needs it."""
    plain = f"@{kind}:{value}"
    found = scan(plain)
    return (
        plain
        if len(found) == 1 and found[0].raw == plain and found[0].value == value
        else format_reference(kind, value)
    )


SPELLINGS: Mapping[tuple[Sigil, bool], Callable[[str, MatchKind], str]] = {
    ("@", False): spell_bare,
    ("@", True): spell_kind,
    ("#", False): spell_tracked,
}
"""How to write a path, by its sigil and by whether a kind was typed."""


def size_hint(size: Size | None) -> str:
    """Return "4.1 kB · 120 lines · 980 tokens", as much of it as is known."""
    if size is None:
        return ""
    count, lines, tokens = size
    parts = [human_size(count)]
    if lines is not None:
        parts.append(counted(lines, "line"))
    if tokens is not None:
        parts.append(counted(tokens, "token"))
    return " · ".join(parts)

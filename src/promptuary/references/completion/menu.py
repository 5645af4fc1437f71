"""What the menus are made of: the values of a completion, where they come from, how an item is spelled.

``complete`` decides what to offer; this module knows how one offer looks. Nothing here touches a disk:
``CompletionSources`` is handed functions, and every one of them may be missing.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from promptuary.core.errors import SourceError
from promptuary.core.references import KEYWORDS, Sigil, format_reference, quote
from promptuary.core.text import human_size, one_line
from promptuary.references.scan import scan
from promptuary.workspace.disk.root import normalise
from promptuary.workspace.git.repository import CommitLine
from promptuary.workspace.matching.ranker import MatchKind, PathMatch

Rank = Callable[[str, int, Sequence[MatchKind]], Sequence[PathMatch]]
"""The best paths of these kinds for a query, at most so many."""

Size = tuple[int, int | None, int | None]
"""Bytes, lines, tokens; of a large file only the bytes."""

HELP: Mapping[str, str] = {
    "file": "a file, or lines of it: @file:src/app.py:10-50",
    "folder": "what a folder holds",
    "glob": "every file that matches a pattern: @glob:src/**/*.py",
    "diff": "what is changed and not staged",
    "staged": "what is staged for the next commit",
    "status": "which files are changed",
    "git": "the last commits or a range: @git:3, @git:main..HEAD",
    "commit": "one commit with its changes",
    "url": "a page of the web",
    "symbol": "a function or class by its name",
    "search": 'the best places in what is indexed: @search:"how do we deploy"',
    "memory": 'the best places in what is remembered: @memory:"deploy"',
}
"""Every kind with one line of explanation, in the order of the menu."""


@dataclass(frozen=True, slots=True)
class Item:
    """One offer: ``insert`` replaces the token being typed; ``matches`` are offsets in ``label``."""

    insert: str
    label: str
    kind: str
    hint: str = ""
    matches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """What to offer at the end of a text, in place of the text from ``start`` on."""

    start: int
    prefix: str
    items: tuple[Item, ...] = ()
    scanning: bool = False


@dataclass(frozen=True, slots=True)
class CompletionSources:
    """Where offers come from. ``allowed`` has the last word on every path."""

    rank: Rank = lambda _query, _limit, _kinds: ()
    recent: Callable[[], Sequence[str]] = tuple
    """Files worth offering before anything is typed: changed ones, then those used lately."""
    extensions: Callable[[str], Mapping[str, int]] = lambda _folder: {}
    """How many files of each extension, without its dot, lie below a folder (empty, or ending in ``/``)."""
    commits: Callable[[], Sequence[CommitLine]] = tuple
    branches: Callable[[], Sequence[str]] = tuple
    symbols: Callable[[str], Sequence[tuple[str, str]]] = lambda _query: ()
    """Symbols for a query: what to write after ``@symbol:``, and where it is."""
    urls: Callable[[], Sequence[str]] = tuple
    allowed: Callable[[str], bool] = lambda _path: True
    measure: Callable[[str], Size | None] = lambda _path: None
    measuring: float = 0.010
    """Seconds that measuring the offers of one menu may take; the others go without."""
    scanning: Callable[[], bool] = lambda: False
    kinds: Mapping[str, str] = field(default_factory=lambda: HELP)
    clock: Callable[[], float] = time.perf_counter


def extensions_of(paths: Sequence[str], folder: str = "") -> dict[str, int]:
    """Count the extensions of the files below ``folder``, the commonest first."""
    counts: dict[str, int] = {}
    for path in paths:
        if path.startswith(folder):
            stem, dot, extension = path.rpartition("/")[2].rpartition(".")
            if stem and dot and extension:
                counts[extension] = counts.get(extension, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def kind_item(kind: str, explanation: str) -> Item:
    """Return the offer of a kind: a keyword whole, another up to its colon."""
    written = f"@{kind}" if kind in KEYWORDS else f"@{kind}:"
    return Item(written, written, "kind", explanation, ())


def path_items(
    hits: Sequence[PathMatch], spell: Callable[[str, MatchKind], str], sources: CompletionSources, limit: int
) -> list[Item]:
    """Return offers for the paths that may be offered, measured as long as that takes no time to speak of."""
    until = sources.clock() + sources.measuring
    items: list[Item] = []
    for hit in hits:
        if len(items) == limit:
            break
        if not offerable(hit.path) or not sources.allowed(hit.path):
            continue
        hint = "folder" if hit.kind == "folder" else ""
        if hit.kind == "file" and sources.clock() < until:
            hint = size_hint(sources.measure(hit.path))
        path = f"{hit.path}/" if hit.kind == "folder" else hit.path
        items.append(Item(spell(path, hit.kind), one_line(path), hit.kind, hint, _shown(hit)))
    return items


def offerable(path: str) -> bool:
    """Return whether ``path`` can be written in a message and found again."""
    try:
        return normalise(path) == path
    except SourceError:
        return False


def _shown(hit: PathMatch) -> tuple[int, ...]:
    """Offsets hold only if the label is the path letter by letter."""
    return hit.positions if one_line(hit.path) == hit.path else ()


def spell_bare(path: str, kind: MatchKind) -> str:
    """Return ``@path``, or the canonical form where the bare one would be read as something else."""
    bare = f"@{path}"
    found = scan(bare)
    whole = len(found) == 1 and found[0].raw == bare and found[0].bare and found[0].value == path
    return bare if whole and quote(path) == path else format_reference(kind, path)


def spell_kind(path: str, kind: MatchKind) -> str:
    """Return ``@file:path`` or ``@folder:path``."""
    return format_reference(kind, path)


def spell_tracked(path: str, _kind: MatchKind) -> str:
    """Return ``#path``, quoted in the one way that a tracked path can be."""
    bare = f"#{path}"
    found = scan(bare)
    if len(found) == 1 and found[0].raw == bare and quote(path) == path:
        return bare
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'#"{escaped}"'


def spell_value(kind: str, value: str) -> str:
    """Return ``@kind:value`` as a person would write it, in quotes only if the scanner needs them."""
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
"""How a path is written, by its sigil and whether a kind was."""


def size_hint(size: Size | None) -> str:
    """Return "4.1 kB · 120 lines · 980 tokens", as much of it as is known."""
    if size is None:
        return ""
    count, lines, tokens = size
    parts = [human_size(count)]
    if lines is not None:
        parts.append(f"{lines:,} line{'' if lines == 1 else 's'}")
    if tokens is not None:
        parts.append(f"{tokens:,} token{'' if tokens == 1 else 's'}")
    return " · ".join(parts)

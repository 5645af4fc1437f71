"""``@folder:path``: a tree with sizes, lines and tokens; ``@folder:path:contents``: the files themselves.

Ignored files are left out. Files that the read policy refuses are listed and marked, never read.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from promptuary.core.blocks import Source
from promptuary.core.errors import SourceError
from promptuary.core.references import Reference, format_reference
from promptuary.core.text import human_size, one_line
from promptuary.references.completion.menu import size_hint
from promptuary.references.kinds.glob import read_many
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.selection import count_lines

_CONTENTS = ":contents"
_MEASURED_FILES = 1_000
_MEASURING_SECONDS = 2.0
_WIDTHS = (200, 50, 15)


@dataclass(slots=True)
class Node:
    """A folder of the tree: its files with their remarks, its folders, and the totals."""

    files: dict[str, str] = field(default_factory=dict)
    folders: "dict[str, Node]" = field(default_factory=dict)
    count: int = 0
    size: int = 0
    tokens: int = 0
    uncounted: int = 0


def resolve(reference: Reference, context: ResolveContext) -> Sequence[Source]:
    """Return the tree of a folder or, with ``:contents``, the files in it."""
    path, contents = reference.value, reference.suffix == _CONTENTS
    if not contents and path.endswith(_CONTENTS) and context.workspace.kind_of(path) is None:
        path, contents = path.removesuffix(_CONTENTS), True
    folder = context.workspace.folder(path)
    paths = context.workspace.files_below(folder)
    return read_many(paths, context, f"{folder or '.'}/") if contents else [_tree_source(folder, paths, context)]


def _tree_source(folder: str, paths: Sequence[str], context: ResolveContext) -> Source:
    top = Node()
    prefix = f"{folder}/" if folder else ""
    until = time.monotonic() + _MEASURING_SECONDS
    unmeasured = 0
    for index, path in enumerate(paths):
        in_time = index < _MEASURED_FILES and time.monotonic() < until
        unmeasured += not in_time
        leaf = _measured(path, context) if in_time else _sized(path, context)
        _plant(top, path.removeprefix(prefix).split("/"), leaf)
    text = draw(top, f"{folder or '.'}/")
    notes = (f"{unmeasured:,} files show their size only: too many to count lines and tokens",) if unmeasured else ()
    return Source(
        key=f"folder:{folder}",
        label=f"{folder or '.'}/",
        kind="folder",
        text=text,
        revision=sha256(text.encode("utf-8", "replace")).hexdigest(),
        facts=(_total(top),),
        notes=notes,
        outlines=lambda: _folded(top, f"{folder or '.'}/"),
        read_on=f"ask for a folder below it, or its contents: {format_reference('folder', folder or '.', _CONTENTS)}",
    )


@dataclass(frozen=True, slots=True)
class Leaf:
    """A file of the tree; ``tokens`` is ``None`` if it was not read."""

    size: int
    tokens: int | None
    remark: str


def _measured(path: str, context: ResolveContext) -> Leaf:
    try:
        file = context.workspace.read(path)
    except SourceError as error:
        size = context.workspace.size_of(path) or 0
        return Leaf(size, 0, f"{human_size(size)} · not readable: {error.code}")
    lines, tokens = count_lines(file.text), context.counter.count(file.text)
    return Leaf(file.size, tokens, size_hint((file.size, lines, tokens)))


def _sized(path: str, context: ResolveContext) -> Leaf:
    size = context.workspace.size_of(path) or 0
    return Leaf(size, None, human_size(size))


def _plant(node: Node, parts: Sequence[str], leaf: Leaf) -> None:
    for part in parts[:-1]:
        _grow(node, leaf)
        node = node.folders.setdefault(part, Node())
    _grow(node, leaf)
    node.files[parts[-1]] = leaf.remark


def _grow(node: Node, leaf: Leaf) -> None:
    node.count += 1
    node.size += leaf.size
    node.tokens += leaf.tokens or 0
    node.uncounted += leaf.tokens is None


def _folded(top: Node, title: str) -> list[str]:
    """Return ever smaller trees: first long folders are cut, then deep ones are folded."""
    cut_short = [draw(top, title, width=width) for width in _WIDTHS]
    return cut_short + [draw(top, title, depth, _WIDTHS[-1]) for depth in range(_depth(top) - 1, -1, -1)]


def draw(node: Node, title: str, depth: int | None = None, width: int | None = None) -> str:
    """Return the tree as text.

    Folders deeper than ``depth`` levels are folded into one line with their totals; a folder shows at most ``width``
    entries.
    """
    lines = [f"{one_line(title)}  ({_total(node)})"]
    _draw_below(node, "", depth, width, lines)
    return "\n".join(lines) + "\n"


def _draw_below(node: Node, indent: str, depth: int | None, width: int | None, lines: list[str]) -> None:
    entries = sorted([*node.folders, *node.files], key=lambda name: (name.casefold(), name))
    hidden = entries[width:] if width is not None else []
    for name in entries[:width]:
        last = name == entries[-1]
        branch = "└── " if last else "├── "
        if name in node.files:
            lines.append(f"{indent}{branch}{one_line(name)}  {node.files[name]}")
            continue
        inner = node.folders[name]
        lines.append(f"{indent}{branch}{one_line(name)}/  ({_total(inner)})")
        if depth is None or depth > 0:
            below = indent + ("    " if last else "│   ")
            _draw_below(inner, below, None if depth is None else depth - 1, width, lines)
    if hidden:
        lines.append(f"{indent}└── … {len(hidden):,} more")


def _depth(node: Node) -> int:
    return 1 + max((_depth(inner) for inner in node.folders.values()), default=0)


def _total(node: Node) -> str:
    if not node.count:
        return "no files"
    tokens = f"{node.tokens:,}{'+' * bool(node.uncounted)} tokens"
    return f"{node.count:,} file{'s' * (node.count != 1)}, {human_size(node.size)}, {tokens}"

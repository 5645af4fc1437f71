"""``@folder:path``: a tree with sizes, lines and tokens; ``@folder:path:contents``: what is in the files.

The tree shows what is not ignored. Files that policy refuses are named and marked, never read.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from promptuary.core.blocks import Source
from promptuary.core.errors import SourceError
from promptuary.core.references import Reference, format_reference
from promptuary.references.desk import Desk
from promptuary.references.kinds.glob import read_many
from promptuary.references.selection import count_lines

_CONTENTS = ":contents"
_MEASURED_FILES = 1_000
_MEASURING_SECONDS = 2.0
_UNITS = ("B", "kB", "MB", "GB")


@dataclass(slots=True)
class Node:
    """A folder of the tree: its files with their remarks, its folders, and what all of it amounts to."""

    files: dict[str, str] = field(default_factory=dict)
    folders: "dict[str, Node]" = field(default_factory=dict)
    count: int = 0
    size: int = 0
    tokens: int = 0


def resolve(reference: Reference, desk: Desk) -> Sequence[Source]:
    """Return the tree of a folder, or the files in it if their contents are asked for."""
    path, contents = reference.value, reference.suffix == _CONTENTS
    if not contents and path.endswith(_CONTENTS) and desk.workspace.kind_of(path) is None:
        path, contents = path.removesuffix(_CONTENTS), True
    folder = desk.workspace.folder(path)
    paths = desk.workspace.files_below(folder)
    return read_many(paths, desk, f"{folder or '.'}/") if contents else [_tree_source(folder, paths, desk)]


def _tree_source(folder: str, paths: Sequence[str], desk: Desk) -> Source:
    top = Node()
    prefix = f"{folder}/" if folder else ""
    until = time.monotonic() + _MEASURING_SECONDS
    unmeasured = 0
    for index, path in enumerate(paths):
        in_time = index < _MEASURED_FILES and time.monotonic() < until
        unmeasured += not in_time
        size, tokens, remark = _measure(path, desk) if in_time else _size_only(path, desk)
        _plant(top, path.removeprefix(prefix).split("/"), size, tokens, remark)
    text = draw(top, f"{folder or '.'}/")
    notes = (f"sizes only for {unmeasured:,} files: lines and tokens of the others were counted",) if unmeasured else ()
    return Source(
        key=f"folder:{folder}",
        label=f"{folder or '.'}/",
        kind="folder",
        text=text,
        revision=sha256(text.encode("utf-8", "replace")).hexdigest(),
        facts=(_total(top),),
        notes=notes,
        outlines=lambda: [draw(top, f"{folder or '.'}/", depth) for depth in range(_depth(top) - 1, -1, -1)],
        read_on=f"ask for a folder below it; its contents: {format_reference('folder', folder or '.', _CONTENTS)}",
    )


def _measure(path: str, desk: Desk) -> tuple[int, int, str]:
    try:
        file = desk.workspace.read(path)
    except SourceError as error:
        size = desk.workspace.size_of(path) or 0
        return size, 0, f"{_size(size)} · not readable: {error.code}"
    lines, tokens = count_lines(file.text), desk.counter.count(file.text)
    return file.size, tokens, f"{lines:,} line{'s' * (lines != 1)} · {_size(file.size)} · {tokens:,} tokens"


def _size_only(path: str, desk: Desk) -> tuple[int, int, str]:
    size = desk.workspace.size_of(path) or 0
    return size, 0, _size(size)


def _plant(node: Node, parts: Sequence[str], size: int, tokens: int, remark: str) -> None:
    for part in parts[:-1]:
        _grow(node, size, tokens)
        node = node.folders.setdefault(part, Node())
    _grow(node, size, tokens)
    node.files[parts[-1]] = remark


def _grow(node: Node, size: int, tokens: int) -> None:
    node.count += 1
    node.size += size
    node.tokens += tokens


def draw(node: Node, title: str, depth: int | None = None) -> str:
    """Return the tree as text; folders below ``depth`` levels are folded into one line with their totals."""
    lines = [f"{title}  ({_total(node)})"]
    _draw_below(node, "", depth, lines)
    return "\n".join(lines) + "\n"


def _draw_below(node: Node, indent: str, depth: int | None, lines: list[str]) -> None:
    entries = sorted([*node.folders, *node.files], key=lambda name: (name.casefold(), name))
    for index, name in enumerate(entries):
        last = index == len(entries) - 1
        branch = "└── " if last else "├── "
        if name in node.files:
            lines.append(f"{indent}{branch}{name}  {node.files[name]}")
            continue
        inner = node.folders[name]
        lines.append(f"{indent}{branch}{name}/  ({_total(inner)})")
        if depth is None or depth > 0:
            _draw_below(inner, indent + ("    " if last else "│   "), None if depth is None else depth - 1, lines)


def _depth(node: Node) -> int:
    return 1 + max((_depth(inner) for inner in node.folders.values()), default=0)


def _total(node: Node) -> str:
    files = f"{node.count:,} file{'s' * (node.count != 1)}"
    return f"{files}, {_size(node.size)}, {node.tokens:,} tokens" if node.count else "no files"


def _size(count: int) -> str:
    amount, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"

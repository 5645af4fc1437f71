"""``@folder:path``: a tree with sizes, lines and tokens; ``@folder:path:contents``: the files themselves.

Ignored files are left out. Files that the read policy refuses are listed and marked, never read.
"""

import time
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct, field

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, SourceError
from promptuary.base.references import Reference, format_reference
from promptuary.base.text import human_size, without_forged_masks
from promptuary.references.completion.menu import size_hint
from promptuary.references.kinds.glob import read_many
from promptuary.references.locate import CONTENTS
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.selection import count_lines
from promptuary.references.shorten.tree import Leaf, Tree
from promptuary.workspace.documents.names import needs_program

_MEASURED_BYTES = 16 * 1024 * 1024
_MEASURING_SECONDS = 3.0
_ESTIMATING_SECONDS = 3.0
"""How long sizes are looked up after that; of further files only the names are known."""
_NOT_SIZED = Leaf(0, 0, "", exact=False, sized=False)
_USUAL_BYTES_A_TOKEN = 4


def resolve(reference: Reference, context: ResolveContext) -> Sequence[Source]:
    """Return the tree of a folder or, with ``:contents``, the files in it."""
    contents = reference.suffix == CONTENTS
    folder = context.workspace.folder(reference.value)
    paths = context.workspace.files_below(folder)
    return read_many(paths, context, f"{folder or '.'}/") if contents else [_tree_source(folder, paths, context)]


def _tree_source(folder: str, paths: Sequence[str], context: ResolveContext) -> Source:
    title = f"{folder or '.'}/"
    prefix = f"{folder}/" if folder else ""
    leaves, estimated = _leaves(paths, context)
    tree = Tree(title, [(without_forged_masks(path.removeprefix(prefix)), leaves[path]) for path in paths])
    text = tree.whole()
    notes = [f"~: the tokens of {estimated:,} files are estimated from their sizes"] if estimated else []
    if unsized := sum(not leaf.sized for leaf in leaves.values()):
        notes.append(f"the sizes of {unsized:,} files were not looked up: there are too many")
    if tree.unnamed:
        notes.append(f"{tree.unnamed:,} files are counted and not named: name a folder below")
    if not context.workspace.listing.complete:
        notes.append("there are more files than could be listed in time")
    return Source(
        key=f"folder:{folder}",
        label=title,
        kind="folder",
        text=text,
        revision=sha256(text.encode("utf-8", "replace")).hexdigest(),
        facts=(tree.total,),
        notes=tuple(notes),
        partial=tree.unnamed > 0,
        outlines=tree.forms,
        read_on=f"ask for a folder below it, or its contents: {format_reference('folder', folder or '.', CONTENTS)}",
    )


def _leaves(paths: Sequence[str], context: ResolveContext) -> tuple[dict[str, Leaf], int]:
    """Return each file with its tokens, and for how many files they are estimated.

    Files near the top are read and counted, up to a number of bytes; the others are estimated from files with the same
    extension.
    """
    leaves: dict[str, Leaf] = {}
    costs = _Costs()
    until = time.monotonic() + _MEASURING_SECONDS
    estimated = 0
    for path in sorted(paths, key=lambda path: path.count("/")):
        if costs.size < _MEASURED_BYTES and time.monotonic() < until:
            leaves[path] = _measured(path, context)
            costs.learn(path, leaves[path])
        elif time.monotonic() < until + _ESTIMATING_SECONDS:
            leaves[path] = _estimated(path, context, costs)
            estimated += not leaves[path].exact
        else:
            leaves[path] = _NOT_SIZED
    return leaves, estimated


class _Costs(Struct):
    """The counts so far: bytes and tokens, by extension and in total."""

    by_extension: dict[str, tuple[int, int]] = field(default_factory=dict)
    size: int = 0
    tokens: int = 0

    def learn(self, path: str, leaf: Leaf) -> None:
        """Add a file that was counted."""
        if leaf.tokens:
            size, tokens = self.by_extension.get(_extension(path), (0, 0))
            self.by_extension[_extension(path)] = (size + leaf.size, tokens + leaf.tokens)
            self.size += leaf.size
            self.tokens += leaf.tokens

    def of(self, path: str, size: int) -> int:
        """Return the estimated cost of a file of that size."""
        known, tokens = self.by_extension.get(_extension(path)) or (self.size, self.tokens)
        return round(size * tokens / known) if known else size // _USUAL_BYTES_A_TOKEN


def _extension(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]


def _measured(path: str, context: ResolveContext) -> Leaf:
    if needs_program(path) and context.workspace.access.refusal("read", path) is None:
        return _unmeasured(path, context)
    try:
        file = context.workspace.read(path)
    except SourceError as error:
        return _not_readable(context.workspace.size_of(path) or 0, error.code)
    lines, tokens = count_lines(file.text), context.counter.count(file.text)
    return Leaf(file.size, tokens, size_hint((file.size, lines, tokens)))


def _estimated(path: str, context: ResolveContext, costs: _Costs) -> Leaf:
    size = context.workspace.size_of(path) or 0
    refusal = context.workspace.access.refusal("read", path)
    if needs_program(path) and refusal is None:
        return _unmeasured(path, context)
    if refusal or size > context.workspace.access.max_bytes:
        return _not_readable(size, refusal.code if refusal else Code.FILE_TOO_LARGE)
    tokens = costs.of(path, size)
    return Leaf(size, tokens, f"{human_size(size)} · ~{tokens:,} tokens", exact=False)


def _unmeasured(path: str, context: ResolveContext) -> Leaf:
    """Return a document: converting each to count its tokens would take too long."""
    size = context.workspace.size_of(path) or 0
    return Leaf(size, 0, f"{human_size(size)} · tokens not counted")


def _not_readable(size: int, code: Code) -> Leaf:
    return Leaf(size, 0, f"{human_size(size)} · not readable: {code}", mark="not readable")

"""The definitions in the languages that tree-sitter parses.

Tree-sitter takes quadratic time for some texts, so it is stopped after a time that grows with the length of the text.
The walk over the tree is linear: it asks a node for its children once, never for its siblings or its parent.
"""

import importlib
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from promptuary.search.outline.definition import Definition
from promptuary.search.outline.node_names import ABOVE, FUNCTIONS, WRAPPERS, Named, names_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

_LEAST_SECONDS: Final = 0.5
_SECONDS_A_BYTE: Final = 4e-6
"""How much processor time tree-sitter gets. Ordinary code needs less than a tenth."""

_READ: Final = 256
"""Bytes that tree-sitter reads at a time; it can be stopped only when it reads."""

_MOST_OPEN: Final = 1_000
"""Brackets that may be open at once. At the end of a text with many open ones, tree-sitter takes memory in proportion
to the square of their number (2 GB for 12,000 of them in Rust), and it cannot be stopped there. Brackets in comments
and strings are counted, too: this rejects broken and crude texts, not every text made to exploit it."""

_NOT_BRACKETS: Final = bytes(set(range(256)).difference(b"([{}])"))

_LONGEST_HEAD: Final = 400
_DEEPEST: Final = 64
"""Definitions nested deeper than this are left out: the name of each contains those of all around it."""

_MODULES = {
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
GRAMMARS = frozenset(_MODULES)
"""Languages that the ``languages`` extra can outline."""


def has_tree(language: str) -> bool:
    """Return whether the grammar of ``language`` is installed."""
    return _grammar(language) is not None


def tree_definitions(text: str, language: str) -> Iterator[Definition] | None:
    """Return the definitions of ``text`` in order; ``None`` if parsing takes too long."""
    grammar = _grammar(language)
    if grammar is None:
        return iter(())
    data = text.encode("utf-8", "replace")
    tree = _parsed(data, grammar) if _most_open(data) <= _MOST_OPEN else None
    return None if tree is None else _walk(tree, data)


@lru_cache(maxsize=len(_MODULES))
def _grammar(language: str) -> "Language | None":
    try:
        from tree_sitter import Language  # noqa: PLC0415  (an optional extra)

        module, function = _MODULES[language]
        return Language(getattr(importlib.import_module(module), function)())
    except ImportError:
        return None


def _most_open(data: bytes) -> int:
    """Return how many brackets are open at most at one place of ``data``."""
    most = depth = 0
    for bracket in data.translate(None, _NOT_BRACKETS):
        if bracket in b"([{":
            depth += 1
            most = max(most, depth)
        else:
            depth = max(depth - 1, 0)
    return most


def _parsed(data: bytes, grammar: "Language") -> "Tree | None":
    """Return the syntax tree of ``data``; ``None`` if that takes too long.

    The parser reads in small pieces, also when it goes back; once its time is up, it finds the end of the text.
    """
    from tree_sitter import Parser  # noqa: PLC0415  (an optional extra)

    until = time.thread_time() + _LEAST_SECONDS + len(data) * _SECONDS_A_BYTE
    stopped = False

    def read(offset: int, _: object) -> bytes:
        nonlocal stopped
        stopped = stopped or time.thread_time() > until
        return b"" if stopped else data[offset : offset + _READ]

    tree = Parser(grammar).parse(read)
    return None if stopped else tree


_ENDS_AT = {"type_spec": "{", "class": "\n", "module": "\n"}
"""The nodes that end the signature of a node whose body is not a field of it, or does not follow directly."""


class _Place(NamedTuple):
    """A node during the walk. ``outer`` is the whole statement, if this is its only definition.

    ``above`` is the row where the comments and attributes above ``outer`` begin. ``settled``: it is not inside a
    function, so its names can be referred to from elsewhere.
    """

    node: "Node"
    outer: "Node"
    parent: str
    above: int
    prefix: str = ""
    depth: int = 0
    settled: bool = True


def _walk(tree: "Tree", data: bytes) -> Iterator[Definition]:
    root = tree.root_node
    stack = [_Place(root, root, "", root.start_point[0])]
    while stack:
        place = stack.pop()
        prefix, depth = place.prefix, place.depth
        for named in names_of(place.node, place.parent, data):
            if named.role != "definition" and not place.settled:
                continue
            yield _definition(place, named, data)
            if named.role == "definition":
                prefix, depth = f"{place.prefix}{named.name}.", place.depth + 1
        if depth < _DEEPEST:
            stack.extend(reversed(_children(place, prefix, depth)))


def _children(place: _Place, prefix: str, depth: int) -> list[_Place]:
    """Return the children of a node, each with the row where the comments and attributes above it begin."""
    node = place.node
    children = node.named_children
    alone = node.type in WRAPPERS and _is_alone(node.type, children)
    settled = place.settled and node.type not in FUNCTIONS
    places = []
    # A comment after something on the same row belongs to that; before the first row there is nothing.
    row_before = node.start_point[0] if children and children[0].start_byte > node.start_byte else -1
    run: int | None = None  # where the comments and attributes right above begin
    for child in children:
        first, end = child.start_point[0], _last_row(child)
        if child.type in ABOVE:
            if run is None or first > row_before + 1:
                run = first if first > row_before else None
            row_before = max(end, row_before)
            continue
        above = run if run is not None and first <= row_before + 1 else first
        if child.start_byte == node.start_byte or (node.type in WRAPPERS and first == node.start_point[0]):
            above = min(above, place.above)
        if alone:
            places.append(_Place(child, place.outer, node.type, place.above, prefix, depth, settled))
        else:
            places.append(_Place(child, child, node.type, above, prefix, depth, settled))
        run, row_before = None, end
    return places


def _is_alone(kind: str, children: "Sequence[Node]") -> bool:
    """Return whether a statement has one definition, or makes no sense in parts: then it is shown whole for each."""
    if WRAPPERS[kind] or sum(child.type not in ABOVE for child in children) == 1:
        return True
    # Go continues counting from the constant above if none has a value.
    return kind == "const_declaration" and any(
        child.type == "const_spec" and child.child_by_field_name("value") is None for child in children
    )


def _last_row(node: "Node") -> int:
    """Return the last row that a node has text on: some comments include the line feed."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _definition(place: _Place, named: Named, data: bytes) -> Definition:
    node = place.node
    body = node.child_by_field_name("body")
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if body is None and value is not None:
        body = value.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    head = data[node.start_byte : min(end, node.start_byte + _LONGEST_HEAD)].decode("utf-8", "replace")
    if node.type in _ENDS_AT:
        head = head.partition(_ENDS_AT[node.type])[0]
    signature = " ".join(head.split()).rstrip("{ ")
    first, last = place.outer.start_point[0] + 1, _last_row(place.outer) + 1
    return Definition(place.prefix + named.name, signature, first, last, place.depth, place.above + 1, named.role)

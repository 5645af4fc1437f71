"""The definitions in a source text: functions, classes, headings.

Python is parsed by ``ast``, Markdown by its headings, other languages by tree-sitter if the ``languages`` extra is
installed. A text that does not parse has no definitions; this is not an error. Tree-sitter takes quadratic time for
some texts, so it stops after a time that grows with the length of the text; everything else is linear.
"""

import ast
import importlib
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition. ``name`` is qualified (``Class.method``); ``first`` and ``last`` are line numbers, from 1 on."""

    name: str
    signature: str
    first: int
    last: int
    depth: int


# The parser reports invalid escapes through the warnings module, whose filters are global: one parse at a time, and the
# filters are restored.
_PARSING = threading.Lock()

_HEADING = re.compile(r"(#{1,6})[ \t]")

_LEAST_SECONDS: Final = 0.5
_SECONDS_A_BYTE: Final = 4e-6
"""How much processor time tree-sitter gets. Ordinary code needs less than a tenth."""

_READ: Final = 256
"""Bytes that tree-sitter reads at a time; it can be stopped only when it reads."""

_MOST_OPEN: Final = 1_000
"""Brackets that may be open at once. At the end of a text with many open ones, tree-sitter takes memory in proportion
to the square of their number (2 GB for 12,000 of them in Rust), and it cannot be stopped there. Brackets in comments
and strings are counted, too: this keeps out what is broken and what is crude, not every text that is made for it."""

_NOT_BRACKETS: Final = bytes(set(range(256)).difference(b"([{}])"))

_LONGEST_NAME: Final = 1_000
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

# The nodes that define a name, in all of the grammars above.
_DEFINING = frozenset(
    [
        "function_declaration",
        "generator_function_declaration",
        "class_declaration",
        "abstract_class_declaration",
        "method_definition",
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
        "internal_module",
        "method_declaration",
        "type_spec",
        "function_item",
        "struct_item",
        "enum_item",
        "trait_item",
        "impl_item",
        "mod_item",
        "type_item",
        "macro_definition",
        "constructor_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "function_definition",
        "struct_specifier",
        "class_specifier",
        "enum_specifier",
        "namespace_definition",
        "method",
        "singleton_method",
        "class",
        "module",
        "variable_declarator",
        "public_field_definition",
    ]
)
_ONLY_IF_FUNCTION = frozenset({"variable_declarator", "public_field_definition"})
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "function", "generator_function"})


def definitions(text: str, language: str, on_slow: Callable[[], None] = lambda: None) -> tuple[Definition, ...]:
    """Return the definitions of ``text`` in order; none if the language is unknown or the text does not parse.

    There are none either if parsing takes too long; then ``on_slow`` is called.
    """
    if language == "python":
        return tuple(_python(text))
    if language == "markdown":
        return tuple(_markdown(text))
    if language in GRAMMARS and (grammar := _grammar(language)):
        data = text.encode("utf-8", "replace")
        tree = _parsed(data, grammar) if _most_open(data) <= _MOST_OPEN else None
        if tree is not None:
            return tuple(_tree(tree, data))
        on_slow()
    return ()


def has_grammar(language: str) -> bool:
    """Return whether definitions of ``language`` can be found with what is installed."""
    return language in {"python", "markdown"} or (language in GRAMMARS and _grammar(language) is not None)


def outline(text: str, language: str) -> str | None:
    """Return the signatures of ``text`` with their line numbers, or ``None`` if it defines nothing."""
    return "".join(signature_lines(definitions(text, language))) or None


def signature_lines(found: Sequence[Definition]) -> list[str]:
    """Return a line for each definition: the number of its first line, and its signature."""
    width = max((len(str(one.first)) for one in found), default=0)
    return [f"{one.first:>{width}}  {'    ' * one.depth}{one.signature}\n" for one in found]


def _python(text: str) -> Iterator[Definition]:
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.split("\n")
    stack: list[tuple[ast.AST, str, int]] = [(module, "", 0)]
    while stack:
        parent, prefix, depth = stack.pop()
        inner: list[tuple[ast.AST, str, int]] = []
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if isinstance(node, (ast.If, ast.Try, ast.With)):
                    inner.append((node, prefix, depth))
                continue
            inner.append((node, f"{prefix}{node.name}.", depth + 1))
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([parent.lineno, *(one.lineno for one in parent.decorator_list)])
            signature = _python_signature(lines, parent)
            yield Definition(prefix[:-1], signature, first, parent.end_lineno or first, depth - 1)
        stack.extend(reversed(inner))


def _python_signature(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    body = node.body[0]
    last = max(node.lineno, min(body.lineno - 1, node.lineno + 12)) if body.lineno > node.lineno else node.lineno
    head = " ".join(line.strip() for line in lines[node.lineno - 1 : last])
    head = re.split(r":\s*(?:#.*|\"\"\".*|'''.*|\.\.\.)?$", head, maxsplit=1)[0]
    return head.replace("( ", "(").replace(", )", ")").replace(" )", ")")


def _markdown(text: str) -> Iterator[Definition]:
    lines = text.split("\n")
    headings, fenced = [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip(" \t").startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (found := _HEADING.match(line)):
            headings.append((number, found[1], line[found.end() :].lstrip(" \t").rstrip(" \t#")))
    ends = _section_ends([(number, len(marks)) for number, marks, _ in headings], len(lines))
    for (number, marks, title), end in zip(headings, ends, strict=True):
        yield Definition(title, f"{marks} {title}", number, end, 0)


def _section_ends(headings: list[tuple[int, int]], total: int) -> list[int]:
    """Return the last line of each section; headings are line numbers and levels."""
    ends = []
    following = [total + 1] * 7  # by level: the next heading of this level or a higher one
    for number, level in reversed(headings):
        ends.append(following[level] - 1)
        following[level:] = [number] * (7 - level)
    return ends[::-1]


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


def _tree(tree: "Tree", data: bytes) -> Iterator[Definition]:
    stack: list[tuple[Node, str, int]] = [(tree.root_node, "", 0)]
    while stack:
        node, prefix, depth = stack.pop()
        name = _name(node, data)
        if name:
            name = _receiver(node, data) + name
            yield _definition(node, prefix + name, data, depth)
            prefix, depth = f"{prefix}{name}.", depth + 1
        if depth < _DEEPEST:
            stack.extend((child, prefix, depth) for child in reversed(node.named_children))


def _text(node: "Node", data: bytes) -> str:
    return data[node.start_byte : min(node.end_byte, node.start_byte + _LONGEST_NAME)].decode("utf-8", "replace")


def _name(node: "Node", data: bytes) -> str:
    """Return the name that ``node`` defines, or an empty text."""
    if node.type not in _DEFINING:
        return ""
    if node.type in _ONLY_IF_FUNCTION:
        value = node.child_by_field_name("value")
        if value is None or value.type not in _FUNCTION_VALUES:
            return ""
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return ""  # uses the type, does not define it
    found = node.child_by_field_name("name") or node.child_by_field_name("type" if node.type == "impl_item" else "name")
    declarator = node.child_by_field_name("declarator")
    while found is None and declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            found = declarator
        declarator = inner
    return _text(found, data) if found is not None else ""


def _receiver(node: "Node", data: bytes) -> str:
    """Return ``Type.`` for a Go method, which is written outside its type."""
    receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    text = _text(receiver, data) if receiver is not None else ""
    words = re.findall(r"\w+", text.partition("[")[0])
    return f"{words[-1]}." if words else ""


def _definition(node: "Node", name: str, data: bytes, depth: int) -> Definition:
    body = node.child_by_field_name("body")
    value = node.child_by_field_name("value")
    if body is None and value is not None:
        body = value.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    head = data[node.start_byte : min(end, node.start_byte + 400)].decode("utf-8", "replace")
    signature = " ".join(head.split()).rstrip("{ ")
    outer = node.parent if node.parent is not None and node.parent.type in _WRAPPERS else node
    return Definition(name, signature, outer.start_point[0] + 1, outer.end_point[0] + 1, depth)


_WRAPPERS = frozenset({"export_statement", "lexical_declaration", "type_declaration", "decorated_definition"})

"""The definitions in Python, by ``ast``."""

import ast
import re
import threading
import warnings
from collections.abc import Iterator, Sequence

from promptuary.search.outline.definition import Definition

# The parser reports invalid escapes through the warnings module, whose filters are global: one parse at a time, and the
# filters are restored.
_PARSING = threading.Lock()

_Defining = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Branch = ast.If | ast.Try | ast.With


def python_definitions(text: str) -> Iterator[Definition]:
    """Yield the functions, classes and constants of ``text`` in order; nothing if it does not parse."""
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    source = _Source(text)
    stack: list[tuple[ast.AST, str, int, bool]] = [(module, "", 0, True)]
    while stack:
        parent, prefix, depth, named = stack.pop()
        if isinstance(parent, ast.stmt) and not isinstance(parent, _Defining | _Branch):
            yield from source.constants(parent, prefix, depth)
            continue
        inner: list[tuple[ast.AST, str, int, bool]] = []
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, _Defining):
                inner.append((node, f"{prefix}{node.name}.", depth + 1, isinstance(node, ast.ClassDef)))
            elif isinstance(node, _Branch) or (named and isinstance(node, ast.Assign | ast.AnnAssign | _ALIAS)):
                inner.append((node, prefix, depth, named))
        if isinstance(parent, _Defining):
            yield source.definition(parent, prefix[:-1], depth - 1)
        if named:
            source.note_documented(getattr(parent, "body", ()))
        stack.extend(reversed(inner))


_ALIAS: type[ast.stmt] = getattr(ast, "TypeAlias", ast.AnnAssign)
"""``type X = …``, which Python has since 3.12."""


class _Source:
    """The lines of a text, and the comments around its statements."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._above: dict[int, int] = {}
        self._documented: dict[int, int] = {}

    def definition(self, node: _Defining, name: str, depth: int) -> Definition:
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        last = node.end_lineno or first
        return Definition(name, self._signature(node), first, last, depth, self._above_line(first))

    def constants(self, node: ast.stmt, prefix: str, depth: int) -> Iterator[Definition]:
        """Yield a definition for each name to which a statement of a module or a class assigns a value or a type."""
        if isinstance(node, ast.Assign):
            targets: Sequence[ast.expr] = node.targets
        else:
            named: ast.expr | None = getattr(node, "target", None) or getattr(node, "name", None)
            targets = [named] if named is not None else []
        first, end = node.lineno, node.end_lineno or node.lineno
        last = self._documented.get(end, end)
        for target in targets:
            for one in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                if isinstance(one, ast.Name):
                    signature = self._lines[first - 1].strip()[:400]
                    name = prefix + one.id
                    yield Definition(name, signature, first, last, depth, self._above_line(first), "constant")

    def note_documented(self, body: Sequence[ast.stmt]) -> None:
        """Record where the docstrings of constants end."""
        for index in range(1, len(body)):
            before, after = body[index - 1], body[index]
            if (
                isinstance(before, ast.Assign | ast.AnnAssign)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                self._documented[before.end_lineno or before.lineno] = after.end_lineno or after.lineno

    def _above_line(self, first: int) -> int:
        """Return the first of the lines with comments right above line ``first``."""
        known = self._above.get(first)  # a line may hold many statements
        if known is None:
            known = first
            while known > 1 and self._lines[known - 2].lstrip(" \t").startswith("#"):
                known -= 1
            self._above[first] = known
        return known

    def _signature(self, node: _Defining) -> str:
        body = node.body[0]
        last = max(node.lineno, min(body.lineno - 1, node.lineno + 12)) if body.lineno > node.lineno else node.lineno
        head = " ".join(line.strip() for line in self._lines[node.lineno - 1 : last])
        head = re.split(r":\s*(?:#.*|\"\"\".*|'''.*|\.\.\.)?$", head, maxsplit=1)[0]
        return head.replace("( ", "(").replace(", )", ")").replace(" )", ")")

"""The definitions in a source text: functions, classes, headings, and everything else with a name.

Python is parsed by the standard library, Markdown by its headings, other languages by tree-sitter if the ``languages``
extra is installed. A text that does not parse has no definitions; this is not an error. Everything is linear; a parser
that is not stops after a time that grows with the length of the text.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from promptuary.search.outline.definition import Definition
from promptuary.search.outline.python_code import python_definitions
from promptuary.search.outline.syntax_tree import GRAMMARS, has_tree, tree_definitions

_HEADING = re.compile(r"(#{1,6})[ \t]")


def definitions(
    text: str, language: str, on_slow: Callable[[], None] = lambda: None, *, everything: bool = False
) -> tuple[Definition, ...]:
    """Return the definitions of ``text`` in order; none if the language is unknown or the text does not parse.

    There are also none if parsing takes too long; then ``on_slow`` is called. With ``everything`` they include what is
    not part of an outline: constants, fields, and declarations of what is defined elsewhere.
    """
    if language == "markdown":
        return tuple(_markdown(text))
    found: Iterator[Definition] | None = iter(())
    if language == "python":
        found = python_definitions(text)
    elif language in GRAMMARS:
        found = tree_definitions(text, language)
    if found is None:
        on_slow()
        return ()
    return tuple(one for one in found if everything or one.role == "definition")


def has_grammar(language: str) -> bool:
    """Return whether an installed parser can find definitions of ``language``."""
    return language in {"python", "markdown"} or (language in GRAMMARS and has_tree(language))


def outline(text: str, language: str) -> str | None:
    """Return the signatures of ``text`` with their line numbers, or ``None`` if it defines nothing."""
    return "".join(signature_lines(definitions(text, language))) or None


def signature_lines(found: Sequence[Definition]) -> list[str]:
    """Return a line for each definition: the number of its first line, and its signature."""
    width = max((len(str(one.first)) for one in found), default=0)
    return [f"{one.first:>{width}}  {'    ' * one.depth}{one.signature}\n" for one in found]


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
        yield Definition(title, f"{marks} {title}", number, end, 0, number)


def _section_ends(headings: list[tuple[int, int]], total: int) -> list[int]:
    """Return the last line of each section; headings are line numbers and levels."""
    ends = []
    following = [total + 1] * 7  # by level: the next heading of this level or a higher one
    for number, level in reversed(headings):
        ends.append(following[level] - 1)
        following[level:] = [number] * (7 - level)
    return ends[::-1]

"""The definitions in a source text: functions, classes, constants, headings."""

from promptuary.search.outline.definition import Definition, best_named, plain_name
from promptuary.search.outline.definitions import definitions, has_grammar, outline, signature_lines
from promptuary.search.outline.syntax_tree import GRAMMARS

__all__ = [
    "GRAMMARS",
    "Definition",
    "best_named",
    "definitions",
    "has_grammar",
    "outline",
    "plain_name",
    "signature_lines",
]

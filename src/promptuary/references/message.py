"""``ParsedMessage``: a message, parsed once for everybody who looks at it."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct

from promptuary.base.references import KINDS, Reference, Span
from promptuary.references.scan import Scanned, scan_closely

_LONGEST_LINK: Final = 4200
_END_OF_LINK = re.compile(rf"\]\(#[\w-]{{1,{_LONGEST_LINK}}}\)")


class ParsedMessage(Struct, frozen=True, dict=True):
    """A text, the ``pasted`` parts of it in which nothing is a reference, and what it consists of.

    ``kinds`` are those that references in it may have, if there are more than ours.

    Each part is found when it is first asked for, and kept: layers, recall, search and the receipt share it.
    """

    text: str
    pasted: Sequence[Span] = ()
    kinds: frozenset[str] = KINDS

    @cached_property
    def scanned(self) -> Scanned:
        """Its references, and what looks like one but has no value."""
        return scan_closely(self.text, kinds=self.kinds, skip=self.pasted)

    @property
    def references(self) -> tuple[Reference, ...]:
        """Its references in order."""
        return self.scanned.references

    @property
    def tracked(self) -> list[Reference]:
        """Everything in it that looks like a ``#`` reference, whatever it names."""
        return [reference for reference in self.references if reference.sigil == "#"]

    @cached_property
    def words(self) -> str:
        """Its words without its references; if there are none, the values of the references.

        A bare name without a folder or an extension stays, since it may be a word: ``@ada``, ``#rollback``.
        """
        meant = [one for one in self.references if not one.bare or "/" in one.value or "." in one.value]
        rest = self.without(meant)
        return rest if any(map(str.isalnum, rest)) else " ".join(one.value for one in meant)

    def without(self, references: Sequence[Reference]) -> str:
        """Return the words that are neither one of ``references`` nor a link to a block."""
        parts, position = [], 0
        for reference in references:
            parts.append(self.text[position : reference.start])
            position = reference.end
        return " ".join(" ".join(_outside_links(" ".join([*parts, self.text[position:]]))).split())


def _outside_links(text: str) -> Iterator[str]:
    """Yield what is between the links. The text of a link may contain brackets, so it is looked for from its end."""
    position = searched = 0
    for end in _END_OF_LINK.finditer(text):
        line = text.rfind("\n", searched, end.start()) + 1
        # Two characters open a link, and one or more name its target.
        start = text.find("[#", max(searched, line, end.start() - _LONGEST_LINK - 2), end.start() - 1)
        if start < 0:
            searched = max(searched, end.start() - 2)
        else:
            yield text[position:start]
            position = searched = end.end()
    yield text[position:]

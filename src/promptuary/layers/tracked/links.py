"""Slugs for blocks, and links to them in the person's message. Pure.

A slug belongs to one label for the life of the thread, so that a link in an earlier message never leads to another
block. The caller decides which references become links.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from promptuary.base.references import Reference
from promptuary.base.text import unique_slug

_LONGEST_TEXT: Final = 4200
_END_OF_LINK = re.compile(rf"\]\(#[\w-]{{1,{_LONGEST_TEXT}}}\)")
# If the name ends with a bracket, the scanner may take that for punctuation the second time.
_REST_OF_LINK = re.compile(r"[^\s]{0,64}?\]\(#")


def with_slug(slugs: Mapping[str, str], label: str) -> dict[str, str]:
    """Return ``slugs`` with one for ``label`` that no other label has."""
    if label in slugs:
        return dict(slugs)
    return {**slugs, label: unique_slug(label, set(slugs.values()))}


def linked(text: str, links: Iterable[tuple[Reference, str]]) -> str:
    """Return ``text`` with each reference as a link to its slug; existing links are not changed."""
    parts, position = [], 0
    ordered = sorted(links, key=lambda link: link[0].start)
    starts = {reference.start for reference, _ in ordered}
    for reference, target in ordered:
        # A sigil directly before a reference belongs to its word; after the bracket of a link it would begin another
        # one.
        glued = text.startswith(("#", "@"), reference.end) and reference.end not in starts
        if glued or _is_linked(text, reference):
            continue
        parts += [text[position : reference.start], f"[{reference.raw}](#{target})"]
        position = reference.end
    return "".join([*parts, text[position:]])


def _is_linked(text: str, reference: Reference) -> bool:
    """Return whether ``reference`` is in a link; the scanner does not see a link whose text has brackets."""
    return text[: reference.start][-1:] == "[" and _REST_OF_LINK.match(text, reference.end) is not None


def without(text: str, references: Sequence[Reference]) -> str:
    """Return the words of ``text`` that are neither a reference nor a link to a block."""
    parts, position = [], 0
    for reference in references:
        parts.append(text[position : reference.start])
        position = reference.end
    return " ".join(" ".join(_outside_links(" ".join([*parts, text[position:]]))).split())


def _outside_links(text: str) -> Iterator[str]:
    """Yield what is between the links. The text of a link may contain brackets, so it is looked for from its end."""
    position = searched = 0
    for end in _END_OF_LINK.finditer(text):
        line = text.rfind("\n", searched, end.start()) + 1
        # Two characters open a link, and one or more name its target.
        start = text.find("[#", max(searched, line, end.start() - _LONGEST_TEXT - 2), end.start() - 1)
        if start < 0:
            searched = max(searched, end.start() - 2)
        else:
            yield text[position:start]
            position = searched = end.end()
    yield text[position:]

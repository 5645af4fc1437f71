"""Slugs for blocks, and links to them in the person's message. Pure.

A slug belongs to one label for the life of the thread, so that a link in an earlier message never leads to another
block. The caller decides which references become links.
"""

import re
from collections.abc import Iterable, Mapping

from promptuary.base.references import Reference
from promptuary.base.text import unique_slug

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

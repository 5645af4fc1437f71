"""``MEMORY.md``: a list of notes for a person, between two marks; the rest of the page belongs to the person.

The list is regenerated from headers that its reader may see; everything outside the marks is preserved byte for byte.
Titles and summaries are escaped so that none can end the list, forge a mark or break a link.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from promptuary.base.principals import LOCAL_USER, Owner
from promptuary.base.text import split_lines, visible
from promptuary.memory.values import INDEX_NAME, Audience, NoteHeader

START: Final = "<!-- promptuary: notes, this list is written for you -->"
END: Final = "<!-- promptuary: end of notes -->"
MAX_ENTRIES: Final = 200
MAX_SIZE: Final = 25_000
"""The most notes and characters in the list; its last line counts the others."""

_BOM: Final = "\ufeff"
_MAX_SUMMARY: Final = 160
_TITLES: Final[dict[Audience, str]] = {
    "private": "# Private notes\n\nOnly you see these. What you write outside of the list is kept.\n",
    "shared": "# Shared notes\n\nEverybody who works here sees these. What you write outside of the list is kept.\n",
}
_STANDARD_TEXTS: Final = frozenset(text.strip() for text in _TITLES.values())
"""The initial text of a page."""
_ESCAPES: Final = str.maketrans({char: f"\\{char}" for char in "\\`*_[]"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def page_path(audience: Audience, owner: Owner) -> str:
    """Return the path of an owner's list: each owner has a separate private list, so no list shows another's titles."""
    if audience == "shared" or (owner.kind == "user" and owner.name == LOCAL_USER):
        return f"{audience}/{INDEX_NAME}"
    whose = hashlib.sha256(f"{owner.kind}\0{owner.name}\0{owner.agent}".encode()).hexdigest()[:8]
    name, _, ending = INDEX_NAME.rpartition(".")
    return f"{audience}/{name}-{whose}.{ending}"


def update_page(page: str | None, audience: Audience, headers: Sequence[NoteHeader], total: int) -> str:
    """Return a page with a new list. ``total`` is how many notes there are, ``headers`` the first of them.

    Without a page a new one is made; a page without a list gets one at its end.
    """
    text = _TITLES[audience] if page is None else page
    # A page that ends in \r would have a \r\n as soon as a line follows.
    newline = "\r\n" if "\r\n" in text or text.endswith("\r") else "\n"
    block = newline.join([START, *_entries(headers, total), END]) + newline
    lines = split_lines(text)
    for start, end in _blocks(lines):
        return "".join([*lines[:start], block, *lines[end:]])
    gap = "" if not text or text == _BOM else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{block}"


def human_text(page: str) -> str:
    """Return what a person wrote on a page: everything but the lists."""
    lines = split_lines(page.removeprefix(_BOM))
    kept, at = [], 0
    for start, end in _blocks(lines):
        kept += lines[at:start]
        at = end
    return "".join([*kept, *lines[at:]]).strip()


def persons_text(page: str) -> str:
    """Return the same, but nothing for a page that is as it was made."""
    text = human_text(page)
    return "" if text in _STANDARD_TEXTS else text


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the line range of each list: from a start to an end with no other start between them.

    A start without an end is left alone: what a person wrote below it must not be taken for a list.
    """
    start: int | None = None
    for number, line in enumerate(lines):
        said = line.strip()
        if said == START:
            start = number
        elif said == END and start is not None:
            yield start, number + 1
            start = None


def _entries(headers: Sequence[NoteHeader], total: int) -> Iterator[str]:
    size = shown = 0
    for header in headers[:MAX_ENTRIES]:
        line = _entry(header)
        size += len(line) + 1
        if size > MAX_SIZE:
            break
        shown += 1
        yield line
    if total > shown:
        yield f"- … and {total - shown:,} more: `promptuary memory list`"
    elif not total:
        yield "There are no notes yet."


def _entry(header: NoteHeader) -> str:
    target = header.path.removeprefix(f"{header.audience}/")
    summary = _plain(header.summary)[:_MAX_SUMMARY] if header.summary else ""
    pin = " (pinned)" if header.pinned else ""
    said = f": {summary.translate(_ESCAPES)}" if summary else ""
    return f"- [{_plain(header.title).translate(_ESCAPES)}]({_link(target)}){pin}{said}"


def _plain(text: str) -> str:
    return visible(" ".join(text.split()))[0]


def _link(path: str) -> str:
    """Return a path as the target of a link; letters of any script stay readable."""
    return "".join(char if char.isalnum() or char in "/-_." else quote(char, errors="replace") for char in path)

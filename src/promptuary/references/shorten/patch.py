"""A patch or a history with some of it folded. Pure.

Every commit is named before any file, every file before its counts of lines, all this before messages, and messages
before changes; the changes of the smallest files come first, so that as many as possible are whole.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from promptuary.base.blocks import Forms
from promptuary.base.excerpt import Unfolding
from promptuary.base.text import counted, split_lines
from promptuary.workspace.git.patch import PART

_HUNK = re.compile(r"^(@@+) ", re.MULTILINE)


class _Part(Struct, frozen=True):
    """A commit with its message, or the changes of a file: as a name, in a line, and all of it."""

    name: str
    line: str
    lines: list[str]
    is_commit: bool = False


def patch_forms(text: str, total: str) -> Forms:
    """Return the shorter forms of a patch, the richest first; none if it has no parts. ``total`` sums it up."""
    parts = [_part(one) for one in PART.split(text) if one]
    commits = [index for index, part in enumerate(parts) if part.is_commit]
    files = [index for index, part in enumerate(parts) if not part.is_commit]
    smallest = sorted(files, key=lambda index: (sum(map(len, parts[index].lines)), index))
    named, counted, told = len(parts), len(parts) + len(files), 2 * len(parts)
    changed = sum(len(parts[index].lines) for index in files)

    def draw(step: int) -> str:
        left = step - told
        shown = dict.fromkeys(commits[: max(step - counted, 0)], 0)
        for index in smallest:
            if left <= 0:
                break
            shown[index] = min(len(parts[index].lines), left)
            left -= shown[index]
        visible = {*commits[:step], *files[: max(step - len(commits), 0)]}
        with_counts = {*commits, *files[: max(step - named, 0)]}
        summary = f"{total}\n" if step >= counted else ""
        return "".join(_drawn(parts, visible, with_counts, shown)) + summary

    return Unfolding(draw, told + changed - 1) if parts else ()


def _drawn(parts: Sequence[_Part], visible: set[int], with_counts: set[int], shown: dict[int, int]) -> Iterator[str]:
    """Yield the ``visible`` parts: their names, lines or, of those ``shown``, all of a commit and lines of a file."""
    for index, part in enumerate(parts):
        if index not in visible:
            continue
        if index not in shown:
            yield f"{part.line if index in with_counts else part.name}\n"
        elif part.is_commit or shown[index] == len(part.lines):
            yield from part.lines
        else:
            yield from part.lines[: shown[index]]
            yield f"⋯ {len(part.lines) - shown[index]:,} more lines of this file ⋯\n"
    if len(visible) < len(parts):
        hidden = [part.is_commit for index, part in enumerate(parts) if index not in visible]
        numbers = ((sum(hidden), "commit"), (len(hidden) - sum(hidden), "file"))
        more = [counted(count, f"more {noun}") for count, noun in numbers if count]
        yield f"⋯ {' and '.join(more)} ⋯\n"


def _part(text: str) -> _Part:
    title, _, rest = text.partition("\n")
    if title.startswith("commit "):
        subject = next((line.strip() for line in rest.split("\n\n", 1)[-1].split("\n") if line.strip()), "")
        name = f"{title.split()[1][:12]} {subject}"
        return _Part(name, name, split_lines(text), is_commit=True)
    name = _path(title)
    return _Part(f" {name}", f" {name} | {_counts(rest)}", split_lines(text))


def _path(title: str) -> str:
    """Return the path in the first line of a file; both, if it was renamed."""
    names = title.split(" ", 2)[-1]
    half = names[len(names) // 2 + 1 :]
    same = names == f"{half.replace('b/', 'a/', 1)} {half}"
    return half.replace("b/", "", 1) if same else names


def _counts(changes: str) -> str:
    hunk = _HUNK.search(changes)
    if hunk is None:
        return "binary" if "Binary files " in changes else "+0 −0"
    columns = len(hunk[1]) - 1
    signs = [line[:columns] for line in changes[hunk.start() :].split("\n")]
    return f"+{sum('+' in one for one in signs)} −{sum('-' in one for one in signs)}"

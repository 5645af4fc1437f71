"""The tags of a note: those that its front matter lists, and those in its text (``#work/plans``). Pure.

A tag in the text follows white space or an opening bracket, and is not all digits; tags in code are ignored. Takes time
proportional to the text.
"""

import re
from typing import Final

from promptuary.base.front_matter import listed
from promptuary.search.values import FileKind, as_tag

MOST_TAGS: Final = 200
"""The most tags of one file that count."""
_KEYS: Final = ("tags", "tag")
_TAG: Final = re.compile(r"(?<![^\s(\[,;])#(?=[0-9/_-]{0,40}[^\W\d_])([\w/-]{1,100})(?![\w/-])")
_FENCE: Final = re.compile(r"[ \t>]{0,40}(`{3,}|~{3,})")
_CODE: Final = re.compile(r"`[^`\n]{1,400}`")


def tags_in(text: str, kind: FileKind) -> tuple[str, ...]:
    """Return the tags of a file, each once and as ``as_tag`` spells it."""
    if kind not in {"markdown", "text"}:
        return ()
    found = dict.fromkeys(tag for tag in map(as_tag, listed(text, _KEYS)) if tag)
    if kind == "markdown" and "#" in text:
        found |= dict.fromkeys(_in_text(text))
    return tuple(found)[:MOST_TAGS]


def _in_text(text: str) -> list[str]:
    fence = ""
    found: list[str] = []
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line[mark.end() :].strip("`~ \t\r"):
                fence = ""
        elif "#" in line and not fence:
            plain = _CODE.sub("``", line) if "`" in line else line
            found += map(as_tag, _TAG.findall(plain))
        if len(found) > MOST_TAGS * 10:
            break
    return found

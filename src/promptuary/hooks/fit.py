"""Text of bounded length, made of parts below headings. Pure.

Short parts go in whole; the long ones share the remaining space, and each of them says what was cut and where the rest
is. Nothing is left out silently but what the conversation has already.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from promptuary.base.budget import water_fill

_MIN_SHOWN: Final = 120
"""If fewer characters of a part would fit, only its name is shown."""
_MAX_NAME: Final = 80
_FRAME: Final = len("<promptuary>\n\n</promptuary>")


class ContextPart(NamedTuple):
    """A text with its name; ``body`` is the span that may be cut, and ``rest`` says how to get all of it."""

    name: str
    text: str
    body: tuple[int, int]
    rest: str
    content: str = ""
    """What it says, however it looks: a conversation gets that once. Empty: it may be repeated."""


class ContextSection(NamedTuple):
    """Parts below a heading."""

    heading: str
    parts: Sequence[ContextPart]


class Shown:
    """What a conversation was shown: ``known`` are the marks of contents from before, ``new`` those of this time."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = frozenset(known)
        self.new: list[str] = []

    def knows(self, part: ContextPart) -> bool:
        """Return whether the content of a part was shown before."""
        return _mark(part.content) in self._known

    def fill(self, sections: Sequence[ContextSection], most: int) -> str:
        """Return the sections without what was shown before, like ``fill``, and record what is whole in it."""
        left = [
            section._replace(parts=[part for part in section.parts if not self.knows(part)]) for section in sections
        ]
        text = fill(left, most)
        whole = (part.content for section in left for part in section.parts if part.content and part.text in text)
        self.new.extend(map(_mark, whole))
        return text


def _mark(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16] if content else ""


def whole_part(name: str, text: str, rest: str = "", content: str = "") -> ContextPart:
    """Return a part that may be cut anywhere."""
    return ContextPart(name, text, (0, len(text)), rest, content)


def fill(sections: Sequence[ContextSection], most: int) -> str:
    """Return the sections in at most ``most`` characters; empty if they have no parts."""
    said = [section for section in sections if section.parts]
    if not said:
        return ""
    parts = [part for section in said for part in section.parts]
    room = most - _FRAME - sum(len(section.heading) + 2 for section in said)
    shares = iter(water_fill([len(part.text) + 2 for part in parts], room))
    made = [_join(section.heading, [_cut(part, next(shares) - 2) for part in section.parts]) for section in said]
    text = "\n\n".join(made)
    inner = max(0, most - _FRAME)
    return f"<promptuary>\n{text if len(text) <= inner else text[:inner]}\n</promptuary>"


def _join(heading: str, texts: Sequence[str]) -> str:
    """Return a section; items of a list follow each other line by line."""
    text = heading
    for number, one in enumerate(texts):
        in_list = number and one.startswith("- ") and texts[number - 1].startswith("- ")
        text += ("\n" if in_list else "\n\n") + one
    return text


def _cut(part: ContextPart, most: int) -> str:
    """Return a part in at most ``most`` characters, if its name permits; it ends with how to get the rest."""
    if len(part.text) <= most:
        return part.text
    start, end = part.body
    around = len(part.text) - (end - start) + len(_remark(part, end - start))
    shown = _beginning(part.text[start:end], most - around)
    if len(shown) < _MIN_SHOWN:
        return f"[{part.name[:_MAX_NAME]} is too long to be shown here; {part.rest}]"
    return f"{part.text[:start]}{shown}{part.text[end:]}{_remark(part, len(shown))}"


def _remark(part: ContextPart, shown: int) -> str:
    total = part.body[1] - part.body[0]
    return f"\n[{part.name[:_MAX_NAME]}: cut after {shown:,} of {total:,} characters; {part.rest}]"


def _beginning(text: str, most: int) -> str:
    """Return the first lines that fit; of a line that is too long, its beginning."""
    if most <= 0:
        return ""
    kept = text[: most - 1]
    line = kept.rfind("\n") + 1
    if line > most // 2:
        return kept[:line]
    return f"{kept}\n" if text.endswith("\n") else kept  # a closing fence must be on its own line

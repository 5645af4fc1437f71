"""Text of bounded length, made of parts below headings. Pure.

Short parts go in whole; the long ones share the remaining space, and each of them says what was cut and where the rest
is. Nothing is left out silently.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

_LEAST_SHOWN: Final = 120
"""If fewer characters of a part would fit, only its name is shown."""
_LONGEST_NAME: Final = 80
_FRAME: Final = len("<promptuary>\n\n</promptuary>")


class ContextPart(NamedTuple):
    """A text with its name; ``body`` is the span that may be cut, and ``rest`` says how to get all of it."""

    name: str
    text: str
    body: tuple[int, int]
    rest: str


class ContextSection(NamedTuple):
    """Parts below a heading."""

    heading: str
    parts: Sequence[ContextPart]


def whole_part(name: str, text: str, rest: str = "") -> ContextPart:
    """Return a part that may be cut anywhere."""
    return ContextPart(name, text, (0, len(text)), rest)


def filled(sections: Sequence[ContextSection], most: int) -> str:
    """Return the sections in at most ``most`` characters; empty if they have no parts."""
    said = [one for one in sections if one.parts]
    if not said:
        return ""
    parts = [part for one in said for part in one.parts]
    room = most - _FRAME - sum(len(one.heading) + 2 for one in said)
    shares = iter(_shares([len(part.text) + 2 for part in parts], room))
    made = ["\n\n".join([one.heading, *(_cut(part, next(shares) - 2) for part in one.parts)]) for one in said]
    text = "\n\n".join(made)
    inner = max(0, most - _FRAME)
    return f"<promptuary>\n{text if len(text) <= inner else text[:inner]}\n</promptuary>"


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """Return how much of ``room`` each gets: as much as it needs, or an equal share of what the short ones leave."""
    given = [0] * len(lengths)
    left = max(0, room)
    order = sorted(range(len(lengths)), key=lambda one: lengths[one])
    for number, one in enumerate(order):
        given[one] = min(lengths[one], left // (len(order) - number))
        left -= given[one]
    return given


def _cut(part: ContextPart, most: int) -> str:
    """Return a part in at most ``most`` characters, if its name permits; it ends with how to get the rest."""
    if len(part.text) <= most:
        return part.text
    start, end = part.body
    around = len(part.text) - (end - start) + len(_remark(part, end - start))
    shown = _beginning(part.text[start:end], most - around)
    if len(shown) < _LEAST_SHOWN:
        return f"[{part.name[:_LONGEST_NAME]} is too long to be shown here; {part.rest}]"
    return f"{part.text[:start]}{shown}{part.text[end:]}{_remark(part, len(shown))}"


def _remark(part: ContextPart, shown: int) -> str:
    total = part.body[1] - part.body[0]
    return f"\n[{part.name[:_LONGEST_NAME]}: cut after {shown:,} of {total:,} characters; {part.rest}]"


def _beginning(text: str, most: int) -> str:
    """Return the first lines that fit; of a line that is too long, its beginning."""
    if most <= 0:
        return ""
    kept = text[: most - 1]
    line = kept.rfind("\n") + 1
    if line > most // 2:
        return kept[:line]
    return f"{kept}\n" if text.endswith("\n") else kept  # a closing fence must be on its own line

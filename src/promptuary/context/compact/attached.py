"""Tells a person's words from what was attached to them, in a message as it was sent. Pure.

It reads back what ``core.wire`` writes: blocks with fenced bodies under one heading, the person's words under another.
A heading inside a fence is part of an attachment, whatever it looks like.
"""

import re
from dataclasses import dataclass

from promptuary.core.render import CONTEXT_HEADING, MESSAGE_HEADING

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"(`{3,})[^`\n]*\n")


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it was sent: ``words`` are the person's; ``bodies`` are the places of what stands in fences."""

    words: str
    bodies: tuple[tuple[int, int], ...] = ()


def read(content: str) -> Sent:
    """Return the parts of ``content``; what has no attachments is words from end to end."""
    if not content.startswith(CONTEXT_HEADING):
        return Sent(content)
    bodies, fence, opened = [], "", 0
    for line in _LINE.finditer(content):
        if fence:
            if line.group().rstrip("\n") == fence:
                bodies.append((opened, line.start()))
                fence = ""
        elif opening := _FENCE.fullmatch(line.group()):
            fence, opened = opening[1], line.end()
        elif content.startswith(MESSAGE_HEADING, line.start()):
            return Sent(content[line.start() + len(MESSAGE_HEADING) :], tuple(bodies))
    return Sent(content)

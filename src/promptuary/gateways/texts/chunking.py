"""Splits an answer into messages that a platform accepts, without breaking code fences. Pure.

A longer answer is split like its beginning, except for the last piece: so an answer that comes in bit by bit changes
only the last message.
"""

import re
from collections.abc import Callable
from typing import Final

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_MAX_INFO: Final = 40
MAX_GROWTH: Final = 8
"""A text is at most this many times as long on a platform as in Markdown."""


def chunks(text: str, longest: int, size: Callable[[str], int] = len) -> list[str]:
    """Return ``text`` in pieces of at most ``longest`` characters, each of them complete Markdown.

    A piece ends at a paragraph, else at a line, a word or, in the worst case, anywhere. A fence that is open at the end
    of a piece is closed there, and opened again in the next one. ``size`` returns how long a piece is on the platform,
    where the markup differs, and some characters count more than once.
    """
    if longest < 64:
        raise ValueError("a message has at least 64 characters")
    pieces: list[str] = []
    head, rest = "", text
    while not _fits(head + rest, longest, size):
        room = longest
        piece, after, reopened = _first(head, rest, room)
        while (there := size(piece)) > longest and room > 64:
            room = max(min(room * longest // there, room * 15 // 16), 64)
            piece, after, reopened = _first(head, rest, room)
        rest = after
        pieces.append(piece)
        head = reopened
    last = head + rest
    return [*pieces, last] if last.strip() or not pieces else pieces


def close_fence(text: str) -> str:
    """Return Markdown with its last fence closed, so that something can follow it."""
    fence, _ = _open_fence(text)
    return f"{text}\n{fence}" if fence else text


def _fits(text: str, longest: int, size: Callable[[str], int]) -> bool:
    return len(text) <= longest and (len(text) * MAX_GROWTH <= longest or size(text) <= longest)


def _first(head: str, rest: str, longest: int) -> tuple[str, str, str]:
    """Return the first piece, the rest, and the opening of the fence that continues there."""
    room = longest - len(head)
    end = _cut_position(rest, room)
    fence, info = _open_fence(head + rest[:end])
    if fence:
        # Leaves room for the closing fence; the end may move out of the fence by that, which is fine.
        end = _cut_position(rest, room - len(fence) - 1)
        fence, info = _open_fence(head + rest[:end])
    piece = head + rest[:end]
    if not fence:
        return piece.rstrip("\n") or piece, rest[end:].lstrip("\n"), ""
    closing = fence if piece.endswith("\n") else f"\n{fence}"
    return piece + closing, rest[end:].removeprefix("\n"), f"{fence}{info}\n"


def _cut_position(text: str, room: int) -> int:
    """Return where to cut ``text`` so that at most ``room`` characters are before it."""
    if len(text) <= room:
        return len(text)
    for mark, least in (("\n\n", room // 2), ("\n", room // 3), (" ", room // 2)):
        found = text.rfind(mark, least, room)
        if found > 0:
            return found + 1 if mark == "\n" else found + len(mark)
    cut = max(room, 1)
    # Not inside what a reader sees as one character: before a combining mark, a joiner, a selector.
    while cut > room - 16 and cut > 1 and (text[cut] in "\u200d\ufe0f\ufe0e" or text[cut - 1] == "\u200d"):
        cut -= 1
    return cut


def _open_fence(text: str) -> tuple[str, str]:
    """Return the fence that is open at the end of ``text``, and its info string; empty if none is open."""
    fence = info = ""
    for found in _FENCE.finditer(text):
        mark, said = found[1], found[2].strip()
        if not fence:
            if mark[0] == "`" and "`" in said:
                continue  # a code span, not a fence
            # A fence that is longer than any sensible one would not fit into a message.
            fence, info = mark[:16] if len(mark) > 16 else mark, said[:_MAX_INFO]
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not said:
            fence = info = ""
    return fence, info

"""Splits the text of a file into chunks: whole lines with the headings above them.

Chats are split at turns, Markdown and similar formats at headings, code at definitions, everything else at paragraphs
and lines. The same text under the same name always gives the same chunks, in time proportional to its length; only code
that takes too long to parse, which depends on the machine, is split like plain text.
"""

import re
from collections.abc import Callable
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.front_matter import names
from promptuary.base.languages import language_of
from promptuary.search.chunks.days import LineDays
from promptuary.search.chunks.file_kinds import kind_of
from promptuary.search.chunks.lines import Lines, Part, Sizes
from promptuary.search.chunks.markdown import heading_parts, is_markdown
from promptuary.search.chunks.split import Splitter
from promptuary.search.chunks.transcript import Transcript, transcript, turn_parts
from promptuary.search.outline import definitions, has_grammar
from promptuary.search.values import Chunk

_PROSE: Final = frozenset({"markdown", "text"})


_DEEPEST: Final = 8
"""Definitions nested deeper than this are not separate parts."""

_TITLE = 120
_LONE_RETURN = re.compile(r"\r(?!\n)")


def code_parts(lines: Lines, path: str, on_slow: Callable[[], None]) -> Part:
    """Return the parts of the source code of the file ``path``; call ``on_slow`` if it takes too long to parse."""
    whole = Part(0, len(lines))
    language = language_of(path)
    if not has_grammar(language):
        return whole
    open_parts = [(whole, "")]
    for found in definitions(_as_parsed(lines.text), language, on_slow):
        first, end = found.first - 1, min(found.last, len(lines))
        while len(open_parts) > 1 and (first >= open_parts[-1][0].end or len(open_parts) > found.depth + 1):
            open_parts.pop()
        around, prefix = open_parts[-1]
        # A definition on the first line of the enclosing one is not a separate part.
        free = around.parts[-1].end if around.parts else around.first + (around is not whole)
        if found.depth >= _DEEPEST or first < free or end > around.end or first >= end:
            continue
        part = Part(max(found.above - 1, free), end)
        part.title = " ".join(found.name.removeprefix(prefix).split())[:_TITLE]
        around.parts.append(part)
        open_parts.append((part, f"{found.name}."))
    return whole


def _as_parsed(text: str) -> str:
    """Return ``text`` with the same number of lines for the parser as here, and without a byte order mark."""
    text = f" {text[1:]}" if text.startswith("\ufeff ") else text.removeprefix("\ufeff")
    return _LONE_RETURN.sub(" ", text) if "\r" in text else text


def chunks(
    text: str, path: str, sizes: Sizes, counter: TokenCounter, on_slow: Callable[[], None] = lambda: None
) -> list[Chunk]:
    """Return the chunks of ``text``, the content of the file ``path``, in the order of their lines.

    Every line that is not blank is in a chunk. A chunk has at most ``sizes.tokens`` tokens, unless one line alone has
    more; then it is that line, with the title above it. ``on_slow`` is called if the file takes too long to parse.
    """
    lines = Lines(text)
    splitter = Splitter(lines, sizes, counter)
    kind = kind_of(path)
    named = names(text) if kind in _PROSE else ()
    if kind in _PROSE and is_markdown(path) and (chat := transcript(lines)):
        days = LineDays(lines, path, chat=chat, prose=True)
        splitter.split(turn_parts(lines, chat, room=3 * sizes.tokens))
        return _in_conversations([_in_chat(chunk, lines, chat, named, days) for chunk in splitter.chunks])
    sections: Part | None = None
    match kind:
        case "markdown":
            whole = sections = heading_parts(lines, path)
        case "code":
            whole = code_parts(lines, path, on_slow)
        case _:
            whole = Part(0, len(lines))
    # Before it is split: that moves where parts begin.
    days = LineDays(lines, path, sections=sections, prose=kind in _PROSE)
    splitter.split(whole)
    if not named and not days:
        return splitter.chunks
    return [replace(chunk, names=named, days=days.of(chunk)) for chunk in splitter.chunks]


def _in_chat(chunk: Chunk, lines: Lines, chat: Transcript, named: tuple[str, ...], days: LineDays) -> Chunk:
    first, end = chunk.start_line - 1, chunk.end_line
    own = chat.own_words(lines, first, end)
    return replace(chunk, own=own, names=named, date=chat.date(first, end), days=days.of(chunk))


def _in_conversations(chunks: list[Chunk]) -> list[Chunk]:
    """Return chunks of a chat, the first of each conversation with the own words of all of them.

    A conversation is the text below the same headings.
    """
    whole: list[Chunk] = []
    for _, same in groupby(chunks, key=lambda one: one.heading):
        first, *others = same
        own = "\n".join(filter(None, (one.own for one in (first, *others))))
        # One in which no person says anything is a conversation, too.
        whole += [replace(first, own=own or "\n"), *(replace(one, own="") for one in others)]
    return whole

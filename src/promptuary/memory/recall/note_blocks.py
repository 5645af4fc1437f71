"""Notes as blocks: a note with its path, its age and whose words it holds. Pure.

Other people's text is inside a boundary, and so is the title that they chose. A note that is too long is cut to the
lines around those that match, and the block says so.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Source, Trust
from promptuary.base.budget import TokenCounter
from promptuary.base.excerpt import largest
from promptuary.base.references import format_reference
from promptuary.base.text import split_lines
from promptuary.memory.recall.digest import is_external
from promptuary.memory.recall.freshness import freshness
from promptuary.memory.secret_texts import without_secrets
from promptuary.memory.values import Note, NoteHeader
from promptuary.references.detail import best_within, whole
from promptuary.references.render import render, without_gap

_MIN_LINES: Final = 1


def note_label(header: NoteHeader) -> str:
    """Return the name of a note in the prompt and in receipts: its title, unless somebody else wrote it."""
    return header.address if is_external(header) else header.title


def note_source(note: Note, now: str) -> Source:
    header = note.header
    external = is_external(header)
    said_by = {"agent": ("written by an agent",), "person": (), "external": ()}[header.trust]
    old = freshness(header, now)
    return Source(
        key=header.address,
        label=note_label(header),
        kind="memory",
        text=without_secrets(note.body.strip()) or header.title,  # a file written by hand may hold some
        revision=header.rev,
        trust=Trust.EXTERNAL if external else Trust.WORKSPACE,
        facts=(header.address if not external else header.audience, *said_by, *((old,) if old else ())),
        claims=(f"title: {header.title}",) if external else (),
        read_on=f"read on with {format_reference('memory', header.id)}",
        brief=True,
    )


def note_block(note: Note, line: int, budget: int, counter: TokenCounter, now: str) -> Block | None:
    """Return a note within ``budget`` tokens: all of it, or the lines around ``line``; ``None`` if that is too little.

    Lines count from one; zero stands for the beginning and the end of the note.
    """
    source = note_source(note, now)
    if note.header.title == note.body.strip() and not is_external(note.header):
        return _heading_only(source, budget, counter)
    full = whole(source, counter)
    block = full if full.tokens <= budget else _around(source, line, budget, counter, full)
    return None if block is None else without_gap(block, counter)


def _heading_only(source: Source, budget: int, counter: TokenCounter) -> Block | None:
    """Return a note whose title is all that it says: to say it twice costs twice."""
    block = without_gap(render(source, Detail.FULL, None, counter), counter)
    return block if block.tokens <= budget else None


def first_line(note: Note, passage: str) -> int:
    """Return the line of a note's text on which ``passage`` begins, zero if it is not in it."""
    at = note.body.strip().find(passage.strip()) if passage.strip() else -1
    return 0 if at < 0 else note.body.strip().count("\n", 0, at) + 1


def _around(source: Source, line: int, budget: int, counter: TokenCounter, full: Block) -> Block | None:
    if not line:
        shortened = best_within(source, budget, counter, full)
        return None if shortened is None or shortened.detail is Detail.PATH else shortened
    lines = split_lines(source.text)
    remark = f"{full.tokens:,} tokens in full; {source.read_on}"

    def show(kept: int) -> Block:
        return render(source, Detail.EXCERPT, _lines_around(lines, line - 1, kept), counter, remark)

    shown = largest(show, lambda block: block.tokens, budget, least=_MIN_LINES, most=len(lines) - 1)
    return None if shown is None else replace(shown, whole_tokens=full.tokens)


def _lines_around(lines: Sequence[str], at: int, kept: int) -> str:
    """Return ``kept`` lines, from a quarter before the line ``at`` on, and how many are missing on either side."""
    start = max(0, min(at - kept // 4, len(lines) - kept))
    before = [f"⋯ {start:,} lines left out ⋯\n"] if start else []
    after = len(lines) - start - kept
    return "".join([*before, *lines[start : start + kept], *([f"⋯ {after:,} lines left out ⋯\n"] if after else [])])

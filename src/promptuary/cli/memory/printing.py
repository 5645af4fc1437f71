"""Prints notes: as a table, in full, and as raw files."""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from promptuary.base.table import Column, display_width, table
from promptuary.base.text import one_line, visible
from promptuary.cli.terminal import bold_header, columns, cut, has_colour
from promptuary.config.settings import Settings
from promptuary.memory.values import Note, NoteHeader, valid_at

DONE, NOTHING = 0, 1
_DAY: Final = len("2026-01-31")
_MIN_TITLE: Final = 24
_COLOURS: Final = {"+": "32", "-": "31", "@": "36"}


def header_table(headers: Sequence[NoteHeader], *, now: str = "") -> str:
    """Return notes as a table, cut to the width of the terminal; ``now`` marks those not valid at that time."""
    rows = [
        (
            header.id,
            header.kind,
            header.audience,
            header.scope,
            (header.updated_at or header.created_at)[:_DAY],
            " ".join([*_marks(header, now), one_line(header.title)]),
        )
        for header in headers
    ]
    return cut_table(("id", "kind", "audience", "scope", "updated", "title"), rows)


def cut_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose last column is cut to the rest of the terminal's width."""
    widths = [max(display_width(row[at]) for row in [titles, *rows]) + 2 for at in range(len(titles) - 1)]
    room = max(_MIN_TITLE, columns(sys.stdout) - sum(widths))
    listed = table([Column(title) for title in titles], [(*row[:-1], cut(row[-1], room)) for row in rows])
    return bold_header(listed, sys.stdout)


def _marks(header: NoteHeader, now: str) -> Iterator[str]:
    if header.pinned:
        yield "(pinned)"
    if header.status != "active":
        yield f"({header.status})"
    if now and not valid_at(header, now):
        yield "(not valid yet)" if header.valid_from > now else "(expired)"
    if header.trust == "external":
        yield "(external)"


def full_text(note: Note) -> str:
    """Return a note with its metadata."""
    return "\n".join([*_described(note.header), "", printable(note.body).rstrip("\n")])


def _described(header: NoteHeader) -> Iterator[str]:
    place = "in every workspace" if header.scope == "user" else "in this project"
    states = [header.kind, header.audience, place, header.status, *(["pinned"] if header.pinned else [])]
    yield one_line(header.title)
    yield f"id: {header.id} ({', '.join(states)})"
    times = (("created", header.created_at, header.created_by), ("updated", header.updated_at, header.updated_by))
    facts = {
        "path": header.path,
        "summary": header.summary,
        "tags": ", ".join(header.tags),
        **{name: f"{at} by {who}" if who else at for name, at, who in times},
        "valid from": header.valid_from,
        "valid until": header.valid_until,
        "supersedes": header.supersedes,
        "source": f"{header.source} {header.source_ref}".strip() if header.source != "manual" else "",
        "trust": "" if header.trust == "person" else header.trust,
        "problem": header.problem,
        "rev": header.rev,
    }
    yield from (f"{name}: {one_line(value)}" for name, value in facts.items() if value)


def printable(text: str) -> str:
    """Return a text for standard output: on a terminal, hidden characters are escaped."""
    return visible(text)[0] if sys.stdout.isatty() else text


def print_raw(text: str) -> None:
    """Print the file of a note byte for byte; on a terminal, with hidden characters escaped."""
    sys.stdout.flush()
    data = getattr(sys.stdout, "buffer", None)
    if sys.stdout.isatty() or data is None:
        print(printable(text), end="")
    else:
        data.write(text.encode("utf-8", "surrogateescape"))
        data.flush()


def colour_patch(patch: str) -> str:
    """Return a patch with colours if standard output shows them."""
    lines = printable(patch).splitlines()
    if not has_colour(sys.stdout):
        return "\n".join(lines)
    return "\n".join(f"\x1b[{_COLOURS[line[0]]}m{line}\x1b[0m" if line[:1] in _COLOURS else line for line in lines)


def say_what_stays(settings: Settings, *, quiet: bool = False) -> None:
    """Say what a server keeps of what was removed. A file keeps nothing."""
    if settings.database:
        say(
            "the database is PostgreSQL: the bytes leave its tables at the next vacuum, and stay in its log, on "
            "replicas and in backups until these are replaced",
            quiet=quiet,
        )


def say(sentence: str, *, quiet: bool = False) -> None:
    """Print a message to standard error, unless ``quiet``."""
    if not quiet:
        print(one_line(sentence), file=sys.stderr)


def say_kept(error: Exception) -> None:
    """Print where a text was saved that could not be written."""
    for note in getattr(error, "__notes__", ()):
        say(note)

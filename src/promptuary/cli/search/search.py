"""``promptuary search``: prints the best passages of the indexed files for a query."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from promptuary.base.errors import PromptuaryError, shortage
from promptuary.base.table import display_width
from promptuary.base.text import counted, one_line, visible
from promptuary.blocking import Promptuary
from promptuary.cli.common import current_folder, message, open_workspace, print_json
from promptuary.cli.search.hits import excerpt, query_words, reasons
from promptuary.cli.terminal import columns, cut, in_style
from promptuary.search.query import only_near
from promptuary.search.values import Filters, Hit, SearchQuery, SearchResult, note_text

DONE, NOTHING = 0, 1
_INDENT = "   "
# At most eight digits: no duration needs more, and Python refuses to parse numbers with thousands of digits.
_AGO = re.compile(r"(\d{1,8})([dwmy])", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def main(options: argparse.Namespace) -> int:
    """Run one query. Exit code 1 means only that nothing was found: every error is raised."""
    try:
        code = _answer(_query(options), options)
        sys.stdout.flush()
    except OSError as error:
        where = f" ({error.filename})" if error.filename is not None else ""
        if short := shortage(error.errno):
            raise PromptuaryError(short) from error
        raise PromptuaryError(f"{error.strerror or error}{where}") from error
    return code


def _answer(query: SearchQuery, options: argparse.Namespace) -> int:
    with open_workspace(options) as promptuary:
        result = promptuary.search.find(query)
        summary = "" if options.quiet else _summary(result, promptuary, query)
    if options.json:
        from promptuary.present.search import search_json  # noqa: PLC0415  (text output needs no JSON shapes)

        print_json(search_json(query.text, result, explain=options.explain))
    elif result.hits and (options.files or options.lines):
        print("\n".join(_lines(result.hits, options)))
    elif result.hits:
        words = query_words(query.text)
        print("\n\n".join(_shown(number, hit, words, options) for number, hit in enumerate(result.hits, 1)))
    if not options.quiet:
        _print_notes(query, result, summary)
    return DONE if result.hits else NOTHING


def _query(options: argparse.Namespace) -> SearchQuery:
    text = message(options).strip()
    if not text:
        raise PromptuaryError("no search words given; pass them as arguments or pipe them to stdin")
    since, until = _moment("--since", options.since), _moment("--until", options.until, after=True)
    if since is not None and until is not None and since >= until:
        raise PromptuaryError("--since is after --until, so no file can match")
    filters = Filters(
        paths=tuple(options.path or ()),
        kinds=tuple(options.kind or ()),
        labels=tuple(options.label or ()),
        tags=tuple(options.tag or ()),
        since=since,
        until=until,
        current_folder=str(current_folder() or "") if options.path else "",
    )
    return SearchQuery(text, options.limit, filters, lexical_only=options.lexical, per_file=options.passages)


def _moment(flag: str, text: str | None, *, after: bool = False) -> int | None:
    try:
        return None if text is None else moment(text, datetime.now(UTC), after=after)
    except ValueError as error:
        raise PromptuaryError(f"{flag} {error}") from error


def _summary(result: SearchResult, promptuary: Promptuary, query: SearchQuery) -> str:
    """Return how the files were searched, and what would improve the result."""
    parts = ["hybrid search" if result.mode == "hybrid" else "search by words"]
    if result.partially_embedded and not query.lexical_only:
        missing = promptuary.search.status().counts.unembedded
        parts[0] += f" ({counted(missing, 'chunk')} not embedded yet: promptuary index)"
    elif result.mode != "hybrid" and not (result.hits or query.lexical_only) and promptuary.search.status().embedder:
        # There were no vectors to compare.
        parts = []
    elif result.mode != "hybrid" and any(hit.why.foreign for hit in result.hits):
        parts[0] += ", since the model does not know the language"
    if query.filters and not result.hits:
        parts = []
    return "; ".join([*parts, *(["synced changed files first"] if result.auto_synced else [])])


def _print_notes(query: SearchQuery, result: SearchResult, summary: str) -> None:
    if summary:
        print(summary, file=sys.stderr)
    for note in result.notes:
        print(f"note: {one_line(note_text(note))}", file=sys.stderr)
    if only_near(query.text, result):
        print("no passage seems to answer this; showing the nearest ones", file=sys.stderr)
    if not result.hits:
        advice = f"{'relax the filters or ' if query.filters else ''}use other words"
        where = "; promptuary index --list shows what is searched"
        print(f"nothing found for {cut(one_line(query.text), 60)}: {advice}{where}", file=sys.stderr)


def _lines(hits: Sequence[Hit], options: argparse.Namespace) -> Sequence[str]:
    """Return one line per hit for other programs: the path, or ``path:line: text``."""
    if options.files:
        return list(dict.fromkeys(map(_openable, hits)))
    near = query_words(" ".join(options.text))
    return [f"{_openable(hit)}:{line}: {text}" for hit in hits for line, text in [_best_line(hit, near)]]


def _openable(hit: Hit) -> str:
    """Return the path of a hit for other programs: relative to the current folder, or absolute outside of it."""
    whole = f"{hit.folder.rstrip('/')}/{hit.path}"
    return one_line(whole.removeprefix(f"{os.getcwd().rstrip('/')}/"))  # noqa: PTH109  (a string is enough)


def _best_line(hit: Hit, words: Sequence[str]) -> tuple[int, str]:
    """Return the first line of a hit with the most words, and its number."""
    lines = hit.text.split("\n")
    found = [sum(word.lower() in line.lower() for word in words) for line in lines]
    best = found.index(max(found))
    return hit.start_line + best, one_line(lines[best].strip())


def _shown(number: int, hit: Hit, words: Sequence[str], options: argparse.Namespace) -> str:
    """Return a hit as text: its place, its heading and some of its lines."""
    width = columns(sys.stdout)
    head = f"{number}. {one_line(hit.place)}"
    place = in_style(head, "bold", sys.stdout)
    heading = one_line(" > ".join(hit.heading))
    if heading:
        place = f"{place}  {cut(heading, max(20, width - display_width(head) - 2))}"
    if options.full:
        lines = visible(hit.text)[0].split("\n")
    else:
        opening = hit.start_line == 1 and hit.kind in {"markdown", "text"}
        near = [spelled for one in hit.why.matched if (spelled := one.partition(" ~ ")[2])]
        lines = excerpt(
            hit.text, [*words, *near], width - len(_INDENT), heading="".join(hit.heading[-1:]), opening=opening
        )
    if hit.copies:
        lines.append(f"the same text: {', '.join(map(one_line, hit.copies))}")
    if hit.more:
        lines.append(f"and {counted(hit.more, 'more passage')}: --passages {options.passages + hit.more}")
    if options.explain:
        lines.append(f"why: {', '.join(reasons(hit.score, hit.why))}")
    return "\n".join([place, *(f"{_INDENT}{line}".rstrip() for line in lines)])


def moment(text: str, now: datetime, *, after: bool = False) -> int:
    """Return ``text`` as seconds since 1970; with ``after``, a day means its end.

    Days are in UTC, like the dates of files. Raises ``ValueError`` with a sentence about the accepted formats.
    """
    spelled = text.strip()
    try:
        if ago := _AGO.fullmatch(spelled.lower()):
            day = _before(now, int(ago[1]), ago[2]).replace(hour=0, minute=0, second=0, microsecond=0)
            return int((day + timedelta(days=after)).timestamp())
        if _DAY.fullmatch(spelled):
            day = datetime.combine(date.fromisoformat(spelled), datetime.min.time(), UTC)
            return int((day + timedelta(days=after)).timestamp())
        exact = datetime.fromisoformat(spelled)
        return int((exact if exact.tzinfo else exact.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        accepted = "a date (2026-01-31, 2026-01-31T15:00) nor a time ago (7d, 2w, 3m, 1y)"
        raise ValueError(f"{text[:60]!r} is neither {accepted}") from None


def _before(now: datetime, count: int, unit: str) -> datetime:
    if unit in "dw":
        return now - timedelta(days=count * (7 if unit == "w" else 1))
    months = now.year * 12 + now.month - 1 - count * (12 if unit == "y" else 1)
    year, month = divmod(months, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    # The 31st of a shorter month is its last day.
    return now.replace(year=year, month=month + 1, day=min(now.day, (following - timedelta(days=1)).day))

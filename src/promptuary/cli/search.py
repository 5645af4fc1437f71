"""``promptuary search``: the best places in the indexed files for a question."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from promptuary.blocking import Promptuary
from promptuary.cli.common import message, opened, print_json
from promptuary.cli.dates import moment
from promptuary.cli.excerpt import excerpt
from promptuary.cli.terminal import columns, cut
from promptuary.core.errors import PromptuaryError
from promptuary.core.query import parse
from promptuary.core.search import Filters, Hit, SearchQuery, SearchResult
from promptuary.core.table import display_width
from promptuary.core.text import one_line, visible

DONE, NOTHING = 0, 1
_INDENT = "   "


def main(options: argparse.Namespace) -> int:
    """Answer one question. Exit code 1 says that nothing was found, and nothing else: every error is raised."""
    try:
        code = _answer(_question(options), options)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename is not None else ""
        raise PromptuaryError(f"{error.strerror or error}{where}") from error
    return code


def _answer(question: SearchQuery, options: argparse.Namespace) -> int:
    with opened(options) as promptuary:
        found = promptuary.search.find(question)
        told = "" if options.quiet else _mode(found, promptuary, question)
        root = str(promptuary.path)
    if options.json:
        print_json(_as_json(question, found, explain=options.explain))
    elif found.hits:
        words = _words(question.text)
        print("\n\n".join(_told(number, hit, root, words, options) for number, hit in enumerate(found.hits, 1)))
    if not options.quiet:
        _print_account(question, found, told)
    return DONE if found.hits else NOTHING


def _question(options: argparse.Namespace) -> SearchQuery:
    text = message(options).strip()
    if not text:
        raise PromptuaryError("there is nothing to search for; give some words, or pipe them in")
    since, until = _moment("--since", options.since), _moment("--until", options.until, after=True)
    if since is not None and until is not None and since >= until:
        raise PromptuaryError("--since is after --until, so nothing can be found")
    filters = Filters(
        paths=tuple(options.path or ()),
        kinds=tuple(options.kind or ()),
        labels=tuple(options.label or ()),
        since=since,
        until=until,
    )
    return SearchQuery(text, options.limit, filters, lexical_only=options.lexical)


def _moment(flag: str, text: str | None, *, after: bool = False) -> int | None:
    try:
        return None if text is None else moment(text, datetime.now(UTC), after=after)
    except ValueError as error:
        raise PromptuaryError(f"{flag} {error}") from error


def _mode(found: SearchResult, promptuary: Promptuary, question: SearchQuery) -> str:
    """Return how was searched, as far as that can be told, and what would make it better."""
    told = ["hybrid search" if found.mode == "hybrid" else "search by words"]
    if found.partially_embedded and not question.lexical_only:
        missing = promptuary.search.status().counts.unembedded
        told[0] += f" (vectors: {missing:,} chunk{'s' * (missing != 1)} still to be embedded: promptuary index)"
    elif found.mode != "hybrid" and not (found.hits or question.lexical_only) and promptuary.search.status().embedder:
        # There was nothing to compare the meaning with.
        told = []
    if question.filters and not found.hits:
        told = []
    return "; ".join([*told, *(["synced what had changed first"] if found.auto_synced else [])])


def _print_account(question: SearchQuery, found: SearchResult, told: str) -> None:
    if told:
        print(told, file=sys.stderr)
    for note in found.notes:
        print(f"note: {one_line(note)}", file=sys.stderr)
    if not found.hits:
        loosen = "nothing passes the filters and matches; loosen the filters, or "
        advice = f"{loosen if question.filters else ''}ask in other words"
        place = "; promptuary index --list shows where was looked"
        print(f"nothing found for {cut(one_line(question.text), 60)}: {advice}{place}", file=sys.stderr)


def _words(text: str) -> Sequence[str]:
    """Return the words that lines are chosen by."""
    asked = parse(text)
    return [*asked.terms, *asked.prefixes, *(word for phrase in asked.phrases for word in phrase.split())]


def _told(number: int, hit: Hit, root: str, words: Sequence[str], options: argparse.Namespace) -> str:
    """Return a hit for people: where it is, and what it says."""
    width = columns(sys.stdout)
    head = f"{number}. {one_line(_place(hit, root))}"
    trail = one_line(" > ".join(hit.heading))
    if trail:
        head = f"{head}  {cut(trail, max(20, width - display_width(head) - 2))}"
    if options.full:
        said = visible(hit.text)[0].split("\n")
    else:
        opening = hit.start_line == 1 and hit.kind in {"markdown", "text"}
        said = excerpt(hit.text, words, width - len(_INDENT), heading="".join(hit.heading[-1:]), opening=opening)
    if options.explain:
        said.append(f"why: {', '.join(_why(hit))}")
    return "\n".join([head, *(f"{_INDENT}{line}".rstrip() for line in said)])


def _why(hit: Hit) -> Iterator[str]:
    parts = {"words": hit.why.lexical, "meaning": hit.why.cosine}
    yield f"score {hit.score:.3f}"
    yield from (f"{name} {value:.3f}" for name, value in parts.items() if value is not None)
    if hit.why.matched:
        yield f"matched: {one_line(' '.join(hit.why.matched))}"


def _place(hit: Hit, root: str) -> str:
    """Return where the hit is: a path that can be referred to in the workspace, else one that can be opened."""
    whole = os.path.join(hit.folder, hit.place)  # noqa: PTH118  (text: nothing is looked at)
    return whole[len(root) :].lstrip("/") if whole.startswith(f"{root.rstrip('/')}/") else whole


def _as_json(question: SearchQuery, found: SearchResult, *, explain: bool) -> dict[str, Any]:
    """Return the object that ``search --json`` prints; its shape is a promise."""
    return {
        "query": question.text,
        "mode": found.mode,
        "auto_synced": found.auto_synced,
        "partially_embedded": found.partially_embedded,
        "notes": list(found.notes),
        "hits": _hits(found.hits, explain=explain),
    }


def _hits(hits: Sequence[Hit], *, explain: bool) -> list[dict[str, Any]]:
    shown = []
    for hit in hits:
        one: dict[str, Any] = {
            "path": hit.path,
            "folder": hit.folder,
            "start_line": hit.start_line,
            "end_line": hit.end_line,
            "lines": f"{hit.start_line}-{hit.end_line}",
            "heading": list(hit.heading),
            "kind": hit.kind,
            "date": datetime.fromtimestamp(hit.date, UTC).isoformat(),
            "score": hit.score,
            "text": hit.text,
            "sha256": hit.sha256,
        }
        if explain:
            why = hit.why
            one["why"] = {"lexical": why.lexical, "cosine": why.cosine, "matched": list(why.matched)}
        shown.append(one)
    return shown

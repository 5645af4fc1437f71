"""Search: files, notes and experiences that answer a question, each by words, by meaning and by both, with reasons."""

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import ConfigError, NothingIndexedError
from promptuary.base.text import visible
from promptuary.experiences.values import TYPES, ExperienceHit
from promptuary.memory.values import NoteHit, NoteKind
from promptuary.search.values import FILE_KINDS, Filters, Hit, SearchNote, SearchQuery, Why, note_text
from promptuary.server.page.view import Asked, Page, View

Noun = Literal["files", "notes", "experiences"]

NOUNS: Final[tuple[Noun, ...]] = ("files", "notes", "experiences")
NOTE_KINDS: Final[tuple[NoteKind, ...]] = get_args(NoteKind)

_LOOKED_AT: Final = 50
"""How many hits are compared by words and by meaning."""
_OF_ALL: Final = 5
"""How many hits of each noun are shown if all are searched, and how many of the two lists beside them."""
_OF_ONE: Final = 20
_MAX_QUERY: Final = 2_000
_EXCERPT_LINES: Final = 4
_EXCERPT: Final = 480
_NOT_EMBEDDED: Final = "not every file is compared by meaning yet; promptuary index computes what is missing"


class Found(Struct, frozen=True):
    """A hit of any noun. ``name`` is a path or an id; ``line`` is the first line of the text with a word of the query.

    ``by_words`` and ``by_meaning`` are its places among all hits in these orders, 0 if it was not compared so.
    """

    noun: Noun
    name: str
    title: str
    text: str
    score: float
    words: float | None
    share: float
    meaning: float | None
    cosine: float | None
    length: float
    matched: tuple[str, ...]
    date: str
    about: tuple[str, ...] = ()
    first_line: int = 0
    last_line: int = 0
    line: int = 0
    is_inside: bool = True
    """Whether it can be opened: of folders elsewhere, only the hits are shown."""
    prior: float = 0.0
    by_words: int = 0
    by_meaning: int = 0

    @property
    def excerpt(self) -> Sequence[tuple[str, bool]]:
        """Its text around the first word of the query, in parts: those that are a word of it, and the others."""
        lines = self.text.split("\n")
        start = max(0, min(self.line - self.first_line - 1, len(lines) - _EXCERPT_LINES)) if self.line else 0
        text = "\n".join([line for line in lines[start:] if line.strip()][:_EXCERPT_LINES])[:_EXCERPT]
        shown = "\n".join(visible(line)[0] for line in text.split("\n"))
        pattern = _words_pattern(self.matched)
        return [(part, bool(number % 2)) for number, part in enumerate(pattern.split(shown) if pattern else [shown])]


class Group(Struct, frozen=True):
    """The hits of a noun, the best first. ``problem`` says why it could not be searched, ``notes`` are remarks."""

    noun: Noun
    hits: Sequence[Found] = ()
    mode: str = "lexical"
    confidence: float = 0.0
    notes: Sequence[str] = ()
    problem: str = ""

    def ordered(self, order: Literal["words", "meaning"]) -> Sequence[Found]:
        """Return the hits in the order of one part of their scores."""
        place = {"words": _by_words, "meaning": _by_meaning}[order]
        return sorted((hit for hit in self.hits if place(hit)), key=place)


class Results(Struct, frozen=True):
    """What was found, by noun."""

    query: str
    groups: Sequence[Group] = ()


class _Wanted(Struct, frozen=True):
    """The filters of a request, read."""

    text: str
    nouns: Sequence[Noun]
    kind: str
    folder: str
    tag: str
    since: int | None
    until: int | None

    def has(self, time: str) -> bool:
        """Return whether a time is between the two."""
        if self.since is None and self.until is None:
            return True
        try:
            then = datetime.fromisoformat(time)
        except ValueError:
            return False
        seconds = (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
        return (self.since is None or seconds >= self.since) and (self.until is None or seconds <= self.until)


async def results(asked: Asked) -> View:
    """Show what a query finds."""
    wanted = _read(asked)
    groups: Sequence[Group] = ()
    if wanted.text:
        groups = await asyncio.gather(*(_SEARCHES[noun](asked, wanted) for noun in wanted.nouns))
    is_filtered = any(asked.query.get(name) for name in ("kind", "folder", "tag", "since", "until"))
    shown = _OF_ONE if len(wanted.nouns) == 1 else _OF_ALL
    more = {
        "shown": shown,
        "is_filtered": is_filtered,
        "nouns": NOUNS,
        "file_kinds": FILE_KINDS,
        "note_kinds": NOTE_KINDS,
        "types": TYPES,
        "is_indexed": bool(wanted.text) or bool((await asked.workspace.search.status()).folders),
    }
    return View("search/results.html", Results(wanted.text, groups), more)


def _read(asked: Asked) -> _Wanted:
    noun, kind, folder = (asked.query.get(name, "").strip() for name in ("in", "kind", "folder"))
    if noun and noun not in NOUNS:
        raise ConfigError(f"in must be {', '.join(NOUNS)}, or left out, not {noun[:40]!r}")
    kinds = {"files": FILE_KINDS, "notes": NOTE_KINDS, "experiences": TYPES}
    nouns = [one for one in NOUNS if noun in {"", one}]
    if kind:
        # A name may be a kind of two nouns.
        nouns = [one for one in nouns if kind in kinds[one]]
        if not nouns:
            raise ConfigError(f"{kind[:40]!r} is not a kind of what is searched; choose one from the list")
    if folder:
        nouns = [one for one in nouns if one == "files"]
        if not nouns:
            raise ConfigError("only files have a folder; search in files, or leave the folder out")
    text, tag = (asked.query.get(name, "").strip() for name in ("q", "tag"))
    since, until = _time(asked, "since"), _time(asked, "until")
    return _Wanted(text[:_MAX_QUERY], nouns, kind, folder, tag, since, None if until is None else until + 86_399)


def _time(asked: Asked, name: str) -> int | None:
    """Return the beginning of a day that the request names, in seconds since 1970."""
    said = asked.query.get(name, "").strip()
    if not said:
        return None
    try:
        return int(datetime.strptime(said, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError as error:
        raise ConfigError(f"{name} must be a day such as 2026-01-31, not {said[:40]!r}") from error


async def _find_files(asked: Asked, wanted: _Wanted) -> Group:
    filters = Filters(
        paths=(wanted.folder,) if wanted.folder else (),
        kinds=(wanted.kind,) if wanted.kind else (),  # type: ignore[arg-type]  # it was checked
        tags=(wanted.tag,) if wanted.tag else (),
        since=wanted.since,
        until=wanted.until,
    )
    try:
        found = await asked.workspace.search.find(SearchQuery(wanted.text, _LOOKED_AT, filters))
    except NothingIndexedError as error:
        return Group("files", problem=str(error))
    # Remarks name files by their absolute paths: nobody learns here where on this machine the workspace is.
    group = _group("files", list(map(_of_file, found.hits)), found.mode, found.confidence, found.notes)
    group = replace(group, notes=[*group.notes, _NOT_EMBEDDED]) if found.partially_embedded else group
    root = str(asked.workspace.path)
    return replace(group, notes=[note.replace(f"{root}/", "").replace(root, "the workspace") for note in group.notes])


async def _find_notes(asked: Asked, wanted: _Wanted) -> Group:
    chosen: dict[str, Any] = {"kinds": [wanted.kind]} if wanted.kind else {}
    chosen |= {"tags": [wanted.tag]} if wanted.tag else {}
    found = await asked.workspace.memory.find(wanted.text, limit=_LOOKED_AT, **chosen)
    hits = [_of_note(hit) for hit in found.hits if wanted.has(hit.header.updated_at)]
    return _group("notes", hits, found.mode, found.confidence, found.notes)


async def _find_experiences(asked: Asked, wanted: _Wanted) -> Group:
    found = await asked.workspace.experiences.find_similar(
        wanted.text,
        [wanted.tag] if wanted.tag else (),
        _LOOKED_AT,
        type=wanted.kind or None,
        strict_tags=bool(wanted.tag),
    )
    hits = [_of_experience(hit) for hit in found.hits if wanted.has(hit.experience.last_used_at)]
    return _group("experiences", hits, found.mode, found.confidence, found.notes)


_SEARCHES: Final[dict[Noun, Callable[[Asked, _Wanted], Any]]] = {
    "files": _find_files,
    "notes": _find_notes,
    "experiences": _find_experiences,
}


def _group(noun: Noun, hits: Sequence[Found], mode: str, confidence: float, notes: Sequence[SearchNote]) -> Group:
    """Return hits with their places by words and by meaning."""
    by_words = sorted((hit for hit in hits if hit.words), key=lambda hit: -(hit.words or 0.0))
    by_meaning = sorted((hit for hit in hits if hit.meaning is not None), key=lambda hit: -(hit.meaning or 0.0))
    places = [{id(hit): place for place, hit in enumerate(order, 1)} for order in (by_words, by_meaning)]
    placed = [_placed(hit, *(place.get(id(hit), 0) for place in places)) for hit in hits]
    return Group(noun, placed, mode, confidence, list(map(note_text, notes)))


def _placed(hit: Found, by_words: int, by_meaning: int) -> Found:
    return replace(hit, by_words=by_words, by_meaning=by_meaning)


def _of_file(hit: Hit) -> Found:
    path = f"{hit.folder.rstrip('/')}/{hit.path}"
    root = f"{hit.workspace.rstrip('/')}/"
    inside = bool(hit.workspace) and path.startswith(root)
    matched = hit.why.matched
    return Found(
        noun="files",
        name=path.removeprefix(root) if inside else path,
        title=" › ".join(hit.heading),
        text=hit.text,
        date=datetime.fromtimestamp(hit.date, UTC).isoformat(),
        about=(hit.kind, *(f"also in {copy}" for copy in hit.copies[:3])),
        first_line=hit.start_line,
        last_line=hit.end_line,
        line=hit.start_line + _first_match(hit.text, matched),
        is_inside=inside,
        score=round(hit.score, 4),
        **_parts(hit.why, matched),
    )


def _of_note(hit: NoteHit) -> Found:
    header = hit.header
    return Found(
        noun="notes",
        name=header.id,
        title=header.title,
        text=hit.text,
        date=header.updated_at,
        about=(header.kind, header.audience, *(f"#{tag}" for tag in header.tags), *(["named"] if hit.named else [])),
        score=round(hit.score, 4),
        **_parts(hit.why, hit.why.matched),
    )


def _of_experience(hit: ExperienceHit) -> Found:
    one = hit.experience
    solution = one.solution if isinstance(one.solution, str) else ""
    return Found(
        noun="experiences",
        name=one.id,
        title=one.intent,
        text="\n".join(filter(None, [one.problem, solution])),
        date=one.last_used_at,
        about=(one.type, one.outcome, f"strength {hit.strength:.2f}", *(f"#{tag}" for tag in one.tags)),
        score=round(hit.score, 4),
        prior=round(hit.prior, 4),
        **_parts(hit.why, hit.why.matched),
    )


def _parts(why: Why, matched: tuple[str, ...]) -> dict[str, Any]:
    return {
        "words": why.lexical,
        "share": why.share,
        "meaning": why.meaning,
        "cosine": why.cosine,
        "length": why.length,
        "matched": matched,
    }


def _first_match(text: str, matched: Sequence[str]) -> int:
    """Return the index of the first line that has one of the words."""
    pattern = _words_pattern(matched)
    found = pattern.search(text) if pattern else None
    return text.count("\n", 0, found.start()) if found else 0


def _words_pattern(matched: Sequence[str]) -> "re.Pattern[str] | None":
    """Return what finds words of a query in a text, the spelling that is there where it differs, with their endings."""
    words = {word.rpartition(" ~ ")[2] for word in matched}
    found = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    return re.compile(rf"((?<!\w)(?:{found})\w{{0,12}})", re.IGNORECASE) if found else None


def _by_words(hit: Found) -> int:
    return hit.by_words


def _by_meaning(hit: Found) -> int:
    return hit.by_meaning


PAGES: Final = (Page("GET", "/search", results, nav="Search"),)

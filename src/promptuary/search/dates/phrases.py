"""The phrases of a question that mean some days: "last week", "since March 2023", "between May and July".

A table of phrases, in which ``{…}`` stands for a kind of word. How a phrase is used is decided elsewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from promptuary.search.dates.time_words import (
    DAYS_OF_WEEK,
    IN,
    NUMBER_WORDS,
    ON,
    SEASONS,
    UNITS,
    QuestionWord,
    Values,
    months,
    values_of,
    word_set,
)
from promptuary.search.dates.written import dates_in

Relation: TypeAlias = Literal["since", "after", "before", "until"]


class DaySpan(NamedTuple):
    """The words ``first`` to ``end`` (excluded) mean the days from ``since`` on and before ``until``.

    ``opened``: the first word may be one like "since" or "in".
    """

    first: int
    end: int
    since: date | None
    until: date | None
    opened: bool = False


Meaning: TypeAlias = "Callable[[Values, date], tuple[date, date]]"


def _some_day(offset: int) -> Meaning:
    return lambda _, today: (today + timedelta(offset), today + timedelta(offset + 1))


def _some_unit(offset: int) -> Meaning:
    def meant(values: Values, today: date) -> tuple[date, date]:
        unit = str(values.get("unit") or values.get("span"))
        monday = today - timedelta(today.weekday())
        if unit == "week":
            return monday + timedelta(7 * offset), monday + timedelta(7 * offset + 7)
        if unit == "weekend":
            saturday = monday + timedelta(5 + 7 * offset)
            return saturday, saturday + timedelta(2)
        if unit == "month":
            first = _month_after(today.replace(day=1), offset)
            return first, _month_after(first, 1)
        if unit == "year":
            return date(today.year + offset, 1, 1), date(today.year + offset + 1, 1, 1)
        return today + timedelta(offset), today + timedelta(offset + 1)

    return meant


def _ago(values: Values, today: date) -> tuple[date, date]:
    """Return the days that an "ago" phrase means, as precisely as people count: a week ago is not one exact day."""
    number, unit = int(values["n"]), str(values["unit"])
    match unit:
        case "week":
            then, spare = today - timedelta(7 * number), 3
        case "month":
            then, spare = _month_after(today, -number), 15
        case "year":
            then, spare = _month_after(today, -12 * number), 182
        case _:
            then, spare = today - timedelta(number), 0
    return then - timedelta(spare), then + timedelta(spare + 1)


def _last_units(values: Values, today: date) -> tuple[date, date]:
    number, unit = int(values["n"]), str(values["unit"])
    days = {"day": number, "week": 7 * number, "weekend": 7 * number}.get(unit)
    months = number * (12 if unit == "year" else 1)
    return today - timedelta(days) if days is not None else _month_after(today, -months), today + timedelta(1)


def _of_month(values: Values, today: date) -> tuple[date, date]:
    month, year = _month(values), values.get("year")
    first = date(int(year) if year else today.year, month, 1)
    if not year and first > today:
        first = first.replace(year=first.year - 1)
    return first, _month_after(first, 1)


def _of_day(values: Values, today: date) -> tuple[date, date]:
    month, year = _month(values), values.get("year")
    day = date(int(year) if year else today.year, month, int(values["day"]))
    if not year and day > today:
        day = day.replace(year=day.year - 1)
    return day, day + timedelta(1)


def _of_year(values: Values, _: date) -> tuple[date, date]:
    return date(int(values["year"]), 1, 1), date(int(values["year"]) + 1, 1, 1)


def _of_weekday(values: Values, today: date) -> tuple[date, date]:
    day = today - timedelta((today.weekday() - int(values["weekday"]) - 1) % 7 + 1)
    return day, day + timedelta(1)


def _of_season(values: Values, today: date) -> tuple[date, date]:
    year = values.get("year")
    first = date(int(year) if year else today.year, int(values["season"]), 1)
    if not year and first > today:
        first = first.replace(year=first.year - 1)
    return first, _month_after(first, 3)


def _month_after(day: date, count: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(1)).day))


_THAN: Final = "antes/despues/depois"
_BETWEEN: Final = "between/from/zwischen/von/entre"
_PHRASES: Final[tuple[tuple[str, Meaning], ...]] = (
    ("today/tonight/heute/hoy/hoje", _some_day(0)),
    ("this morning/afternoon/evening", _some_day(0)),
    ("aujourd hui", _some_day(0)),
    ("the day before yesterday", _some_day(-2)),
    ("day before yesterday", _some_day(-2)),
    ("vorgestern/anteayer/antier/anteontem", _some_day(-2)),
    ("avant hier", _some_day(-2)),
    ("yesterday/gestern/hier/ayer/ontem", _some_day(-1)),
    ("last night", _some_day(-1)),
    ("tomorrow/demain/amanha", _some_day(1)),
    ("this/diese/diesen/dieses/dieser/cette/ce/cet/esta/este/nesta/neste {unit}", _some_unit(0)),
    ("last/past/previous {span}", _some_unit(-1)),
    ("letzte/letzten/letztes/letzter/vergangene/vergangenen/vergangenes/vorige/voriges {span}", _some_unit(-1)),
    ("{span} dernier/derniere/passe/passee/pasado/pasada/passado/passada", _some_unit(-1)),
    ("next/nachste/nachsten/nachstes {span}", _some_unit(1)),
    ("last/past/letzten/vergangenen/ultimos/ultimas {n} {unit}", _last_units),
    ("last/past couple of {unit}", lambda values, today: _last_units(values | {"n": 2}, today)),
    ("{n} derniers/dernieres {unit}", _last_units),
    ("{n} {unit} ago/atras", _ago),
    ("a couple of {unit} ago", lambda values, today: _ago(values | {"n": 2}, today)),
    ("a few {unit} ago", lambda values, today: _ago(values | {"n": 3}, today)),
    ("vor/hace/ha {n} {unit}", _ago),
    ("vor ein paar {unit}", lambda values, today: _ago(values | {"n": 3}, today)),
    ("il y a {n} {unit}", _ago),
    ("{in} {any} {year}", _of_month),
    ("{in} {any} de/of {year}", _of_month),
    ("{sure} {year}", _of_month),
    ("{sure} de/of {year}", _of_month),
    ("{in} {month}", _of_month),
    (f"{_BETWEEN} {{month}}", _of_month),
    (f"{_BETWEEN} {{any}} {{year}}", _of_month),
    (f"{_BETWEEN} {{year}}", _of_year),
    (f"{_BETWEEN} {{weekday}}", _of_weekday),
    (f"{_THAN} de {{month}}", _of_month),
    (f"{_THAN} de {{any}} de {{year}}", _of_month),
    (f"{_THAN} de {{year}}", _of_year),
    ("by {sure}", _of_month),
    ("by {year}", _of_year),
    ("last/letzten/this/diesen {month}", _of_month),
    ("{sure} dernier/pasado/passado", _of_month),
    ("{in} {year}", _of_year),
    ("{in} the year {year}", _of_year),
    ("{in} jahr {year}", _of_year),
    ("en el ano {year}", _of_year),
    ("em/no ano {year}", _of_year),
    ("{on} {any} {day}", _of_day),
    ("{on} {day} {any}", _of_day),
    ("{on} the {day} of {any}", _of_day),
    ("{on} {day} de {any}", _of_day),
    ("{sure} {day}", _of_day),
    ("{day} {sure}", _of_day),
    ("{day} of/de {sure}", _of_day),
    ("{on} {weekday}", _of_weekday),
    ("{on} el {weekday}", _of_weekday),
    ("last/this/letzten/diesen {weekday}", _of_weekday),
    ("{weekday} dernier/pasado/passado/passada", _of_weekday),
    ("{weekday} feira passada", _of_weekday),
    ("last/this/letzten/diesen/vergangenen/cet {season}", _of_season),
    ("{season} dernier/pasado/pasada/passado/passada", _of_season),
    ("{season} of {year}", _of_season),
    ("{season} {year}", _of_season),
)
"""Phrases by their words, with ``/`` between words that mean the same; ``{…}`` is a word of that kind."""


_JOINED: Final[tuple[tuple[str, Meaning], ...]] = (
    ("{any} {year}", _of_month),
    ("{any} de/of {year}", _of_month),
    ("{month}", _of_month),
    ("{year}", _of_year),
    ("{weekday}", _of_weekday),
)
"""Phrases that mean a time only after "between … and", "from … to"."""

_OPENINGS: Final = {"{in}", "{on}", _THAN, _BETWEEN, "by"}

Phrase: TypeAlias = tuple[tuple[str, ...], Meaning]


@lru_cache(maxsize=1)
def _phrases_by_first_word() -> dict[str, list[Phrase]]:
    """Return the phrases by their first words, the longest first; those that begin with a number by an empty text.

    Most words begin no phrase, so most words of a question cost one lookup each.
    """
    found: dict[str, list[Phrase]] = {}
    kinds = {"in": IN, "on": ON, "unit": UNITS, "span": UNITS, "n": {*NUMBER_WORDS, ""}, "month": months()}
    kinds |= {
        "any": months(),
        "sure": months(),
        "year": {""},
        "day": {""},
        "weekday": DAYS_OF_WEEK,
        "season": SEASONS,
    }
    for phrase, meaning in sorted(_PHRASES, key=lambda one: -len(one[0].split())):
        pieces = tuple(phrase.split())
        for word in kinds[pieces[0][1:-1]] if pieces[0][0] == "{" else pieces[0].split("/"):
            found.setdefault(word, []).append((pieces, meaning))
    return found


RELATIONS: Final[dict[str, Relation]] = {
    **dict.fromkeys(["since", "seit", "depuis", "desde", "from", "von"], "since"),
    **dict.fromkeys(["after", "nach", "apres", "despues", "depois"], "after"),
    **dict.fromkeys(["before", "vor", "avant", "antes"], "before"),
    **dict.fromkeys(["until", "till", "by", "bis", "hasta", "ate"], "until"),
}
_LINKS: Final = word_set("the de dem der den le la el a o do da du del early late mid about around")
_JOINED_PIECES: Final = tuple((tuple(phrase.split()), meaning) for phrase, meaning in _JOINED)
_JOINS: Final = word_set("and und et y e to bis a hasta ate until till")
_LEADING: Final = word_set("in on at the during over im am den der des la le les el los en no na nos nas du al")
"""Words that belong to the phrase after them."""
_GERMAN: Final = word_set("ist der die das und wie wo ich nicht ein eine auf zu steht gibt finde")
_AMOUNTS: Final = word_set(
    "words tokens bytes bits lines characters chars people steps mb gb kb ms px dollars euros times files pages rows"
)


def day_spans(text: str, words: Sequence[QuestionWord], today: date) -> list[DaySpan]:
    """Return the phrases of a question that mean some days, in order and without overlap.

    A word like "since" before a phrase belongs to it, and two phrases that are joined ("from … to") are one.
    """
    return _bounded(_spans(text, words, today), words)


def _spans(text: str, words: Sequence[QuestionWord], today: date) -> list[DaySpan]:
    whole = _whole_dates(text, words)
    spans: list[DaySpan] = []
    index = 0
    while index < len(words):
        span = whole.get(index) or _phrase_at(words, index, today)
        if span is None and spans and spans[-1].end == index and words[index].plain in _JOINS:
            joined = _first_of(_JOINED_PIECES, words, index + 1, today)
            span = whole.get(index + 1) or joined
        elif span is not None and span.first not in whole and not whole.keys().isdisjoint(range(span.first, span.end)):
            span = None
        if span is not None:
            spans.append(span)
        index = span.end if span else index + 1
    return spans


def _whole_dates(text: str, words: Sequence[QuestionWord]) -> dict[int, DaySpan]:
    """Return the dates with a year by the number of their first word."""
    found: dict[int, DaySpan] = {}
    # Nothing else is a date, and most questions have no number.
    for one in dates_in(text) if any(word.plain.isdigit() and len(word.plain) == 4 for word in words) else ():
        inside = [index for index, word in enumerate(words) if one.start <= word.start and word.end <= one.end]
        day = datetime.fromtimestamp(one.seconds, UTC).date()
        if inside:
            found[inside[0]] = DaySpan(inside[0], inside[-1] + 1, day, day + timedelta(1))
    return found


def _phrase_at(words: Sequence[QuestionWord], index: int, today: date) -> DaySpan | None:
    word = words[index].plain
    if word == "hier" and any(one.plain in _GERMAN for one in words):
        return None  # in German that means "here"
    return _first_of(_phrases_by_first_word().get("" if word[0].isdigit() else word, ()), words, index, today)


def _first_of(phrases: Iterable[Phrase], words: Sequence[QuestionWord], index: int, today: date) -> DaySpan | None:
    for pieces, meaning in phrases:
        values = values_of(pieces, words, index)
        if values is None:
            continue
        end = index + len(pieces)
        if values.keys() == {"in", "year"} and end < len(words) and words[end].plain in _AMOUNTS:
            continue
        try:
            since, until = meaning(values, today)
        except (ValueError, OverflowError):  # no such day, or before the first year
            continue
        return DaySpan(index, end, since, until, pieces[0] in _OPENINGS)
    return None


def _month(values: Values) -> int:
    return int(next(values[kind] for kind in ("month", "any", "sure") if kind in values))


def _bounded(spans: Sequence[DaySpan], words: Sequence[QuestionWord]) -> list[DaySpan]:
    """Return the spans with the words before them: "since", "in the"; two that are joined become one."""
    found: list[DaySpan] = []
    for span in spans:
        before = found[-1] if found else None
        joined = before and span.first == before.end + 1 and words[before.end].plain in _JOINS
        if before and joined and before.since and span.until:
            since = before.since
            # "Between March and May 2023" names the year once.
            while since >= span.until:
                since = _month_after(since, -12)
            found[-1] = DaySpan(before.first, span.end, since, span.until)
        else:
            related = _related(span, words)
            first = related.first
            while first > 0 and words[first - 1].plain in _LEADING:
                first -= 1
            found.append(related._replace(first=first))
    return found


def _related(span: DaySpan, words: Sequence[QuestionWord]) -> DaySpan:
    first = span.first
    if not (span.opened and words[first].plain in RELATIONS):
        first -= 1
        while first >= 0 and words[first].plain in _LINKS:
            first -= 1
    match RELATIONS.get(words[first].plain) if first >= 0 else None:
        case "since":
            return DaySpan(first, span.end, span.since, None)
        case "after":
            return DaySpan(first, span.end, span.until, None)
        case "before":
            return DaySpan(first, span.end, None, span.since)
        case "until":
            return DaySpan(first, span.end, None, span.until)
        case _:
            return span


def common_days(spans: Sequence[DaySpan]) -> tuple[date | None, date | None]:
    """Return the days that all spans mean; if there are none, those of the first."""
    since = max((one.since for one in spans if one.since), default=None)
    until = min((one.until for one in spans if one.until), default=None)
    if since and until and since >= until:
        return spans[0].since, spans[0].until
    return since, until

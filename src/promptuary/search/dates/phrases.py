"""The phrases of a question that mean some days: "last week", "since March 2023", "between May and July".

A table of phrases, in which ``{…}`` stands for a kind of word. How a phrase is used is decided elsewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from promptuary.base.text_language import question_language
from promptuary.search.dates.calendar_days import (
    Days,
    ago,
    last_day_like,
    last_months_like,
    last_weekday,
    month_after,
    next_weekday,
    one_day,
    period,
    weekday_of,
)
from promptuary.search.dates.eastern import EasternDays
from promptuary.search.dates.time_words import (
    BRIEF_MONTHS,
    DAYS_OF_WEEK,
    IN,
    LONE_DAYS,
    NUMBER_WORDS,
    ON,
    ORDINAL_DAYS,
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

    ``opened``: the first word may be one like "since" or "in". ``coming`` is the next such day, if they may mean that
    as well: "on Monday", "on 3 December".
    """

    first: int
    end: int
    since: date | None
    until: date | None
    opened: bool = False
    coming: date | None = None


Meaning: TypeAlias = "Callable[[Values, date], Days]"


def _some_day(offset: int) -> Meaning:
    return lambda _, today: one_day(today + timedelta(offset))


def _some_unit(offset: int) -> Meaning:
    return lambda values, today: period(str(values.get("unit") or values.get("span")), offset, today)


def _ago(values: Values, today: date) -> Days:
    return ago(int(values["n"]), str(values["unit"]), today)


def _last_units(values: Values, today: date) -> Days:
    number, unit = int(values["n"]), str(values["unit"])
    days = {"day": number, "week": 7 * number, "weekend": 7 * number}.get(unit)
    months = number * (12 if unit == "year" else 1)
    return today - timedelta(days) if days is not None else month_after(today, -months), today + timedelta(1)


def _of_month(values: Values, today: date) -> Days:
    return last_months_like(_year(values), _month(values), 1, today)


def _of_day(values: Values, today: date) -> Days:
    return last_day_like(_year(values), _month(values), int(values["day"]), today)


def _of_days(values: Values, today: date) -> Days:
    first, last = (last_day_like(_year(values), _month(values), int(values[kind]), today) for kind in ("from", "day"))
    return first[0], last[1]


def _of_nth(values: Values, today: date) -> Days:
    first = today if int(values["nth"]) <= today.day else month_after(today.replace(day=1), -1)
    return one_day(first.replace(day=int(values["nth"])))


def _of_year(values: Values, today: date) -> Days:
    return last_months_like(int(values["year"]), 1, 12, today)


def _of_weekday(values: Values, today: date) -> Days:
    return last_weekday(_weekday(values), today)


def _of_past_weekday(values: Values, today: date) -> Days:
    return last_weekday(_weekday(values), today)


def _of_next_weekday(values: Values, today: date) -> Days:
    return next_weekday(_weekday(values), today)


def _of_last_week(values: Values, today: date) -> Days:
    return weekday_of(-1, _weekday(values), today)


def _of_season(values: Values, today: date) -> Days:
    return last_months_like(_year(values), int(values["season"]), 3, today)


def _weekday(values: Values) -> int:
    return int(next(values[kind] for kind in ("weekday", "lone", "feira") if kind in values))


def _year(values: Values) -> int | None:
    return int(values["year"]) if "year" in values else None


_THAN: Final = "antes/despues/depois"
_BETWEEN: Final = "between/from/zwischen/von/entre"
_RANGE: Final = f"{_BETWEEN}/vom/du/del/dal/do/tussen"
_TO: Final = "and/und/et/y/e/en/to/bis/au/a/al/ao/tot"
_LAST: Final = (
    "letzte/letzten/letztes/letzter/vergangene/vergangenen/vergangenes/vergangener/vorige/vorigen/voriges/voriger"
)
_LAST_AFTER: Final = "dernier/derniere/passe/passee/pasado/pasada/passado/passada/scorso/scorsa/passato/passata"
_LAST_BEFORE: Final = "pasado/pasada/scorso/scorsa/ultimo/ultima/vorig/vorige/afgelopen"
_PART_OF_DAY: Final = "morgen/fruh/vormittag/mittag/nachmittag/abend/nacht"
_WEEKDAYS_OF_LAST_WEEK: Final = (
    "{weekday} last week",
    "{weekday} of last week",
    f"{{weekday}} {_LAST} woche",
    "{weekday} de la semaine derniere/passee",
    "{weekday} de la semana pasada",
    "{weekday} da semana passada",
    "{weekday} feira da semana passada",
    "{weekday} della settimana scorsa/passata",
    "{weekday} della scorsa settimana",
    "{weekday} vorige/afgelopen week",
    "{weekday} van vorige/afgelopen week",
)
_PHRASES: Final[tuple[tuple[str, Meaning], ...]] = (
    ("today/tonight/heute/hoy/hoje/oggi/stasera/stamattina", _some_day(0)),
    ("vandaag/vanavond/vanmorgen/vanochtend/vanmiddag", _some_day(0)),
    ("this morning/afternoon/evening", _some_day(0)),
    ("ce matin/soir", _some_day(0)),
    ("cet apres midi", _some_day(0)),
    ("esta manana/tarde/noche/manha/noite", _some_day(0)),
    ("aujourd hui", _some_day(0)),
    (f"heute {_PART_OF_DAY}", _some_day(0)),
    (f"gestern {_PART_OF_DAY}", _some_day(-1)),
    (f"vorgestern {_PART_OF_DAY}", _some_day(-2)),
    ("the day before yesterday", _some_day(-2)),
    ("day before yesterday", _some_day(-2)),
    ("vorgestern/anteayer/antier/antiayer/anteontem/eergisteren/altroieri/avantieri", _some_day(-2)),
    ("avant hier", _some_day(-2)),
    ("antes de ayer", _some_day(-2)),
    ("l altro ieri", _some_day(-2)),
    ("altro ieri", _some_day(-2)),
    ("yesterday/gestern/hier/ayer/anoche/ontem/ieri", _some_day(-1)),
    ("gisteren/gisteravond/gistermiddag/gisterochtend/gistermorgen", _some_day(-1)),
    ("last night", _some_day(-1)),
    ("tomorrow/demain/amanha/domani/morgen/manana", _some_day(1)),
    ("ubermorgen/overmorgen/dopodomani", _some_day(2)),
    ("the day after tomorrow", _some_day(2)),
    ("apres demain", _some_day(2)),
    ("pasado manana", _some_day(2)),
    ("depois de amanha", _some_day(2)),
    ("this/diese/diesen/dieses/dieser/cette/ce/cet/esta/este/nesta/neste/questa/questo/deze/dit {unit}", _some_unit(0)),
    ("last/past/previous {span}", _some_unit(-1)),
    (f"{_LAST}/{_LAST_BEFORE} {{span}}", _some_unit(-1)),
    (f"{{span}} {_LAST_AFTER}", _some_unit(-1)),
    ("fin/fim de semana pasado/passado", lambda _, today: period("weekend", -1, today)),
    ("fine settimana scorso/passato", lambda _, today: period("weekend", -1, today)),
    ("scorso fine settimana", lambda _, today: period("weekend", -1, today)),
    ("week end dernier/passe", lambda _, today: period("weekend", -1, today)),
    ("next/nachste/nachsten/nachstes/volgende/komende/prossima/prossimo/proxima/proximo {span}", _some_unit(1)),
    ("last/past/letzten/vergangenen/ultimos/ultimas/ultimi/ultime/afgelopen/laatste {n} {unit}", _last_units),
    ("last/past couple of {unit}", lambda values, today: _last_units(values | {"n": 2}, today)),
    ("{n} derniers/dernieres {unit}", _last_units),
    ("{n} {unit} ago/atras/fa/geleden", _ago),
    ("a couple of {unit} ago", lambda values, today: _ago(values | {"n": 2}, today)),
    ("a few {unit} ago", lambda values, today: _ago(values | {"n": 3}, today)),
    ("a fortnight ago", lambda _, today: ago(2, "week", today)),
    ("een paar {unit} geleden", lambda values, today: _ago(values | {"n": 3}, today)),
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
    (f"{_RANGE} {{from}} {_TO} {{day}} {{sure}}", _of_days),
    (f"{_RANGE} {{from}} {_TO} {{day}} {{sure}} {{year}}", _of_days),
    (f"{_RANGE} {{from}} {_TO} {{day}} de {{sure}}", _of_days),
    (f"{_THAN} de {{month}}", _of_month),
    (f"{_THAN} de {{any}} de {{year}}", _of_month),
    (f"{_THAN} de {{year}}", _of_year),
    ("prima di {month}", _of_month),
    ("prima di {any} {year}", _of_month),
    ("by {sure}", _of_month),
    ("by {year}", _of_year),
    (f"last/this/diesen/{_LAST} {{month}}", _of_month),
    ("{sure} dernier/pasado/passado/scorso", _of_month),
    ("{in} {year}", _of_year),
    ("{in} the year {year}", _of_year),
    ("{in} jahr {year}", _of_year),
    ("en el ano {year}", _of_year),
    ("em/no ano {year}", _of_year),
    ("{on} {any} {day}", _of_day),
    ("{on} {day} {any}", _of_day),
    ("{on} the {day} of {any}", _of_day),
    ("{on} {day} de {any}", _of_day),
    ("{on} {any} the {day}", _of_day),
    ("{sure} {day}", _of_day),
    ("{sure} the {day}", _of_day),
    ("{day} {sure}", _of_day),
    ("{day} of/de {sure}", _of_day),
    ("{brief} {day}", _of_day),
    ("{day} {brief}", _of_day),
    ("{on} the {nth}", _of_nth),
    ("{on} {weekday}", _of_weekday),
    ("{on} el {weekday}", _of_weekday),
    ("{lone}", _of_weekday),
    ("na/no {feira}", _of_weekday),
    ("na/no {feira} feira", _of_weekday),
    ("{feira} feira", _of_weekday),
    (
        f"last/this/past/previous/diesen/diesem/letztem/cet/ce/questo/deze/{_LAST}/{_LAST_BEFORE} {{weekday}}",
        _of_past_weekday,
    ),
    (f"{{weekday}} {_LAST_AFTER}", _of_past_weekday),
    ("{weekday} feira passada", _of_past_weekday),
    ("ultima {feira} feira", _of_past_weekday),
    (
        "next/coming/nachsten/kommenden/prochain/proximo/proxima/prossimo/prossima/volgende/komende {weekday}",
        _of_next_weekday,
    ),
    ("{weekday} prochain", _of_next_weekday),
    *((f"{before}{phrase}", _of_last_week) for phrase in _WEEKDAYS_OF_LAST_WEEK for before in ("", "{on} ")),
    ("last week {weekday}", _of_last_week),
    ("last week on {weekday}", _of_last_week),
    (f"{_LAST} woche {{weekday}}", _of_last_week),
    (f"{_LAST} woche am {{weekday}}", _of_last_week),
    ("vorige/afgelopen week {weekday}", _of_last_week),
    ("vorige/afgelopen week op {weekday}", _of_last_week),
    (f"last/this/diesen/cet/{_LAST}/{_LAST_BEFORE} {{season}}", _of_season),
    ("{season} dernier/pasado/pasada/passado/passada/scorso/scorsa", _of_season),
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

_OPENINGS: Final = {"{in}", "{on}", _THAN, _BETWEEN, "by", "prima"}

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
        "lone": LONE_DAYS,
        "feira": ORDINAL_DAYS,
        "brief": BRIEF_MONTHS,
        "season": SEASONS,
    }
    for phrase, meaning in sorted(_PHRASES, key=lambda one: -len(one[0].split())):
        pieces = tuple(phrase.split())
        for word in kinds[pieces[0][1:-1]] if pieces[0][0] == "{" else pieces[0].split("/"):
            found.setdefault(word, []).append((pieces, meaning))
    return found


RELATIONS: Final[dict[str, Relation]] = {
    **dict.fromkeys(["since", "seit", "depuis", "desde", "from", "von", "dal", "sinds", "vanaf"], "since"),
    **dict.fromkeys(["after", "nach", "apres", "despues", "depois", "dopo"], "after"),
    **dict.fromkeys(["before", "vor", "avant", "antes", "prima", "voor"], "before"),
    **dict.fromkeys(["until", "till", "by", "bis", "hasta", "ate", "fino", "tot"], "until"),
}
_LINKS: Final = word_set("the de dem der den le la el a o do da du del early late mid about around il di del al")
_JOINED_PIECES: Final = tuple((tuple(phrase.split()), meaning) for phrase, meaning in _JOINED)
_JOINS: Final = word_set("and und et y e to bis a hasta ate until till")
_LEADING: Final = word_set(
    "in on at the during over im am den der des la le les el los en no na nos nas du al il lo op de nel dia"
)
"""Words that belong to the phrase after them."""
_NOT_FRENCH: Final = word_set(
    "ist der die das und wie wo ich nicht ein eine auf zu steht gibt finde wat waar het niet van hoe welke wanneer met"
)
_NOT_BEFORE: Final = {
    **dict.fromkeys(["morgen"], word_set("guten goeden goede am jeden den der vom einem diesen diesem s")),
    **dict.fromkeys(["manana"], word_set("la por de buenas cada las")),
    **dict.fromkeys(
        DAYS_OF_WEEK,
        word_set("black casual good happy every each jeden jede jeder chaque cada ogni elke ieder iedere tous les los"),
    ),
}
"""Words before one that then means something else: "guten Morgen", "por la mañana", "jeden Montag"."""
_OF_A_DATE: Final = word_set("date dates datum fecha data datetime timestamp")
"""Words after one that then means any such day: "yesterday's date"."""
_DAY_FIRST: Final = frozenset(["de", "es", "fr", "it", "nl", "pt"])
_AMOUNTS: Final = word_set(
    "words tokens bytes bits lines characters chars people steps mb gb kb ms px dollars euros times files pages rows"
)


def day_spans(
    text: str, words: Sequence[QuestionWord], today: date, eastern: Sequence[EasternDays] = ()
) -> list[DaySpan]:
    """Return the phrases of a question that mean some days, ``eastern`` ones among them, in order and without overlap.

    A word like "since" before a phrase belongs to it, and two phrases that are joined ("from … to") are one.
    """
    return _bounded(_spans(text, words, today, eastern), words)


def _spans(text: str, words: Sequence[QuestionWord], today: date, eastern: Sequence[EasternDays]) -> list[DaySpan]:
    whole = _whole_dates(text, words, today, eastern)
    is_question = text.rstrip().endswith("?")
    spans: list[DaySpan] = []
    index = 0
    while index < len(words):
        span = whole.get(index) or _phrase_at(words, index, today, is_question=is_question)
        if span is None and spans and spans[-1].end == index and words[index].plain in _JOINS:
            joined = _first_of(_JOINED_PIECES, words, index + 1, today)
            span = whole.get(index + 1) or joined
        elif span is not None and any(whole[at].end > span.end for at in range(span.first, span.end) if at in whole):
            span = None  # it would cut a date in two
        if span is not None:
            spans.append(span)
        index = span.end if span else index + 1
    return spans


def _whole_dates(
    text: str, words: Sequence[QuestionWord], today: date, eastern: Sequence[EasternDays]
) -> dict[int, DaySpan]:
    """Return the dates with a year, and phrases without spaces, by the number of their first word."""
    found: dict[int, DaySpan] = {}
    for start, end, since, until, coming in eastern:
        inside = [index for index, word in enumerate(words) if start <= word.start and word.end <= end]
        if inside:
            found[inside[0]] = DaySpan(inside[0], inside[-1] + 1, since, until, coming=coming)
    # Nothing else is a date, and most questions have no number.
    for one in dates_in(text) if any(word.plain.isdigit() and len(word.plain) == 4 for word in words) else ():
        inside = [index for index, word in enumerate(words) if one.start <= word.start and word.end <= one.end]
        if inside:
            day = datetime.fromtimestamp(one.seconds, UTC).date()
            found[inside[0]] = DaySpan(inside[0], inside[-1] + 1, *one_day(day))
    return found | _dates_in_numbers(text, words, today)


def _dates_in_numbers(text: str, words: Sequence[QuestionWord], today: date) -> dict[int, DaySpan]:
    """Return the dates like "am 3.9." and "13/9/2026" by the number of their first word.

    Without a year a word like "on" must be before it: "3.9." may be a version. Which number is the month must be clear.
    """
    found: dict[int, DaySpan] = {}
    for index, pair in enumerate(pairwise(words)):
        if not all(word.plain.isdecimal() and len(word.plain) <= 2 for word in pair):
            continue
        first, second = pair
        between, after = text[first.end : second.start], text[second.end : second.end + 1]
        third = words[index + 2] if index + 2 < len(words) else None
        year = None
        if third and third.start == second.end + 1 and after == between and len(third.plain) == 4:
            year = int(third.plain) if third.plain.isdecimal() else None
        day, month = int(first.plain), int(second.plain)
        if between == "/" and year and day <= 12 < month:
            day, month = month, day
        clear = between == "/" and year and (day > 12 or day == month or question_language(text) in _DAY_FIRST)
        opened = between == "." and after == "." and index and words[index - 1].plain in ON
        if clear or opened:
            with suppress(ValueError):
                since, until = last_day_like(year, month, day, today)
                found[index] = DaySpan(index, index + (3 if year else 2), since, until)
    return found


def _phrase_at(words: Sequence[QuestionWord], index: int, today: date, *, is_question: bool) -> DaySpan | None:
    word = words[index].plain
    if word == "hier" and any(one.plain in _NOT_FRENCH for one in words):
        return None  # in German and Dutch that means "here"
    if index and words[index - 1].plain in _NOT_BEFORE.get(word, ()):
        return None
    if word in DAYS_OF_WEEK and index == len(words) - 1 > 1 and is_question:  # "What did I do Thursday?"
        return DaySpan(index, index + 1, *last_weekday(DAYS_OF_WEEK[word], today))
    found = _first_of(_phrases_by_first_word().get("" if word[0].isdigit() else word, ()), words, index, today)
    if found is None:
        return None
    after = [following.plain for following in words[found.end : found.end + 2]]
    is_any = not _OF_A_DATE.isdisjoint(after[1:] if after[:1] == ["s"] else after[:1])
    return None if is_any else found


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
        return DaySpan(index, end, since, until, pieces[0] in _OPENINGS, _coming(meaning, values, since))
    return None


def _coming(meaning: Meaning, values: Values, since: date) -> date | None:
    """Return the next day that is named like the one that was last."""
    if meaning not in (_of_day, _of_weekday):
        return None
    reach = 366 if meaning is _of_day else 8
    with suppress(ValueError, OverflowError):  # in most years there is no 29th of February
        return meaning(values, since + timedelta(reach))[0]
    return None


def _month(values: Values) -> int:
    return int(next(values[kind] for kind in ("month", "any", "sure", "brief") if kind in values))


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
                since = month_after(since, -12)
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

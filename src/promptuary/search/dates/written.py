"""Parses dates in headings and beside messages: numbers, or the name of a month in seven languages.

Pure. A date without a time is midnight in UTC; an impossible one is ignored. What a date refers to is decided
elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Final, Literal, NamedTuple

_YEARS: Final = range(1900, 2200)

_MONTH_NAMES: Final = """
january jan januar jänner janvier janv enero ene janeiro gennaio gen januari
february feb februar février fevrier févr fevr febrero fevereiro fev febbraio februari
march mar märz maerz mär mars marzo março marco maart mrt
april apr avril avr abril abr aprile
may mai mayo maio maggio mag mei
june jun juni juin junio junho giugno giu
july jul juli juillet juil julio julho luglio lug
august aug août aout agosto ago augustus
september sep sept septembre septiembre setiembre setembro set settembre
october oct oktober okt octobre octubre outubro out ottobre ott
november nov novembre noviembre novembro
december dec dezember dez décembre decembre déc diciembre dic dezembro dicembre
"""

MONTHS: Final = {name: number for number, names in enumerate(_MONTH_NAMES.split("\n")) for name in names.split()}
"""Names of months and their abbreviations in lower case, in seven languages."""

_MONTH = r"([^\W\d_]{3,10})\.?"
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th|er|[.ºª])?"
_AFTER_DAY: Final = "stndrdther.ºª"
_LONGEST: Final = 400
"""How many characters of a heading or a stamp are searched for a date."""
_FORMS: Final = (
    r"(?<![0-9])(?P<y>[0-9]{4})([-/._])(?P<m>[0-9]{1,2})\2(?P<d>[0-9]{1,2})(?![0-9])",
    rf"(?<!\w)(?P<d>{_DAY}) (?:of |de )?(?P<m>{_MONTH}),? (?:de |del )?(?P<y>[0-9]{{4}})(?![0-9])",
    rf"(?<!\w)(?P<m>{_MONTH}) (?P<d>{_DAY}),? (?P<y>[0-9]{{4}})(?![0-9])",
    r"(?<![0-9.])(?P<d>[0-9]{1,2})\. ?(?P<m>[0-9]{1,2})\. ?(?P<y>[0-9]{4})(?![0-9])",
    r"(?<![0-9])(?P<y>[0-9]{4}) ?年 ?(?P<m>[0-9]{1,2}) ?月 ?(?P<d>[0-9]{1,2}) ?[日号號]",
)
_WITHOUT_YEAR: Final = (
    rf"(?<!\w)(?P<d>{_DAY}) (?:of |de )?(?P<m>{_MONTH})(?!\w)",
    rf"(?<!\w)(?P<m>{_MONTH}) (?P<d>{_DAY})(?!\w)",
    r"(?<![0-9])(?P<m>[0-9]{1,2}) ?月 ?(?P<d>[0-9]{1,2}) ?[日号號]",
)
_NUMBERS = r"(?<![0-9])([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})(?![0-9])"
_CLOCK = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]{1,9})?)?(?:[ \u202f]?([AaPp])\.?[Mm]\b\.?)?"
_TIME = rf"(?<![0-9:]){_CLOCK}(?![0-9:])"
_ZONE = r"(?:[ ]?(?:([Zz]\b|UTC|GMT)|([+-])([0-9]{2}):?([0-9]{2})))?"
_TIME_AFTER = rf"[,T]?[ ]{{0,2}}(?:\([^\W\d_]{{2,10}}\.?\)[ ]?)?(?:(?:at|um|à|às|,|-)[ ])?{_CLOCK}{_ZONE}(?![0-9:])"
_TIME_BEFORE = rf"(?<![0-9:]){_CLOCK}(?: on| am| le| el| em|,)?[ ]\Z"
_WORD = r"[^\W\d_]+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled on first use: most searches need none."""
    return re.compile(pattern)


class Found(NamedTuple):
    """A date in a text: seconds since 1970, and where it begins and ends, with its time."""

    seconds: int
    start: int
    end: int


def dates_in(text: str) -> Iterator[Found]:
    """Yield the dates in ``text`` that are written with a year of four digits first, or with the name of a month."""
    for form in _FORMS:
        for match in _compiled(form).finditer(text):
            month = _month(match["m"])
            if month is None:
                continue
            start, end, time, ahead = match.start(), match.end(), (0, 0, 0), timedelta()
            if after := _compiled(_TIME_AFTER).match(text, end):
                time, ahead, end = _time(after), _ahead(after), after.end()
            elif before := _compiled(_TIME_BEFORE).search(text, max(0, start - 20), start):
                time, start = _time(before), before.start()
            date = int(match["y"]), month, int(match["d"].rstrip(_AFTER_DAY))
            found = seconds(*date, time, ahead)
            if found is None:  # the text beside the date is not a time
                found = seconds(*date)
            if found is not None:
                yield Found(found, start, end)


def day_of_month(line: str) -> tuple[int, int] | None:
    """Return the month and the day of a line that is a date without a year, except for one word: "Monday, 8 May"."""
    if len(line) > 80:
        return None
    for form in _WITHOUT_YEAR:
        for match in _compiled(form).finditer(line):
            month, day = _month(match["m"]), int(match["d"].rstrip(_AFTER_DAY))
            around = f"{line[: match.start()]} {line[match.end() :]}"
            if month and 1 <= day <= 31 and len(_compiled(_WORD).findall(around)) <= 1:
                return month, day
    return None


def first_date(text: str) -> int | None:
    """Return the first date in ``text`` as seconds since 1970."""
    found = min(dates_in(text[:_LONGEST]), key=lambda one: one.start, default=None)
    return found.seconds if found else None


def lone_date(line: str) -> int | None:
    """Return the date of a line that is only a date, except for one word (a weekday) and marks around it."""
    if len(line) > 80:
        return None
    for found in dates_in(line):
        if len(_compiled(_WORD).findall(f"{line[: found.start]} {line[found.end :]}")) <= 1:
            return found.seconds
    return None


Order = Literal["dmy", "mdy"]
"""Whether the first number of a date like 08/05/2023 is the day or the month."""


def order_of(stamps: Sequence[str]) -> Order | None:
    """Return the order of dates whose numbers may both be the month; ``None`` if unknown."""
    for stamp in stamps:
        if match := _compiled(_NUMBERS).search(stamp):
            first, second = int(match[1]), int(match[3])
            if match[2] == "." or first > 12:
                return "dmy"
            if second > 12:
                return "mdy"
    return None


def stamp_date(stamp: str, order: Order | None, day: int | None) -> int | None:
    """Return the date of a message by its stamp: a date with a time, or a time of the day that begins at ``day``."""
    if (found := first_date(stamp)) is not None:
        return found
    time = _compiled(_TIME).search(stamp)
    clock = _time(time) if time else (0, 0, 0)
    if match := _compiled(_NUMBERS).search(stamp):
        if order is None:
            return None
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        date, month = (one, other) if order == "dmy" else (other, one)
        return seconds(year if year > 99 else 2000 + year, month, date, clock)
    if day is None or time is None or clock[0] > 23 or clock[1] > 59:
        return day
    return day - day % 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]


def seconds(
    year: int, month: int, day: int, time: tuple[int, int, int] = (0, 0, 0), ahead: timedelta = timedelta()
) -> int | None:
    """Return a date as seconds since 1970; ``None`` if there is no such date. ``ahead`` is its offset from UTC."""
    if year not in _YEARS:
        return None
    try:
        zone = timezone(ahead) if ahead else UTC
        return int(datetime(year, month, day, *time, tzinfo=zone).timestamp())
    except ValueError:
        return None


def _month(word: str) -> int | None:
    return int(word) if word.isdecimal() else MONTHS.get(word.rstrip(".").lower())


def _time(match: re.Match[str]) -> tuple[int, int, int]:
    hour, minute, second = (int(match[group] or 0) for group in (1, 2, 3))
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "pP" else 0)
    return hour, minute, second


def _ahead(match: re.Match[str]) -> timedelta:
    ahead = timedelta(hours=int(match[7] or 0), minutes=int(match[8] or 0))
    return -ahead if match[6] == "-" else ahead

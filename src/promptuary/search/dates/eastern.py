"""The phrases of Japanese and Chinese that mean some days: 昨日, 3日前, 先週の木曜日, 上周四, 2026年9月3日.

There are no spaces between words, so phrases are found in the text. Pure; each pattern is tried once at each place.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import Final, NamedTuple, TypeAlias

from promptuary.search.dates.calendar_days import (
    Days,
    ago,
    last_day_like,
    last_months_like,
    last_weekday,
    one_day,
    period,
    weekday_of,
)

_LONGEST: Final = 400
"""Characters of a question; a longer text was pasted."""
_ANY: Final = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_N = r"([0-9０-９]{1,3}|[一二三四五六七八九十两兩〇]{1,3})"
_YEAR = r"([0-9０-９]{4})\s?年\s?"
_UNITS: Final = {
    **dict.fromkeys("日天", "day"),
    **dict.fromkeys("周週期拜間", "week"),
    **dict.fromkeys("月", "month"),
    **dict.fromkeys("年", "year"),
}
"""Units of time by the last character of their names."""
_WEEKDAYS: Final = {"月": 0, "火": 1, "水": 2, "木": 3, "金": 4, "土": 5, "日": 6}
_NUMBERED: Final = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_DIGITS: Final = {
    "〇": 0,
    "一": 1,
    "二": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "两": 2,
    "兩": 2,
}
_WEEKS: Final = {"先": -1, "上": -1, "今": 0, "这": 0, "這": 0, "本": 0, "来": 1, "來": 1, "下": 1}
_DAY_WORDS: Final = {
    **dict.fromkeys(["今日", "本日", "今天", "今朝", "今晩", "今晚", "今夜"], 0),
    **dict.fromkeys(["昨日", "昨天", "昨夜", "昨晩", "昨晚", "きのう"], -1),
    **dict.fromkeys(["一昨日", "おととい", "前天"], -2),
    **dict.fromkeys(["大前天", "さきおととい"], -3),
    **dict.fromkeys(["明日", "明天", "あした"], 1),
    **dict.fromkeys(["明後日", "あさって", "后天", "後天"], 2),
}
_PERIODS: Final = {
    **dict.fromkeys(["今週", "今周", "这周", "這週", "本周", "本週", "这个星期", "這個星期", "本星期"], ("week", 0)),
    **dict.fromkeys(["先週", "上周", "上週", "上个星期", "上個星期", "上星期", "上个礼拜", "上礼拜"], ("week", -1)),
    **dict.fromkeys(["先々週", "上上周", "上上週"], ("week", -2)),
    **dict.fromkeys(["来週", "下周", "下週", "下个星期", "下星期"], ("week", 1)),
    **dict.fromkeys(["今月", "这个月", "這個月", "本月"], ("month", 0)),
    **dict.fromkeys(["先月", "上个月", "上個月", "上月"], ("month", -1)),
    **dict.fromkeys(["来月", "下个月", "下個月"], ("month", 1)),
    **dict.fromkeys(["今年"], ("year", 0)),
    **dict.fromkeys(["去年", "昨年"], ("year", -1)),
    **dict.fromkeys(["来年", "明年"], ("year", 1)),
    **dict.fromkeys(["先週末", "上周末", "上週末", "上个周末"], ("weekend", -1)),
    **dict.fromkeys(["今週末", "这周末", "這週末", "这个周末", "本周末"], ("weekend", 0)),
}


class EasternDays(NamedTuple):
    """The characters ``start`` to ``end`` (excluded) mean the days from ``since`` on and before ``until``.

    ``coming`` is the next such day, if they may mean that as well.
    """

    start: int
    end: int
    since: date | None
    until: date | None
    coming: date | None = None


_Meaning: TypeAlias = Callable[[re.Match[str], date], Days]


def eastern_days(text: str, today: date) -> list[EasternDays]:
    """Return the phrases of a text that mean some days, in order and without overlap."""
    if text.isascii() or len(text) > _LONGEST or not _ANY.search(text):
        return []
    found: list[EasternDays] = []
    taken = 0
    for start, match, meaning in _matches(text):
        if start < taken:
            continue
        try:
            since, until = meaning(match, today)
        except (ValueError, OverflowError):  # no such day, or before the first year
            continue
        related = _RELATION.match(text, match.end())
        taken = related.end() if related else match.end()
        span = _related(start, taken, since, until, related[0] if related else "")
        if not related and meaning is _of_day and not match[1]:
            with suppress(ValueError, OverflowError):  # in most years there is no 29th of February
                span = span._replace(coming=meaning(match, since + timedelta(366))[0])
        found.append(span)
    return found


def _matches(text: str) -> Iterator[tuple[int, re.Match[str], _Meaning]]:
    """Yield every match by its place, of those at the same place the longest first."""
    every = [(match.start(), -match.end(), match, meaning) for form, meaning in _FORMS for match in form.finditer(text)]
    for start, _, match, meaning in sorted(every, key=lambda found: found[:2]):
        yield start, match, meaning


_RELATION: Final = re.compile("から|以降|以来|之后|之後|以后|以後|まで|之前|以前|より前")


def _related(start: int, end: int, since: date, until: date, word: str) -> EasternDays:
    match word:
        case "から" | "以降" | "以来":
            return EasternDays(start, end, since, None)
        case "之后" | "之後" | "以后" | "以後":
            return EasternDays(start, end, until, None)
        case "まで":
            return EasternDays(start, end, None, until)
        case "之前" | "以前" | "より前":
            return EasternDays(start, end, None, since)
        case _:
            return EasternDays(start, end, since, until)


def _number(word: str) -> int:
    """Return the value of a number in digits of any width, or in characters up to 99. Raises ``ValueError``."""
    if word[0].isdigit():
        return int(word)
    tens, ten, ones = word.partition("十")
    if not ten:
        if len(word) > 1:
            raise ValueError(word)
        return _DIGITS[word]
    if len(tens) > 1 or len(ones) > 1:
        raise ValueError(word)
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def _day_word(match: re.Match[str], today: date) -> Days:
    return one_day(today + timedelta(_DAY_WORDS[match[0]]))


def _period(match: re.Match[str], today: date) -> Days:
    unit, offset = _PERIODS[match[0]]
    return period(unit, offset, today)


def _ago(match: re.Match[str], today: date) -> Days:
    return ago(_number(match[1]), _UNITS[match[2][-1]], today)


def _of_week(weekdays: Mapping[str, int]) -> _Meaning:
    return lambda match, today: weekday_of(_WEEKS[match[1]], weekdays[match[2]], today)


def _weekday(weekdays: Mapping[str, int]) -> _Meaning:
    return lambda match, today: last_weekday(weekdays[match[1]], today)


def _of_day(match: re.Match[str], today: date) -> Days:
    return last_day_like(int(match[1]) if match[1] else None, _number(match[2]), _number(match[3]), today)


def _of_month(match: re.Match[str], today: date) -> Days:
    return last_months_like(int(match[1]) if match[1] else None, _number(match[2]), 1, today)


def _of_year(match: re.Match[str], today: date) -> Days:
    return last_months_like(int(match[1]), 1, 12, today)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: -len(word)))


_WEEK = r"(?:周|週|星期|礼拜|禮拜)"
_FORMS: Final[tuple[tuple[re.Pattern[str], _Meaning], ...]] = (
    (re.compile(_any_of(_DAY_WORDS)), _day_word),
    (re.compile(_any_of(_PERIODS)), _period),
    (re.compile(rf"{_N}\s?(日|天|週間|[个個]?(?:周|週|星期|礼拜|禮拜)|[かヶカヵケ个個]?月|年)\s?前"), _ago),
    (re.compile(r"([先今来])週の?([月火水木金土日])曜日?"), _of_week(_WEEKDAYS)),
    (re.compile(rf"([上这這本下])[个個]?{_WEEK}([一二三四五六日天])"), _of_week(_NUMBERED)),
    (re.compile(r"(?<!毎週)([月火水木金土日])曜日?"), _weekday(_WEEKDAYS)),
    (re.compile(rf"(?<![每毎一]){_WEEK}([一二三四五六日天])"), _weekday(_NUMBERED)),
    (re.compile(rf"(?:{_YEAR})?{_N}\s?月\s?{_N}\s?[日号號]"), _of_day),
    (re.compile(rf"(?:{_YEAR})?{_N}\s?月"), _of_month),
    (re.compile(_YEAR), _of_year),
)

"""The words of a question, and the words that name times. Does not know phrases."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from promptuary.search.dates.written import MONTHS

MOST_WORDS: Final = 60
"""The most words of a question."""


class QuestionWord(NamedTuple):
    """A word without accents and case, and where it is in the text."""

    plain: str
    start: int
    end: int


_WORD: Final = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[QuestionWord]:
    """Return the words of ``text``; of a long one only one more than ``MOST_WORDS``."""
    found = []
    for match in _WORD.finditer(text):
        found.append(QuestionWord(plain_word(match[0]), match.start(), match.end()))
        if len(found) > MOST_WORDS:
            break
    return found


def plain_word(word: str) -> str:
    """Return a word without case and accents; but ç stays: março is a month, Marco a man."""
    if word.isascii():
        return word.lower()
    spelled = unicodedata.normalize("NFKD", word.lower().replace("ç", "\0"))
    return "".join(one for one in spelled if not unicodedata.combining(one)).replace("\0", "ç")


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _numbered(lines: str) -> dict[str, int]:
    return {word: number for number, line in enumerate(lines.strip().split("\n")) for word in line.split()}


UNITS: Final = {
    **dict.fromkeys(["day", "days", "tag", "tage", "tagen", "jour", "jours", "dia", "dias"], "day"),
    **dict.fromkeys(["week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas"], "week"),
    **dict.fromkeys(["month", "months", "monat", "monate", "monaten", "mois", "mes", "meses"], "month"),
    **dict.fromkeys(
        ["year", "years", "jahr", "jahre", "jahren", "an", "ans", "annee", "annees", "ano", "anos"], "year"
    ),
    **dict.fromkeys(["weekend", "wochenende", "fds"], "weekend"),
}
DAYS_OF_WEEK: Final = _numbered("""
monday montag lundi lunes segunda
tuesday dienstag mardi martes terça
wednesday mittwoch mercredi miercoles quarta
thursday donnerstag jeudi jueves quinta
friday freitag vendredi viernes sexta
saturday samstag sonnabend samedi sabado
sunday sonntag dimanche domingo
""")
NUMBER_WORDS: Final = _numbered("""
null
a an one ein eine einem einer einen un une una um uma
two zwei deux dos dois duas couple
three drei trois tres few paar
four vier quatre cuatro quatro
five funf cinq cinco
six sechs seis
seven sieben sept siete sete
eight acht huit ocho oito
nine neun neuf nueve nove
ten zehn dix diez dez
eleven elf onze once
twelve zwolf douze doce doze
""")
SEASONS: Final = {
    **dict.fromkeys(["spring", "fruhling", "fruhjahr", "printemps", "primavera"], 3),
    **dict.fromkeys(["summer", "sommer", "ete", "verano", "verao"], 6),
    **dict.fromkeys(["autumn", "fall", "herbst", "automne", "otono", "outono"], 9),
    **dict.fromkeys(["winter", "hiver", "invierno", "inverno"], 12),
}
"""The month in which a season begins."""
_SHORT: Final = word_set(
    "jan ene janv feb fev fevr mar marco apr abr avr jun jul juil aug ago sep sept set oct okt out nov dec dez dic"
)
"""Abbreviations of months, many of which are also other words: they need a year or a day beside them."""
_ALSO_WORDS: Final = _SHORT | word_set("may march mars")
"""Names of months that are also other words: they need a word like "in" before them."""


@lru_cache(maxsize=1)
def months() -> dict[str, int]:
    """Return the numbers of the months by their names without accents."""
    return {plain_word(name): number for name, number in MONTHS.items()}


def _year(word: str) -> int | None:
    return int(word) if len(word) == 4 and word.isascii() and word.isdigit() and 1950 <= int(word) <= 2100 else None


def _number(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= 3 else None
    return NUMBER_WORDS.get(word)


def _day_of_month(word: str) -> int | None:
    digits = word[:2] if word[:2].isdigit() else word[:1]
    whole = digits.isascii() and digits.isdigit() and word[len(digits) :] in {"", "st", "nd", "rd", "th", "er"}
    return int(digits) if whole and 1 <= int(digits) <= 31 else None


IN: Final = word_set(
    "in im en em during since until till before after seit vor nach bis depuis avant apres desde hasta ate"
)
ON: Final = word_set(
    "on am le el em since until till before after by seit vor nach bis depuis avant apres desde hasta ate"
)
_KINDS: Final[dict[str, Callable[[str], int | str | None]]] = {
    "in": lambda word: 1 if word in IN else None,
    "on": lambda word: 1 if word in ON else None,
    "unit": UNITS.get,
    "span": lambda word: None if UNITS.get(word) == "day" else UNITS.get(word),
    "n": _number,
    "month": lambda word: months().get(word) if word not in _SHORT else None,
    "any": lambda word: months().get(word),
    "sure": lambda word: months().get(word) if word not in _ALSO_WORDS else None,
    "year": _year,
    "day": _day_of_month,
    "weekday": DAYS_OF_WEEK.get,
    "season": SEASONS.get,
}
"""The words that ``{…}`` in a phrase stands for, and their values."""


Values: TypeAlias = dict[str, int | str]
"""The values of the words that match a phrase, by their kind."""


def values_of(pieces: Sequence[str], words: Sequence[QuestionWord], index: int) -> Values | None:
    """Return the values of the words from ``index`` on for the kinds in a phrase; ``None`` if they do not match it."""
    if index + len(pieces) > len(words):
        return None
    values: Values = {}
    for offset, piece in enumerate(pieces):
        word = words[index + offset].plain
        if piece[0] != "{":
            if word not in piece.split("/"):
                return None
            continue
        value = _KINDS[piece[1:-1]](word)
        if value is None:
            return None
        values[piece[1:-1]] = value
    return values

"""The words of a question, and the words that name times. Does not know phrases."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
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


def words_of(text: str, ends: Sequence[int] = ()) -> list[QuestionWord]:
    """Return the words of ``text``, which also end at ``ends``; of a long one a few more than ``MOST_WORDS``."""
    found = []
    for match in _WORD.finditer(text):
        places = [match.start(), *(end for end in ends if match.start() < end < match.end()), match.end()]
        found += [QuestionWord(plain_word(text[start:end]), start, end) for start, end in pairwise(places)]
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


def _same(**lines: str) -> dict[str, str]:
    return {word: meaning for meaning, words in lines.items() for word in words.split()}


UNITS: Final = _same(
    day="day days tag tage tagen jour jours dia dias giorno giorni dag dagen",
    week="week weeks weken woche wochen semaine semaines semana semanas settimana settimane",
    fortnight="fortnight",
    month="month months monat monate monaten mois mes meses mese mesi maand maanden",
    year="year years jahr jahre jahren an ans annee annees ano anos anno anni jaar jaren",
    weekend="weekend wochenende fds weekeinde",
)
DAYS_OF_WEEK: Final = _numbered("""
monday montag lundi lunes segunda lunedi maandag
tuesday dienstag mardi martes terça martedi dinsdag
wednesday mittwoch mercredi miercoles quarta mercoledi woensdag
thursday donnerstag jeudi jueves quinta giovedi donderdag
friday freitag vendredi viernes sexta venerdi vrijdag
saturday samstag sonnabend samedi sabado sabato zaterdag
sunday sonntag dimanche domingo domenica zondag
""")
ORDINAL_DAYS: Final = _numbered("segunda\nterça\nquarta\nquinta\nsexta\nsabado\ndomingo")
"""The days of the week in Portuguese, of which most are ordinal numbers, too."""
LONE_DAYS: Final = (
    frozenset(DAYS_OF_WEEK)
    - frozenset(ORDINAL_DAYS)
    - word_set("monday tuesday wednesday thursday friday saturday sunday")
)
"""Days of the week that people also name without any word before them: "Qu'ai-je fait jeudi ?"."""
NUMBER_WORDS: Final = _numbered("""
null
a an one ein eine einem einer einen un une una um uma uno een
two zwei deux dos dois duas couple due twee
three drei trois tres few paar tre drie
four vier quatre cuatro quatro quattro
five funf cinq cinco cinque vijf
six sechs seis sei zes
seven sieben sept siete sete sette zeven
eight acht huit ocho oito otto
nine neun neuf nueve nove negen
ten zehn dix diez dez dieci tien
eleven elf onze once undici
twelve zwolf douze doce doze dodici twaalf
thirteen dreizehn treize trece treze tredici dertien
fourteen vierzehn quatorze catorce catorze quattordici veertien
fifteen funfzehn quinze quince quindici vijftien
sixteen sechzehn seize dieciseis dezesseis sedici zestien
seventeen siebzehn diecisiete dezessete diciassette zeventien
eighteen achtzehn dieciocho dezoito diciotto achttien
nineteen neunzehn diecinueve dezenove diciannove negentien
twenty zwanzig vingt veinte vinte venti twintig
""") | dict.fromkeys(word_set("thirty dreissig dreißig trente treinta trinta trenta dertig"), 30)
SEASONS: Final = {
    **dict.fromkeys(["spring", "fruhling", "fruhjahr", "printemps", "primavera", "lente"], 3),
    **dict.fromkeys(["summer", "sommer", "ete", "verano", "verao", "estate", "zomer"], 6),
    **dict.fromkeys(["autumn", "fall", "herbst", "automne", "otono", "outono", "autunno", "herfst"], 9),
    **dict.fromkeys(["winter", "hiver", "invierno", "inverno"], 12),
}
"""The month in which a season begins."""
_SHORT: Final = word_set(
    "jan ene janv feb fev fevr mar marco apr abr avr jun jul juil aug ago sep sept set oct okt out nov dec dez dic "
    "gen mag giu lug ott mrt"
)
"""Abbreviations of months, many of which are also other words: they need a year or a day beside them."""
_ALSO_WORDS: Final = _SHORT | word_set("may march mars")
"""Names of months that are also other words: they need a word like "in" before them."""
BRIEF_MONTHS: Final = word_set("jan janv feb febr fevr apr avr jun jul juil aug sep sept okt oct nov dec dez mrt")
"""Abbreviations that with a day beside them are nothing else."""


@lru_cache(maxsize=1)
def months() -> dict[str, int]:
    """Return the numbers of the months by their names without accents."""
    return {plain_word(name): number for name, number in MONTHS.items()}


_ORDINAL_ENDINGS: Final = frozenset(["", "st", "nd", "rd", "th", "er", "e", "de", "ste", "o"])


def _year(word: str) -> int | None:
    return int(word) if len(word) == 4 and word.isascii() and word.isdigit() and 1950 <= int(word) <= 2100 else None


def _number(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= 3 else None
    return NUMBER_WORDS.get(word)


def _day_of_month(word: str) -> int | None:
    digits = word[:2] if word[:2].isdigit() else word[:1]
    whole = digits.isascii() and digits.isdigit() and word[len(digits) :] in _ORDINAL_ENDINGS
    return int(digits) if whole and 1 <= int(digits) <= 31 else None


IN: Final = word_set(
    "in im en em during since until till before after seit vor nach bis depuis avant apres desde hasta ate "
    "nel nell dal dopo fino sinds vanaf voor tot"
)
ON: Final = word_set(
    "on am le el em since until till before after by seit vor nach bis depuis avant apres desde hasta ate "
    "vom il dal dell l dopo fino op sinds vanaf voor tot"
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
    "from": _day_of_month,
    "weekday": DAYS_OF_WEEK.get,
    "lone": lambda word: DAYS_OF_WEEK[word] if word in LONE_DAYS else None,
    "feira": ORDINAL_DAYS.get,
    "brief": lambda word: months().get(word) if word in BRIEF_MONTHS else None,
    "nth": lambda word: _day_of_month(word) if not word[-1].isdigit() else None,
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

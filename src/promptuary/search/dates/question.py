"""Parses the time and the order that a question asks for: "last week", "in March", "since Tuesday", "the latest".

Pure and linear; the clock is an argument. English, and the common phrases in German, French, Spanish, Portuguese,
Italian and Dutch, word by word, ignoring accents and case; days also in Japanese and Chinese. The caller decides how
to use the bounds: a phrase may also date something other than what is sought, so they are a preference rather than a
filter. A long text is not parsed at all: it was
pasted, and its dates are not those of the question.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from promptuary.search.dates.eastern import eastern_days
from promptuary.search.dates.phrases import RELATIONS, DaySpan, Relation, common_days, day_spans
from promptuary.search.dates.time_words import MOST_WORDS, QuestionWord, values_of, word_set, words_of

Order: TypeAlias = Literal["newest", "oldest"]


class TimeHint(Struct, frozen=True):
    """What a question says about time. It is false if it says nothing.

    ``since`` and ``until`` (excluded) are seconds since 1970. ``order`` says what comes first, if the question asks for
    the latest or the first. ``event`` is what ``relation`` refers to, if that is not a date: "the move" in "before the
    move". ``rest`` is the question without these words. ``coming`` is the next day that "on Monday" may mean
    as well as the last.
    """

    rest: str
    since: int | None = None
    until: int | None = None
    order: Order | None = None
    event: str = ""
    relation: Relation | None = None
    coming: int | None = None

    def __bool__(self) -> bool:
        return self != TimeHint(self.rest)

    def days(self, now: datetime) -> range | None:
        """Return the days that it names, counted from 1970; ``None`` if they have no beginning.

        What has no end ends with the day of ``now``.
        """
        if self.since is None:
            return None
        first, today = self.since // _DAY, day_number(now)
        return range(first, max(first, today) + 1) if self.until is None else range(first, self.until // _DAY)

    @property
    def coming_days(self) -> range | None:
        """The next such day, if that may be meant as well."""
        return None if self.coming is None else range(self.coming // _DAY, self.coming // _DAY + 1)


def day_number(now: datetime) -> int:
    """Return the day of the calendar that ``now`` is in, counted from 1970."""
    return (now.date() - _EPOCH).days


def asks_for_something(text: str) -> bool:
    """Return whether a text asks or tells somebody to look something up, in languages that need no question mark."""
    first = next(iter(words_of(text[:_BEGINNING])), None)
    return (first is not None and first.plain in _REQUESTS) or _EASTERN_QUESTION.search(text) is not None


def proposes(text: str) -> bool:
    """Return whether a text begins like a proposal: "shall we go on tomorrow?"."""
    return any(word.plain in _PROPOSALS for word in words_of(text[:_BEGINNING])[:1])


def asks_for_a_thing(text: str) -> bool:
    """Return whether a text begins with a word like "what" or "where": small talk asks how it is, and whether."""
    return any(word.plain in _THINGS for word in words_of(text[:_BEGINNING])[:2])


_DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1)
_BEGINNING: Final = 40
_REQUESTS: Final = word_set(
    "show list find summarise summarize recap zeig zeige nenne liste fasse suche finde montre resume raconte trouve "
    "muestra muestrame resumeme busca encuentra mostra mostrami trova riassumi elenca mostre resuma encontre toon zoek "
    "noem"
)
_THINGS: Final = word_set(
    "what which who whom where when was welche welcher welches welchen wer wem wen wo wann qui que quoi quel quelle "
    "quels quelles ou quand quien quienes cual cuales donde cuando quem qual quais onde quando cosa chi dove quale "
    "quali wat welke wie waar wanneer"
)
_PROPOSALS: Final = word_set(
    "shall should can could would will may sollen sollten wollen konnen konnten machen passt geht treffen sehen "
    "pouvons peut podemos quedamos seguimos possiamo continuiamo vediamo vamos zullen kunnen"
)
_EASTERN_QUESTION: Final = re.compile(
    r"か[。？?]?\s*\Z|[吗嗎呢][。？?]?\s*\Z|何|どこ|どの|だれ|誰|いつ|什么|什麼|哪|谁|几|多少"
)


def time_hint(text: str, now: datetime) -> TimeHint:
    """Return what ``text`` says about time, for somebody who asks at ``now``.

    Days are those of the calendar that ``now`` is in; they begin at midnight in UTC, as the dates of files do.
    """
    # Eastern phrases have no spaces around them.
    eastern = eastern_days(text, now.date())
    ends = sorted({place for found in eastern for place in found[:2]})
    words = words_of(text, ends)
    if not words or len(words) > MOST_WORDS:
        return TimeHint(text)
    spans = day_spans(text, words, now.date(), eastern)
    since, until = common_days(spans)
    order, order_words = _order(words, spans)
    event = _event(text, words, spans)
    taken = [*((one.first, one.end) for one in spans), *order_words, *([(event.first, event.end)] if event else ())]
    return TimeHint(
        _without(text, words, taken),
        _seconds(since),
        _seconds(until),
        order,
        event.text if event else "",
        event.relation if event else None,
        _seconds(spans[0].coming) if len(spans) == 1 else None,
    )


class _Event(NamedTuple):
    """The words ``first`` to ``end`` (excluded) place what is sought before or after something that is not a date."""

    first: int
    end: int
    text: str
    relation: Relation


_ORDERS: Final[tuple[tuple[str, Order], ...]] = (
    ("the last time", "newest"),
    ("last time", "newest"),
    ("most recent/recently", "newest"),
    ("latest/newest/recently/lately/currently/nowadays", "newest"),
    ("right now", "newest"),
    ("these days", "newest"),
    ("at the moment", "newest"),
    ("neueste/neuesten/neuester/neuestes/aktuellste/aktuellsten/zuletzt/kurzlich/neulich/derzeit", "newest"),
    ("letzte/letztes/letzten mal", "newest"),
    ("plus recent/recente/recents/recentes", "newest"),
    ("derniere fois", "newest"),
    ("recemment/actuellement/recientemente/actualmente/recentemente/atualmente", "newest"),
    ("mas/mais reciente/recientes/recente/recentes", "newest"),
    ("ultima vez", "newest"),
    ("the first time", "oldest"),
    ("first time", "oldest"),
    ("earliest/oldest/originally/initially", "oldest"),
    ("erste/ersten mal", "oldest"),
    ("erstmals/fruheste/fruhesten/alteste/altesten/ursprunglich", "oldest"),
    ("premiere fois", "oldest"),
    ("plus ancien/ancienne", "oldest"),
    ("initialement/originalmente", "oldest"),
    ("primera/primeira vez", "oldest"),
    ("mas/mais antiguo/antigua/antigo/antiga", "oldest"),
)
_WHO: Final = word_set("i we you he she they")
_WHOSE: Final = word_set("my our your his her their")


def _order(words: Sequence[QuestionWord], spans: Sequence[DaySpan]) -> tuple[Order | None, list[tuple[int, int]]]:
    """Return which order the question asks for, and the words that say so; the first of them counts."""
    order: Order | None = None
    found: list[tuple[int, int]] = []
    free = set(range(len(words))) - {index for one in spans for index in range(one.first, one.end)}
    for index in sorted(free):
        meant = _order_at(words, index)
        if meant is not None and (order is None or meant[0] == order):
            order = meant[0]
            found.append((index, meant[1]))
    return order, found


@lru_cache(maxsize=1)
def _orders_by_first_word() -> dict[str, list[tuple[tuple[str, ...], Order]]]:
    found: dict[str, list[tuple[tuple[str, ...], Order]]] = {}
    for phrase, order in _ORDERS:
        pieces = tuple(phrase.split())
        for word in pieces[0].split("/"):
            found.setdefault(word, []).append((pieces, order))
    return found


def _order_at(words: Sequence[QuestionWord], index: int) -> tuple[Order, int] | None:
    for pieces, order in _orders_by_first_word().get(words[index].plain, ()):
        if values_of(pieces, words, index) is not None:
            return order, index + len(pieces)
    before = words[index - 1].plain if index else ""
    match words[index].plain:
        case "last" if before in _WHO or before in _WHOSE:
            return "newest", index + 1
        case "first" if before in _WHO:
            return "oldest", index + 1
        case _:
            return None


_DETERMINERS: Final = word_set(
    "the my our your his her their this that i we he she they dem der den die meinem meiner meinen unserem unserer l "
    "le la les mon ma notre el los mi nuestra nuestro del o os as do da meu minha nosso nossa"
)
_ENDS: Final = word_set(
    "about with in on at for from what who which when where why how did do does is are was were and or but that mit "
    "in uber und oder was wer avec sur et ou que quoi con sobre y o com e"
)
_EVENT_WORDS: Final = 4


def _event(text: str, words: Sequence[QuestionWord], spans: Sequence[DaySpan]) -> _Event | None:
    """Return the first event that the question names after a word like "before"."""
    taken = {index for one in spans for index in range(one.first, one.end)}
    for index, word in enumerate(words[:-1]):
        relation = RELATIONS.get(word.plain) if word.plain not in _NO_EVENT and index not in taken else None
        start = index + 1
        while relation and start < len(words) - 1 and words[start].plain in {"de", "que"}:
            start += 1
        if relation is None or words[start].plain not in _DETERMINERS:
            continue
        first = start if words[start].plain in _WHO else start + 1
        end = first
        while end < len(words) and end - first < _EVENT_WORDS and end not in taken and words[end].plain not in _ENDS:
            if end > first and any(mark in text[words[end - 1].end : words[end].start] for mark in ",;:.!?"):
                break
            end += 1
        if end > first:
            return _Event(index, end, text[words[first].start : words[end - 1].end], relation)
    return None


_NO_EVENT: Final = word_set("from von by bis dal sinds vanaf dopo prima voor fino tot")
"""Words that usually do not refer to a time, unless a date follows."""


def _without(text: str, words: Sequence[QuestionWord], taken: Sequence[tuple[int, int]]) -> str:
    """Return the text without some of its words."""
    pieces, position = [], 0
    for first, end in sorted(taken):
        pieces.append(text[position : max(position, words[first].start)])
        position = max(position, words[end - 1].end)
    rest = " ".join("".join((*pieces, text[position:])).split()) if taken else text
    for mark in ",.;:?!" if taken else "":
        rest = rest.replace(f" {mark}", mark)
    return rest


def _seconds(day: date | None) -> int | None:
    return None if day is None else int(datetime.combine(day, datetime.min.time(), UTC).timestamp())

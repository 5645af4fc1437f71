"""Parses queries, and computes the terms that a text is found by besides its own words. Pure.

Any text is a valid query: there is no syntax to get wrong. Everything here takes time proportional to the text. There
is no scoring and no real stemming here: an index analyses terms further, in the same way for queries and texts.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from promptuary.base.text import UNSPACED, name_word_pattern, pairs
from promptuary.search.values import RecordResult, SearchResult, Words

MOST_TERMS: Final = 64
"""Words of a query that count; the rest of a longer query is ignored."""
LONG: Final = 16
"""A query of more words than this is long: pasted rather than asked."""
MOST_PHRASES: Final = 16
LONGEST_PHRASE: Final = 512
"""Characters of a phrase that count."""

STOP_WORDS: Final = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but
    by can could did do does doing done down during each few for from further had has have having he her here hers him
    his how i if in into is it its itself just me more most my no nor not of off on once only or other our ours out over
    own please same she should so some such than that the their theirs them then there these they this those through to
    too under until up us very was we were what when where which while who whom whose why will with would you your yours
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he's i'd i'll i'm i've isn't it's let's she's
    shouldn't that's there's they're they've wasn't we'll we're we've weren't what's where's who's won't wouldn't you'll
    you're you've""".split()  # noqa: SIM905  (read as the text it is)
)
LIGHT_WORDS: Final = frozenset(
    """get gets getting go goes going know like make makes making need needs tell thing things use used uses using want
    wants way ways work works working""".split()  # noqa: SIM905
)
"""Words that say little about what is asked for: "which database do we use" is not about using."""

_QUESTION_WORDS: Final = frozenset(
    """how what when where which who whom whose why
    wann warum welche welcher welches wem wen wer weshalb wessen wie wieso wo woher wohin""".split()  # noqa: SIM905
)
"""Words that begin a question without a question mark. In other languages they also exclaim: "¡qué calor!"."""
_YOU: Final = frozenset(
    """you your yours yourself u ya  dein deine deinen dich dir du euch ihr  ta te tes toi ton tu votre vous
    ti tú usted ustedes  vc você vocês""".split()  # noqa: SIM905
)
_SPOKEN_WORD: Final = re.compile(r"[^\W\d_]{1,64}")

# A letter is what Unicode says, or a mark that belongs to one, which Python's \w leaves out: anything beyond ASCII that
# is neither space nor punctuation. Bounded, so that a text without spaces is words too.
_LETTER = (
    r"\w\u00aa\u00b5\u00ba\u00c0-\u1fff\u2c00-\u2fff\u3005-\u3007\u3021-\ud7ff"
    r"\uf900-\ufdff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U00010000-\U0010ffff"
)


@cache
def _term_pattern(letter: str) -> re.Pattern[str]:
    """Return the pattern of a term; compiled when the first text with such letters is read."""
    word = rf"[{letter}]{{1,128}}"
    return re.compile(rf"({word}(?:[-.:/'’]{word}){{0,7}})(\*(?![{letter}*]))?")


# Several times as fast, and most queries are ASCII.
_ASCII_LETTER = "A-Za-z0-9_"
# An opening mark inside ends the search for the closing one: otherwise a text of opening marks takes quadratic time.
_QUOTED = re.compile(r'"([^"]*)"|“([^“”]*)”|«([^«»]*)»|「([^「」]*)」')
_MARKS = re.compile('["“”«»「」]')

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_ACCENTS = re.compile(r"[\u0300-\u036f\ufe00-\ufe0f]+")
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
_LETTERS_OF_THEIR_OWN = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
    | {"đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ı": "i", "’": "'", "‘": "'"}
)
_SLICE = 256
"""Characters that are normalised at a time: Unicode normalisation takes quadratic time."""

_GLUED = re.compile(r"[A-Za-z0-9]*")

_SILENT = (
    r"[\u0e47-\u0e4c\u0e4e\u0eba\u0ec7-\u0ecc\u1037\u1039-\u103a\u104a-\u104f\u109e-\u109f\u17b4-\u17b5\u17c9-\u17d3]+"
)
"""Signs of these scripts that are not letters, such as tone marks. An index treats them as spaces."""

_ENDING = re.compile(r"(?<=....)(?:ed|ing|er|ly)\Z", re.DOTALL)
_LONG_STEM: Final = 6
_DOUBLED = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")


class Reading(NamedTuple):
    """How a term or a phrase of a query can be found.

    ``texts``: as written; ``parts``: the words of its names; ``runs``: its runs of a script without spaces, each as the
    pairs that follow one another in it.
    """

    texts: tuple[str, ...]
    parts: tuple[str, ...]
    runs: tuple[str, ...]


@lru_cache(maxsize=16)  # files, notes and experiences are searched for the same words
def parse(query: str) -> Words:
    """Return the words of a query. Light words are left out, unless there are no others, and so are stop words.

    In a long query, such as a pasted error report, a quotation is not required to match; its words count as well.
    """
    phrases: dict[str, None] = {}
    rest: list[str] = []
    end = 0
    for quoted in _QUOTED.finditer(query):
        rest.append(query[end : quoted.start()])
        end = quoted.end()
        if _term_pattern(_LETTER).search(phrase := quoted[quoted.lastindex or 0][:LONGEST_PHRASE].strip()):
            phrases[phrase] = None
    rest.append(query[end:])
    terms, prefixes, light = _terms(rest)
    if not (terms or prefixes or phrases):
        terms = light
    quoted_texts = tuple(phrases)[:MOST_PHRASES]
    if len(terms) <= LONG:
        return Words(tuple(terms), quoted_texts, tuple(prefixes))
    terms, prefixes, _ = _terms([unquoted(query)])
    return Words(tuple(terms), (), tuple(prefixes), quoted_texts)


def spoken_terms(words: Words) -> list[str]:
    """Return the words of a query as they are looked up in conversations: in one spelling, runs as pairs."""
    pieces = (*words.terms, *words.phrases, *words.prefixes, *(spelled for _, spelled in words.respelled))
    found = [
        one for piece in pieces for read in [reading(piece)] for one in (*read.texts, *" ".join(read.runs).split())
    ]
    return list(dict.fromkeys(one for one in found if any(map(str.isalnum, one))))


def word_count(words: Words) -> int:
    """Return how many words an index compares: a run of a script without spaces counts as its pairs, stop words not."""
    terms = tuple(term for term in words.terms if _key(term) not in STOP_WORDS)
    return len(spoken_terms(replace(words, terms=terms, respelled=())))


def _terms(texts: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the words, prefixes and light words of ``texts``, each once, up to the limits.

    If there are no light words either, the stop words take their place.
    """
    terms: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    light: dict[str, str] = {}
    stop_words: dict[str, str] = {}
    for text in texts:
        for found in _term_pattern(_ASCII_LETTER if text.isascii() else _LETTER).finditer(text):
            term = found[1]
            key = _key(term)
            # A star on both sides is emphasis, not a prefix.
            if found[2] and text[found.start() - 1 : found.start()] != "*":
                prefixes.setdefault(key, term)
            else:
                (stop_words if key in STOP_WORDS else light if key in LIGHT_WORDS else terms).setdefault(key, term)
            if len(terms) + len(prefixes) >= MOST_TERMS:
                return list(terms.values()), list(prefixes.values()), []
    return list(terms.values()), list(prefixes.values()), list((light or stop_words).values())[:MOST_TERMS]


def _key(term: str) -> str:
    return term.casefold().replace("’", "'")


def unquoted(query: str) -> str:
    """Return a query without its quotation marks, so that phrases become words."""
    return _MARKS.sub(" ", query)


def is_name(term: str) -> bool:
    """Return whether a term looks like a name in code: ``snake_case``, ``camelCase``, ``a.b``."""
    return any(sign in term.strip("_") for sign in "_./:") or any(name_parts(term))


def is_spelled_as_name(term: str, text: str) -> bool:
    """Return whether a term of ``text`` is a name: of code, with digits, or with a capital within a sentence."""
    if is_name(term) or (any(map(str.isdigit, term)) and len(term) >= _SHORTEST_NUMBER):
        return True
    return term[:1].isupper() and re.search(rf"[^\s.!?:;]\s+{re.escape(term)}", text) is not None


def folded(text: str) -> str:
    """Return ``text`` in one spelling: without accents, ligatures and full-width forms; valid UTF-8."""
    return text if text.isascii() else _BEYOND_ASCII.sub(_fold_match, text)


def extra_terms(text: str) -> str:
    """Return the terms that a folded text is found by besides its words; often none.

    The parts of ``camelCase`` names; pairs and single characters of scripts without spaces, and what is glued to them.
    """
    found = name_parts(text)
    if not text.isascii():
        found.extend(_unspaced(text))
    return " ".join(found)


def reading(piece: str) -> Reading:
    """Return how ``piece``, a term or a phrase of a query, is found in texts indexed with ``extra_terms``."""
    text = folded(piece)
    parts = tuple(" ".join(name_parts(text)).split())
    if text.isascii():
        return Reading((text,), parts, ())
    texts = tuple(one for one in re.split(UNSPACED, text) if not one.isspace() and one)
    return Reading(texts, parts, tuple(" ".join(pairs(run)) or run for run in _runs(text)))


def matched(words: Words, text: str) -> tuple[str, ...]:
    """Return those of ``words`` that are in ``text`` as whole words.

    A word may occur in another common form or as a part of a name, and names may be spelled differently. Runs of a
    script without spaces may occur anywhere. ``rolback ~ rollback`` is a word of ``words.respelled``.
    """
    said = folded(text)
    # The empty word between them keeps a phrase from matching across both.
    spelled = [*_spelled(said), "", *_spelled(" ".join(name_parts(said)))]
    runs = [] if said.isascii() else list(_runs(said))
    plain, stems = _line([*spelled, *runs]), _line([*_stems(spelled), *runs])
    found = [
        one
        for one in (*words.phrases, *words.quotations, *words.terms)
        if any(_stands(way, stems) for way in _ways(one))
    ]
    found += [one for one in words.prefixes if _stands(_beginning(one), plain)]
    return (*found, *(f"{typed} ~ {there}" for typed, there in _respelled(words, spelled)))


def only_near(query: str, result: SearchResult | RecordResult[Any]) -> bool:
    """Return whether a person who searches is told that the hits are only the nearest.

    Who searches for words, and does not ask, wants the places where all of these are: one word, which is chance in a
    message, is what was looked for here.
    """
    if not result.hits or result.answers:
        return False
    words = parse(query)
    wanted = {*words.terms, *words.phrases, *words.prefixes}
    # Stop words are everywhere. A word that is only there in another spelling is not among the matched ones.
    is_there = word_count(words) > 0 and any(wanted.issubset(hit.why.matched) for hit in result.hits)
    return is_question(query) or not is_there


def _respelled(words: Words, spelled: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the words that are there in another spelling, each with the first such word of the text."""
    for typed, near in words.respelled:
        stem = _stem(near)
        # An index may have only the common beginning of the forms of a word.
        is_long = len(stem) >= _LONG_STEM
        alike = (one for one in spelled if _stem(one) == stem or (is_long and one.startswith(stem)))
        if (there := next(alike, None)) is not None:
            yield typed, there


def _stands(pieces: Sequence[str], line: str) -> bool:
    return bool(pieces) and all(one in line for one in pieces)


@lru_cache(maxsize=1024)
def _ways(piece: str) -> list[list[str]]:
    """Return how a term or a phrase may appear among the stems of a text: as written, or with its names split."""
    text = folded(piece).removesuffix("'s")
    ways = [_spelled(text), _spelled(taken_apart(text))] if name_parts(text) else [_spelled(text)]
    return [[*([_line(_stems(way))] if way else []), *_runs(text)] for way in ways]


def _beginning(prefix: str) -> list[str]:
    text = folded(prefix)
    return [*([_line(words).rstrip()] if (words := _spelled(text)) else []), *_runs(text)]


def _spelled(text: str) -> list[str]:
    """Return the words of a folded text in scripts with spaces: runs of letters, digits and marks."""
    small = (text if text.isascii() else re.sub(UNSPACED, " ", text)).casefold()
    ends = {ord(one): " " for one in set(small) if not one.isalnum() and unicodedata.category(one)[0] != "M"}
    return small.translate(ends).split()


def _line(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def _stems(words: Iterable[str]) -> list[str]:
    return [_stem(one) if len(one) <= LONGEST_NAME else one for one in words]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Return the common beginning of the usual English forms of a word: at least four letters, three before an ``s``.

    ``releas`` of ``releases`` and ``releasing``, ``debug`` of ``debugging``, ``polici`` of "policy" and "policies".
    """
    single = word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith("ss") else word
    stem = _ENDING.sub("", single)
    if stem != single and stem.endswith(_DOUBLED):
        return stem[:-1]
    if stem.endswith("y"):
        return f"{stem[:-1]}i"
    return stem[:-1] if stem.endswith("e") and len(stem) > 4 else stem


def _fold_match(found: re.Match[str]) -> str:
    run = found[0]
    if len(run) <= 16:
        return _fold_known(run)
    return "".join(_fold(run[start : start + _SLICE]) for start in range(0, len(run), _SLICE))


def _fold(run: str) -> str:
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", run)).translate(_LETTERS_OF_THEIR_OWN)
    return _SURROGATES.sub(" ", unicodedata.normalize("NFC", plain))


_fold_known = lru_cache(maxsize=4096)(_fold)


def _unspaced(text: str) -> Iterator[str]:
    """Yield pairs and single characters of the unspaced runs of ``text``, and the ASCII words joined to a run."""
    behind = 0
    for run in re.finditer(UNSPACED, text):
        start = run.start()
        while start > behind and text[start - 1].isascii() and text[start - 1].isalnum():
            start -= 1
        if start < run.start():
            yield text[start : run.start()]
        letters = re.sub(_SILENT, "", run[0])
        yield from pairs(letters)
        # Between the pairs of one run and of the next, so that no phrase matches across both.
        yield from letters
        glued = _GLUED.match(text, run.end())
        behind = glued.end() if glued else run.end()
        if behind > run.end():
            yield text[run.end() : behind]


def is_question(text: str) -> bool:
    """Return whether a text asks something, and not something about its reader, as "how are you?" does."""
    words = [word.lower() for word in _SPOKEN_WORD.findall(text)]
    asking = "?" in text or "？" in text or (bool(words) and words[0] in _QUESTION_WORDS)
    return asking and _YOU.isdisjoint(words)


def _runs(text: str) -> Iterator[str]:
    for run in re.findall(UNSPACED, text):
        if letters := re.sub(_SILENT, "", run):
            yield letters


_SHORTEST_NUMBER: Final = 3
"""Characters of a number that names something: of a ticket, of a room."""
LONGEST_NAME: Final = 72
"""Characters of a name that is split; a longer one is data rather than a name."""

# The class of each byte: a lower-case letter or digit, a capital, or no part of a name. Searching for two classes in a
# row is far faster than any regular expression.
_SHAPE = b" " * 48 + b"a" * 10 + b" " * 7 + b"A" * 26 + b" " * 6 + b"a" * 26 + b" " * 133
_TURNS = (b"aA", b"AAa")
_TURN = re.compile("[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")


def name_parts(text: str) -> list[str]:
    """Return the words of each name in ``text`` that has several, joined by spaces; each name once."""
    if text.islower():  # as paths mostly are
        return []
    return list(filter(None, map(_parts_of, _turning(text))))


def taken_apart(text: str) -> str:
    """Return the words of all names in ``text``, joined by spaces."""
    return " ".join(name_word_pattern(text).findall(text))


def _turning(text: str) -> dict[str, None]:
    """Return the names in ``text`` that have a capital at the start of a new word, unless they are too long."""
    shape = text.encode("latin-1", "replace").translate(_SHAPE) + b" "
    found: dict[str, None] = {}
    for turn in _TURNS:
        at = shape.find(turn)
        while at >= 0:
            start, end = shape.rfind(b" ", 0, at) + 1, shape.find(b" ", at)
            if end - start <= LONGEST_NAME:
                found[text[start:end]] = None
            at = shape.find(turn, end)
    return found


@lru_cache(maxsize=65_536)
def _parts_of(name: str) -> str:
    """Return the words of a name; nothing if it is one word. Cached: the same names recur."""
    return taken_apart(name) if _TURN.search(name) else ""


_ALPHABETS: Final = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρσςτυφχψω")
"""Letters of folded words that may be misspelled."""
_FEWEST_LETTERS: Final = 4
_MANY_LETTERS: Final = 8
"""So many letters may have two mistakes."""
_FIRST_LETTER: Final = 6
"""A shorter word begins with the letter that was typed: too many short words are one mistake apart."""
_MOST_LETTERS: Final = 32
_MOST_UNKNOWN: Final = 3
"""A query with more unknown words, if these are most of it, is in a language that the texts are not in."""


def words_to_check(words: Words) -> list[str]:
    """Return the words of a query that may be misspelled, in lower case; names as a whole and in parts.

    Quoted words are taken as correct, and a long query is pasted rather than typed.
    """
    if len(words.terms) > LONG:
        return []
    texts = [folded(term) for term in words.terms]
    singles = [one for text in texts for way in (text, *name_parts(text)) for one in _spelled(way)]
    return [one for one in dict.fromkeys(singles) if mistakes(one)]


def worth_respelling(unknown: Sequence[str], words: Words) -> bool:
    """Return whether the words that no text has may be mistakes, rather than words of another language."""
    return len(unknown) < _MOST_UNKNOWN or 2 * len(unknown) <= len(words)


def mistakes(word: str) -> int:
    """Return how many mistakes a word may have: none in short ones, numbers, and scripts without an alphabet."""
    if not _FEWEST_LETTERS <= len(word) <= _MOST_LETTERS or _alphabet(word) is None:
        return 0
    return 2 if len(word) >= _MANY_LETTERS else 1


def _alphabet(word: str) -> str | None:
    return next((letters for letters in _ALPHABETS if word[0] in letters and set(word) <= set(letters)), None)


def one_mistake_away(word: str) -> list[str]:
    """Return what ``word`` may stand for if one letter is missing, superfluous, wrong, or swapped with the next.

    One that is probable comes before one that is not. A short word keeps its first letter.
    """
    letters, kept = _alphabet(word) or "", 1 if len(word) < _FIRST_LETTER else 0
    cuts = [(word[:at], word[at:]) for at in range(kept, len(word) + 1)]
    found: dict[str, None] = {}
    found |= dict.fromkeys(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1)
    found |= dict.fromkeys(left + letter + right for left, right in cuts for letter in letters)
    found |= dict.fromkeys(left + right[1:] for left, right in cuts if right)
    found |= dict.fromkeys(left + letter + right[1:] for left, right in cuts if right for letter in letters)
    found.pop(word, None)
    return list(found)


def distance(one: str, other: str, most: int) -> int:
    """Return how many mistakes are between two words; more than ``most`` if there are more than that."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        older, before, row = before, row, [place]
        for at, theirs in enumerate(other, 1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != theirs))
            if place > 1 and at > 1 and letter == other[at - 2] and theirs == one[place - 2]:
                cost = min(cost, older[at - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]

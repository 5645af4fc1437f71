"""Compares texts: whether two say the same, or one says no more than the other. Pure.

Words and their order are compared, not meanings: this decides about merging and trust, where no model's opinion may
count. Where it errs, two notes stay apart, or the person is asked.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256
from typing import Final

from promptuary.memory.writeback.own_words import sentences

_WORD: Final = re.compile(r"[^\W_]+")
_NO_SPACES: Final = re.compile(r"[぀-ヿ]|[㐀-鿿]|[가-힯]")  # as one set it takes milliseconds to compile
"""Writing without spaces: each character counts as a word."""
_MAX_LENGTH: Final = 20_000
_MAX_SENTENCES: Final = 100
_MIN_SHARED: Final = 2


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_PLAIN: Final = _words(
    "a an the and to of in on for with is are was be it its this that as at by from i my me we our you your they their",
    "please user users person people prefers prefer preference wants likes uses use said says note should s",
    "der die das und zu von im ist sind ein eine mit für ich mein bitte nutzer bevorzugt bevorzuge",
    "le la les et de du des un une est sont pour avec je mon ma nous utilisateur préfère",
    "el los las y un una es son para con mi usuario prefiere prefiero",
    "用 户 的 是 在 和 我 们 喜 欢 请",
)
"""Words of grammar, and those with which a note reports what somebody said."""
_NEGATIONS: Final = _words(
    "no not never none nor neither without stop avoid instead rather except unless cannot",
    "don doesn didn isn aren won can t",
    "nicht nie niemals kein keine keinen ohne statt sondern",
    "ne pas jamais plus sans non aucun aucune",
    "nunca jamás sin ningún ninguna tampoco",
    "不 别 没 无 非 勿 禁 停",
)
"""Words that negate a statement: texts that differ in these say different things."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded; a character of a writing without spaces is a word."""
    folded = unicodedata.normalize("NFKC", text[:_MAX_LENGTH]).casefold()
    found: list[str] = []
    for word in _WORD.findall(folded):
        found += list(word) if _NO_SPACES.search(word) else [word]
    return found


def wording(text: str) -> str:
    """Return a text as its words alone: equal for texts that differ in case, spacing and punctuation."""
    return " ".join(words_of(text))


def telling_wording(text: str) -> str:
    """Return the same without the words of grammar."""
    return " ".join(_telling(text))


def fingerprint(*parts: str) -> str:
    """Return a hash that is equal for parts with the same wording."""
    return sha256("\0".join(map(wording, parts)).encode()).hexdigest()


def says_no_more(text: str, than: str) -> bool:
    """Return whether ``text`` restates ``than`` or a part of it: the same words in the same order, some left out.

    Words that negate a statement must be the same in both.
    """
    said, other = _telling(text), _telling(than)
    return bool(said) and _turning(said) == _turning(other) and _is_within(said, other)


def quotes(text: str, spoken: str) -> bool:
    """Return whether every sentence of ``text`` says no more than some sentence that was spoken.

    Such a text cannot introduce an address, name, number or command that nobody said.
    """
    said, heard = sentences(text), sentences(spoken)[:_MAX_SENTENCES]
    if not said or len(said) > _MAX_SENTENCES or len(text) > _MAX_LENGTH:
        return False
    return all(any(says_no_more(sentence, other) for other in heard) for sentence in said)


def are_about_the_same(text: str, other: str) -> bool:
    """Return whether two short texts share most of their telling words, and may contradict each other."""
    return share_most(set(_telling(text)), set(_telling(other)))


def differ_in_few_words(text: str, other: str) -> bool:
    """Return whether two short texts share a telling word and more than half of all their words.

    They may say the same of two things, or two things of the same: enough to show the newer one first.
    """
    words, others = words_of(text), words_of(other)
    shared = (Counter(words) & Counter(others)).total()
    return 2 * shared > max(len(words), len(others)) and not set(_telling(text)).isdisjoint(_telling(other))


def share_most(words: AbstractSet[str], others: AbstractSet[str]) -> bool:
    """Return whether two texts with these telling words are about the same."""
    shared = len(words & others)
    return shared >= _MIN_SHARED and 2 * shared >= max(len(words), len(others))


def find_restated(texts: Iterable[str], spoken: Iterable[str]) -> list[str]:
    """Return the spoken sentences from which ``texts`` may have been made: they share half of the telling words.

    For what was said in the conversation from which ``texts`` come; elsewhere two sentences may be alike by chance.
    """
    said = [set(_telling(part)) for text in texts for part in sentences(text)[:_MAX_SENTENCES]]
    heard = [(part, set(_telling(part))) for text in spoken for part in sentences(text[:_MAX_LENGTH])]
    return [sentence for sentence, words in heard if any(_is_alike(words, wanted) for wanted in said)]


def _is_alike(words: set[str], others: set[str]) -> bool:
    shared = len(words & others)
    return shared >= _MIN_SHARED and 2 * shared >= min(len(words), len(others))


def _telling(text: str) -> list[str]:
    return [word for word in words_of(text) if word not in _PLAIN]


def _turning(words: Sequence[str]) -> Counter[str]:
    return Counter(word for word in words if word in _NEGATIONS)


def _is_within(words: Sequence[str], others: Sequence[str]) -> bool:
    left = iter(others)
    return all(word in left for word in words)

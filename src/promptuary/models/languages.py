"""Which languages an embedder knows: there its cosines say something, elsewhere words do."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from promptuary.base.text_language import COMMON_WORDS, LANGUAGES
from promptuary.models.protocols import Embedder

Known = frozenset[str] | None
"""Codes of languages, see ``base.text_language``; ``None`` for all of them."""

ENGLISH: Final = frozenset({"en"})
_ONLY_ENGLISH: Final = (
    r"(?:^|[^a-z])(?:en|english)(?:[^a-z]|$)|all-(?:minilm|mpnet)|nomic-embed-text(?!-v2)|mxbai-embed-(?:large|xsmall)"
    r"|snowflake-arctic-embed(?!2|.*v2)|(?:^|/)(?:gte|e5)-(?:small|base|large)|msmarco"
)
"""Names of models that were trained on English alone."""

_SAMPLES: Final[Mapping[str, str]] = {
    "ja": "請求書は冷蔵庫の横の引き出しに入れて、歯医者の予約を忘れずに確認する",
    "zh": "把发票放在冰箱旁边的抽屉里，别忘了确认牙医的预约，钥匙在邻居那儿",
    "ko": "청구서는 냉장고 옆 서랍에 넣고 치과 예약을 잊지 말고 확인하세요",
    "th": "ใบแจ้งหนี้อยู่ในลิ้นชักข้างตู้เย็น อย่าลืมยืนยันนัดหมอฟัน",
    "Cyrl": "Счёт лежит в ящике рядом с холодильником, не забудь подтвердить запись к врачу",
    "Grek": "Ο λογαριασμός είναι στο συρτάρι δίπλα στο ψυγείο, μην ξεχάσεις το ραντεβού",
    "Arab": "الفاتورة في الدرج بجانب الثلاجة ولا تنس تأكيد موعد طبيب الأسنان",
    "Hebr": "החשבונית במגירה ליד המקרר, אל תשכח לאשר את התור לרופא השיניים",
    "Deva": "बिल फ्रिज के पास वाली दराज में है, दंत चिकित्सक की मुलाकात की पुष्टि करना न भूलें",
}
"""A text in each language that is told by its script; in the others, it is their commonest words."""
_MOST_PIECES: Final = 1.3
"""Pieces into which a tokenizer cuts a common word of a language that its model knows: English ones are whole to an
English model, Spanish ones 1.5 pieces, German ones 1.7."""
_MOST_OF_A_LETTER: Final = 0.7
"""The same for a letter, where words are not told apart: letter by letter nothing was learnt."""
_MOST_OF_A_SIGN: Final = 1.1
"""The same for Chinese characters, which are words of their own."""
_UNKNOWN: Final = frozenset({"[UNK]", "<unk>"})
_MOST_UNKNOWN: Final = 0.05


def known_languages(embedder: Embedder | None) -> Known:
    """Return the ``languages`` attribute of an embedder; all of them if it has none, as a plug-in may."""
    own = getattr(embedder, "languages", None)
    return own if isinstance(own, frozenset) else None


def languages_named(names: str) -> Known:
    """Return the languages of a list such as "English, code"; all of them if one is not told apart here."""
    known = {name.casefold(): code for code, name in LANGUAGES.items()} | {"code": ""}
    codes = [known.get(name.strip().casefold()) for name in names.split(",")]
    return None if None in codes else frozenset(filter(None, codes)) or None


def languages_of_service(model: str) -> Known:
    """Return what the model of a service knows, by its name."""
    return ENGLISH if re.search(_ONLY_ENGLISH, model.casefold()) else None


def languages_of_vocabulary(pieces: Callable[[str], Sequence[str]]) -> Known:
    """Return the languages whose texts a tokenizer cuts into few ``pieces``; all of them if these are most.

    A vocabulary is made from the texts that a model learns from: what it seldom saw falls into letters.
    """
    samples = {**_SAMPLES, **{code: " ".join(words) for code, words in COMMON_WORDS.items()}}
    known = frozenset(code for code, text in samples.items() if _is_learnt(code, text, pieces(text)))
    return None if 2 * len(known) > len(samples) else known | ENGLISH


def _is_learnt(code: str, text: str, pieces: Sequence[str]) -> bool:
    unknown = sum(one in _UNKNOWN for one in pieces)
    if code in COMMON_WORDS:
        most = _MOST_PIECES * len(text.split())
    else:
        most = (_MOST_OF_A_SIGN if code in {"ja", "zh"} else _MOST_OF_A_LETTER) * sum(map(str.isalpha, text))
    return len(pieces) <= most and unknown <= _MOST_UNKNOWN * len(pieces)

"""Finds explicit statements of a person that may be worth remembering, without a model. Pure and linear.

Only the person's own words are read, sentence by sentence; questions are not statements. Matches are proposed, never
written. The patterns are few and reliable: a person who has to reject many proposals stops reading them.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from promptuary.base.text import any_of
from promptuary.memory.values import NoteKind
from promptuary.memory.writeback.own_words import own_words, sentences

MAX_STATEMENT: Final = 300
_MIN_WORDS: Final = 3
"""The fewest words of a statement; characters, in scripts without spaces."""
_MAX_STATEMENTS: Final = 5

_PATTERNS: Final[Sequence[tuple[NoteKind, str]]] = (
    (
        "feedback",  # how to work, from now on
        any_of(
            r"(?:please |and |also )?(?:always|never)\b(?! mind| ever mind| a | been| had| seen| heard)",
            r"(?:from now on|in (?:the )?future|going forward)\b",
            r"(?:please )?(?:do not|don['’]t) ever\b",
            r"(?:bitte )?(?:immer|niemals|nie)\b(?! mehr lustig| gehört| gesehen)",
            r"(?:ab jetzt|ab sofort|von jetzt an|in zukunft|künftig)\b",
            r"(?:bitte )?(?:verwende|benutze|nutze|nimm|schreibe?|antworte|mach|lass) (?:\w+ )?(?:immer|nie|niemals)\b",
            r"(?:toujours|jamais|désormais|dorénavant|à partir de maintenant)\b",
            r"(?:n['’])?(?:utilise|emploie|écris|réponds|mets|fais)z? (?:toujours|jamais)\b",
            r"(?:siempre|nunca|a partir de ahora|de ahora en adelante|en adelante)\b",
            r"(?:por favor,? )?(?:usa|utiliza|escribe|responde|pon|haz) (?:siempre|nunca)\b",
            r"[请請]?(?:总是|總是|始终|始終|一律|永[远遠]不要|[从從][现現]在起|从今以后|今[后後]|以[后後]都|绝对?不)",
        ),
    ),
    (
        "user",  # who the person is, and what they prefer
        any_of(
            r"(?:by the way,? )?my name(?: is|['’]s) ",
            r"(?:please )?call me (?!back|when|if|later|crazy|a )",
            r"i (?:always |strongly |really |much |generally |usually )?prefer (?!the |this|that|it\b|your)",
            r"(?:i am|i['’]m) an? (?!bit\b|little\b|fan\b|few\b|lot\b)\w",
            r"i work (?:as|at|for|in) ",
            r"(?:mein name ist|ich hei(?:ß|ss)e|nenn mich) ",
            r"ich (?:bevorzuge (?!d)|arbeite (?:als|bei|für|in) )",
            r"(?:je m['’]appelle|mon nom est|appelle-moi|je travaille (?:comme|chez|pour|à)) ",
            r"je préfère (?!l[ae] |cet?t?e? |cel|ça|ta |ton )",
            r"(?:me llamo|mi nombre es|llámame|trabajo (?:como|en|para)) ",
            r"prefiero (?!el |la |est|es[ae] |tu )",
            r"(?:我叫|我的名字是|我是一[名个個位]|我更喜[欢歡]用?|我偏好|我喜[欢歡]用)",
        ),
    ),
    (
        "project",  # what was decided
        any_of(
            r"(?:so )?(?:we|(?:our|the) team)(?: ha[vs]e?|['’]ve)? (?:just )?(?:decided|agreed|settled|chosen?)\b",
            r"we chose\b",
            r"(?:the |our )?decision(?: is|:)",
            r"wir haben (?:uns )?(?:\S+ ){0,14}(?:entschieden|beschlossen|geeinigt|vereinbart)\b",
            r"(?:nous avons|on a) (?:décidé|choisi|convenu)\b",
            r"(?:hemos decidido|decidimos|hemos acordado|acordamos)\b",
            r"我[们們](?:已[经經])?(?:[决決]定|商定|[约約]定|[选選][择擇]了)",
        ),
    ),
)
_REMEMBER: Final = any_of(
    r"(?:please )?(?:remember|keep in mind|note|don['’]t forget|do not forget)(?: this)?(?: that|[:,])\s*",
    r"(?:bitte )?(?:merke? dir|denke? daran|vergiss nicht|beachte)(?:,? dass|[:,])\s*",
    r"(?:souviens-toi|rappelle-toi|retiens|note|n['’]oublie pas)(?: bien)?(?: que|[:,])\s*",
    r"(?:por favor,? )?(?:recuerda|acuérdate de|no olvides|ten en cuenta)(?: que|[:,])\s*",
    r"[请請]?(?:[记記]住|[记記]得|[别別]忘了)[:：,，]?\s*",
)
_NO_SPACES: Final = re.compile(r"[぀-ヿ]|[㐀-鿿]")


class Statement(Struct, frozen=True):
    """A statement of a person: in their words, and its kind."""

    text: str
    kind: NoteKind


def statements(message: str) -> list[Statement]:
    """Return the explicit statements in a message, at most a few."""
    found: list[Statement] = []
    for sentence in sentences(own_words(message).text):
        one = _statement(sentence)
        if one is not None and one not in found:
            found.append(one)
    return found[:_MAX_STATEMENTS]


def _statement(sentence: str) -> Statement | None:
    if len(sentence) > MAX_STATEMENT or sentence.endswith(("?", "？")) or "…" in sentence:
        return None
    asked = re.match(_REMEMBER, sentence, re.IGNORECASE)
    text = sentence[asked.end() :] if asked else sentence
    least = len(text) if _NO_SPACES.search(text) else len(text.split())
    if least < _MIN_WORDS:
        return None
    kind: NoteKind | None = next((kind for kind, starts in _PATTERNS if re.match(starts, text, re.IGNORECASE)), None)
    if kind is None and not asked:
        return None
    return Statement(text[:1].upper() + text[1:], kind or "feedback")

"""The language that a text is written in, by its script and its commonest words. Pure, and without a model.

A language is its ISO 639 code, such as "de", or the code of a script that several share, such as ``Cyrl``. Empty is
no evidence: too short, or names, code and numbers. It is meant to be cheap and to say nothing rather than be wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

LANGUAGES: Final[Mapping[str, str]] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "da": "Danish",
    "nb": "Norwegian",
    "fi": "Finnish",
    "pl": "Polish",
    "cs": "Czech",
    "hu": "Hungarian",
    "ro": "Romanian",
    "tr": "Turkish",
    "id": "Indonesian",
    "vi": "Vietnamese",
    "ja": "Japanese",
    "zh": "Chinese",
    "ko": "Korean",
    "th": "Thai",
    "Cyrl": "Cyrillic",
    "Grek": "Greek",
    "Arab": "Arabic",
    "Hebr": "Hebrew",
    "Deva": "Devanagari",
}
"""The languages and scripts that are told apart, with their names."""

# Without words that are also English ones of another meaning ("die", "war", "on", "me", "of"), and for English without
# the words of programming languages: what counts is which of two languages a text is in.
COMMON_WORDS: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": """the of to that this are were be been it its you your which have has they their there would can what
            when how who than then some my his she him and is with at by from not or but about into these those
            could should because where why did does after only other""",
        "de": """der das und ist nicht ein eine einen einem einer eines ich du er sie wir ihr es mit auf für von zu
            zum zur dem des sich auch als wie bei nach aus wird wurde werden hatte hatten haben sind waren oder aber
            wenn dass daß nur noch durch über unter zwischen bis um vor kann können muss müssen diese dieser dieses
            wer wo wann warum wieso welche welcher welches wem wen wessen kein keine im vom beim sein seine mein
            meine wieder schon sehr mehr immer hier dort dann weil ob""",
        "fr": """le la les de des du une un et est dans que qui ne pas ce cette ces il elle nous vous ils elles au aux
            par avec sont été être avait fait mais ou où sa ses leur leurs plus comme tout si je mon ma mes votre
            notre quel quelle quels quelles quand pourquoi combien qu'il d'un d'une c'est n'est très aussi sans sous
            après avant depuis entre pendant chez faut peut""",
        "es": """el los las una unos unas y de del la que es en por para con se lo su sus al como más pero fue ser
            son está están este esta estos estas ese esa hay muy también donde dónde cuándo quién qué cómo cuál
            cuáles cuánto cuántos porque entre sobre hasta desde cuando mi tu nos le les ha han había era tiene
            puede ya ni sí otro otra""",
        "it": """il lo gli della delle degli dei del di che è e un una per con nel nella nei sono non si da dal
            dalla al alla anche ma più questo questa questi queste quale quali quando dove chi cosa perché quanto
            quanti ha hanno era stato stata essere suo sua loro mio mia ci su sul tra fra dopo prima molto""",
        "pt": """o os um uma uns umas de da dos das em na nos nas que é e para por com não se mais ao aos à às pelo
            pela como mas foi ser são está estão este esta isso isto ele ela eles elas seu sua seus suas onde quando
            quem qual quais quanto quantos porque também já muito até sem sobre entre depois antes meu minha você
            tem""",
        "nl": """de het een en van ik je dat niet zijn op aan voor er maar om hem dan zou wat mijn dit zo ook bij
            uit naar geen wordt worden werd werden heeft hebben deze nog onder tussen waar welke hoe wie wanneer
            waarom jij jullie ons onze hun haar moet kunnen zich veel meer als tot wel al te zij deze na""",
        "sv": """och att det som en är av för på med till den inte har om ett jag var sig så från kan han hon vi
            eller när hur vad vem varför vilken vilket vilka deras sin sitt också efter där här mycket alla över
            mellan blir blev skulle""",
        "da": """og det som en er af på med til den ikke har om et jeg var sig så fra kan han hun vi eller når hvor
            hvad hvem hvorfor hvilken hvilket hvilke deres sin sit også efter der her meget alle mellem bliver blev
            skulle""",
        "nb": """og det som en er av på med til den ikke har om et jeg var seg så fra kan han hun vi eller når hvor
            hva hvem hvorfor hvilken hvilket hvilke deres sin sitt også etter der her mye alle mellom blir ble
            skulle""",
        "fi": """ja ei että oli olla mutta niin kuin joka mitä myös tai kun hän ovat sen tämä minä sinä hänen heidän
            ne jos vain vielä sekä kanssa ennen jälkeen missä milloin miksi kuka miten mikä""",
        "pl": """na nie się jest że jak po od co ale dla przez przy są był była było być tym tego jego jej ich który
            która które oraz także już tylko gdy gdzie kiedy dlaczego kto czy może bardzo między""",
        "cs": """na se je že ve ale jak jako po od za byl byla bylo být jsou který která které také již nebo jen
            když kde kdy proč kdo tak jeho její jejich mezi může před při""",
        "hu": """az és hogy nem egy van volt meg ez csak de már mint még vagy ha ki mi hol mikor miért hogyan melyik
            mert lehet azt ezt minden után között volna lett kell nagyon""",
        "ro": """și în de la cu pe nu că este un din mai să sunt au fost pentru prin sau dar după ale lui ei lor
            unde când cine ce cât această acest foarte între până""",
        "tr": """ve bir bu için ile olarak daha çok olan gibi kadar sonra ama değil var yok ise ya mi mı nasıl
            nerede zaman neden kim hangi tarafından önce""",
        "id": """yang dan di ini itu dengan untuk tidak dari dalam akan pada juga ke karena tersebut ada oleh atau
            adalah sebagai saya kami mereka bisa apa siapa kapan mengapa bagaimana telah lebih""",
        "vi": """và của là có không được trong cho các một những này với người để khi đã từ như ở nào gì ai đâu bao
            về cũng nhiều""",
    }.items()
}

_ASKING: Final = frozenset(
    """wer wo wann warum wieso welche welcher welches wem wen wessen où pourquoi combien quel quelle quels quelles dónde
    cuándo quién cómo cuál cuáles cuánto cuántos perché quanti quantos quais hoe wanneer waarom welke hvordan hvorfor
    hvilken varför vilken missä milloin miksi gdzie kiedy dlaczego kdy proč miért hogyan unde când nasıl nerede neden
    mengapa bagaimana kapan""".split()  # noqa: SIM905  (read as the text it is)
)
"""Words that begin a question and are in no other language here: one is enough."""

_SCRIPTS: Final = (
    ("ja", r"[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]"),
    ("ko", r"[\u1100-\u11ff\uac00-\ud7a3]"),
    ("zh", r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    ("th", r"[\u0e01-\u0e4e]"),
    ("Cyrl", r"[\u0400-\u052f]"),
    ("Grek", r"[\u0370-\u03ff\u1f00-\u1fff]"),
    ("Arab", r"[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff]"),
    ("Hebr", r"[\u0590-\u05ff]"),
    ("Deva", r"[\u0900-\u097f]"),
)
_LETTERS_OF_A_WORD: Final[Mapping[str, int]] = {"ja": 2, "zh": 2, "ko": 3, "th": 5}
"""How many letters of a script say about as much as a word in another."""
_FIRST_SCRIPT: Final = "\u0370"
"""Below it are only letters of the Latin script."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LATIN_WORD: Final = re.compile("[A-Za-z\u00c0-\u024f]+")
_READ: Final = 600
"""Characters of a passage that are read, and again as many from its middle if these say nothing."""
_FEWEST: Final = 2
"""Common words of a language that a passage needs, and that make a short text sure."""
_LEAST: Final = 0.1
"""The part of the different words of a passage that they are, at least: less is a quotation, or comments in code."""


def passage_language(text: str) -> str:
    """Return the language of a passage; empty without enough evidence."""
    head = text[:_READ]
    if script := _script(head):
        return script
    found = _by_words(head.casefold().split())
    if found or len(text) < 2 * _READ:
        return found
    return _by_words(text[len(text) // 2 :][:_READ].casefold().split())


@lru_cache(maxsize=64)
def question_language(text: str) -> str:
    """Return the language of a question, or of some words that are searched for; empty if it may be any."""
    if script := _script(text):
        return script
    words = _WORD.findall(text[:_READ].casefold())
    counts = _counts(words)
    (best, count), english = _best(counts), counts["en"]
    if best == "en":
        return "en"
    sure = count >= _FEWEST or not _ASKING.isdisjoint(words)
    return best if sure and count > english else ""


def _by_words(words: Iterable[str]) -> str:
    every = set(words)
    known = every & _EVERY.keys()
    if len(known) >= _FEWEST and 2 * len(known & _ENGLISH) > len(known) >= _LEAST * len(every):
        return "en"  # the others have fewer
    best, count = _best(_counts(known))
    return best if count >= _FEWEST and count >= _LEAST * len(every) else ""


def _counts(words: Iterable[str]) -> Counter[str]:
    """Return how many of the different words are common ones of each language."""
    every = set(words)
    counts: Counter[str] = Counter()
    for word in every & _EVERY.keys():
        counts.update(_EVERY[word])
    return counts


def _best(counts: Counter[str]) -> tuple[str, int]:
    """Return the language with most of the words; English if it has as many as another."""
    return max(counts.items(), key=lambda one: (one[1], one[0] == "en", one[0]), default=("", 0))


_EVERY: Final[Mapping[str, tuple[str, ...]]] = {
    word: tuple(code for code, words in COMMON_WORDS.items() if word in words)
    for word in frozenset[str]().union(*COMMON_WORDS.values())
}
_ENGLISH: Final = COMMON_WORDS["en"]


def _script(text: str) -> str:
    """Return the language of a text that is mostly in another script than the Latin one; empty if it is not."""
    if text.isascii() or max(text) < _FIRST_SCRIPT:
        return ""
    counts = {code: len(re.findall(pattern, text)) for code, pattern in _SCRIPTS}
    if counts["ja"]:  # with Chinese characters between the syllables
        counts["ja"] += counts.pop("zh")
    best = max(counts, key=lambda code: counts[code])
    words = counts[best] / _LETTERS_OF_A_WORD.get(best, 5)
    return best if words > len(_LATIN_WORD.findall(text)) / 2 else ""

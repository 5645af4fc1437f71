"""Finds explicit statements of what a person learnt: what fixed an error, what was decided, what they prefer.

Without a model, in a few languages. Pure and linear. Only the person's own words are read, sentence by sentence, and
only a sentence is stored, never a message. The patterns are few and reliable; a match is a candidate of little weight,
which gains by repetition.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptuary.base.text import any_of
from promptuary.experiences.drafting import Lesson
from promptuary.experiences.values import FIRST_CONFIDENCE, PREFERENCE, ExperienceFields
from promptuary.memory.writeback.own_words import own_beginning, sentences
from promptuary.memory.writeback.statements import MAX_STATEMENT, Statement, statements
from promptuary.memory.writeback.wording import telling_wording, words_of

_MAX_LESSONS: Final = 5
_MIN_FIX: Final = 8
"""The fewest characters of a cause or a fix."""
CANDIDATE_WEIGHT: Final = 0.4
_STATED_CONFIDENCE: Final = 0.6
"""The confidence of a fix or a decision that the person stated once."""

_CAUSES: Final = any_of(
    r"(?:the |our )?(?:problem|issue|cause|root cause|reason|culprit|bug|error)(?: was| is|:)(?: that)?,? ",
    r"(?:it|that|this) (?:failed|broke|crashed) because ",
    r"(?:das |der |die )?(?:problem|ursache|grund|fehler)(?: war| ist|:)(?:,? dass)?,? ",
    r"(?:le |la |l['’])?(?:problème|cause|erreur|raison)(?: était| venait de| est|:)(?: que)? ?",
    r"(?:el |la )?(?:problema|causa|error|motivo)(?: era| fue| es|:)(?: que)? ",
    r"(?:问题|問題|原因|错误|錯誤)(?:是|在于|在於|出在|[:：])(?:因为|因為)?",
)
_FIXES: Final = any_of(
    r"(?:the |our )?(?:fix|solution|workaround|trick|answer)(?: was| is|:)(?: to| that)?,? ",
    r"(?:what|that) (?:fixed|solved|helped)(?: it| this| that)?(?: was| is|:)(?: to)?,? ",
    r"(?:i|we) (?:fixed|solved) (?:it|this|that) (?:by|with) ",
    r"(?:die |der |das )?(?:lösung|abhilfe|fix|workaround|trick)(?: war| ist|:)(?:,? dass)?,? ",
    r"geholfen hat(?:,|:| es,?) ",
    r"(?:la |l['’])?(?:solution|astuce|correction)(?: était| est|:)(?: de| d['’])? ?",
    r"(?:la |el )?(?:solución|arreglo|truco)(?: fue| era| es|:)(?: que)? ",
    r"(?:解决办法|解决方法|解決辦法|解決方法|解法|修复方法|修復方法)(?:是|[:：])",
)
_LATER_FIX: Final = rf"[,;，；]\s*(?:(?:and|so|und|et|y)\s+)?(?P<fix>{_FIXES})"
_BECAUSE: Final = 3
"""The most sentences between a cause and its fix."""
_PREFERS: Final = r".{0,24}(?:prefer|bevorzug|préfér|préfère|prefier|喜[欢歡]|偏好)"

# Preferences contradict each other if they choose among the same things: "tabs over spaces", "never force-push". Only
# clear choices count: otherwise two contradicting preferences are just two preferences.
_MAX_TOPIC: Final = 80
"""The most characters of an alternative, as words."""
_THING: Final = r"(\S.{0,40}?)"
_END: Final = (
    r"(?= for | when | because | if | since | in | für | wenn | weil | pour | quand | para | cuando |[,.;:!(，。！]|$)"
)

_OVER: Final = any_of(
    rf"(?:prefer|use) (?:to use |using )?{_THING},? (?:over|instead of|rather than) {_THING}{_END}",
    rf"prefer (?!to ){_THING} to {_THING}{_END}",
    rf"(?:bevorzuge|verwende|nutze|nimm) (?:immer )?{_THING} (?:gegenüber|statt|anstatt|anstelle von) {_THING}{_END}",
    rf"(?:préfère|préférons|utilise) {_THING} (?:à|aux?|plutôt qu[e'’]|au lieu d[e'’]) ?{_THING}{_END}",
    rf"(?:prefiero|preferimos|usa) {_THING} (?:a|en vez de|en lugar de) {_THING}{_END}",
    rf"(?:喜[欢歡]|偏好|使用|用){_THING}[,，]?(?:而不是|而非|[胜勝][过過]|不要用?){_THING}{_END}",
)
_ADVERBS: Final = (
    ("always", r"\b(?:always|immer|toujours|siempre)\b|总是|總是|始终|始終|一律"),
    ("never", r"\b(?:(?:do not|don['’]t) ever|never|niemals|nie|jamais|nunca)\b|永[远遠]不要|[从從]不|绝对?不要?"),
)
_LEFT_OVER: Final = frozenset({"ne", "n"})
"""The rest of a two-part negation."""


def lessons_from_statements(message: str) -> list[Lesson]:
    """Return the lessons that a person states in a message, at most a few."""
    words = own_beginning(message)
    return [*_fixes(words), *_decisions_and_preferences(words)][:_MAX_LESSONS]


def _fixes(words: str) -> Iterator[Lesson]:
    """Yield each fix that is stated, with the cause that is stated shortly before it or after it."""
    stated = [
        sentence
        for sentence in sentences(words)
        if len(sentence) <= MAX_STATEMENT and not sentence.endswith(("?", "？"))
    ]
    told = [clause for sentence in stated for clause in _clauses(sentence)]
    causes = {at: cause for at, one in enumerate(told) if (cause := _after(_CAUSES, one))}
    for at, one in enumerate(told):
        if fix := _after(_FIXES, one):
            near = [cause for where, cause in causes.items() if abs(where - at) <= _BECAUSE]
            problem = near[-1] if near else ""
            solution = {"fix": fix} | ({"cause": problem} if problem else {})
            yield _lesson("error_recovery", problem or fix, solution, problem)


def _clauses(sentence: str) -> list[str]:
    """Split a sentence in two if its second part states a fix: "the cause was …, and the fix was …"."""
    found = re.search(_LATER_FIX, sentence, re.IGNORECASE)
    return [sentence[: found.start()], sentence[found.start("fix") :]] if found else [sentence]


def _decisions_and_preferences(words: str) -> Iterator[Lesson]:
    for statement in statements(words):
        if statement.kind == "project":
            yield _lesson("task_solution", statement.text, {"decision": statement.text})
        elif _is_preference(statement):
            fields: ExperienceFields = {"confidence": FIRST_CONFIDENCE, "weight": CANDIDATE_WEIGHT}
            topic, value = choice(statement.text) or ("", "")
            yield Lesson(PREFERENCE, statement.text, {"preference": statement.text}, fields, "person", topic, value)


def _is_preference(one: Statement) -> bool:
    """Return whether a statement says how to work; what a person only asks to remember belongs in a note."""
    if one.kind == "feedback":
        return bool(statements(one.text))
    return bool(re.match(_PREFERS, one.text, re.IGNORECASE))


def _lesson(type_: str, intent: str, solution: dict[str, str], problem: str = "") -> Lesson:
    fields: ExperienceFields = {"confidence": _STATED_CONFIDENCE, "weight": CANDIDATE_WEIGHT, "problem": problem}
    return Lesson(type_, intent, solution, fields, "person")


def _after(start: str, sentence: str) -> str:
    found = re.match(start, sentence, re.IGNORECASE)
    rest = sentence[found.end() :].strip(" .。!！") if found else ""
    return rest if len(rest.encode("utf-8", "replace")) >= _MIN_FIX else ""


class PreferenceChoice(NamedTuple):
    """The alternatives, equal for every choice among them, and the one that was chosen."""

    topic: str
    value: str


def choice(sentence: str) -> PreferenceChoice | None:
    """Return what a preference chooses and from which alternatives, in a normal form of the words."""
    found = _between(sentence) or _whether(sentence)
    return found if found is not None and len(found.topic) <= _MAX_TOPIC else None


def _between(sentence: str) -> PreferenceChoice | None:
    match = re.search(_OVER, sentence, re.IGNORECASE)
    sides = [telling_wording(group) for group in match.groups() if group] if match else []
    if match is None or len(sides) != 2 or not all(sides) or sides[0] == sides[1]:
        return None
    # The context counts: preferring one thing for scripts and another in containers is not a contradiction.
    where = telling_wording(sentence[match.end() :])
    return PreferenceChoice(" ".join(filter(None, (" or ".join(sorted(sides)), where))), sides[0])


def _whether(sentence: str) -> PreferenceChoice | None:
    """Return whether something is to be done always or never."""
    said = [(value, re.search(adverb, sentence, re.IGNORECASE)) for value, adverb in _ADVERBS]
    found = [(value, match) for value, match in said if match]
    if len(found) != 1:
        return None
    ((value, match),) = found
    rest = f"{sentence[: match.start()]} {sentence[match.end() :]}"
    topic = " ".join(word for word in words_of(telling_wording(rest)) if word not in _LEFT_OVER)
    return PreferenceChoice(topic, value) if topic else None

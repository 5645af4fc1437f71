"""Finds explicit statements of what a person learnt: what fixed an error, what was decided, what they prefer.

Without a model, in a few languages. Pure and linear. Only the person's own words are read, sentence by sentence, and
only a sentence is stored, never a message. The patterns are few and reliable; a match is a candidate of little weight,
which gains by repetition.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from promptuary.experiences.drafting import Lesson
from promptuary.experiences.learn.choices import choice
from promptuary.experiences.values import FIRST_CONFIDENCE, PREFERENCE, ExperienceFields
from promptuary.memory.writeback.own_words import own_beginning, sentences
from promptuary.memory.writeback.statements import LONGEST_STATEMENT, Statement, statements

_MOST: Final = 5
_SHORTEST: Final = 8
"""The fewest characters of a cause or a fix."""
CANDIDATE_WEIGHT: Final = 0.4
_STATED_CONFIDENCE: Final = 0.6
"""The confidence of a fix or a decision that the person stated once."""

_CAUSES: Final[Sequence[str]] = (
    r"(?:the |our )?(?:problem|issue|cause|root cause|reason|culprit|bug|error)(?: was| is|:)(?: that)?,? ",
    r"(?:it|that|this) (?:failed|broke|crashed) because ",
    r"(?:das |der |die )?(?:problem|ursache|grund|fehler)(?: war| ist|:)(?:,? dass)?,? ",
    r"(?:le |la |l['’])?(?:problème|cause|erreur|raison)(?: était| venait de| est|:)(?: que)? ?",
    r"(?:el |la )?(?:problema|causa|error|motivo)(?: era| fue| es|:)(?: que)? ",
    r"(?:问题|問題|原因|错误|錯誤)(?:是|在于|在於|出在|[:：])(?:因为|因為)?",
)
_FIXES: Final[Sequence[str]] = (
    r"(?:the |our )?(?:fix|solution|workaround|trick|answer)(?: was| is|:)(?: to| that)?,? ",
    r"(?:what|that) (?:fixed|solved|helped)(?: it| this| that)?(?: was| is|:)(?: to)?,? ",
    r"(?:i|we) (?:fixed|solved) (?:it|this|that) (?:by|with) ",
    r"(?:die |der |das )?(?:lösung|abhilfe|fix|workaround|trick)(?: war| ist|:)(?:,? dass)?,? ",
    r"geholfen hat(?:,|:| es,?) ",
    r"(?:la |l['’])?(?:solution|astuce|correction)(?: était| est|:)(?: de| d['’])? ?",
    r"(?:la |el )?(?:solución|arreglo|truco)(?: fue| era| es|:)(?: que)? ",
    r"(?:解决办法|解决方法|解決辦法|解決方法|解法|修复方法|修復方法)(?:是|[:：])",
)
_BECAUSE: Final = 3
"""The most sentences between a cause and its fix."""
_PREFERS: Final = r".{0,24}(?:prefer|bevorzug|préfér|préfère|prefier|喜[欢歡]|偏好)"


def lessons_from_statements(message: str) -> list[Lesson]:
    """Return the lessons that a person states in a message, at most a few."""
    words = own_beginning(message)
    return [*_fixes(words), *_decisions_and_preferences(words)][:_MOST]


def _fixes(words: str) -> Iterator[Lesson]:
    """Yield each fix that is stated, with the cause that is stated shortly before it or after it."""
    stated = [one for one in sentences(words) if len(one) <= LONGEST_STATEMENT and not one.endswith(("?", "？"))]
    told = [clause for one in stated for clause in _clauses(one)]
    causes = {at: cause for at, one in enumerate(told) if (cause := _after(_cause(), one))}
    for at, one in enumerate(told):
        if fix := _after(_fix(), one):
            near = [cause for where, cause in causes.items() if abs(where - at) <= _BECAUSE]
            problem = near[-1] if near else ""
            solution = {"fix": fix} | ({"cause": problem} if problem else {})
            yield _lesson("error_recovery", problem or fix, solution, problem)


def _clauses(sentence: str) -> list[str]:
    """Split a sentence in two if its second part states a fix: "the cause was …, and the fix was …"."""
    found = _later_fix().search(sentence)
    return [sentence[: found.start()], sentence[found.start("fix") :]] if found else [sentence]


def _decisions_and_preferences(words: str) -> Iterator[Lesson]:
    for one in statements(words):
        if one.kind == "project":
            yield _lesson("task_solution", one.text, {"decision": one.text})
        elif _is_preference(one):
            fields: ExperienceFields = {"confidence": FIRST_CONFIDENCE, "weight": CANDIDATE_WEIGHT}
            topic, value = choice(one.text) or ("", "")
            yield Lesson(PREFERENCE, one.text, {"preference": one.text}, fields, "person", topic, value)


def _is_preference(one: Statement) -> bool:
    """Return whether a statement says how to work; what a person only asks to remember belongs in a note."""
    if one.kind == "feedback":
        return bool(statements(one.text))
    return bool(_prefers().match(one.text))


def _lesson(type_: str, intent: str, solution: dict[str, str], problem: str = "") -> Lesson:
    fields: ExperienceFields = {"confidence": _STATED_CONFIDENCE, "weight": CANDIDATE_WEIGHT, "problem": problem}
    return Lesson(type_, intent, solution, fields, "person")


def _after(pattern: re.Pattern[str], sentence: str) -> str:
    found = pattern.match(sentence)
    rest = sentence[found.end() :].strip(" .。!！") if found else ""
    return rest if len(rest.encode("utf-8", "replace")) >= _SHORTEST else ""


@cache
def _cause() -> re.Pattern[str]:
    return re.compile("|".join(_CAUSES), re.IGNORECASE)


@cache
def _fix() -> re.Pattern[str]:
    return re.compile("|".join(_FIXES), re.IGNORECASE)


@cache
def _prefers() -> re.Pattern[str]:
    return re.compile(_PREFERS, re.IGNORECASE)


@cache
def _later_fix() -> re.Pattern[str]:
    return re.compile(rf"[,;，；]\s*(?:(?:and|so|und|et|y)\s+)?(?P<fix>{'|'.join(_FIXES)})", re.IGNORECASE)

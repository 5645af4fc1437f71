"""Creates an experience from given values: validates them, removes secrets, and computes its fingerprint. Pure.

An invalid value raises ``ConfigError``, which names the field and what it may be. What reaches a store is plain JSON of
bounded size in valid Unicode.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, Final, cast
from unicodedata import normalize

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import ConfigError
from promptuary.base.values import Json
from promptuary.experiences.scrub import scrub, scrub_value
from promptuary.experiences.values import (
    FEEDBACK,
    FIRST_CONFIDENCE,
    OUTCOMES,
    PREFERENCE,
    TYPES,
    Experience,
    ExperienceFields,
    ExperienceOutcome,
    Feedback,
    with_revision,
)
from promptuary.memory.values import NoteTrust, new_note_id
from promptuary.memory.writeback.wording import telling_wording, wording

MAX_INTENT: Final = 2_000
MAX_PROBLEM: Final = 4_000
MAX_SOLUTION: Final = 64_000
"""The most characters of a solution as JSON."""
MAX_DEPTH: Final = 40
MAX_TAGS: Final = 32
MAX_TAG: Final = 100
_MAX_NAME: Final = 500
_MAX_DAYS: Final = 36_500.0

_PLUGIN_TYPE: Final = re.compile(r"[a-z][a-z0-9_]{0,39}\.[a-z][a-z0-9_]{0,39}", re.ASCII)


_ARGUMENTS: Final = frozenset({"arguments", "args", "input", "parameters", "result", "output"})
"""Fields whose values differ between runs: only the names of their fields are compared."""


def fingerprint(type_: str, outcome: str, intent: str, solution: Json) -> str:
    """Return a hash that is the same for equal experiences."""
    said = telling_wording(intent) or wording(intent) or intent.strip()
    return _hash(type_, outcome, said, json.dumps(_shape(solution), ensure_ascii=False, sort_keys=True))


def preference_fingerprint(category: str, value: str) -> str:
    """Return the same for a preference, from its category and value."""
    return _hash("preference", topic(category), wording(value) or value.strip())


def topic(category: str) -> str:
    """Return a hash that is the same for preferences of one category."""
    return _hash("topic", wording(category) or category.strip())


def _shape(value: Json) -> Json:
    match value:
        case str():
            return wording(value) or value.strip()
        case Mapping():
            return {
                name: sorted(one) if name in _ARGUMENTS and isinstance(one, Mapping) else _leaf(name, one)
                for name, one in value.items()
            }
        case Sequence():
            return [_shape(element) for element in value]
        case _:
            return value


def _leaf(name: str, value: Json) -> Json:
    return None if name in _ARGUMENTS else _shape(value)


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class Lesson(Struct, frozen=True):
    """Something that a turn taught: what was wanted, what was done about it, and further fields.

    ``trust`` says whose words it holds. External ones are not shown before they are confirmed. ``topic`` is what a
    preference is about: another value of the same topic contradicts it. ``value`` is what is preferred of the topic, if
    ``intent`` says that in a sentence.
    """

    type: str
    intent: str
    solution: Any
    fields: ExperienceFields = field(default_factory=ExperienceFields)
    trust: NoteTrust = "agent"
    topic: str = ""
    value: str = ""


def draft(
    type_: str, intent: str, solution: Json, fields: ExperienceFields, *, now: str, trust: NoteTrust = "person"
) -> Experience:
    """Return a new experience. Raises ``ConfigError`` if a value is invalid."""
    outcome = check_outcome(fields.get("outcome", "success"))
    said = scrub(_text("intent", intent, MAX_INTENT, empty=False))
    known = check_type(type_)
    way = scrub_value(_value(solution))
    problem = scrub(_text("problem", fields.get("problem", ""), MAX_PROBLEM))
    weight = check_share("weight", fields.get("weight", 1.0))
    score = fields.get("success_score", 1.0 if outcome == "success" else 0.0)
    made = Experience(
        id=new_note_id(),
        type=known,
        intent=said,
        solution=way,
        created_at=now,
        last_used_at=now,
        rev="",
        fingerprint=fingerprint(known, outcome, said, way),
        outcome=outcome,
        problem=problem,
        success_score=check_share("success_score", score),
        base_weight=weight,
        weight=weight,
        weighed_at=now,
        confidence=check_share("confidence", fields.get("confidence", 1.0)),
        tags=check_tags(fields.get("tags", ())),
        thread=_text("thread", fields.get("thread", ""), _MAX_NAME),
        turn=_text("turn", fields.get("turn", ""), _MAX_NAME),
        trust=trust,
    )
    return with_revision(made)


def preference(
    category: str, value: str, fields: ExperienceFields, *, now: str, trust: NoteTrust, said: str = ""
) -> Experience:
    """Return a preference: ``value`` of a ``category``, such as "tabs" of "indentation".

    ``said`` is the sentence in which somebody stated it; that is what is searched and shown.
    """
    kind = scrub(_text("category", category, MAX_TAG, empty=False))
    liked = scrub(_text("value", value, MAX_INTENT - MAX_TAG - 2, empty=False))
    given: ExperienceFields = {"confidence": FIRST_CONFIDENCE, **fields}
    way = {"preference": said} if said else {"category": kind, "value": liked}
    made = draft(PREFERENCE, said or f"{kind}: {liked}", way, given, now=now, trust=trust)
    return replace(made, fingerprint=preference_fingerprint(kind, liked), topic=topic(kind))


def check_type(name: str) -> str:
    """Return a valid type: a built-in one, or that of a plug-in, ``package.name``."""
    if name in TYPES or _PLUGIN_TYPE.fullmatch(str(name)):
        return name
    near = get_close_matches(str(name)[:80], TYPES, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ConfigError(
        f"{str(name)[:80]!r} is not a type of experience: use {', '.join(TYPES)}, "
        f"or package.name for one of your own{hint}"
    )


def check_outcome(outcome: str) -> ExperienceOutcome:
    if outcome not in OUTCOMES:
        raise ConfigError(f"outcome is {' or '.join(OUTCOMES)}, not {str(outcome)[:80]!r}")
    return outcome


def check_feedback(feedback: str) -> Feedback:
    """Return a valid judgement."""
    if feedback not in FEEDBACK:
        raise ConfigError(f"feedback is {', '.join(FEEDBACK)}, not {str(feedback)[:80]!r}")
    return feedback


def check_share(name: str, value: float) -> float:
    """Return a number from 0 to 1."""
    number = _number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ConfigError(f"{name} is a number from 0 to 1, not {number:g}")
    return number


def check_days(name: str, value: float) -> float:
    """Return a number of days above 0."""
    number = _number(name, value)
    if not 0.0 < number <= _MAX_DAYS:
        raise ConfigError(f"{name} is a number of days above 0 and at most {_MAX_DAYS:.0f}, not {number:g}")
    return number


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags in lower case, each once."""
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise ConfigError(f"tags are a list of texts: tags=[{tags!r}]"[:200])
    texts = (normalize("NFC", scrub(_text("a tag", tag, MAX_TAG))).lower() for tag in tags)
    found = dict.fromkeys(" ".join(text.split()) for text in texts if text)
    if len(found) > MAX_TAGS:
        raise ConfigError(f"an experience has at most {MAX_TAGS} tags, not {len(found)}")
    return tuple(found)


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{name} is a number, not {str(value)[:80]!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ConfigError(f"{name} is a number, not {number}")
    return number


def _text(name: str, value: str, longest: int, *, empty: bool = True) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name} is a text, not {type(value).__name__}")
    if not empty and not value.strip():
        raise ConfigError(f"{name} is empty; say what was wanted in a few words")
    if len(value) > longest:
        raise ConfigError(f"{name} has {len(value):,} characters; the most is {longest:,}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{name} has half a character (a lone surrogate) at position {error.start}") from None
    return value.strip()


def _value(solution: Json) -> Json:
    """Return a copy of a solution via JSON; raise an error if it is not JSON, or too large."""
    _check_depth(solution)
    try:
        text = json.dumps(solution, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"solution must be a value that JSON can hold: {error}") from None
    if len(text) > MAX_SOLUTION:
        raise ConfigError(f"solution has {len(text):,} characters as JSON; the most is {MAX_SOLUTION:,}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError("solution has half a character (a lone surrogate) in a text") from None
    return cast("Json", json.loads(text))


def _check_depth(value: Json) -> None:
    """Raise an error for values nested too deeply: without recursion, so that any depth can be refused."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ConfigError(f"solution is nested deeper than {MAX_DEPTH} levels")
        inner = [list(held.values()) if isinstance(held, Mapping) else held for held in level if _holds(held)]
        level = [held for values in inner for held in values if _holds(held)]


def _holds(value: Json) -> bool:
    return isinstance(value, (dict, list, tuple, Mapping))

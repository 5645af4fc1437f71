"""The values of the experience store: what worked before and what went wrong, how strong each is, and what changes it.

An experience says what somebody wanted (``intent``) and what was done about it (``solution``, any JSON), with the
outcome. The rules that all stores share are only here: how strength decays (``strength``), and the effects of a use, a
judgement, a repetition and a contradiction. Every effect is bounded: numbers stay between 0 and 1. Values only, no
input or output.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, TypedDict, assert_never

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.values import Json
from promptuary.experiences.decay import HALF_LIFE
from promptuary.memory.values import NoteTrust
from promptuary.search.values import RecordResult, Why

ExperienceOutcome = Literal["success", "failure"]
"""Whether what was done worked; a failure says in ``problem`` what went wrong."""

Feedback = Literal["helped", "wrong", "stale"]
"""A judgement of an experience after it was used: it helped, it is wrong, or it is no longer true."""

TYPES: Final = ("tool_chain", "user_preference", "task_solution", "error_recovery")
"""The built-in types; those of a plug-in begin with the name of its package and a dot."""
OUTCOMES: Final[tuple[ExperienceOutcome, ...]] = ("success", "failure")
FEEDBACK: Final[tuple[Feedback, ...]] = ("helped", "wrong", "stale")
PREFERENCE: Final = "user_preference"

FIRST_CONFIDENCE: Final = 0.4
"""The confidence of a preference that was seen once."""
MIN_CONFIDENCE: Final = 0.5
"""The confidence that an experience needs to be shown in a turn."""

_REPEATED: Final = 0.2
"""The fraction of the distance to 1 that confidence gains by a repetition or a positive judgement."""
_CONTRADICTED: Final = 0.5
"""The fraction of its confidence that a preference keeps when another value is preferred."""
_REINFORCED: Final = 0.05
_LEARNT: Final = 1 / 3
"""How far the success score moves towards that of a repetition."""
_HELPED: Final = 0.2
_WRONG: Final = 0.5
_STALE: Final = 0.25
_TRUST: Final[Mapping[NoteTrust, int]] = {"external": 0, "agent": 1, "person": 2}
_MAX_TAGS: Final = 32
_SECONDS: Final = 86_400.0

LAYER: Final = "experience"
"""The layer that shows experiences, and its name in receipts."""


class Experience(Struct, frozen=True):
    """Something that was learnt. Times are ISO 8601 in UTC.

    ``success_score`` and ``confidence`` are from 0 to 1; ``confidence`` is how sure a preference is. ``base_weight`` is
    the strength at ``last_used_at``, and falls by half in ``half_life_days``; ``weight`` is what it was at
    ``weighed_at``, when decay was applied last. Use ``strength`` for what it is now. ``thread`` and ``turn`` (its id)
    say where it comes from. ``trust`` says whose words it holds. ``rev`` changes when its content does, not when it is
    used. Experiences with the same ``fingerprint`` are one. Preferences with the same ``topic`` contradict each other.
    """

    id: str
    type: str
    intent: str
    solution: Json
    created_at: str
    last_used_at: str
    rev: str
    fingerprint: str
    outcome: ExperienceOutcome = "success"
    problem: str = ""
    success_score: float = 1.0
    base_weight: float = 1.0
    weight: float = 1.0
    weighed_at: str = ""
    half_life_days: float = HALF_LIFE
    use_count: int = 1
    confidence: float = 1.0
    tags: tuple[str, ...] = ()
    thread: str = ""
    turn: str = ""
    trust: NoteTrust = "person"
    topic: str = ""

    @property
    def address(self) -> str:
        """How receipts and the ledger name it."""
        return f"experience:{self.id}"


class ExperienceFields(TypedDict, total=False):
    """The optional fields of an experience, beside its type, intent and solution, as keyword arguments."""

    outcome: ExperienceOutcome
    problem: str
    success_score: float
    weight: float
    confidence: float
    tags: Sequence[str]
    thread: str
    turn: str


class ExperienceFilter(Struct, frozen=True):
    """A filter; empty matches all. A match has every one of ``tags``. A ``limit`` of ``None`` means no limit."""

    types: Sequence[str] = ()
    outcomes: Sequence[ExperienceOutcome] = ()
    tags: Sequence[str] = ()
    limit: int | None = None


class ExperienceHit(Struct, frozen=True):
    """An experience that resembles the query. ``why`` has the scores of words and meaning.

    ``score`` is relevance plus ``prior``, which is what strength, success and shared tags add: a bounded part.
    """

    experience: Experience
    score: float
    why: Why
    strength: float
    prior: float = 0.0
    shared_tags: tuple[str, ...] = ()


class ExperienceResult(RecordResult[ExperienceHit], frozen=True):
    """The experiences that a search found."""


class ExperienceList(Struct, frozen=True):
    """Experiences, and how many match in all."""

    experiences: Sequence[Experience]
    total: int


class ExperienceStats(Struct, frozen=True):
    """How many experiences there are: in all, by type, by outcome, and too weak to be found."""

    total: int = 0
    types: Mapping[str, int] | None = None
    outcomes: Mapping[str, int] | None = None
    weak: int = 0
    uses: int = 0


class PruneReport(Struct, frozen=True):
    """The experiences that pruning removed, or in a dry run would remove: their strength is below ``min_weight``."""

    min_weight: float
    experiences: Sequence[Experience] = ()
    done: bool = True


def days_between(earlier: str, later: str) -> float:
    """Return the days from one time to another, both ISO 8601; 0 if the second is not later."""
    seconds = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return max(0.0, seconds / _SECONDS)


def strength(experience: Experience, now: str) -> float:
    """Return the strength of an experience at a time: its base weight, halved for every half-life since its last use.

    It depends on nothing else, so the result is the same however often decay was applied in between.
    """
    return strength_at(experience.base_weight, experience.last_used_at, experience.half_life_days, now)


def strength_at(base_weight: float, last_used_at: str, half_life_days: float, now: str) -> float:
    """Return the same from the fields that it depends on."""
    return float(base_weight * 2.0 ** (-days_between(last_used_at, now) / half_life_days))


def decay(experience: Experience, now: str, half_life_days: float) -> Experience:
    """Return an experience with its weight at a time; from its last use on, it halves in ``half_life_days``."""
    aged = replace(experience, half_life_days=half_life_days)
    return replace(aged, weight=strength(aged, now), weighed_at=now)


def use(experience: Experience, now: str) -> Experience:
    """Return an experience that was used: its strength is its base weight again."""
    return _refresh(replace(experience, use_count=experience.use_count + 1), now)


def judge(experience: Experience, feedback: Feedback, now: str) -> Experience:
    """Return an experience after somebody said whether it helped."""
    one = experience
    match feedback:
        case "helped":
            better = replace(
                one,
                success_score=_nearer(one.success_score, 1.0, _HELPED),
                base_weight=_nearer(one.base_weight, 1.0, _HELPED),
                confidence=_nearer(one.confidence, 1.0, _REPEATED),
                # Somebody confirmed it: from now on it may be shown.
                trust="agent" if one.trust == "external" else one.trust,
            )
            return use(better, now)
        case "wrong":
            worse = replace(one, success_score=one.success_score * _WRONG, confidence=one.confidence * _WRONG)
            return _weaken(worse, _WRONG, now)
        case "stale":
            return _weaken(replace(one, confidence=one.confidence * _WRONG), _STALE, now)
        case _:
            assert_never(feedback)


def reinforce(old: Experience, new: Experience) -> Experience:
    """Return an experience after the same was learnt again.

    It takes over the content of the better of the two, unless that comes from a less trusted source.
    """
    learns = _TRUST[new.trust] >= _TRUST[old.trust] and new.success_score >= old.success_score
    content = new if learns else old
    stronger = replace(
        old,
        intent=content.intent,
        solution=content.solution,
        problem=content.problem,
        trust=content.trust,
        thread=content.thread,
        turn=content.turn,
        tags=tuple(dict.fromkeys((*old.tags, *new.tags)))[:_MAX_TAGS],
        success_score=_nearer(old.success_score, new.success_score, _LEARNT),
        base_weight=min(1.0, old.base_weight + _REINFORCED),
        confidence=_nearer(old.confidence, 1.0, _REPEATED),
    )
    return use(with_revision(stronger), new.created_at)


def contradict(old: Experience) -> Experience:
    """Return a preference after another value of the same topic was preferred."""
    return replace(old, confidence=old.confidence * _CONTRADICTED)


def with_revision(one: Experience) -> Experience:
    """Return an experience with the revision that belongs to what it says."""
    parts = [one.type, one.intent, one.solution, one.outcome, one.problem, *sorted(one.tags)]
    said = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return replace(one, rev=hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest())


def _nearer(value: float, target: float, part: float) -> float:
    return min(1.0, max(0.0, value + part * (target - value)))


def _refresh(one: Experience, now: str) -> Experience:
    # Another process may have used it a moment later than this one did.
    last = max(one.last_used_at, now)
    return replace(one, last_used_at=last, weight=one.base_weight, weighed_at=last)


def _weaken(one: Experience, part: float, now: str) -> Experience:
    weaker = replace(one, base_weight=one.base_weight * part)
    return replace(weaker, weight=strength(weaker, now), weighed_at=now)

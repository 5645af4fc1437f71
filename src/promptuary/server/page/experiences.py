"""Experiences: what worked and what went wrong, how strong each still is, and what changes that."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import log2
from typing import Final

from msgspec import Struct, to_builtins

from promptuary.api.operations import encode
from promptuary.base.errors import ConfigError, UnknownExperienceError
from promptuary.experiences.decay import PRUNE_BELOW
from promptuary.experiences.values import (
    FEEDBACK,
    OUTCOMES,
    TYPES,
    Experience,
    days_between,
    strength,
    strength_at,
)
from promptuary.search.values import Why
from promptuary.server.page.view import Asked, Page, Redirect, View

_AT_ONCE: Final = 50
_POINTS: Final = 60
"""How many points a curve has."""
_WIDTH: Final = 600.0
_HEIGHT: Final = 160.0
_MIN_DAYS: Final = 7.0


class Listed(Struct, frozen=True):
    """An experience in a listing, with its strength now; ``why`` is there if it was searched for."""

    experience: Experience
    strength: float
    score: float | None = None
    why: Why | None = None


class ExperiencePage(Struct, frozen=True):
    """Experiences, and how many there are in all. ``following`` is the cursor of the next ones, empty if it ends."""

    experiences: Sequence[Listed]
    total: int
    weak: int = 0
    """How many of all are too weak to be found."""
    following: str = ""
    query: str = ""


class Curve(Struct, frozen=True):
    """The strength of an experience over time, as a picture of ``width`` by ``height``.

    ``points`` begin when it was learnt, level until the last use; ``used`` and ``now`` are where on the line of
    time it was used, and is now; ``threshold`` is the height of the line below which it is not found.
    """

    width: float
    height: float
    points: str
    used: float
    now: float
    strength: float
    threshold: float
    start: str
    end: str
    ends: str
    """When it falls below the threshold."""


class OneExperience(Struct, frozen=True):
    """An experience with its strength now, and its decay as a curve."""

    experience: Experience
    strength: float
    curve: Curve


async def experiences(asked: Asked) -> View:
    """Show the experiences, or those that resemble a query."""
    query, now = asked.query.get("q", "").strip(), _now()
    kind, outcome, tag = (asked.query.get(name, "").strip() for name in ("type", "outcome", "tag"))
    if outcome and outcome not in OUTCOMES:
        raise ConfigError(f"outcome must be success or failure, not {outcome[:40]!r}")
    tags = [tag] if tag else []
    store = asked.workspace.experiences
    stats = await store.stats()
    if query:
        hits = (
            await store.find_similar(
                query, tags, _AT_ONCE, type=kind or None, outcome=outcome or None, strict_tags=bool(tags)
            )
        ).hits
        listed = [Listed(hit.experience, round(hit.strength, 3), hit.score, hit.why) for hit in hits]
        found = ExperiencePage(listed, stats.total, stats.weak, query=query)
    else:
        start = asked.number("cursor", asked.query["cursor"]) if asked.query.get("cursor") else 0
        some = await store.list(type=kind or None, tags=tags, outcome=outcome or None, offset=start, limit=_AT_ONCE)
        end = start + len(some.experiences)
        listed = [Listed(one, _strength(one, now)) for one in some.experiences]
        found = ExperiencePage(listed, some.total, stats.weak, str(end) if end < some.total else "")
    more = {"types": sorted({*TYPES, *(stats.types or {})}), "outcomes": OUTCOMES, "stats": stats}
    return View("experiences/list.html", found, more | {"is_filtered": bool(query or kind or outcome or tag)})


async def experience(asked: Asked) -> View:
    """Show one experience."""
    found, now = await _find(asked), _now()
    value = OneExperience(found, _strength(found, now), build_curve(found, now))
    solution = found.solution if isinstance(found.solution, str) else encode(to_builtins(found.solution)).decode()
    more = {"solution": solution, "is_text": isinstance(found.solution, str), "judgements": FEEDBACK}
    return View("experiences/experience.html", value, more | {"prune_below": PRUNE_BELOW})


def build_curve(one: Experience, now: str) -> Curve:
    """Return the decay of an experience from its creation to when it has faded, or to now if that is later."""
    left = one.half_life_days * log2(max(one.base_weight, PRUNE_BELOW) / PRUNE_BELOW)
    before, since = days_between(one.created_at, one.last_used_at), days_between(one.last_used_at, now)
    # Of a long past only the end is shown: what matters is what is left.
    before = min(before, max(left, _MIN_DAYS))
    days = max(before + max(left * 1.15, since * 1.05), _MIN_DAYS)
    x, y = _WIDTH / days, _HEIGHT
    first = datetime.fromisoformat(one.last_used_at) - timedelta(days=before)
    steps = [before + (days - before) * step / _POINTS for step in range(_POINTS + 1)]
    last = datetime.fromisoformat(one.last_used_at)
    heights = [
        strength_at(
            one.base_weight, one.last_used_at, one.half_life_days, (last + timedelta(days=day - before)).isoformat()
        )
        for day in steps
    ]
    return Curve(
        width=_WIDTH,
        height=_HEIGHT,
        points=" ".join(f"{day * x:.1f},{y - height * y:.1f}" for day, height in zip(steps, heights, strict=True)),
        used=before * x,
        now=round((before + since) * x, 1),
        strength=_strength(one, now),
        threshold=y - PRUNE_BELOW * y,
        start=first.isoformat(),
        end=(last + timedelta(days=days - before)).isoformat(),
        ends=(last + timedelta(days=left)).isoformat(),
    )


async def judge(asked: Asked) -> Redirect:
    """Record whether an experience helped."""
    said = asked.form.get("feedback", "")
    if said not in FEEDBACK:
        raise ConfigError(f"feedback must be {', '.join(FEEDBACK)}, not {said[:40]!r}")
    found = await asked.workspace.experiences.feedback((await _find(asked)).id, said)
    return Redirect(asked.url("/experiences", found.id))


async def use(asked: Asked) -> Redirect:
    """Count a use."""
    found = await asked.workspace.experiences.mark_used((await _find(asked)).id)
    return Redirect(asked.url("/experiences", found.id))


async def forget(asked: Asked) -> Redirect:
    """Erase an experience."""
    await asked.workspace.experiences.forget((await _find(asked)).id)
    return Redirect(asked.url("/experiences"))


async def _find(asked: Asked) -> Experience:
    key = asked.parts["experience"]
    found = await asked.workspace.experiences.get(key)
    if found is None:
        raise UnknownExperienceError(f"there is no experience {key[:60]!r}; it may have been forgotten or pruned")
    return found


def _strength(one: Experience, now: str) -> float:
    """Return a strength as precisely as a page shows it: it falls with every millisecond."""
    return round(strength(one, now), 3)


def _now() -> str:
    return datetime.now(UTC).isoformat()


PAGES: Final = (
    Page("GET", "/experiences", experiences, nav="Experiences"),
    Page("GET", "/experiences/{experience}", experience),
    Page("POST", "/experiences/{experience}/feedback", judge, scope="write"),
    Page("POST", "/experiences/{experience}/used", use, scope="write"),
    Page("POST", "/experiences/{experience}/forget", forget, scope="write"),
)

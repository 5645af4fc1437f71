"""The JSON of experiences."""

from __future__ import annotations

import json
from typing import Any

from msgspec import to_builtins

from promptuary.base.blocks import Source, Trust
from promptuary.base.text import one_line
from promptuary.experiences.values import (
    Experience,
    ExperienceHit,
    ExperienceList,
    ExperienceResult,
    PruneReport,
    strength,
)
from promptuary.present.search import note_json, why_json
from promptuary.references.render import answer_block
from promptuary.search.values import note_text


def experience_json(experience: Experience, now: str) -> dict[str, Any]:
    """Return the JSON object of an experience with its strength at a time."""
    left_out = {"fingerprint", "topic"}
    plain = {name: value for name, value in to_builtins(experience).items() if name not in left_out}
    return {**plain, "tags": list(experience.tags), "strength": strength(experience, now)}


def experience_list_json(listed: ExperienceList, now: str) -> dict[str, Any]:
    """Return what ``experience list --json`` prints."""
    return {
        "total": listed.total,
        "experiences": [experience_json(experience, now) for experience in listed.experiences],
    }


def experience_search_json(query: str, result: ExperienceResult, *, explain: bool = False) -> dict[str, Any]:
    """Return what ``experience find --json`` prints; ``explain`` adds the parts of each score."""

    def hit_object(hit: ExperienceHit) -> dict[str, Any]:
        known = experience_json(hit.experience, hit.experience.last_used_at)
        why = {**why_json(hit.why), "strength": hit.strength, "success": hit.experience.success_score}
        shared = {"prior": hit.prior, "shared_tags": list(hit.shared_tags)}
        return {"score": hit.score, **known, "strength": hit.strength} | ({"why": why | shared} if explain else {})

    return {
        "query": query,
        "mode": result.mode,
        "confidence": round(result.confidence, 3),
        "notes": [note_json(note) for note in result.notes],
        "hits": list(map(hit_object, result.hits)),
    }


def experiences_text(result: ExperienceResult) -> str:
    """Return the experiences that were found as a model gets them: what was done, and how it went.

    Text from elsewhere stands inside a boundary that it cannot forge.
    """
    said = [one_line(note_text(note)) for note in result.notes]
    said += [] if result.hits else ["No experience resembles this."]
    blocks = [_experience_block(hit.experience) for hit in result.hits]
    return "".join([*(f"{line}\n\n" for line in said), *blocks]).rstrip("\n")


def _experience_block(experience: Experience) -> str:
    words = {"intent": experience.intent, "problem": experience.problem, "solution": experience.solution}
    plain = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in words.items()
    }
    return answer_block(
        Source(
            key=experience.address,
            label=experience.address,
            kind="experience",
            text="\n".join([f"{name}: {value}" for name, value in plain.items() if value]),
            revision=experience.rev,
            trust=Trust.EXTERNAL if experience.trust == "external" else Trust.WORKSPACE,
            facts=(experience.type, experience.outcome, f"last used {experience.last_used_at[:10]}"),
            brief=True,
        )
    )


def prune_json(report: PruneReport, now: str) -> dict[str, Any]:
    """Return what ``experience prune --json`` prints."""
    weak = [experience_json(experience, now) for experience in report.experiences]
    return {"min_weight": report.min_weight, "done": report.done, "experiences": weak}

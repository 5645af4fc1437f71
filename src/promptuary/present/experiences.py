"""The JSON of experiences."""

from __future__ import annotations

import json
from typing import Any

from msgspec import to_builtins

from promptuary.experiences.values import (
    Experience,
    ExperienceHit,
    ExperienceList,
    ExperienceResult,
    PruneReport,
    strength,
)
from promptuary.present.search import note_json, why_json
from promptuary.references.render import external_text


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


def experience_answer_json(result: ExperienceResult) -> dict[str, Any]:
    """Return the experiences that were found as a model gets them: what was done, and how it went.

    Text from elsewhere stands inside a boundary that it cannot forge.
    """

    def summary(experience: Experience) -> dict[str, Any]:
        words = {"intent": experience.intent, "problem": experience.problem, "solution": experience.solution}
        said = {name: value for name, value in words.items() if value}
        if experience.trust == "external":
            said = {"text": external_text(experience.id, json.dumps(said, ensure_ascii=False))}
        known = {
            "id": experience.id,
            "type": experience.type,
            "outcome": experience.outcome,
            "trust": experience.trust,
            "tags": list(experience.tags),
        }
        return {**known, **said, "used": experience.use_count, "last_used_at": experience.last_used_at}

    return {
        "notes": [note_json(note) for note in result.notes],
        "hits": [summary(hit.experience) for hit in result.hits],
    }


def prune_json(report: PruneReport, now: str) -> dict[str, Any]:
    """Return what ``experience prune --json`` prints."""
    weak = [experience_json(experience, now) for experience in report.experiences]
    return {"min_weight": report.min_weight, "done": report.done, "experiences": weak}

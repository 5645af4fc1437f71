"""Selects which of the experiences that were found are shown for a message, and why the others are not. Pure.

Few are worth their tokens: those that resemble the message, are still strong, and worked. One similar failure is shown
as a warning. Experiences from other people's text are left out until somebody confirms them.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from promptuary.experiences.values import MIN_CONFIDENCE, Experience, ExperienceHit, ExperienceResult

MAX_FOUND: Final = 20
"""How many are considered."""
MAX_SHOWN: Final = 3
MAX_WARNINGS: Final = 1
MIN_STRENGTH: Final = 0.1
MIN_SUCCESS: Final = 0.7


class SelectedExperiences(Struct, frozen=True):
    """The experiences to show, the best first, with the warning last; and those that are not, each with the reason."""

    shown: Sequence[ExperienceHit] = ()
    left_out: Sequence[tuple[ExperienceHit, str]] = ()


def select(found: ExperienceResult) -> SelectedExperiences:
    """Return which of the hits are shown: none unless the best one is probably about the message."""
    helpful: list[ExperienceHit] = []
    warnings: list[ExperienceHit] = []
    left_out: list[tuple[ExperienceHit, str]] = []
    for hit in found.near:
        into, most = (warnings, MAX_WARNINGS) if hit.experience.outcome == "failure" else (helpful, MAX_SHOWN)
        if reason := unfit(hit.experience, hit.strength):
            left_out.append((hit, reason))
        elif len(into) < most:
            into.append(hit)
        else:
            left_out.append((hit, f"{most} better ones are shown"))
    return SelectedExperiences([*helpful, *warnings], left_out)


def unfit(experience: Experience, strength: float) -> str:
    """Return why an experience is not shown; empty if it may be."""
    if experience.trust == "external":
        return "it comes from other people's text, and nobody has confirmed it yet"
    if strength <= MIN_STRENGTH:
        return f"its strength is {strength:.2f}, and {MIN_STRENGTH} is too little"
    if experience.confidence < MIN_CONFIDENCE:
        return f"it is {experience.confidence:.2f} sure, and {MIN_CONFIDENCE} is the least"
    if experience.outcome == "success" and experience.success_score < MIN_SUCCESS:
        return f"its success is {experience.success_score:.2f}, and {MIN_SUCCESS} is the least"
    return ""

"""Prints experiences: as a table, in full, as search results, and as plots of their strength."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from promptuary.base.table import display_width
from promptuary.base.text import one_line, visible
from promptuary.cli.memory.printing import cut_table
from promptuary.cli.search.hits import excerpt, reasons
from promptuary.cli.terminal import columns, cut
from promptuary.experiences.decay import PRUNE_BELOW
from promptuary.experiences.values import Experience, ExperienceHit, strength

_DAY: Final = len("2026-01-31")
_INDENT: Final = "   "
_STEPS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_STEPS: Final = "123456789"
"""Tenths of full strength, for output that does not go to a terminal."""
_HORIZON: Final = 130
"""Days that a plot shows: after these, an experience of full strength is too weak to be found."""
_MIN_CURVE: Final = 10
_MAX_CURVE: Final = 65


def experience_table(experiences: Sequence[Experience], at: str) -> str:
    """Return experiences as a table, cut to the width of the terminal."""
    rows = [
        (
            one.id,
            one.type,
            one.outcome,
            f"{strength(one, at):.2f}",
            f"{one.success_score:.2f}",
            f"{one.confidence:.2f}",
            str(one.use_count),
            one.last_used_at[:_DAY],
            _about(one),
        )
        for one in experiences
    ]
    return cut_table(
        ("id", "type", "outcome", "strength", "success", "confidence", "uses", "last used", "intent"), rows
    )


def _about(one: Experience) -> str:
    return " ".join([one_line(one.intent), *(f"#{one_line(tag)}" for tag in one.tags)])


def full_text(one: Experience, at: str) -> str:
    """Return an experience with its metadata."""
    said = json.dumps(one.solution, ensure_ascii=False, indent=2)
    uses = "once" if one.use_count == 1 else f"{one.use_count} times"
    lines = [
        f"{one.id}  {one.type}, {one.outcome}",
        f"intent      {one_line(one.intent)}",
        *([f"problem     {one_line(one.problem)}"] if one.problem else []),
        f"strength    {strength(one, at):.3f}, {one.base_weight:.3f} when used; half in {one.half_life_days:g} days",
        f"success     {one.success_score:.3f}, confidence {one.confidence:.3f}",
        f"used        {uses}, last {one.last_used_at}, first {one.created_at}",
        *([f"tags        {', '.join(map(one_line, one.tags))}"] if one.tags else []),
        *([f"from        thread {one_line(one.thread)}, {one_line(one.turn)}"] if one.thread else []),
        f"trust       {one.trust}",
        *(["solution"] if one.solution is not None else []),
        *(f"  {line}" for line in visible(said)[0].splitlines() if one.solution is not None),
    ]
    return "\n".join(lines)


def hit_text(number: int, hit: ExperienceHit, words: Sequence[str], *, explain: bool) -> str:
    """Return a hit: the goal, what was done, and with ``explain`` the reasons for its rank."""
    one, width = hit.experience, columns(sys.stdout)
    about = f"{one.id}  {one.type}, {one.outcome}, strength {hit.strength:.2f}"
    head = f"{number}. {cut(one_line(one.intent), max(24, width - len(about) - 8))}  {about}"
    lines = excerpt("\n".join(filter(None, (one.problem, _said(one)))), words, width - len(_INDENT), heading=one.intent)
    if explain:
        known = [f"strength {hit.strength:.2f}", f"success {one.success_score:.2f}", f"together +{hit.prior:.3f}"]
        tags = [f"tags: {one_line(' '.join(hit.shared_tags))}"] if hit.shared_tags else []
        lines.append(f"why: {', '.join([*reasons(hit.score, hit.why), *known, *tags])}")
    return "\n".join([head, *(f"{_INDENT}{line}".rstrip() for line in lines)])


def _said(one: Experience) -> str:
    if one.solution is None or isinstance(one.solution, str):
        return one.solution or ""
    return json.dumps(one.solution, ensure_ascii=False)


def strength_plot(experiences: Sequence[Experience], at: str) -> str:
    """Return a plot of the strength of each in the coming days without use: one line each, as wide as the terminal.

    A terminal gets block characters, other output digits for tenths; a dot means too weak to be found.
    """
    width = columns(sys.stdout)
    labels = max(min(40, width // 3), 12)
    room = max(_MIN_CURVE, min(_MAX_CURVE, width - labels - len("  0.00  ")))
    steps = _STEPS if sys.stdout.isatty() else _PLAIN_STEPS
    days = [_HORIZON * place / (room - 1) for place in range(room)]
    lines = []
    for one in experiences:
        label = cut(f"{one.id[:6]} {one_line(one.intent)}", labels)
        padded = label + " " * (labels - display_width(label))
        lines.append(f"{padded}  {strength(one, at):.2f}  {_curve(one, at, days, steps)}".rstrip())
    axis = f"{'today':<{max(5, room - 9)}}{f'{_HORIZON} days':>9}"
    return "\n".join([*lines, f"{' ' * labels}        {axis}".rstrip()])


def _curve(one: Experience, at: str, days: Sequence[float], steps: str) -> str:
    start = datetime.fromisoformat(at)
    values = (strength(one, (start + timedelta(days=day)).isoformat()) for day in days)
    return "".join(_step(value, steps) for value in values)


def _step(value: float, steps: str) -> str:
    if value < PRUNE_BELOW:
        return "."
    return steps[min(len(steps) - 1, int(value * len(steps)))]

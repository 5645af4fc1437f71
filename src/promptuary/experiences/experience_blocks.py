"""Experiences as blocks: what was wanted, what was done, what went wrong and what helped, in a few lines. Pure.

Each is inside a fence that it cannot close. One that holds the output of a tool is inside a boundary as external text:
it is data, not instructions.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptuary.base.blocks import Block, Source, Trust
from promptuary.base.budget import TokenCounter
from promptuary.base.text import shortened
from promptuary.experiences.values import Experience, days_between
from promptuary.references.detail import whole
from promptuary.references.render import without_gap

_MAX_LINE: Final = 240
_MAX_STEPS: Final = 4
_NAMES: Final = {
    "tool_chain": "what worked before",
    "error_recovery": "what helped after an error",
    "task_solution": "what was decided or worked before",
    "user_preference": "what the person prefers",
}
_WARNING: Final = "a warning: this failed before"
_STATED: Final = ("fix", "decision", "preference", "value")


def experience_label(experience: Experience) -> str:
    """Return the name of an experience in the prompt and in receipts, without any of its own words."""
    name = _WARNING if experience.outcome == "failure" else _NAMES.get(experience.type, experience.type)
    return f"{name} ({experience.id[:8]})"


def experience_block(experience: Experience, counter: TokenCounter, now: str) -> Block:
    source = Source(
        key=experience.address,
        label=experience_label(experience),
        kind="experience",
        text="\n".join(_lines(experience)),
        revision=experience.rev,
        trust=Trust.EXTERNAL if _holds_results(experience) else Trust.WORKSPACE,
        facts=_facts(experience, now),
        brief=True,
    )
    return without_gap(whole(source, counter), counter)


def _holds_results(experience: Experience) -> bool:
    """Return whether it contains the output of a tool: the problem, unless the person stated it."""
    return experience.trust != "person" and bool(experience.problem)


def _facts(experience: Experience, now: str) -> tuple[str, ...]:
    days = int(days_between(experience.last_used_at, now))
    age = "today" if days == 0 else "yesterday" if days == 1 else f"{days:,} days ago"
    times = "once" if experience.use_count == 1 else f"{experience.use_count:,} times"
    # Its address, by which stored prompts are searched when it is forgotten.
    return (experience.address, f"seen {times}", f"last {age}")


def _lines(experience: Experience) -> Iterator[str]:
    solution = experience.solution
    if experience.type == "user_preference" or (isinstance(solution, Mapping) and "decision" in solution):
        yield _line("Said", experience.intent)
        return
    yield _line("Wanted", experience.intent)
    match solution:
        case {"failed": failed, "helped": [*helped]}:
            yield _line("Went wrong", " → ".join(filter(None, (_step(failed), experience.problem))))
            yield _line("Helped", _steps(helped))
        case {"steps": [*steps]}:
            yield _line("Done" if experience.outcome == "success" else "Tried", _steps(steps))
            if experience.problem:
                yield _line("Went wrong", experience.problem)
        case _:
            if experience.problem:
                yield _line("Went wrong", experience.problem)
            if solution is not None:
                yield _line("Helped" if experience.outcome == "success" else "Tried", _plain(solution))


def _line(name: str, text: str) -> str:
    return f"{name}: {shortened(' '.join(text.split()), _MAX_LINE, ' …')}"


def _steps(steps: list[Any]) -> str:
    """Return calls on one line, only the last ones if there are many: these made the difference."""
    worked = [step for step in steps if isinstance(step, Mapping) and step.get("ok", True)]
    shown = worked[-_MAX_STEPS:] or steps[-_MAX_STEPS:]
    return ("… → " if len(shown) < len(worked) else "") + " → ".join(map(_step, shown))


def _step(step: Any) -> str:
    match step:
        case {"tool": str(tool), "arguments": Mapping() as arguments}:
            return f"{tool}({', '.join(f'{name}={_plain(value)}' for name, value in arguments.items())})"
        case {"left_out": int(count)}:
            return f"{count:,} more calls"
        case _:
            return _plain(step)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        stated = next((value[name] for name in _STATED if isinstance(value.get(name), str)), None)
        if stated is not None:
            return str(stated)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)

"""``promptuary hook AGENT EVENT``: reads what an agent tells, and prints what it is answered.

A hook must never block its agent: whatever happens, the answer is JSON, the exit code is 0, and a sentence on standard
error says what went wrong. If a process of ours has the workspace open, it is asked; else the work is done here. Before
every prompt this is started, so it imports little: neither a parser nor an event loop.
"""

import atexit
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

from promptuary.hooks.agents import AGENTS, PLACES, Agent, Moment, answer, moment
from promptuary.machine import ask_local, start_aside

LARGEST: Final = 1 << 20
"""Bytes of what an agent tells."""
USAGE: Final = "promptuary hook claude-code|codex|gemini EVENT, with JSON as standard input"
WORK: Final = "--work"
"""Said to a process that was started aside: do here what must not keep the agent waiting."""
_SECONDS: Final = 4.0
"""Seconds that a process of ours may take to answer."""


def main(arguments: Sequence[str]) -> int:
    """Answer one hook. The exit code is 0 whatever happens."""
    told: dict[str, Any] = {}
    try:
        told = _answered(list(arguments))
    except Exception as error:  # noqa: BLE001  (the outermost loop: an agent must not be blocked by us)
        _say(f"{type(error).__name__}: {error}" if "PROMPTUARY_DEBUG" in os.environ else str(error))
    with suppress(OSError, ValueError):
        sys.stdout.write(json.dumps(told, ensure_ascii=True) + "\n")
        sys.stdout.flush()
    return 0


def leave(code: int) -> NoReturn:
    """Exit. Taking the interpreter apart takes longer than many a hook."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    atexit._run_exitfuncs()  # noqa: SLF001  (as the interpreter would do now)
    os._exit(code)


def _answered(arguments: list[str]) -> dict[str, Any]:
    working = WORK in arguments
    words = [one for one in arguments if one != WORK]
    agent = AGENTS.get(words[0]) if len(words) == 2 else None
    if agent is None:
        return _nothing(f"usage: {USAGE}")
    when = moment(agent, words[1])
    if when is None:
        return _nothing(f"{words[1][:60]} is no event of {agent.name}; there are: {', '.join(agent.events)}")
    told = _told()
    if told is None:
        return _nothing("standard input is not a JSON object of an agent")
    return _worked(agent, when, told, working=working)


def _worked(agent: Agent, when: Moment, told: Mapping[str, Any], *, working: bool) -> dict[str, Any]:
    folder = str(told["cwd"])
    question = {"agent": agent.name, "when": when, "told": told}
    if when not in PLACES and not working:
        # An agent waits for its hooks, and may end the server with itself: another process learns, and outlives both.
        if when != "end":
            start_aside(["hook", agent.name, _event(agent, when), WORK], json.dumps(told).encode())
        return {}
    found = None if working else ask_local(folder, question, timeout=_SECONDS)
    if found is not None and "error" not in found:
        return answer(agent, when, str(found.get("context", "")))
    from promptuary.hooks.answers import context_here  # noqa: PLC0415  (not needed if somebody else answers)

    return answer(agent, when, context_here(agent, when, told))


def _event(agent: Agent, when: Moment) -> str:
    return next(name for name, known in agent.events.items() if known == when)


def _told() -> dict[str, Any] | None:
    """Return what the agent tells, with a folder; ``None`` if it is not what an agent tells."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        return None
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    folder = found.get("cwd")
    if not isinstance(folder, str) or not folder.startswith("/") or "\0" in folder or not os.path.isdir(folder):  # noqa: PTH112  (light)
        found["cwd"] = os.getcwd()  # noqa: PTH109
    return found


def _nothing(sentence: str) -> dict[str, Any]:
    _say(sentence)
    return {}


def _say(sentence: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        shown = "".join(one if one.isprintable() else "?" for one in sentence[:500])
        sys.stderr.write(f"promptuary: {shown}\n")
        sys.stderr.flush()

"""``promptuary hook AGENT EVENT``: reads the input of an agent, and prints the answer to it.

A hook must never block its agent: whatever happens, the answer is JSON, the exit code is 0, and a sentence on standard
error says what went wrong. If a process of ours has the workspace open, it is asked; else the work is done here. This
starts before every prompt, so it imports little: neither a parser nor an event loop.
"""

import atexit
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

from promptuary.hooks.agents import AGENTS, PLACES, Agent, Moment, answer, moment
from promptuary.hooks.flags import WORK, HookArguments, hook_arguments
from promptuary.hooks.sessions import new_turns
from promptuary.workspace.programs.agents import detached, sockets

MAX_INPUT: Final = 1 << 20
"""The most bytes of input from an agent."""
USAGE: Final = "promptuary hook claude-code|codex|gemini EVENT, with JSON as standard input"
_SECONDS: Final = 4.0
"""Seconds that a process of ours may take to answer."""


def main(arguments: Sequence[str]) -> int:
    """Answer one hook. The exit code is 0 whatever happens."""
    told: dict[str, Any] = {}
    given = hook_arguments(arguments)
    try:
        told = _answer(given)
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  (an agent must not be blocked by us)
        shown = str(error) or type(error).__name__
        debug = given.debug or "PROMPTUARY_DEBUG" in os.environ
        _say(f"{type(error).__name__}: {error}" if debug else shown)
    try:
        sys.stdout.write(json.dumps(told, ensure_ascii=True) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError) as error:
        _say(f"the answer cannot be written: {getattr(error, 'strerror', None) or 'standard output is closed'}")
    return 0


def leave(code: int) -> NoReturn:
    """Exit at once: the shutdown of the interpreter takes longer than many hooks."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    atexit._run_exitfuncs()  # noqa: SLF001  (as the interpreter would do now)
    os._exit(code)


def _answer(given: HookArguments) -> dict[str, Any]:
    agent = AGENTS.get(given.words[0]) if len(given.words) == 2 else None
    if agent is None or given.problem:
        return _nothing(f"{given.problem}; usage: {USAGE}" if given.problem else f"usage: {USAGE}")
    when = moment(agent, given.words[1])
    if when is None:
        return _nothing(f"{given.words[1][:60]} is not an event of {agent.name}; there are: {', '.join(agent.events)}")
    if given.workspace is not None and not os.path.isdir(given.workspace):  # noqa: PTH112  (light)
        return _nothing(f"--workspace {given.workspace} is not a folder")
    told = _read_input()
    if isinstance(told, str):
        return _nothing(told)
    if given.workspace is not None:
        told["cwd"] = os.path.abspath(given.workspace)  # noqa: PTH100
    elif problem := _folder_problem(told):
        return _nothing(problem)
    return _work(agent, when, told, given)


def _work(agent: Agent, when: Moment, told: Mapping[str, Any], given: HookArguments) -> dict[str, Any]:
    folder, exact = str(told["cwd"]), given.workspace is not None
    if when not in PLACES and not given.working:
        # An agent waits for its hooks, and may end the server when it ends: another process learns, and outlives both.
        # Gemini checks before every request whether to shorten its history: mostly there is nothing new to learn then.
        if when == "stop" or (when == "compact" and new_turns(agent, told)):
            named = ["--workspace", folder] if exact else []
            detached.start(["hook", agent.name, _event(agent, when), WORK, *named], json.dumps(told).encode())
        return {}
    question = {"agent": agent.name, "when": when, "told": told, "exact": exact}
    found = None if given.working else sockets.ask(folder, question, timeout=_SECONDS)
    if found is not None and "error" not in found:
        return answer(agent, when, str(found.get("context", "")))
    from promptuary.hooks.answers import context_here  # noqa: PLC0415  (not needed if somebody else answers)

    return answer(agent, when, context_here(agent, when, told, exact=exact))


def _event(agent: Agent, when: Moment) -> str:
    return next(name for name, known in agent.events.items() if known == when)


def _read_input() -> dict[str, Any] | str:
    """Return the input of the agent; a sentence about the problem if it is not valid."""
    if sys.stdin is None or sys.stdin.isatty():
        return "standard input is not a JSON object of an agent"
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        return f"standard input is too long: at most {MAX_INPUT:,} bytes are allowed"
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return "standard input is not a JSON object of an agent"
    return found


def _folder_problem(told: dict[str, Any]) -> str:
    """Return why the folder that the agent names cannot be used; empty if it can. The default is the current folder."""
    folder = told.setdefault("cwd", os.getcwd())  # noqa: PTH109  (light)
    if not isinstance(folder, str) or not folder.startswith("/") or "\0" in folder or not os.path.isdir(folder):  # noqa: PTH112
        return f"cwd is not a folder: {folder!r}"
    return ""


def _nothing(sentence: str) -> dict[str, Any]:
    _say(sentence)
    return {}


def _say(sentence: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        shown = "".join(character if character.isprintable() else "?" for character in sentence[:500])
        sys.stderr.write(f"promptuary: {shown}\n")
        sys.stderr.flush()

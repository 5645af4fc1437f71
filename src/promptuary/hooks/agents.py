"""The agents whose hooks are answered: the names of their events, what they send, and the answers that they accept.

Pure, and light: it is loaded before every prompt.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

Moment = Literal["start", "prompt", "stop", "compact", "end"]
"""When a hook runs: a session begins, a prompt is sent, a turn ends, the history is shortened, a session ends."""


class Agent(NamedTuple):
    """A coding agent. ``most`` is how many characters of context it accepts without cutting them.

    ``attaches``: it attaches ``@path`` itself, so that we need not. ``context_tag``: it puts the answer of the hook for
    the start of a session before the first prompt, in this tag, and sends both to hooks as the prompt.
    """

    name: str
    events: Mapping[str, Moment]
    most: int
    attaches: bool
    context_tag: str = ""


_CLAUDE_EVENTS: Final[Mapping[str, Moment]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "PreCompact": "compact",
    "SessionEnd": "end",
}
_GEMINI_EVENTS: Final[Mapping[str, Moment]] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterAgent": "stop",
    "PreCompress": "compact",
    "SessionEnd": "end",
}

AGENTS: Final[Mapping[str, Agent]] = {
    # Of more than 10,000 characters Claude Code shows only a preview.
    "claude-code": Agent("claude-code", _CLAUDE_EVENTS, 9_800, attaches=True),
    "codex": Agent("codex", _CLAUDE_EVENTS, 9_800, attaches=False),
    "gemini": Agent("gemini", _GEMINI_EVENTS, 20_000, attaches=True, context_tag="hook_context"),
}
"""The agents by name."""

PLACES: Final = frozenset({"start", "prompt"})
"""When an agent accepts context. After a turn, context would make it continue, so the answer is empty then."""


def moment(agent: Agent, event: str) -> Moment | None:
    """Return when an event happens; ``None`` if it is not known. Case and dashes do not matter."""
    wanted = event.replace("-", "").replace("_", "").lower()
    return next((when for name, when in agent.events.items() if name.lower() == wanted), None)


def typed_text(agent: Agent, prompt: str) -> str:
    """Return a prompt as the person typed it, without the context that the agent puts before it."""
    begin, end, place = f"<{agent.context_tag}>", f"</{agent.context_tag}>", 0
    # The content of the tag cannot contain its end, because it is escaped.
    while agent.context_tag and prompt.startswith(begin, place) and (found := prompt.find(end, place)) >= 0:
        place = found + len(end)
        while prompt.startswith("\n", place):
            place += 1
    return prompt[place:]


def answer(agent: Agent, when: Moment, context: str) -> dict[str, Any]:
    """Return the answer to the agent: the context, or nothing."""
    if when not in PLACES or not context:
        return {}
    event = next(name for name, known in agent.events.items() if known == when)
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context[: agent.most]}}

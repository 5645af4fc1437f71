"""Answers hooks with an open workspace: returns context for prompts, and learns when turns end.

One class serves both a hook that opens the workspace itself, and hooks that ask a running process.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.config.settings import find_workspace
from promptuary.hooks.agents import PLACES, Agent, Moment, typed_text
from promptuary.hooks.context import prompt_context, start_context
from promptuary.hooks.fit import Shown
from promptuary.hooks.sessions import new_turns, session_name
from promptuary.workspace.programs.agents.learning_marks import (
    note_learnt,
    note_shown,
    read_shown_marks,
)

_LEARN_SECONDS: Final = 5.0


def context_here(agent: Agent, when: Moment, told: Mapping[str, Any], *, exact: bool = False) -> str:
    """Open the workspace that the agent runs in, do what the event requires, and return the context for the agent.

    ``exact``: the person named the folder as the workspace, so it is not searched for upwards.
    """
    # An embedding model takes longer to load than a person should wait for their prompt.
    quick = when in PLACES
    with Promptuary.open(str(told["cwd"]), exact=exact, embedder="none" if quick else None) as workspace:
        return HookAnswers(workspace).answer(agent, when, told, lexical_only=quick)


class HookAnswers:
    """Answers for one workspace. Prompts do not wait for learning."""

    def __init__(self, workspace: Promptuary) -> None:
        self._workspace = workspace
        self._learning = threading.Lock()

    def is_of(self, folder: str, *, exact: bool = False) -> bool:
        """Return whether ``folder`` is in this workspace, and not in another one below it; ``exact``: is this one."""
        found = Path(folder) if exact else find_workspace(Path(folder))[0]
        return found.resolve() == self._workspace.path.resolve()

    def answer(self, agent: Agent, when: Moment, told: Mapping[str, Any], *, lexical_only: bool = False) -> str:
        """Return the context for the agent; learn from new turns if a turn ended."""
        if when in PLACES:
            return self._context(agent, when, told, lexical_only=lexical_only)
        if when != "end":
            self.learn(agent, told)
        return ""

    def _context(self, agent: Agent, when: Moment, told: Mapping[str, Any], *, lexical_only: bool) -> str:
        """Return the context for a prompt or the start of a session, without what the session was shown before."""
        # Without an id, nobody knows what the conversation has.
        session = session_name(agent, told) if told.get("session_id") else ""
        begins = when == "start" and told.get("source") != "resume"
        shown = Shown(() if begins else read_shown_marks(session))
        if when == "start":
            context = start_context(self._workspace, agent, shown)
        elif isinstance(prompt := told.get("prompt"), str):
            prompt = typed_text(agent, prompt)
            context = prompt_context(self._workspace, prompt, agent, lexical_only=lexical_only, shown=shown)
        else:
            raise PromptuaryError("the agent sent no prompt")
        if session:
            note_shown(session, shown.new, anew=begins)
        return context

    def learn(self, agent: Agent, told: Mapping[str, Any]) -> int:
        """Learn notes and experiences from the turns since the last time; return the number of turns."""
        session = session_name(agent, told)
        with self._learning:
            found = new_turns(agent, told)
            for turn in found:
                messages, earlier = list(turn.messages), list(turn.earlier)
                self._workspace.memory.learn(messages, thread=session, timeout=_LEARN_SECONDS, earlier=earlier)
                note_learnt(session, turn.mark)  # only now: after a crash, the turn is learnt from again
            return len(found)

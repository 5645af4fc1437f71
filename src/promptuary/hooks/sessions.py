"""The session of an agent: its name, and the turns of it that are new.

Apart from ``answers``: a hook asks this before it knows whether it has to open a workspace, which takes long to import.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from promptuary.hooks.agents import Agent, typed_text
from promptuary.hooks.transcripts import TranscriptTurn, turn_of_input, turns, unknown_turns
from promptuary.workspace.programs.agents.learning_marks import read_learning_mark
from promptuary.workspace.programs.agents.transcript import read_end


def session_name(agent: Agent, told: Mapping[str, Any]) -> str:
    """Return the name of the thread that a session of an agent is remembered as."""
    given = str(told.get("session_id") or "main")
    plain = "".join(character for character in given if character.isalnum() or character in "-_")[:36]
    return f"{agent.name}-{plain or 'main'}"


def new_turns(agent: Agent, told: Mapping[str, Any]) -> Sequence[TranscriptTurn]:
    """Return the turns after the last one that was learnt from: from the transcript, or else the hook's own input."""
    known = read_learning_mark(session_name(agent, told))
    return [turn for turn in unknown_turns(_read_turns(agent, told), known) if turn.mark != known]


def _read_turns(agent: Agent, told: Mapping[str, Any]) -> list[TranscriptTurn]:
    path = told.get("transcript_path")
    data = read_end(path) if isinstance(path, str) else None
    found = turns(data, agent.name) if data else []
    if found:
        return found
    prompt = told.get("prompt")
    alone = turn_of_input({**told, "prompt": typed_text(agent, prompt)} if isinstance(prompt, str) else told)
    return [alone] if alone else []

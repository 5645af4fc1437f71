"""The last exchange of a thread, for a person who comes back to it."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptuary.engine import Promptuary

_LONGEST: Final = 2_000
"""The most characters of a text that are shown."""


async def last_exchange(p: "Promptuary", thread: str) -> list[str]:
    """Return the last message of the person and its answer; nothing if there is none."""
    history = await p.threads.history(thread=thread)
    asked = next((one for one in reversed(history) if one.role == "user" and one.kind == "message"), None)
    if asked is None:
        return []
    answers = [one.content for one in history if one.turn == asked.turn and one.role == "assistant" and one.content]
    return [f"❯ {_shortened(asked.words)}", _shortened("\n\n".join(answers))]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"

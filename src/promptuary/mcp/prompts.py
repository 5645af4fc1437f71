"""Prompts that a person chooses in their client: a message with its context, and a review of what has changed."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from promptuary.core.errors import PromptuaryError
from promptuary.core.references import format_reference
from promptuary.core.text import one_line
from promptuary.engine import Promptuary

_LONGEST: Final = 200_000
_REVIEW: Final = (
    "Review these changes. Look for mistakes first, then for what is missing (tests, documentation), then for what "
    "could be simpler. Name the file and line of each finding."
)


class PromptEntry(NamedTuple):
    """A prompt: what it is for, and its arguments with what they mean; the first one is needed if ``needed``."""

    description: str
    arguments: Mapping[str, str]
    needed: frozenset[str] = frozenset()


PROMPTS: Final[Mapping[str, PromptEntry]] = {
    "with_context": PromptEntry(
        "A message with everything that its references point at.",
        {
            "message": "What you want to say; it may have references, such as @file:src/app.py or @diff.",
            "refs": "More references, with spaces between them.",
        },
        frozenset({"message"}),
    ),
    "review_changes": PromptEntry(
        "A review of what has changed in the repository.",
        {
            "base": "Review what changed since this commit or branch (default: what is not committed).",
            "focus": "What to look at most.",
        },
    ),
}
"""The prompts by name."""


async def prompted(name: str, given: Mapping[str, str], workspace: Promptuary) -> str:
    """Return the message of a prompt. Raises ``PromptuaryError``, which says what is wrong with the arguments."""
    unknown = given.keys() - PROMPTS[name].arguments.keys()
    missing = [one for one in PROMPTS[name].needed if not given.get(one, "").strip()]
    if unknown or missing:
        takes = ", ".join(PROMPTS[name].arguments)
        raise PromptuaryError(f"{name} takes {takes}" + (f"; {missing[0]} is missing" if missing else ""))
    text = _with_context(given) if name == "with_context" else _review(given)
    if len(text) > _LONGEST:
        raise PromptuaryError(f"the message is too long: {_LONGEST:,} characters are the most")
    expansion = await workspace.expand(text)
    if expansion.blocked:
        raise PromptuaryError("the message and what it points at do not fit into the window")
    said = "".join(f"\n[warning: {one_line(warning)}]" for warning in expansion.warnings)
    return f"{expansion.messages[-1]['content']}{said}"


def _with_context(given: Mapping[str, str]) -> str:
    return f"{given['message']}\n\n{given['refs']}" if given.get("refs", "").strip() else given["message"]


def _review(given: Mapping[str, str]) -> str:
    base, focus = given.get("base", "").strip(), given.get("focus", "").strip()
    changes = format_reference("git", f"{base}..HEAD") if base else "@staged @diff"
    return "\n\n".join(filter(None, [_REVIEW, f"Look at this most: {focus}" if focus else "", f"@status {changes}"]))

"""``/NAME`` for a prompt by name: which line names one, what it sends, and what can complete it.

The names of commands come first: a prompt of such a name is sent with ``promptuary ask -p`` alone.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.commands.each_id import Worded
from promptuary.commands.parsing import MARK, Choice, is_command, is_typo, near_names, split_name
from promptuary.commands.registry import find_command
from promptuary.commands.results import CommandRefused
from promptuary.prompts.values import FilledPrompt, NamedPrompt

if TYPE_CHECKING:
    from promptuary.engine import Promptuary


class PromptToRead(Struct, frozen=True):
    """A prompt that came with the workspace, which the person has to read before it is sent."""

    prompt: NamedPrompt


PromptResult = FilledPrompt | PromptToRead | CommandRefused


async def fill_prompt(p: "Promptuary", line: str, *, mark: str = MARK, worded: Worded = str) -> PromptResult | None:
    """Return what ``line`` sends, if it names a prompt or almost does; ``None`` if it is no business of prompts."""
    typed = split_name(line)
    if typed is None or find_command(typed[0].lower()) is not None:
        return None
    name, rest = typed
    prompts = (await p.prompts.list()).prompts
    found = next((one for one in prompts if one.name.lower() == name.lower()), None)
    if found is None:
        near = near_names(name.lower(), [one.name for one in sendable(prompts)])
        if not (near and is_command(line) and is_typo(name.lower())):
            return None
        return CommandRefused(f"there is no command {mark}{one_line(name)[:60]}; did you mean {mark}{near[0]}?")
    if not found.accepted:
        return PromptToRead(found)
    try:
        return await p.prompts.fill(found.name, rest)
    except PromptuaryError as error:
        return CommandRefused(one_line(worded(error)))


def sendable(prompts: Sequence[NamedPrompt]) -> Iterator[NamedPrompt]:
    """Yield the prompts whose names are not those of commands."""
    return (one for one in prompts if find_command(one.name.lower()) is None)


def prompt_choices(line: str, prompts: Sequence[NamedPrompt]) -> Iterator[Choice]:
    """Yield the names of prompts that can complete ``line``, or the arguments of the one that it names."""
    text = line.lstrip()
    if not text.startswith(MARK) or "\n" in text:
        return
    indent = len(line) - len(text)
    name, space, rest = text[1:].partition(" ")
    for one in sendable(prompts):
        if not space and one.name.lower().startswith(name.lower()):
            yield Choice(f"{MARK}{one.name}", indent, one_line(one.description or one.source))
        elif space and one.name.lower() == name.lower():
            typed = rest.rpartition(" ")[2]
            for argument in one.arguments:
                written = f"--{argument.name}"
                if written.startswith(typed) and f"{written} " not in f"{rest[: len(rest) - len(typed)]} ":
                    yield Choice(written, len(line) - len(typed), one_line(argument.description))

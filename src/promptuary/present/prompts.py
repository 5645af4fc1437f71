"""Prompts as the lines that people see, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptuary.base.text import beginning, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptuary.prompts.values import NamedPrompt, PromptList

_WHAT: dict[str, str] = {
    "promptuary": "a prompt",
    "claude": "a command of Claude Code",
    "skill": "a skill of Claude Code",
    "codex": "a prompt of Codex",
    "gemini": "a command of Gemini CLI",
    "llm": "a template of llm",
}
_LONGEST = 80
READ_IT = "Use it from now on, as it is?"
"""The question before the first use of a prompt of the workspace, below its text."""


def prompt_row(prompt: NamedPrompt) -> tuple[str, str, str, str]:
    """Return a prompt as a row: its name, what it takes, what it is for, and where it lies."""
    where = prompt.source if prompt.accepted else f"{prompt.source} (not read yet)"
    return prompt.name, one_line(prompt.takes), beginning(one_line(prompt.description), _LONGEST), where


def unused_lines(found: PromptList, commands: Sequence[str] = ()) -> Iterator[str]:
    """Yield a line for each file that is no prompt, and for each prompt whose name the chat has for itself."""
    for one in found.unused:
        yield f"{one.source}: {one_line(one.reason)}"
    for prompt in found.prompts:
        if prompt.name.lower() in commands:
            yield f"{prompt.source}: /{prompt.name} is a command of the chat; promptuary ask -p {prompt.name} uses it"


def prompt_lines(prompt: NamedPrompt) -> Iterator[str]:
    """Yield a prompt in full: what it is, what is not used of it, and its file; no character of it stays hidden."""
    shown, hidden = visible(prompt.file)
    yield f"{prompt.name}: {_WHAT[prompt.form]}, {prompt.source}, sha256 {prompt.sha256}"
    if prompt.takes:
        yield f"takes: {one_line(prompt.takes)}"
    for argument in prompt.arguments:
        if argument.description:
            yield f"  {argument.name}: {one_line(argument.description)}"
    yield from (f"note: {one_line(note)}" for note in prompt.notes)
    if hidden:
        yield f"note: {hidden} hidden characters in it are spelled out"
    yield from ("", shown.rstrip("\n"), "")


def prompt_json(prompt: NamedPrompt) -> dict[str, Any]:
    """Return the JSON object of a prompt."""
    return {
        "name": prompt.name,
        "form": prompt.form,
        "place": prompt.place,
        "source": prompt.source,
        "sha256": prompt.sha256,
        "description": prompt.description,
        "takes": prompt.takes,
        "arguments": [
            {"name": one.name, "description": one.description, "default": one.default, "required": one.is_required}
            for one in prompt.arguments
        ],
        "model": prompt.model or None,
        "accepted": prompt.accepted,
        "notes": list(prompt.notes),
    }


def prompt_list_json(found: PromptList) -> dict[str, Any]:
    """Return what ``prompt list --json`` prints."""
    return {
        "prompts": [prompt_json(one) for one in found.prompts],
        "unused": [{"source": one.source, "reason": one.reason} for one in found.unused],
    }

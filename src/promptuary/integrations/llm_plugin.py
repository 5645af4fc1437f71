"""A plug-in for the command ``llm``: references as fragments, and the tools for notes.

    llm -f 'promptuary:@diff' 'Review this'
    llm -f 'promptuary:src/app.py:10-50' -T search_recall_memories 'What did we decide about this?'

The workspace is the one around the current folder. Only what a person typed after the prefix is scanned for references,
never the content of files.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llm

from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.integrations.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptuary.references.expansion import Expansion

logger = logging.getLogger(__name__)


@llm.hookimpl
def register_fragment_loaders(register: Callable[[str, Callable[[str], llm.Fragment]], None]) -> None:
    """Register the prefix of fragments."""
    register("promptuary", promptuary_fragment)


@llm.hookimpl
def register_tools(register: Callable[[llm.Tool], None]) -> None:
    """Register the tools for notes. Text that a model writes is labelled as external."""
    try:
        with _opened() as promptuary:
            tools = Conversation(promptuary).tools()
    except PromptuaryError as error:  # llm must work without us
        logger.warning("the tools of Promptuary are not available: %s", error)
        return
    for one in tools:
        register(llm.Tool(one["name"], one["description"], one["inputSchema"], _implementation(one["name"])))


def promptuary_fragment(argument: str) -> llm.Fragment:
    """Load what references point at, such as @diff, @file:src/app.py:10-50, @url:https://..., @memory:"deploy".

    Example usage:
      llm -f 'promptuary:@diff' 'Review this'

    The @ may be left out before one reference. With words around references, the words are part of the fragment.
    """
    with _opened() as promptuary:
        typed = argument.strip()
        found = promptuary.expand(typed)
        if not found.outcomes and not typed.startswith("@"):
            typed = f"@{typed}"
            found = promptuary.expand(typed)
    return llm.Fragment(_text(found, typed), f"promptuary:{argument}")  # type: ignore[no-untyped-call]


def _opened() -> Promptuary:
    return Promptuary.open(".", current_folder=Path.cwd())


def _text(found: Expansion, typed: str) -> str:
    """Return what was found. Raises ``PromptuaryError``, which ``llm`` shows, if nothing was."""
    why = "; ".join(found.warnings)
    if found.blocked or not found.blocks:
        raise PromptuaryError(why or f"{typed!r} points at nothing; references look like @diff or @file:src/app.py")
    if why:
        logger.warning("%s", why)
    alone = [one.reference.raw for one in found.outcomes] == [typed]
    content = found.messages[-1]["content"]
    return content[: found.words_start].rpartition("\n# Message\n")[0] if alone else content


def _implementation(name: str) -> Callable[..., str]:
    def call(**arguments: Any) -> str:
        with _opened() as promptuary:
            return Conversation(promptuary).call_tool(name, arguments)

    return call

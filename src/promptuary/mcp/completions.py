"""What completes an argument of a prompt or of a template of URIs: the same engine as the ``@`` menu."""

from collections.abc import Iterable
from typing import Final

from promptuary.engine import Promptuary
from promptuary.mcp.resources import FILE, NOTE, SESSION

MOST: Final = 100
"""Values of one answer; the protocol allows no more."""
_LISTING_SECONDS: Final = 2.0
_LONGEST: Final = 2_000
_GIT: Final = "@git:"


async def of_template(template: str, argument: str, typed: str, workspace: Promptuary) -> list[str]:
    """Return what may stand for an argument of a template of URIs, the likeliest first."""
    typed = typed[:_LONGEST]
    match template, argument:
        case (t, "path") if t == FILE:
            return list(await workspace.find_files(typed, limit=MOST))
        case (t, "path") if t == NOTE:
            notes = await workspace.memory.list(limit=1_000)
            return _holding(typed, [one.path for one in notes])
        case (t, "name") if t == SESSION:
            return _holding(typed, [one.name for one in await workspace.sessions.list()])
        case _:
            return []


async def of_prompt(prompt: str, argument: str, typed: str, workspace: Promptuary) -> list[str]:
    """Return what may stand for an argument of a prompt: what is typed, with its last reference completed."""
    typed = typed[:_LONGEST]
    match prompt, argument:
        case "with_context", "message" | "refs":
            return await _menu(
                typed if "@" in typed or "#" in typed or argument == "message" else f"@{typed}", workspace
            )
        case "review_changes", "base":
            return [one.removeprefix(_GIT) for one in await _menu(f"{_GIT}{typed}", workspace)]
        case _:
            return []


async def _menu(text: str, workspace: Promptuary) -> list[str]:
    menu = await workspace.complete(text, limit=MOST, timeout=_LISTING_SECONDS)
    return [f"{text[: menu.start]}{item.insert}".rstrip() for item in menu.items][:MOST]


def _holding(typed: str, values: Iterable[str]) -> list[str]:
    words = typed.lower()
    found = [one for one in values if words in one.lower()]
    return sorted(found, key=lambda one: not one.lower().startswith(words))[:MOST]

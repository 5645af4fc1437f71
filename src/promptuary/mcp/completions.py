"""Completes an argument of a prompt or of a URI template, with the same engine as the ``@`` menu."""

from collections.abc import Iterable
from typing import Final

from promptuary.engine import Promptuary
from promptuary.mcp.description import FILE, NOTE, SESSION

MAX_VALUES: Final = 100
"""The most values in one answer that the protocol allows."""
_LISTING_SECONDS: Final = 2.0
_MAX_TYPED: Final = 2_000
_GIT: Final = "@git:"
_SINCE: Final = "..HEAD"
_CLIPBOARD: Final = "@clipboard"
"""It is unknown whose clipboard a client would mean, so the clipboard is not offered."""


async def complete_template(template: str, argument: str, typed: str, workspace: Promptuary) -> list[str]:
    """Return values for an argument of a URI template, the likeliest first."""
    typed = typed[:_MAX_TYPED]
    match template, argument:
        case (t, "path") if t == FILE:
            return list(await workspace.find_files(typed, limit=MAX_VALUES))
        case (t, "path") if t == NOTE:
            notes = await workspace.memory.list(limit=1_000)
            return _matches(typed, [note.path for note in notes])
        case (t, "name") if t == SESSION:
            return _matches(typed, [session.name for session in await workspace.sessions.list()])
        case _:
            return []


async def complete_prompt(prompt: str, argument: str, typed: str, workspace: Promptuary) -> list[str]:
    """Return values for an argument of a prompt: the typed text with its last reference completed."""
    typed = typed[:_MAX_TYPED]
    match prompt, argument:
        case "with_context", "message":
            return await _menu(typed, workspace)
        case "with_context", "refs":
            return await _menu(_as_reference(typed), workspace)
        case "review_changes", "base":
            return await _bases(typed, workspace)
        case _:
            return await _menu(typed, workspace)


async def _bases(typed: str, workspace: Promptuary) -> list[str]:
    """Return bases for a review of changes: branches and tags, then commits by how far they are back."""
    menus = [
        await workspace.complete(f"{_GIT}{base}", limit=MAX_VALUES, timeout=_LISTING_SECONDS)
        for base in ([typed] if typed else ["HEAD~", ""])
    ]
    labels = [item.label for menu in menus for item in menu.items if item.label.endswith(_SINCE)]
    return _matches(typed, dict.fromkeys(label.removesuffix(_SINCE) for label in labels))


def _as_reference(typed: str) -> str:
    """Return the typed references with an ``@`` before the last one, if it has none."""
    words = typed.split(" ")
    if not words[-1].startswith(("@", "#", "[[")) and typed.count('"') % 2 == 0:
        words[-1] = f"@{words[-1]}"
    return " ".join(words)


async def _menu(text: str, workspace: Promptuary) -> list[str]:
    menu = await workspace.complete(text, limit=MAX_VALUES, timeout=_LISTING_SECONDS)
    return [
        f"{text[: menu.start]}{item.insert}".rstrip() for item in menu.items if not item.insert.startswith(_CLIPBOARD)
    ][:MAX_VALUES]


def _matches(typed: str, values: Iterable[str]) -> list[str]:
    words = typed.lower()
    found = [value for value in values if words in value.lower()]
    return sorted(found, key=lambda value: not value.lower().startswith(words))[:MAX_VALUES]

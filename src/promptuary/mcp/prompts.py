"""Prompts that a person chooses in their client: a message with its context, a review of changes, those by name."""

from collections.abc import Mapping
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.references import format_reference
from promptuary.base.text import one_line
from promptuary.engine import Promptuary
from promptuary.mcp.description import PROMPTS, PromptDescription
from promptuary.references.expansion import Expansion

_MAX_TEXT: Final = 200_000
_REVIEW: Final = (
    "Review these changes. Look for mistakes first, then for what is missing (tests, documentation), then for what "
    "could be simpler. Name the file and line of each finding."
)


async def named_prompts(workspace: Promptuary) -> dict[str, PromptDescription]:
    """Return the prompts by name that a client is offered: those that the person may use, and no others."""
    found = (await workspace.prompts.list()).prompts
    return {one.name: PromptDescription.of(one) for one in found if one.accepted and one.name not in PROMPTS}


async def prompt_text(name: str, given: Mapping[str, str], workspace: Promptuary) -> str:
    """Return the message of a prompt. Raises ``PromptuaryError`` if the arguments are wrong."""
    if name not in PROMPTS:
        # Clients send what was left empty, too.
        said = {argument: value for argument, value in given.items() if value.strip()}
        return _with_warnings(await _expanded((await workspace.prompts.fill(name, said)).text, workspace))
    unknown = [
        f"there is no argument {argument[:60]!r}" for argument in given if argument not in PROMPTS[name].arguments
    ]
    missing = [f"{argument} is missing" for argument in PROMPTS[name].needed if not given.get(argument, "").strip()]
    if unknown or missing:
        raise PromptuaryError(f"{[*unknown, *missing][0]}; {name} takes {', '.join(PROMPTS[name].arguments)}")
    text = _with_context(given) if name == "with_context" else _review(given)
    expansion = await _expanded(text, workspace)
    if name == "review_changes":
        _check_base(expansion, given)
        if _is_unchanged(expansion, given):
            base = one_line(given.get("base", "").strip())[:80]
            since = f"nothing has changed since {base}" if base else "everything is committed"
            return f"There is nothing to review: {since}. Say so, and that another base, such as HEAD~3, may be meant."
    return _with_warnings(expansion)


async def _expanded(text: str, workspace: Promptuary) -> Expansion:
    if len(text) > _MAX_TEXT:
        raise PromptuaryError(f"the message is too long: at most {_MAX_TEXT:,} characters are allowed")
    expansion = await workspace.expand(text)
    if expansion.blocked:
        raise PromptuaryError("the message and what it points at do not fit into the window; point at less")
    return expansion


def _with_warnings(expansion: Expansion) -> str:
    said = "".join(f"\n[warning: {one_line(warning)}]" for warning in expansion.warnings)
    return f"{expansion.messages[-1]['content']}{said}"


def _with_context(given: Mapping[str, str]) -> str:
    return f"{given['message']}\n\n{given['refs']}" if given.get("refs", "").strip() else given["message"]


def _review(given: Mapping[str, str]) -> str:
    focus = given.get("focus", "").strip()
    changes = " ".join(["@status", *_changes(given)])
    return "\n\n".join(filter(None, [_REVIEW, f"Look at this most: {focus}" if focus else "", changes]))


def _changes(given: Mapping[str, str]) -> list[str]:
    base = given.get("base", "").strip()
    commits = base if ".." in base else f"{base}..HEAD"
    return [format_reference("git", commits)] if base else ["@staged", "@diff"]


def _check_base(expansion: Expansion, given: Mapping[str, str]) -> None:
    """Raise ``PromptuaryError`` if the base does not exist. Other references may fail: the message reports that."""
    changes = _changes(given) if given.get("base", "").strip() else ()
    reason = next(
        (outcome.reason for outcome in expansion.outcomes if outcome.code and outcome.reference.raw in changes), None
    )
    if reason is not None:
        raise PromptuaryError(f"there is nothing to review: {reason}; base is a branch, a tag, a commit or HEAD~3")


def _is_unchanged(expansion: Expansion, given: Mapping[str, str]) -> bool:
    """Return whether every requested source came without a patch, and without a note that one was withheld."""
    changes = _changes(given)
    found = [block.source for block in expansion.blocks if block.source.asked in changes]
    return len(found) == len(changes) and not any(source.language == "diff" or source.notes for source in found)

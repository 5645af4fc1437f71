"""The texts for people in a chat, as Markdown: results of commands, errors, and outcomes of references.

Nobody in a chat can run a program on the machine or change its settings: a problem that only the operator can solve is
logged, and the chat gets a sentence without any detail of the machine.
"""

import logging
import re
from typing import Final

from msgspec.structs import replace

from promptuary.base.blocks import Detail
from promptuary.base.errors import (
    Code,
    ConfigError,
    FrontMatterError,
    NoteConflictError,
    NothingIndexedError,
    PromptuaryError,
    SourceError,
    StorageError,
    UnknownNoteError,
)
from promptuary.base.text import one_line
from promptuary.commands.results import (
    CommandResult,
    ContextShown,
    Explained,
    FilesFound,
    HelpShown,
    NotesMatched,
    PassagesFound,
)
from promptuary.gateways.texts.markdown import code, escape, fence
from promptuary.memory.values import NoteList
from promptuary.present.plain_text import help_rows, plain_text
from promptuary.references.expansion import Expansion
from promptuary.search.values import IndexBusy, SearchNote

logger = logging.getLogger(__name__)

FAILED: Final = "Something went wrong here, and your message could not be answered. Please try again."
UNUSABLE: Final = "This cannot be done here at the moment. The operator of this bot finds the reason in its log."

_MAX_LENGTH: Final = 200
_SEEN: Final = {Detail.OUTLINE: "outline", Detail.EXCERPT: "beginning and end", Detail.PATH: "name"}
_OF_CODE: Final = {
    Code.NOT_REMEMBERED: "only what you write yourself, in a short message, is remembered",
    Code.UNSUPPORTED_TYPE: "it is of a kind that cannot be read here",
    Code.BUDGET_EXCEEDED: "there is no room for it; attach less",
}
"""Sentences for a chat in place of reasons that name programs and settings of the machine."""
_UNAVAILABLE: Final = "it is not available here"
_ADDRESS: Final = re.compile(r"(?<![\w./@:~])/(?:[\w.+-]+/)+[\w.+-]*")


def word_error(error: PromptuaryError, mark: str) -> str:
    """Return an error as a sentence for a chat in which commands begin with ``mark``."""
    match error:
        case UnknownNoteError():
            return f"there is no such note; {mark}memory list shows which there are"
        case NothingIndexedError():
            return f"no files are indexed here; {mark}find WORDS finds files by their names"
        case NoteConflictError():
            return "the note was changed by somebody else; look at it, and try again"
        case SourceError():
            return _OF_CODE.get(error.code, error.reason)
        case ConfigError() | StorageError() | FrontMatterError():
            logger.warning("a command could not be run: %s", one_line(str(error)))
            return UNUSABLE
        case _:
            return str(error)


def unanswered(error: PromptuaryError) -> str:
    """Return the sentence for a message that could not be answered: trying again does not repair a workspace."""
    return UNUSABLE if isinstance(error, ConfigError | StorageError) else FAILED


def in_chat(result: CommandResult, mark: str) -> str:
    """Return the result of a command as Markdown; a table becomes code, so that its columns stay aligned."""
    match result:
        case HelpShown(commands):
            return "\n".join(f"{code(usage)} {escape(meaning)}" for usage, meaning in help_rows(commands, mark))
        case FilesFound(_, paths):
            return "\n".join(f"{number}. {code(one_line(path))}" for number, path in enumerate(paths, 1))
        case PassagesFound():
            shown: CommandResult = replace(
                result, result=replace(result.result, notes=_for_everybody(result.result.notes))
            )
        case NotesMatched():
            shown = replace(result, result=replace(result.result, notes=_for_everybody(result.result.notes)))
        case _:
            shown = result
    text = without_addresses(without_codes(plain_text(shown, mark))) or "Done."
    is_table = isinstance(result, ContextShown | Explained | NoteList) and "\n" in text
    return fence(text) if is_table else escape(text)


def _for_everybody(notes: tuple[SearchNote, ...]) -> tuple[SearchNote, ...]:
    """Return the notes of a search that everybody may read; the others name files and settings of the operator."""
    return tuple(note for note in notes if isinstance(note, IndexBusy))


def about_references(expansion: Expansion) -> list[str]:
    """Return sentences about the references of a message, to show before the answer: failures, slips, the budget."""
    lines = [
        f"{_raw(outcome.reference.raw)}: {escape(one_line(_OF_CODE.get(code) or outcome.reason or _UNAVAILABLE))}."
        for outcome in expansion.outcomes
        if (code := outcome.code) is not None
    ]
    lines += [
        f"{_raw(outcome.reference.raw)}: not all of it fits, so I see only its {_SEEN[outcome.detail]}."
        for outcome in expansion.outcomes
        if outcome.code is None and outcome.detail in _SEEN
    ]
    lines += [f"{_raw(f'#{path}')}: {escape(one_line(reason))}." for path, reason in unseen_paths(expansion)]
    lines += [escape(one_line(str(slip))[:300]) for slip in expansion.slips]
    spend = expansion.spend
    if expansion.blocked:
        lines.append("Not everything that you refer to fits; attach less.")
    elif spend.injected > spend.warn_at:
        share = spend.injected / spend.window
        lines.append(f"Warning: what you refer to takes {share:.0%} of the model's window.")
    return list(dict.fromkeys(lines))


def unseen_paths(expansion: Expansion) -> list[tuple[str, str]]:
    """Return the paths of a message that were to be kept in view and cannot be shown, each with the reason."""
    said = [
        warning.removeprefix("#").partition(": ") for warning in expansion.general_warnings if warning.startswith("#")
    ]
    return [(path, reason) for path, _, reason in said]


def _raw(reference: str) -> str:
    return code(one_line(reference)[:_MAX_LENGTH])


def without_codes(text: str) -> str:
    """Return a sentence without the codes for programs."""
    return re.sub(r"\b(?:" + "|".join(Code) + r"): ", "", text)


def without_addresses(text: str) -> str:
    """Return the text of a command without absolute paths of the machine, wherever they come from."""
    return _ADDRESS.sub("…", text)

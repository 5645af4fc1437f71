"""``promptuary memory`` and ``remember``: write, search, change and exchange notes; other modules run the actions."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from promptuary.base.errors import NoteConflictError, PromptuaryError, UnknownNoteError
from promptuary.blocking import Promptuary
from promptuary.cli.common import message, print_json, print_new_notes
from promptuary.cli.memory import exchange, forgetting, learning, proposals, reading, writing
from promptuary.cli.memory.printing import DONE, NOTHING, full_text, say, say_kept
from promptuary.cli.memory.words import fields, open_memory
from promptuary.cli.memory.writing import count_notes, print_new
from promptuary.present.notes import note_conflict_json

_ACTIONS: Final[Mapping[str, Callable[[Promptuary, argparse.Namespace], int]]] = {
    "write": writing.write,
    "show": reading.show,
    "list": reading.list_notes,
    "search": reading.search,
    "history": reading.history,
    "diff": reading.diff,
    "edit": proposals.edit,
    "undo": writing.undo,
    "archive": writing.archive,
    "adopt": writing.adopt,
    "forget": forgetting.forget,
    "proposals": proposals.proposals,
    "accept": proposals.accept,
    "reject": proposals.reject,
    "learn": learning.learn,
    "import": exchange.import_notes,
    "export": exchange.export,
}


def main(options: argparse.Namespace) -> int:
    """Run one action on the notes."""
    with open_memory(options) as promptuary:
        try:
            code = _ACTIONS[options.action](promptuary, options)
        except NoteConflictError as error:
            code = _refused(error, options)
        except UnknownNoteError as error:
            say(f"promptuary: {error}")
            code = NOTHING
        except PromptuaryError as error:
            say_kept(error)
            raise
        print_new_notes(promptuary, options)
    return code


def remember(options: argparse.Namespace) -> int:
    """Write a note, and detect its kind from the text."""
    text = message(options, kept=True)
    with open_memory(options) as promptuary:
        before = count_notes(promptuary)
        note = promptuary.memory.remember(text, reason=options.reason, **fields(options))
        print_new([note], options, is_new=count_notes(promptuary) > before)
        print_new_notes(promptuary, options)
    return DONE


def _refused(error: NoteConflictError, options: argparse.Namespace) -> int:
    """Report that a note has changed meanwhile, and print its current state."""
    if options.json:
        print_json(note_conflict_json(str(error), error.current))
    elif error.current is not None:
        print(full_text(error.current))
    say(f"promptuary: {error}")
    say_kept(error)
    return NOTHING

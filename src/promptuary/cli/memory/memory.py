"""``promptuary memory``: writes, searches, changes and exchanges notes; the modules below run the actions."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json, print_new_notes
from promptuary.cli.memory import exchange, forgetting, learning, proposals, reading, writing
from promptuary.cli.memory.printing import NOTHING, say, say_kept, whole
from promptuary.cli.memory.words import opened_memory
from promptuary.core.errors import NoteConflictError, PromptuaryError, UnknownNoteError
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
    "restore": writing.restore,
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
    with opened_memory(options) as promptuary:
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


def _refused(error: NoteConflictError, options: argparse.Namespace) -> int:
    """Report that a note has changed meanwhile, and print its current state."""
    if options.json:
        print_json(note_conflict_json(str(error), error.current))
    elif error.current is not None:
        print(whole(error.current))
    say(f"promptuary: {error}")
    say_kept(error)
    return NOTHING

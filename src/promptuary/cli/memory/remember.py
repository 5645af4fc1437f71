"""``promptuary remember``: a note in one go."""

import argparse

from promptuary.cli.common import message, opened, print_json, print_new_notes
from promptuary.cli.memory.printing import DONE, say
from promptuary.cli.memory.words import fields
from promptuary.cli.memory.writing import print_written
from promptuary.core.json import memory_note_json
from promptuary.core.notes import STATUSES


def main(options: argparse.Namespace) -> int:
    """Write a note whose kind is guessed where the text says it plainly."""
    text = message(options)
    with opened(options) as promptuary:
        before = promptuary.memory.list(limit=0, statuses=STATUSES).total
        note = promptuary.memory.remember(text, reason=options.reason, **fields(options))
        if promptuary.memory.list(limit=0, statuses=STATUSES).total > before:
            print_written([note], options)
        elif options.json:
            print_json(memory_note_json(note))
        else:
            print(f"{note.header.id}  {note.header.path}")
            say("a note says that already; nothing was written", quiet=options.quiet)
        print_new_notes(promptuary, options)
    return DONE

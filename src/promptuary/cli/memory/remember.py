"""``promptuary remember``: writes a note and detects its kind from the text."""

import argparse

from promptuary.cli.common import message, print_new_notes
from promptuary.cli.memory.printing import DONE
from promptuary.cli.memory.words import fields, opened_memory
from promptuary.cli.memory.writing import count_notes, print_new


def main(options: argparse.Namespace) -> int:
    text = message(options, kept=True)
    with opened_memory(options) as promptuary:
        before = count_notes(promptuary)
        note = promptuary.memory.remember(text, reason=options.reason, **fields(options))
        print_new([note], options, is_new=count_notes(promptuary) > before)
        print_new_notes(promptuary, options)
    return DONE

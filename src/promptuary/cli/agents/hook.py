"""``promptuary hook``, where it is started with the parser of all commands; ``start`` usually does without."""

import argparse

from promptuary.hooks.hook import WORK
from promptuary.hooks.hook import main as answer


def main(options: argparse.Namespace) -> int:
    """Answer one hook."""
    return answer([*options.words, *([WORK] if options.work else [])])

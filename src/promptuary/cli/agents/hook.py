"""``promptuary hook``: only its help is parsed with the other commands; see ``promptuary.hooks.flags``."""

import argparse

from promptuary.hooks.hook import main as answer


def main(options: argparse.Namespace) -> int:
    return answer(options.arguments)

"""What is asked on the command line: words, standard input, or both."""

import argparse
import sys
from typing import Final

from msgspec import Struct

from promptuary.cli.common import message, standard_input
from promptuary.core.errors import PromptuaryError

_MOST_BYTES: Final = 64 * 1024 * 1024


class AskedText(Struct, frozen=True):
    """The text to send; in what is ``pasted`` nothing is a reference."""

    text: str
    pasted: tuple[str, ...] = ()


def question(options: argparse.Namespace) -> AskedText:
    """Return the words of the command line, with what is piped in behind them; of ``-`` and nothing, that alone.

    Raises ``PromptuaryError`` if there is nothing to ask.
    """
    if not options.text or options.text == ["-"]:
        return AskedText(_something(message(options)))
    words = _something(" ".join(options.text))
    piped = _piped()
    return AskedText(f"{words}\n\n{piped}", (piped,)) if piped else AskedText(words)


def _piped() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        data = standard_input()
    except OSError:  # it is there, but nobody can read it: nothing is piped in
        return ""
    if len(data) > _MOST_BYTES:
        raise PromptuaryError(f"standard input has {len(data):,} bytes, which fits into no window; pipe in less")
    text = data.decode("utf-8", "replace")
    return text if text.strip() else ""


def _something(text: str) -> str:
    if not text.strip():
        raise PromptuaryError("there is no question; pass it as an argument, or pipe it in")
    return text

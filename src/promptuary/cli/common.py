"""What every command needs: the text, the workspace with the settings of the flags, JSON fit for a terminal."""

import argparse
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

from promptuary.blocking import Promptuary
from promptuary.cli.arguments import SETTING_FLAGS
from promptuary.config.settings import SETTINGS
from promptuary.core.errors import ConfigError, PromptuaryError

_OPTION = re.compile(r"^option (\w+)")


def message(options: argparse.Namespace) -> str:
    """Return the text that was given; ``-`` alone stands for standard input, as does nothing if it is no terminal."""
    if options.text and options.text != ["-"]:
        return " ".join(options.text)
    if not options.text and sys.stdin is not None and sys.stdin.isatty():
        raise PromptuaryError("there is no text; give it as an argument, or pipe it in")
    return standard_input().decode("utf-8", "replace")


def standard_input() -> bytes:
    """Return everything that comes from standard input."""
    if sys.stdin is None:
        raise PromptuaryError("standard input is closed; give the text as an argument")
    data: bytes | None = sys.stdin.buffer.read()
    return data or b""


def opened(options: argparse.Namespace) -> Promptuary:
    """Open the workspace that the flags name, with the settings that they give, and print the notes on these."""
    if options.debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    else:
        logging.disable(logging.CRITICAL)
    named = options.workspace is not None
    if named and not (options.workspace and Path(options.workspace).is_dir()):
        raise ConfigError(f"--workspace {options.workspace} is not a folder")
    given: dict[str, Any] = {name: getattr(options, name, None) for name in SETTINGS}
    try:
        promptuary = Promptuary.open(options.workspace if named else ".", exact=named, **given)
    except ConfigError as error:
        raise ConfigError(_OPTION.sub(_flag, str(error))) from error
    if not options.quiet:
        for note in promptuary.settings.notes:
            print(f"note: {note}", file=sys.stderr)
    return promptuary


def print_json(value: object) -> None:
    """Print ``value`` for programs; on a terminal every character that is not plain ASCII is spelled out."""
    json.dump(value, sys.stdout, ensure_ascii=sys.stdout.isatty(), indent=2)
    print()


def print_json_line(value: object) -> None:
    """Print ``value`` for programs on a line of its own, at once."""
    print(json.dumps(value, ensure_ascii=sys.stdout.isatty()), flush=True)


def _flag(option: re.Match[str]) -> str:
    return SETTING_FLAGS[option[1]][0] if option[1] in SETTING_FLAGS else option[0]

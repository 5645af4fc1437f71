"""What every command needs: the message, the workspace, the flags that are settings."""

import argparse
import logging
import sys
from dataclasses import fields
from pathlib import Path

from promptuary.blocking import Promptuary
from promptuary.config import Settings
from promptuary.core.errors import ConfigError


def message(options: argparse.Namespace) -> str:
    """Return the text that was given; ``-`` alone stands for standard input."""
    if options.text == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    return " ".join(options.text)


def opened(options: argparse.Namespace) -> Promptuary:
    """Open the workspace that the flags name, with the settings that they give."""
    if options.debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    else:
        logging.disable(logging.CRITICAL)
    given = {one.name: getattr(options, one.name, None) for one in fields(Settings)}
    if options.workspace is not None and not Path(options.workspace).is_dir():
        raise ConfigError(f"--workspace {options.workspace} is not a folder")
    settings = {name: value for name, value in given.items() if value is not None}
    return Promptuary.open(options.workspace or ".", exact=options.workspace is not None, **settings)


def prepare_streams() -> None:
    """Print names that are not UTF-8, and on terminals that are not, without failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")

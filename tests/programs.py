"""The program as a process of its own, with less patience than a person's where a test waits for a time limit."""

import sys
from collections.abc import Mapping

PROMPTUARY = [sys.executable, "-m", "promptuary"]

AFTER_CTRL_C = {"promptuary.cli.interruptible._GRACE": 0.3, "promptuary.calls._CLOSING_TIMEOUT": 0.3}
"""How long work that waits for a silent server may go on after Ctrl-C."""


def impatient(limits: Mapping[str, float]) -> list[str]:
    """Return the command of the program with other seconds for some constants, each by its full name."""
    lines = [f"import {name.rpartition('.')[0]}\n{name} = {seconds}" for name, seconds in limits.items()]
    return [sys.executable, "-c", "\n".join([*lines, "from promptuary.__main__ import run", "run()"])]

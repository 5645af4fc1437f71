"""Starts this program again, apart from this process: for work that must not keep a hook, and its agent, waiting."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence


def start(arguments: Sequence[str], given: bytes) -> bool:
    """Start ``promptuary`` with ``arguments`` and ``given`` as its standard input; return whether it began.

    It belongs to no terminal and to no group of processes of the agent, which may end them all at once.
    """
    with tempfile.TemporaryFile() as held:
        held.write(given)
        held.seek(0)
        try:
            subprocess.Popen(
                [sys.executable, "-m", "promptuary", *arguments],
                stdin=held,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            return False
    return True

"""Starts this program again as a separate process, for work that must not keep a hook and its agent waiting."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence


def start(arguments: Sequence[str], given: bytes) -> bool:
    """Start ``promptuary`` with ``arguments`` and ``given`` as its standard input; return whether it started.

    It has no terminal and is not in the agent's process group, because the agent may kill the whole group.
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

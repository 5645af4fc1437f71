"""Starts this program again as a separate process, for work that must not keep an agent or a person waiting."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence


def start(arguments: Sequence[str], given: bytes, variables: Mapping[str, str]) -> bool:
    """Start ``promptuary`` with ``arguments`` and ``given`` as its standard input; return whether it started.

    ``variables`` are added to its environment. It has no terminal and is not in the caller's process group, because an
    agent may kill the whole group.
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
                env={**os.environ, **variables},
            )
        except OSError:
            return False
    return True

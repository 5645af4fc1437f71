"""Starts this program again as a separate process, for work that must not keep an agent or a person waiting."""

import os
import sys
from collections.abc import Sequence


def start(arguments: Sequence[str], given: bytes, **variables: str) -> bool:
    """Start ``promptuary`` with ``arguments`` and ``given`` as its standard input; return whether it started.

    ``variables`` are added to its environment. It has no terminal and is not in the caller's process group, because an
    agent may kill the whole group.
    """
    import subprocess  # noqa: PLC0415  (most hooks and answers start nothing)
    import tempfile  # noqa: PLC0415

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

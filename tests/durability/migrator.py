"""Migrates the workspace in a folder, prints how many rows are done, and kills itself at a number of them.

With a negative number it waits near its end to be killed, so that whoever kills it at any moment is never too late.
"""

import os
import signal
import sys
from pathlib import Path

from promptuary.blocking import Promptuary
from promptuary.database import transfer


def main(folder: str, source: str, target: str, kill_at: str) -> None:
    transfer._FIRST_PAGE = transfer._MAX_PAGE = 10  # type: ignore[misc]  # many small transactions

    def progress(done: int, total: int) -> None:
        print(done, flush=True)
        if int(kill_at) < 0 and done > 0.9 * total:
            signal.pause()
        if done >= int(kill_at) >= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with Promptuary.open(Path(folder), exact=True, embedder="none") as p:
        assert p.migrate(source, target, progress=progress).done


if __name__ == "__main__":
    main(*sys.argv[1:])

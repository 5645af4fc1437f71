"""CPU time of a command, beside the interpreter's own start."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence

from bench.report import Row, report

ROUNDS = 11


def main() -> None:
    base = cpu([sys.executable, "-c", "pass"])
    rows = [Row("the interpreter alone", base, "ms", 1.0)]
    for arguments in (["--version"], ["expand", "-q", "hello"], ["expand", "-q", "@file:Makefile"]):
        taken = cpu([sys.executable, "-m", "promptuary", *arguments])
        rows.append(Row(f"promptuary {' '.join(arguments)}, beyond it", taken - base, "ms", (taken - base) / base))
    report("CPU time to start (least of several runs; --version: well under 150 ms)", rows)


def cpu(command: Sequence[str]) -> float:
    """Return the least CPU time of several runs, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, stdout=subprocess.DEVNULL, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times) * 1000


if __name__ == "__main__":
    main()

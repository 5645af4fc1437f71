"""CPU time of a command as a user has it: a wheel in an environment of its own, byte code kept; beside files-to-prompt.

Needs a package index for the installation. CPU time, since other programs on the machine do not change it much.
"""

import os
import resource
import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Row, report

ROUNDS = 11
PEER = "files-to-prompt"
LIMITS = {"hello": 120.0, "@file:Makefile": 180.0}
PROJECT = Path(__file__).parents[1]


def main() -> None:
    with TemporaryDirectory() as folder:
        programs = installed(Path(folder) / "installed")
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        (workspace / "Makefile").write_bytes((PROJECT / "Makefile").read_bytes())
        peer = cpu([str(programs / PEER), "Makefile"], workspace)
        rows = [
            Row("the interpreter alone", cpu([str(programs / "python"), "-c", "pass"], workspace), "ms"),
            Row(f"{PEER} Makefile", peer, "ms", 1.0),
            Row(
                "promptuary --version",
                (taken := cpu([str(programs / "promptuary"), "--version"], workspace)),
                "ms",
                taken / peer,
            ),
        ]
        for message, limit in LIMITS.items():
            taken = cpu([str(programs / "promptuary"), "expand", message], workspace)
            rows.append(Row(f"promptuary expand {message} (at most {limit:.0f} ms)", taken, "ms", taken / peer))
    report("CPU time of a command, installed (least of several runs)", rows)


def installed(folder: Path) -> Path:
    """Install this project and the peer into a new environment; return the folder of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(PROJECT), PEER], check=True)
    return programs


def cpu(command: Sequence[str], folder: Path) -> float:
    """Return the least CPU time of several runs in ``folder``, in milliseconds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PROMPTUARY_"))}
    times = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times) * 1000


if __name__ == "__main__":
    main()

"""Nothing of the current folder is run, however the program is started."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["asyncio", "sqlite3", "_ssl", "tomllib", "subprocess", "splintr"])
def test_a_module_in_the_current_folder_is_not_run(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("print('RUN')\nraise SystemExit(7)\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "promptuary", "expand", "--thread", "t", "Look at @file:a.py and @diff"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "RUN" not in done.stdout + done.stderr
    assert "x = 1" in done.stdout

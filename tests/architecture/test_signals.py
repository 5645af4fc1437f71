"""The tests pass however they were started, also in the background with SIGINT ignored, as some CI runners do it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

INNER = """
import signal, subprocess, sys, time

def test_a_program_can_be_interrupted():
    program = "import time; print('up', flush=True); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"up\\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == -signal.SIGINT

def test_the_tests_themselves_can_be_interrupted():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def test_programs_that_tests_start_can_be_interrupted_although_the_tests_were_started_with_sigint_ignored(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_inner.py").write_text(INNER)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_inner.py")]

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        running = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    said, _ = running.communicate(timeout=300)

    assert running.returncode == 0, said
    assert "2 passed" in said

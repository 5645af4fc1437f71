"""When something runs out: the disk, descriptors, threads. What can be read is read; the rest is one sentence."""

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from promptuary.base.errors import NO_THREADS
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from tests.conftest import Files

COMMAND = [sys.executable, "-m", "promptuary"]


@pytest.fixture
def project(files: Files, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    project = files({"one.md": "word one\n", "two.md": "word two\n"})
    with Promptuary.open(project) as promptuary:
        promptuary.search.index(project)
        promptuary.memory.write("The port is 9077.", title="Port")
        promptuary.threads.finish(promptuary.threads.prepare("Hello"), "Hello.")
    return project


def run(project: Path, *words: str, limit: int, value: int) -> tuple[int, str, str]:
    """Run a command that is given little of something."""
    done = subprocess.run(
        [*COMMAND, *words, "--workspace", str(project)],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["search", "word"], "word one"),
        (["memory", "list"], "Port"),
        (["memory", "search", "port"], "Port"),
        (["thread", "list"], "main"),
        (["doctor"], "1 thread"),
    ],
)
def test_what_only_reads_works_where_nothing_can_be_written(project: Path, words: list[str], shown: str) -> None:
    code, out, err = run(project, *words, limit=resource.RLIMIT_FSIZE, value=16_384)

    assert (code, shown in out + err) == (0, True), err


@pytest.mark.parametrize("most", [8, 9, 10, 11, 12, 13, 16])
def test_too_many_open_files_is_what_the_sentence_says(project: Path, most: int) -> None:
    code, out, err = run(project, "search", "word", limit=resource.RLIMIT_NOFILE, value=most)

    assert (code == 0 and "word one" in out) or "too many files open" in err, err


def test_a_full_disk_is_what_the_sentence_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "x", disk], check=False).returncode:
        pytest.skip("only root may make a small disk")
    try:
        small = disk / "small"
        small.mkdir()
        with Promptuary.open(small) as promptuary:
            promptuary.memory.write("The port is 9077.", title="Port")
            promptuary.threads.finish(promptuary.threads.prepare("Hello"), "Hello.")
        subprocess.run(["dd", "if=/dev/zero", f"of={small}/fill", "bs=1k", "count=4096"], check=False, timeout=60)

        def ran(*words: str) -> tuple[str, str]:
            command = [*COMMAND, *words, "--workspace", str(small)]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
            return done.stdout, done.stderr

        for words in (["remember", "something new"], ["expand", "--thread", "main", "hi"]):
            assert "the disk is full" in ran(*words)[1]
        assert "Port" in ran("memory", "list")[0]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_note_that_was_stored_is_not_reported_as_a_failure_without_threads(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Promptuary.open(project) as promptuary, monkeypatch.context() as patched:
        promptuary.memory.list()
        patched.setattr(threading.Thread, "start", no_thread)
        note = promptuary.memory.write("The host is heron.", title="Host")
    assert note.header.title == "Host"

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        assert main(["memory", "search", "heron", "--workspace", str(project)]) == 0
        assert "The host is heron." in capsys.readouterr().out
        code = main(["expand", "--thread", "main", "hi", "--workspace", str(project)])
    err = capsys.readouterr().err
    assert (code, NO_THREADS in err, "Traceback" in err) == (1, True, False), err


def test_a_folder_whose_path_is_too_long_for_a_database_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    deep = tmp_path.joinpath(*["d" * 100] * 5)
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("words\n")

    for words in (["remember", "words"], ["index", "."], ["expand", "--thread", "t", "words"]):
        assert main([*words, "--workspace", str(deep)]) == 2
        assert "the path of its folder is too long" in capsys.readouterr().err


def test_a_folder_with_more_folders_than_can_be_watched_is_polled_and_says_so(project: Path) -> None:
    for number in range(10):
        (project / f"folder{number}").mkdir()
    few = "echo 3 > /proc/sys/user/max_inotify_watches && exec "
    command = f"{sys.executable} -m promptuary watch --workspace {project}"
    if subprocess.run(["unshare", "-Ur", "sh", "-c", f"{few} true"], check=False).returncode:
        pytest.skip("the limit can be set here by nobody")
    watching = subprocess.Popen(
        ["unshare", "-Ur", "sh", "-c", few + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert watching.stdout is not None
    try:
        said = next(line for line in watching.stdout if "detecting changes by polling" in line)
        assert "has more folders than the system can watch" in said
        (project / "one.md").write_text("a zebra\n")
        assert next(line for line in watching.stdout if "1 changed" in line)
    finally:
        watching.terminate()
        watching.wait(30)
        watching.stdout.close()

"""What blocks, lies about its size or never ends is answered soon and in bounded memory."""

import os
import resource
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import OpenerName, Root
from tests.conftest import Files

POLICY = Access()
SOON = 5.0
LITTLE = 32 * 1024 * 1024

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
pytestmark = pytest.mark.torture


@pytest.fixture(params=["openat2", "walk"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> OpenerName:
    name: OpenerName = request.param
    try:
        Root(tmp_path, opener=name).close()
    except ConfigError:
        pytest.skip("this system has no openat2")
    return name


@pytest.fixture(autouse=True)
def _in_bounded_memory() -> Iterator[None]:
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before <= LITTLE


def answer(folder: Path | str, path: str, opener: OpenerName, policy: Access = POLICY) -> str:
    """Read ``path`` on a thread that may hang without hanging the test; return the text or the code."""
    answers: list[str] = []

    def read() -> None:
        with Root(folder, opener=opener) as root:
            try:
                answers.append("READ " + read_text(root, path, policy).text)
            except SourceError as error:
                answers.append(error.code)

    reader = threading.Thread(target=read, daemon=True)
    start = time.perf_counter()
    reader.start()
    reader.join(SOON)
    print(f"{path!a:.40}: {answers[0] if answers else 'nothing'!s:.20} in {(time.perf_counter() - start) * 1e3:.1f} ms")
    assert answers, f"no answer in {SOON} s"
    return answers[0]


def test_a_pipe_without_a_writer_is_no_file(workspace: Path, opener: OpenerName) -> None:
    os.mkfifo(workspace / "pipe.md")

    assert answer(workspace, "pipe.md", opener) == Code.NOT_A_FILE


def test_a_pipe_with_a_writer_is_no_file(workspace: Path, opener: OpenerName) -> None:
    os.mkfifo(workspace / "pipe.md")
    keep = os.open(workspace / "pipe.md", os.O_RDWR)
    os.write(keep, b"text")
    try:
        assert answer(workspace, "pipe.md", opener) == Code.NOT_A_FILE
    finally:
        os.close(keep)


def test_a_socket_is_no_file(workspace: Path, opener: OpenerName) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(workspace / "s.md"))
        server.listen()

        assert answer(workspace, "s.md", opener) == Code.NOT_A_FILE


def test_a_folder_is_no_file(files: Files, opener: OpenerName) -> None:
    assert answer(files({"notes.md/a.txt": ""}), "notes.md", opener) == Code.NOT_A_FILE


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/random", "/dev/stdin", "/dev/full"])
def test_a_link_to_a_device_is_a_link(workspace: Path, opener: OpenerName, device: str) -> None:
    (workspace / "d.md").symlink_to(device)

    assert answer(workspace, "d.md", opener) == Code.SYMLINK


@pytest.mark.parametrize(("major", "minor"), [(1, 5), (1, 3), (5, 0), (240, 7)], ids=["zero", "null", "tty", "none"])
def test_a_device_is_no_file(workspace: Path, opener: OpenerName, major: int, minor: int) -> None:
    try:
        os.mknod(workspace / "d.md", 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    except PermissionError:
        pytest.skip("only root makes devices")

    assert answer(workspace, "d.md", opener) in {Code.NOT_A_FILE, Code.PERMISSION_DENIED}


def test_a_file_of_a_terabyte_that_occupies_nothing_is_too_large(workspace: Path, opener: OpenerName) -> None:
    with (workspace / "sparse.md").open("wb") as file:
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("this file system has no such files")

    assert answer(workspace, "sparse.md", opener) == Code.FILE_TOO_LARGE


def test_a_file_that_grows_while_it_is_read_ends_at_the_limit(files: Files, opener: OpenerName) -> None:
    path = files({"log.md": "x" * 1000})
    stop = threading.Event()

    def grow() -> None:
        with (path / "log.md").open("ab", buffering=0) as file:
            while not stop.is_set() and file.tell() < 64 * 1024 * 1024:
                file.write(b"x" * 65536)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        answers = set[str]()
        while Code.FILE_TOO_LARGE not in answers:
            answers.add(answer(path, "log.md", opener)[:14])
    finally:
        stop.set()
        writer.join()

    assert answers <= {Code.FILE_TOO_LARGE, Code.READ_FAILED, "READ xxxxxxxxx"}


@linux_only
def test_files_of_the_kernel_are_read_though_they_report_no_size(opener: OpenerName) -> None:
    assert answer(f"/proc/{os.getpid()}", "status", opener).startswith("READ Name:")


@linux_only
def test_a_file_that_holds_more_than_it_reports_ends_at_the_limit(opener: OpenerName) -> None:
    assert answer(f"/proc/{os.getpid()}", "status", opener, Access(max_bytes=100)) == Code.FILE_TOO_LARGE


@linux_only
def test_files_of_the_kernel_are_read_though_they_report_a_page(opener: OpenerName) -> None:
    assert answer("/sys/kernel", "notes", opener, Access()) in {Code.BINARY, Code.PERMISSION_DENIED, Code.NOT_FOUND}
    assert answer("/sys/devices/system/cpu", "possible", opener).startswith("READ 0")


@linux_only
def test_the_memory_of_a_process_is_never_text(opener: OpenerName) -> None:
    process = f"/proc/{os.getpid()}"
    for path in ("mem", "environ", "cmdline", "pagemap", "auxv"):
        assert answer(process, path, opener) in {
            *(Code.BINARY, Code.READ_FAILED, Code.PERMISSION_DENIED, Code.FILE_TOO_LARGE),
        }


@linux_only
def test_files_of_the_kernel_that_wait_or_never_end_are_answered(opener: OpenerName) -> None:
    for path in ("kmsg", "kcore", "kpagecount"):
        assert answer("/proc", path, opener) in {
            *(Code.BINARY, Code.READ_FAILED, Code.PERMISSION_DENIED, Code.FILE_TOO_LARGE, Code.NOT_FOUND),
        }


@linux_only
def test_what_is_mounted_into_the_workspace_is_not_read(opener: OpenerName) -> None:
    assert answer("/", "proc/version", opener) == Code.OTHER_DEVICE


def test_a_name_of_255_bytes_is_read_and_one_of_256_is_none(files: Files, opener: OpenerName) -> None:
    longest = "x" * 252 + ".md"

    assert answer(files({longest: "text"}), longest, opener) == "READ text"
    assert answer(files({}), "x" + longest, opener) == Code.BAD_NAME


def test_a_name_that_is_not_utf_8_is_refused(workspace: Path, opener: OpenerName) -> None:
    try:
        Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.md")).write_text("text")
    except OSError:
        pytest.skip("this file system has no such names")
    (name,) = (entry.name for entry in workspace.iterdir())

    assert answer(workspace, name, opener) == Code.BAD_NAME


def test_composed_and_decomposed_names_are_not_confused(files: Files, opener: OpenerName) -> None:
    path = files({"caf\u00e9.md": "composed"})
    (path / "cafe\u0301.md").write_text("decomposed")
    if sum(1 for _ in path.iterdir()) == 1:
        pytest.skip("this file system takes them for one")

    assert answer(path, "caf\u00e9.md", opener) == "READ composed"
    assert answer(path, "cafe\u0301.md", opener) == "READ decomposed"


def test_a_hard_link_is_an_ordinary_file(files: Files, opener: OpenerName) -> None:
    path = files({"a.md": "text"})
    (path / "b.md").hardlink_to(path / "a.md")

    assert answer(path, "b.md", opener) == "READ text"

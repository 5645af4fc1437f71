import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.workspace.disk.root import OpenerName, Root, normalise
from tests.conftest import Files

OPENERS: tuple[OpenerName, ...] = ("openat2", "walk")


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> OpenerName:
    name: OpenerName = request.param
    try:
        Root(tmp_path, opener=name).close()
    except ConfigError:
        pytest.skip("this system has no openat2")
    return name


def code_of(path: str) -> Code:
    with pytest.raises(SourceError) as caught:
        normalise(path)
    return caught.value.code


def content(fd: int) -> bytes:
    try:
        return os.read(fd, 1000)
    finally:
        os.close(fd)


def listed(fd: int) -> list[str]:
    with os.scandir(fd) as entries:
        return sorted(entry.name for entry in entries)


def descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def refused(root: Root, path: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        os.close(root.open_file(path))
    return caught.value


@contextmanager
def nobody() -> Iterator[None]:
    """Act without the rights of root, so that permissions count."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("a.py", "a.py"),
        ("./a.py", "a.py"),
        ("src//app.py", "src/app.py"),
        ("src/./app.py/", "src/app.py"),
        ("a/../b.py", "b.py"),
        ("a/b/../../c.py", "c.py"),
        ("src\\app.py", "src/app.py"),
        ("", ""),
        (".", ""),
        ("a/..", ""),
        ("...", "..."),
        ("..a/b..", "..a/b.."),
        ("~backup.txt", "~backup.txt"),
        ("a~/b", "a~/b"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("notes: today.md", "notes: today.md"),
        ("C:notes.md", "C:notes.md"),
        ("emoji 👩‍💻.md", "emoji 👩‍💻.md"),
        ("x" * 255, "x" * 255),
    ],
)
def test_a_path_inside_is_brought_to_its_normal_form(written: str, normal: str) -> None:
    assert normalise(written) == normal


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/x",
        "//x",
        "~",
        "~/x",
        "~user/x",
        "C:\\x",
        "c:/x",
        "\\\\server\\share",
        "\\x",
        "file:///x",
        "FILE:/x",
    ],
)
def test_an_absolute_path_is_refused(path: str) -> None:
    assert code_of(path) is Code.ABSOLUTE_PATH


def test_an_address_is_refused_with_the_way_to_fetch_it() -> None:
    with pytest.raises(SourceError, match="@url:") as caught:
        normalise("https://example.com/a.md")

    assert caught.value.code is Code.ABSOLUTE_PATH


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "..\\..\\x", "a\\..\\../x", "./../a", "a/b/../../../c/d"])
def test_a_path_that_climbs_out_at_any_moment_is_refused(path: str) -> None:
    assert code_of(path) is Code.PATH_TRAVERSAL


@pytest.mark.parametrize(
    "path",
    [
        "a\0b",
        "a\nb",
        "a\x7f",
        "a\x9bm",
        "\udcff.md",
        "x" * 256,
        "é" * 128,
        "a/" * 2048 + "b",
        "é/" * 1400,
    ],
)
def test_a_name_no_file_can_have_is_refused(path: str) -> None:
    assert code_of(path) is Code.BAD_NAME


def test_a_reason_names_the_path_as_written_on_one_safe_line() -> None:
    with pytest.raises(SourceError) as caught:
        normalise("../\u202egnp.exe\u200b")

    assert '"../⟨U+202E⟩gnp.exe⟨U+200B⟩"' in caught.value.reason


def test_a_reason_does_not_repeat_an_endless_path() -> None:
    with pytest.raises(SourceError) as caught:
        normalise("../" * 3000)

    assert len(caught.value.reason) < 300


@pytest.mark.torture
@given(st.text(max_size=60) | st.lists(st.sampled_from(["..", ".", "", "a", "b.py", "\\", "~"])).map("/".join))
def test_a_normal_form_is_inside_and_stays_as_it_is(path: str) -> None:
    try:
        normal = normalise(path)
    except SourceError:
        return

    names = normal.split("/") if normal else []
    assert not {"", ".", ".."}.intersection(names)
    assert "\\" not in normal
    assert normal.startswith("~") or normalise(normal) == normal


def test_a_file_inside_opens(files: Files, opener: OpenerName) -> None:
    with Root(files({"src/deep/app.py": "print()"}), opener=opener) as root:
        assert content(root.open_file("src/deep/app.py")) == b"print()"


def test_what_is_not_there_is_not_found(files: Files, opener: OpenerName) -> None:
    with Root(files({"a.py": "", "src/b.py": ""}), opener=opener) as root:
        for path in ("b.py", "src/a.py", "a.py/b.py", "nowhere/at/all"):
            error = refused(root, path)
            assert error.code is Code.NOT_FOUND
            assert error.reason == f'There is no "{path}" in the workspace.'


def test_links_are_refused_wherever_they_stand(files: Files, opener: OpenerName) -> None:
    path = files({"src/app.py": ""})
    (path / "link.py").symlink_to("src/app.py")
    (path / "folder").symlink_to("src")
    (path / "broken").symlink_to("nowhere")
    with Root(path, opener=opener) as root:
        for name in ("link.py", "folder/app.py", "folder", "broken"):
            assert refused(root, name).code is Code.SYMLINK


def test_followed_links_open_what_they_point_to_inside(files: Files, opener: OpenerName) -> None:
    path = files({"src/deep/app.py": "here", "top.md": "top"})
    (path / "link.py").symlink_to("src/deep/app.py")
    (path / "folder").symlink_to("src/deep/")
    (path / "src/up.md").symlink_to("../top.md")
    (path / "src/deep/chain").symlink_to("../../folder/../up.md")
    with Root(path, follow_symlinks=True, opener=opener) as root:
        assert content(root.open_file("link.py")) == b"here"
        assert content(root.open_file("folder/app.py")) == b"here"
        assert content(root.open_file("src/up.md")) == b"top"
        opened = root.open_real("src/deep/chain")
        assert content(opened.fd) == b"top"
        assert opened.path == "top.md"


@pytest.mark.parametrize("target", ["../outside.md", "/etc/hostname", "src/../../outside.md", "{root}/src/a.md"])
def test_followed_links_never_leave(files: Files, opener: OpenerName, target: str) -> None:
    path = files({"src/a.md": "", "../outside.md": "secret"})
    (path / "link").symlink_to(target.format(root=path))
    with Root(path, follow_symlinks=True, opener=opener) as root:
        assert refused(root, "link").code is Code.SYMLINK


def test_a_loop_of_links_ends(files: Files, opener: OpenerName) -> None:
    path = files({})
    (path / "a").symlink_to("b")
    (path / "b").symlink_to("a")
    (path / "self").symlink_to("self/self")
    with Root(path, follow_symlinks=True, opener=opener) as root:
        assert [refused(root, name).code for name in ("a", "self")] == [Code.SYMLINK] * 2


def test_a_link_to_a_folder_can_be_listed_when_followed(files: Files, opener: OpenerName) -> None:
    path = files({"src/a.md": ""})
    (path / "here").symlink_to(".")
    (path / "src/up").symlink_to("..")
    with Root(path, follow_symlinks=True, opener=opener) as root:
        for name in ("here", "src/up", "here/src/up"):
            fd = root.open_folder(name)
            assert listed(fd) == ["here", "src"]
            os.close(fd)


def test_a_folder_opens_as_a_folder_and_a_file_does_not(files: Files, opener: OpenerName) -> None:
    with Root(files({"src/a.md": "", "b.md": ""}), opener=opener) as root:
        fd = root.open_folder("src")
        assert listed(fd) == ["a.md"]
        os.close(fd)
        with pytest.raises(SourceError, match="@file:") as caught:
            root.open_folder("src/a.md")
        assert caught.value.code is Code.NOT_A_FOLDER
        with pytest.raises(SourceError) as caught:
            root.open_folder("nowhere")
        assert caught.value.code is Code.NOT_FOUND


def test_the_kind_of_a_path_is_told_without_opening_it(files: Files, opener: OpenerName) -> None:
    path = files({"src/a.md": ""})
    os.mkfifo(path / "pipe")
    (path / "link").symlink_to("src/a.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path / "socket"))
        with Root(path, opener=opener) as root:
            kinds = {name: root.kind_of(name) for name in ("src", "src/a.md", "pipe", "link", "link/x", "socket", "")}
            nothing = {
                root.kind_of(name) for name in ("b.md", "src/a.md/x", "../x", "/etc", "a\0", "x" * 300, "\ud800")
            }

    assert kinds == {
        "src": "folder",
        "src/a.md": "file",
        "pipe": "other",
        "link": "other",
        "link/x": "other",
        "socket": "other",
        "": "folder",
    }
    assert nothing == {None}


def test_the_kind_of_a_followed_link_is_that_of_its_target(files: Files, opener: OpenerName) -> None:
    path = files({"src/a.md": ""})
    (path / "link").symlink_to("src/a.md")
    (path / "out").symlink_to("/etc")
    with Root(path, follow_symlinks=True, opener=opener) as root:
        assert (root.kind_of("link"), root.kind_of("out")) == ("file", "other")


@pytest.mark.parametrize("path", ["../x", "/etc/hostname", "a/../../x", "./a", "a//b", "a/", "."])
def test_the_root_refuses_a_path_that_was_not_normalised(workspace: Path, opener: OpenerName, path: str) -> None:
    with Root(workspace, opener=opener) as root:
        assert refused(root, path).code is Code.PATH_TRAVERSAL


def test_a_file_without_the_right_to_read_is_denied(files: Files, opener: OpenerName) -> None:
    path = files({"mine.md": "", "closed/a.md": ""})
    with Root(path, opener=opener) as root:
        (path / "mine.md").chmod(0)
        (path / "closed").chmod(0)
        try:
            with nobody():
                assert refused(root, "mine.md").code is Code.PERMISSION_DENIED
                assert refused(root, "closed/a.md").code is Code.PERMISSION_DENIED
        finally:
            (path / "closed").chmod(0o700)


def test_a_closed_root_opens_nothing(files: Files, opener: OpenerName) -> None:
    root = Root(files({"a.md": ""}), opener=opener)
    root.close()
    root.close()

    assert refused(root, "a.md").code is Code.READ_FAILED


def test_a_closed_root_does_not_become_the_next_folder_that_is_opened(files: Files, opener: OpenerName) -> None:
    root = Root(files({"../outside/a.md": "secret"}), opener=opener)
    root.close()
    others = [os.open(root.path.parent / "outside", os.O_RDONLY) for _ in range(5)]
    try:
        assert refused(root, "a.md").code is Code.READ_FAILED
    finally:
        for fd in others:
            os.close(fd)


def test_a_root_that_is_forgotten_gives_its_descriptor_back(workspace: Path) -> None:
    before = descriptors()
    for _ in range(50):
        Root(workspace)

    assert descriptors() <= before + 1


def test_opening_leaves_no_descriptor_behind(files: Files, opener: OpenerName) -> None:
    path = files({"a/b/c.md": ""})
    (path / "a/link").symlink_to("b/../b/c.md")
    (path / "a/out").symlink_to("b/../../../x")
    with Root(path, follow_symlinks=True, opener=opener) as root:
        before = descriptors()
        for _ in range(20):
            for name in ("a/b/c.md", "a/link"):
                os.close(root.open_file(name))
            for name in ("a/out", "a/b/none", "a/b/c.md/x"):
                refused(root, name)
        assert descriptors() == before


def test_a_root_reached_through_a_link_is_the_real_folder(tmp_path: Path, files: Files) -> None:
    path = files({"a.md": "x"})
    (tmp_path / "alias").symlink_to(path)
    with Root(tmp_path / "alias") as root:
        assert root.path == path.resolve()
        assert content(root.open_file("a.md")) == b"x"


@pytest.mark.parametrize("path", ["nowhere", "file", "a\0b", "loop"])
def test_a_workspace_that_is_no_folder_is_a_wrong_setting(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigError, match="not a folder"):
        Root(f"{tmp_path}/{path}")

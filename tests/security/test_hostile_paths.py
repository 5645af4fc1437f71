"""References that try to leave the workspace, in every spelling we know of, on both openers.

Each is answered with its code, and nothing that lies outside is ever read.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.disk.current_folder import CurrentFolder
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import OpenerName, Root

# Everything is allowed by name, so that only the path itself can be the reason to refuse.
POLICY = Access(also=frozenset({"*"}))

TARGETS = ("outside.md", "jail-evil/note.md", "etc/hosts", "jail")


def climbing() -> Iterator[str]:
    for depth, target in product((1, 2, 3, 8, 40), TARGETS):
        yield "../" * depth + target
        yield "..\\" * depth + target.replace("/", "\\")
        yield "sub/" + "../" * (depth + 1) + target
        yield "./" * depth + "../" + target
        yield "sub/deep/" + "..\\" * (depth + 2) + target
        yield "..//" * depth + target
        yield "missing/" * depth + "../" * (depth + 1) + target
    yield from (
        "..",
        "../",
        "..\\",
        "./..",
        "sub/../..",
        "sub\\..\\..",
        "../.",
        "sub/deep/../../..",
        "../../",
        "..\\/..",
    )
    yield "../" * 2000
    # Inside again at the end, but outside on the way.
    yield from (
        "../jail/inside.md",
        "sub/../../jail/inside.md",
        "..\\jail\\inside.md",
        "../../tmp/jail/inside.md",
    )


def absolute(outside: Path) -> Iterator[str]:
    rooted = (
        "/etc/hosts",
        "/proc/self/environ",
        "/dev/zero",
        f"{outside}",
        f"{outside.parent}/jail/inside.md",
        "/",
    )
    for path in rooted:
        yield path
        yield "/" + path
        yield "///" + path
        yield path.replace("/", "\\")
        yield "file://" + path
        yield "file:" + path
        yield "FILE://localhost" + path
        yield "~" + path
        yield "~root" + path
        for drive in ("C:", "z:"):
            yield drive + path
            yield drive + path.replace("/", "\\")
        yield "\\\\?\\C:" + path.replace("/", "\\")
        yield "\\\\server\\share" + path.replace("/", "\\")
    yield from (
        "~",
        "~/",
        "~/.ssh/id_rsa",
        "~root/.bashrc",
        "~\\x",
        "\\\\.\\pipe\\x",
        "https://example.com/../x",
    )
    yield from (
        "ftp://host/x",
        "data://x",
        "jar://x!/y",
        "smb://host/share",
        "vscode://file/x",
    )


def unfit() -> Iterator[str]:
    for code in (0, 1, 7, 8, 9, 10, 13, 27, 31, 127, 128, 0x85, 0x9B, 0x9F):
        for shape in ("{}", "inside.md{}", "{}inside.md", "sub/{}/x", "inside.md{}.png", "..{}/outside.md"):
            yield shape.format(chr(code))
    for surrogate in ("\ud800", "\udbff", "\udc00", "\udcff", "\udfff", "\udc2e\udc2e/"):
        yield surrogate + "inside.md"
        yield "sub/" + surrogate
    yield from ("x" * 256, "x" * 300 + ".md", "é" * 128, "😀" * 64, "sub/" + "y" * 256 + "/z", "a/" * 2049)
    yield from ("a" * 5000, "é/" * 1400, "\\".join(["b"] * 2100))


def literal_names() -> Iterator[str]:
    """Yield what a server might decode or a terminal might show as a way out; here each is only a name."""
    ups = [
        "%2e%2e",
        "%252e%252e",
        "..%2f",
        "%2e%2e%2f",
        "..%5c",
        "..%c0%af",
        "..%u2215",
        "&#46;&#46;",
        "\\u002e",
        "．．",
    ]
    ups += [
        "‥",
        "…",
        "․․",
        "。。",
        ".\u200b.",
        "\u200b..",
        "..\u200b",
        ".\ufeff.",
        ". .",
        ".. ",
        " ..",
        "...",
        "....",
        "..;",
    ]
    ups += [
        "\u202e..",
        "..\u2060",
        "..\u00ad",
        "٠٠",
        "﹒﹒",
        "..:",
        "..::$DATA",
        "'..'",
        '".."',
        "$(..)",
        "${HOME}",
        "$HOME",
    ]
    ups += [
        "%USERPROFILE%",
        "`..`",
        "{..}",
        "..|",
        "..?",
        "..*",
        "-",
        "--help",
        "@../",
        "#..",
        "..#",
        "..@",
        "，，",
        "ⅱ",
    ]
    for up, target in product(ups, ("outside.md", "etc/hosts")):
        yield f"{up}/{target}" if not up.startswith("\\") else f"sub{up}/{target}"
    for slash in ("／", "∕", "⁄", "⧸", "╱", "％2f", "%2f", "%5c", "＼", "﹨", "⧵", "∖"):
        yield f"..{slash}outside.md"
        yield f"..{slash}..{slash}etc{slash}hosts"
        yield f"{slash}etc{slash}hosts"


LINKS = {
    "to_file": "../outside.md",
    "to_folder": "../jail-evil",
    "to_absolute": "{outside}",
    "to_absolute_folder": "{outside.parent}/jail-evil",
    "to_parent": "..",
    "to_root": "/",
    "to_etc": "/etc",
    "to_hosts": "/etc/hosts",
    "to_environ": "/proc/self/environ",
    "to_magic_root": "/proc/self/root",
    "to_magic_cwd": "/proc/self/cwd",
    "to_magic_fd": "/proc/self/fd/0",
    "to_zero": "/dev/zero",
    "to_stdin": "/dev/stdin",
    "to_null": "/dev/null",
    "to_random": "/dev/urandom",
    "winding": "sub/../../outside.md",
    "far": "../../../../../../../../etc/hosts",
    "loop": "loop",
    "loop_a": "loop_b",
    "loop_b": "loop_a",
    "chain_1": "chain_2",
    "chain_2": "chain_3",
    "chain_3": "../outside.md",
    "sub/up_and_out": "../../outside.md",
    "sub/through": "../to_folder/note.md",
    "absolute_inside": "{outside.parent}/jail/inside.md",
}


def through_links() -> Iterator[str]:
    for name in LINKS:
        yield name
        yield f"./{name}"
        yield f"sub/../{name}"
        yield f"sub\\..\\{name}"
    for folder in (
        "to_folder",
        "to_absolute_folder",
        "to_parent",
        "to_root",
        "to_etc",
        "to_magic_root",
        "to_magic_cwd",
    ):
        for path in (
            "note.md",
            "jail-evil/note.md",
            "outside.md",
            "etc/hosts",
            "hosts",
            "jail/inside.md",
            "x/y/z",
        ):
            yield f"{folder}/{path}"


@pytest.fixture(scope="module")
def jail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a workspace full of links beside what they must not reach."""
    base = tmp_path_factory.mktemp("hostile")
    jail = base / "jail"
    (jail / "sub/deep").mkdir(parents=True)
    (base / "jail-evil").mkdir()
    (jail / "inside.md").write_text("inside")
    (base / "outside.md").write_text("SECRET")
    (base / "jail-evil/note.md").write_text("SECRET")
    for name, target in LINKS.items():
        (jail / name).symlink_to(target.format(outside=base / "outside.md"))
    return jail


@pytest.fixture(params=["openat2", "walk"])
def root(request: pytest.FixtureRequest, jail: Path) -> Iterator[Root]:
    opener: OpenerName = request.param
    try:
        root = Root(jail, opener=opener)
    except ConfigError:
        pytest.skip("this system has no openat2")
    with root:
        yield root


def corpus(jail: Path) -> Mapping[str, tuple[Code, list[str]]]:
    outside = jail.parent / "outside.md"
    return {
        "climbing": (Code.PATH_TRAVERSAL, sorted(set(climbing()))),
        "absolute": (Code.ABSOLUTE_PATH, sorted(set(absolute(outside)))),
        "unfit": (Code.BAD_NAME, sorted(set(unfit()))),
        "literal": (Code.NOT_FOUND, sorted(set(literal_names()))),
        "links": (Code.SYMLINK, sorted(set(through_links()))),
    }


FAMILIES = ("climbing", "absolute", "unfit", "literal", "links")


def answer(root: Root, path: str) -> str:
    try:
        return "READ " + read_text(root, path, POLICY).text
    except SourceError as error:
        return error.code


def first_answer(root: Root, here: CurrentFolder, typed: str) -> str:
    try:
        return answer(root, here.readings(typed)[0])
    except SourceError as error:
        return error.code


def test_the_corpus_is_large_enough_to_mean_something(jail: Path) -> None:
    families = corpus(jail)

    assert tuple(families) == FAMILIES
    assert sum(len(paths) for _, paths in families.values()) >= 400
    assert min(len(paths) for _, paths in families.values()) >= 80


@pytest.mark.parametrize("family", FAMILIES)
def test_every_hostile_reference_is_refused_with_its_code(root: Root, jail: Path, family: str) -> None:
    code, paths = corpus(jail)[family]

    assert {path: got for path in paths if (got := answer(root, path)) != code} == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_hostile_reference_is_taken_for_a_file_or_a_folder(root: Root, jail: Path, family: str) -> None:
    """Whoever asks the root itself, without ``normalise``, is answered as safely."""
    for path in corpus(jail)[family][1]:
        assert root.kind_of(path) in {None, "other"}
        with pytest.raises(SourceError):
            os.close(root.open_folder(path))
        with pytest.raises(SourceError):
            os.close(root.open_file(path))


@pytest.mark.parametrize("opener", ["openat2", "walk"])
def test_links_that_leave_are_refused_by_those_who_follow_links_too(jail: Path, opener: OpenerName) -> None:
    inside = {"to_parent/jail/inside.md"}
    try:
        root = Root(jail, follow_symlinks=True, opener=opener)
    except ConfigError:
        pytest.skip("this system has no openat2")
    with root:
        answers = {path: answer(root, path) for path in through_links() if path not in inside}

    assert {path: got for path, got in answers.items() if got != Code.SYMLINK} == {}


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
@pytest.mark.parametrize("opener", ["openat2", "walk"])
@pytest.mark.parametrize("follow", [False, True])
def test_a_magic_link_is_no_way_out_even_from_a_workspace_in_proc(opener: OpenerName, follow: bool) -> None:
    here = os.getpid()
    with Root(f"/proc/{here}", follow_symlinks=follow, opener=opener) as root:
        for path in (
            "root/etc/hosts",
            "cwd/pyproject.toml",
            "exe",
            "fd/0",
            "task/../root/etc/hostname",
            "ns/mnt",
        ):
            assert answer(root, path) in {Code.SYMLINK, Code.NOT_FOUND}


def test_a_refusal_never_tells_where_the_workspace_is(root: Root, jail: Path) -> None:
    for _, paths in corpus(jail).values():
        for path in paths:
            with pytest.raises(SourceError) as caught:
                read_text(root, path, POLICY)
            reason = caught.value.reason
            assert str(jail) in path or str(jail) not in reason
            assert reason.isprintable()
            assert reason.endswith(".")


@pytest.fixture(params=["", "sub", "sub/deep", None])
def here(request: pytest.FixtureRequest, jail: Path) -> CurrentFolder:
    """Return what a person's paths count from: a folder of the workspace, or one beside it."""
    folder = jail.parent / "jail-evil" if request.param is None else jail / request.param
    return CurrentFolder.of(jail, jail, folder)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_hostile_reference_leaves_from_the_folder_that_a_person_is_in(
    root: Root, jail: Path, here: CurrentFolder, family: str
) -> None:
    """More paths mean something there, ``../inside.md`` for one; what is read is in the workspace all the same."""
    for path in corpus(jail)[family][1]:
        try:
            readings = here.readings(path, absolute=True)
        except SourceError:
            continue
        assert {answer(root, one) for one in readings} <= {"READ inside", *Code}


@pytest.mark.parametrize(
    ("folder", "typed", "read"),
    [
        ("sub", "../inside.md", "READ inside"),
        ("sub/deep", "../../inside.md", "READ inside"),
        ("sub", "../../inside.md", Code.PATH_TRAVERSAL),
        ("sub", "../../jail/inside.md", Code.PATH_TRAVERSAL),
        ("sub", "../to_folder/note.md", Code.SYMLINK),
        ("sub", "../to_folder/../outside.md", Code.NOT_FOUND),
        ("sub", "up_and_out", Code.SYMLINK),
        ("sub", "../to_parent/jail/inside.md", Code.SYMLINK),
        ("", "sub/../../inside.md", Code.PATH_TRAVERSAL),
    ],
)
def test_dots_from_the_current_folder_stay_inside(jail: Path, root: Root, folder: str, typed: str, read: str) -> None:
    assert first_answer(root, CurrentFolder.of(jail, jail, jail / folder), typed) == read


def test_an_absolute_path_counts_only_beneath_a_path_that_leads_to_the_workspace(jail: Path, root: Root) -> None:
    link = jail.parent / "link_to_jail"
    link.symlink_to(jail)
    here = CurrentFolder.of(jail, link, None)
    through = {
        f"{jail}/inside.md": "READ inside",
        f"{link}/inside.md": "READ inside",
        f"{link}/sub/../inside.md": "READ inside",
        f"{link}/to_folder/note.md": Code.SYMLINK,
        f"{link}/to_hosts": Code.SYMLINK,
    }

    assert {path: answer(root, here.readings(path, absolute=True)[0]) for path in through} == through
    for path in (f"{jail}/../outside.md", f"{jail}-evil/note.md", f"{link}/../outside.md", "/", str(jail.parent)):
        with pytest.raises(SourceError):
            here.readings(path, absolute=True)
    for path in through:
        with pytest.raises(SourceError):
            here.readings(path)
    link.unlink()

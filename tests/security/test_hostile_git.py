"""A hostile repository runs nothing and shows nothing from outside the workspace.

Each case first shows that plain git falls for it, so that the test could fail.
"""

import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.process import run
from promptuary.workspace.git.repository import Repository
from tests.conftest import git

SECRET = "the other repository's secret"

Prepare = Callable[[Path, str], None]


def allow_all(path: str) -> SourceError | None:
    return None


def everything(workspace: Path) -> str:
    """Ask the door for everything it can say, errors included, with git confined and without."""
    return "\n".join(_everything(workspace, confined=confined) for confined in (True, False))


def _everything(workspace: Path, *, confined: bool) -> str:
    try:
        repository = Repository.find(workspace, allow_all, confined=confined)
    except SourceError as error:
        return str(error)
    with repository:
        asked: list[Callable[[], object]] = [
            lambda: repository.diff().text,
            lambda: repository.staged().text,
            repository.status,
            lambda: repository.log(10).text,
            lambda: repository.commit("HEAD").text,
            lambda: repository.commit("main").text,
            lambda: repository.range("HEAD..HEAD").text,
            lambda: repository.recent(5),
            repository.last_changes,
            repository.branches,
            repository.tags,
            repository.changed,
            lambda: repository.names()[0],
        ]
        return "\n".join(str(_said(ask)) for ask in asked)


def _said(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except SourceError as error:
        return error


def plain(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Run the real git as a person would, failing or not, and return all it says."""
    environment = {"GIT_TERMINAL_PROMPT": "0", **os.environ}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=20,
    )
    return (done.stdout + done.stderr).decode(errors="replace")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    path = tmp_path / "marker"
    path.mkdir()
    return path


@pytest.fixture
def victim(repository: Path) -> Path:
    (repository / "f.txt").write_text("one\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    (repository / "f.txt").write_text("one\ntwo\n")
    return repository


def config(*pairs: str, attributes: str = "") -> Prepare:
    """Write keys and values; ``$fire`` is a shell command that leaves a trace."""

    def prepare(folder: Path, fire: str) -> None:
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            git(folder, "config", key, value.replace("$fire", fire))
        if attributes:
            (folder / ".gitattributes").write_text(attributes)

    return prepare


def hook(name: str) -> Prepare:
    def prepare(folder: Path, fire: str) -> None:
        path = folder / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{fire}\n")
        path.chmod(0o755)

    return prepare


def hooks_path(folder: Path, fire: str) -> None:
    hook("post-index-change")(folder, fire)
    (folder / ".git/hooks").rename(folder / "elsewhere")
    git(folder, "config", "core.hooksPath", "elsewhere")


def included(key: str) -> Prepare:
    def prepare(folder: Path, fire: str) -> None:
        (folder / ".git/more").write_text(f'[diff]\n\texternal = "{fire}"\n')
        git(folder, "config", key, str(folder / ".git/more"))

    return prepare


def submodule(folder: Path, fire: str) -> None:
    inner = folder / "sub"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "s.txt").write_text("s\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "s")
    git(folder, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    git(folder, "commit", "-qm", "sub")
    git(inner, "config", "core.fsmonitor", f"{fire}; false")
    git(inner, "config", "filter.evil.clean", f"{fire}; cat")
    (inner / ".gitattributes").write_text("*.txt filter=evil\n")
    (inner / "s.txt").write_text("t\n")


def bare_inside(folder: Path, fire: str) -> None:
    bare = folder / "bare"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "{fire}; false"\n'
    )


def signed(folder: Path, fire: str) -> None:
    program = folder / ".git/gpg"
    program.write_text(f"#!/bin/sh\n{fire}\n")
    program.chmod(0o755)
    lines = git(folder, "cat-file", "commit", "HEAD").split("\n\n", 1)
    text = f"{lines[0]}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{lines[1]}"
    (folder / ".git/signed").write_text(text)
    sha = git(folder, "hash-object", "-t", "commit", "-w", ".git/signed").strip()
    git(folder, "update-ref", "HEAD", sha)
    git(folder, "config", "gpg.program", str(program))
    git(folder, "config", "log.showSignature", "true")


def promisor(folder: Path, fire: str) -> None:
    """Remove an object that git then fetches, by a program that the repository names."""
    blob = git(folder, "rev-parse", "HEAD:f.txt").strip()
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    config(
        "core.repositoryFormatVersion", "1", "extensions.partialClone", "origin",
        "remote.origin.promisor", "true", "remote.origin.url", "ssh://nowhere.invalid/x",
        "core.sshCommand", "$fire",
    )(folder, fire)  # fmt: skip


def worktree_config(folder: Path, fire: str) -> None:
    git(folder, "config", "extensions.worktreeConfig", "true")
    git(folder, "config", "--worktree", "core.fsmonitor", f"{fire}; false")


def attributes_file(folder: Path, fire: str) -> None:
    (folder / ".git/attrs").write_text("*.txt filter=evil\n")
    config("core.attributesFile", str(folder / ".git/attrs"), "filter.evil.clean", "$fire; cat")(folder, fire)


def info_attributes(folder: Path, fire: str) -> None:
    (folder / ".git/info/attributes").write_text("*.txt filter=evil\n")
    config("filter.evil.clean", "$fire; cat")(folder, fire)


@dataclass(frozen=True)
class Trap:
    """A hostile configuration, and the plain command that springs it."""

    prepare: Prepare
    spring: tuple[str, ...]
    stdin: str = ""
    inside: str = "."


TRAPS = {
    "diff.external": Trap(config("diff.external", "$fire"), ("diff",)),
    "textconv": Trap(
        config("diff.evil.textconv", "$fire; cat", attributes="*.txt diff=evil\n"), ("diff", "--no-ext-diff")
    ),
    "diff driver command": Trap(config("diff.evil.command", "$fire", attributes="*.txt diff=evil\n"), ("diff",)),
    "filter.clean": Trap(
        config("filter.evil.clean", "$fire; cat", attributes="*.txt filter=evil\n"),
        ("diff", "--no-ext-diff", "--no-textconv"),
    ),
    "filter.smudge": Trap(
        config("filter.evil.smudge", "$fire; cat", attributes="*.txt filter=evil\n"), ("checkout", "f.txt")
    ),
    "filter.process": Trap(
        config("filter.evil.process", "$fire", attributes="*.txt filter=evil\n"), ("diff", "--stat")
    ),
    "core.fsmonitor": Trap(config("core.fsmonitor", "$fire; false"), ("status",)),
    "fsmonitor of the worktree's own configuration": Trap(worktree_config, ("status",)),
    "hook post-index-change": Trap(hook("post-index-change"), ("status",)),
    "hook pre-commit": Trap(hook("pre-commit"), ("commit", "-qam", "x")),
    "core.hooksPath": Trap(hooks_path, ("status",)),
    "core.editor": Trap(config("core.editor", "$fire", "core.pager", "$fire"), ("commit", "--allow-empty")),
    "core.sshCommand": Trap(config("core.sshCommand", "$fire"), ("ls-remote", "ssh://nowhere.invalid/x")),
    "credential.helper": Trap(
        config("credential.helper", "!$fire"),
        ("credential", "fill"),
        "protocol=https\nhost=nowhere.invalid\n\n",
    ),
    "core.gitProxy": Trap(config("core.gitProxy", "$fire"), ("ls-remote", "git://nowhere.invalid/x")),
    "a fetch for a missing object": Trap(promisor, ("diff",)),
    "include.path": Trap(included("include.path"), ("diff",)),
    "includeIf": Trap(included("includeIf.gitdir:**.path"), ("diff",)),
    "a submodule's fsmonitor and filter": Trap(submodule, ("diff",)),
    "a bare repository in the workspace": Trap(bare_inside, ("status",), inside="bare"),
    "an alias": Trap(config("alias.diff", "!$fire", "alias.zz", "!$fire"), ("zz",)),
    "gpg.program": Trap(signed, ("log",)),
    "core.attributesFile": Trap(attributes_file, ("diff",)),
    "info/attributes": Trap(info_attributes, ("diff",)),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_hostile_configuration_fires_under_plain_git_and_never_through_the_door(
    name: str, victim: Path, marker: Path
) -> None:
    trap = TRAPS[name]
    program = marker.parent / "fire.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}/fired\n")
    program.chmod(0o755)
    trap.prepare(victim, str(program))
    shutil.rmtree(marker)
    marker.mkdir()

    for folder in {victim, victim / trap.inside}:
        everything(folder)
    assert list(marker.iterdir()) == []

    plain(victim / trap.inside, *trap.spring, stdin=trap.stdin)
    assert [path.name for path in marker.iterdir()] == ["fired"]


def test_the_diff_of_a_hostile_repository_is_the_one_of_an_honest_copy(victim: Path, marker: Path) -> None:
    expected = git(victim, "diff")
    fire = f"touch {marker}/fired"
    config("diff.external", "$fire", "filter.evil.clean", "$fire; tr a-z A-Z", "core.fsmonitor", "$fire; false")(
        victim, fire
    )
    (victim / ".git/info/attributes").write_text("*.txt filter=evil\n")

    with Repository.find(victim, allow_all) as repository:
        assert repository.diff().text == expected
    assert list(marker.iterdir()) == []


def test_a_program_called_git_in_the_workspace_is_not_run(
    victim: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = victim / "bin" / "git"
    planted.parent.mkdir()
    planted.write_text(f"#!/bin/sh\ntouch {marker}/fired\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted.parent}:bin:{os.environ['PATH']}")
    monkeypatch.chdir(victim)

    assert "+two" in everything(victim)
    assert list(marker.iterdir()) == []


def test_the_configured_worktree_is_ignored(victim: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f.txt").write_text(SECRET)
    git(victim, "config", "core.worktree", str(elsewhere))

    assert SECRET in plain(victim, "diff")
    said = everything(victim)
    assert SECRET not in said
    assert "+two" in said


INJECTIONS = [
    "--output=written", "-Owritten", "--no-index", "--ext-diff", "-p", "--all", "@{-1}; touch written",
    "HEAD -- /etc/passwd", "HEAD\n--output=written", "HEAD\0--output=written", "HEAD\n", ":/first",
    "HEAD^{/first}", "HEAD:f.txt", ":f.txt", ":0:f.txt", "^HEAD", "HEAD^@", "HEAD^!", "$(touch written)",
    "`touch written`", "|touch", "HEAD --output=written", "", " ", "..", "...", "a....b", "../..",
    "HEAD^{tree}", "x" * 5000, "HEAD*", "HEAD~99", "no-such-branch", "0123456789abcdef", "@{u}",
    "refs/../../etc",
]  # fmt: skip


def test_what_is_not_a_commit_is_refused_as_a_revision(victim: Path) -> None:
    before = sorted(path.name for path in victim.iterdir())
    with Repository.find(victim, allow_all) as repository:
        for revision in INJECTIONS:
            with pytest.raises(SourceError) as refused:
                repository.commit(revision)
            assert refused.value.code is Code.BAD_REVISION, revision
            assert "\n" not in refused.value.reason
            for expression in (revision, f"{revision or '-'}..HEAD", f"HEAD...{revision or '-'}"):
                with pytest.raises(SourceError, match="BAD_REVISION"):
                    repository.range(expression)
    assert sorted(path.name for path in victim.iterdir()) == before


def test_an_option_as_a_revision_would_write_a_file_under_plain_git(victim: Path) -> None:
    plain(victim, "diff", "--output=written")
    assert (victim / "written").exists()


def test_a_file_or_folder_is_no_commit_even_by_its_hash(victim: Path) -> None:
    blob = git(victim, "rev-parse", "HEAD:f.txt").strip()
    tree = git(victim, "rev-parse", "HEAD^{tree}").strip()
    with Repository.find(victim, allow_all) as repository:
        for sha in (blob, tree):
            with pytest.raises(SourceError, match="BAD_REVISION"):
                repository.commit(sha)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return another repository on the same machine, with a secret in its history and its index."""
    path = tmp_path / "other"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "secret.txt").write_text(SECRET)
    git(path, "add", ".")
    git(path, "commit", "-qm", f"message: {SECRET}")
    return path


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


def git_file(victim: Path, other: Path) -> None:
    shutil.rmtree(victim / ".git")
    (victim / ".git").write_text(f"gitdir: {other}/.git\n")


def git_link(victim: Path, other: Path) -> None:
    shutil.rmtree(victim / ".git")
    (victim / ".git").symlink_to(other / ".git")


def forged_worktree(victim: Path, other: Path) -> None:
    """Make an admin folder with a right back-pointer that names the other as its common folder."""
    shutil.rmtree(victim / ".git")
    admin = victim / "admin" / "worktrees" / "w"
    admin.mkdir(parents=True)
    (admin / "gitdir").write_text(f"{victim}/.git\n")
    (admin / "commondir").write_text(f"{other}/.git\n")
    (admin / "HEAD").write_text("ref: refs/heads/main\n")
    (victim / ".git").write_text(f"gitdir: {admin}\n")


def commondir_in_folder(victim: Path, other: Path) -> None:
    (victim / ".git/commondir").write_text(f"{other}/.git\n")


def objects_link(victim: Path, other: Path) -> None:
    shutil.rmtree(victim / ".git/objects")
    (victim / ".git/objects").symlink_to(other / ".git/objects")
    (victim / ".git/refs/heads/main").write_text(f"{head(other)}\n")


def alternates(victim: Path, other: Path) -> None:
    (victim / ".git/objects/info").mkdir(exist_ok=True)
    (victim / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    (victim / ".git/refs/heads/main").write_text(f"{head(other)}\n")


def detached_alternates(victim: Path, other: Path) -> None:
    alternates(victim, other)
    (victim / ".git/HEAD").write_text(f"{head(other)}\n")


def loose_folder_links(victim: Path, other: Path) -> None:
    shutil.rmtree(victim / ".git/objects")
    (victim / ".git/objects").mkdir()
    for folder in (other / ".git/objects").iterdir():
        (victim / ".git/objects" / folder.name).symlink_to(folder)
    (victim / ".git/refs/heads/main").write_text(f"{head(other)}\n")


def loose_object_links(victim: Path, other: Path) -> None:
    for source in (other / ".git/objects").glob("??/*"):
        target = victim / ".git/objects" / source.parent.name / source.name
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            target.symlink_to(source)
    (victim / ".git/refs/heads/main").write_text(f"{head(other)}\n")


def pack_links(victim: Path, other: Path) -> None:
    git(other, "repack", "-adq")
    (victim / ".git/objects/pack").mkdir(exist_ok=True)
    for source in (other / ".git/objects/pack").iterdir():
        (victim / ".git/objects/pack" / source.name).symlink_to(source)
    (victim / ".git/refs/heads/main").write_text(f"{head(other)}\n")


def refs_link(victim: Path, other: Path) -> None:
    alternates(victim, other)
    shutil.rmtree(victim / ".git/refs")
    (victim / ".git/refs").symlink_to(other / ".git/refs")


def index_link(victim: Path, other: Path) -> None:
    alternates(victim, other)
    (victim / ".git/index").unlink()
    (victim / ".git/index").symlink_to(other / ".git/index")


def forged_multi_pack_index(victim: Path, other: Path) -> None:
    """Name the other's pack in the list of packs: git joins such a name to the folder of packs."""
    git(other, "repack", "-adq")
    git(other, "multi-pack-index", "write")
    packs = other / ".git/objects/pack"
    data = (packs / "multi-pack-index").read_bytes()
    rows = [data[at : at + 12] for at in range(12, 12 + 12 * (data[6] + 1), 12)]
    starts = [struct.unpack(">Q", row[4:])[0] for row in rows]
    chunks = {row[:4]: data[start:end] for row, start, end in zip(rows, starts, starts[1:], strict=False)}
    target = victim / ".git/objects/pack"
    target.mkdir(exist_ok=True)
    name = os.fsencode(os.path.relpath(packs, target)) + b"/" + chunks[b"PNAM"].rstrip(b"\0")
    chunks[b"PNAM"] = name + b"\0" * (4 - len(name) % 4)
    table, body, start = b"", b"", 12 + 12 * len(rows)
    for row in rows:
        chunk = chunks.get(row[:4], b"")
        table += row[:4] + struct.pack(">Q", start + len(body))
        body += chunk
    forged = data[:12] + table + body
    (target / "multi-pack-index").write_bytes(forged + hashlib.sha1(forged).digest())
    (victim / ".git/refs/heads/main").write_text(f"{head(other)}\n")


FORGERIES: list[Callable[[Path, Path], None]] = [
    git_file, git_link, forged_worktree, commondir_in_folder, objects_link, alternates, detached_alternates,
    loose_folder_links, loose_object_links, pack_links, refs_link, index_link,
    forged_multi_pack_index,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_forged_pointer_shows_nothing_of_another_repository(
    forge: Callable[[Path, Path], None], victim: Path, other: Path
) -> None:
    forge(victim, other)
    assert SECRET in plain(victim, "log", "-p") + plain(victim, "diff", "--cached")

    said = everything(victim)
    assert SECRET not in said
    assert "secret.txt" not in said
    assert str(victim.parent) not in said, "a reason names no folder of this machine"


def crafted_index(*paths: bytes) -> bytes:
    """Return an index of empty files with any names at all: git checks them only when it writes."""
    empty = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    data = b"DIRC" + struct.pack(">II", 2, len(paths))
    for path in sorted(paths):
        entry = (
            struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0)
            + empty
            + struct.pack(">H", min(len(path), 0xFFF))
            + path
        )
        data += entry + b"\0" * (8 - len(entry) % 8)
    return data + hashlib.sha1(data).digest()


@pytest.mark.parametrize("path", ["../outside.txt", "{}/outside.txt", "sub/../../outside.txt", ".git/private"])
def test_an_index_that_names_files_outside_shows_none_of_them(path: str, victim: Path) -> None:
    (victim / "sub").mkdir()
    (victim / ".git/private").write_text(SECRET)
    (victim.parent / "outside.txt").write_text(SECRET)
    git(victim, "hash-object", "-w", "--stdin", "-t", "blob", "--path=x")
    (victim / ".git/index").write_bytes(crafted_index(path.format(victim.parent).encode()))
    assert SECRET in plain(victim, "diff")

    for workspace in (victim, victim / "sub"):
        assert SECRET not in everything(workspace)
    with (
        Repository.find(victim, allow_all) as repository,
        pytest.raises(SourceError, match="names files outside"),
    ):
        repository.diff()


def test_links_in_the_working_tree_are_shown_as_the_names_they_hold(victim: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text(SECRET)
    (victim / "folder").mkdir()
    (victim / "folder/x.txt").write_text("inside\n")
    git(victim, "add", ".")
    git(victim, "commit", "-qm", "folder")
    shutil.rmtree(victim / "folder")
    (victim / "folder").symlink_to(outside)
    (victim / "link.txt").symlink_to(outside / "x.txt")

    said = everything(victim)
    assert SECRET not in said
    assert f"+{outside}/x.txt\n\\ No newline at end of file" in said


def test_a_foreign_owner_is_no_obstacle_because_nothing_of_his_is_run(
    victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    monkeypatch.setenv(*next(iter(stranger.items())))
    assert "dubious ownership" in plain(victim, "status")

    with Repository.find(victim, allow_all) as repository:
        command = repository._shadow.command("diff")
        done = run(replace(command, environment={**command.environment, **stranger}), max_output=10_000)
        assert b"+two" in done.output


def test_the_callers_environment_does_not_reach_git(victim: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "diff.context")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "0")
    said = everything(victim)
    assert SECRET not in said
    assert " one\n+two" in said


def test_nothing_is_written_into_the_repository(victim: Path) -> None:
    def snapshot() -> dict[str, tuple[int, bytes]]:
        paths = (path for path in (victim / ".git").rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}

    before = snapshot()
    everything(victim)
    assert snapshot() == before

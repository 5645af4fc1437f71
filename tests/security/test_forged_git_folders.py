"""Git folders that a stranger prepared, file by file: nothing runs, nothing from outside is shown, nothing crashes.

The settings that name programs, and pointers to other repositories, are in ``test_hostile_git``.
"""

import hashlib
import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Template, git
from tests.security.test_hostile_git import SECRET, crafted_index, everything


@dataclass(frozen=True)
class Clone:
    """The clone, a repository beside it with a secret in history and files, and a program that leaves a trace."""

    folder: Path
    other: Path
    program: Path

    @property
    def own(self) -> Path:
        return self.folder / ".git"

    def head(self, folder: Path | None = None) -> str:
        return git(folder or self.folder, "rev-parse", "HEAD").strip()

    def link(self, name: str, target: str = "plain") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(self.other / target)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def store(self, kind: str, content: bytes) -> str:
        """Write an object as it is, and return its hash."""
        self.write(".git/forged", content)
        return git(self.folder, "hash-object", "-t", kind, "-w", "--literally", ".git/forged").strip()

    def extend_index(self, name: bytes, body: bytes, length: int | None = None) -> None:
        data = (self.own / "index").read_bytes()[:-20]
        data += name + struct.pack(">I", len(body) if length is None else length) + body
        (self.own / "index").write_bytes(data + hashlib.sha1(data).digest())

    def name_submodule(self, path: str) -> None:
        """Let the index name a submodule that is at another commit than it is said to be."""
        name = path.encode()
        entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o160000, 0, 0, 0) + bytes.fromhex(self.head())
        entry += struct.pack(">H", min(len(name), 0xFFF)) + name
        data = b"DIRC" + struct.pack(">II", 2, 1) + entry + b"\0" * (8 - len(entry) % 8)
        (self.own / "index").write_bytes(data + hashlib.sha1(data).digest())


@pytest.fixture
def clone(template: Template, tmp_path: Path) -> Clone:
    program = tmp_path / "fire.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\n")
    program.chmod(0o755)
    made = template(both)
    return Clone(made / "clone", made / "other", program)


def both(folder: Path) -> None:
    other, own = folder / "other", folder / "clone"
    for path in (other, own):
        shutil.copytree(folder / ".git", path / ".git")
    shutil.rmtree(folder / ".git")
    (other / "secret.txt").write_text(SECRET)
    (other / "plain").write_text(f"{SECRET}\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", SECRET)
    for text in ("one\n", "two\n"):
        (own / "f.txt").write_text(text)
        git(own, "add", ".")
        git(own, "commit", "-qm", text)
    (own / "f.txt").write_text("three\n")


def replaced_commit(clone: Clone) -> None:
    clone.write(f".git/refs/replace/{clone.head()}", clone.head(clone.other))
    clone.write(".git/objects/info/alternates", f"{clone.other}/.git/objects\n")


def alternates_by_http(clone: Clone) -> None:
    clone.write(".git/objects/info/http-alternates", f"{clone.other}/.git/objects\n")
    clone.write(".git/refs/heads/main", clone.head(clone.other))


def grafts(clone: Clone) -> None:
    clone.write(".git/info/grafts", f"{clone.head()} {clone.head(clone.other)}\n")
    clone.write(".git/objects/info/alternates", f"{clone.other}/.git/objects\n")


def shared_index_elsewhere(clone: Clone) -> None:
    git(clone.folder, "update-index", "--split-index")
    for shared in clone.own.glob("sharedindex.*"):
        clone.link(f".git/{shared.name}", ".git/index")


def shared_index_missing(clone: Clone) -> None:
    clone.extend_index(b"link", b"\x01" * 20)


def utf7_commit(clone: Clone) -> None:
    """Hide line feeds in an encoding: decoded too late, a message could look like a section of a patch."""
    tree = git(clone.folder, "rev-parse", "HEAD^{tree}").strip()
    name = "x+AAo-diff --git a/f.txt b/f.txt"
    who = f"{name} <a@example.org> 1 +0000"
    message = "m+AAo-diff --git a/x b/x"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\nencoding UTF-7\n\n{message}\n"
    git(clone.folder, "update-ref", "refs/heads/main", clone.store("commit", text.encode()))


def damaged_commit(clone: Clone) -> None:
    tree = git(clone.folder, "rev-parse", "HEAD^{tree}").strip()
    text = f"tree {tree}\nauthor \x01 <> 99999999999999999999 +9999\ncommitter\nencoding ../x\n\n\0after"
    clone.write(".git/refs/heads/main", clone.store("commit", text.encode()))


def names_in_a_tree(clone: Clone) -> None:
    blob = bytes.fromhex(git(clone.folder, "hash-object", "-w", "f.txt").strip())
    names = (b"..", b"../x", b".git", b"/abs", b"a\nb", b"x/y")
    tree = clone.store("tree", b"".join(b"100644 " + name + b"\0" + blob for name in names))
    commit = git(clone.folder, "commit-tree", "-m", "forged", tree).strip()
    git(clone.folder, "update-ref", "refs/heads/main", commit)


def submodule_with_a_program(clone: Clone) -> None:
    inner = clone.folder / "sub"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    git(inner, "commit", "-q", "--allow-empty", "-m", "one")
    git(clone.folder, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    git(inner, "commit", "-q", "--allow-empty", "-m", "two")
    for key in ("core.fsmonitor", "diff.external", "core.sshCommand"):
        git(inner, "config", key, str(clone.program))
    git(inner, "config", "core.worktree", str(clone.other))


def submodule_behind_a_link(clone: Clone) -> None:
    (clone.folder / "link").symlink_to(clone.other.parent)
    clone.name_submodule("link/other")


def submodules_that_run(clone: Clone) -> None:
    rows = ("path = -f", f"url = ext::{clone.program}", f"update = !{clone.program}", "ignore = none")
    clone.write(".gitmodules", '[submodule "../../x"]\n\t' + "\n\t".join(rows) + "\n")
    git(clone.folder, "config", "submodule.../../x.update", f"!{clone.program}")
    git(clone.folder, "config", "protocol.ext.allow", "always")


def promised_objects(clone: Clone) -> None:
    blob = git(clone.folder, "rev-parse", "HEAD:f.txt").strip()
    (clone.own / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::{clone.program}"),
        ("protocol.ext.allow", "always"),
    ):
        git(clone.folder, "config", key, value)


def macro_of_attributes(clone: Clone) -> None:
    clone.write(".gitattributes", "[attr]all filter=x diff=x merge=x\n* all ident working-tree-encoding=UTF-16\n")
    for key in ("filter.x.clean", "filter.x.process", "diff.x.command", "diff.x.textconv", "merge.x.driver"):
        git(clone.folder, "config", key, str(clone.program))
    git(clone.folder, "config", "diff.x.xfuncname", "(((((")


def states_elsewhere(clone: Clone) -> None:
    """Link what git reads in the middle of a merge, a rebase and a search for a bad commit."""
    clone.write(".git/MERGE_HEAD", clone.head(clone.other))
    for name in ("MERGE_MSG", "rebase-merge/git-rebase-todo", "rebase-merge/done", "sequencer/todo", "BISECT_LOG"):
        clone.link(f".git/{name}")


def files_elsewhere(clone: Clone) -> None:
    git(clone.folder, "config", "core.sparseCheckout", "true")
    for name in (".git/info/sparse-checkout", ".git/info/attributes", ".git/info/exclude", ".git/shallow"):
        clone.link(name)
    for name in (".mailmap", ".gitattributes", ".gitignore", ".git/objects/info/commit-graphs/commit-graph-chain"):
        clone.link(name)


def settings_of_files(clone: Clone) -> None:
    place = clone.other / "plain"
    for key in ("mailmap.file", "diff.orderFile", "blame.ignoreRevsFile", "core.excludesFile", "core.attributesFile"):
        git(clone.folder, "config", key, str(place))
    with (clone.own / "config").open("a") as file:
        file.write(f'[include]\n\tpath = {place}\n[includeIf "onbranch:main"]\n\tpath = {place}\n')


def settings_that_write(clone: Clone) -> None:
    for name in ("event", "normal", "perf"):
        git(clone.folder, "config", f"trace2.{name}Target", str(clone.program.parent / "fired"))


def settings_of_a_branch(clone: Clone) -> None:
    git(clone.folder, "config", "branch.main.remote", "../../other")
    git(clone.folder, "config", "branch.main.merge", "refs/heads/main")
    git(clone.folder, "config", "remote.../../other.fetch", "+refs/heads/*:refs/remotes/x/*")


def other_worktrees(clone: Clone) -> None:
    clone.write(".git/worktrees/w/gitdir", f"{clone.other}/.git\n")
    clone.write(".git/worktrees/w/HEAD", clone.head(clone.other))
    clone.write(".git/worktrees/w/commondir", "../..\n")


def odd_refs(clone: Clone) -> None:
    clone.write(".git/refs/heads/--output=written", clone.head())
    clone.write(".git/refs/heads/up", "ref: refs/../../../other/.git/refs/heads/main\n")
    clone.write(".git/refs/heads/round", "ref: refs/heads/round\n")
    clone.write(".git/packed-refs", f"{clone.head()} refs/heads/main/below\n{'c' * 40} refs/heads/../../x\n\xff\0 x\n")
    clone.write(".git/HEAD", "ref: refs/heads/--output=written\n")


def pointer_that_is_no_path(clone: Clone) -> None:
    shutil.rmtree(clone.own)
    clone.own.write_bytes(b"gitdir: a\0b\n")


def common_folder_that_is_no_path(clone: Clone) -> None:
    clone.own.rename(clone.folder / "store")
    clone.own.write_text("gitdir: store\n")
    clone.write("store/commondir", b"a\0b")


def pointer_to_itself(clone: Clone) -> None:
    shutil.rmtree(clone.own)
    clone.own.symlink_to(".git")


FORGERIES: dict[str, Callable[[Clone], object]] = {
    made.__name__: made
    for made in (
        replaced_commit, alternates_by_http, grafts, shared_index_elsewhere, shared_index_missing, utf7_commit,
        damaged_commit, names_in_a_tree, submodule_with_a_program, submodule_behind_a_link, submodules_that_run,
        promised_objects, macro_of_attributes, states_elsewhere, files_elsewhere, settings_of_files,
        settings_that_write, settings_of_a_branch, other_worktrees, odd_refs, pointer_that_is_no_path,
        common_folder_that_is_no_path, pointer_to_itself,
    )
} | {
    "HEAD elsewhere": lambda clone: clone.link(".git/HEAD", ".git/refs/heads/main"),
    "submodule above": lambda clone: clone.name_submodule("../other"),
    "submodule by an absolute path": lambda clone: clone.name_submodule(str(clone.other)),
    "names like .git": lambda clone: clone.write(
        ".git/index", crafted_index(b".GIT/config", b"git~1/config", b".git /x", b".g\xe2\x80\x8cit/config")
    ),
    "unknown extension": lambda clone: clone.extend_index(b"evil", b"abcd"),
    "untracked cache": lambda clone: clone.extend_index(b"UNTR", b"\xff" * 200),
    "monitor": lambda clone: clone.extend_index(
        b"FSMN", struct.pack(">I", 2) + os.fsencode(clone.program) + b"\0" + struct.pack(">I", 1 << 20)
    ),
    "tree": lambda clone: clone.extend_index(b"TREE", b"\x00999999999 999999999\n" + b"\0" * 20),
    "length": lambda clone: clone.extend_index(b"TREE", b"x", 0xFFFFFFFF),
    "count": lambda clone: clone.write(".git/index", b"DIRC" + struct.pack(">II", 2, 0xFFFFFFFF) + b"\0" * 20),
    "shallow": lambda clone: clone.write(".git/shallow", "junk\n" * 100),
    "configuration": lambda clone: clone.write(".git/config", b"[core\n\xff\x00 = \n"),
    "log of HEAD": lambda clone: clone.write(".git/logs/HEAD", b"\xff" * 5000),
    "pack": lambda clone: clone.write(".git/objects/pack/pack-x.idx", b"\xfftOc" + b"\xff" * 2000),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_git_folder_runs_nothing_and_shows_nothing_from_outside(name: str, clone: Clone) -> None:
    secrets = [SECRET, clone.head(clone.other)]
    FORGERIES[name](clone)
    trace = clone.program.parent / "fired"
    trace.unlink(missing_ok=True)
    before = sorted(path.name for path in clone.folder.iterdir())

    said = everything(clone.folder)

    shown = said if name not in {"replaced_commit", "grafts"} else said.replace(secrets[1], "")  # the clone's own text
    assert [secret for secret in secrets if secret in shown] == []
    assert not trace.exists()
    assert sorted(path.name for path in clone.folder.iterdir()) == before

"""What the door shows is byte for byte what plain git shows, on repositories made at random."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import SourceError
from promptuary.workspace.git.repository import Repository
from tests.conftest import Figure, git

NAMES = [
    "a.txt", "b.py", "deep/er/c.txt", "deep/d.py", "with space.txt", "ünï/ö.txt", "日本語.md", 'quo"te.txt',
    "tab\tname", "new\nline", "back\\slash", "-dash", "deep/e e.txt", " lead", "bin.dat", ".hidden",
    "a b/c d.txt", "[x].txt", ":y",
]  # fmt: skip


def allow_all(path: str) -> SourceError | None:
    return None


def raw(folder: Path, *arguments: str) -> str:
    """Return what plain git says, names in their own letters, decoded as the door decodes it."""
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", *arguments], cwd=folder, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "replace")


class RandomRepository:
    """Grows a repository by random edits, stagings, commits and merges."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        git(folder, "init", "-q", "-b", "main")
        for key, values in {
            "core.autocrlf": ["true", "input", "false"],
            "core.quotePath": ["true", "false"],
            "diff.renames": ["true", "false", "copies"],
            "diff.algorithm": ["histogram", "patience", "myers"],
            "diff.context": ["0", "1", "7"],
            "core.abbrev": ["12", "40"],
            "core.fileMode": ["false"],
        }.items():
            if self.random.random() < 0.35:
                git(folder, "config", key, self.random.choice(values))
        if self.random.random() < 0.5:
            self.write(
                ".gitattributes",
                b"*.md text\n*.py diff=python\nbin.dat binary\n*.lfs filter=lfs diff=lfs -text\n",
            )

    def write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def content(self) -> bytes:
        dice = self.random
        if dice.random() < 0.1:
            return dice.randbytes(300)
        words = [
            "def f():",
            "    return 1",
            "diff --git a/x b/x",
            "--- a/x",
            "@@ -1 +1 @@",
            "",
            "ä\xa0",
            "commit " + "0" * 40,
            "x",
        ]
        end = dice.choice(["\n", "\n", "\r\n"])
        text = end.join(dice.choice(words) for _ in range(dice.randint(0, 30)))
        return text.encode("utf-8" if dice.random() < 0.9 else "latin-1") + (
            end.encode() if dice.random() < 0.8 else b""
        )

    def existing(self) -> list[str]:
        paths = (Path(root) / name for root, _, names in os.walk(self.folder) for name in names)
        return sorted(str(path.relative_to(self.folder)) for path in paths if ".git" not in path.parts)

    def edit(self) -> None:
        dice = self.random
        known = self.existing()
        action = dice.choice(["add", "add", "change", "change", "change", "delete", "rename", "mode", "link"])
        if action == "add" or not known:
            self.write(dice.choice(NAMES), self.content())
            return
        path = self.folder / dice.choice(known)
        if action == "change" and not path.is_symlink():
            lines = path.read_bytes().split(b"\n")
            lines.insert(dice.randint(0, len(lines)), b"inserted %d" % dice.randint(0, 99))
            path.write_bytes(b"\n".join(lines))
        elif action == "delete":
            path.unlink()
        elif action == "rename":
            target = self.folder / dice.choice(NAMES)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        elif action == "mode" and not path.is_symlink():
            path.chmod(path.stat().st_mode ^ 0o111)
        elif action == "link":
            path.unlink()
            path.symlink_to(dice.choice(["/etc/hostname", "a.txt", "../up"]))

    def stage(self) -> None:
        subprocess.run(["git", "add", "-A"], cwd=self.folder, check=True, capture_output=True)

    def commit(self, message: str) -> None:
        for _ in range(self.random.randint(1, 5)):
            self.edit()
        self.stage()
        git(self.folder, "commit", "-q", "--allow-empty", "-m", message)

    def grow(self) -> None:
        self.commit("first\n\ndiff --git a/ok b/ok\n--- a/ok\n+++ b/ok")
        for number in range(2):
            self.commit(f"second {number}: ü")
        git(self.folder, "checkout", "-qb", "side", "HEAD~1")
        self.commit("aside")
        git(self.folder, "checkout", "-qf", "main")
        merged = subprocess.run(["git", "merge", "-q", "side"], cwd=self.folder, check=False, capture_output=True)
        if merged.returncode:
            self.stage()
            git(self.folder, "commit", "-qm", "merged by hand")
        for _ in range(3):
            self.edit()
        self.stage()
        for _ in range(4):
            self.edit()


def without_hashes(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("index 0000000"))


def check(folder: Path, *, confined: bool) -> None:
    tracked = raw(folder, "diff")
    with Repository.find(folder, allow_all, confined=confined) as door:
        assert door.diff().text.startswith(tracked)
        assert door.staged().text == raw(folder, "diff", "--cached")
        assert door.log(100).text == raw(folder, "log", "-p", "-100")
        assert door.commit("HEAD").text == raw(folder, "show", "-m", "--first-parent", "HEAD")
        assert door.range("main~1..main").text == raw(folder, "log", "-p", "main~1..main")
        assert door.range("main...side").text == raw(folder, "log", "-p", "main...side")
        assert door.status() == raw(folder, "status", "--short", "--branch")
        listed = raw(folder, "ls-files", "-coz", "--exclude-standard", "--deduplicate")
        assert door.names() == (listed.split("\0")[:-1], 0)
        assert door.changed() == {
            entry[3:] for entry in raw(folder, "status", "--porcelain", "-z", "-uall", "--no-renames").split("\0")[:-1]
        }
        for file in door.staged().files:
            assert file.added is not None


def check_untracked(folder: Path) -> None:
    """Compare with what git says once it has been told of the untracked files."""
    before = raw(folder, "diff")
    with Repository.find(folder, allow_all) as door:
        mine = door.diff()
    copy = folder.parent / "told"
    shutil.copytree(folder, copy, symlinks=True)
    git(copy, "config", "core.autocrlf", "false")
    git(copy, "config", "diff.renames", "false")
    (copy / ".gitattributes").unlink(missing_ok=True)
    (copy / ".git/info/attributes").write_text("* !text\n")
    untracked = raw(copy, "ls-files", "-oz", "--exclude-standard").split("\0")[:-1]
    if untracked:
        git(copy, "add", "-N", "--", *(f":(literal){name}" for name in untracked))
        told = raw(copy, "diff", "--", *(f":(literal){name}" for name in untracked))
        assert sorted(_sections(mine.text.removeprefix(before))) == sorted(_sections(without_hashes(told)))
    shutil.rmtree(copy)


def _sections(text: str) -> list[str]:
    return text.split("\ndiff --git ")


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_every_answer_equals_plain_gits_on_random_repositories(tmp_path: Path, figure: Figure) -> None:
    for seed in range(figure(4, 200)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        RandomRepository(folder, seed).grow()
        for confined in (True, False):
            check(folder, confined=confined)
        check_untracked(folder)
        shutil.rmtree(folder)


@pytest.mark.parametrize("confined", [True, False], ids=["confined", "by copies"])
def test_a_subfolder_shows_what_git_shows_when_limited_to_it(tmp_path: Path, figure: Figure, confined: bool) -> None:
    for seed in range(1000, 1000 + figure(2, 20)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        RandomRepository(folder, seed).grow()
        inner = folder / "deep"
        inner.mkdir(exist_ok=True)
        with Repository.find(inner, allow_all, confined=confined) as door:
            assert door.staged().text == raw(inner, "diff", "--cached", "--relative")
            assert door.diff().text.startswith(raw(inner, "diff", "--relative"))
            assert door.log(100).text == raw(inner, "log", "-p", "--relative", "--", ".")


Arrange = Callable[[Path], object]

SPECIAL: dict[str, Arrange] = {
    "split index": lambda at: git(at, "update-index", "--split-index"),
    "sparse checkout": lambda at: git(at, "sparse-checkout", "set", "kept"),
    "sparse index": lambda at: git(at, "sparse-checkout", "set", "--cone", "--sparse-index", "kept"),
    "index version 4": lambda at: git(at, "update-index", "--index-version", "4"),
    "untracked cache": lambda at: git(at, "update-index", "--force-untracked-cache"),
    "packed": lambda at: git(at, "gc", "-q"),
    "shallow": lambda at: (at / ".git/shallow").write_text(git(at, "rev-parse", "HEAD")),
    "detached HEAD": lambda at: git(at, "checkout", "-q", "--detach"),
    "a replaced commit": lambda at: git(at, "replace", "--graft", "HEAD"),
    "notes": lambda at: git(at, "notes", "add", "-m", "diff --git a/x b/x"),
    "prefixes configured": lambda at: git(at, "config", "diff.mnemonicPrefix", "true"),
    "worktree configuration": lambda at: git(at, "config", "extensions.worktreeConfig", "true"),
}


@pytest.mark.parametrize("confined", [True, False], ids=["confined", "by copies"])
@pytest.mark.parametrize("name", SPECIAL)
def test_an_unusual_repository_is_read_as_git_reads_it(name: str, repository: Path, confined: bool) -> None:
    for path in ("kept/a.txt", "dropped/b.txt", "c.txt"):
        (repository / path).parent.mkdir(exist_ok=True)
        (repository / path).write_text(f"{path}\n" * 5)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    SPECIAL[name](repository)
    (repository / "kept/a.txt").write_text("changed\n")
    (repository / "c.txt").write_text("staged\n")
    git(repository, "add", "c.txt")
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")

    with Repository.find(repository, allow_all, confined=confined) as door:
        assert door.diff().text == raw(repository, "diff", *prefixes)
        assert door.staged().text == raw(repository, "diff", "--cached", *prefixes)
        assert door.log(5).text == raw(repository, "log", "-p", *prefixes)
        assert door.status() == raw(repository, "status", "-sb")

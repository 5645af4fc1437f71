"""The git door answers with what a person would see, within bounds, and never with a refused file."""

import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.patch import FileChange, Patch
from promptuary.workspace.git.process import ProcessCommand, run, stream
from promptuary.workspace.git.repository import Repository
from tests.conftest import Files, git
from tests.linear import spent

SECRET = "KEY=hunter2"


def refuse(path: str) -> SourceError | None:
    """Refuse anything that a component calls private."""
    refused = any(part.startswith((".env", "private")) for part in path.split("/"))
    return SourceError(Code.SENSITIVE_PATH, f"{path} is private") if refused else None


def open_at(folder: Path, *, max_output: int = 8 << 20) -> Repository:
    return Repository.find(folder, refuse, max_output=max_output)


@pytest.fixture
def shadows(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary git folders appear."""
    path = tmp_path_factory.mktemp("shadows")
    monkeypatch.setattr("tempfile.tempdir", str(path))
    return path


def commit(folder: Path, message: str = "commit") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD").strip()


def code_of(ask: Callable[[], object]) -> Code:
    with pytest.raises(SourceError) as raised:
        ask()
    return raised.value.code


class TestFinding:
    def test_a_folder_without_git_is_not_a_repository(self, workspace: Path) -> None:
        assert code_of(lambda: open_at(workspace)) is Code.NOT_A_REPOSITORY

    def test_a_bare_repository_is_not_one_either(self, workspace: Path) -> None:
        git(workspace, "init", "-q", "--bare")
        assert code_of(lambda: open_at(workspace)) is Code.NOT_A_REPOSITORY

    def test_a_bare_git_folder_has_no_working_tree(self, repository: Path) -> None:
        git(repository, "config", "core.bare", "true")
        assert code_of(lambda: open_at(repository)) is Code.NOT_A_REPOSITORY

    def test_an_empty_git_folder_is_passed_over(self, workspace: Path) -> None:
        (workspace / ".git").mkdir()
        assert code_of(lambda: open_at(workspace)) is Code.NOT_A_REPOSITORY

    def test_a_machine_without_git_is_told_so(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(SourceError, match="GIT_FAILED: git is not installed"):
            open_at(repository)

    @pytest.mark.parametrize("entry", ["", ".", "tools", "./tools", "{workspace}/tools", "{workspace}"])
    @pytest.mark.parametrize("inside", [True, False])
    def test_a_git_that_the_workspace_brings_along_is_never_started(
        self, entry: str, inside: bool, files: Files, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trap = "#!/bin/sh\ntouch started\nexit 1\n"
        folder = files({"git": trap, "tools/git": trap})
        for name in ("git", "tools/git"):
            (folder / name).chmod(0o755)
        # A relative name that is found from here would be started from the workspace.
        shutil.copytree(folder, outside := repository.parent / "outside")
        monkeypatch.chdir(repository if inside else outside)
        monkeypatch.setenv("PATH", f"{entry.format(workspace=repository)}:/nonexistent")

        with pytest.raises(SourceError, match="GIT_FAILED: git is not installed"):
            open_at(repository)
        assert not (repository / "started").exists()

    def test_reftable_is_named_as_the_reason(self, repository: Path) -> None:
        git(repository, "config", "extensions.refStorage", "reftable")
        with pytest.raises(SourceError, match=r"GIT_FAILED: .*reftable"):
            open_at(repository)

    @pytest.mark.parametrize("head", ["", "ref: ../../x\n", "ref: refs/heads/../../x", "garbage"])
    def test_a_damaged_head_is_named_as_the_reason(self, head: str, repository: Path) -> None:
        (repository / ".git/HEAD").write_text(head)
        with pytest.raises(SourceError, match=r"GIT_FAILED: .*HEAD"):
            open_at(repository)

    def test_a_repository_that_cannot_be_read_is_a_reason(self, repository: Path, shadows: Path) -> None:
        (repository / ".git/objects").rename(repository / "moved")
        (repository / ".git/objects").write_text("")
        with pytest.raises(SourceError, match="GIT_FAILED: the repository could not be read: Not a directory"):
            open_at(repository)
        assert list(shadows.iterdir()) == []

    def test_a_workspace_of_any_name_is_read(self, tmp_path: Path) -> None:
        odd = tmp_path / 'new\nline "quoted" #x:y ä'
        odd.mkdir()
        git(odd, "init", "-q", "-b", "main")
        (odd / "a.txt").write_text("one\n")
        commit(odd)
        with open_at(odd) as door:
            assert "+one" in door.log(1).text

    def test_a_linked_worktree_shows_its_own_branch_and_the_shared_history(
        self, files: Files, repository: Path, tmp_path: Path
    ) -> None:
        commit(files({"a.txt": "one\n"}), "shared")
        linked = tmp_path / "linked"
        git(repository, "worktree", "add", "-q", "-b", "other", str(linked))
        (linked / "a.txt").write_text("two\n")
        with open_at(linked) as door:
            assert door.status() == "## other\n M a.txt\n"
            assert "+two" in door.diff().text
            assert "shared" in door.log(1).text
        (linked / ".git").rename(tmp_path / "moved")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (tmp_path / "moved").rename(elsewhere / ".git")
        with pytest.raises(SourceError, match=r"NOT_A_REPOSITORY: .*worktree repair"):
            open_at(elsewhere)

    def test_a_submodule_is_a_repository_of_its_own(self, files: Files, repository: Path, tmp_path: Path) -> None:
        commit(files({"lib.py": "x = 1\n"}), "library")
        outer = tmp_path / "outer"
        outer.mkdir()
        git(outer, "init", "-q", "-b", "main")
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "sub")
        with open_at(outer / "sub") as door:
            assert "library" in door.log(1).text
        with open_at(outer) as door:
            assert "+Subproject commit" in door.staged().text

    def test_a_separate_git_folder_needs_to_name_the_workspace(self, workspace: Path, tmp_path: Path) -> None:
        git(workspace, "init", "-q", "-b", "main", f"--separate-git-dir={tmp_path}/store")
        assert code_of(lambda: open_at(workspace)) is Code.NOT_A_REPOSITORY
        git(workspace, "config", "core.worktree", str(workspace))
        with open_at(workspace) as door:
            assert door.status() == "## No commits yet on main\n"

    def test_sha256_is_read(self, workspace: Path, files: Files) -> None:
        git(workspace, "init", "-q", "-b", "main", "--object-format=sha256")
        sha = commit(files({"a.txt": "one\n"}))
        assert len(sha) == 64
        with open_at(workspace) as door:
            assert "+one" in door.commit(sha[:9]).text
            assert door.recent(1)[0].sha == sha

    def test_thousands_of_branches_and_odd_ones_are_listed_fast(self, files: Files, repository: Path) -> None:
        sha = commit(files({"a.txt": "one\n"}))
        heads = repository / ".git/refs/heads/many"
        heads.mkdir()
        for number in range(2000):
            (heads / f"b{number:04}").write_text(f"{sha}\n")
        (heads / "bad..name").write_text(f"{sha}\n")
        (heads / "broken").write_text("garbage\n")
        git(repository, "tag", "v1.0")
        start = spent()
        with open_at(repository) as door:
            branches = door.branches()
            assert door.commit("many/b1999").text == door.commit("HEAD").text
            assert door.tags() == ["v1.0"]
        assert spent() - start < 2
        assert len(branches) == 2001
        assert branches[0] == "main"

    def test_the_temporary_folder_goes_when_the_repository_is_closed_or_forgotten(
        self, repository: Path, shadows: Path
    ) -> None:
        with open_at(repository) as door:
            assert len(list(shadows.iterdir())) == 1
        door.close()
        assert list(shadows.iterdir()) == []
        forgotten = open_at(repository)
        del forgotten
        assert list(shadows.iterdir()) == []
        (repository / ".git/HEAD").write_text("garbage")
        code_of(lambda: open_at(repository))
        assert list(shadows.iterdir()) == []


class TestChanges:
    def test_a_fresh_repository_has_changes_but_no_history(self, files: Files, repository: Path) -> None:
        files({"a.txt": "one\n", "b.txt": "two\n"})
        git(repository, "add", "a.txt")
        with open_at(repository) as door:
            assert door.status() == "## No commits yet on main\nA  a.txt\n?? b.txt\n"
            assert "+one" in door.staged().text
            assert door.diff().files == (FileChange("b.txt", 1, 0),)
            assert code_of(lambda: door.log(1)) is Code.NO_MATCH
            assert code_of(lambda: door.commit("HEAD")) is Code.BAD_REVISION
            assert door.recent(3) == []

    def test_an_edit_in_the_same_moment_and_of_the_same_length_is_seen(self, files: Files, repository: Path) -> None:
        """Git tells such an edit only by the age of the index: the copy must be as old as the original."""
        path = files({"a.txt": "one\n"}) / "a.txt"
        moment = (1_700_000_000_000_000_000, 1_700_000_000_000_000_000)
        os.utime(path, ns=moment)
        commit(repository)
        git(repository, "config", "core.trustctime", "false")
        path.write_text("two\n")
        os.utime(path, ns=moment)
        os.utime(repository / ".git/index", ns=moment)
        with open_at(repository) as door:
            assert "+two" in door.diff().text

    def test_the_branch_shows_how_far_it_is_from_the_one_it_follows(
        self, files: Files, repository: Path, tmp_path: Path
    ) -> None:
        commit(files({"a.txt": "one\n"}))
        copy = tmp_path / "copy"
        git(repository, "clone", "-q", str(repository), str(copy))
        (copy / "a.txt").write_text("two\n")
        sha = commit(copy, "ahead")
        with open_at(copy) as door:
            assert door.status() == "## main...origin/main [ahead 1]\n"
            assert door.range("@{u}..HEAD").text.startswith(f"commit {sha}")
            assert "origin/main" in door.branches()

    def test_untracked_files_follow_as_new_ones(self, files: Files, repository: Path) -> None:
        commit(files({".gitignore": "ignored\n", "a.txt": "one\n"}))
        files({"a.txt": "two\n", "ignored": "x", "new.txt": "n\n", "bin": b"\0\1", "end": "no newline", "empty": ""})
        files({"huge.txt": "x" * (1 << 20) + "y"})
        (repository / "run.sh").write_text("#!/bin/sh\n")
        (repository / "run.sh").chmod(0o755)
        (repository / "link").symlink_to("/etc/passwd")
        os.mkfifo(repository / "pipe")
        with open_at(repository) as door:
            patch = door.diff()
        assert patch.names().split() == ["a.txt", "bin", "empty", "end", "huge.txt", "link", "new.txt", "run.sh"]
        assert "Binary files /dev/null and b/bin differ\n" in patch.text
        assert "+no newline\n\\ No newline at end of file\n" in patch.text
        assert "new file mode 100644\nFile of 1,048,577 bytes: too large to show\n" in patch.text
        assert "new file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc/passwd\n" in patch.text
        assert "new file mode 100755\n" in patch.text
        assert not patch.truncated

    def test_the_number_of_untracked_files_is_capped_and_said(self, files: Files, repository: Path) -> None:
        files({f"n{number:03}.txt": "x\n" for number in range(250)})
        with open_at(repository) as door:
            patch = door.diff()
        assert len(patch.files) == 200
        assert patch.truncated
        assert patch.notes == ("50 more untracked files are not shown",)

    def test_a_nested_repository_is_a_name_and_nothing_of_it_is_shown(self, files: Files, repository: Path) -> None:
        files({"inner/x.txt": "x\n"})
        git(repository / "inner", "init", "-q")
        with open_at(repository) as door:
            assert door.diff() == Patch("")
            assert door.names() == (["inner/"], 0)

    def test_a_subfolder_sees_itself_only(self, files: Files, repository: Path) -> None:
        commit(files({"top.txt": "t\n", "sub/a.txt": "a\n"}), "both")
        files({"top.txt": "T\n"})
        commit(repository, "top only")
        files({"top.txt": "TT\n", "sub/a.txt": "A\n", "sub/new.txt": "n\n", "new.txt": "n\n"})
        with open_at(repository / "sub") as door:
            assert door.diff().names() == "a.txt\nnew.txt"
            assert door.status() == "## main\n M a.txt\n?? new.txt\n"
            assert door.changed() == {"a.txt", "new.txt"}
            assert b"".join(door.tracked()) == b"a.txt\0"
            assert b"".join(door.untracked()) == b"new.txt\0"
            assert [line.subject for line in door.recent(5)] == ["both"]
            history = door.log(5).text
            assert "+a\n" in history
            assert "top" not in history

    @pytest.mark.parametrize("where", ["configured", "default"])
    def test_the_persons_own_ignore_file_counts(self, where: str, files: Files, repository: Path) -> None:
        home = Path(os.environ["HOME"])
        chosen = home / (".my-ignore" if where == "configured" else ".config/git/ignore")
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.write_text("*.mine\n")
        if where == "configured":
            git(home, "config", "--global", "core.excludesFile", "~/.my-ignore")
        files({"x.mine": "x", "y.txt": "y"})
        with open_at(repository) as door:
            assert door.diff().names() == "y.txt"

    def test_a_repository_cannot_choose_the_ignore_file(self, files: Files, repository: Path) -> None:
        files({"rules": "*.txt\n", "x.txt": "x"})
        git(repository, "config", "core.excludesFile", str(repository / "rules"))
        with open_at(repository) as door:
            assert "x.txt" in door.changed()

    def test_the_persons_line_endings_count(self, files: Files, repository: Path) -> None:
        commit(files({"a.txt": "one\n"}))
        git(repository, "config", "--global", "core.autocrlf", "input")
        files({"a.txt": "one\r\ntwo\r\n"})
        with open_at(repository) as door:
            assert door.diff().text == git(repository, "diff")
            assert "\r" not in door.diff().text

    def test_untracked_files_stay_out_where_the_person_does_not_want_them(self, files: Files, repository: Path) -> None:
        git(repository, "config", "status.showUntrackedFiles", "no")
        files({"a.txt": "one\n"})
        with open_at(repository) as door:
            assert door.diff() == Patch("")

    def test_conflicts_are_shown_as_git_shows_them(self, files: Files, repository: Path) -> None:
        commit(files({"a.txt": "base\n", ".env": "base\n"}))
        git(repository, "checkout", "-qb", "side")
        commit(files({"a.txt": "side\n", ".env": SECRET}))
        git(repository, "checkout", "-q", "main")
        commit(files({"a.txt": "main\n", ".env": f"{SECRET}!"}))
        subprocess.run(["git", "merge", "-q", "side"], cwd=repository, check=False, capture_output=True)
        with open_at(repository) as door:
            patch = door.diff()
            assert patch.text == git(repository, "diff", "--", "a.txt")
            assert patch.withheld == (".env",)
            assert "UU a.txt" in door.status()
            assert SECRET not in door.staged().text


class TestPolicy:
    NAMES = (".env", 'private ä/\tq"uoted\n.txt', "private with space.txt", "deep/private/x")

    def answers(self, door: Repository, *revisions: str) -> list[Patch]:
        return [door.diff(), door.staged(), door.log(20), *(door.commit(revision) for revision in revisions)]

    @pytest.mark.parametrize(
        ("name", "prefix"), list(zip(NAMES, ["mnemonicPrefix", "default", "noprefix", "default"], strict=True))
    )
    def test_a_refused_file_is_in_no_answer(self, name: str, prefix: str, files: Files, repository: Path) -> None:
        if prefix != "default":
            git(repository, "config", f"diff.{prefix}", "true")
        base = commit(files({"ok.txt": "ok\n", name: SECRET}), "base")
        middle = commit(files({name: f"{SECRET}\ndiff --git a/ok.txt b/ok.txt\n+{SECRET}\n", "ok.txt": "2\n"}))
        (repository / name).chmod(0o755)
        files({name: f"staged {SECRET}"})
        git(repository, "add", "-A")
        files({name: f"unstaged {SECRET}", f"private-new-{prefix}": SECRET})
        with open_at(repository) as door:
            answers = [*self.answers(door, base, middle), door.range(f"{base}..HEAD")]
            assert SECRET not in "".join(answer.text for answer in answers)
            assert all(answer.withheld for answer in answers)
            assert "+ok" in answers[3].text
            assert all(refuse(file.path) is None for answer in answers for file in answer.files)

    def test_a_rename_does_not_carry_a_refused_file_out(self, files: Files, repository: Path) -> None:
        secret = "".join(f"{SECRET} {number}\n" for number in range(20))
        first = commit(files({".env": secret, "plain.txt": secret.replace("KEY", "ok")}))
        git(repository, "mv", ".env", "out.txt")
        git(repository, "mv", "plain.txt", "private.txt")
        (repository / "out.txt").write_text(f"{secret}more\n")
        (repository / "private.txt").write_text("ok\n" * 3 + secret.replace("KEY", "ok"))
        moved = commit(repository)
        with open_at(repository) as door:
            patch = door.commit(moved)
            assert SECRET not in patch.text
            assert "hunter2" not in patch.text
            assert patch.withheld == ("out.txt", "private.txt")
            assert SECRET not in door.range(f"{first}..HEAD").text

    def test_a_merge_does_not_carry_a_refused_file_out(self, files: Files, repository: Path) -> None:
        commit(files({"a.txt": "base\n", ".env": "base\n"}))
        git(repository, "checkout", "-qb", "side")
        commit(files({"a.txt": "side\n", ".env": f"{SECRET} side\n"}))
        git(repository, "checkout", "-q", "main")
        commit(files({"a.txt": "main\n", ".env": f"{SECRET} main\n"}))
        subprocess.run(["git", "merge", "-q", "side"], cwd=repository, check=False, capture_output=True)
        merge = commit(files({"a.txt": "both\n", ".env": f"{SECRET} both\n"}), "merge")
        assert "diff --cc .env" in git(repository, "show")
        with open_at(repository) as door:
            patch = door.commit(merge)
            assert "+both" in patch.text
            assert SECRET not in patch.text
            assert patch.withheld == (".env",)
            assert SECRET not in door.log(10).text

    def test_a_large_refused_file_does_not_push_itself_through_a_cut(self, files: Files, repository: Path) -> None:
        commit(files({"a.txt": "a\n", ".env": f"{SECRET}\n" * 5000}))
        with open_at(repository, max_output=20_000) as door:
            patch = door.log(1)
            assert patch.truncated
            assert SECRET not in patch.text

    def test_status_lists_names_even_of_refused_files(self, files: Files, repository: Path) -> None:
        files({".env": SECRET})
        with open_at(repository) as door:
            assert door.status() == "## No commits yet on main\n?? .env\n"


class TestHistory:
    def test_commits_come_newest_first_with_their_patches(self, files: Files, repository: Path) -> None:
        for number in range(5):
            commit(files({"a.txt": f"{number}\n"}), f"number {number}")
        with open_at(repository) as door:
            assert door.log(2).text == git(repository, "log", "-p", "-2")
            assert door.log(2).files == (FileChange("a.txt", 2, 2),)
            assert [line.subject for line in door.recent(2)] == ["number 4", "number 3"]
            assert door.recent(1)[0].when == "2026-01-02T03:04:05+00:00"
            assert code_of(lambda: door.log(0)) is Code.BAD_RANGE
            assert door.range("HEAD~2..").text == git(repository, "log", "-p", "-2")
            assert door.commit("HEAD@{1}").text == git(repository, "show", "HEAD~1")
            assert door.commit("@~1").text == git(repository, "show", "HEAD~1")

    def test_more_than_a_hundred_commits_are_cut_with_a_note(self, files: Files, repository: Path) -> None:
        stream_of_commits = "".join(
            f"commit refs/heads/main\ncommitter Ada <ada@example.com> {1_700_000_000 + number} +0000\n"
            f"data 1\nx\nM 644 inline a.txt\ndata 3\n{number:03}\n"
            for number in range(102)
        )
        subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, input=stream_of_commits.encode(), check=True)
        git(repository, "reset", "-q", "--hard")
        with open_at(repository) as door:
            for patch in (door.log(500), door.range("HEAD~101..HEAD")):
                assert patch.text.count("\ncommit ") == 99
                assert patch.notes == ("only the newest 100 commits are shown",)
            assert door.range("HEAD~100..HEAD").notes == ()

    def test_objects_of_a_shared_clone_are_missed_with_a_reason(
        self, files: Files, repository: Path, tmp_path: Path
    ) -> None:
        commit(files({"a.txt": "a\n"}))
        git(repository, "clone", "-q", "--shared", str(repository), str(tmp_path / "borrower"))
        borrower = tmp_path / "borrower"
        with open_at(borrower) as door, pytest.raises(SourceError, match="borrows objects"):
            door.log(1)
        git(borrower, "repack", "-adq")
        with open_at(borrower) as door:
            assert "+a" in door.log(1).text


class TestBounds:
    def test_a_huge_diff_is_cut_while_it_streams(self, files: Files, repository: Path) -> None:
        commit(files({"a.txt": ""}))
        files({"a.txt": "some words on a line\n" * 2_000_000})
        tracemalloc.start()
        with open_at(repository, max_output=100_000) as door:
            patch = door.diff()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert patch.truncated
        assert 99_000 < len(patch.text) <= 100_000
        assert patch.text.endswith("\n")
        assert patch.files == (FileChange("a.txt", None, None),)
        assert peak < 8 << 20

    def command(self, code: str, deadline: float = 20) -> ProcessCommand:
        return ProcessCommand((sys.executable, "-c", code), Path("/"), {"PATH": os.defpath}, deadline)

    def test_a_command_past_its_deadline_dies_with_all_it_started(self) -> None:
        command = ProcessCommand(("/bin/sh", "-c", "sleep 60 & echo $!; wait"), Path("/"), {"PATH": os.defpath}, 1)
        pieces = stream(command)
        started = int(next(pieces))
        assert alive(started)
        assert code_of(lambda: next(pieces)) is Code.TIMEOUT
        until = time.monotonic() + 10
        while alive(started) and time.monotonic() < until:
            time.sleep(0.01)
        assert not alive(started)

    def test_a_stream_that_is_left_is_stopped(self) -> None:
        pieces = stream(self.command("while True: print('x' * 1000)"))
        assert next(pieces)
        pieces.close()  # type: ignore[attr-defined]

    def test_a_failing_stream_says_so_after_its_last_piece(self) -> None:
        pieces = stream(self.command("import sys; print('some'); sys.exit('broken')"))
        assert next(pieces) == b"some\n"
        with pytest.raises(SourceError, match="GIT_FAILED: broken"):
            next(pieces)

    def test_standard_error_is_bounded_and_standard_input_empty(self) -> None:
        done = run(self.command("import sys; sys.stderr.write('e' * 10**7); print(sys.stdin.read())"), max_output=100)
        assert done.output == b"\n"
        assert len(done.errors) == 8 << 10

    def test_a_program_that_is_not_there_is_a_reason(self) -> None:
        command = ProcessCommand(("/nonexistent/git",), Path("/"), {}, 5)
        assert code_of(lambda: run(command, max_output=10)) is Code.GIT_FAILED

    def test_no_descriptor_stays_open(self, files: Files, repository: Path) -> None:
        commit(files({"a.txt": "a\n"}))
        before = descriptors()
        for _ in range(3):
            with open_at(repository) as door:
                door.diff()
                door.log(1)
        assert descriptors() == before


def descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def alive(pid: int) -> bool:
    """Say whether a process still runs; one that waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"

"""``promptuary backup``, ``restore`` and ``purge``, as a person runs them."""

import json
import os
import stat
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.workspace.data_folder.data_path import person_place


@pytest.fixture
def used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Make a workspace with a thread, a note, a note of the person and an index."""
    workspace = tmp_path / "used"
    workspace.mkdir()
    (workspace / "a.md").write_text("We deploy with the blue script.\n")
    where = ["--workspace", str(workspace)]
    assert main(["expand", *where, "--embedder", "none", "--thread", "t", "Sum up #a.md"]) == 0
    assert main(["remember", *where, "We decided to use Postgres."]) == 0
    assert main(["remember", *where, "I prefer tabs."]) == 0
    assert main(["index", *where, "--embedder", "none"]) == 0
    capsys.readouterr()
    return workspace


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def test_what_is_backed_up_comes_back_in_another_folder(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "all.zip"
    code, _, err = run(capsys, "backup", str(file), "--workspace", str(used))
    assert code == 0
    assert "backed up" in err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run(capsys, "backup", str(file), "--workspace", str(used))[0] == 2
    assert not any("index" in name for name in zipfile.ZipFile(file).namelist())

    monkeypatch.setenv("HOME", str(tmp_path.with_name(f"{tmp_path.name}-new-home")))
    other = tmp_path / "other"
    other.mkdir()
    where = ["--workspace", str(other)]
    code, out, _ = run(capsys, "restore", str(file), *where, "--dry-run")
    assert code == 0
    assert "new" in out
    assert list(other.iterdir()) == []
    assert run(capsys, "restore", str(file), *where)[0] == 0
    assert "t " in run(capsys, "thread", "list", *where)[1]
    assert "Postgres" in run(capsys, "memory", "list", *where)[1]
    assert "tabs" in run(capsys, "memory", "list", *where)[1]
    assert stat.S_IMODE((other / ".promptuary" / "state.db").stat().st_mode) == 0o600

    code, _, err = run(capsys, "restore", str(file), *where)
    assert code == 1
    assert "add --force" in err
    assert run(capsys, "restore", str(file), *where, "--force")[0] == 0
    assert "t " in run(capsys, "thread", "list", *where)[1]


def test_purge_shows_what_goes_asks_and_leaves_nothing(
    used: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    where = ["--workspace", str(used)]
    code, out, err = run(capsys, "purge", *where)
    assert (code, "add --yes" in err) == (1, True)
    assert str(used / ".promptuary") in out
    assert run(capsys, "purge", *where, "--yes")[0] == 0
    assert [one.name for one in used.iterdir()] == ["a.md"]
    assert not person_place(used).with_suffix(".path").exists()
    assert "tabs" in run(capsys, "memory", "list", *where)[1]
    assert run(capsys, "purge", *where, "--models", "--yes")[0] == 2


def test_everywhere_is_every_workspace_and_the_person(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    assert run(capsys, "remember", "--workspace", str(second), "We decided to use Rust.")[0] == 0
    file = tmp_path / "all.zip"
    assert run(capsys, "backup", str(file), "--everywhere", "--workspace", str(used))[0] == 0
    config = Path.home() / ".config" / "promptuary" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("window = 64000\n")

    code, out, _ = run(capsys, "purge", "--everywhere", "--yes", "--json", "--workspace", str(used))
    assert (code, json.loads(out)["done"]) == (0, True)
    assert not (second / ".promptuary").exists()
    assert not (Path.home() / ".local" / "state" / "promptuary").exists()
    assert config.exists()

    assert run(capsys, "restore", str(file), "--everywhere", "--workspace", str(used))[0] == 0
    assert "Rust" in run(capsys, "memory", "list", "--workspace", str(second))[1]
    assert "t " in run(capsys, "thread", "list", "--workspace", str(used))[1]


def forged(file: Path, name: str, *, mode: int = 0o100600, content: bytes = b"x", size: int | None = None) -> None:
    manifest = {
        "format": 1,
        "made": "",
        "workspaces": ["/w"],
        "files": {name: {"bytes": len(content) if size is None else size, "sha256": "0" * 64}},
    }
    with zipfile.ZipFile(file, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content)
        archive.writestr("manifest.json", json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "mode", "size", "told"),
    [
        ("/etc/passwd", 0o100600, None, "not a name that a backup has"),
        ("workspaces/0/memory/../../../x", 0o100600, None, "not a name that a backup has"),
        ("workspaces/0/../state.db", 0o100600, None, "not a name that a backup has"),
        ("workspaces/0/index/x", 0o100600, None, "not a name that a backup has"),
        ("workspaces/0/memory/a\\..\\b", 0o100600, None, "not a name that a backup has"),
        ("workspaces/0/memory/link", stat.S_IFLNK | 0o777, None, "not a plain file"),
        ("workspaces/0/memory/device", stat.S_IFBLK | 0o600, None, "not a plain file"),
        ("workspaces/0/memory/a.md", 0o100600, None, "not what its manifest says"),
        ("workspaces/0/memory/a.md", 0o100600, 10**15, "far more than such a file can hold"),
        ("workspaces/0/memory/a.md", 0o100600, 0, "not what its manifest says"),
    ],
)
def test_an_archive_with_tricks_is_refused_and_nothing_is_written(  # noqa: PLR0917  (a row of the table)
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, mode: int, size: int | None, told: str
) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    forged(tmp_path / "bad.zip", name, mode=mode, size=size)

    code, _, err = run(capsys, "restore", str(tmp_path / "bad.zip"), "--workspace", str(workspace), "--force")
    assert (code, told in err) == (2, True), err
    assert list(workspace.iterdir()) == []
    assert not any(one.name.startswith("backup-") for one in (Path.home() / ".local/state/promptuary").iterdir())


def test_what_is_no_archive_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.zip").write_text("hello")
    for name, told in (("text.zip", "not a backup"), ("nowhere.zip", "does not exist"), (".", "is a folder")):
        code, _, err = run(capsys, "restore", str(tmp_path / name), "--workspace", str(tmp_path))
        assert (code, told in err) == (2, True), err


def test_a_database_of_somebody_else_is_not_made_the_persons_by_a_backup(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = used.rename(tmp_path / "moved")
    file = tmp_path / "all.zip"
    code, _, err = run(capsys, "backup", str(file), "--workspace", str(moved))
    assert code == 0
    assert "is left out: it is somebody else's" in err
    assert "workspaces/0/state.db" not in zipfile.ZipFile(file).namelist()
    assert os.access(file, os.R_OK)


def test_a_link_where_a_file_would_be_restored_is_in_the_way(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "all.zip", tmp_path / "other"
    assert run(capsys, "backup", str(file), "--workspace", str(used))[0] == 0
    (other / ".promptuary").mkdir(parents=True)
    (other / ".promptuary" / "state.db").symlink_to(tmp_path / "nowhere")

    code, out, err = run(capsys, "restore", str(file), "--workspace", str(other))

    assert (code, "add --force" in err) == (1, True)
    assert "replaced" in out
    assert not (tmp_path / "nowhere").exists()


def test_a_configuration_that_is_a_link_is_said_to_be_left_out(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = Path.home() / "dotfiles.toml"
    elsewhere.write_text("window = 4000\n")
    own = Path.home() / ".config" / "promptuary" / "config.toml"
    own.parent.mkdir(parents=True)
    own.symlink_to(elsewhere)

    _, _, err = run(capsys, "backup", str(tmp_path / "all.zip"), "--workspace", str(used))

    assert "config.toml is left out: it is a link" in err


def backed_up(used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "all.zip"
    assert run(capsys, "backup", str(file), "--workspace", str(used))[0] == 0
    return file


def test_what_a_backup_has_already_is_called_the_same_also_a_database(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = backed_up(used, tmp_path, capsys)
    where = ["--workspace", str(used)]
    code, out, _ = run(capsys, "restore", str(file), *where, "--dry-run", "--json")
    assert (code, {one["action"] for one in json.loads(out)["files"]}) == (0, {"same"})
    assert run(capsys, "restore", str(file), *where)[0] == 0
    assert main(["expand", *where, "--embedder", "none", "--thread", "t", "More"]) == 0

    out = run(capsys, "restore", str(file), *where, "--dry-run", "--json")[1]
    assert {one["what"] for one in json.loads(out)["files"] if one["action"] == "replaced"} == {"threads"}

    other = tmp_path / "other"
    other.mkdir()
    assert run(capsys, "restore", str(file), "--workspace", str(other))[0] == 0
    out = run(capsys, "restore", str(file), "--workspace", str(other), "--dry-run", "--json")[1]
    assert {one["action"] for one in json.loads(out)["files"]} == {"same"}


def test_a_configuration_is_installed_only_if_the_person_asks_for_it(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (used / ".promptuary" / "config.toml").write_text("window = 64000\n")
    own = Path.home() / ".config" / "promptuary" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('model_url = "http://127.0.0.1:9/v1"\n')
    file = backed_up(used, tmp_path, capsys)
    monkeypatch.setenv("HOME", str(tmp_path.with_name(f"{tmp_path.name}-new-home")))
    other = tmp_path / "other"
    other.mkdir()
    own = Path.home() / ".config" / "promptuary" / "config.toml"

    code, out, err = run(capsys, "restore", str(file), "--workspace", str(other))
    assert (code, out.count("left out")) == (0, 2)
    assert "add --config" in err
    assert not own.exists()
    assert not (other / ".promptuary" / "config.toml").exists()

    code, out, err = run(capsys, "restore", str(file), "--workspace", str(other), "--config")
    assert (code, "left out" in out, "--config" in err) == (0, False, False)
    assert "127.0.0.1" in own.read_text()
    assert (other / ".promptuary" / "config.toml").read_text() == "window = 64000\n"


def test_folders_elsewhere_and_what_git_runs_come_back_only_if_the_person_asks_for_it(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    diary = tmp_path / "diary"
    diary.mkdir()
    (diary / "day.md").write_text("My zebra is ill.\n")
    assert main(["index", str(diary), "--workspace", str(used), "--embedder", "none"]) == 0
    hidden = used / ".promptuary" / "memory" / ".git"
    hidden.mkdir()
    (hidden / "config").write_text('[core]\n\tfsmonitor = "touch ran"\n')
    file = backed_up(used, tmp_path, capsys)
    monkeypatch.setenv("HOME", str(tmp_path.with_name(f"{tmp_path.name}-new-home")))
    other = tmp_path / "other"
    other.mkdir()
    where = ["--workspace", str(other)]

    code, out, err = run(capsys, "restore", str(file), *where)
    assert (code, out.count("left out"), "add --config" in err) == (0, 2, True)
    assert str(diary) not in run(capsys, "index", "--list", *where)[1]
    assert not (other / ".promptuary" / "memory" / ".git").exists()

    code, out, _ = run(capsys, "restore", str(file), *where, "--config", "--force")
    assert (code, "left out" in out) == (0, False)
    assert str(diary) in run(capsys, "index", "--list", *where)[1]
    assert (other / ".promptuary" / "memory" / ".git" / "config").exists()


def test_a_large_file_of_a_backup_is_never_in_memory_as_a_whole(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (used / ".promptuary" / "memory" / "large.md").open("wb") as large:
        large.truncate(64 << 20)
    file = tmp_path / "all.zip"
    for words in (["backup", str(file)], ["restore", str(file)], ["restore", str(file), "--dry-run"]):
        where = used if words[0] == "backup" else tmp_path / "other"
        where.mkdir(exist_ok=True)
        tracemalloc.start()
        assert run(capsys, *words, "--workspace", str(where))[0] == 0
        assert tracemalloc.get_traced_memory()[1] < 24 << 20, words
        tracemalloc.stop()
    assert (tmp_path / "other" / ".promptuary" / "memory" / "large.md").stat().st_size == 64 << 20


@pytest.mark.parametrize("words", [["restore"], ["thread", "import"], ["memory", "import"]])
@pytest.mark.parametrize("special", ["pipe", "/dev/zero"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused_at_once(
    tmp_path: Path, words: list[str], special: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        [sys.executable, "-m", "promptuary", *words, special],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_what_a_killed_backup_left_is_removed_by_the_next(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [sys.executable, "-m", "promptuary", "backup", str(tmp_path / "killed.zip"), "--workspace", str(used)]
    with (used / ".promptuary" / "memory" / "large.bin").open("wb") as large:
        large.truncate(1 << 30)  # compressing it takes seconds
    state = Path.home() / ".local" / "state" / "promptuary"

    def left() -> list[Path]:
        return [*state.glob("backup-*"), *tmp_path.glob(".promptuary-*")]

    started = subprocess.Popen(words)
    while len(left()) < 2:
        assert started.poll() is None
        time.sleep(0.01)
    started.kill()
    started.wait()
    assert len(left()) == 2
    (used / ".promptuary" / "memory" / "large.bin").unlink()
    for one in left():
        os.utime(one, (0, 0))

    backed_up(used, tmp_path, capsys)
    assert left() == []


def test_the_name_of_a_backup_is_not_spoken_to_the_terminal(
    used: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "\x1b]0;owned\x07\x1b[2J.zip"
    for words in (("backup", name), ("backup", name), ("restore", name), ("restore", f"{name}.not")):
        _, out, err = run(capsys, *words, "--workspace", str(used))
        assert not {"\x1b", "\x07"} & {*out, *err}, words


def test_what_is_removed_from_postgresql_is_said_to_stay_on_the_server(
    workspace: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = "the bytes leave its tables at the next vacuum, and stay in its log, on replicas and in backups"
    for database in ("", postgres):
        monkeypatch.setenv("PROMPTUARY_DATABASE", database)
        with Promptuary.open(workspace, embedder="none") as promptuary:
            promptuary.threads.finish(promptuary.threads.prepare("Hello.", thread="one"), "Hello.")
            note = promptuary.memory.write("We deploy on Fridays.", title="Deploys")
            learnt = promptuary.experiences.add("task_solution", "how to build", "make")
        for command in (
            ["thread", "rm", "one", "--yes"],
            ["memory", "forget", note.header.id, "--yes"],
            ["experience", "forget", learnt.id, "--yes"],
        ):
            capsys.readouterr()
            assert main([*command, "--workspace", str(workspace)]) == 0, command
            assert (stays in capsys.readouterr().err) is bool(database), command

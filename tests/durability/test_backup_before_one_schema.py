"""A backup of the version before the one schema is restored with everything that was in it."""

import hashlib
import json
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.errors import DatabaseDamagedError, PromptuaryError, UnknownFormatError
from promptuary.blocking import Promptuary
from promptuary.database.migrate import APPLICATION, BEFORE
from promptuary.database.sqlite import copy_database
from promptuary.maintenance.old_format import bring_up_to_date
from promptuary.state import StateDatabase
from tests.fixtures.backup_before_one_schema import (
    ANSWERS,
    ARCHIVE,
    FORGOTTEN,
    SECRET_PAGE,
    ask_everything,
    write_project,
)


@pytest.fixture
def expected() -> dict[str, Any]:
    """Return what the version that made the backup answered after it had restored it."""
    answers: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return answers


@pytest.fixture
def restored(workspace: Path) -> Path:
    """Return a workspace in which the backup was restored."""
    write_project(workspace)
    with Promptuary.open(workspace, exact=True) as p:
        assert p.restore(ARCHIVE, config=True).done
    return workspace


def test_everything_in_a_backup_of_the_version_before_is_there(restored: Path, expected: dict[str, Any]) -> None:
    answers = ask_everything(restored)

    assert answers.keys() == expected.keys()
    for answer in (*answers.values(), *expected.values()):
        for size in answer["examine"]["threads"]:
            del size["bytes"]  # the same is stored in fewer
        _drop_what_is_new(answer)
    for principal, found in answers.items():
        for noun, value in found.items():
            assert value == expected[principal][noun], f"{noun} of {principal}"


def _drop_what_is_new(answer: Any) -> None:
    """Drop what that version did not tell, and that its list of notes, which looks otherwise now, changed since."""
    match answer:
        case {"thread": _, "source": source, "how": _}:
            for key in ("text", "answer", *(["current"] if source == "memory:digest" else [])):
                answer.pop(key, None)
        case dict():
            if answer.get("whole_tokens") == 0:  # unknown
                del answer["whole_tokens"]
            if isinstance(answer.get("export"), str) and answer["export"].startswith("{"):
                answer["export"] = json.loads(answer["export"])
            list(map(_drop_what_is_new, answer.values()))
        case list():
            answer[:] = [part for part in answer if not _is_new(part)]
            list(map(_drop_what_is_new, answer))


def _is_new(part: Any) -> bool:
    listed = isinstance(part, dict) and part.get("how") == "list"
    return listed or part == {"kind": "changed", "path": "memory:digest"}


def test_no_byte_of_what_was_forgotten_is_there_once_the_notes_were_opened(restored: Path) -> None:
    ask_everything(restored)

    folders = (restored / ".promptuary", Path(os.environ["HOME"]))
    stored = b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())
    said = [text.rsplit(" ", 1)[1].rstrip(".").encode() for text in FORGOTTEN.values()]
    assert [word for word in (*said, SECRET_PAGE.encode()) if word in stored] == []


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the database of the workspace as it is in the backup."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        return Path(archive.extract("workspaces/0/state.db", tmp_path))


def test_the_database_in_a_backup_is_bound_as_it_was(database: Path) -> None:
    with closing(sqlite3.connect(database)) as old:
        (binding,) = old.execute("SELECT value FROM binding").fetchone()
    bring_up_to_date(database)
    bring_up_to_date(database)  # changes nothing
    with closing(StateDatabase(database)) as state:
        state.verify()
        assert state.database.binding == binding


def backup_with(changed: dict[str, bytes], target: Path, **sizes: float) -> Path:
    """Write the backup with other content of some files to ``target``, with a manifest that says so."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        files = {name: archive.read(name) for name in archive.namelist()} | changed
    manifest = json.loads(files.pop("manifest.json"))
    for name, content in changed.items():
        manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} | sizes
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("manifest.json", json.dumps(manifest))
    return target


@pytest.mark.parametrize("name", ["workspaces/0/state.db", "person/state.db"])
@pytest.mark.parametrize(
    ("header", "says"),
    [
        ((0x1234, 1), "a database of another program"),
        ((APPLICATION, 99), "a newer Promptuary"),
        ((BEFORE, 13), "make the backup with the last version before this one"),
    ],
)
def test_a_backup_with_a_database_that_is_not_restored_changes_nothing(
    restored: Path, tmp_path: Path, name: str, header: tuple[int, int], says: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE cookies (name TEXT)")
        other.execute(f"PRAGMA application_id = {header[0]}")
        other.execute(f"PRAGMA user_version = {header[1]}")
    archive = backup_with({name: (tmp_path / "other.db").read_bytes()}, tmp_path / "forged.zip")
    (restored / ".promptuary/memory/agents/default/shared/project/brought.md").write_text("Changed since.\n")
    folders = (restored / ".promptuary", Path(os.environ["HOME"]))

    def stored() -> dict[Path, bytes]:
        return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}

    before = stored()
    with (
        Promptuary.open(restored, exact=True) as p,
        pytest.raises(UnknownFormatError, match=f"nothing was restored.*{says}"),
    ):
        p.restore(archive, force=True)
    assert stored() == before


def test_a_size_that_is_no_number_is_refused(workspace: Path, tmp_path: Path) -> None:
    archive = backup_with({"person/config.toml": b""}, tmp_path / "forged.zip", bytes=float("inf"))
    with Promptuary.open(workspace, exact=True) as p, pytest.raises(PromptuaryError, match="manifest cannot be read"):
        p.restore(archive)


def test_a_restore_that_is_killed_leaves_a_database_that_can_be_used(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(workspace)

    def copied(source: Path, target: Path) -> None:
        copy_database(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr("promptuary.maintenance.backup.copy_database", copied)
    with Promptuary.open(workspace, exact=True) as p, pytest.raises(KeyboardInterrupt):
        p.restore(ARCHIVE)
    with Promptuary.open(workspace, exact=True) as p:
        assert p.threads.list()


def test_a_number_that_no_database_can_hold_is_damage(database: Path) -> None:
    sent = json.dumps([{"role": "user", "content": 10**30}]).encode()
    with closing(sqlite3.connect(database)) as old:
        old.execute(
            "UPDATE content SET sha256 = ?, packed = 0, body = ? WHERE id = (SELECT min(messages) FROM turn)",
            (hashlib.sha256(sent).digest(), sent),
        )
        old.commit()
    with pytest.raises(DatabaseDamagedError):
        bring_up_to_date(database)


def test_a_backup_of_an_even_older_version_is_refused(database: Path) -> None:
    with closing(sqlite3.connect(database)) as old:
        old.execute("PRAGMA user_version = 13")
    with pytest.raises(UnknownFormatError, match="make the backup with the last version before this one"):
        bring_up_to_date(database)


@pytest.mark.parametrize(
    "older",
    [
        "UPDATE item SET checksum = NULL",
        "UPDATE turn SET checksum = NULL",
        "UPDATE turn SET indexed = 0",
    ],
)
def test_a_backup_with_threads_that_an_even_older_version_began_says_how_to_bring_them(
    database: Path, older: str
) -> None:
    with closing(sqlite3.connect(database)) as old:
        old.execute(f"{older} WHERE thread = (SELECT id FROM thread WHERE name = 'review')")
        old.commit()
    with pytest.raises(UnknownFormatError, match=r"are not restored: review\. .*thread export.*thread import"):
        bring_up_to_date(database)


def test_a_view_in_a_backup_is_not_asked(database: Path) -> None:
    endless = "WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count) SELECT n AS path FROM count"
    with closing(sqlite3.connect(database)) as old:
        old.execute("DROP TABLE brought_note")
        old.execute(f"CREATE VIEW brought_note AS {endless}")
    with pytest.raises(DatabaseDamagedError, match="'brought_note' in it is not a table"):
        bring_up_to_date(database)


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE note_owner SET owner = 1 WHERE owner <> 1",
        "UPDATE note_change SET rev = 'other'",
        "UPDATE experience SET trust = 'person', confidence = 0.123",
        "UPDATE session SET thread = thread || 'other'",
        "UPDATE turn SET status = 'failed'",
        "UPDATE content SET body = zeroblob(8)",
    ],
)
def test_what_somebody_changed_in_a_backup_is_damage(database: Path, forged: str) -> None:
    with closing(sqlite3.connect(database)) as old:
        assert old.execute(forged).rowcount
        old.commit()
    with pytest.raises(DatabaseDamagedError):
        bring_up_to_date(database)

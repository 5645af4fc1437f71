"""A backup of the version before the one schema is restored with everything that was in it."""

import json
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.core.errors import DatabaseDamagedError, UnknownFormatError
from promptuary.storage.old_format import bring_up_to_date
from promptuary.storage.state import StateDatabase
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
    for principal, found in answers.items():
        for noun, value in found.items():
            assert value == expected[principal][noun], f"{noun} of {principal}"


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


def test_a_backup_of_an_even_older_version_is_refused(database: Path) -> None:
    with closing(sqlite3.connect(database)) as old:
        old.execute("PRAGMA user_version = 13")
    with pytest.raises(UnknownFormatError, match="make the backup with the last version before this one"):
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

"""A database with the tables of earlier versions: what is said about it, and what a backup of it brings back."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.errors import UnknownFormatError
from promptuary.blocking import Promptuary
from promptuary.database import migrate
from promptuary.gateways.inbox_store import InboxStore


def old_database(path: Path) -> bytes:
    """Make a database that looks like one of an earlier version, and return its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE thread (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
        raw.execute(f"PRAGMA application_id = {migrate.BEFORE}")
        raw.execute("PRAGMA user_version = 14")
    return path.read_bytes()


def test_a_folder_of_an_earlier_version_gets_one_sentence_and_stays_as_it_is(workspace: Path) -> None:
    state = workspace / ".promptuary" / "state.db"
    before = old_database(state)

    with (
        Promptuary.open(workspace, exact=True, embedder="none") as p,
        pytest.raises(UnknownFormatError, match=r"before this one; it was not changed\. .*`promptuary backup FILE`"),
    ):
        p.threads.prepare("Hello", thread="t")

    assert state.read_bytes() == before
    assert [path.name for path in state.parent.iterdir() if path.name.startswith("state.db")] == ["state.db"]


def test_a_backup_of_it_names_the_file_that_is_there(workspace: Path, tmp_path: Path) -> None:
    state = workspace / ".promptuary" / "state.db"
    before = old_database(state)

    with (
        Promptuary.open(workspace, exact=True, embedder="none") as p,
        pytest.raises(UnknownFormatError, match=f"^{re.escape(str(state))} was written by a version before this one"),
    ):
        p.backup(tmp_path / "backup.tar.gz")

    assert [state.read_bytes(), (tmp_path / "backup.tar.gz").exists()] == [before, False]


def test_an_inbox_of_an_earlier_version_gets_the_same_sentence(tmp_path: Path) -> None:
    before = old_database(tmp_path / "inbox.db")

    with pytest.raises(UnknownFormatError, match="before this one"):
        InboxStore(tmp_path / "inbox.db")

    assert (tmp_path / "inbox.db").read_bytes() == before

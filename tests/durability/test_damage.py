"""A database that is not what was written: a clear error, never a traceback, and the file stays as it is."""

import hashlib
import random
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.database.sqlite import SqliteDatabase
from promptuary.threads.records import ThreadChange
from tests.conftest import Figure
from tests.durability.writer import written
from tests.stores import FileStore, state_of
from tests.suites.threads import said

TURNS = 30


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    with closing(FileStore(path)) as store:
        for change in written("t", TURNS, "finished"):
            store.apply(change)
    return path


def everything(path: Path) -> object:
    """Read all there is, and write one thing more."""
    with closing(FileStore(path, timeout=1)) as store:
        read = store.history("t"), store.turns("t"), store.threads(), state_of(store, "counter", "t")
        items = store.items([one for item in read[0] for one in item.stands_for])
        store.apply(ThreadChange("t", items=[said("more")]))
        store.verify()
        return read, items


def said_in(read: object) -> object:
    """Return the conversation alone: the history, the turns without their dates, and what was compacted."""
    assert isinstance(read, tuple)
    (history, turns, _, _), items = read
    return history, [replace(turn, created="") for turn in turns], items


@pytest.mark.parametrize(
    "content", [b"x", b"not a database at all\n" * 500, b"\x00" * 8192, b"SQLite format 3\x00" * 99]
)
def test_what_is_no_database_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)

    with pytest.raises(PromptuaryError, match=r"state\.db is damaged .* Restore a backup") as caught:
        FileStore(path)
    assert content == b"x" or isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    """So it is left by a process that was killed as soon as it had made it."""
    path = tmp_path / "state.db"
    path.touch()
    with closing(FileStore(path)) as store:
        assert store.threads() == ()


def test_a_truncated_database_is_noticed(database: Path) -> None:
    whole = database.read_bytes()
    for part in (0.1, 0.5, 0.9):
        database.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(PromptuaryError, match="damaged"):
            everything(database)


@pytest.mark.torture
def test_flipped_bytes_never_make_another_conversation(database: Path, figure: Figure) -> None:
    """Everything that was said has checksums; what goes unnoticed is in dates and in unused space."""
    whole, chance = database.read_bytes(), random.Random(11)
    good, seen = everything(database), Counter[str]()
    assert isinstance(good, tuple)
    for _ in range(figure(60, 3_000)):
        broken = bytearray(whole)
        for _ in range(chance.choice([1, 1, 20])):
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        for leftover in database.parent.iterdir():
            leftover.unlink()
        database.write_bytes(broken)
        try:
            read = everything(database)
        except PromptuaryError:
            seen["errors"] += 1
            continue
        seen["harmless" if read == good else "small differences" if said_in(read) == said_in(good) else "another"] += 1
    print(f"flipped bytes in {sum(seen.values()):,} copies: {dict(seen)}, 0 tracebacks")

    assert seen["errors"] > 0
    assert seen["another"] == 0


def test_a_changed_text_is_never_taken_for_what_was_written(database: Path) -> None:
    """SQLite itself would not notice: the page is well-formed."""
    with closing(sqlite3.connect(database)) as raw:
        raw.execute(
            "UPDATE content SET packed = 0, body = CAST('forged' AS BLOB) "
            "WHERE sha256 IN (SELECT content FROM item WHERE compacted = 0)"
        )
        raw.commit()
    with closing(FileStore(database)) as store:
        for read in (store.verify, lambda: store.history("t")):
            with pytest.raises(PromptuaryError, match="a text is not what was written"):
                read()


def test_rows_that_make_no_sense_are_damage(database: Path) -> None:
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("UPDATE item SET tool_calls = '{' WHERE compacted = 0")
        raw.execute("UPDATE turn SET messages = 99999 WHERE number = 1")
        raw.execute("UPDATE thread SET updated = 7.5")
        raw.execute("UPDATE state SET body = x'ff'")
        raw.commit()
    with closing(FileStore(database)) as store:
        for read in (
            lambda: store.history("t"),
            lambda: store.turn("t", 1),
            lambda: state_of(store, "counter", "t"),
            store.verify,
        ):
            with pytest.raises(PromptuaryError, match="damaged"):
                read()


def test_a_database_of_another_program_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
        other.commit()
    before = hashlib.sha256(path.read_bytes()).digest()

    with pytest.raises(PromptuaryError, match="of another program; it was not changed"):
        FileStore(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_a_link_a_folder_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    (tmp_path / "folder.db").mkdir()
    for name in ("link.db", "folder.db"):
        with pytest.raises(PromptuaryError, match="is a link or not a file"):
            FileStore(tmp_path / name)
    with pytest.raises(PromptuaryError, match="check that its folder exists"):
        FileStore(tmp_path / "missing" / "state.db")
    with pytest.raises(PromptuaryError, match="cannot be examined"):
        FileStore(tmp_path / ("x" * 300))
    assert not (tmp_path / "elsewhere.db").exists()


def test_only_its_user_may_read_it(database: Path) -> None:
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    with closing(FileStore(database)) as store:
        store.apply(ThreadChange("t"))
        assert {stat.S_IMODE(path.stat().st_mode) for path in database.parent.iterdir()} == {0o600}


def test_every_connection_is_set_to_last(database: Path) -> None:
    """Killing a process cannot show this: only a power cut could."""
    with closing(FileStore(database)) as store:
        assert isinstance(store._database, SqliteDatabase)
        for connection in (store._database._writer, store._database._reader):
            settings = [connection.execute(f"PRAGMA {one}").fetchone()[0] for one in SETTINGS]
            assert dict(zip(SETTINGS, settings, strict=True)) == SETTINGS


SETTINGS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0, "cell_size_check": 1}

PROGRAM = """
import sys
opened = []
sys.addaudithook(lambda event, details: opened.append(str(details[0])) if event in ("open", "os.open") else None)
from contextlib import closing
from pathlib import Path
from tests.durability.writer import written
from tests.stores import FileStore
path = Path(sys.argv[1])
for _ in range(2):
    with closing(FileStore(path)) as store, closing(FileStore(path)) as other:
        for change in written(f"t{_}", 12, "finished"):
            store.apply(change)
        other.turns("t0"), other.history("t0"), other.threads(), other.verify()
open(path.with_name("seen"), "w").close()
files = {str(path.with_name(name)) for name in ("state.db", "state.db-wal", "state.db-shm", "state.db-journal", "seen")}
print([name for name in opened if name in files])
"""


def test_nothing_but_sqlite_opens_the_files(tmp_path: Path) -> None:
    """To close any other descriptor of the file would drop the locks of the whole process."""
    path = tmp_path / "state.db"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == (str([str(tmp_path / "seen")]), "")

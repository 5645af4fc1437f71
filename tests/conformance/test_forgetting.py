"""The database forgets as ``tests.suites.forgetting`` says."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import DatabaseDamagedError
from promptuary.base.principals import LOCAL
from promptuary.context.receipt import Receipt
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.suites.forgetting import (
    BODY,
    DIGEST,
    MARK,
    NOTE,
    RECALLED,
    TEXTS,
    ForgettingConformance,
    said,
    said_everywhere,
    turn_with,
)


class TestForgetting(ForgettingConformance):
    @pytest.fixture
    def database(self, state: StateDatabase) -> Iterator[StateDatabase]:
        yield state
        state.verify()


def test_no_byte_of_what_was_said_is_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(StateDatabase(path)) as state:
        said_everywhere(state, LOCAL)
        # A text of the turn before it ended, which nobody uses any more.
        turn = replace(turn_with("z", number=3), receipt=Receipt("t-3", "t", 100, 10, 5, warnings=[BODY]))
        state.threads(LOCAL).apply(ThreadChange("t", turn=turn))
        state.threads(LOCAL).apply(ThreadChange("t", turn=replace(turn, receipt=Receipt("t-3", "t", 100, 10, 5))))
        state.forgetting(LOCAL).redact_places(NOTE, TEXTS)
        state.forgetting(LOCAL).purge()

    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert [line for line in (b"blue pot", b"Ask Ada") if line in left] == []


def test_another_process_forgets_what_this_one_has_read(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as one, closing(StateDatabase(tmp_path / "state.db")) as other:
        said_everywhere(one, LOCAL)
        before = one.threads(LOCAL).history("t")
        other.forgetting(LOCAL).redact_places(NOTE, TEXTS)
        after = one.threads(LOCAL).history("t")
        one.threads(LOCAL).apply(ThreadChange("t", items=[said("again", before[0].content)]))

        assert (MARK in after[0].content, BODY in before[0].content) == (True, True)
        assert [item.content for item in other.threads(LOCAL).history("t")][-1] == before[0].content
        other.verify()


def test_damage_to_what_is_left_is_noticed(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.threads(LOCAL).apply(ThreadChange("t", turn=turn_with(DIGEST)))
        state.forgetting(LOCAL).redact_note(NOTE)
        spoiled = "UPDATE content SET body = CAST(replace(body, 'Stays', 'Stayed') AS BLOB) WHERE packed > 1"
        state.database.write(lambda connection: connection.execute(spoiled))

        with pytest.raises(DatabaseDamagedError):
            state.threads(LOCAL).turns("t")


def test_only_the_texts_that_name_a_note_are_read(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        for number in range(1, 40):
            other = replace(turn_with(f"text {number}", number=number), receipt=Receipt(f"t-{number}", "t", 9, 1, 5))
            state.threads(LOCAL).apply(ThreadChange("t", turn=other))
        state.threads(LOCAL).apply(ThreadChange("t", turn=turn_with(RECALLED, number=40)))
        # Whatever is not read cannot be found damaged.
        spoiled = "UPDATE content SET sha256 = randomblob(32) WHERE sha256 NOT IN (SELECT content FROM mention)"
        state.database.write(lambda connection: connection.execute(spoiled))

        assert state.forgetting(LOCAL).redact_note(NOTE, TEXTS) == 2

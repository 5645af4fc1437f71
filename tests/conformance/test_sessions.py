"""The store of sessions passes its suite; what one owner has is nobody else's, and damage is seen."""

from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary import Principal
from promptuary.base.errors import DatabaseDamagedError
from promptuary.base.principals import LOCAL
from promptuary.sessions.store import SessionStore
from promptuary.state import StateDatabase
from promptuary.workspace.access import Pins
from tests.suites.sessions import ONE, PINS, SessionStoreConformance


class TestSessions(SessionStoreConformance):
    @pytest.fixture
    def sessions(self, state: StateDatabase) -> SessionStore:
        return state.sessions(LOCAL)


OTHERS = [Principal("eve"), Principal(agent="other"), Principal(group="team"), Principal("eve", group="local")]


@pytest.mark.parametrize("other", OTHERS)
def test_the_sessions_of_one_owner_are_nobody_elses(tmp_path: Path, other: Principal) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.sessions(LOCAL).add(ONE, PINS)
        others = state.sessions(other)

        assert (list(others.all()), others.get(ONE.name), others.of_thread(ONE.thread)) == ([], None, None)
        assert others.pins(ONE.name) is None
        assert not state.has_session(other, ONE.thread)
        assert state.has_session(LOCAL, ONE.thread)
        assert not others.replace(replace(ONE, status="archived"), Pins())
        assert not others.pin_notes(ONE.name, {("project", "note-1"): None})
        assert others.add(replace(ONE, id="session-9"), Pins())
        assert (state.sessions(LOCAL).get(ONE.name), state.sessions(LOCAL).pins(ONE.name)) == (ONE, PINS)


def test_a_session_survives_the_process(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.sessions(LOCAL).add(ONE, PINS)
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        assert (state.sessions(LOCAL).get(ONE.name), state.sessions(LOCAL).pins(ONE.name)) == (ONE, PINS)


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE session SET thread = 'main'",
        "UPDATE session SET body = replace(body, 'src', 'etc')",
        "UPDATE session_files SET files = substr(files, 1, length(files) - 1)",
        "DELETE FROM session_files",
        "UPDATE session_pin SET scope = 'nowhere' WHERE kind = 'note' AND scope = 'user'",
    ],
)
def test_a_session_that_somebody_changed_in_the_file_is_damage(tmp_path: Path, forged: str) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.sessions(LOCAL).add(ONE, PINS)
        state.database.write(lambda connection: connection.execute(forged))

        sessions = state.sessions(LOCAL)
        with pytest.raises(DatabaseDamagedError):
            _ = (sessions.pins(ONE.name), sessions.get(ONE.name))

"""A database that is stopped or stands still: waits are bounded, errors are sentences, nothing is lost or doubled."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from promptuary.base.errors import DatabaseUnavailableError
from promptuary.base.principals import LOCAL
from promptuary.cli.main import main
from promptuary.database import postgres as driver
from promptuary.database.port import Connection
from promptuary.database.tenant import TenantDatabase
from promptuary.server.serve import Options
from promptuary.server.tokens import TokenStore
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.conftest import Files
from tests.postgres import PostgresServer, new_tenant
from tests.served import running
from tests.suites.threads import said


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    made = PostgresServer()
    try:
        made.start()
        yield made
    finally:
        made.remove()


def test_a_server_that_stands_still_is_not_waited_for_forever(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_ANSWER_TIMEOUT", 1.0)
    new_tenant(server.url, "still").close()
    with closing(StateDatabase(database=TenantDatabase(server.url, "still", timeout=2.0))) as state:
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("one")]))
        server.pause()
        with pytest.raises(DatabaseUnavailableError, match="does not answer"):
            state.threads(LOCAL).history("t")
        with pytest.raises(DatabaseUnavailableError, match="nothing of this step was stored"):
            state.threads(LOCAL).apply(ThreadChange("t", items=[said("two")]))
        server.resume()
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("three")]))
        assert [item.id for item in state.threads(LOCAL).history("t")] == ["one", "three"]


def test_what_was_written_while_the_server_stood_still_is_stored_once(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_ANSWER_TIMEOUT", 1.0)
    with closing(new_tenant(server.url, "still")) as database:
        ran: list[int] = []

        def work(own: Connection) -> None:
            ran.append(1)
            database.notify(own, 0, "noun", "key")
            if len(ran) == 1:
                server.pause()
                threading.Timer(2.0, server.resume).start()

        database.write(work)
        query = "SELECT count(*) FROM change WHERE tenant = :tenant"
        assert database.read(lambda own: own.execute(query, {"tenant": own.tenant}).fetchone()) == (1,)


HOLDER = """
import sys
from promptuary.base.errors import ConflictError
from promptuary.base.principals import LOCAL
from promptuary.database.tenant import TenantDatabase
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.suites.threads import said

state = StateDatabase(database=TenantDatabase(sys.argv[1], "paused"))
with state.answering(LOCAL, "t"):
    state.threads(LOCAL).apply(ThreadChange("t", items=[said("first")]))
    print("holds", flush=True)
    sys.stdin.readline()
    try:
        state.threads(LOCAL).apply(ThreadChange("t", items=[said("late")]))
        print("stored", flush=True)
    except ConflictError as error:
        print("refused", flush=True)
"""


def test_a_holder_that_was_paused_for_longer_than_its_lease_writes_nothing_after_another(postgres: str) -> None:
    new_tenant(postgres, "paused").close()
    with (
        closing(StateDatabase(database=TenantDatabase(postgres, "paused"))) as state,
        subprocess.Popen(
            [sys.executable, "-c", HOLDER, postgres], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder,
    ):
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        holder.send_signal(signal.SIGSTOP)
        expire = "UPDATE lease SET until = now() - interval '1 second' WHERE tenant = :tenant"
        state.database.write(lambda own: own.execute(expire, {"tenant": own.tenant}))
        with state.answering(LOCAL, "t"):
            state.threads(LOCAL).apply(ThreadChange("t", items=[said("second")]))
        holder.send_signal(signal.SIGCONT)
        holder.stdin.write("go on\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "refused\n"
        assert [item.id for item in state.threads(LOCAL).history("t")] == ["first", "second"]


def test_a_server_of_promptuary_answers_503_while_its_database_is_stopped_or_stands_still(
    server: PostgresServer, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_ANSWER_TIMEOUT", 1.0)
    monkeypatch.setattr(TenantDatabase.__init__, "__kwdefaults__", {"timeout": 2.0})
    folder = files({"a.md": "One."})
    options = Options(folders={"app": folder}, log="off", settings={"database": server.url, "embedder": "none"})
    with running(TokenStore.open(), options) as served:
        headers = {"Authorization": f"Bearer {served.create()}", "Content-Type": "application/json"}

        def threads() -> tuple[int, str | None]:
            answer = served.ask("GET", "/api/v1/threads", headers)
            return answer.status, answer.headers.get("retry-after")

        assert threads() == (200, None)
        for stop, go_on in ((server.stop, server.start), (server.pause, server.resume)):
            stop()
            assert threads() == (503, "1")
            body = b'{"text": "see @a.md"}'
            expanded = served.ask("POST", "/api/v1/expand", headers, body)
            assert (expanded.status, b"One." in expanded.body) == (200, True)
            go_on()
            assert threads() == (200, None)


def test_commands_say_in_a_sentence_that_the_database_is_away(
    server: PostgresServer, files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TenantDatabase.__init__, "__kwdefaults__", {"timeout": 1.0})
    monkeypatch.setenv("PROMPTUARY_DATABASE", server.url)
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    folder = files({"a.md": "One."})
    assert main(["expand", "hello", "--thread", "t", "--workspace", str(folder)]) == 0
    server.stop()
    capsys.readouterr()
    assert main(["expand", "see @a.md", "--workspace", str(folder)]) == 0
    assert "One." in capsys.readouterr().out
    for command in (["thread", "list"], ["expand", "hello", "--thread", "t"]):
        assert main([*command, "--workspace", str(folder)]) == 2
        told = capsys.readouterr().err
        assert "does not answer" in told
        assert "Traceback" not in told

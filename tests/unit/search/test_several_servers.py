"""Servers that share a database find what was written through another one, each with an index of its own."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.search.records import RecordIndex
from promptuary.search.values import note_text
from tests.postgres import new_tenant
from tests.suites.writeback import FIRST

Servers = Callable[..., Promptuary]


@pytest.fixture
def server(tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Return a function that opens the workspace of a team on another machine: with other folders."""
    new_tenant(postgres, f"tenant team {tmp_path}").close()
    with ExitStack() as opened:

        def start(name: str) -> Promptuary:
            folder = tmp_path / name / "team"
            folder.mkdir(parents=True, exist_ok=True)
            monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name / "state"))
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name / "cache"))
            found = Promptuary.open(folder, database=postgres, tenant=f"team {tmp_path}", embedder="none", exact=True)
            found.threads.history(thread="main")  # what is bound to the tenant is decided at the first use
            return opened.enter_context(found)

        yield start


def intents(server: Promptuary, query: str) -> list[str]:
    found = server.experiences.find_similar(query, limit=10)
    assert not found.notes
    return [hit.experience.intent for hit in found.hits]


def test_what_one_server_learns_changes_and_removes_is_found_so_by_another(server: Servers) -> None:
    one, other = server("one"), server("other")
    first = one.experiences.add("task_solution", "deploy the release", {"summary": "run the pipeline"})
    assert intents(other, "deploy the release") == ["deploy the release"]

    one.experiences.add("task_solution", "deploy the documentation", {"summary": "run the builder"})
    assert sorted(intents(other, "deploy")) == ["deploy the documentation", "deploy the release"]
    other.experiences.add("task_solution", "deploy a hotfix", {"summary": "skip the builder"})
    assert "deploy a hotfix" in intents(one, "deploy")
    one.experiences.forget(first.id)
    assert sorted(intents(other, "deploy")) == ["deploy a hotfix", "deploy the documentation"]


@pytest.fixture
def cold_server(server: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Let servers make no index before the test ends, and wait for it no longer than half a second."""
    ended = threading.Event()
    sync = RecordIndex.sync

    def late(self: RecordIndex[object], *, rebuild: bool = False) -> bool:
        ended.wait(60)
        return sync(self, rebuild=rebuild)

    monkeypatch.setattr(RecordIndex, "sync", late)
    wait = RecordIndex.wait
    monkeypatch.setattr(RecordIndex, "wait", lambda self, _: wait(self, 0.5))
    yield server
    ended.set()


def test_a_server_without_an_index_finds_words_in_the_database_and_says_so(cold_server: Servers) -> None:
    one, other = cold_server("one"), cold_server("other")
    for thing in ("the release", "the documentation", "a hotfix", "the mirrors"):
        one.experiences.add("task_solution", f"deploy {thing}", {"summary": "run the pipeline"})
    found = other.experiences.find_similar("how was the release deployed?", limit=2)
    assert found.hits[0].experience.intent == "deploy the release"
    said = [note_text(note) for note in found.notes]
    assert said == [
        "searched by words only: the index of experiences is still being made here",
        "not everything was searched: it is still being indexed; try again soon",
    ]


def test_a_note_that_another_process_could_not_index_any_more_is_found(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Promptuary.open(workspace, embedder="none", exact=True) as one,
        Promptuary.open(workspace, embedder="none", exact=True) as other,
    ):
        one.memory.write("The harbour opens at nine.", title="Harbour")
        assert [hit.header.title for hit in other.memory.find("harbour").hits] == ["Harbour"]
        with monkeypatch.context() as killed:
            killed.setattr(RecordIndex, "mark_changed", lambda *_: None)
            one.memory.write("The lighthouse is green.", title="Lighthouse")
        found = other.memory.find("lighthouse")
        assert ([hit.header.title for hit in found.hits], found.notes) == (["Lighthouse"], ())


def test_whoever_waits_at_one_server_is_told_of_what_happens_at_another(server: Servers) -> None:
    one, other = server("one"), server("other")
    after, told = other.changes().cursor, list[tuple[str, str]]()

    def listen() -> None:
        nonlocal after
        found = other.changes(after, timeout=20)
        told.extend((change.kind, change.event) for change in found.changes)
        after = found.cursor

    for work in (
        lambda: one.threads.prepare("hello", thread="main"),
        lambda: one._app.proposals(create=True)._store.add(FIRST),
    ):
        waiting = threading.Thread(target=listen)
        waiting.start()
        work()
        waiting.join(30)
    assert told == [("turn", "prepared"), ("proposal", "proposed")]

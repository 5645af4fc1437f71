"""Whoever follows changes is told of each once, in order, soon after it was written, whoever wrote it."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from promptuary import Principal
from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.changes import feed
from promptuary.changes.values import Change, Changes
from promptuary.database import shared
from promptuary.database.sqlite import SqliteDatabase
from promptuary.engine import Promptuary as AsyncPromptuary
from promptuary.memory.values import NoteDraft
from tests.conftest import Figure
from tests.suites.writeback import FIRST

ADA, BEN = Principal("ada"), Principal("ben")
REVIEWER = Principal("ada", agent="reviewer")
TEAM = Principal("ada", group="team")


def opened(workspace: Path, principal: Principal = ADA) -> Promptuary:
    return Promptuary.open(workspace, principal=principal, exact=True, embedder="none")


def events(changes: Changes) -> list[tuple[str, str]]:
    return [(change.kind, change.event) for change in changes.changes]


def finish_turn(promptuary: Promptuary, text: str = "hello", thread: str = "main") -> None:
    promptuary.threads.finish(promptuary.threads.prepare(text, thread=thread), "Fine.")


def test_without_a_cursor_it_begins_now(workspace: Path) -> None:
    with opened(workspace) as p:
        assert p.changes().changes == ()
        finish_turn(p)
        now = p.changes()
        assert (now.changes, now.missed) == ((), False)
        p.threads.undo()
        assert events(p.changes(now.cursor)) == [("turn", "undone")]


def test_a_turn_is_told_with_its_thread_its_number_and_who_acted(workspace: Path) -> None:
    with opened(workspace, TEAM) as p:
        after = p.changes().cursor
        turn = p.threads.prepare("hello", thread="review")
        p.threads.abandon(turn)

        told = p.changes(after).changes
        assert [(one.event, one.id, one.thread, one.number, one.actor) for one in told] == [
            ("prepared", turn.id, "review", 1, "ada"),
            ("abandoned", turn.id, "review", 1, "ada"),
        ]
        assert all(one.at.startswith("20") and one.at.endswith("Z") for one in told)
        p.threads.rename(thread="review", name="renamed")
        assert {one.thread for one in p.changes("start").changes} == {"renamed"}


def test_a_note_is_told_with_what_it_is_called_now(workspace: Path) -> None:
    with opened(workspace) as p:
        after = p.changes().cursor
        note = p.memory.write("The harbour opens at nine.", title="Harbour")
        p.memory.archive(note.header.id)
        own = p.memory.write("Prefers tea.", title="Tea", scope="user")

        told = p.changes(after).changes
        assert [(one.event, one.id, one.scope, one.title, one.actor) for one in told] == [
            ("create", note.header.id, "project", "Harbour", "ada/default"),
            ("archive", note.header.id, "project", "Harbour", "ada/default"),
            ("create", own.header.id, "user", "Tea", "ada/default"),
        ]
        assert told[2].path == own.header.path


def test_a_proposal_is_told_from_its_beginning_to_its_end(workspace: Path) -> None:
    with opened(workspace) as p:
        after = p.changes().cursor
        p._app.proposals(create=True).add(replace(FIRST, draft=NoteDraft(content="Tea.", title="Drinks")))
        p.memory.edit_proposal(FIRST.id, content="Tea, not coffee.")
        p.memory.accept(FIRST.id)

        told = p.changes(after)
        assert events(told) == [
            ("proposal", "proposed"),
            ("proposal", "edited"),
            ("note", "create"),
            ("proposal", "accepted"),
        ]
        assert {one.id for one in told.changes if one.kind == "proposal"} == {FIRST.id}


def test_what_was_forgotten_has_no_title_or_path_in_it(workspace: Path) -> None:
    with opened(workspace) as p:
        after = p.changes().cursor
        note = p.memory.write("The vault opens at nine.", title="Zanzibar vault")
        p.memory.forget(note.header.id)

        told = p.changes(after)
        assert events(told)[-1] == ("note", "forget")
        assert "anzibar" not in repr(told)
    files = [path for path in workspace.rglob("*") if path.is_file()]
    assert [path for path in files if b"anzibar" in path.read_bytes()] == []


def test_pages_of_any_size_have_every_change_once_and_each_can_be_resumed_from(workspace: Path) -> None:
    with opened(workspace) as p:
        for number in range(4):
            finish_turn(p, f"hello {number}")
            p.memory.write(f"text {number}", title=f"note {number}", audience=("shared", "private")[number % 2])
            p.memory.write(f"mine {number}", title=f"mine {number}", scope="user")
        whole = p.changes("start", limit=500).changes
        assert len(whole) == 16
        for limit in (1, 2, 5):
            paged, after = list[Change](), "start"
            while (some := p.changes(after, limit=limit)).changes:
                assert (len(some.changes) <= limit, some.missed) == (True, False)
                paged += some.changes
                after = some.cursor
            assert [one.id for one in paged] == [one.id for one in whole]
        for number, one in enumerate(whole):
            rest = p.changes(one.cursor)
            assert [(other.id, other.event) for other in rest.changes] == [
                (other.id, other.event) for other in whole[number + 1 :]
            ]
    with opened(workspace) as p:  # after a restart too
        assert p.changes(whole[7].cursor).changes == whole[8:]


def test_a_principal_is_told_of_its_own_and_of_what_is_shared_with_it(workspace: Path) -> None:
    with opened(workspace) as ada, opened(workspace, BEN) as ben, opened(workspace, REVIEWER) as reviewer:
        starts = [one.changes().cursor for one in (ada, ben, reviewer)]
        finish_turn(ada)
        hidden = ada.memory.write("private text", title="private title")
        shared = ada.memory.write("shared text", title="shared title", audience="shared")
        reviewer.memory.write("of the reviewer", title="reviewed", audience="shared")

        seen = [one.changes(start) for one, start in zip((ada, ben, reviewer), starts, strict=True)]
        assert events(seen[0]) == [("turn", "prepared"), ("turn", "finished"), ("note", "create"), ("note", "create")]
        assert [(one.id, one.title) for one in seen[1].changes] == [(shared.header.id, "shared title")]
        assert [one.title for one in seen[2].changes] == ["reviewed"]
        assert hidden.header.id not in repr(seen[1:])


def test_a_note_that_is_no_longer_shared_is_told_without_its_name(workspace: Path) -> None:
    with opened(workspace) as ada, opened(workspace, BEN) as ben:
        note = ada.memory.write("for all", title="Open", audience="shared")
        after = ben.changes().cursor
        ada.memory.write("mine", id=note.header.id, title="Secret now", audience="private")
        left = ben.changes(after)
        assert [(one.id, one.title, one.path) for one in left.changes] == [(note.header.id, "", "")]
        ada.memory.write("mine alone", id=note.header.id)
        assert ben.changes(left.cursor).changes == ()


@pytest.mark.parametrize(
    "cursor",
    [
        *("rubbish", "0", "-", "start-", "1.00000000", "9.aaaaaaaa-0.00000000-0.00000000-0.00000000"),
        *("99999999999999999999.00000000" * 4, "\udc80", "1\n", "0.00000000-" * 100),
        *("-1.00000000-0.00000000-0.00000000-0.00000000", "5.00000000-0.00000000-0.00000000-0.00000000"),
    ],
)
def test_a_cursor_that_is_not_known_is_answered_with_what_there_is(workspace: Path, cursor: str) -> None:
    with opened(workspace) as p:
        finish_turn(p)
        found = p.changes(cursor)
        assert (found.missed, events(found)) == (True, [("turn", "prepared"), ("turn", "finished")])
        again = p.changes(found.cursor)
        assert (again.missed, again.changes) == (False, ())


def test_a_cursor_of_a_database_that_was_removed_is_not_known(workspace: Path) -> None:
    with opened(workspace) as p:
        finish_turn(p)
        after = p.changes().cursor
    for path in (workspace / ".promptuary").glob("state.db*"):
        path.unlink()
    with opened(workspace) as p:
        assert p.changes(after).missed
        for number in range(3):
            finish_turn(p, f"hello {number}")
        found = p.changes(after)
        assert (found.missed, len(found.changes)) == (True, 6)


def test_who_is_too_far_behind_is_told_so_once(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CHANGES", 5)
    with opened(workspace) as p:
        finish_turn(p)
        after = p.changes().cursor
        for number in range(6):
            finish_turn(p, f"hello {number}")
        found = p.changes(after, limit=2)
        assert found.missed
        rest = p.changes(found.cursor, limit=50)
        assert (rest.missed, len(found.changes) + len(rest.changes)) == (False, 9)
        assert p.changes("start", limit=1).missed


def test_a_call_waits_for_the_first_change_of_another_process(workspace: Path) -> None:
    """The databases do not even exist when the wait begins."""
    command = [sys.executable, "-m", "promptuary"]
    asked = [
        ["remember", "The harbour opens at nine."],
        ["expand", "hello", "--thread", "main"],
        ["reply", "Fine.", "-t", "main"],
    ]
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        after, told = p.changes().cursor, list[tuple[str, str]]()
        for words in asked:
            with subprocess.Popen([*command, *words, "--workspace", str(workspace)], stdout=subprocess.DEVNULL) as run:
                found = p.changes(after, timeout=20)
                assert run.wait() == 0
            told += events(found)
            after = found.cursor
    assert told == [("note", "create"), ("turn", "prepared"), ("turn", "finished")]


def waited(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def test_a_call_waits_no_longer_than_it_may(workspace: Path) -> None:
    with opened(workspace) as p:
        finish_turn(p)
        after = p.changes().cursor
        assert waited(lambda: p.changes(after)) < 0.2
        assert 0.3 <= waited(lambda: p.changes(after, timeout=0.3)) < 2
        assert waited(lambda: p.changes(after, timeout=float("nan"))) < 0.2


def test_closing_ends_a_call_that_waits(workspace: Path) -> None:
    async def close_while_waiting() -> None:
        p = AsyncPromptuary.open(workspace, exact=True, embedder="none")
        await p.threads.prepare("hello")
        waiting = asyncio.create_task(p.changes(timeout=60))
        await asyncio.sleep(0.3)
        await p.close()
        with pytest.raises(PromptuaryError, match="closed"):
            await asyncio.wait_for(waiting, 2)

    asyncio.run(close_while_waiting())


def test_many_wait_with_few_threads_and_only_those_whom_it_is_for_are_woken(
    workspace: Path, figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, before = figure(200, 1000), threading.active_count()
    reads: list[str] = []
    versions: list[int] = []
    read, version = feed.Feed._read, SqliteDatabase.version

    def counted_read(own: feed.Feed, after: str, limit: int) -> Any:
        reads.append(own._owner.name)
        return read(own, after, limit)

    def counted_version(own: SqliteDatabase) -> int:
        versions.append(version(own))
        return versions[-1]

    monkeypatch.setattr(feed.Feed, "_read", counted_read)
    monkeypatch.setattr(SqliteDatabase, "version", counted_version)

    async def many() -> None:
        async with AsyncPromptuary.open(workspace, exact=True, embedder="none") as root:
            await root.threads.prepare("hello")
            others = [await root.acting_as(Principal(f"user {number}")) for number in range(count)]
            waiting = [asyncio.create_task(one.changes(timeout=60)) for one in others]
            while len(reads) < count or not versions:  # noqa: ASYNC110  (they count in other threads)
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)
            assert sum(thread.name == "promptuary-changes" for thread in threading.enumerate()) == 1
            assert threading.active_count() - before < 60
            versions.clear()
            began = time.monotonic()
            await asyncio.sleep(1)
            assert len(versions) <= 11 * (time.monotonic() - began)  # one database is asked, ten times a second

            reads.clear()
            await others[7].threads.prepare("hello")
            (told,) = (await waiting[7]).changes
            assert (told.event, told.actor) == ("prepared", "user 7")
            assert (sum(task.done() for task in waiting), set(reads)) == (1, {"user 7"})

            began = time.monotonic()
            await root.memory.write("for all", title="Open", audience="shared")
            woken = await asyncio.gather(*waiting)
            assert {change.title for found in woken for change in found.changes if change.kind == "note"} == {"Open"}
            print(f"{count} who waited were told within {time.monotonic() - began:.2f} s")

    asyncio.run(many())


def test_no_change_of_many_writers_is_lost_told_twice_or_late(workspace: Path, figure: Figure) -> None:
    """A change that is committed later never gets a place before one that was told."""
    each, after, told = figure(15, 300), "", list[str]()
    with opened(workspace) as p:
        finish_turn(p)
        after = p.changes().cursor

        def write(thread: str) -> None:
            for _ in range(each):
                finish_turn(p, thread=thread)

        writers = [threading.Thread(target=write, args=[f"t{number}"]) for number in range(4)]
        for writer in writers:
            writer.start()
        while len(told) < 4 * 2 * each:
            found = p.changes(after, limit=7, timeout=20)
            assert found.changes
            told += [f"{one.thread} {one.number} {one.event}" for one in found.changes]
            after = found.cursor
        for writer in writers:
            writer.join()
        assert p.changes(after).changes == ()
    every = [
        f"t{name} {turn} {event}"
        for name in range(4)
        for turn in range(1, each + 1)
        for event in ("prepared", "finished")
    ]
    assert sorted(told) == sorted(every)
    for name in range(4):
        own = [line for line in told if line.startswith(f"t{name} ")]
        assert own == [line for line in every if line.startswith(f"t{name} ")]

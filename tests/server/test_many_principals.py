"""Many principals in one process: few are open, none holds up another, and their few notes need no files."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.errors import ConfigError
from promptuary.blocking import Promptuary
from promptuary.engine import Promptuary as AsyncPromptuary
from promptuary.memory.store.files import NoteFiles
from promptuary.search import indexes
from promptuary.server.tokens import Token
from promptuary.server.workspaces import Workspaces
from promptuary.workspace.access import WHOLE
from promptuary.workspace_cache import WorkspaceCache
from tests.waiting import wait_until

ADA, BEN = Principal("ada"), Principal("ben")
QUERIES = ("painted door", "door of the house", "who has the kye of the cellar", "nothing like it")


@pytest.fixture
def base(workspace: Path) -> Iterator[Promptuary]:
    with Promptuary.open(workspace, exact=True, embedder="none") as opened:
        yield opened


def index_folders(workspace: Path) -> list[str]:
    return [path.name for path in (workspace / ".promptuary" / "index").glob("*-*")]


def write_notes(p: Promptuary, count: int = 3) -> None:
    for number in range(count):
        p.memory.write(f"The door of house {number} is painted. Room {number} has the key of the cellar.")


def test_the_few_notes_and_experiences_of_a_principal_are_found_without_an_index_on_disk(
    base: Promptuary, workspace: Path
) -> None:
    with base.acting_as(ADA) as p:
        write_notes(p)
        p.experiences.add("task_solution", "repair the painted door")
        assert len(p.memory.find("painted door").hits) == 3
        assert len(p.experiences.find_similar("repair a door").hits) == 1

    with base.acting_as(ADA) as p:
        assert len(p.memory.find("painted door").hits) == 3

    assert index_folders(workspace) == []


def test_an_index_in_memory_finds_the_same_as_one_on_disk(base: Promptuary, workspace: Path) -> None:
    with base.acting_as(ADA) as p:
        for number in range(1, 4):  # no two with the same score: the order of those is that in which they were indexed
            p.memory.write(f"The door of house {number} is painted. {'The cellar has a key and a lamp. ' * number}")
        in_memory = [p.memory.find(query) for query in QUERIES]
    with Promptuary.open(workspace, exact=True, embedder="none", principal=ADA) as p:
        on_disk = [p.memory.find(query) for query in QUERIES]
    assert len(index_folders(workspace)) == 1
    assert in_memory == on_disk


def test_more_notes_than_memory_is_for_are_indexed_on_disk(
    base: Promptuary, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "MOST_IN_MEMORY", 3)
    with base.acting_as(ADA) as p:
        write_notes(p, 3)
        assert len(p.memory.find("painted door").hits) == 3
        assert index_folders(workspace) == []
        p.memory.write("The door of the shed is painted.")
        assert len(p.memory.find("painted door").hits) == 4
    assert len(index_folders(workspace)) == 1


def test_a_note_of_another_process_is_found_and_one_that_it_removed_is_not(base: Promptuary, workspace: Path) -> None:
    with base.acting_as(ADA) as p:
        write_notes(p)
        assert len(p.memory.find("painted door").hits) == 3
        with Promptuary.open(workspace, exact=True, embedder="none", principal=ADA) as other:
            written = other.memory.write("The door of the shed is painted.")
            assert len(p.memory.find("painted door").hits) == 4
            other.memory.archive(written.header.id)
            assert len(p.memory.find("painted door").hits) == 3


def held_texts() -> str:
    """Return every text in an index in memory."""
    every = list(indexes._in_memory)
    places = [(index, folder, path) for index in every for folder, _ in index.folders() for path in index.files(folder)]
    return " ".join(index.content(folder, path)[0] for index, folder, path in places)


def test_a_forgotten_note_is_gone_from_every_index_in_memory(base: Promptuary) -> None:
    with base.acting_as(ADA) as ada, base.acting_as(BEN) as ben, base.acting_as(ADA) as again:
        written = ada.memory.write("The word Qx7Secret opens the vault.", audience="shared")
        for p in (ada, ben, again):
            assert len(p.memory.find("Qx7Secret").hits) == 1
        assert "Qx7Secret" in held_texts()
        ada.memory.forget(written.header.id)
        assert "Qx7Secret" not in held_texts()
        for p in (ada, ben, again):
            assert p.memory.find("Qx7Secret").hits == []


def test_what_a_principal_in_memory_forgets_is_gone_from_an_index_that_another_process_made(
    base: Promptuary, workspace: Path
) -> None:
    with base.acting_as(ADA) as p:
        note = p.memory.write("The word Qx7Secret opens the vault.")
        experience = p.experiences.add("task_solution", "open the vault with Qx7Secret")
        assert len(p.memory.find("Qx7Secret").hits) == len(p.experiences.find_similar("vault Qx7Secret").hits) == 1
        with Promptuary.open(workspace, exact=True, embedder="none", principal=ADA) as other:
            assert len(other.memory.find("Qx7Secret").hits) == 1
            assert len(other.experiences.find_similar("vault Qx7Secret").hits) == 1
        assert len(index_folders(workspace)) == 2
        p.memory.forget(note.header.id)
        p.experiences.forget(experience.id)
    index = workspace / ".promptuary" / "index"
    assert not any(b"Qx7Secret" in path.read_bytes() for path in index.rglob("*") if path.is_file())


def token(number: int) -> Token:
    return Token("", "test", Principal(f"user{number}"))


def test_their_common_folder_is_scanned_for_all_of_them_and_edits_by_hand_are_seen_by_whom_they_concern(
    base: Promptuary, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[str] = []
    listed = NoteFiles.list

    def counted(own: NoteFiles) -> object:
        scans.append("")
        return listed(own)

    for number in range(10):
        with base.acting_as(Principal(f"user {number}")) as p:
            p.memory.write("The door is blue.", title=f"Door {number}")
    monkeypatch.setattr(NoteFiles, "list", counted)
    began = time.monotonic()
    for number in range(10):
        with base.acting_as(Principal(f"user {number}")) as p:
            assert [header.title for header in p.memory.list()] == [f"Door {number}"]
    assert len(scans) <= 1 + (time.monotonic() - began)

    with base.acting_as(Principal("user 9")) as p:
        note = p.memory.list().headers[0]
    (file,) = workspace.rglob(f"*{note.id}.md")
    file.write_text(file.read_text().replace("blue", "red"))
    with base.acting_as(Principal("user 9")) as p:

        def is_seen() -> bool:
            p.memory.list()
            found = p.memory.get(note.id)
            return found is not None and "red" in found.body and p.memory.history(note.id)[-1].kind == "edit"

        wait_until(is_seen, seconds=10)


def test_those_used_last_stay_open_and_those_in_use_always_do(workspace: Path) -> None:
    async def scenario() -> None:
        workspaces = Workspaces({"app": workspace}, {"embedder": "none"}, most_idle=2)
        async with workspaces.of(token(0), "app") as used:
            first = []
            for number in range(1, 6):
                async with workspaces.of(token(number), "app") as p:
                    first.append(p)
            assert len(workspaces) == 3
            async with workspaces.of(token(5), "app") as p:
                assert p is first[4]
            async with workspaces.of(token(1), "app") as p:
                assert p is not first[0]
            assert (await used.memory.find("anything")).hits == []
        await workspaces.close()
        assert len(workspaces) == 0

    asyncio.run(scenario())


def test_one_that_opens_slowly_is_opened_once_and_holds_up_nobody_else(workspace: Path) -> None:
    async def scenario() -> None:
        cache, may_open, opened = WorkspaceCache(), threading.Event(), list[str]()

        async def use(name: str, principal: Principal) -> None:
            def open_whole() -> AsyncPromptuary:
                opened.append(name)
                if name == "slow":
                    may_open.wait()
                return AsyncPromptuary.open(workspace, exact=True, embedder="none")

            async with cache.acting_as(principal, WHOLE, name, lambda: cache.whole(name, open_whole)):
                pass

        slow = [asyncio.ensure_future(use("slow", principal)) for principal in (ADA, ADA, BEN)]
        await asyncio.wait_for(use("quick", ADA), 30)
        assert not any(one.done() for one in slow)
        may_open.set()
        await asyncio.gather(*slow)
        assert sorted(opened) == ["quick", "slow"]
        await cache.close()

    asyncio.run(scenario())


def test_one_that_could_not_be_opened_is_tried_again(workspace: Path) -> None:
    async def scenario() -> None:
        missing = workspace / "later"
        workspaces = Workspaces({"app": missing}, {"embedder": "none"})
        with pytest.raises(ConfigError):
            async with workspaces.of(token(0), "app"):
                pass
        assert len(workspaces) == 0
        missing.mkdir()
        async with workspaces.of(token(0), "app") as p:
            assert p.path == missing
        await workspaces.close()

    asyncio.run(scenario())


def test_two_hundred_requests_at_once_need_no_two_hundred_threads(workspace: Path) -> None:
    async def scenario() -> None:
        (workspace / "a.txt").write_text("text\n")
        workspaces, before = Workspaces({"app": workspace}, {"embedder": "none"}), threading.active_count()
        most = 0

        async def ask(number: int) -> None:
            nonlocal most
            async with workspaces.of(token(number), "app") as p:
                assert not (await p.expand("@a.txt")).incomplete
                await p.memory.find("anything")
                most = max(most, threading.active_count() - before)

        await asyncio.gather(*(ask(number) for number in range(200)))
        await workspaces.close()
        assert most < 100

    asyncio.run(scenario())

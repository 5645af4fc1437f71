"""On a server, the notes that follow a user are that user's: never those of the person who runs it."""

import asyncio
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.server.tokens import Token
from promptuary.server.workspaces import Workspaces
from promptuary.workspace.user_folders import notes_folder, state_folder

OWN, SERVED = "The vault code is Qx7Own.", "The badge code is Zk4Served."


def opened(workspace: Path, principal: Principal = LOCAL, *, served: bool = True) -> Promptuary:
    return Promptuary.open(workspace, exact=True, embedder="none", principal=principal, served=served)


def texts(p: Promptuary) -> list[str]:
    """Return what a principal finds in every way: lists, search, recall, references, menus."""
    listed = [repr(p.memory.get(header.id)) for header in p.memory.list()]
    hits = [repr(hit) for hit in p.memory.find("vault badge code").hits]
    turn = p.threads.preview("What is the code of the vault and of the badge? @memory:code")
    return [*listed, *hits, repr(turn), repr(p.complete("@memory:").items)]


def files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.mark.parametrize("principal", [LOCAL, Principal("alice"), Principal(agent="coder")])
def test_a_served_principal_neither_reads_nor_writes_the_notes_of_the_person_who_serves(
    workspace: Path, principal: Principal
) -> None:
    with opened(workspace, served=False) as p:
        p.memory.write(OWN, title="vault", scope="user")
        assert any("Qx7Own" in text for text in texts(p))
    before = files(notes_folder())

    with opened(workspace) as base, base.acting_as(principal) as p:
        assert not any("Qx7Own" in text for text in texts(p))
        p.memory.write(SERVED, title="badge", scope="user")
        assert any("Zk4Served" in text for text in texts(p))
        assert not any("Qx7Own" in text for text in texts(p))

    assert files(notes_folder()) == before
    assert b"Zk4Served" in files(state_folder() / "people")
    with opened(workspace, principal, served=False) as p:
        assert not any("Zk4Served" in text for text in texts(p))


def test_two_served_users_have_folders_of_their_own_and_theirs_follow_them(workspace: Path, tmp_path: Path) -> None:
    with opened(workspace) as base:
        with base.acting_as(Principal("alice")) as p:
            p.memory.write(SERVED, title="badge", scope="user")
        with base.acting_as(Principal("bob")) as p:
            assert not any("Zk4Served" in text for text in texts(p))

    (other := tmp_path / "other").mkdir()
    with opened(other, Principal("alice")) as p:
        assert any("Zk4Served" in text for text in texts(p))
    (folder,) = (state_folder() / "people").iterdir()
    assert "alice" not in folder.name
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("user", ["../../other", "a/b", "..", "x" * 200])
def test_the_name_of_a_user_does_not_choose_a_path(workspace: Path, user: str) -> None:
    with opened(workspace, Principal(user)) as p:
        p.memory.write(SERVED, title="badge", scope="user")

    (folder,) = (state_folder() / "people").iterdir()
    assert len(folder.name) == 32
    assert b"Zk4Served" in files(folder)


def test_a_server_opens_its_workspaces_as_served(workspace: Path) -> None:
    with opened(workspace, served=False) as p:
        p.memory.write(OWN, title="vault", scope="user")

    async def found() -> int:
        workspaces = Workspaces({"app": workspace}, {"embedder": "none"})
        async with workspaces.of(Token("", "test"), "app") as p:
            count = len((await p.memory.find("vault code")).hits)
        await workspaces.close()
        return count

    assert asyncio.run(found()) == 0

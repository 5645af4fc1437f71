"""People who are not trusted with everything read what they may refer to, and learn nothing of anything else."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary import Access, Message, Principal
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.blocking import Promptuary
from promptuary.engine import Promptuary as AsyncPromptuary
from promptuary.workspace.access import OPEN_KINDS, REMOTE_KINDS
from tests.conftest import Files, git

GUEST = Principal(user="guest")

SECRET = "the word is swordfish"

PATHS = ["b.py", "src/secret.py", ".env", "keys/id_rsa", "docs/.env", "big.md", "link.md", "docs/out.md", ".git/config"]
"""What is there and may not be read by somebody who may read ``docs``."""


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    outside = repository.parent / "outside.md"
    outside.write_text(SECRET)
    root = files({name: SECRET for name in PATHS if name not in {"link.md", "docs/out.md", ".git/config"}})
    files({"docs/a.md": "What may be read.\n", "docs/sub/b.md": "And this.\n", "big.md": SECRET * 200_000})
    (root / "link.md").symlink_to(outside)
    (root / "docs" / "out.md").symlink_to("../b.py")
    git(root, "add", "docs/a.md")
    git(root, "commit", "-qm", "Begin")
    return root


@pytest.fixture
def guest(project: Path) -> Iterator[Promptuary]:
    with (
        Promptuary.open(project, exact=True, embedder="none", allow_sensitive=[".env"]) as owner,
        owner.acting_as(GUEST, access=Access.limited(REMOTE_KINDS, ("docs",))) as one,
    ):
        yield one


def said(one: Promptuary, text: str) -> tuple[str, list[tuple[str, Code | None, str | None, int]], tuple[str, ...]]:
    """Return all that anybody is told about a message, with the reference that it has left out."""
    if text.startswith("@"):
        expansion = one.expand(text)
        messages: Sequence[Message] = expansion.messages
    else:
        turn = one.threads.prepare(text, thread="t")
        one.threads.abandon(turn)
        one.threads.detach_all(thread="t")
        expansion, messages = turn.expansion, turn.messages
    told = "\n".join(message["content"] for message in messages)
    return told, [(o.status, o.code, o.reason, o.tokens) for o in expansion.outcomes], expansion.warnings


SPELLINGS = ["@file:{}", "@{}", "#{}", "@file:{}:1", '@file:"{}"', "@folder:{}", "@glob:{}", "@symbol:{}#main", "@./{}"]


def test_what_is_refused_and_what_is_absent_get_the_same_words(guest: Promptuary) -> None:
    for spelling, path in product(SPELLINGS, PATHS):
        folder, _, name = path.rpartition("/")
        other = f".q{name[2:]}" if name.startswith(".") else f"q{name[1:]}"
        absent = f"{folder}/{other}" if folder else other

        assert words(guest, spelling, path) == words(guest, spelling, absent), (spelling, path)


def words(one: Promptuary, spelling: str, path: str) -> str:
    """Return all that is said about a message, with the path in it left out, and the slug that is made of it."""
    told = str(said(one, spelling.format(path)))
    assert SECRET not in told
    return re.sub(r"\{#[^}]*\}", "", told).replace(path, "PATH")


def test_what_may_be_read_is_read(guest: Promptuary) -> None:
    for text in ("@docs/a.md", "@file:docs/a.md", "@glob:docs/*.md", "@folder:docs", "#docs/a.md"):
        content, outcomes, _ = said(guest, text)

        assert "may be read" in content or "a.md" in content
        assert all(code is None for _, code, _, _ in outcomes)


def test_a_listing_names_nothing_else(guest: Promptuary) -> None:
    for text in ("@folder:.", "@glob:**/*", "@glob:*"):
        content, _, warnings = said(guest, text)

        assert not any(path in content + str(warnings) for path in ("b.py", "secret", "big.md", "id_rsa"))
    assert all(path.startswith("docs/") for path in guest.find_files("a", limit=50))
    assert guest.find_files("secret") == []


def test_a_part_of_a_workspace_has_no_history_and_the_whole_has(project: Path) -> None:
    with Promptuary.open(project, exact=True, embedder="none") as owner:
        with owner.acting_as(GUEST, access=Access.limited(REMOTE_KINDS, ("docs",))) as part:
            for text in ("@diff", "@git:1", "@commit:HEAD", "@status", "@staged"):
                assert [code for _, code, _, _ in said(part, text)[1]] == [Code.NOT_AVAILABLE]
        with owner.acting_as(GUEST, access=Access.limited(REMOTE_KINDS, ("",))) as whole:
            assert "What may be read" in said(whole, "@git:1")[0]


def test_nothing_of_the_machine_is_reached(guest: Promptuary, project: Path) -> None:
    for text in (
        "@clipboard",
        "@file:/etc/passwd",
        "@file:~/.bashrc",
        f"@file:{project}/docs/a.md",
        f"@{project}/docs/a.md",
    ):
        content, outcomes, _ = said(guest, text)

        assert {code for _, code, _, _ in outcomes} <= {Code.NOT_AVAILABLE}
        assert "may be read" not in content
    with pytest.raises(SourceError) as refused:
        guest.threads.attach("@clipboard")
    assert refused.value.code is Code.NOT_AVAILABLE


def test_a_search_finds_what_may_be_read(project: Path) -> None:
    with Promptuary.open(project, exact=True, embedder="none") as owner:
        owner.search.index(["."])
        assert {one.path.rpartition("/")[2] for one in owner.search.find("swordfish").hits} >= {"b.py"}
        with owner.acting_as(GUEST, access=Access.limited(REMOTE_KINDS, ("docs",))) as guest:
            assert guest.search.find("swordfish").hits == []
            assert [one.path.rpartition("/")[2] for one in guest.search.find("read").hits] == ["a.md"]
            assert SECRET not in str(guest.threads.prepare("Which word is swordfish? @search:swordfish").messages)
        with owner.acting_as(GUEST, access=Access.limited()) as nobody:
            assert nobody.search.find("read").hits == ()


def test_a_session_of_people_who_see_a_part_finds_what_is_in_both(project: Path) -> None:
    with Promptuary.open(project, exact=True, embedder="none") as owner:
        owner.search.index(["."])
        with owner.acting_as(GUEST, access=Access.limited(REMOTE_KINDS, ("docs", "src"))) as guest:
            guest.sessions.create("s", roots=["docs/sub"])
            told, _, _ = said(guest, "@search:read")
            content = str(guest.threads.prepare("@search:this", thread="s").messages)

    assert "What may be read" in told
    assert "And this" in content
    assert "What may be read" not in content
    assert SECRET not in told + content


def test_without_folders_there_are_pages_and_notes_alone(project: Path) -> None:
    with (
        Promptuary.open(project, exact=True, embedder="none") as owner,
        owner.acting_as(GUEST, access=Access.limited()) as one,
    ):
        assert Access.limited().kinds == OPEN_KINDS
        assert [code for _, code, _, _ in said(one, "@file:docs/a.md @diff @folder:.")[1]] == [Code.NOT_AVAILABLE] * 3
        assert one.threads.prepare("@remember:'we meet at noon'").expansion.outcomes[0].status == "included"
        assert [note.id for note in one.memory.list().headers] != []


def test_what_the_person_allows_themselves_is_not_for_others(project: Path) -> None:
    own = project.parent / "own.md"
    own.write_text(SECRET)
    layers = {"own": {"file": str(own)}}
    with Promptuary.open(
        project, exact=True, embedder="none", allow_sensitive=[".env"], static_layers=layers, allow_hosts=["127.0.0.1"]
    ) as owner:
        assert SECRET in str(owner.threads.prepare("@file:.env").messages)
        with owner.acting_as(GUEST, access=Access.limited(REMOTE_KINDS, ("",))) as guest:
            assert SECRET not in str(guest.threads.prepare("@file:.env @url:http://127.0.0.1:9/").messages)


def test_principals_that_share_an_open_workspace_are_apart(project: Path) -> None:
    async def run() -> None:
        async with AsyncPromptuary.open(project, exact=True, embedder="none") as owner:
            ada, bob = [await owner.acting_as(Principal(user=name)) for name in ("ada", "bob")]
            turn = await ada.threads.prepare("Hello")
            await ada.threads.finish(turn, "Hello, Ada.")
            await ada.memory.remember("I like tea.")
            assert [item.content for item in await ada.threads.history()] == ["Hello", "Hello, Ada."]
            assert not await bob.threads.history()
            assert not (await bob.memory.find("tea")).hits
            await ada.close()
            assert (await bob.threads.prepare("Hi")).number == 1  # what is shared is still open; bob ends with it

    asyncio.run(run())


@pytest.mark.parametrize("folder", ["/etc", "..", "a/../b", "docs/", "./docs", "a//b"])
def test_a_folder_in_another_than_its_plain_form_is_refused(folder: str) -> None:
    with pytest.raises(ConfigError):
        Access.limited(REMOTE_KINDS, (folder,))


def test_the_clipboard_cannot_be_allowed() -> None:
    with pytest.raises(ConfigError, match="clipboard"):
        Access.limited(frozenset({"clipboard"}))


@given(
    st.lists(st.sampled_from(["a", "b", "a/b", "b/c/d", ""]), max_size=3), st.lists(st.sampled_from("abcd"), max_size=4)
)
def test_a_covered_path_is_below_a_folder_and_so_are_its_children(folders: list[str], names: list[str]) -> None:
    access, path = Access.limited(REMOTE_KINDS, tuple(folders)), "/".join(names)
    below = any(path == one or not one or path.startswith(f"{one}/") for one in folders)

    assert access.covers(path) == below
    assert access.leads_to(path) or not below
    assert not below or access.covers(f"{path}/x".lstrip("/"))

"""A file or a page is taken out of the ledger: its content is in no stored prompt, and a mark says that it was."""

from contextlib import closing
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.errors import PromptuaryError, SourceError
from promptuary.blocking import Promptuary
from promptuary.testing.loopback import Loopback, answer, redirect
from tests.conftest import Files
from tests.stores import state_in, texts_in

SECRET = "launch code 4711"
MARK = "[forgotten: file:src/app.py]"


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": f"{SECRET}\n", "src/app.pyi": "a neighbour\n", "AGENTS.md": "Be kind, always.\n"})


def opened(path: Path, user: str = "ada") -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", principal=Principal(user))


def open_to(server: Loopback, path: Path) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", allow_hosts=[f"{server.host}:{server.port}"])


def ask(promptuary: Promptuary, text: str, thread: str = "main") -> None:
    promptuary.threads.finish(promptuary.threads.prepare(text, thread=thread), "Done.")


def stored(project: Path) -> str:
    """Return every byte below the folder of the workspace, and every text of its database as it was before packing."""
    files = [one.read_bytes() for one in (project / ".promptuary").rglob("*") if one.is_file()]
    with closing(state_in(project)) as state:
        return b"".join(files).decode("latin-1") + texts_in(state.database)


def test_no_byte_of_a_file_that_is_forgotten_is_left_and_each_turn_says_so(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.threads.attach("src/app.py", thread="view")
        ask(promptuary, "Look at @file:src/app.py:1 and @src/app.pyi")
        ask(promptuary, "And then?")
        ask(promptuary, "What is in view?", thread="view")
        promptuary.threads.prepare("Never answered: @src/app.py", thread="pending")
        (project / "src/app.py").unlink()
        assert SECRET in stored(project)
        found = promptuary.threads.forget("src/app.py")

        assert {(row.thread, row.number) for row in found.rows} == {
            ("main", 1),
            ("main", 2),
            ("view", 1),
            ("pending", 1),
        }
        for thread, number in (("main", 1), ("main", 2), ("view", 1), ("pending", 1)):
            replay = promptuary.threads.replay(thread=thread, number=number)
            assert list(replay.forgotten) == ["file:src/app.py"]
            assert SECRET not in str(replay.turn)
            assert MARK in str(replay.turn.messages)
        assert "a neighbour" in str(promptuary.threads.replay(number=1).turn.messages)
        assert SECRET not in str(promptuary.threads.prepare("Once more.").messages)
        assert SECRET not in str(promptuary.threads.history(everything=True))
        assert {row.revision for row in promptuary.threads.audit("src/app.py").rows} == {""}
    with opened(project) as promptuary:
        assert MARK in str(promptuary.threads.prepare("Once more.").messages)
        assert promptuary.examine().is_well
    assert SECRET not in stored(project)


def test_what_compaction_left_of_a_file_is_forgotten_too(project: Path) -> None:
    (project / "long.md").write_text("".join(f"{SECRET}, line {number}\n\n" for number in range(150)))
    with Promptuary.open(project, exact=True, embedder="none", window=6_000, reply_reserve=500) as promptuary:
        for number in range(4):
            ask(promptuary, f"Look, {number}: @long.md")
        assert any(item.stands_for for item in promptuary.threads.history())
        (project / "long.md").unlink()
        assert SECRET in stored(project)
        promptuary.threads.forget("long.md")

        assert SECRET not in str(promptuary.threads.history(everything=True))
        assert SECRET not in str([one.messages for one in promptuary.threads.turns()])
    assert SECRET not in stored(project)


def test_an_instruction_file_is_forgotten_too(project: Path) -> None:
    with opened(project) as promptuary:
        ask(promptuary, "Hello")
        promptuary.threads.forget("AGENTS.md")

        assert "Be kind" not in str(promptuary.threads.replay(number=1).turn)


def test_what_somebody_else_was_shown_stays(project: Path) -> None:
    with opened(project, "eve") as eve:
        ask(eve, "Look at @src/app.py")
    with opened(project) as promptuary:
        ask(promptuary, "Look at @src/app.py")
        promptuary.threads.forget("src/app.py")
    with opened(project, "eve") as eve:
        replay = eve.threads.replay(number=1)

        assert SECRET in str(replay.turn.messages)
        assert (list(replay.forgotten), list(replay.drift)) == ([], [])
        assert SECRET in str(eve.threads.prepare("And?").messages)


def test_a_dry_run_names_the_turns_and_changes_nothing(project: Path) -> None:
    with opened(project) as promptuary:
        ask(promptuary, "Look at @src/app.py")
        assert len(promptuary.threads.forget("src/app.py", dry_run=True).rows) == 1

        assert SECRET in str(promptuary.threads.replay(number=1).turn.messages)


def test_what_was_in_no_prompt_or_is_no_file_is_refused(project: Path) -> None:
    with opened(project) as promptuary:
        ask(promptuary, "Look at @folder:src")
        with pytest.raises(SourceError, match="in no prompt"):
            promptuary.threads.forget("src/app.py")
        with pytest.raises(PromptuaryError, match="not a file"):
            promptuary.threads.forget("folder:src")


@pytest.mark.parametrize("typed", ["{page}", "@url:{page}", "{page}#heading", "{bare}"])
def test_no_byte_of_a_page_that_is_forgotten_is_left(project: Path, typed: str) -> None:
    page = f"<h1>Codes</h1><p>{SECRET}</p>"
    with Loopback({"/a": answer(page), "/other": answer("<p>a neighbour</p>")}) as server:
        urls = {"page": server.url("/a"), "bare": server.url("/a").removeprefix("http://")}
        with open_to(server, project) as promptuary:
            ask(promptuary, f"See @url:{urls['page']} and @url:{server.url('/other')}")
            ask(promptuary, "And then?")
            assert SECRET in stored(project)
            found = promptuary.threads.forget(typed.format_map(urls))

            assert found.sources == (f"url:{urls['page']}",)
            replays = [promptuary.threads.replay(number=number) for number in (1, 2)]
            assert [list(one.forgotten) for one in replays] == [[f"url:{urls['page']}"]] * 2
            assert all("a neighbour" in str(one.turn.messages) for one in replays)
            assert SECRET not in stored(project)
            assert promptuary.threads.audit(urls["page"]).rows[0].revision == ""


def test_a_page_that_had_moved_is_forgotten_too(project: Path) -> None:
    with Loopback({"/a": redirect("/b"), "/b": answer(f"<p>{SECRET}</p>")}) as server, open_to(server, project) as p:
        ask(p, f"See @url:{server.url('/a')}")
        p.threads.forget(server.url("/b"))

        assert SECRET not in stored(project)
        assert list(p.threads.replay(number=1).forgotten) == [f"url:{server.url('/b')}"]


def test_a_page_that_says_it_came_from_another_keeps_its_block(project: Path) -> None:
    with Loopback({"/a": answer(f"<p>{SECRET}</p>")}) as server, open_to(server, project) as promptuary:
        server.routes["/b"] = answer(f"stays\n\nFrom: {server.url('/a')}\n", "text/plain")
        ask(promptuary, f"See @url:{server.url('/a')} and @url:{server.url('/b')}")
        promptuary.threads.forget(server.url("/a"))

        assert SECRET not in stored(project)
        assert "stays" in str(promptuary.threads.replay(number=1).turn.messages)


def test_a_turn_that_waits_for_its_answer_does_not_attach_what_was_forgotten_meanwhile(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("Look at @src/app.py and @src/app.pyi")
        assert [one.source for one in turn.expansion.attachments] == ["file:src/app.py", "file:src/app.pyi"]
    with opened(project) as promptuary:
        promptuary.threads.forget("src/app.py")
        waiting = promptuary.threads.pending()
        assert waiting is not None
        assert [one.source for one in waiting.expansion.attachments] == ["file:src/app.pyi"]
        promptuary.threads.finish(waiting, "Done.")
        assert [one.source for one in promptuary.threads.history()[0].attachments] == ["file:src/app.pyi"]

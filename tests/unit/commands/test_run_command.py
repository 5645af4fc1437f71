"""Slash commands over a real workspace: what each does, and the text that people read."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.commands import results
from promptuary.commands.registry import COMMANDS, FROM_AFAR
from promptuary.commands.results import CommandResult
from promptuary.commands.run import run_command
from promptuary.engine import Promptuary
from promptuary.memory.writeback import notes
from promptuary.present.plain_text import plain_text
from promptuary.threads.values import UndoneTurn
from tests.conftest import Files

Result = TypeVar("Result")
ESCAPE = "\x1b]0;owned\x07"


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "def main() -> int:\n    return 1\n", "docs/style.md": "# Style\n\nBe brief.\n"})


def within(path: Path, work: Callable[[Promptuary], Coroutine[Any, Any, Result]], **options: Any) -> Result:
    async def run() -> Result:
        async with Promptuary.open(path, exact=True, window=8_000, **options) as p:
            return await work(p)

    return asyncio.run(run())


async def said(p: Promptuary, line: str, **options: Any) -> str:
    return plain_text(await run_command(p, line, **options))


async def exchange(p: Promptuary, text: str, reply: str, thread: str = "main") -> None:
    await p.threads.finish(await p.threads.prepare(text, thread=thread), reply)


def test_files_are_kept_in_view_pinned_and_taken_out_again(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        lines = ["/context add src/app.py docs/style.md", "/context pin docs/style.md", "/context drop src/app.py"]
        return [await said(p, line) for line in (*lines, "/context clear")]

    added, pinned, dropped, cleared = within(project, work)

    assert "src/app.py" in added
    assert "docs/style.md" in added
    assert "docs/style.md (pinned)" in pinned
    assert "src/app.py" not in dropped
    assert cleared.startswith("nothing is kept in view of main: /context add PATH")


def test_a_file_that_is_refused_keeps_none_of_the_others_out(project: Path) -> None:
    result = within(project, lambda p: run_command(p, "/context add nothing.py src/app.py"))

    assert isinstance(result, results.ContextShown)
    assert [file.path for file in result.attached.tracked] == ["src/app.py"]
    assert len(result.refused) == 1
    assert "nothing.py" in plain_text(result)


def test_a_reference_is_queued_for_the_next_message(project: Path) -> None:
    result = within(project, lambda p: run_command(p, "/context add @glob:src/*.py"))

    assert isinstance(result, results.ContextShown)
    assert list(result.attached.queued) == ["@glob:src/*.py"]


def test_the_costs_of_everything_in_view_add_up(project: Path) -> None:
    async def work(p: Promptuary) -> tuple[CommandResult, str]:
        await exchange(p, "Look at #src/app.py", "I did.")
        result = await run_command(p, "/context tokens")
        return result, plain_text(result)

    result, text = within(project, work)

    assert isinstance(result, results.ContextShown)
    total = result.stats.tokens + sum(file.tokens for file in result.attached.tracked)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("total")] == [f"{total:,}"]
    assert "history" in text


def test_files_are_found_by_a_part_of_their_names(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        return [await said(p, line) for line in ("/find app", "/context find sty", "/find qqqq")]

    app, style, nothing = within(project, work)

    assert app.splitlines()[0] == "src/app.py"
    assert style.splitlines()[0] == "docs/style.md"
    assert nothing == "no file of this workspace matches qqqq"


def test_a_note_is_written_found_shown_archived_and_forgotten(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        written = await run_command(p, "/memory write We deploy on Tuesdays.")
        assert isinstance(written, results.NotesChanged)
        note = written.headers[0].id
        lines = [
            "/memory",
            "/memory search when do we deploy",
            f"/memory show {note}",
            f"/memory history {note}",
            f"/memory archive {note}",
            f"/memory restore {note}",
            f"/memory forget {note}",
            f"/memory show {note}",
            f"/memory forget {note} yes",
            f"/memory show {note}",
            "/memory list",
        ]
        return [await said(p, line) for line in lines]

    listed, found, shown, history, archived, restored, asked, still, gone, missing, empty = within(project, work)

    assert "We deploy on Tuesdays" in listed
    assert "We deploy on Tuesdays" in found
    assert shown.endswith("We deploy on Tuesdays.")
    assert history.startswith("1. 20")
    assert archived.startswith("archived: ")
    assert restored.startswith("brought back: ")
    assert "would be forgotten" in asked
    assert "cannot be undone" in asked
    assert still.endswith("We deploy on Tuesdays.")
    assert "is forgotten" in gone
    assert "there is no note" in missing
    assert empty.startswith("nothing is remembered yet")


@pytest.mark.parametrize("word", ["no", "y", "please", "yes yes", "note-0123456789ab"])
def test_a_note_is_forgotten_after_no_other_word_than_yes(project: Path, word: str) -> None:
    async def work(p: Promptuary) -> tuple[CommandResult, bool]:
        note = await p.memory.write("We deploy on Tuesdays.")
        refused = await run_command(p, f"/memory forget {note.header.id} {word}")
        return refused, await p.memory.get(note.header.id) is not None

    refused, is_there = within(project, work)

    assert isinstance(refused, results.CommandRefused)
    assert "/memory forget takes one note at a time" in refused.reason
    assert is_there


def test_what_was_learnt_is_accepted_or_rejected(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        none = await said(p, "/memory proposals")
        await exchange(p, "Always use tabs here.", "All right.")
        await exchange(p, "Never use wildcard imports.", "All right.")
        first, second = await p.memory.proposals()
        lines = ["/memory proposals", f"/memory accept {first.id[:6]} nothing", f"/memory reject {second.id}"]
        return [none, *[await said(p, line) for line in (*lines, "/memory reject nothing")]]

    none, listed, accepted, rejected, missing = within(project, work)

    assert none == "no proposal waits for your decision"
    assert "write: Always use tabs here." in listed
    assert accepted.splitlines()[0].endswith("Always use tabs here.")
    assert "nothing" in accepted.splitlines()[1]
    assert rejected == "1 proposal rejected"
    assert "nothing" in missing


def test_the_beginning_of_two_ids_names_neither_proposal(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["aaaabbbb1111", "aaaabbbb2222"])
    monkeypatch.setattr(notes, "new_note_id", lambda: next(ids))

    async def work(p: Promptuary) -> list[str]:
        await exchange(p, "Always use tabs here.", "All right.")
        await exchange(p, "Never use wildcard imports.", "All right.")
        said_of = [await said(p, f"/memory {action} aaaabbbb") for action in ("accept", "reject")]
        return [*said_of, *[one.id for one in await p.memory.proposals()]]

    accepted, rejected, *waiting = within(project, work)

    assert accepted == rejected == "there is no proposal 'aaaabbbb'; /memory proposals lists them"
    assert sorted(waiting) == ["aaaabbbb1111", "aaaabbbb2222"]


def test_the_last_turn_explains_itself_with_a_bar_of_the_window(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        await exchange(p, "Look at @file:src/app.py", "I did.")
        (project / "src/app.py").write_text("changed = 1\n", encoding="utf-8")
        return [await said(p, line) for line in ("/why", "/why 1", "/why 9", "/why not")]

    last, first, missing, wrong = within(project, work)

    assert last == first
    assert last.startswith("turn 1 (finished): Look at @file:src/app.py")
    assert re.search(r"^references +src/app.py", last, re.MULTILINE)
    assert re.search(r"^around them +headings, frames of messages", last, re.MULTILINE)
    assert "\n[" in last
    assert "free" in last.splitlines()[-2]
    assert last.splitlines()[-1] == "since then: src/app.py is changed"
    assert "there is no turn 9" in missing
    assert "takes a turn's number" in wrong


def test_a_past_turn_is_shown_as_it_was_sent(project: Path) -> None:
    async def work(p: Promptuary) -> str:
        await exchange(p, f"Hello {ESCAPE}", "Hi.")
        return await said(p, "/replay")

    text = within(project, work)

    assert "[user]\nHello" in text
    assert "\x1b" not in text


def test_the_last_turn_is_taken_back_and_can_be_said_again(project: Path) -> None:
    async def work(p: Promptuary) -> tuple[CommandResult, int, str]:
        await exchange(p, "One", "1")
        await exchange(p, "Two", "2")
        undone = await run_command(p, "/undo")
        left = len(await p.threads.history())
        await run_command(p, "/undo")
        return undone, left, await said(p, "/undo")

    undone, left, nothing = within(project, work)

    assert isinstance(undone, UndoneTurn)
    assert undone.text == "Two"
    assert plain_text(undone) == "turn 2 is taken back: Two"
    assert left == 2
    assert "nothing to undo" in nothing


def test_a_history_is_made_shorter(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        empty = await said(p, "/compact")
        for number in range(10):
            await exchange(p, f"{number}: " + "why is that so? " * 20, "because. " * 20)
        return [empty, await said(p, "/compact")]

    empty, done = within(project, work)

    assert empty == "the history is short already: 0 tokens"
    assert done.startswith("the history has ")


def test_models_are_listed_and_chosen(project: Path) -> None:
    async def work(p: Promptuary) -> list[CommandResult]:
        lines = ("/model", "/model fast", "/model ollama/llama3.2", "/model nobody")
        return [await run_command(p, line, model="fast") for line in lines]

    listed, chosen, of_a_provider, unknown = within(project, work, models={"fast": {"scripted": ["Hello."]}})

    assert listed == results.ModelsListed(["fast"], "fast")
    assert "* fast" in plain_text(listed)
    assert chosen == results.ModelChosen("fast")
    assert of_a_provider == results.ModelChosen("ollama/llama3.2")
    assert isinstance(unknown, results.CommandRefused)
    assert "no chat model is called 'nobody'" in unknown.reason


def test_without_a_model_the_list_says_how_to_name_one(project: Path) -> None:
    assert "answer_model" in within(project, lambda p: said(p, "/model"))


def test_threads_are_listed_and_chosen(project: Path) -> None:
    async def work(p: Promptuary) -> list[CommandResult]:
        await exchange(p, "Hello", "Hi.", "review")
        return [await run_command(p, line, thread="review") for line in ("/thread", "/thread review", "/thread new")]

    listed, known, new = within(project, work)

    assert plain_text(listed).startswith("* review  1 turn, 2 messages")
    assert known == results.ThreadChosen("review", is_new=False)
    assert new == results.ThreadChosen("new", is_new=True)


def test_a_thread_is_saved_as_markdown_or_as_json_and_nothing_is_overwritten(project: Path, tmp_path: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        await exchange(p, "Hello", "Hi.")
        names = (f"'{tmp_path}/a b.md'", f"{tmp_path}/a.json", f"{tmp_path}/a.json", f"{tmp_path}/a.json --force", "")
        return [await said(p, f"/save {name}") for name in names]

    markdown, as_json, again, forced, nowhere = within(project, work)

    assert markdown.endswith("a b.md")
    assert "Hi." in (tmp_path / "a b.md").read_text(encoding="utf-8")
    assert (tmp_path / "a.json").read_text(encoding="utf-8").startswith("{")
    assert as_json == forced
    assert "exists already" in again
    assert "needs FILE" in nowhere


def test_help_for_what_is_almost_a_command_suggests_it(project: Path) -> None:
    assert "did you mean /help context?" in within(project, lambda p: said(p, "/help contex"))
    assert "/help lists the commands" in within(project, lambda p: said(p, "/help zzz"))


def test_the_last_answer_is_copied(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []

    async def work(p: Promptuary) -> list[str]:
        async def copy(text: str) -> bool:
            copied.append(text)
            return True

        monkeypatch.setattr(p, "copy", copy)
        first = await said(p, "/copy")
        await exchange(p, "Hello", "Hi there.")
        return [first, await said(p, "/copy")]

    nothing, done = within(project, work)

    assert nothing == "there is no answer to copy yet"
    assert (copied, done) == (["Hi there."], "copied 9 characters to the clipboard")


def test_the_indexed_files_are_searched(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        before = await said(p, "/search brief")
        await p.search.index([project / "docs"])
        return [before, await said(p, "/search how brief")]

    before, found = within(project, work)

    assert before
    assert "@file:docs/style.md" in found


def test_help_lists_what_is_allowed_and_explains_one_command(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        return [
            await said(p, "/help"),
            await said(p, "/help", allowed=FROM_AFAR),
            await said(p, "/help context"),
            await said(p, "/help nothing"),
        ]

    everything, afar, context, nothing = within(project, work)

    assert all(f"/{command.name}" in everything for command in COMMANDS)
    assert "/copy" not in afar
    assert "/context add PATH…" in context
    assert "there is no command /nothing" in nothing


def test_a_command_that_is_not_allowed_is_refused_and_does_nothing(project: Path) -> None:
    async def work(p: Promptuary) -> tuple[str, int]:
        refused = await said(p, "/memory write Something", allowed=frozenset({"memory list"}))
        return refused, (await p.memory.list()).total

    assert within(project, work) == ("/memory write is not available here", 0)


def test_every_error_of_the_library_is_a_sentence(project: Path) -> None:
    async def work(p: Promptuary) -> list[CommandResult]:
        lines = ("/context drop nothing", "/memory accept x", "/thread " + "x" * 300, "/why 3", "/x" + "y" * 100_000)
        return [await run_command(p, line) for line in lines]

    for result in within(project, work):
        text = plain_text(result)
        assert text
        assert len(text) < 2_000


def test_nothing_that_is_shown_carries_an_escape_sequence(files: Files) -> None:
    name = "evil\x1b[2J.md"
    path = files({name: f"# {ESCAPE}\n\nwords of it\n"})

    async def work(p: Promptuary) -> list[str]:
        await exchange(p, f"Tell me {ESCAPE}", f"No {ESCAPE}")
        with pytest.raises(PromptuaryError):
            await p.threads.attach("missing\x1b[2J")
        await p.search.index([path])
        await p.memory.write(f"A note {ESCAPE}")
        lines = ["/find evil", "/why", "/replay", "/search words", "/memory", "/memory search note", "/undo", "/thread"]
        lines += [f"/context add {ESCAPE}", f"/{ESCAPE}", f"/memory {ESCAPE}", f"/help {ESCAPE}", f"/model {ESCAPE}"]
        return [await said(p, line) for line in lines]

    for text in within(path, work):
        assert "\x1b" not in text
        assert "\x07" not in text


def test_the_union_of_results_is_closed() -> None:
    declared = {one for one in vars(results).values() if isinstance(one, type) and one.__module__ == results.__name__}

    answered = set(get_args(results.CommandResult))
    assert declared == {one for one in answered if one.__module__ == results.__name__}
    assert {one.__module__ for one in answered - declared} <= {"promptuary.memory.values", "promptuary.threads.values"}


def test_slips_are_answered_in_the_words_of_the_chat(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        save = await run_command(p, "/save out.md", thread="new")
        lines = ["/memory accept zzz", "/undo it", "/context unpin"]
        return [plain_text(save), *[await said(p, line) for line in lines]]

    saved, unknown, undo, unpin = within(project, work)

    assert saved == "nothing was said in thread new yet: there is nothing to save"
    assert unknown == "there is no proposal 'zzz'; /memory proposals lists them"
    assert undo == "/undo takes no words; a message that begins with // is sent with one /"
    assert unpin == "/context unpin needs PATH… after it: put pinned files back among the others"


def test_every_command_that_is_named_begins_as_commands_do_on_the_surface(project: Path) -> None:
    slips = ["/", "/frob", "/contxt", "/context frob", "/context add", "/undo it", "/why x", "/help nothing"]
    shown = ["/help", "/help memory", "/context", "/context tokens", "/memory", "/memory show x", "/memory accept x"]
    asked = [*slips, *shown, "/memory forget a b", "/model"]

    async def work(p: Promptuary) -> list[str]:
        written = (await p.memory.write("We deploy on Tuesdays.")).header.id
        lines = [*asked, f"/memory forget {written}"]
        return [plain_text(await run_command(p, line, mark="!"), "!") for line in lines]

    for line, text in zip([*asked, "/memory forget ID"], within(project, work), strict=True):
        assert re.search(r"(?<![\w/])/(?=[a-z])", text) is None, (line, text)
    assert any("!context add" in text for text in within(project, work))


def test_errors_are_worded_as_the_surface_does_it(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        lines = ("/why 3", "/context add nothing.py", "/memory archive nothing")
        return [await said(p, line, worded=lambda error: type(error).__name__) for line in lines]

    why, added, archived = within(project, work)

    assert why == "SourceError"
    assert added.startswith("SourceError\n")
    assert archived == "UnknownNoteError"


def test_help_about_nothing_but_a_slash_is_answered(project: Path) -> None:
    assert within(project, lambda p: said(p, "/help /")).startswith("there is no command /")


def test_a_file_that_is_gone_is_not_listed_as_if_it_were_there(project: Path) -> None:
    async def work(p: Promptuary) -> list[str]:
        before = await said(p, "/context add src/app.py")
        (project / "src" / "app.py").unlink()
        return [before, await said(p, "/context list")]

    before, after = within(project, work)

    assert re.search(r"src/app\.py +ok ", before)
    assert re.search(r"src/app\.py +(deleted|not found) ", after), after

"""The prompt with keys from a pipe: menus, hints, keys, and what was typed before."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.processors import TransformationInput
from prompt_toolkit.output import DummyOutput

from promptuary.base.references import Completion as Menu
from promptuary.base.references import MenuItem
from promptuary.chat.prompt.any_prompt import PromptInterruptedError
from promptuary.chat.prompt.completer import ChatCompleter, Hints, may_refer, path_being_typed
from promptuary.chat.prompt.menu_prompt import MenuPrompt, _Placeholders
from promptuary.chat.prompt.pastes import Pastes
from promptuary.commands.registry import EVERYTHING
from promptuary.engine import Promptuary
from tests.conftest import Files

Result = TypeVar("Result")


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "x = 1\n" * 40, "src/a b.py": "y = 2\n", "docs/style.md": "Be brief.\n"})


def within(path: Path, work: Callable[[Promptuary, PipeInput], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        with create_pipe_input() as keyboard:
            async with Promptuary.open(path, exact=True) as p:
                await p.complete("@", timeout=10)  # the workspace is listed
                return await work(p, keyboard)

    return asyncio.run(run())


async def typed(p: Promptuary, keyboard: PipeInput, *keys: str) -> str | None:
    prompt = MenuPrompt(p, keyboard=keyboard, output=DummyOutput())
    asked = asyncio.ensure_future(prompt.ask())
    try:
        for one in keys:
            keyboard.send_text(one)
            await asyncio.sleep(0)
        said = await asyncio.wait_for(asked, 20)
        return None if said is None else prompt.pastes.shown(said)
    finally:
        prompt.close()


async def rows(completer: ChatCompleter, text: str) -> list[Completion]:
    return [one async for one in completer.get_completions_async(Document(text), CompleteEvent())]


def test_the_menu_offers_files_with_size_lines_and_tokens(project: Path) -> None:
    async def work(p: Promptuary, _: PipeInput) -> tuple[list[str], str]:
        redrawn = asyncio.Event()
        hints = Hints(p.hint, redrawn.set)
        found = await rows(ChatCompleter(p, EVERYTHING, hints), "look at @app")
        while not all(one.display_meta_text for one in found):
            redrawn.clear()
            await asyncio.wait_for(redrawn.wait(), 20)
        assert found[0].start_position == -len("@app")
        return [one.text for one in found], found[0].display_meta_text

    texts, hint = within(project, work)

    assert texts[0] == "@src/app.py"
    assert hint.startswith("240 B · 40 lines · ")
    assert hint.endswith(" tokens")


def test_hints_that_the_menu_did_not_wait_for_are_filled_in_later() -> None:
    async def run() -> tuple[str, str, list[str]]:
        measured: list[str] = []
        redrawn = asyncio.Event()

        async def measure(item: MenuItem) -> str:
            measured.append(item.path)
            return "1 kB"

        hints = Hints(measure, redrawn.set)
        item = MenuItem("@a.py", "a.py", "file", path="a.py")
        before = hints.of(item)
        hints.want([item, MenuItem("@b.py", "b.py", "file", "2 kB", path="b.py"), MenuItem("@diff", "diff", "diff")])
        await asyncio.wait_for(redrawn.wait(), 20)
        return before, hints.of(item), measured

    assert asyncio.run(run()) == ("", "1 kB", ["a.py"])


def test_nothing_is_measured_while_somebody_types_and_several_hints_are_drawn_at_once() -> None:
    async def run() -> tuple[list[str], list[int]]:
        measured: list[str] = []
        drawn: list[int] = []
        redrawn = asyncio.Event()

        async def measure(item: MenuItem) -> str:
            measured.append(item.path)
            return "1 kB"

        def draw() -> None:
            drawn.append(len(measured))
            redrawn.set()

        hints = Hints(measure, draw, pause=0.05)
        for typed in ("a", "ab", "abc"):
            hints.want([MenuItem(f"@{typed}{number}", "", "file", path=f"{typed}{number}") for number in range(3)])
            await asyncio.sleep(0)
        await asyncio.wait_for(redrawn.wait(), 20)
        return measured, drawn

    assert asyncio.run(run()) == (["abc0", "abc1", "abc2"], [3])


def test_a_menu_of_a_workspace_that_is_still_listed_is_asked_for_again() -> None:
    class Listing:
        async def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, hints: bool = True) -> Menu:
            return Menu(0, text, (), scanning=True)

        async def hint(self, item: MenuItem) -> str:
            return item.hint

    async def run() -> list[bool]:
        again: list[bool] = []
        source = Listing()
        await rows(ChatCompleter(source, EVERYTHING, Hints(source.hint, bool), lambda: again.append(True)), "@a")
        return again

    assert asyncio.run(run()) == [True]


def test_commands_are_completed_and_then_the_paths_that_they_take(project: Path) -> None:
    async def work(p: Promptuary, _: PipeInput) -> list[list[str]]:
        completer = ChatCompleter(p, EVERYTHING, Hints(p.hint, bool))
        return [[one.text for one in await rows(completer, text)] for text in ("/con", "/context a", "/context add ab")]

    assert within(project, work) == [["/context"], ["add"], ["'src/a b.py'"]]


def test_the_names_of_threads_and_models_are_completed(project: Path) -> None:
    async def work(p: Promptuary, keyboard: PipeInput) -> list[list[str]]:
        for thread in ("review", "release notes"):
            await p.threads.finish(await p.threads.prepare("Hello", thread=thread), "Hello.")
        completer = MenuPrompt(p, keyboard=keyboard, output=DummyOutput()).session.completer
        assert isinstance(completer, ChatCompleter)
        typed = ("/thread ", "/thread rev", "/thread release n", "/model ", "/model s", "/why ")
        return [sorted(one.text for one in await rows(completer, text)) for text in typed]

    models = "".join(f'[models.{one}]\nbase_url = "http://localhost/v1"\nmodel = "a"\n' for one in ("small", "large"))
    home = Path(os.environ["HOME"]) / ".config" / "promptuary"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(models)

    assert within(project, work) == [
        ["release notes", "review"],
        ["review"],
        ["release notes"],
        ["large", "small"],
        ["small"],
        [],
    ]


@pytest.mark.parametrize(
    ("text", "refers"), [("plain", False), ("@a", True), ("#a", True), ("[[n", True), ("@a\nplain", False), ("", False)]
)
def test_most_keys_need_no_look_at_the_workspace(text: str, refers: bool) -> None:
    assert may_refer(text) is refers


def test_the_path_of_a_command_is_what_follows_the_last_blank() -> None:
    assert path_being_typed("/context add a.py src/b") == "src/b"
    assert path_being_typed("/context add @di") is None
    assert path_being_typed("/context list x") is None
    assert path_being_typed("say /context add x") is None


def test_enter_sends_and_alt_enter_and_ctrl_j_make_a_new_line(project: Path) -> None:
    assert within(project, lambda p, keys: typed(p, keys, "one\x1b\rtwo\x0athree\r")) == "one\ntwo\nthree"


def test_an_empty_message_is_not_sent(project: Path) -> None:
    assert within(project, lambda p, keys: typed(p, keys, "\r  \r", "x\r")) == "  x"


def test_ctrl_d_ends_and_ctrl_c_is_told_apart(project: Path) -> None:
    assert within(project, lambda p, keys: typed(p, keys, "\x04")) is None
    with pytest.raises(PromptInterruptedError):
        within(project, lambda p, keys: typed(p, keys, "abc\x03"))


def test_a_long_paste_is_folded_in_the_prompt(project: Path) -> None:
    pasted = "\x1b[200~" + "line\r\n" * 50 + "\x1b[201~"

    assert within(project, lambda p, keys: typed(p, keys, f"see {pasted}\r")) == "see [Pasted text #1, 50 lines]"


def test_backspace_takes_a_folded_paste_away_as_a_whole(project: Path) -> None:
    pasted = "\x1b[200~" + "line\r\n" * 50 + "\x1b[201~"

    assert within(project, lambda p, keys: typed(p, keys, f"see {pasted}\x7fnothing\r")) == "see nothing"
    assert within(project, lambda p, keys: typed(p, keys, f"see {pasted}\x1b[D\x1b[3~nothing\r")) == "see nothing"


def test_a_chosen_row_is_taken_and_not_sent(project: Path) -> None:
    async def work(p: Promptuary, keyboard: PipeInput) -> str | None:
        prompt = MenuPrompt(p, keyboard=keyboard, output=DummyOutput())
        buffer = prompt.session.default_buffer
        asked = asyncio.ensure_future(prompt.ask())
        ready = asyncio.Event()
        buffer.on_completions_changed += lambda _: ready.set() if _has_rows(buffer) else None
        keyboard.send_text("@styl")
        await asyncio.wait_for(ready.wait(), 20)
        keyboard.send_text("\t\rplease\r")
        said = await asyncio.wait_for(asked, 20)
        prompt.close()
        return said

    assert within(project, work) == "@docs/style.md please"


async def value(one: Result) -> Result:
    return one


async def until(look: Callable[[], Awaitable[Result]]) -> Result:
    """Return what ``look`` finds, as soon as there is something."""
    async with asyncio.timeout(20):
        while not (found := await look()):  # noqa: ASYNC110  (nothing tells when a file is written)
            await asyncio.sleep(0.01)
    return found


def _has_rows(buffer: Any) -> bool:
    return bool(buffer.complete_state and buffer.complete_state.completions)


def test_what_was_typed_is_kept_and_found_with_ctrl_r(project: Path) -> None:
    async def first(p: Promptuary, keyboard: PipeInput) -> list[str]:
        prompt = MenuPrompt(p, keyboard=keyboard, output=DummyOutput())
        keyboard.send_text("a special question\r")
        await asyncio.wait_for(prompt.ask(), 20)
        prompt.close()
        return list(await until(p.typed))

    async def second(p: Promptuary, keyboard: PipeInput) -> str | None:
        prompt = MenuPrompt(p, keyboard=keyboard, output=DummyOutput())
        buffer = prompt.session.default_buffer
        asked = asyncio.ensure_future(prompt.ask())
        await until(lambda: value(len(buffer._working_lines) > 1))  # the history is read in the background
        keyboard.send_text("\x12special\r\r")
        said = await asyncio.wait_for(asked, 20)
        prompt.close()
        return said

    assert within(project, first) == ["a special question"]
    assert within(project, second) == "a special question"


def test_the_toolbar_shows_thread_model_and_meter(project: Path) -> None:
    async def work(p: Promptuary, keyboard: PipeInput) -> str:
        prompt = MenuPrompt(p, keyboard=keyboard, output=DummyOutput())
        prompt.thread, prompt.model = "review", "fast"
        asked = asyncio.ensure_future(prompt.ask("see @src/app.py"))
        await until(lambda: value(prompt._meter.measured and prompt._meter.measured.spend.injected))
        shown = "".join(part[1] for part in prompt._toolbar())
        keyboard.send_text("\r")
        await asked
        prompt.close()
        return shown

    shown = within(project, work)

    assert shown.startswith(" review · fast · ━")
    assert " of 128,000 tokens" in shown


@pytest.mark.parametrize(("keys", "said"), [(("\x1b", "\r"), "see @src"), (("\x1b\r", "x\r"), "see @src\nx")])
def test_esc_closes_the_menu_and_enter_after_it_sends_and_alt_enter_begins_a_line(
    project: Path, keys: tuple[str, str], said: str
) -> None:
    async def work(p: Promptuary, keyboard: PipeInput) -> str | None:
        prompt = MenuPrompt(p, keyboard=keyboard, output=DummyOutput())
        buffer = prompt.session.default_buffer
        asked = asyncio.ensure_future(prompt.ask())
        keyboard.send_text("see @src")
        await until(lambda: value(_has_rows(buffer)))
        keyboard.send_text(keys[0])
        await until(lambda: value(not _has_rows(buffer) or prompt.session.app.key_processor.key_buffer))
        keyboard.send_text(keys[1])
        try:
            return await asyncio.wait_for(asked, 5)
        finally:
            prompt.close()

    assert within(project, work) == said


def test_the_name_of_a_file_cannot_reorder_the_line() -> None:
    given = TransformationInput(BufferControl(), Document(), 0, lambda place: place, [("", "@a\u202eyp.exe")], 80, 1)
    made = _Placeholders(Pastes()).apply_transformation(given)

    assert "".join(part[1] for part in made.fragments) == "@a⟨U+202E⟩yp.exe"
    assert made.source_to_display(3) == 10


def test_ctrl_c_tells_which_line_it_cleared(project: Path) -> None:
    async def work(p: Promptuary, keyboard: PipeInput) -> str:
        with pytest.raises(PromptInterruptedError) as stopped:
            await typed(p, keyboard, "half a line\x03")
        return str(stopped.value)

    assert within(project, work) == "half a line"

"""A run is one turn: requests, calls of tools and the answer, all recorded; however it ends, nothing is lost."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from promptuary import engine
from promptuary.base.errors import ConfigError, PromptuaryError, RunFailedError, ThreadBusyError
from promptuary.base.messages import Message, ToolCall
from promptuary.blocking import Promptuary
from promptuary.context.history import groups
from promptuary.context.receipt import Receipt
from promptuary.models.chat_model import ChatEvent, ChatRequest, ModelUsage, Stopped, TextPiece, ToolSpec
from promptuary.present.plain_text import plain_text
from promptuary.present.runs import took_line
from promptuary.testing.scripted import ScriptedModel, ScriptedStream, Spoken
from promptuary.threads.run_values import (
    BROKEN_OFF,
    INTERRUPTED,
    OUT_OF_REQUESTS,
    CallBegun,
    CallEnded,
    RunEnded,
    RunEvent,
    Tool,
    TurnExtended,
    TurnPrepared,
)
from tests.conftest import Files
from tests.current_files import current_files
from tests.properties.test_turn_properties import cost_of

ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {"word": {"type": "string"}}}


def tool(name: str, call: Callable[[Mapping[str, Any]], Any], **options: Any) -> Tool:
    return Tool(ToolSpec(name, f"Does {name}.", ANYTHING), call, **options)


ECHO = tool("echo", lambda given: f"heard {given.get('word')}")


def calls(name: str, arguments: object = None, call_id: str = "c") -> ToolCall:
    return ToolCall(call_id, name, arguments if isinstance(arguments, str) else json.dumps(arguments or {}))


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.py": "value = 0\n", ".env": "TOKEN=abc\n", "notes.md": "Tea is hot.\n"})


def opened(path: Path, **options: Any) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", **options)


def contents(promptuary: Promptuary) -> list[tuple[str, str]]:
    return [(item.role, item.content) for item in promptuary.threads.history()]


def in_order(messages: Sequence[Message]) -> None:
    """Check that every call has its result."""
    asked = [call["id"] for one in messages for call in one.get("tool_calls", ())]
    assert asked == [one["tool_call_id"] for one in messages if one["role"] == "tool"]


def test_a_message_is_answered_and_recorded_as_one_turn_with_everything_that_tools_said(project: Path) -> None:
    model = ScriptedStream([["Let me ask.\n", calls("echo", {"word": "tea"})], ["It is ", "tea."]])
    told: list[RunEvent] = []
    with opened(project) as promptuary:
        result = promptuary.threads.run("What is in #a.py?", model, [ECHO], on_event=told.append)

        assert (result.reply, result.stop, result.requests, result.cost) == ("It is tea.", "end", 2, None)
        assert [type(one) for one in told] == [
            *(TurnPrepared, TextPiece, CallBegun, CallEnded, TurnExtended),
            *(TextPiece, TextPiece, RunEnded),
        ]
        assert contents(promptuary)[1:] == [
            ("assistant", "Let me ask.\n"),
            ("tool", "heard tea"),
            ("assistant", "It is tea."),
        ]
        assert [one.status for one in promptuary.threads.turns()] == ["continued", "finished"]
        assert result.receipt.total == sum(one.tokens for one in result.receipt.requests)
        assert result.usage.output_tokens == 2
        assert promptuary.threads.pending() is None
    assert [spec.name for spec in model.asked[0].tools] == ["echo"]


def test_a_model_that_answers_all_at_once_runs_too(project: Path) -> None:
    with opened(project) as promptuary:
        assert promptuary.threads.run("Hello", ScriptedModel(["Hi."])).reply == "Hi."


def test_the_model_of_the_settings_answers_unless_another_is_given(project: Path) -> None:
    models = {"first": {"scripted": ["I am first."]}, "second": {"scripted": ["I am second."]}}
    with opened(project, answer_model="first", models=models) as promptuary:
        assert promptuary.threads.run("Who?").reply == "I am first."
        assert promptuary.threads.run("Who?", "second").reply == "I am second."
        with pytest.raises(ConfigError, match="no chat model is called 'third'"):
            promptuary.threads.run("Who?", "third")
    with opened(project) as promptuary, pytest.raises(ConfigError, match="answer_model"):
        promptuary.threads.run("Who?")


def test_the_window_is_that_of_the_model_that_answers(project: Path) -> None:
    small = {"scripted": ["Yes."], "window": 2000, "model": "some"}
    with opened(project, models={"small": small}) as promptuary:
        assert promptuary.threads.run("Yes?", "small").receipt.window == 2000
    with opened(project, models={"small": small}, window=900) as promptuary:
        assert promptuary.threads.run("Yes?", "small").receipt.window == 900


class Counting:
    """A model whose usage is known."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        del request
        yield TextPiece("Yes.")
        yield ModelUsage(1_000_000, 0, 0)
        yield ModelUsage(1_000_000, 100_000, 500_000)
        yield Stopped("end")


def test_what_a_run_costs_is_known_if_the_price_is_and_goes_into_the_totals(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.threads.run.streaming_model", lambda *_: Counting())
    with opened(project) as promptuary:
        result = promptuary.threads.run("Yes?", "gpt-4.1")

        assert result.cost == pytest.approx(0.5 * 2 + 0.5 * 0.5 + 0.1 * 8)
        assert promptuary.threads.totals().cost == result.cost
        assert promptuary.threads.run("Yes?", "ollama/unknown").cost is None


class CountingOnce:
    """A model that calls a tool and then answers; its service says only of the first request what it used."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        if any(message["role"] == "tool" for message in request.prompt.messages):
            yield TextPiece("Yes.")
            yield Stopped("end")
        else:
            yield calls("echo", {"word": "tea"})
            yield ModelUsage(1_000_000, 100_000)
            yield Stopped("tools")


def test_what_a_run_costs_is_unknown_if_one_of_its_requests_was_not_counted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.threads.run.streaming_model", lambda *_: CountingOnce())
    with opened(project) as promptuary:
        result = promptuary.threads.run("Yes?", "gpt-4.1", [ECHO])

        assert (result.requests, result.usage.input_tokens, result.cost) == (2, 1_000_000, None)
        assert promptuary.threads.totals().cost is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (calls("nothing"), "there is no tool 'nothing'; there is echo, fails, breaks, hangs"),
        (calls("echo", "{not json"), "the arguments are not JSON"),
        (calls("echo", "[1]"), "the arguments are not an object"),
        (calls("echo", '{"word": 1}'), "'word' is not of type string"),
        (calls("fails"), "failed: the cup is empty"),
        (calls("breaks"), "failed: ZeroDivisionError"),
        (calls("hangs"), "failed: no result within 0.05 seconds"),
    ],
)
def test_a_call_that_goes_wrong_is_told_to_the_model_and_the_run_goes_on(
    project: Path, call: ToolCall, told: str
) -> None:
    def fail(_: object) -> str:
        raise PromptuaryError("the cup is empty")

    release = threading.Event()
    tools = [
        ECHO,
        tool("fails", fail),
        tool("breaks", lambda _: str(1 // 0)),
        tool("hangs", lambda _: str(release.wait(20)), timeout=0.05),
    ]
    events: list[RunEvent] = []
    with opened(project) as promptuary:
        result = promptuary.threads.run("Go.", ScriptedStream([[call], ["Done."]]), tools, on_event=events.append)
        release.set()

        (ended,) = [one for one in events if isinstance(one, CallEnded)]
        assert ended.is_error
        assert told in ended.result
        assert result.reply == "Done."
        assert told in contents(promptuary)[2][1]


def test_a_tool_that_writes_is_called_only_if_the_person_agrees(project: Path) -> None:
    written: list[Mapping[str, Any]] = []

    def write(given: Mapping[str, Any]) -> str:
        written.append(given)
        return "it is written"

    tools = [tool("write", write, writes=True)]
    script: list[Spoken] = [[calls("write", {"word": "x"})], ["Done."]]
    asked: list[ToolCall] = []

    def confirm(call: ToolCall, *, agree: bool) -> bool:
        asked.append(call)
        return agree

    with opened(project) as promptuary:
        for given, result in [
            (None, "cannot be asked"),
            (lambda call: confirm(call, agree=False), "declined"),
            (lambda call: confirm(call, agree=True), "it is written"),
        ]:
            promptuary.threads.run("Go.", ScriptedStream(script), tools, confirm=given)
            assert result in contents(promptuary)[-2][1]
    assert written == [{"word": "x"}]
    assert [one.name for one in asked] == ["write", "write"]


def test_confirm_and_on_event_are_called_in_the_thread_that_waits(project: Path) -> None:
    here = threading.get_ident()
    seen: set[int] = set()

    def see(_: object) -> bool:
        seen.add(threading.get_ident())
        return True

    tools = [tool("write", lambda _: "written", writes=True)]
    with opened(project) as promptuary:
        promptuary.threads.run(
            "Go.",
            ScriptedStream([[calls("write")], ["Done."]]),
            tools,
            on_event=see,
            confirm=see,
        )
    assert seen == {here}


def test_a_model_that_never_stops_calling_is_stopped_and_the_thread_can_go_on(project: Path) -> None:
    model = ScriptedStream(lambda _: [calls("echo", {"word": "again"})])
    with opened(project) as promptuary:
        result = promptuary.threads.run("Go.", model, [ECHO], max_requests=3)

        assert (result.stop, result.requests, len(model.asked)) == ("tools", 3, 3)
        assert result.reply == OUT_OF_REQUESTS
        assert "the model wanted more than 3 requests" in result.receipt.warnings
        assert [len(group.sendable) for group in groups(promptuary.threads.history())] == [1, 2, 2, 2, 1]
        assert len({call.id for item in promptuary.threads.history() for call in item.tool_calls}) == 3
        following = promptuary.threads.prepare("Go on.")
        in_order(following.messages)
        with pytest.raises(PromptuaryError, match="1 or more"):
            promptuary.threads.run("Go.", model, max_requests=0)


@pytest.mark.parametrize("before", [[], [[calls("echo")]]])
def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came(project: Path, before: list[Spoken]) -> None:
    model = ScriptedStream([*before, ["It begins, ", PromptuaryError("The line is dead.")], ["Again."]])
    told: list[RunEvent] = []
    with opened(project) as promptuary:
        with pytest.raises(RunFailedError, match=r"The line is dead\.") as caught:
            promptuary.threads.run("Go.", model, [ECHO], on_event=told.append)

        result = caught.value.result
        assert result is not None
        assert (result.stop, result.reply) == ("failed", f"It begins,\n\n{BROKEN_OFF}")
        assert result.said == "It begins,"
        assert "the answer broke off: The line is dead." in result.receipt.warnings
        assert told[-1] == RunEnded(result)
        assert contents(promptuary)[-1] == ("assistant", result.reply)
        assert promptuary.threads.turns()[-1].status == "finished"
        assert promptuary.threads.pending() is None
        assert promptuary.threads.run("Again?", model).reply == "Again."


def test_a_turn_of_which_nothing_arrived_is_given_up_and_what_was_queued_is_queued_again(project: Path) -> None:
    model = ScriptedStream([[PromptuaryError("Nobody is there.")], ["Tea."]])
    with opened(project) as promptuary:
        promptuary.threads.attach("@folder:.")
        with pytest.raises(RunFailedError, match=r"Nobody is there\.") as caught:
            promptuary.threads.run("What is hot?", model)

        assert caught.value.result is None
        assert contents(promptuary) == []
        assert [(one.status, one.text) for one in promptuary.threads.turns()] == [("failed", "What is hot?")]
        assert list(promptuary.threads.attachments().queued) == ["@folder:."]
        result = promptuary.threads.run("What is hot?", model)
        assert "notes.md" in result.turn.messages[-1]["content"]
        assert list(promptuary.threads.attachments().queued) == []


def test_what_does_not_fit_into_the_window_is_not_sent(project: Path) -> None:
    model = ScriptedStream([["Yes."]])
    with opened(project, window=300) as promptuary:
        with pytest.raises(RunFailedError, match="does not fit into the window"):
            promptuary.threads.run("word " * 500, model)
        with pytest.raises(RunFailedError, match=r"tools \d+"):
            promptuary.threads.run("Hello.", model, [tool(f"t{number}", str) for number in range(30)])
    assert model.asked == []


def test_two_tools_of_one_name_are_refused(project: Path) -> None:
    with opened(project) as promptuary, pytest.raises(ConfigError, match="two tools are called 'echo'"):
        promptuary.threads.run("Go.", ScriptedStream([["Yes."]]), [ECHO, ECHO])


def test_whoever_cannot_listen_any_more_ends_the_run_and_what_was_said_is_kept(project: Path) -> None:
    def listen(event: RunEvent) -> None:
        if isinstance(event, TextPiece):
            raise BrokenPipeError

    with opened(project) as promptuary:
        with pytest.raises(BrokenPipeError):
            promptuary.threads.run("Go.", ScriptedStream([["One.\n", "Two."]], delay=0.05), on_event=listen)

        assert contents(promptuary)[-1] == ("assistant", f"One.\n\n{INTERRUPTED}")


class Endless:
    """A model that says one thing and then waits for ever; ``left`` is set when nobody wants more."""

    def __init__(self, *spoken: str | ToolCall) -> None:
        self.spoken, self.waits, self.left = spoken, asyncio.Event(), False

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        del request
        try:
            for one in self.spoken:
                yield one if isinstance(one, ToolCall) else TextPiece(one)
            self.waits.set()
            await asyncio.Event().wait()
        finally:
            self.left = True


@pytest.mark.parametrize(
    ("spoken", "kept"),
    [
        (("It begins",), [("user", "Go."), ("assistant", f"It begins\n\n{INTERRUPTED}")]),
        (
            ("Look:", calls("echo")),
            [
                ("user", "Go."),
                ("assistant", "Look:"),
                ("tool", "not called: the answer was interrupted"),
                ("assistant", INTERRUPTED),
            ],
        ),
        ((), []),
    ],
)
def test_whoever_cancels_hangs_up_at_once_and_keeps_what_had_arrived(
    project: Path, spoken: tuple[str | ToolCall, ...], kept: list[tuple[str, str]]
) -> None:
    async def cancelled() -> None:
        model = Endless(*spoken)
        told: list[RunEvent] = []
        async with engine.Promptuary.open(project, exact=True, embedder="none") as promptuary:
            running = asyncio.create_task(promptuary.threads.run("Go.", model, [ECHO], on_event=told.append))
            await model.waits.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

            assert model.left
            history = await promptuary.threads.history()
            assert [(item.role, item.content) for item in history] == kept
            (turn,) = await promptuary.threads.turns()
            assert turn.status == ("finished" if kept else "abandoned")
            assert await promptuary.threads.pending() is None
            if kept:
                assert isinstance(told[-1], RunEnded)
                assert told[-1].result.stop == "interrupted"
            again = await promptuary.threads.run("Once more.", ScriptedModel(["Yes."]))
            in_order(again.turn.messages)

    asyncio.run(cancelled())


def test_a_run_that_is_cancelled_while_a_tool_works_keeps_what_the_other_tools_said(project: Path) -> None:
    async def cancelled() -> None:
        begun = asyncio.Event()

        async def wait(_: object) -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        script: list[Spoken] = [[calls("echo", {"word": "1"})], [calls("echo", {"word": "2"}), calls("wait")]]
        async with engine.Promptuary.open(project, exact=True, embedder="none") as promptuary:
            work = promptuary.threads.run("Go.", ScriptedStream(script), [ECHO, tool("wait", wait)])
            running = asyncio.create_task(work)
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

            said = [item.content for item in await promptuary.threads.history()]
            assert said == [
                *("Go.", "", "heard 1", "", "heard 2"),
                *("not called: the answer was interrupted", INTERRUPTED),
            ]

    asyncio.run(cancelled())


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.03])
def test_wherever_a_run_is_cancelled_the_thread_stays_sound(project: Path, delay: float) -> None:
    async def cancelled() -> None:
        model = ScriptedStream(lambda _: [calls("echo", {"word": "again"})])
        async with engine.Promptuary.open(project, exact=True, embedder="none") as promptuary:
            for number in range(3):
                running = asyncio.create_task(promptuary.threads.run(f"Go {number}.", model, [ECHO]))
                await asyncio.sleep(delay * (number + 1))
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
            turn = await promptuary.threads.prepare("And now?")
            in_order(turn.messages)
            assert not any("not sent" in one for one in turn.receipt.warnings)
            statuses = {one.status for one in (await promptuary.threads.turns())[:-1]}
            assert statuses <= {"continued", "finished", "abandoned", "prepared"}

    asyncio.run(cancelled())


def adds_up(receipt: Receipt) -> None:
    """Check a receipt: its parts make the whole, which fits."""
    assert receipt.tokens <= receipt.window - receipt.reserve
    assert not receipt.blocked
    assert receipt.total == sum(one.tokens for one in receipt.requests)
    assert receipt.tokens == sum(row.tokens for row in receipt.rows if row.status != "out")


def test_a_loop_of_fifty_calls_stays_within_8k_and_sees_files_as_they_are_at_each_call(project: Path) -> None:
    text = [f"line {number} of a file that changes\n" for number in range(40)]
    (project / "a.py").write_text("".join(text))

    def write(given: Mapping[str, Any]) -> str:
        number = int(given["word"])
        text[number % 40] = f"changed by call {number}\n"
        (project / "a.py").write_text("".join(text))
        return f"result {number}: " + "many words of a tool " * (10 + number * number % 97)

    def answer(request: ChatRequest) -> Spoken:
        assert current_files(request.prompt.messages) == {"a.py": "".join(text)}
        in_order(request.prompt.messages)
        number = len(model.asked)
        return [calls("write", {"word": str(number)}, "same")] if number <= 50 else ["All is done."]

    model = ScriptedStream(answer)
    shown: list[Receipt] = []

    def listen(event: RunEvent) -> None:
        if isinstance(event, TurnPrepared | TurnExtended):
            shown.append(event.turn.receipt)
            costs = event.turn.receipt.by_layer()["tools"]
            assert event.turn.receipt.tokens == cost_of(event.turn.messages) + costs
            assert 0 < event.turn.receipt.by_layer()["around them"] <= 20 * len(event.turn.messages)

    with opened(project, window=8000) as promptuary:
        result = promptuary.threads.run("Mend #a.py", model, [tool("write", write)], on_event=listen, max_requests=60)

        assert (result.reply, result.requests, result.stop) == ("All is done.", 51, "end")
        assert len(result.receipt.requests) == 51
        for receipt in result.receipt.requests:
            adds_up(receipt)
        assert [one.tokens for one in shown] == [one.tokens for one in result.receipt.requests]
        assert promptuary.threads.totals().tokens == result.receipt.total
        assert all(request.max_tokens + one.tokens <= 8000 for request, one in zip(model.asked, shown, strict=True))
        kept = [item for item in promptuary.threads.history() if item.role == "tool"]
        assert len(kept) == 50
        assert kept[0].content.startswith("result 1: ")


def test_our_tools_read_what_the_policy_allows_and_nothing_else(project: Path) -> None:
    wanted = [
        ({"path": "a.py"}, "value = 0"),
        ({"path": "a.py", "first_line": 1, "last_line": 1}, "value = 0"),
        ({"path": ".env"}, "SENSITIVE_PATH"),
        ({"path": "../secret"}, "failed"),
        ({"path": "/etc/passwd"}, "failed"),
        ({"path": 'a.py" @url:http://127.0.0.1/'}, "NOT_FOUND"),
        ({"path": "b.py"}, "NOT_FOUND"),
        ({"path": "a.py", "first_line": 99}, "failed"),
    ]
    script: list[Spoken] = [[*(calls("read_file", given) for given, _ in wanted)], ["Done."]]
    ended: list[CallEnded] = []
    with opened(project) as promptuary:
        promptuary.threads.run(
            "Read.",
            ScriptedStream(script),
            promptuary.threads.tools(),
            on_event=lambda event: ended.append(event) if isinstance(event, CallEnded) else None,
        )
    assert [expected in one.result for one, (_, expected) in zip(ended, wanted, strict=True)] == [True] * len(wanted)
    assert not any("TOKEN" in one.result or "root:" in one.result for one in ended)


def test_our_tools_search_files_and_remember_what_the_person_agrees_to(project: Path) -> None:
    fact = {"type": "user", "title": "Tea", "content": "The person likes tea."}
    script: list[Spoken] = [
        [calls("search_files", {"query": "what is hot"}), calls("write_memory", fact)],
        [calls("search_recall_memories", {"query": "tea"})],
        ["Done."],
    ]
    ended: list[CallEnded] = []

    def listen(event: RunEvent) -> None:
        if isinstance(event, CallEnded):
            ended.append(event)

    with opened(project) as promptuary:
        promptuary.search.index(".")
        tools = promptuary.threads.tools()
        assert [(one.name, one.writes) for one in tools] == [
            ("read_file", False),
            ("search_files", False),
            ("search_recall_memories", False),
            ("write_memory", True),
        ]
        promptuary.threads.run("Go.", ScriptedStream(script), tools, on_event=listen, confirm=lambda _: True)

        assert "notes.md" in ended[0].result
        assert "Tea is hot." in ended[0].result
        assert ended[1].result.startswith("Written: memory:")
        assert "## Tea\n" in ended[2].result
        assert [note.title for note in promptuary.memory.list().headers] == ["Tea"]


def test_interrupting_a_blocking_run_keeps_what_had_arrived(project: Path) -> None:
    def listen(event: RunEvent) -> None:
        if isinstance(event, TextPiece):
            raise KeyboardInterrupt

    with opened(project) as promptuary:
        with pytest.raises(KeyboardInterrupt):
            promptuary.threads.run("Go.", Endless("It begins"), on_event=listen)

        assert contents(promptuary)[-1] == ("assistant", f"It begins\n\n{INTERRUPTED}")


def test_nobody_abandons_a_turn_or_begins_another_while_a_model_answers_it(project: Path) -> None:
    refused: list[str] = []

    def disturb(_: Mapping[str, Any]) -> str:
        with opened(project) as other:
            waiting = other.threads.pending()
            assert waiting is not None
            for disturbance in (
                lambda: other.threads.abandon(waiting),
                other.threads.undo,
                lambda: other.threads.run("And?", ScriptedStream([["no"]])),
            ):
                with pytest.raises(ThreadBusyError) as error:
                    disturbance()
                refused.append(str(error.value))
        return "tried"

    with opened(project) as promptuary:
        model = ScriptedStream([[calls("disturb")], ["Good day."]])
        result = promptuary.threads.run("Hello", model, [tool("disturb", disturb)])

        assert (len(refused), result.stop) == (3, "end")
        assert [content for _, content in contents(promptuary)] == ["Hello", "", "tried", "Good day."]
        assert promptuary.threads.run("And?", ScriptedStream([["Yes."]])).reply == "Yes."
    assert not list(project.glob(".promptuary/*answering*"))


def test_references_are_measured_by_the_window_of_the_model_that_answers(project: Path) -> None:
    (project / "much.txt").write_text("some words to count\n" * 2_000)
    models = {
        "small": {"scripted": ["Yes."], "window": 8_000},
        "large": {"scripted": ["Yes."], "window": 100_000},
    }
    with opened(project, models=models, answer_model="small") as promptuary:
        spends = [promptuary.threads.run("See @much.txt", name).turn.expansion.spend for name in ("small", "large")]
        with promptuary.acting_as(promptuary.principal, model="large") as other:
            assert other.settings.answer_model == "large"
            measured = other.measure("See @much.txt").spend
            assert other.threads.stats().window == 100_000
            assert [turn.text for turn in other.threads.turns()] == ["See @much.txt"] * 2

    assert [one.window for one in spends] == [8_000, 100_000]
    assert spends[0].injected < 4_000 < spends[1].injected
    assert (measured.window, measured.warn_at, measured.limit) == (100_000, 25_000, 50_000)


def test_requests_of_one_message_are_one_turn_in_the_list_of_threads(project: Path) -> None:
    model = ScriptedStream([[calls("echo")], [calls("echo", call_id="d")], ["Done."]])
    with opened(project) as promptuary:
        promptuary.threads.run("Well?", model, [ECHO])
        (thread,) = promptuary.threads.list()

        assert thread.turns == promptuary.threads.totals().turns == 1


def test_the_numbers_of_a_turn_with_calls_of_tools_are_told_alike_wherever_they_are_told(project: Path) -> None:
    again = [calls("echo", {"word": "tea"})]
    with opened(project) as promptuary:
        promptuary.threads.run("First", ScriptedModel(["One."]))
        result = promptuary.threads.run("Second", ScriptedStream([again, again, ["Two."]]), [ECHO])
        promptuary.threads.run("Third", ScriptedModel(["Three."]))

        assert took_line(result, 1.0).endswith("; turns 2 to 4; 1.0 s")
        assert [promptuary.threads.replay(number=number).heading() for number in range(1, 6)] == [
            "turn 1 (finished)",
            "turn 2 (continued; request 1 of 3 for this message, turns 2 to 4)",
            "turn 3 (continued; request 2 of 3 for this message, turns 2 to 4)",
            "turn 4 (finished; request 3 of 3 for this message, turns 2 to 4)",
            "turn 5 (finished)",
        ]
        assert plain_text(promptuary.threads.undo()) == "turn 5 is taken back: Third"
        assert plain_text(promptuary.threads.undo()) == "turns 2 to 4 are taken back: Second"

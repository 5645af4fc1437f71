"""Answers that arrive bit by bit: what is sent, what is understood, and how each failure ends."""

import asyncio
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base import concurrency
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.config.api_keys import KeyPlace
from promptuary.models.chat.anthropic_chat import AnthropicChatModel
from promptuary.models.chat.event_stream import ServerEvent, server_events
from promptuary.models.chat.openai_chat import EndpointChatModel
from promptuary.models.chat_model import ChatEvent, ModelUsage, Retrying, Stopped, TextPiece
from promptuary.models.http import PostPolicy
from promptuary.testing.chat_server import BreaksOff, ChatServer, Fails, Garbles, Refuses, Reply, Says, Silent
from promptuary.testing.suites.streaming_model import asked, collected
from promptuary.workspace.web.http import CancelToken

POLICY = PostPolicy(timeout=5.0, attempts=3, pause=0.01)
KEY = "sk-nobody-may-see-this-one"


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def client(server: ChatServer, wire: str, policy: PostPolicy = POLICY, **options: Any) -> Any:
    if wire == "openai":
        return EndpointChatModel(server.openai_url, "some-model", policy=policy, **options)
    return AnthropicChatModel(server.anthropic_url, "some-model", policy=policy, **options)


def answered(wire: str, *replies: Reply, **options: Any) -> list[ChatEvent]:
    with ChatServer(replies) as server:
        return asyncio.run(collected(client(server, wire, **options), asked("Hello?")))


def text_of(events: list[ChatEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TextPiece))


def test_the_whole_prompt_is_sent_with_its_tools(wire: str) -> None:
    with ChatServer([Says("Hello.")]) as server:
        asyncio.run(collected(client(server, wire), asked("How are you?")))
    (request,) = server.asked

    sent = str(request["messages"]) + str(request.get("system"))
    assert all(text in sent for text in ("Be brief.", "Hello!", "It is Monday.", "How are you?"))
    assert request["stream"] is True
    assert request["max_tokens"] == 50
    assert "look" in str(request["tools"])


def test_the_cache_of_anthropic_may_end_after_the_standing_part_and_the_history() -> None:
    with ChatServer([Says("Hello.")]) as server:
        asyncio.run(collected(client(server, "anthropic"), asked("How are you?")))
    (request,) = server.asked

    assert request["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert str(request["messages"]).count("cache_control") == 1


def test_usage_is_told_with_what_came_from_the_cache(wire: str) -> None:
    events = answered(wire, Says("Hello.", usage=(1200, 30, 1000)))

    assert [one for one in events if isinstance(one, ModelUsage)][-1] == ModelUsage(1200, 30, 1000)


@pytest.mark.parametrize(("stop", "reason"), [("stop", "end"), ("length", "length"), ("content_filter", "refused")])
def test_why_an_answer_ended_is_told(wire: str, stop: str, reason: str) -> None:
    assert answered(wire, Says("Hello.", stop=stop))[-1] == Stopped(reason)  # type: ignore[arg-type]


def test_several_calls_of_tools_in_one_answer_stay_apart(wire: str) -> None:
    calls = [ToolCall(f"c{n}", "look", f'{{"path": "file-with-a-long-name-{n}.py"}}') for n in range(3)]

    events = answered(wire, Says("", calls))

    assert [one for one in events if isinstance(one, ToolCall)] == calls


def test_a_busy_service_is_asked_again(wire: str) -> None:
    busy = Refuses(429, "slow down", retry_after=0)

    assert text_of(answered(wire, busy, Refuses(503), Says("At last."))) == "At last."


def test_each_wait_for_a_busy_service_is_told_before_it_begins(wire: str) -> None:
    events = answered(wire, Refuses(429, "slow down", retry_after=1), Refuses(529, "overloaded"), Says("At last."))

    asked_again, busy = events[:2]
    assert isinstance(asked_again, Retrying)
    assert isinstance(busy, Retrying)
    assert asked_again.reason.endswith("is rate limiting (HTTP status 429: slow down)")
    assert asked_again.seconds == 1.0
    assert busy.reason.endswith("is busy (HTTP status 529: overloaded)")
    assert text_of(events) == "At last."


def test_whoever_leaves_while_a_busy_service_is_waited_for_leaves_at_once(wire: str) -> None:
    async def leave(server: ChatServer) -> None:
        events = client(server, wire, PostPolicy(timeout=60.0)).stream(asked("Hello?"))
        assert isinstance(await anext(events), Retrying)
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.1)
        waiting.cancel()
        await asyncio.wait([waiting])

    with ChatServer([Refuses(429, "slow down", retry_after=30)]) as server:
        began = time.monotonic()
        asyncio.run(leave(server))
        assert time.monotonic() - began < 20.0  # long before the service is asked again
        assert len(server.heads) == 1


def test_a_cancelled_connection_ends_a_wait_in_another_thread() -> None:
    cancel_token = CancelToken()
    waiting = concurrency.begin(lambda: cancel_token.wait(60.0))
    cancel_token.cancel()

    assert waiting.wait(5.0)
    assert waiting.result()


def test_a_service_that_stays_busy_is_told(wire: str) -> None:
    with pytest.raises(PromptuaryError, match=r"429: .*slow down"):
        answered(wire, Refuses(429, "slow down"))


def test_a_busy_service_is_not_waited_for_longer_than_the_timeout(wire: str) -> None:
    with ChatServer([Refuses(429, "slow down", retry_after=1)]) as server:
        with pytest.raises(PromptuaryError, match="asked 2 times"):
            asyncio.run(collected(client(server, wire, PostPolicy(timeout=1.5)), asked("Hello?")))

        assert len(server.heads) == 2


def test_a_wrong_key_is_told_and_never_shown(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    with ChatServer([Refuses(401, f"bad key {KEY}")]) as server:
        with pytest.raises(PromptuaryError, match="does not accept the key") as error:
            asyncio.run(collected(client(server, wire, key=KeyPlace("SOME_KEY")), asked("Hello?")))

        assert KEY in "".join(server.heads)
    assert KEY not in str(error.value)
    assert KEY not in repr(error.value.__cause__)


def test_a_key_that_is_not_set_is_asked_for(wire: str) -> None:
    with pytest.raises(ConfigError, match="set the environment variable NO_SUCH_KEY"):
        answered(wire, Says("Hello."), key=KeyPlace("NO_SUCH_KEY"))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Refuses(400, "no such field"), "answers with HTTP status 400: no such field"),
        (Refuses(429, "slow down", retry_after=90), "is rate limiting"),
        (Refuses(529, "overloaded"), "is busy"),
        (BreaksOff(), "closed the connection early"),
        (BreaksOff("Half"), "closed the connection early"),
        (BreaksOff("Half", reset=False), "closed the connection before the answer was complete"),
        (Garbles("Half"), "sends a malformed piece"),
        (Fails("Half", "overloaded"), "breaks off: overloaded"),
        (Silent(), "did not answer within"),
    ],
)
def test_every_failure_names_the_service_with_its_port(wire: str, reply: Reply, said: str) -> None:
    with ChatServer([reply]) as server, pytest.raises(PromptuaryError) as error:
        asyncio.run(collected(client(server, wire, PostPolicy(timeout=0.5, pause=0.01)), asked("Hello?")))
    name = server.anthropic_url.removeprefix("http://")

    assert str(error.value).startswith(f"{name} {said}")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (BreaksOff("Half an ans"), "closed the connection"),
        (BreaksOff("Half an ans", reset=False), "before the answer was complete"),
        (Garbles("Half an ans"), "malformed piece"),
        (Fails("Half an ans", "overloaded"), "breaks off: overloaded"),
    ],
)
def test_an_answer_that_breaks_off_keeps_what_arrived_and_says_why(wire: str, reply: Reply, said: str) -> None:
    arrived: list[str] = []

    async def listen() -> None:
        with ChatServer([reply]) as server:
            async for event in client(server, wire).stream(asked("Hello?")):
                arrived.extend([event.text] if isinstance(event, TextPiece) else [])

    with pytest.raises(PromptuaryError, match=said):
        asyncio.run(listen())
    assert "".join(arrived) == "Half an ans"


def test_a_silent_service_ends_in_a_sentence(wire: str) -> None:
    with pytest.raises(PromptuaryError, match="did not answer within"):
        answered(wire, Silent(), policy=PostPolicy(timeout=0.2, attempts=1))


def test_a_slow_answer_may_take_longer_than_the_limit_of_silence(wire: str) -> None:
    slow = Says("word " * 20, pause=0.06)

    assert text_of(answered(wire, slow, policy=PostPolicy(timeout=0.4, attempts=1))) == "word " * 20


def test_whoever_cancels_ends_the_connection_at_once(wire: str) -> None:
    async def listen() -> float:
        with ChatServer([Silent(30.0)]) as server:
            waiting = asyncio.ensure_future(collected(client(server, wire), asked("Hello?")))
            while not server.asked:  # noqa: ASYNC110  (the server is in other threads)
                await asyncio.sleep(0.01)
            began = time.monotonic()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return time.monotonic() - began

    assert asyncio.run(listen()) < 10


def test_a_model_that_only_talks_completes_too() -> None:
    with ChatServer([Says("yes")]) as server:
        model = AnthropicChatModel(server.anthropic_url, "some-model", policy=POLICY)

        assert asyncio.run(model.complete([{"role": "user", "content": "Is it so?"}], max_tokens=5)) == "yes"


def test_plain_http_leaves_this_machine_only_to_hosts_that_are_allowed(wire: str) -> None:
    model = EndpointChatModel if wire == "openai" else AnthropicChatModel
    with pytest.raises(PromptuaryError, match="use https"):
        asyncio.run(collected(model("http://192.0.2.1/v1", "m", policy=POLICY), asked("Hello?")))


@given(
    st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=8), max_size=6),
    st.data(),
)
def test_events_are_the_same_however_they_are_cut(texts: list[str], data: st.DataObject) -> None:
    ends = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    stream = "".join(f"event: e{ends}data: {text}{ends}{ends}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    bounds = [0, *cuts, len(stream)]

    found = list(server_events((stream[start:end] for start, end in pairwise(bounds)), "a.b"))

    assert found == [ServerEvent("e", text) for text in texts]


def test_a_line_that_never_ends_is_refused() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1_000_000

    with pytest.raises(PromptuaryError, match="an endless line"):
        list(server_events(endless(), "a.b"))

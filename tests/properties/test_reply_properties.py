"""What is sent as history can be given back as a reply: nothing is lost on the way, whoever the provider is."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import EMPTY, Message, Prompt
from promptuary.context.replies import reply_messages
from promptuary.models import render

TEXTS = st.text(max_size=30).filter(lambda text: text != EMPTY)
ARGUMENTS = st.dictionaries(
    st.text(max_size=5), st.integers() | TEXTS | st.lists(st.booleans(), max_size=2), max_size=3
)
ASKED: Message = {"role": "user", "content": "Go on."}


@st.composite
def replies(draw: st.DrawFn) -> list[Message]:
    """Generate what an agent's turn is made of: calls with their results, and last words."""
    said: list[Message] = []
    for step in range(draw(st.integers(0, 3))):
        count = draw(st.integers(1, 3))
        names = [f"call-{step}-{number}" for number in range(count)]
        calls: Any = [{"id": one, "name": draw(TEXTS), "arguments": _json(draw(ARGUMENTS))} for one in names]
        said.append({"role": "assistant", "content": draw(TEXTS), "tool_calls": calls})
        said += [_result(one, draw(TEXTS), draw(st.sampled_from([None, True, False]))) for one in names]
    last: list[Message] = [{"role": "assistant", "content": draw(TEXTS)}]
    return [*said, *(last if not said or draw(st.booleans()) else [])]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _result(call: str, content: str, failed: bool | None) -> Message:
    result: Message = {"role": "tool", "content": content, "tool_call_id": call}
    return result if failed is None else {**result, "is_error": failed}


def _failures_unsaid(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as OpenAI takes them: it has no place for whether a tool failed."""
    return [{key: value for key, value in one.items() if key != "is_error"} for one in messages]


@given(replies())
@example([{"role": "assistant", "content": ""}])
def test_a_reply_rendered_for_a_chat_completion_reads_back_as_it_was(said: list[Message]) -> None:
    sent = render.openai_chat(Prompt([], [ASKED, *said], [], ASKED))[1:-1]

    assert reply_messages(sent) == _failures_unsaid(said)


@given(replies())
@example([{"role": "assistant", "content": ""}])
def test_a_reply_rendered_for_a_response_reads_back_as_it_was(said: list[Message]) -> None:
    sent = render.openai_responses(Prompt([], [ASKED, *said], [], ASKED))[1:-1]

    assert reply_messages(sent) == _failures_unsaid(said)


@given(replies())
@example([{"role": "assistant", "content": ""}])
def test_a_reply_rendered_for_anthropic_reads_back_as_it_was(said: list[Message]) -> None:
    request = render.anthropic(Prompt([], [ASKED, *said], [], {"role": "developer", "content": "It is Monday."}))
    last = request["messages"][-1]["content"]
    assert last.pop()["text"] == "It is Monday."  # which stands in one message with the results of tools
    sent = [one for one in request["messages"][1:] if one["content"]]

    assert reply_messages(sent) == said
    assert reply_messages({"messages": sent}) == said


@given(replies())
def test_messages_as_a_turn_has_them_are_taken_as_they_are(said: list[Message]) -> None:
    assert reply_messages(said) == said


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "type", "content", "choices", "message", "output", "tool_calls", "id", "text"]),
            inner | st.sampled_from(["assistant", "tool", "user", "text", "tool_use", "message", "function_call"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_whatever_is_given_is_read_or_refused_in_words(answer: Any) -> None:
    try:
        messages = reply_messages(answer)
    except PromptuaryError:
        pass
    else:
        assert all(one["role"] in {"assistant", "tool"} and isinstance(one["content"], str) for one in messages)

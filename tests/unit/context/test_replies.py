"""Whatever a model answered, in whichever of the shapes that are about, is read as the same messages."""

from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from promptuary.base.errors import PromptuaryError
from promptuary.context.replies import reply_messages

CALLS = [
    {"id": "c1", "name": "read", "arguments": '{"path":"a.py"}'},
    {"id": "c2", "name": "read", "arguments": '{"path":"b.py"}'},
]
CALLING = {"role": "assistant", "content": "I look.", "tool_calls": CALLS}
RESULT = {"role": "tool", "content": "x = 1", "tool_call_id": "c1"}

CHAT_MESSAGE = {
    "role": "assistant",
    "content": "I look.",
    "refusal": None,
    "tool_calls": [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
        for one in CALLS
    ],
}
CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": CHAT_MESSAGE}
COMPLETION = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}

OUTPUT = [
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
    },
    {"type": "function_call", "call_id": "c1", "id": "f1", "name": "read", "arguments": '{"path":"a.py"}'},
    {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "function_call", "call_id": "c2", "id": "f2", "name": "read", "arguments": '{"path":"b.py"}'},
]
RESPONSE = {
    "id": "x",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "output": OUTPUT,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}

BLOCKS = [
    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py"}},
    {"type": "tool_use", "id": "c2", "name": "read", "input": {"path": "b.py"}},
]
MESSAGE = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": BLOCKS,
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}

ANTHROPIC = AnthropicMessage.model_validate(MESSAGE)
CHAT = ChatCompletion.model_validate(COMPLETION)
RESPONDED = Response.model_validate(RESPONSE)


@pytest.mark.parametrize(
    "answer",
    [
        CALLING,
        [CALLING],
        COMPLETION,
        CHOICE,
        CHAT_MESSAGE,
        CHAT,
        CHAT.choices[0],
        CHAT.choices[0].message,
        [CHAT.choices[0].message],
        RESPONSE,
        OUTPUT,
        RESPONDED,
        RESPONDED.output,
        MESSAGE,
        BLOCKS,
        ANTHROPIC,
        ANTHROPIC.content,
        [{"role": "assistant", "content": ANTHROPIC.content}],
        iter([CALLING]),
    ],
)
def test_an_answer_with_parallel_calls_is_one_message_in_whatever_shape_it_comes(answer: Any) -> None:
    assert reply_messages(answer) == [CALLING]


@pytest.mark.parametrize(
    "result",
    [
        RESULT,
        {
            "role": "tool",
            "content": [{"type": "text", "text": "x = "}, {"type": "text", "text": "1"}],
            "tool_call_id": "c1",
        },
        {"type": "function_call_output", "call_id": "c1", "output": "x = 1"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "x = 1"}]},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "x = 1"},
        {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x = 1"}]}],
        },
    ],
)
@pytest.mark.parametrize("answer", [CHAT, RESPONDED, ANTHROPIC, ANTHROPIC.content])
def test_the_steps_of_an_agent_may_be_in_any_shapes(answer: Any, result: Any) -> None:
    final = {"role": "assistant", "content": "It is 1."}

    assert reply_messages([answer, result, answer, result, final]) == [CALLING, RESULT, CALLING, RESULT, final]


def test_two_answers_in_a_row_are_two_messages() -> None:
    assert reply_messages([ANTHROPIC.content, ANTHROPIC.content]) == [CALLING, CALLING]
    assert reply_messages([RESPONDED, RESPONDED.output]) == [CALLING, CALLING]


def test_a_tool_that_failed_is_kept_as_one_that_failed() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}]

    assert reply_messages([{"role": "user", "content": blocks}]) == [
        {"role": "tool", "content": "no", "tool_call_id": "c1", "is_error": True}
    ]


def test_words_that_a_citation_cuts_are_one_sentence_and_words_around_a_search_are_paragraphs() -> None:
    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    texts = [{"type": "text", "text": one} for one in ("I look.", "It is ", "1", ".")]

    assert reply_messages([texts[0], searched, *texts[1:]]) == [{"role": "assistant", "content": "I look.\n\nIt is 1."}]
    assert reply_messages({"role": "assistant", "content": [texts[0], searched, *texts[1:]]}) == [
        {"role": "assistant", "content": "I look.\n\nIt is 1."}
    ]


@pytest.mark.parametrize(
    "refusal",
    [
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ],
)
def test_a_refusal_is_what_the_model_said(refusal: Any) -> None:
    assert reply_messages(refusal) == [{"role": "assistant", "content": "No."}]


def test_the_input_of_a_custom_tool_is_its_arguments() -> None:
    chat = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    loose = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"}
    call = {"id": "c1", "name": "sql", "arguments": "select 1"}

    for answer in ({"role": "assistant", "tool_calls": [chat]}, loose):
        assert reply_messages(answer) == [{"role": "assistant", "content": "", "tool_calls": [call]}]


def test_a_picture_that_a_tool_returned_leaves_a_mark() -> None:
    content = [{"type": "text", "text": "See "}, {"type": "image", "source": {"data": "…"}}]

    [message] = reply_messages({"type": "tool_result", "tool_use_id": "c1", "content": content})

    assert message["content"] == "See (image, not kept)"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "not nothing"),
        (5, "not int 5"),
        (b"Hello", "an object of type bytes"),
        (["Hello"], "not str 'Hello'"),
        ([[[[[[]]]]]], "an object of type list"),
        (AnthropicMessage, "type ModelMetaclass"),
        ({}, "a dict with nothing in it"),
        ({"text": "Hello"}, "a dict with 'text'"),
        ({"content": "nobody"}, "a dict with 'content'"),
        ({"role": "user", "content": "me again"}, "not of 'user': give what came after the prompt"),
        ({"role": "user", "content": [{"type": "text", "text": "me"}]}, "not of 'user'"),
        ({"role": "user", "content": []}, "not of 'user'"),
        ({"role": None, "content": "x"}, "not of None"),
        ({"role": "assistant", "content": 5}, "text or a list of parts, not int 5"),
        ({"role": "assistant", "content": ["x"]}, "a part of a message's content has a type, and is not str 'x'"),
        ({"role": "assistant", "content": [{"type": "text", "text": None}]}, "the text of a part of type 'text'"),
        ({"role": "assistant", "content": [{"type": "hologram"}]}, "a part of type 'hologram'"),
        ({"role": "assistant", "tool_calls": 5}, "the tool_calls of a message are not int 5"),
        ({"role": "assistant", "tool_calls": [{"id": "1", "name": "x"}]}, "a tool call has an id.*'id', 'name'"),
        ({"role": "assistant", "function_call": {"name": "x", "arguments": ""}}, "offer the function as a tool"),
        ({"role": "assistant", "refusal": ["no"]}, "the refusal of a message is text"),
        (
            {"role": "tool", "content": "x", "tool_call_id": 5},
            "the id of the call that a tool answers is text, not int",
        ),
        ({"role": "tool", "content": "x", "is_error": "no"}, "true or false, not str 'no'"),
        ({"type": "tool_result", "tool_use_id": "1", "content": [{"type": "hologram"}]}, "'hologram'"),
        ({"type": "function_call", "name": "x", "arguments": ""}, "here its id is nothing"),
        ({"type": "tool_use", "id": "1", "name": "x", "input": [1]}, "here its arguments is"),
        ({"type": "tool_use", "id": "1", "name": "x", "input": {"a": {1}}}, "not JSON"),
        ({"type": "shell_call", "call_id": "1"}, "type 'shell_call' is none of these"),
        ({"choices": []}, "0 choices"),
        ({"choices": [CHOICE, CHOICE]}, "2 choices; give the message of the one that you took"),
        ({"choices": [{"delta": {"content": "He"}}]}, "a chunk of a stream"),
        ({"choices": [{}]}, "a choice of a completion has a message"),
        ({"choices": [{"message": None}]}, "a message is not nothing"),
        ({"object": "response", "output": [], "error": {"message": "overloaded"}}, "overloaded"),
        ({"object": "response", "output": []}, "its output is empty"),
    ],
)
def test_what_is_no_reply_is_refused_with_what_it_was(answer: Any, told: str) -> None:
    with pytest.raises(PromptuaryError, match=told):
        reply_messages(answer)


def test_arguments_nested_beyond_reason_are_refused() -> None:
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"a": nested}
    with pytest.raises(PromptuaryError, match="not JSON"):
        reply_messages({"type": "tool_use", "id": "1", "name": "x", "input": nested})
    while nested:  # otherwise taking it down recurses just as deep
        nested = nested["a"]

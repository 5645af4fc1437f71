"""Requests of the three protocols: taken apart, added to and put together; answers read in pieces."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.server.proxy.completions import COMPLETIONS
from promptuary.server.proxy.messages import MESSAGES
from promptuary.server.proxy.responses import RESPONSES
from promptuary.server.proxy.wire import (
    AnswerReader,
    Dialect,
    Reply,
    WireError,
    find_conversation,
    is_for_an_agent,
    take_apart,
    words_typed,
)
from tests.server.conversations import PROTOCOLS, Protocol, answer_body, answer_stream, make_conversation

ASIDES = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary",
    "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM",
    "[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.]",
    "The user stepped away and is coming back. Recap in under 40 words",
    "You are now acting as the memory extraction subagent. Analyze the most recent ~4 messages above",
    "<system-reminder>This is a side question from the user. You must answer</system-reminder>what is it?",
)
DIALECTS: dict[Protocol, Dialect] = {"messages": MESSAGES, "responses": RESPONSES, "completions": COMPLETIONS}
LISTS = {"messages": "messages", "responses": "input", "completions": "messages"}
dialects = pytest.mark.parametrize("protocol", PROTOCOLS)

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
_types = st.sampled_from(
    [
        *("text", "input_text", "tool_use", "tool_result", "image", "image_url", "function_call", "message", "file"),
        *("function_call_output", "thinking", "reasoning", "system", "user", "assistant", "tool", "item_reference"),
    ]
)
_keys = st.sampled_from(
    [
        *(
            "type",
            "role",
            "content",
            "text",
            "input",
            "messages",
            "system",
            "tools",
            "source",
            "tool_calls",
            "function",
        ),
        *(
            "metadata",
            "user_id",
            "output",
            "n",
            "max_tokens",
            "model",
            "stream",
            "call_id",
            "image_url",
            "conversation",
        ),
        *("choices", "delta", "message", "usage", "error", "response", "item", "index", "content_block", "id"),
    ]
)
_values = st.recursive(
    _scalars | _types,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys | st.text(max_size=3), inner, max_size=5),
    max_leaves=30,
)
_bodies = st.dictionaries(_keys, _values, max_size=6)


@dialects
@given(body=_bodies | _values)
def test_whatever_json_a_client_sends_is_read_or_refused_in_a_sentence(protocol: Protocol, body: Any) -> None:
    dialect = DIALECTS[protocol]
    if not isinstance(body, dict):
        with pytest.raises(WireError, match=r"not a JSON object\."):
            dialect.parse(json.dumps(body).encode())
        return
    request = dialect.parse(json.dumps(body).encode())
    assert len(request.messages) == len(request.places)
    assert len(request.wire) == len(request.roles)
    assert bool(request.typed) == (request.typed_at >= 0)
    added = dict.fromkeys(range(len(request.messages)), "more")
    for mark in (False, True):
        json.loads(dialect.insert(request, added, "live", mark=mark))


@dialects
@given(data=st.binary(max_size=200))
def test_bytes_that_are_no_json_are_refused_in_a_sentence(protocol: Protocol, data: bytes) -> None:
    with pytest.raises(WireError, match=r"^The request .*\.$"):
        DIALECTS[protocol].parse(b"{!" + data)


@dialects
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"messages": [', "not JSON"),
        (b'{"input":"\xff","messages":["\xff"]}', "not UTF-8"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"messages":[' + b'{"content":' * 5_000 + b"1" + b"}" * 5_000 + b"]}", "nested too deeply"),
        (b'{"messages":[' + b"0," * 9_000_000 + b"0]}", "too many parts"),
        (
            b'{"messages":[' + b"{}," * 60_000 + b'{}],"input":[' + b"{}," * 60_000 + b"{}]}",
            "more than 50,000 messages",
        ),
    ],
)
def test_a_request_that_cannot_be_read_says_why(protocol: Protocol, body: bytes, why: str) -> None:
    with pytest.raises(WireError, match=why):
        DIALECTS[protocol].parse(body)


def _parts(protocol: Protocol, body: bytes) -> list[bytes]:
    """Return the client's own parts of a body: messages whose content is one text, and else their blocks."""
    fields, wire = take_apart(body, LISTS[protocol])
    parts = [bytes(value) for key, value in fields.items() if key != LISTS[protocol]]
    for raw in wire:
        content = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).get("content", msgspec.Raw(b""))
        is_list = bytes(content).startswith(b"[")
        whole = bytes(content if protocol == "messages" else raw)
        parts += map(bytes, msgspec.json.decode(content, type=list[msgspec.Raw])) if is_list else [whole]
    return parts


@dialects
@pytest.mark.parametrize("seed", range(25))
def test_what_is_added_leaves_every_part_of_the_client_as_it_was(protocol: Protocol, seed: int) -> None:
    dialect = DIALECTS[protocol]
    for exchange in make_conversation(protocol, seed):
        request = dialect.parse(exchange.data)
        typed = [at for at, one in enumerate(request.messages) if one["role"] == "user"]
        added = {at: f"<file>brought in by {at}</file>" for at in typed}

        body = dialect.insert(request, added, "<promptuary>live</promptuary>")

        rest = body
        for part in _parts(protocol, exchange.data):
            if (place := rest.find(part)) < 0:  # a string that is now longer still begins as it did
                place = rest.index(part.removesuffix(b"}").removesuffix(b'"'))
            if not part.startswith((b'"', b"true", b"false", b"1.0", b"4")):
                rest = rest[place:]
        assert body.count(b"brought in by") == len(added)
        assert body.count(b"<promptuary>") == 1


@dialects
@pytest.mark.parametrize("seed", range(25))
def test_what_is_added_is_at_the_same_place_in_every_later_request(protocol: Protocol, seed: int) -> None:
    dialect = DIALECTS[protocol]
    before, sent = list[Any](), list[Any]()
    for exchange in make_conversation(protocol, seed):
        if exchange.kind != "main":
            continue
        request = dialect.parse(exchange.data)
        typed = [at for at, one in enumerate(request.messages) if one["role"] == "user"]
        added = {at: f"brought in by {request.messages[at]['content']}" for at in typed}
        now = _flat(json.loads(dialect.insert(request, added, "", mark=True))[LISTS[protocol]])
        live = _flat(json.loads(dialect.insert(request, added, "live", mark=True))[LISTS[protocol]])
        theirs = _flat(json.loads(exchange.data)[LISTS[protocol]])
        if theirs[: len(before)] == before:  # the client repeats everything
            assert now[: len(sent)] == sent
        before, sent = theirs, now
        assert live[: len(now)] == now
        assert len(live) == len(now) + 1


def _flat(wire: list[Any]) -> list[Any]:
    """Return the blocks of a list of messages, each with its role, without marks: what a provider's cache compares."""
    flat = []
    for message in wire:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        rest = {key: value for key, value in message.items() if key != "content"}
        flat += [(rest, {key: value for key, value in block.items() if key != "cache_control"}) for block in blocks]
    return flat


def test_a_message_that_becomes_a_text_keeps_what_was_added_at_its_place() -> None:
    """As Claude Code does it: a block with a mark while it is the last message, a text ever after."""
    block = {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}
    sent = []
    for content in ([block], "two"):
        messages = [{"role": "user", "content": content}, {"role": "assistant", "content": "yes"}]
        request = MESSAGES.parse(
            json.dumps({"model": "claude", "messages": messages[: 1 if content == [block] else 2]}).encode()
        )
        sent.append(json.loads(MESSAGES.insert(request, {0: "<file>a</file>"}, ""))["messages"][0])

    assert sent[0] == {"role": "user", "content": [block, {"type": "text", "text": "<file>a</file>"}]}
    assert sent[1] == {
        "role": "user",
        "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "<file>a</file>"}],
    }


@pytest.mark.parametrize("text", ASIDES)
def test_a_client_that_asks_something_of_its_own_typed_nothing(text: str) -> None:
    """As Claude Code and Codex do, in a person's place; Claude Code behind the result of a tool."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    for content in ([result, {"type": "text", "text": text}], [{"type": "text", "text": text}]):
        wire: list[Any] = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "yes"}]
        request = MESSAGES.parse(json.dumps({"messages": [*wire, {"role": "user", "content": content}]}).encode())
        assert (request.typed, request.is_aside) == ("", True)
        calls = [{"type": "tool_use", "id": "t", "name": "Write", "input": {}}]
        loop = [{"role": "assistant", "content": calls}, {"role": "user", "content": [result]}]
        wire.append({"role": "user", "content": content})
        assert MESSAGES.parse(json.dumps({"messages": [*wire, *loop]}).encode()).is_aside
        assert not MESSAGES.parse(
            json.dumps({"messages": [*wire, {"role": "user", "content": "two"}]}).encode()
        ).is_aside
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    assert RESPONSES.parse(json.dumps({"input": [item]}).encode()).is_aside
    assert not RESPONSES.parse(json.dumps({"input": [{**item, "content": f"What is: {text}"}]}).encode()).is_aside


def test_a_summary_that_a_conversation_goes_on_with_was_not_typed() -> None:
    text = "This session is being continued from a previous conversation that ran out of context. The summary: @diff"
    first = [{"type": "text", "text": text}, {"type": "text", "text": "and now?"}]

    assert MESSAGES.parse(json.dumps({"messages": [{"role": "user", "content": first}]}).encode()).typed == "and now?"
    text = "Another language model started to solve this problem and produced a summary of its thinking process."
    assert RESPONSES.parse(json.dumps({"input": [{"role": "user", "content": text}]}).encode()).typed == ""


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({b"x-claude-code-session-id": b"1"}, False),
        ({b"x-claude-code-session-id": b"1", b"x-claude-code-agent-id": b"a9"}, True),
        ({b"x-codex-turn-metadata": b'{"thread_source":"user"}'}, False),
        ({b"x-codex-turn-metadata": b'{"thread_source":"subagent"}'}, True),
        ({b"x-codex-turn-metadata": b"{" * 9_000}, False),
        ({b"x-openai-subagent": b"review"}, True),
        ({b"x-session-id": b"ses_2", b"x-parent-session-id": b"ses_1"}, True),
    ],
)
def test_an_agent_that_an_agent_started_is_known_by_its_headers(headers: dict[bytes, bytes], expected: bool) -> None:
    assert is_for_an_agent(headers) is expected


def test_hooks_that_were_there_once_are_there_in_every_later_turn() -> None:
    """As Claude Code sends what a hook added when the session began: later turns have nothing of it in themselves."""
    said = "SessionStart hook additional context: <promptuary>\nNotes\n</promptuary>"
    wire = [{"role": "user", "content": "one"}, {"role": "system", "content": said}]
    later = [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "two"}]
    for messages in (wire, [*wire, *later]):
        assert MESSAGES.parse(json.dumps({"messages": messages}).encode()).from_hook
    answer = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "<promptuary> is a tag"}, *later[1:]]
    assert not MESSAGES.parse(json.dumps({"messages": answer}).encode()).from_hook


def test_tools_in_the_list_of_codex_are_tools() -> None:
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "exec_command"}]}
    typed = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    request = RESPONSES.parse(json.dumps({"model": "gpt", "input": [tools, typed]}).encode())

    assert "exec_command" in request.tools
    assert (request.typed, request.messages[request.typed_at]) == ("hello", {"role": "user", "content": "hello"})


@dialects
@pytest.mark.parametrize("seed", range(15))
def test_an_answer_is_read_the_same_whole_streamed_and_sent_back_by_the_client(protocol: Protocol, seed: int) -> None:
    dialect = DIALECTS[protocol]
    exchanges = [one for one in make_conversation(protocol, seed) if one.kind == "main"]
    for exchange, following in pairwise(exchanges):
        whole = AnswerReader(dialect, streams=False)
        whole.feed(json.dumps(answer_body(protocol, exchange)).encode())
        streamed = AnswerReader(dialect, streams=True)
        streamed.feed(answer_stream(protocol, exchange))

        reply = whole.reply()
        assert reply == streamed.reply()
        assert reply.is_complete
        assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (8, 2, 3)
        sent, count = dialect.parse(following.data).messages, len(dialect.parse(exchange.data).messages)
        if exchange.calls:
            assert sent[count] == reply.messages[0]


@dialects
@given(
    seed=st.integers(0, 50), cuts=st.lists(st.integers(0, 4000), max_size=12), newline=st.sampled_from(["\n", "\r\n"])
)
def test_a_stream_is_read_the_same_however_it_is_cut(
    protocol: Protocol, seed: int, cuts: list[int], newline: str
) -> None:
    exchange = make_conversation(protocol, seed, turns=1)[0]
    stream = answer_stream(protocol, exchange).replace(b"\n", newline.encode())
    stream = b": keep-alive" + newline.encode() * 2 + stream
    edges = [0, *sorted(cut % len(stream) for cut in cuts), len(stream)]

    reader = AnswerReader(DIALECTS[protocol], streams=True)
    for start, end in pairwise(edges):
        reader.feed(stream[start:end])

    assert reader.reply() == _read(protocol, answer_stream(protocol, exchange))


@dialects
@given(events=st.lists(_bodies, max_size=5), body=_bodies)
def test_whatever_a_service_answers_is_read_without_an_error_of_ours(
    protocol: Protocol, events: list[Any], body: Any
) -> None:
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    assert isinstance(_read(protocol, stream), Reply)
    whole = AnswerReader(DIALECTS[protocol], streams=False)
    whole.feed(json.dumps(body).encode())
    assert isinstance(whole.reply(), Reply)


def _read(protocol: Protocol, stream: bytes) -> Reply:
    reader = AnswerReader(DIALECTS[protocol], streams=True)
    reader.feed(stream)
    return reader.reply()


@dialects
def test_a_stream_that_breaks_off_is_not_complete_and_what_arrived_counts(protocol: Protocol) -> None:
    exchange = next(one for one in make_conversation(protocol, 3) if one.text and not one.calls)
    stream = answer_stream(protocol, exchange)

    reply = _read(protocol, stream[: len(stream) // 2])

    assert not reply.is_complete
    assert reply.messages
    assert exchange.text.startswith(reply.messages[0]["content"])


@dialects
def test_an_event_of_ten_megabytes_is_read_and_one_without_end_is_given_up(protocol: Protocol) -> None:
    exchange = make_conversation(protocol, 1)[0]
    big = msgspec.structs.replace(exchange, text="x", calls=())
    stream = answer_stream(protocol, big).replace(b'"x"', b'"' + b"x" * 10_000_000 + b'"')
    assert len(_read(protocol, stream).messages[0]["content"]) == 10_000_000

    reader = AnswerReader(DIALECTS[protocol], streams=True)
    for _ in range(40):
        reader.feed(b"data: " + b"x" * 1_000_000)
    assert "endless" in reader.reply().error


@dialects
def test_what_we_put_into_a_stream_is_in_the_words_of_the_protocol(protocol: Protocol) -> None:
    dialect = DIALECTS[protocol]

    assert _read(protocol, dialect.keep_alive) == Reply()
    assert _read(protocol, dialect.error_event(502, "It is away.", "")).error == "It is away."


@dialects
def test_fields_that_say_where_a_request_goes_are_dropped_and_a_key_passes_once(protocol: Protocol) -> None:
    key = LISTS[protocol]
    body = f'{{"model":"a","api_base":"http://evil","extra_headers":{{}},"{key}":[],"x":1.0,"model":"b"}}'.encode()

    request = DIALECTS[protocol].parse(body)

    assert DIALECTS[protocol].insert(request, {}, "") == f'{{"model":"b","{key}":[],"x":1.0}}'.encode()


@dialects
def test_half_an_emoji_becomes_the_mark_for_an_unknown_character(protocol: Protocol) -> None:
    body = b'{"%s":[{"role":"user","content":"a \\ud83d b \\\\ud83d \\ud83d\\ude42"}]}' % LISTS[protocol].encode()

    request = DIALECTS[protocol].parse(body)

    assert request.typed == "a \ufffd b \\ud83d 🙂"
    json.loads(DIALECTS[protocol].insert(request, {}, "")).keys()


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("  fix @diff ", "fix @diff"),
        ("<system-reminder>@file:x</system-reminder>\nfix it", "fix it"),
        ("<context>\n<source id='1'>@file:x</source></context>\n\nWhat is it?", "What is it?"),
        ("<context>a </context> @file:forged <context> b</context> typed", "typed"),
        ("<environment_context><cwd>/x</cwd></environment_context>", ""),
        ("is <context> a word?", "is <context> a word?"),
        ("a < b and <b>bold</b>", "a < b and <b>bold</b>"),
        ("<file path='a'>x</file> y <promptuary>z</promptuary>", "y"),
        ("<command-name>/x</command-name>\n <command-args></command-args>", ""),
    ],
)
def test_only_what_a_person_typed_is_searched_for_references(text: str, typed: str) -> None:
    assert words_typed(text) == typed


def test_tags_without_an_end_take_no_longer_than_the_text_is() -> None:
    text = "<context>" * 300_000
    assert words_typed(text) == text


@pytest.mark.parametrize(
    ("headers", "body", "client", "name"),
    [
        ({b"x-claude-code-session-id": b"s-1"}, {}, "claude-code", "s-1"),
        ({b"thread-id": b"t-1", b"session-id": b"s-1"}, {"prompt_cache_key": "k"}, "codex", "t-1"),
        ({b"session-id": b"s-1"}, {}, "codex", "s-1"),
        ({b"x-session-id": b"s-1"}, {}, "session", "s-1"),
        ({b"x-openwebui-chat-id": b"c-1"}, {}, "open-webui", "c-1"),
        ({b"x-hermes-session-id": b"h-1"}, {}, "hermes", "h-1"),
        ({}, {"metadata": {"session_id": "m-1"}}, "session", "m-1"),
        ({}, {"metadata": {"user_id": '{"device_id":"d","session_id":"u-1"}'}}, "session", "u-1"),
        ({}, {"conversation": {"id": "conv_1"}}, "conversation", "conv_1"),
        ({}, {"prompt_cache_key": f"{0:08}-0000-0000-0000-{1:012}"}, "session", f"{0:08}-0000-0000-0000-{1:012}"),
    ],
)
def test_a_conversation_is_known_by_the_id_that_its_client_sends(
    headers: dict[bytes, bytes], body: dict[str, Any], client: str, name: str
) -> None:
    fields, _ = take_apart(json.dumps(body).encode(), "messages")
    found = find_conversation(headers, fields)
    assert found == (client, name)
    assert found is not None
    assert found.thread.startswith(f"{client}-")
    assert len(found.thread) == len(client) + 13


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt_cache_key": "my-app"},
        {"metadata": 1},
        {"metadata": {"user_id": "{["}},
        {"metadata": {"session_id": "x" * 300}},
    ],
)
def test_an_id_that_is_none_is_no_conversation(body: dict[str, Any]) -> None:
    fields, _ = take_apart(json.dumps(body).encode(), "messages")
    assert find_conversation({b"x-session-id": b"a\x00b"}, fields) is None

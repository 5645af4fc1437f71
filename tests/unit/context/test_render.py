"""One prompt, in the words of each provider."""

from promptuary.base.messages import Message, Prompt
from promptuary.models.render import FORMS, anthropic, openai_chat, openai_responses, plain_text

CALL: Message = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "name": "read", "arguments": '{"path": "a.py"}'}],
}
PROMPT = Prompt(
    stable=[{"role": "developer", "content": "Be brief."}, {"role": "developer", "content": "# Referenced Files"}],
    history=[
        {"role": "user", "content": "Hello"},
        CALL,
        {"role": "tool", "content": "x = 1", "tool_call_id": "c1"},
        {"role": "assistant", "content": "It is 1."},
    ],
    live=[{"role": "developer", "content": "It is Monday."}],
    message={"role": "user", "content": "And now?"},
)


def test_a_chat_completion_keeps_roles_and_spells_tool_calls_out() -> None:
    messages = openai_chat(PROMPT)

    assert [message["role"] for message in messages] == [
        "developer",
        "developer",
        "user",
        "assistant",
        "tool",
        "assistant",
        "developer",
        "user",
    ]
    assert messages[3]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
    ]
    assert messages[4] == {"role": "tool", "content": "x = 1", "tool_call_id": "c1"}


def test_only_anthropic_is_told_that_a_tool_failed() -> None:
    failed: Message = {"role": "tool", "content": "no", "tool_call_id": "c1", "is_error": True}
    prompt = Prompt([], [{"role": "user", "content": "Hello"}, CALL, failed], [], PROMPT.message)

    assert anthropic(prompt)["messages"][2]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": "no",
        "is_error": True,
        "cache_control": {"type": "ephemeral"},
    }
    others = (openai_chat(prompt), openai_responses(prompt), plain_text(prompt))
    assert not any("is_error" in str(one) for one in others)


def test_a_response_is_made_of_typed_items() -> None:
    items = openai_responses(PROMPT)

    assert items[0] == {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "Be brief."}],
    }
    assert items[3] == {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a.py"}'}
    assert items[4] == {"type": "function_call_output", "call_id": "c1", "output": "x = 1"}
    assert items[5]["content"] == [{"type": "output_text", "text": "It is 1."}]


def test_anthropic_gets_a_system_alternating_roles_and_marks_where_a_cache_may_end() -> None:
    request = anthropic(PROMPT)
    mark = {"type": "ephemeral"}

    assert request == {
        "system": [
            {"type": "text", "text": "Be brief."},
            {"type": "text", "text": "# Referenced Files", "cache_control": mark},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is 1.", "cache_control": mark}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "It is Monday."}, {"type": "text", "text": "And now?"}],
            },
        ],
    }


def test_arguments_that_are_no_object_are_still_sent_as_one() -> None:
    for written in ("not json", "[1]", "3"):
        call: Message = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "name": "n", "arguments": written}],
        }
        block = anthropic(Prompt([], [call], [], {"role": "user", "content": "x"}))["messages"][1]["content"][0]
        assert set(block["input"]) == {"arguments"}


def test_plain_text_names_who_speaks() -> None:
    assert plain_text(PROMPT).startswith("[developer]\nBe brief.\n\n[developer]\n# Referenced Files\n\n[user]\nHello")
    assert '(calls read with {"path": "a.py"})' in plain_text(PROMPT)


def test_every_provider_renders_a_prompt_with_nothing_but_a_message() -> None:
    prompt = Prompt([], [], [], {"role": "user", "content": "Hi"})
    for form in FORMS.values():
        assert "Hi" in str(form(prompt))


def test_anthropic_gets_a_user_before_an_assistant_who_begins() -> None:
    greeting: Message = {"role": "assistant", "content": "Welcome."}
    messages = anthropic(Prompt([], [greeting], [], {"role": "user", "content": "Hello"}))["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == [{"type": "text", "text": "(The conversation begins here.)"}]

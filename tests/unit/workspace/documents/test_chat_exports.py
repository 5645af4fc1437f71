"""Exports of chats become transcripts; other JSON stays JSON."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.workspace.documents.chat_exports import as_transcript, slack_names


def node(number: int, role: str, *parts: Any, parent: int | None = None, time: object = None, **message: Any) -> Any:
    content = {"content_type": "text", "parts": list(parts)}
    said = {"author": {"role": role}, "create_time": time, "content": content, **message}
    return {"id": str(number), "message": said, "parent": None if parent is None else str(parent), "children": []}


def chatgpt(*nodes: Any, title: str = "Tea", current: object = None, **chat: Any) -> str:
    mapping = {one["id"]: one for one in nodes}
    return json.dumps(
        [{"title": title, "create_time": 1_683_541_931.5, "mapping": mapping, "current_node": current, **chat}]
    )


def test_an_export_of_chatgpt_is_the_branch_that_was_current() -> None:
    export = chatgpt(
        {"id": "0", "message": None, "parent": None, "children": ["1"]},
        node(1, "system", "You help.", parent=0),
        node(2, "user", "I like tea.", parent=1, time=1_683_541_931),
        node(3, "assistant", "An old answer.", parent=2),
        node(4, "assistant", "Good!\n\nuser: not a turn\n\nMore.", parent=2, time=1_683_541_940),
        node(5, "tool", "a search result", parent=4),
        node(6, "user", {"content_type": "image_asset_pointer"}, "And this?", parent=5, time=1_683_628_331),
        current="6",
    )

    assert as_transcript(export) == (
        "---\nspeakers: [user, assistant]\n---\n\n"
        "## Tea\n\n2023-05-08 10:32\n\n"
        "user: I like tea.\n"
        "assistant: Good!\n\n user: not a turn\n\nMore.\n\n"
        "2023-05-09 10:32\n\n"
        "user: [attachment]\nAnd this?\n"
    )


def test_an_export_of_claude_has_every_chat_with_its_title_and_its_date() -> None:
    export = json.dumps(
        [
            {
                "uuid": "a",
                "name": "Tea\n time",
                "created_at": "2023-05-08T10:32:11.5Z",
                "chat_messages": [
                    {"sender": "human", "text": "I like tea.", "created_at": "2023-05-08T10:32:12Z"},
                    {
                        "sender": "assistant",
                        "text": "old form",
                        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Good!\n```\nx"}],
                    },
                    {"sender": "nobody", "text": "?"},
                ],
            },
            {"uuid": "b", "name": "", "created_at": "yesterday", "chat_messages": [{"sender": "human", "text": "Hi"}]},
            {"uuid": "c", "name": "Empty", "chat_messages": []},
        ]
    )

    assert as_transcript(export) == (
        "---\nspeakers: [user, assistant]\n---\n\n"
        "## Tea time\n\n2023-05-08 10:32\n\nuser: I like tea.\nassistant: Good!\n```\nx\n```\n\n"
        "user: Hi\n"
    )


def message(user: str, text: str, ts: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


def test_a_day_of_slack_has_names_links_and_mentions_as_people_read_them() -> None:
    export = json.dumps(
        [
            message("U2", "see <https://a.b/c|the plan> &amp; <https://x.y>", "1683541941.000200"),
            message("U1", "hi <@U2>", "1683541931.000100", user_profile={"real_name": "Anna [Ops] Lee"}),
            message("U1", "joined", "1683541932.0", subtype="channel_join"),
        ]
    )
    asked: list[int] = []

    def names() -> Mapping[str, str]:
        asked.append(1)
        return slack_names('[{"id": "U2", "name": "ben", "profile": {"real_name": ""}}, 7]')

    assert as_transcript(export, names) == (
        "---\nspeakers: [Anna Ops Lee, ben]\n---\n\n"
        "2023-05-08 10:32\n\nAnna Ops Lee: hi @ben\nben: see the plan (https://a.b/c) & https://x.y\n"
    )
    assert asked == [1]


def test_names_are_not_asked_for_if_every_message_has_one() -> None:
    export = json.dumps([message("U1", "hi", "1683541931.0001", user_profile={"display_name": "Anna"})])

    def names() -> Mapping[str, str]:
        raise AssertionError

    assert "Anna: hi\n" in str(as_transcript(export, names))


def test_a_thread_of_ours_is_a_transcript_too() -> None:
    history = [
        {"id": 1, "kind": "message", "pinned": False, "role": "user", "content": "I like tea."},
        {"id": 2, "kind": "message", "pinned": False, "role": "tool", "content": "{}"},
        {"id": 3, "kind": "message", "pinned": False, "role": "assistant", "content": "Good!"},
    ]
    turn = {"turn": 3, "status": "done", "created": "2023-05-08T10:32:00+00:00", "user": "x", "text": "Hi", "drift": []}

    assert as_transcript(json.dumps(history)) == (
        "---\nspeakers: [user, assistant]\n---\n\n## Thread\n\nuser: I like tea.\nassistant: Good!\n"
    )
    assert (
        as_transcript(json.dumps(turn)) == "---\nspeakers: [user]\n---\n\n## Turn 3\n\n2023-05-08 10:32\n\nuser: Hi\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[1]",
        '"mapping"',
        '{"mapping": {}}',
        '{"title": "x", "mapping": []}',
        '[{"title": "x", "create_time": 1, "mapping": {}}, {"other": 1}]',
        '{"title": "x", "create_time": 1, "mapping": {"a": 1}}',
        '[{"chat_messages": []}]',
        '[{"type": "message", "ts": 5, "user": "U1", "text": "x"}]',
        '[{"type": "message", "ts": "now", "user": "U1", "text": "x"}]',
        '[{"type": "event", "ts": "1683541931.0001", "user": "U1", "text": "x"}]',
        '{"pinned": true, "id": 1}',
        '[{"title": "x", "mapping": {}',
        '"mapping" ' + "[" * 200_000,
        '[{"title": "x", "mapping": ' + "[" * 200_000,
        '[{"title": "x", "mapping": {}, "n": ' + "1" * 10_000 + "}]",
        '[{"title": "x", "mapping": {}, "n": ' + '{"a":' * 100_000,
    ],
    ids=lambda text: text[:30],
)
def test_json_of_another_shape_is_left_alone(text: str) -> None:
    assert as_transcript(text) is None


def test_parents_that_are_a_circle_end() -> None:
    export = chatgpt(node(1, "user", "a", parent=2), node(2, "assistant", "b", parent=1), current="1")

    assert "assistant: b\nuser: a\n" in str(as_transcript(export))


@pytest.mark.parametrize("time", [1e308, -1e308, float("nan"), float("inf"), 10**400, True, [], "x" * 99, -5, None])
def test_a_time_that_cannot_be_is_none(time: object) -> None:
    export = chatgpt(node(1, "user", "hi", time=time), current="1", create_time=time)

    assert as_transcript(export) in {None, "---\nspeakers: [user]\n---\n\n## Tea\n\nuser: hi\n"}


@pytest.mark.parametrize("odd", [[], {}, None, 5])
def test_values_of_another_type_are_passed_over(odd: object) -> None:
    said = [{"sender": odd, "text": "x"}, {"sender": "human", "text": odd}, {"sender": "human", "text": "hi"}]
    claude = json.dumps([{"uuid": odd, "name": odd, "created_at": odd, "chat_messages": [*said, odd]}])
    slack = json.dumps([message("U1", "hi", "1683541931.0001", subtype=odd, user_profile=odd)])
    strange = node(1, "user", odd, "hi", metadata=odd)
    other = {"id": "2", "message": {"author": {"role": odd}, "content": {"content_type": odd}}, "parent": "1"}

    assert "user: hi\n" in str(as_transcript(claude))
    assert str(as_transcript(slack)).startswith("---\nspeakers: [")
    assert "user: hi\n" in str(as_transcript(chatgpt(strange, other, current="2"))).replace("[attachment]\n", "")


def test_what_has_no_messages_is_an_empty_transcript() -> None:
    assert as_transcript(chatgpt(node(1, "system", "x"))) == "---\nspeakers: []\n---\n"


KEYS = (
    *(
        "title",
        "mapping",
        "message",
        "author",
        "role",
        "content",
        "parts",
        "parent",
        "uuid",
        "sender",
        "text",
        "subtype",
    ),
    *("chat_messages", "type", "ts", "user", "profile", "1", "current_node", "content_type", "metadata", "turn", "id"),
)
VALUES = ("message", "user", "assistant", "human", "text", "1683541931.0001", "1")
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(VALUES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)


@given(st.lists(SHAPES, max_size=3), st.sampled_from(["mapping", "chat_messages", "none"]))
def test_no_shape_of_json_is_an_error(whole: list[Any], key: str) -> None:
    given_shape = [{"title": "x", "create_time": 1, "uuid": "y", key: one} for one in whole] if key != "none" else whole
    found = as_transcript(json.dumps(given_shape))

    assert found is None or found.startswith("---\nspeakers: [")

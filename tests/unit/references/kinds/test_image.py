"""Images: sent as parts of a message to models that take them, at the cost that the provider's rule gives."""

from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.models.function import FunctionModel

from promptuary.base.blocks import LARGEST_IMAGE, MOST_IMAGE_BYTES, MOST_IMAGES, Detail
from promptuary.base.errors import Code
from promptuary.base.messages import message_cost
from promptuary.blocking import Promptuary
from promptuary.models.chat.anthropic_chat import AnthropicChatModel
from promptuary.models.chat.openai_chat import EndpointChatModel
from promptuary.models.chat.pydantic_ai_chat import PydanticAiModel
from promptuary.models.http import PostPolicy
from promptuary.testing.chat_server import ChatServer, Says
from promptuary.tokens.counting import Counter, image_rule
from promptuary.workspace.documents.image_header import ImageHeader, image_header
from tests.conftest import Files
from tests.images import IMAGES, gif, png


def opened(project: Path, model: str = "gpt-4o", **settings: Any) -> Promptuary:
    return Promptuary.open(project, model=model, exact=True, embedder="none", **settings)


@pytest.mark.parametrize("name", IMAGES)
def test_the_type_and_size_of_an_image_are_told_by_its_first_bytes(name: str) -> None:
    made, media_type = IMAGES[name]
    data = made(640, 480)

    assert image_header(data) == ImageHeader(media_type, 640, 480)
    assert [image_header(data[:length]) for length in range(20)] == [None] * 20 or name == "a.gif"


@given(st.sampled_from([made(3, 2)[:16] for made, _ in IMAGES.values()]), st.binary(max_size=80))
def test_no_bytes_upset_whoever_asks_for_the_size(begin: bytes, rest: bytes) -> None:
    found = image_header(begin + rest)
    assert found is None or (found.width > 0 and found.height > 0)


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1_105),
        ("openai/gpt-4o-2024-08-06", (512, 512), 255),
        ("gpt-4o-mini", (512, 512), 8_500),
        ("gpt-5", (512, 512), 210),
        ("o3", (512, 512), 225),
        ("gpt-4.1-mini", (1024, 1024), 1_659),
        ("o4-mini", (1800, 2400), 2_498),
        ("claude-sonnet-4", (1000, 1000), 1_334),
        ("claude-sonnet-4", (200, 200), 54),
        ("claude-opus-4", (8000, 8000), 1_600),
        ("gemini-2.5-pro", (300, 200), 258),
        ("gemini-2.5-pro", (1000, 1000), 1_032),
    ],
)
def test_an_image_costs_what_the_rule_of_its_provider_says(model: str, size: tuple[int, int], tokens: int) -> None:
    rule = image_rule(model)

    assert rule is not None
    assert rule(*size) == tokens


@given(
    st.sampled_from(["gpt-4o", "gpt-4.1-mini", "claude-3", "gemini-2"]), st.integers(1, 8_000), st.integers(1, 8_000)
)
def test_every_size_has_a_cost_with_a_bound(model: str, width: int, height: int) -> None:
    rule = image_rule(model)

    assert rule is not None
    assert 0 < rule(width, height) <= 258 * 11 * 11


@pytest.mark.parametrize("name", IMAGES)
def test_every_provider_gets_the_bytes_of_the_file_before_the_text(name: str, files: Files) -> None:
    data, media_type = IMAGES[name][0](640, 480), IMAGES[name][1]
    with opened(files({name: data})) as promptuary:
        expansion = promptuary.expand(f"What is in @file:{name}?")
        chat, responses, claude, text = (
            promptuary.render(expansion, provider) for provider in ("openai", "openai-responses", "anthropic", "text")
        )

    image, words = chat[0]["content"]
    assert image["type"] == "image_url"
    url = image["image_url"]["url"]
    assert url.startswith(f"data:{media_type};base64,")
    assert b64decode(url.partition(",")[2]) == data
    assert words == {"type": "text", "text": expansion.messages[0]["content"]}
    assert responses[0]["content"][0] == {"type": "input_image", "image_url": url}
    source = claude["messages"][0]["content"][0]["source"]
    assert (source["type"], source["media_type"], b64decode(source["data"])) == ("base64", media_type, data)
    assert f"(The image {name} is not shown: this form has text alone.)" in text
    (outcome,) = expansion.outcomes
    assert (outcome.status, outcome.detail) == ("included", Detail.FULL)
    assert f"@file:{name} ({outcome.tokens} tokens); image;" in expansion.messages[0]["content"]


def test_what_is_counted_is_what_is_sent_in_every_request_of_a_turn(files: Files) -> None:
    with opened(files({"a.png": png(1024, 1024), "b.gif": gif(512, 512), "c.md": "word\n"})) as promptuary:
        turn = promptuary.threads.prepare("Compare @file:a.png, @file:b.gif and @file:c.md")
        call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        said: list[dict[str, Any]] = [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "nothing"},
        ]
        further = promptuary.threads.extend(turn, said)

        for one in (turn, further):
            counted = sum(message_cost(message, Counter()) for message in one.messages)
            assert counted == one.receipt.tokens
            assert sum(entry.tokens for entry in one.receipt.entries if entry.layer == "references") > 765 + 255
            assert [part["type"] for part in one.render("openai")[-3 if one is further else -1]["content"]] == [
                "image_url",
                "image_url",
                "text",
            ]


def test_a_later_message_shows_it_again_and_the_ledger_has_no_byte_of_it(files: Files) -> None:
    project = files({"a.png": png(640, 480)})
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("What is in @file:a.png?")
        data = turn.messages[-1]["images"][0]["data"]
        promptuary.threads.finish(turn, "A grey field.")
        later = promptuary.threads.prepare("And the colour?")
        replay = promptuary.threads.replay(number=2)
        rows = promptuary.threads.audit("a.png").rows

        assert later.prompt.history[0]["images"][0]["data"] == data
        assert data in str(later.render("openai")[-3]["content"][0])
        assert sum(message_cost(message, Counter()) for message in later.messages) == later.receipt.tokens
        assert [image["tokens"] for one in replay.turn.messages for image in one.get("images", ())] == [425]
        assert (list(replay.drift), {row.current for row in rows}) == ([], {True})
        assert "data" not in str(promptuary.threads.history())
        assert not [one for one in (project / ".promptuary").rglob("*") if data.encode() in read(one)]


def test_a_file_that_has_changed_since_is_not_shown_in_its_place(files: Files) -> None:
    project = files({"a.png": png(640, 480)})
    with opened(project) as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare("What is in @file:a.png?"), "A grey field.")
        (project / "a.png").write_bytes(png(64, 64))
        later = promptuary.threads.prepare("And the colour?")

        assert "a.png" in str(later.messages)
        assert not any("images" in message for message in later.messages)
        assert sum(message_cost(message, Counter()) for message in later.messages) == later.receipt.tokens
        drift = promptuary.threads.replay(number=1).drift
        assert [(one.path, one.kind) for one in drift] == [("a.png", "changed")]


def test_of_many_earlier_images_the_last_are_shown(files: Files) -> None:
    names = [f"{number}.png" for number in range(MOST_IMAGES + 2)]
    with opened(files({name: png(8, 8 + place) for place, name in enumerate(names)})) as promptuary:
        for name in names:
            promptuary.threads.finish(promptuary.threads.prepare(f"@file:{name}"), "Seen.")
        later = promptuary.threads.prepare("Which was the last?")

    shown = [image["name"] for message in later.messages for image in message.get("images", ())]
    assert shown == names[-MOST_IMAGES:]


def test_images_beyond_what_a_request_may_hold_in_bytes_are_errors_and_the_others_are_sent(files: Files) -> None:
    size = LARGEST_IMAGE - 1_000
    fitting = MOST_IMAGE_BYTES // size
    images = {f"{number}.png": png(8, 8) + bytes([number]) * size for number in range(fitting + 1)}
    with opened(files({**images, "small.png": png(8, 8)})) as promptuary:
        expansion = promptuary.expand(" ".join(f"@file:{name}" for name in (*images, "small.png")))

    assert [one.code for one in expansion.outcomes] == [*[None] * fitting, Code.FILE_TOO_LARGE, None]
    assert len(expansion.messages[0]["images"]) == fitting + 1
    assert f"{MOST_IMAGE_BYTES:,} bytes together" in str(expansion.outcomes[fitting].reason)


def test_a_session_sends_no_image_that_it_does_not_see(files: Files) -> None:
    with opened(files({"a/a.png": png(64, 48), "b/b.png": png(64, 48)})) as promptuary:
        promptuary.sessions.create("s", roots=["b"])
        turn = promptuary.threads.prepare("@file:a/a.png and @file:b/b.png", thread="s")

    assert [one.code for one in turn.expansion.outcomes] == [Code.OUTSIDE_SESSION, None]
    assert [image["name"] for image in turn.messages[-1]["images"]] == ["b/b.png"]


def test_an_image_that_is_forgotten_leaves_its_name_alone(files: Files) -> None:
    with opened(files({"a.png": png(640, 480), "b.png": png(64, 48)})) as promptuary:
        turn = promptuary.threads.prepare("Compare @file:a.png and @file:b.png")
        revisions = [image["sha256"] for image in turn.messages[-1]["images"]]
        promptuary.threads.finish(turn, "Both are grey.")
        promptuary.threads.forget("a.png")
        later = promptuary.threads.prepare("And the colour?")
        (sent,) = [one for one in promptuary.threads.replay(number=1).turn.messages if "images" in one]

        assert [image["name"] for image in sent["images"]] == ["b.png"]
        assert "[forgotten: file:a.png]" in sent["content"]
        assert [image["name"] for one in later.messages for image in one.get("images", ())] == ["b.png"]
        assert [one in str(promptuary.threads.turns()) for one in revisions] == [False, True]


def test_a_model_of_pydantic_ai_gets_it(files: Files) -> None:
    data, seen = png(64, 48), list[object]()

    async def said(messages: object, info: object) -> AsyncIterator[str]:
        seen.append(messages)
        yield "Grey."

    with opened(files({"a.png": data})) as promptuary:
        promptuary.threads.run("What is in @file:a.png?", PydanticAiModel(FunctionModel(stream_function=said)))
        tokens = promptuary.threads.stats().tokens

    assert repr(data)[2:40] in repr(seen)
    assert "image/png" in repr(seen)
    assert tokens > 255


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_of_a_service_gets_it(wire: str, files: Files) -> None:
    data = png(64, 48)
    with ChatServer([Says("Grey.")]) as server, opened(files({"a.png": data})) as promptuary:
        policy = PostPolicy(timeout=5.0)
        if wire == "openai":
            model: Any = EndpointChatModel(server.openai_url, "gpt-4o", policy=policy)
        else:
            model = AnthropicChatModel(server.anthropic_url, "claude-sonnet-4", policy=policy)
        result = promptuary.threads.run("What is in @file:a.png?", model)
        part = server.asked[0]["messages"][-1]["content"][0]

    assert result.reply == "Grey."
    url = part["image_url"]["url"] if wire == "openai" else f",{part['source']['data']}"
    assert b64decode(url.partition(",")[2]) == data


def read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def test_a_turn_that_is_found_again_says_that_the_image_is_gone(files: Files) -> None:
    project = files({"a.png": png(640, 480)})
    with opened(project) as promptuary:
        promptuary.threads.prepare("What is in @file:a.png?")
    with opened(project) as promptuary:
        turn = promptuary.threads.pending()

        assert turn is not None
        for provider in ("openai", "openai-responses", "anthropic"):
            assert "The image a.png is not kept" in str(turn.render(provider))


def test_an_image_that_does_not_fit_is_named_and_not_sent(files: Files) -> None:
    with opened(files({"a.png": png(1024, 1024)}), window=1_000) as promptuary:
        expansion = promptuary.expand("What is in @file:a.png?")

    assert expansion.outcomes[0].detail is Detail.PATH
    assert "images" not in expansion.messages[0]
    assert expansion.spend.injected < 300


@pytest.mark.parametrize(
    ("model", "reference", "code", "reason"),
    [
        ("", "@file:a.png", Code.UNSUPPORTED_TYPE, "depends on the model, which is not known; name one"),
        ("gpt-3.5-turbo", "@file:a.png", Code.UNSUPPORTED_TYPE, "gpt-3.5-turbo is not known to take images"),
        ("gpt-4o", "@file:wide.png", Code.FILE_TOO_LARGE, "9,000 × 1 pixels"),
        ("gpt-4o", "@file:heavy.png", Code.FILE_TOO_LARGE, f"more than {LARGEST_IMAGE:,} bytes"),
        ("gpt-4o", "@file:fake.png", Code.DISALLOWED_EXTENSION, "not what its name says"),
        ("gpt-4o", "@file:a.png:1-3", Code.BAD_RANGE, "has no lines"),
        ("gpt-4o", "@file:.env.png", Code.SENSITIVE_PATH, "usual name for secrets"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_what_to_do(
    model: str, reference: str, code: Code, reason: str, files: Files
) -> None:
    heavy = png(8, 8) + b"\0" * LARGEST_IMAGE
    project = files(
        {"a.png": png(8, 8), "wide.png": png(9_000, 1), "heavy.png": heavy, "fake.png": "text\n", ".env.png": png(8, 8)}
    )
    with opened(project, model) as promptuary:
        expansion = promptuary.expand(f"What is in {reference}?")

    (outcome,) = expansion.outcomes
    assert outcome.code == code
    assert reason in (outcome.reason or "")
    assert "images" not in expansion.messages[0]


def test_a_message_has_so_many_images_and_no_more(files: Files) -> None:
    names = [f"{number}.png" for number in range(MOST_IMAGES + 1)]
    with opened(files({name: png(8, 8 + place) for place, name in enumerate(names)})) as promptuary:
        expansion = promptuary.expand(" ".join(f"@file:{name}" for name in (*names[:-1], names[0], names[-1])))

    assert len(expansion.messages[0]["images"]) == MOST_IMAGES
    assert [one.code for one in expansion.outcomes[-2:]] == [None, Code.FILE_TOO_LARGE]

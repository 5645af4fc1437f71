"""Nothing that was sent before changes: conversations of clients, made up from seeds, through the whole server."""

import json
from typing import Any

import pytest

from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import Says
from tests.conftest import Figure, Files
from tests.server.conftest import RunningServer, StartServer
from tests.server.conversations import PROTOCOLS, Exchange, Protocol, make_conversation
from tests.server.upstream import Upstream

PATHS = {"messages": "/v1/messages", "responses": "/v1/responses", "completions": "/v1/chat/completions"}
LISTS = {"messages": "messages", "responses": "input", "completions": "messages"}


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_request_repeats_all_that_was_sent_before(
    protocol: Protocol, start_server: StartServer, files: Files, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    contents = {"a.txt": "the text of a\n", "b.txt": "the text of b\n" * 50, "style.md": "# Style\nshort words\n"}
    with Promptuary.open(files(contents)) as promptuary:
        promptuary.memory.remember("The tests fail because the clock of the file server is wrong.")
    with Upstream() as upstream:
        monkeypatch.setenv("OPENAI_BASE_URL", upstream.openai_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
        server = start_server()
        secret = server.create()
        live = attached = 0
        for seed in range(figure(7, 500)):
            sent = converse(server, upstream, secret, protocol, seed)
            live += sum("<promptuary>" in json.dumps(one) for one in sent)
            attached += sum("the text of" in json.dumps(one) for one in sent)
        assert live > 0
        assert attached > 0


def converse(server: RunningServer, upstream: Upstream, secret: str, protocol: Protocol, seed: int) -> list[Any]:
    """Send a conversation, check every request, and return what the service got."""
    before: list[tuple[list[Any], list[Any]]] = []
    upstream.asked.clear()
    for exchange in make_conversation(protocol, seed):
        calls = [ToolCall(call.id, call.name, json.dumps(call.arguments)) for call in exchange.calls]
        upstream.replies = [Says(exchange.text, calls=calls)]
        answer = server.ask("POST", PATHS[protocol], headers_of(exchange, secret, seed), exchange.data)
        assert answer.status == 200, answer.body
        assert "sent unchanged" not in answer.headers.get("x-promptuary-warning", "")
        body = upstream.asked[-1].json
        theirs, ours = flat(exchange.body[LISTS[protocol]]), flat(body[LISTS[protocol]])
        assert {key: value for key, value in body.items() if key not in (LISTS[protocol], "system")} == {
            key: value for key, value in exchange.body.items() if key not in (LISTS[protocol], "system")
        }
        if seed % 2 and exchange.kind in ("title", "agent"):
            assert ours == theirs
            continue
        kept = ours[:-1] if "<promptuary>" in json.dumps(ours[-1]) else ours
        assert without(kept) == [without_one(block) for block in theirs]
        if exchange.kind in ("main", "repeated"):
            for repeated, was_sent in before:
                if theirs[: len(repeated)] == repeated:
                    assert kept[: len(was_sent)] == was_sent
            before.append((theirs, kept))
    return [asked.json for asked in upstream.asked]


def headers_of(exchange: Exchange, secret: str, seed: int) -> dict[str, str]:
    """Return the headers of a client: every second one says which conversation it is, and which client."""
    headers = {
        "Authorization": f"Bearer {secret}",
        "X-Promptuary-Token": secret,
        "Content-Type": "application/json",
    }
    if seed % 2:
        headers |= {"X-Session-Id": f"session-{seed}", "User-Agent": "opencode/1.18"}
        headers |= {"X-Claude-Code-Agent-Id": "1"} if exchange.kind == "agent" else {}
    return headers


def flat(wire: list[Any]) -> list[Any]:
    """Return the blocks of a list of messages, each with its message's other fields, without marks for caches."""
    blocks = []
    for message in wire:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        rest = {key: value for key, value in message.items() if key != "content"}
        blocks += [(rest, {key: value for key, value in part.items() if key != "cache_control"}) for part in parts]
    return blocks


def without(blocks: list[Any]) -> list[Any]:
    """Return the blocks without what references brought: a block of its own, or more of a text."""
    texts = [without_one(block) for block in blocks]
    return [block for block in texts if block[1].get("text") != ""]


def without_one(block: Any) -> Any:
    rest, part = block
    text = part.get("text")
    if isinstance(text, str) and "the text of" in text:
        start = min(text.find(mark) for mark in ("\n\n", "<", "#", "`") if mark in text)
        return rest, {**part, "text": text[: max(start, 0)]}
    return block

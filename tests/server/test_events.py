"""Changes as Server-Sent Events: whatever they hold is one line, and a client resumes where it was."""

import asyncio
import json
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from promptuary.changes.values import Change
from promptuary.engine import Promptuary
from promptuary.server import events


def parsed(sent: bytes) -> list[dict[str, str]]:
    """Return the events of a stream, without comments, as a client reads them."""
    found = []
    for block in sent.decode("ascii").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append(fields)
    return found


def test_a_change_is_one_line_of_json_whatever_it_holds() -> None:
    title = "a\nb\r\n\ndata: x\u2028\udc80 é"
    change = Change("1.a-2.b", "note", "abc", "create", "2026-01-01", title=title, scope="user")
    (event,) = parsed(events.encode_change(change))

    assert (event["id"], event["event"]) == ("1.a-2.b", "note")
    assert json.loads(event["data"])["title"] == title
    assert events.encode_change(change).count(b"\n") == 4


async def streamed(promptuary: Promptuary, after: str, count: int, act: Any = None) -> list[dict[str, str]]:
    """Return the first events of a stream; ``act`` is awaited once it has begun."""
    sent, enough = bytearray(), asyncio.Event()

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]
            return
        sent.extend(message["body"])
        if len(parsed(bytes(sent))) >= count or message["body"] == events.KEEP_ALIVE:
            enough.set()

    task = asyncio.create_task(events.stream(promptuary, after, send))
    if act is not None:
        await asyncio.sleep(0.2)
        await act
    await asyncio.wait_for(enough.wait(), 10)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return parsed(bytes(sent))


def test_a_stream_begins_with_a_cursor_and_goes_on_where_it_was_cut(workspace: Path) -> None:
    async def follow() -> None:
        async with Promptuary.open(workspace, exact=True, embedder="none") as p:
            retry, start, first = await streamed(p, "", 3, p.threads.prepare("hello"))
            assert (list(retry), start["event"], first["event"]) == (["retry"], "start", "turn")
            await p.threads.prepare("again")
            _, resumed, *both = await streamed(p, start["id"], 4)
            assert [json.loads(one["data"])["number"] for one in both] == [1, 2]
            assert (resumed["id"], both[0]["id"]) == (start["id"], first["id"])
            _, _, second = await streamed(p, first["id"], 3)
            assert second == both[1]

    asyncio.run(follow())


@pytest.mark.parametrize("after", ["rubbish", "x\r\nevent: forged", "é" * 10_000, "1.00000000"])
def test_a_cursor_that_nobody_gave_is_answered_with_missed_and_never_repeated(workspace: Path, after: str) -> None:
    async def follow() -> None:
        async with Promptuary.open(workspace, exact=True, embedder="none") as p:
            await p.threads.prepare("hello")
            _, start, missed, turn = await streamed(p, after, 4)
            assert (start["id"], missed["event"], missed["id"]) == ("start", "missed", "start")
            assert json.loads(turn["data"])["event"] == "prepared"
            assert "rubbish" not in repr((start, missed, turn))

    asyncio.run(follow())


def test_a_silent_stream_is_kept_alive(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SILENCE", 0.2)

    async def follow() -> None:
        async with Promptuary.open(workspace, exact=True, embedder="none") as p:
            assert [list(one) for one in await streamed(p, "", 99)][1:] == [["id", "event", "data"]]

    asyncio.run(follow())

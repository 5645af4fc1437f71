"""The first answers of ``promptuary mcp``: given before the package of the protocol is there, and equal to its own."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from promptuary.mcp.transports import stdio
from promptuary.mcp.transports.early import HANDSHAKES, MODERN, EarlyAnswers
from promptuary.mcp.transports.standard_streams import StandardStreams
from tests.programs import PROMPTUARY

SENDER = {"name": "someone", "version": "1"}
LISTS = ("tools/list",)


def line(method: str, params: Any = None, identifier: Any = None) -> bytes:
    """Return a request as it is sent."""
    given = {} if params is None else {"params": params}
    message = {"jsonrpc": "2.0", "id": method if identifier is None else identifier, "method": method, **given}
    return json.dumps(message).encode() + b"\n"


def initialize(version: str, **changed: Any) -> bytes:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": SENDER}
    return line("initialize", {**params, **changed})


def envelope(**changed: Any) -> dict[str, Any]:
    """Return what every request of the protocol of 2026 says about its sender."""
    values = {"protocolVersion": MODERN, "clientInfo": SENDER, "clientCapabilities": {"roots": {}}, **changed}
    return {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in values.items()}}


def beginnings() -> dict[str, list[bytes]]:
    """Return what clients begin with, by the version of the protocol."""
    lists = [line(method) for method in LISTS]
    progress = [line("tools/list", {"_meta": {"progressToken": 0}}, 7)]
    found = {version: [initialize(version), *lists, *progress] for version in HANDSHAKES}
    methods = ("server/discover", *LISTS)
    return {**found, MODERN: [line(method, envelope()) for method in methods]}


async def package_answers(lines: list[bytes], workspace: Path) -> dict[Any, Any]:
    """Return what a server answers that answers nothing early, by id."""
    (reading, ours), (answers, writing) = os.pipe(), os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb") as target, os.fdopen(answers, "rb") as received:
        streams = StandardStreams(source, target, None)
        serving = asyncio.create_task(stdio.serve(streams, [workspace], {"embedder": "none"}, chosen=True))
        os.write(ours, b"".join(lines))
        found = [json.loads(await asyncio.to_thread(received.readline)) for _ in lines]
        os.close(ours)
        await serving
    return {one["id"]: one["result"] for one in found}


@pytest.mark.parametrize("version", beginnings())
def test_an_early_answer_is_that_of_the_package(version: str, tmp_path: Path) -> None:
    lines, early = beginnings()[version], EarlyAnswers()

    answers = [early.answer(one) for one in lines]

    found = {one.id: json.loads(one.line)["result"] for one in answers if one is not None}
    assert found == asyncio.run(package_answers(lines, tmp_path))


def test_every_version_that_the_package_speaks_is_answered_early() -> None:
    assert (HANDSHAKES, (MODERN,)) == (HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS)


@pytest.mark.parametrize(
    "unusual",
    [
        b"{",
        b"[]\n",
        b"[" * 100_000,
        line("tools/list"),
        line("ping"),
        initialize("1999-01-01"),
        initialize("2025-11-25", capabilities=None),
        initialize("2025-11-25", clientInfo={"name": "x"}),
        line("initialize", [1]),
        line("initialize", identifier=True),
        line("initialize", identifier=1.5),
        line("server/discover", envelope(protocolVersion="2099-01-01")),
        line("server/discover", envelope(clientCapabilities=None)),
        line("server/discover", envelope(clientInfo="x")),
        line("tools/list", {**envelope(), "cursor": "x"}),
        line("tools/call", {**envelope(), "name": "explain_turn"}),
        line("resources/list", envelope(clientCapabilities={})),
    ],
)
def test_what_is_unusual_is_left_to_the_package(unusual: bytes) -> None:
    assert EarlyAnswers().answer(unusual) is None


def test_after_a_beginning_that_is_unusual_nothing_is_answered_early() -> None:
    early = EarlyAnswers()

    assert [early.answer(one) for one in (initialize("1999-01-01"), initialize("2025-11-25"), line("tools/list"))] == [
        None,
        None,
        None,
    ]


def test_a_request_of_the_other_era_is_left_to_the_package() -> None:
    early = EarlyAnswers()

    assert early.answer(initialize("2025-11-25")) is not None
    assert early.answer(line("tools/list", envelope())) is None
    assert early.answer(line("resources/list")) is None


@pytest.mark.parametrize("version", ["2025-06-18", MODERN])
def test_each_request_has_one_answer_although_two_give_some(version: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Be brief.\n")
    more = envelope() if version == MODERN else {}
    call = line("tools/call", {**more, "name": "explain_turn", "arguments": {"thread": 5}})
    lines = [*beginnings()[version], b"no JSON\n", call]
    with subprocess.Popen(
        [*PROMPTUARY, "mcp", "--embedder", "none"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(lines))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in lines]
        process.stdin.close()
        answers += [json.loads(one) for one in process.stdout.read().splitlines()]

    expected = [json.loads(one)["id"] for one in lines if one.startswith(b"{")]
    assert Counter(one["id"] for one in answers) == Counter([*expected, None])


def test_the_first_answer_loads_nothing_of_the_package() -> None:
    program = (
        "import sys, promptuary.cli.agents.mcp; "
        "print([one for one in ('mcp', 'mcp_types', 'pydantic', 'asyncio') if one in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"

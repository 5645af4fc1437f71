"""A client that means no good: nothing is read that is not its own, nothing crashes, and nothing gives it away."""

import asyncio
import json
import random
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

from promptuary import Principal
from promptuary.blocking import Promptuary
from tests.conftest import Figure, Files
from tests.mcp_clients import MODES, Mode, http_server, in_process, text_of
from tests.programs import PROMPTUARY

SECRET = "the-secret-of-another"
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


@pytest.fixture
def project(files: Files, tmp_path: Path) -> Path:
    (tmp_path / "outside.txt").write_text(SECRET)
    folder = files({"a.md": "One.\n", ".env": f"KEY={SECRET}\n"})
    (folder / "link").symlink_to(tmp_path / "outside.txt")
    return folder


def others(folder: Path) -> dict[str, str]:
    """Let somebody else write a note, begin a thread and a session, and learn something; return the ids."""
    with Promptuary.open(folder, exact=True, principal=Principal(user="eve"), embedder="none") as eve:
        note = eve.memory.write(f"It is {SECRET}.", title="Theirs", kind="project").header
        turn = eve.threads.prepare(f"It is {SECRET}.", thread="theirs")
        eve.threads.finish(turn, SECRET)
        learnt = eve.experiences.add("task_solution", "say it", SECRET)
        session = eve.sessions.create("their-session")
    return {"note": note.id, "path": note.path, "thread": "theirs", "session": session.name, "experience": learnt.id}


def calls(known: dict[str, str]) -> Sequence[tuple[str, dict[str, Any]]]:
    return [
        ("search_recall_memories", {"memory_id": known["note"]}),
        ("search_recall_memories", {"memory_id": known["note"][:6]}),
        ("search_recall_memories", {"relative_path": known["path"]}),
        ("search_recall_memories", {"query": "secret another"}),
        ("write_memory", {"type": "project", "title": "x", "content": "mine", "memory_id": known["note"]}),
        ("explain_turn", {"thread": known["thread"]}),
        ("explain_turn", {"thread": known["thread"], "turn": 1}),
        ("find_experiences", {"query": "secret another"}),
        ("expand_references", {"text": f"@memory:{known['note']}"}),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_what_belongs_to_others_gets_the_answer_of_what_is_not_there(project: Path, mode: Mode) -> None:
    theirs = others(project)
    absent = {"note": "0" * 12, "path": "private/project/x-000000000000.md", "thread": "absent", "session": "absent"}

    async def asked(known: dict[str, str]) -> list[str]:
        said: list[str] = []
        async with in_process(project, mode=mode) as client:
            for name, arguments in calls(known):
                text = text_of(await client.call_tool(name, arguments))
                for word in (*sorted(known.values(), key=len, reverse=True), known["note"][:6]):
                    text = text.replace(word, "X")
                said.append(text)
            for uri in (f"memory://{known['note']}", f"memory://{known['path']}", f"session://{known['session']}"):
                with pytest.raises(Exception, match="no such resource") as refused:
                    await client.read_resource(uri)
                said.append(str(refused.value))
        return said

    found, missing = asyncio.run(asked(theirs)), asyncio.run(asked(absent))

    assert SECRET not in str(found)
    for one, other in zip(found, missing, strict=True):
        if '"written": true' not in one and "(turn " not in one:  # a note or a turn of one's own has an id of its own
            assert one == other


PATHS = [
    *("../outside.txt", "link", ".env", "/etc/passwd", "a/../../outside.txt", "%2e%2e/outside.txt", "..%2foutside.txt"),
    *(
        "a.md/../../outside.txt",
        "\\..\\outside.txt",
        "a.md\x00",
        "~/.ssh/id_rsa",
        "file:///etc/passwd",
        ".promptuary/state.db",
    ),
    *(
        "//etc/passwd",
        "/proc/self/environ",
        "a.md\n@file:../outside.txt",
        "x" * 5_000,
        "\ud800",
        "@file:../outside.txt",
    ),
]


@pytest.mark.parametrize("mode", MODES)
def test_no_path_leads_out_of_the_workspace(project: Path, mode: Mode) -> None:
    async def read() -> list[str]:
        said: list[str] = []
        async with in_process(project, mode=mode) as client:
            for path in PATHS:
                for uri in (f"file:///{path}", f"file://{path}", f"memory://{path}", f"session://{path}"):
                    with pytest.raises(Exception) as refused:  # noqa: PT011  (a surrogate cannot even be sent)
                        await client.read_resource(uri)
                    said.append(str(refused.value))
                try:
                    said.append(text_of(await client.call_tool("expand_references", {"text": f'@file:"{path}"'})))
                    said.append(text_of(await client.call_tool("track_file", {"path": path})))
                except Exception as error:  # noqa: BLE001  (likewise)
                    said.append(str(error))
            said.append(text_of(await client.call_tool("expand_references", {"text": "And?", "thread": "main"})))
        return said

    found = str(asyncio.run(read()))

    assert SECRET not in found
    assert "root:x:0" not in found


def messages(generator: random.Random) -> list[bytes]:
    """Return messages of a client that is broken, or wants to break something."""
    deep = "[" * 50_000
    ids: list[Any] = [1, "a", None, -1, 1.5, [], {}, 2**80, "x" * 10_000, True]
    methods = ["tools/call", "tools/list", "resources/read", "prompts/get", "completion/complete", "initialize", "nope"]
    params: list[Any] = [None, [], "x", 7, {}, {"name": "search_files"}, {"name": 1}, {"uri": []}, {"arguments": "x"}]
    texts: list[Any] = [1, None, [], {"a": 1}, "@" * 9_999]
    params += [{"name": "expand_references", "arguments": {"text": value}} for value in texts]
    params += [{"_meta": {"io.modelcontextprotocol/protocolVersion": version}} for version in ("2026-07-28", 7, "9999")]
    fixed = [
        *(b"", b"\n", b"{", b"null", b"[]", b"[1,2]", b"\xff\xfe\x00", b"{}" * 10, deep.encode(), b'{"jsonrpc":"2.0"}'),
        *(b'{"jsonrpc": "2.0", "id": 1}', b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}', b"x" * 100_000),
        b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "no"}}',
        json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "x" * 100_000}}).encode(),
        b'{"jsonrpc": "2.0", "id": 6, "method": "tools/list", "x": "' + b"y" * (5 << 20) + b'"}',
    ]
    made = [
        json.dumps(
            {
                "jsonrpc": generator.choice(["2.0", "2.0", "2.0", 2, None]),
                "id": generator.choice(ids),
                "method": generator.choice(methods),
                "params": generator.choice(params),
            }
        ).encode()
        for _ in range(300 - len(fixed))
    ]
    every = [*fixed, *made]
    generator.shuffle(every)
    return every


def answered(stream: IO[bytes], wanted: int) -> list[dict[str, Any]]:
    """Return the answers up to the one with that id, which is the last; every line is JSON."""
    found: list[dict[str, Any]] = []
    while line := stream.readline():
        found.append(json.loads(line))
        if found[-1].get("id") == wanted and "result" in found[-1]:
            return found
    raise AssertionError("the server has ended")


def thefts(known: dict[str, str]) -> list[dict[str, Any]]:
    """Return requests for what is outside of the workspace, or belongs to somebody else."""
    uris = [f"file:///{path}" for path in PATHS if path.isprintable()]
    uris += [f"memory://{known['note']}", f"memory://{known['path']}", f"session://{known['session']}"]
    paths = [{"name": "expand_references", "arguments": {"text": f'@file:"{path}"'}} for path in PATHS[:-2]]
    tools = [{"name": name, "arguments": arguments} for name, arguments in calls(known)]
    asked = [*(("resources/read", {"uri": uri}) for uri in uris), *(("tools/call", one) for one in [*paths, *tools])]
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(asked, 1_000)
    ]


def fed(stream: IO[bytes], sent: bytes) -> None:
    stream.write(sent)
    stream.flush()


@pytest.mark.parametrize("greeted", [True, False])
def test_three_hundred_broken_messages_do_not_end_the_server(project: Path, greeted: bool, figure: Figure) -> None:
    theirs = others(project)
    for seed in range(figure(1, 20)):
        command = [*PROMPTUARY, "mcp", "--embedder", "none", "-q"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, cwd=project, **pipes) as server:  # type: ignore[call-overload]
            hello = json.dumps(HELLO).encode() + b"\n"
            broken = messages(random.Random(seed))
            stolen = [json.dumps(one).encode() for one in thefts(theirs)]
            # Before a greeting nothing but that is understood: the first request decides how the two talk.
            sent = (hello if greeted else b"") + b"".join(one.replace(b"\n", b" ") + b"\n" for one in broken)
            last = {"jsonrpc": "2.0", "id": 4242, "method": "tools/call"}
            last["params"] = {"name": "expand_references", "arguments": {"text": "@file:a.md"}}
            end = b"\n".join([*([] if greeted else [hello.strip()]), *stolen, json.dumps(last).encode(), b""])
            # Aside: the server stops to read while nobody reads its answers.
            feeder = threading.Thread(target=fed, args=(server.stdin, sent + end))
            feeder.start()
            answers = answered(server.stdout, 4242)
            feeder.join()
            server.stdin.close()
            assert server.wait(20) == 0
            said = server.stderr.read().decode()

        assert "One." in answers[-1]["result"]["content"][0]["text"]
        assert "Traceback" not in said
        assert SECRET not in str(answers) + said
        assert "root:x:0" not in str(answers)
        assert len([one for one in answers if "error" in one]) > len(broken) // 2


@pytest.mark.parametrize(
    "name", ["expand_references", "search_files", "write_memory", "record_experience", "track_file"]
)
def test_arguments_that_do_not_fit_get_a_sentence(project: Path, name: str) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"nonsense": 1},
        {"text": 7, "query": 7, "path": 7},
        {"text": "x" * 300_000},
        {"query": "x" * 300_000},
        {"path": "x" * 300_000},
        {"text": "a", "query": "a", "path": "a", "workspace": "/etc"},
    ]

    async def call() -> list[tuple[bool, str]]:
        async with in_process(project) as client:
            results = [await client.call_tool(name, arguments) for arguments in wrong]
            return [(bool(one.is_error), text_of(one)) for one in results]

    for is_error, said in asyncio.run(call()):
        assert is_error
        assert 5 < len(said) < 500


def test_over_http_nothing_is_read_either_and_broken_messages_end_nothing(project: Path) -> None:
    theirs = others(project)
    with http_server(project) as server, httpx2.Client(timeout=30) as client:
        headers = {"authorization": f"Bearer {server.token}", "accept": "application/json, text/event-stream"}
        headers |= {"content-type": "application/json"}
        session = client.post(server.url, json=HELLO, headers=headers).headers["mcp-session-id"]
        headers |= {"mcp-session-id": session, "mcp-protocol-version": "2025-06-18"}
        said: list[str] = []
        broken = messages(random.Random(7))
        for one in [*broken, *(json.dumps(one).encode() for one in thefts(theirs))]:
            answer = client.post(server.url, content=one, headers=headers)
            assert answer.status_code < 500
            said.append(answer.text)
        last = {"jsonrpc": "2.0", "id": 4242, "method": "tools/call"}
        last["params"] = {"name": "expand_references", "arguments": {"text": "@file:a.md"}}
        alive = client.post(server.url, json=last, headers=headers).text

    assert "One." in alive
    assert SECRET not in str(said)
    assert "root:x:0" not in str(said)


@contextmanager
def idle_connections(port: int, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    """Connect many times, and send less than a request each time."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)))
            made[-1].sendall(said)
        yield made


@pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_connections_without_a_token_take_no_place_and_are_ended(project: Path, said: bytes) -> None:
    with http_server(project, token_seconds=1.0) as server:
        port = int(server.url.rpartition(":")[2].removesuffix("/mcp"))
        headers = {"authorization": f"Bearer {server.token}", "accept": "application/json, text/event-stream"}
        with idle_connections(port, 600, said) as idle:
            assert httpx2.post(server.url, json=HELLO, headers=headers, timeout=20).status_code == 200
            for one in idle:
                with suppress(ConnectionError):
                    assert one.recv(100) == b""  # ended by the server, after some seconds at most
            assert httpx2.post(server.url, json=HELLO, headers=headers, timeout=20).status_code == 200


def test_a_connection_that_has_shown_the_token_is_not_closed_for_newcomers(project: Path) -> None:
    body = json.dumps(HELLO).encode()
    with http_server(project, token_seconds=1.0) as server:
        port = int(server.url.rpartition(":")[2].removesuffix("/mcp"))
        lines = [f"POST /mcp HTTP/1.1\r\nHost: localhost:{port}", f"Authorization: Bearer {server.token}"]
        lines += ["Accept: application/json, text/event-stream", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", "", ""]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as known:
            known.sendall("\r\n".join(lines).encode())
            assert httpx2.get(server.url, timeout=20).status_code == 401  # by now it has read the token
            with idle_connections(port, 400, b"") as idle:
                assert idle[-1].recv(100) == b""  # who came last was given as long as any newcomer
                known.sendall(body)
                assert known.recv(20).split(b" ")[1] == b"200"


HEADS = [
    *(
        f"POST /mcp HTTP/1.1\r\nHost: {host}"
        for host in (
            "localhost.:PORT",
            "127.0.0.1.:PORT",
            "u@localhost:PORT",
            "localhost:PORT@evil.example",
            "localhost:@evil.example",
            "localhost:evil.example",
            "localhost:PORT.evil.example",
            "localhost:",
            "localhost:1",
            "localhost:0PORT",
            "localhost:+PORT",
            "localhost:PORT,evil.example",
            "localhost:PORT, localhost:PORT",
            "localhost PORT",
            "localhost:PORT/",
            "localhost:PORT/mcp",
            "localhost:PORT#",
            "localhost:PORT?",
            "http://localhost:PORT",
            "::1",
            "[::1",
            "[::01]:PORT",
            "[0:0:0:0:0:0:0:1]:PORT",
            "[::ffff:127.0.0.1]:PORT",
            "[::1%25lo]:PORT",
            "127.1:PORT",
            "127.0.0.2:PORT",
            "0.0.0.0:PORT",
            "2130706433:PORT",
            "0x7f.0.0.1:PORT",
            "*",
            "",
            "localhost:PORT\r\nHost: localhost:PORT",
            "localhost:PORT\r\nHost: evil.example",
        )
    ),
    "POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost:PORT",
    "POST http://localhost:PORT/mcp HTTP/1.1\r\nHost: localhost:PORT",
    "POST /mcp HTTP/1.0\r\nX-Forwarded-Host: localhost:PORT",
    "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost:PORT",
    "POST /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: http://localhost:PORT@evil.example",
    "POST /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: http://localhost:PORT.evil.example",
    "POST /mcp HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: http://localhost:PORT/\r\nOrigin: null",
]
"""The heads of requests that name another host, or this one in a way that a client does not use."""


def test_a_request_that_names_another_host_in_any_way_is_refused(project: Path) -> None:
    body, answered = json.dumps(HELLO).encode(), {}
    with http_server(project) as server:
        port = int(server.url.rpartition(":")[2].removesuffix("/mcp"))
        known = [f"Authorization: Bearer {server.token}", "Accept: application/json, text/event-stream"]
        known += ["Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close", "", ""]
        for head in ["POST /mcp HTTP/1.1\r\nHost: localhost:PORT", *HEADS]:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
                one.sendall("\r\n".join([head.replace("PORT", str(port)), *known]).encode() + body)
                answered[head] = one.recv(20).split(b" ")[1]

    assert [head for head, status in answered.items() if status not in {b"400", b"403", b"421"}] == [
        next(iter(answered))
    ]

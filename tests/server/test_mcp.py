"""MCP inside the server, with the client of the protocol's own package."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client

from promptuary.base.principals import Principal
from promptuary.mcp.description import OFFERED
from promptuary.server import mcp_sessions
from tests.conftest import Files
from tests.mcp_clients import MODES, HttpServer, Mode, over_http, text_of
from tests.server.conftest import RunningServer, StartServer

ALICE, BOB = Principal(user="alice"), Principal(user="bob")
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def use(
    server: RunningServer, secret: str, mode: Mode, work: Callable[[Client], Awaitable[Any]], path: str = "/mcp"
) -> Any:
    async def run() -> Any:
        async with over_http(HttpServer(f"{server.base}{path}", secret), mode) as client:
            return await work(client)

    return asyncio.run(run())


async def said(client: Client, name: str, **arguments: Any) -> tuple[bool, str]:
    result = await client.call_tool(name, arguments)
    return bool(result.is_error), text_of(result)


def post(server: RunningServer, secret: str, message: Mapping[str, Any], **headers: str) -> Any:
    sent = (
        ACCEPT | {"authorization": f"Bearer {secret}"} | {name.replace("_", "-"): one for name, one in headers.items()}
    )
    return server.ask("POST", "/mcp", sent, json.dumps(message).encode())


def begin(server: RunningServer, secret: str) -> str:
    """Begin a session, and return its id."""
    answer = post(server, secret, HELLO)
    assert answer.status == 200, answer.body
    return str(answer.headers["mcp-session-id"])


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_works_for_the_principal_of_a_token(files: Files, server: RunningServer, mode: Mode) -> None:
    files({"docs/style.md": "# Style\n\nBe brief. Deploy on Fridays.\n"})

    async def work(client: Client) -> None:
        assert [one.name for one in (await client.list_tools()).tools] == list(OFFERED)
        assert "Deploy on Fridays" in (await said(client, "expand_references", text="@file:docs/style.md"))[1]
        assert "(turn 1 of thread t)" in (await said(client, "expand_references", text="Hello", thread="t"))[1]
        assert "docs/style.md:1-3" in (await said(client, "search_files", query="when to deploy"))[1]
        written = await said(client, "write_memory", type="project", title="Port", content="The port is 8080.")
        assert written[1].startswith("Written: memory:")
        assert "8080" in (await said(client, "search_recall_memories", query="which port"))[1]
        assert " Port (project, today)" in (await said(client, "list_memories"))[1]
        learnt = {"type": "task_solution", "intent": "build the docs", "solution": "make docs"}
        assert "Recorded: " in (await said(client, "record_experience", **learnt))[1]
        assert "make docs" in (await said(client, "find_experiences", query="how to build docs"))[1]
        assert "tracks docs/style.md" in (await said(client, "track_file", path="docs/style.md", thread="t"))[1]
        assert "turn 1" in (await said(client, "explain_turn", thread="t"))[1]
        assert (await client.list_prompts()).prompts

    use(server, server.create(principal=ALICE), mode, work)


@pytest.mark.parametrize("mode", MODES)
def test_two_tokens_have_notes_of_their_own(server: RunningServer, mode: Mode) -> None:
    note = {"type": "project", "title": "Secret", "content": "The launch code is 4711."}
    use(server, server.create(principal=ALICE), mode, lambda client: said(client, "write_memory", **note))

    def found(principal: Principal) -> str:
        asked = use(server, server.create(principal=principal), mode, lambda client: said(client, "list_memories"))
        return str(asked[1])

    assert "Secret" in found(ALICE)
    assert found(BOB) == "There are no such notes."


@pytest.mark.parametrize("mode", MODES)
def test_a_token_that_only_reads_is_offered_and_can_call_only_what_reads(
    files: Files, server: RunningServer, mode: Mode
) -> None:
    files({"a.md": "The text of a."})
    secret = server.create(scopes=frozenset({"read"}))

    async def work(client: Client) -> None:
        names = {one.name for one in (await client.list_tools()).tools}
        assert not {"write_memory", "record_experience", "track_file"} & names
        assert "The text of a." in (await said(client, "expand_references", text="@file:a.md"))[1]
        for name, arguments in {
            "write_memory": {"type": "project", "title": "Port", "content": "8080"},
            "track_file": {"path": "a.md"},
            "expand_references": {"text": "Hello", "thread": "t"},
        }.items():
            is_error, text = await said(client, name, **arguments)
            assert is_error
            assert text == "this token only reads: a token with the scope write is needed for this"
        assert (await said(client, "list_memories"))[1] == "There are no such notes."

    use(server, secret, mode, work)


def test_a_token_needs_the_scope_read(server: RunningServer) -> None:
    assert post(server, server.create(scopes=frozenset({"proxy"})), HELLO).status == 403


def test_the_workspace_is_that_of_the_address(start_server: StartServer, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("one", "two")}
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "a.md").write_text(f"Of {name}.")
    server = start_server(folders)
    secret = server.create()

    async def work(client: Client) -> list[tuple[bool, str]]:
        asked = [{}, {"workspace": "two"}, {"workspace": "one"}]
        return [await said(client, "expand_references", text="@file:a.md", **one) for one in asked]

    here, same, other = use(server, secret, "auto", work, "/w/two/mcp")

    assert "Of two." in here[1]
    assert "Of two." in same[1]
    assert other == (True, "there is no workspace one at this address; it is that of two")
    assert post(server, secret, HELLO).status == 400  # none is named


def test_roots_of_a_client_widen_nothing(server: RunningServer, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("Of the person.")
    asked: list[Any] = []

    async def roots(context: Any) -> types.ListRootsResult:
        asked.append(context)
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": outside.as_uri()})])

    async def run() -> list[str]:
        secret = server.create()
        async with over_http(HttpServer(f"{server.base}/mcp", secret), "legacy", list_roots_callback=roots) as client:
            paths = ("secret.md", f"{outside}/secret.md")
            return [(await said(client, "expand_references", text=f"@file:{path}"))[1] for path in paths]

    assert not any("Of the person." in text for text in asyncio.run(run()))
    assert asked == []


def test_a_session_is_unknown_to_every_other_token_and_workspace(start_server: StartServer, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("one", "two")}
    for folder in folders.values():
        folder.mkdir()
    server = start_server(folders)
    own, same = server.create(principal=ALICE), server.create(principal=ALICE)

    def ask(method: str, secret: str, session: str, name: str = "one") -> int:
        headers = ACCEPT | {"authorization": f"Bearer {secret}"} | ({"mcp-session-id": session} if session else {})
        body = json.dumps(LIST if session else HELLO).encode() if method == "POST" else None
        answer = server.ask(method, f"/w/{name}/mcp", headers, body)
        if not session:
            ids.append(answer.headers["mcp-session-id"])
        return answer.status

    ids: list[str] = []
    ask("POST", own, "")
    (session,) = ids

    assert len(session) >= 32
    assert [ask(method, same, session) for method in ("POST", "GET", "DELETE")] == [404, 404, 404]
    assert ask("POST", own, session, "two") == 404
    assert ask("POST", own, session) == 200
    assert ask("DELETE", own, session) == 200
    assert ask("POST", own, session) == 404


def test_a_token_that_is_revoked_ends_its_sessions_and_streams(server: RunningServer) -> None:
    secret = server.create(name="gone")
    session = begin(server, secret)
    (token,) = [one for one in server.store.list() if one.name == "gone"]

    async def listen() -> tuple[int, int]:
        known = {"authorization": f"Bearer {secret}", "mcp-session-id": session}
        async with (
            httpx2.AsyncClient(timeout=20) as client,
            client.stream("GET", f"{server.base}/mcp", headers={"accept": "text/event-stream"} | known) as stream,
        ):
            await asyncio.to_thread(server.store.revoke, token.id)
            try:
                async for _ in stream.aiter_bytes():
                    pass
            except httpx2.HTTPError:
                pass
            after = await client.post(f"{server.base}/mcp", headers=ACCEPT | known, json=LIST)
            return stream.status_code, after.status_code

    assert asyncio.run(listen()) == (200, 401)


def test_one_session_too_many_ends_the_one_that_was_not_used_for_longest(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_sessions, "MAX_OF_TOKEN", 2)
    secret = server.create()
    other = begin(server, another := server.create())
    first, second = begin(server, secret), begin(server, secret)
    assert post(server, secret, LIST, mcp_session_id=first).status == 200
    third = begin(server, secret)

    assert [post(server, secret, LIST, mcp_session_id=one).status for one in (first, second, third)] == [200, 404, 200]
    assert post(server, another, LIST, mcp_session_id=other).status == 200


def test_requests_of_other_hosts_and_pages_and_without_json_are_refused(server: RunningServer) -> None:
    secret = server.create()

    assert post(server, secret, HELLO, host="evil.example").status == 421
    assert post(server, secret, HELLO, origin="http://evil.example").status == 403
    assert post(server, secret, HELLO, origin="http://localhost:3000").status == 403
    assert post(server, secret, HELLO, content_type="text/plain").status == 415
    assert post(server, "pt_wrong", HELLO).status == 401
    assert post(server, secret, {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}).status == 400
    assert post(server, secret, HELLO, content_length=str(5 << 20)).status == 413


def test_without_the_extra_a_client_is_told_how_to_install_it(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    answer = post(server, server.create(), HELLO)

    assert answer.status == 501
    assert b"needs the 'mcp' extra" in answer.body

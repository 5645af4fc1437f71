"""``promptuary mcp`` with the clients of the protocol's own package, over standard streams and HTTP, in both eras."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client

from promptuary.base.errors import how_to_install
from promptuary.blocking import Promptuary
from tests.conftest import Files, git
from tests.mcp_clients import MODES, Mode, http_server, in_process, over_http, over_stdio, text_of
from tests.programs import PROMPTUARY

SMALL = 6_000


@pytest.fixture
def project(files: Files, repository: Path) -> Path:
    files(
        {"src/app.py": "def main() -> None:\n    pass\n", "docs/style.md": "# Style\n\nBe brief. Deploy on Fridays.\n"}
    )
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    files({"src/app.py": "def main() -> None:\n    print()\n"})
    with Promptuary.open(repository, exact=True, embedder="none") as opened:
        opened.memory.write("The window is 1 m wide.", title="Window", kind="project")
        opened.sessions.create("release", roots=["src"])
    return repository


async def tools_work(client: Client) -> None:
    async def call(name: str, **arguments: Any) -> str:
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result
        return text_of(result)

    assert "Deploy on Fridays" in await call("expand_references", text="Look at @file:docs/style.md")
    assert (await call("track_file", path="docs/style.md", thread="t")).startswith("Thread t tracks docs/style.md (")
    turn = await call("expand_references", text="And now?", thread="t")
    assert "Deploy on Fridays" in turn
    assert "(turn 1 of thread t)" in turn
    assert "(turn 2 of thread t)" in await call("expand_references", text="Go on", thread="t", reply="Done.")
    assert "docs/style.md" in await call("explain_turn", thread="t", turn=1)
    stopped = await call("track_file", path="docs/style.md", thread="t", stop=True)
    assert stopped == "Thread t tracks no files."
    assert "## docs/style.md:1-3\n" in await call("search_files", query="when to deploy")
    written = await call("write_memory", type="project", title="Port", content="The port is 8080.")
    assert written.startswith("Written: memory:")
    note = written.removeprefix("Written: memory:")[:12]
    assert f"memory:{note}" in await call("search_recall_memories", query="which port")
    assert "8080" in await call("search_recall_memories", memory_id=note)
    assert f"- memory:{note} Port (project, today)" in await call("list_memories", type="project")
    await call("record_experience", type="task_solution", intent="build the docs", solution="make docs", tags=["docs"])
    learnt = await call("find_experiences", query="how to build docs")
    assert "make docs" in learnt[learnt.index("<external ") :]  # a model's words stand inside a boundary


async def resources_work(client: Client) -> None:
    async def read(uri: str) -> str:
        (held,) = (await client.read_resource(uri)).contents
        assert isinstance(held, types.TextResourceContents)
        return held.text

    templates = (await client.list_resource_templates()).resource_templates
    assert {one.uri_template for one in templates} == {"file:///{+path}", "memory://{+path}", "session://{name}"}
    listed = {str(one.uri): one.name for one in (await client.list_resources()).resources}
    window = next(uri for uri, name in listed.items() if name == "Window")
    assert await read("file:///docs/style.md") == "# Style\n\nBe brief. Deploy on Fridays.\n"
    assert "1 m wide" in await read(window)
    assert json.loads(await read("session://release"))["session"]["name"] == "release"


async def prompts_work(client: Client) -> None:
    async def prompt(name: str, **arguments: str) -> str:
        (message,) = (await client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text

    assert {one.name for one in (await client.list_prompts()).prompts} == {"with_context", "review_changes"}
    said = await prompt("with_context", message="Is this right?", refs="@file:docs/style.md")
    assert "Deploy on Fridays" in said
    assert "Is this right?" in said
    assert "+    print()" in await prompt("review_changes", focus="names")
    assert "Begin" in await prompt("with_context", message="@git:1")


async def completion_works(client: Client) -> None:
    async def completed(reference: Any, name: str, value: str) -> list[str]:
        return list((await client.complete(reference, {"name": name, "value": value})).completion.values)

    def template(uri: str) -> types.ResourceTemplateReference:
        return types.ResourceTemplateReference(uri=uri)

    asked = types.PromptReference(name="with_context")
    assert await completed(template("file:///{+path}"), "path", "sty") == ["docs/style.md"]
    assert any("window" in one for one in await completed(template("memory://{+path}"), "path", "wind"))
    assert await completed(template("session://{name}"), "name", "rel") == ["release"]
    assert await completed(asked, "refs", "@file:sty") == ["@file:docs/style.md"]
    assert await completed(asked, "message", "Look at @file:sty") == ["Look at @file:docs/style.md"]
    assert await completed(types.PromptReference(name="review_changes"), "base", "ma") != []
    assert await completed(types.PromptReference(name="nothing"), "base", "ma") == []


async def everything_works(connected: AbstractAsyncContextManager[Client]) -> None:
    async with connected as client:
        await tools_work(client)
        await resources_work(client)
        await prompts_work(client)
        await completion_works(client)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_uses_everything_over_standard_streams(project: Path, mode: Mode) -> None:
    asyncio.run(everything_works(over_stdio(project, mode, "--resources")))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_uses_everything_over_http(project: Path, mode: Mode) -> None:
    with http_server(project, "--resources") as server:
        asyncio.run(everything_works(over_http(server, mode)))


@pytest.mark.parametrize("mode", MODES)
def test_resources_are_offered_only_by_choice(project: Path, mode: Mode) -> None:
    async def offered(*arguments: str) -> bool:
        async with over_stdio(project, mode, *arguments) as client:
            return client.server_capabilities.resources is not None

    assert not asyncio.run(offered())
    assert asyncio.run(offered("--resources"))


def test_a_list_of_resources_waits_for_no_roots_and_its_client_is_told_later(project: Path) -> None:
    told, heard, answered = list[Any](), asyncio.Event(), asyncio.Event()

    async def slow(_: Any) -> types.ListRootsResult:
        await answered.wait()
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": project.as_uri()})])

    async def hear(message: Any) -> None:
        told.append(message)
        heard.set()

    async def listed() -> tuple[int, int]:
        async with in_process(project, mode="legacy", list_roots_callback=slow, message_handler=hear) as client:
            await client.list_tools()
            first = len((await asyncio.wait_for(client.list_resources(), 20)).resources)
            answered.set()
            await asyncio.wait_for(heard.wait(), 20)
            return first, len((await client.list_resources()).resources)

    first, later = asyncio.run(listed())

    assert first == 0
    assert later > 0
    assert "list_changed" in str(told)


def test_every_tool_says_what_it_does_to_the_world(project: Path) -> None:
    async def listed() -> dict[str, types.ToolAnnotations | None]:
        async with in_process(project) as client:
            return {one.name: one.annotations for one in (await client.list_tools()).tools}

    hints = {name: one for name, one in asyncio.run(listed()).items() if one is not None}

    assert len(hints) == 9
    assert {name for name, one in hints.items() if one.read_only_hint} == {
        "search_files",
        "search_recall_memories",
        "list_memories",
        "find_experiences",
        "explain_turn",
    }
    assert not any(one.destructive_hint for one in hints.values())
    assert {name for name, one in hints.items() if one.open_world_hint} == {"expand_references"}  # @url
    assert {name for name, one in hints.items() if one.idempotent_hint} == {"track_file"}


def test_the_descriptions_of_all_tools_are_small(project: Path) -> None:
    async def listed() -> Any:
        async with in_process(project) as client:
            return await client.list_tools()

    found = asyncio.run(listed()).model_dump(by_alias=True, mode="json", exclude_none=True)["tools"]

    assert len(found) == 9
    assert len(json.dumps(found)) < SMALL


def test_http_wants_the_token_and_a_host_and_an_origin_of_this_machine(project: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepts = {"accept": "application/json, text/event-stream"}
    with http_server(project) as server:
        port = server.url.rpartition(":")[2].removesuffix("/mcp")
        known = {**accepts, "authorization": f"Bearer {server.token}"}
        rows: list[tuple[dict[str, str], int]] = [
            (accepts, 401),
            ({**accepts, "authorization": "Bearer wrong"}, 401),
            ({**accepts, "authorization": f"Basic {server.token}"}, 401),
            ({**known, "host": f"evil.example:{port}"}, 421),
            ({**known, "host": "evil.example"}, 421),
            ({**known, "host": "localhostx"}, 421),
            ({**known, "host": "localhost.evil.example"}, 421),
            ({**accepts, "authorization": "Bearer"}, 401),
            ({**accepts, "authorization": f"Bearer{server.token}"}, 401),
            ({**accepts, "authorization": f"bearer {server.token}x"}, 401),
            ({**accepts, "authorization": f"bearer {server.token[:-1]}"}, 401),
            ({**known, "host": f"127.0.0.1.evil.example:{port}"}, 421),
            ({**known, "origin": "https://evil.example"}, 403),
            ({**known, "origin": "null"}, 403),
            ({**known, "origin": f"http://localhost.evil.example:{port}"}, 403),
        ]
        for headers, status in rows:
            assert httpx2.post(server.url, json=asked, headers=headers).status_code == status, headers
        for other in ("/", "/mcp/../", "/.well-known/oauth-protected-resource", "/sse"):
            assert httpx2.get(f"http://127.0.0.1:{port}{other}").status_code == 401
        hosts = [
            f"{name}{end}" for name in ("localhost", "LOCALHOST", "127.0.0.1", "[::1]") for end in ("", f":{port}")
        ]
        for host in hosts:
            own = {**known, "host": host, "origin": f"http://{host}"}
            assert httpx2.post(server.url, json=asked, headers=own).status_code not in {401, 403, 421}, host
        for scheme in ("bearer", "BEARER"):
            own = {**accepts, "authorization": f"{scheme} {server.token}"}
            assert httpx2.post(server.url, json=asked, headers=own).status_code not in {401, 403, 421}, scheme
        large = httpx2.post(server.url, content=b"[" * (5 << 20), headers={**known, "content-type": "application/json"})
        assert large.status_code == 413


def test_the_token_is_kept_for_the_person_alone_and_stays_the_same(project: Path) -> None:
    with http_server(project) as first:
        pass
    file = Path(os.environ["HOME"]) / ".local/state/promptuary/tokens/mcp"
    mode = stat.S_IMODE(file.stat().st_mode)
    with http_server(project) as second:
        pass

    assert mode == 0o600
    assert second.token == first.token == file.read_text().strip()
    file.chmod(0o644)
    done = subprocess.run([*PROMPTUARY, "mcp", "--http", "0"], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "others may read" in done.stderr


@pytest.mark.parametrize(("streams", "code", "said"), [("<&-", 2, "no client is connected"), (">/dev/full", 0, "")])
def test_a_client_that_closed_a_stream_ends_the_server_with_a_sentence(
    project: Path, streams: str, code: int, said: str
) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    command = f"{' '.join(PROMPTUARY)} mcp {streams}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=project, input=f"{message}\n", capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def roots(*folders: Path | str) -> Callable[[Any], Any]:
    async def named(_: Any) -> types.ListRootsResult:
        uris = [one if isinstance(one, str) else one.as_uri() for one in folders]
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": uri}) for uri in uris])

    return named


@pytest.mark.parametrize("mode", MODES)
def test_a_root_inside_of_the_workspace_is_the_workspace_and_nothing_around_it(project: Path, mode: Mode) -> None:
    async def read() -> tuple[str, bool]:
        async with in_process(project, mode=mode, list_roots_callback=roots(project / "docs")) as client:
            inside = await client.call_tool("expand_references", {"text": "@file:style.md"})
            outside = await client.call_tool("expand_references", {"text": "@file:../src/app.py"})
            with pytest.raises(Exception, match="no such resource"):
                await client.read_resource((project / "src/app.py").as_uri())
            return text_of(inside), "print()" in text_of(outside)

    inside, outside = asyncio.run(read())

    assert "Deploy on Fridays" in inside
    assert not outside


@pytest.mark.parametrize("mode", MODES)
def test_a_root_elsewhere_is_refused_unless_the_person_allows_it(project: Path, tmp_path: Path, mode: Mode) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("The other one.\n")
    (project / "link").symlink_to(other)

    async def read(root: Path | str, *allowed: Path) -> tuple[bool, str]:
        async with in_process(*allowed, mode=mode, list_roots_callback=roots(root)) as client:
            result = await client.call_tool("expand_references", {"text": "@file:a.md"})
            return bool(result.is_error), text_of(result)

    for root in (other, project / "link", project / ".." / "other", f"file://evil.example{other}"):
        refused, said = asyncio.run(read(root, project))
        assert refused, root
        assert "promptuary mcp --root DIR adds one" in said
    assert asyncio.run(read(other, project, other)) == (False, asyncio.run(read(other, other))[1])
    refused, said = asyncio.run(read(tmp_path, other))
    assert (refused, "The other one." in said) == (False, True)


@pytest.mark.parametrize(
    ("code", "is_served"),
    [(types.INVALID_REQUEST, True), (types.METHOD_NOT_FOUND, True), (types.INTERNAL_ERROR, False)],
)
def test_a_client_that_declares_roots_and_knows_none_is_one_without(project: Path, code: int, is_served: bool) -> None:
    async def unable(_: Any) -> types.ErrorData:
        return types.ErrorData(code=code, message="List roots not supported")

    async def served() -> str:
        async with in_process(project, mode="legacy", list_roots_callback=unable) as client:
            return text_of(await client.call_tool("expand_references", {"text": "@file:docs/style.md"}))

    said = asyncio.run(served())

    assert ("Be brief" in said) == is_served
    assert ("did not name them" in said) != is_served


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # later protocols have no roots
def test_roots_that_change_are_asked_for_again_and_what_they_left_is_closed(project: Path) -> None:
    named = [project / "docs"]

    async def current(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": one.as_uri()}) for one in named])

    async def read() -> list[str]:
        async with in_process(project, mode="legacy", list_roots_callback=current) as client:

            async def said() -> str:
                texts = [
                    text_of(await client.call_tool("expand_references", {"text": f"@file:{name}"}))
                    for name in ("style.md", "app.py")
                ]
                return " ".join(texts)

            first = await said()
            named[:] = [project / "src"]
            still = await said()
            await client.send_roots_list_changed()
            return [first, still, await said()]

    first, still, changed = asyncio.run(read())

    assert "Deploy on Fridays" in first
    assert "print()" not in first
    assert still == first
    assert "print()" in changed
    assert "Deploy on Fridays" not in changed


@pytest.mark.parametrize("mode", MODES)
def test_the_clients_own_model_learns_from_a_turn(project: Path, mode: Mode) -> None:
    asked: list[types.CreateMessageRequestParams] = []

    async def model(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        asked.append(params)
        answer = types.TextContent(type="text", text='{"decisions": []}')
        return types.CreateMessageResult(role="assistant", content=answer, model="theirs")

    async def talk() -> None:
        async with in_process(project, mode=mode, sampling_callback=model) as client:
            for number in range(12):
                arguments = {"text": f"We decided to use Postgres, part {number}.", "thread": "t"}
                arguments |= {"reply": "Noted."} if number else {}
                assert not (await client.call_tool("expand_references", arguments)).is_error
                if asked:
                    return
                await asyncio.sleep(0.2)

    asyncio.run(talk())

    assert asked
    assert "Postgres" in str(asked[0].messages)


@pytest.mark.parametrize("mode", MODES)
def test_the_clients_own_model_selects_notes_and_scores_files(project: Path, mode: Mode) -> None:
    asked: list[str] = []

    async def model(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        asked.append(str(params.system_prompt))
        answer = types.TextContent(type="text", text="{}")
        return types.CreateMessageResult(role="assistant", content=answer, model="theirs")

    async def talk() -> str:
        async with in_process(project, mode=mode, sampling_callback=model) as client:
            await client.call_tool("track_file", {"path": "docs/style.md", "thread": "t"})
            arguments = {"text": "How wide is the window, and how do we write?", "thread": "t"}
            return text_of(await client.call_tool("expand_references", arguments))

    said = asyncio.run(talk())

    assert any("notes" in one for one in asked), asked
    assert any("file" in one for one in asked), asked
    assert "Be brief" in said


def test_a_model_that_the_person_chose_goes_before_the_clients(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Path(os.environ["HOME"]) / ".config/promptuary/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('writeback_model = "mine"\n[models.mine]\nscripted = ["{\\"decisions\\": []}"]\n')

    async def model(*_: Any) -> Any:
        raise AssertionError("the client's model was asked")

    async def talk() -> None:
        async with in_process(project, sampling_callback=model) as client:
            for number in range(3):
                arguments = {"text": f"We decided to use Postgres, part {number}.", "thread": "t"}
                arguments |= {"reply": "Noted."} if number else {}
                assert not (await client.call_tool("expand_references", arguments)).is_error

    asyncio.run(talk())


def test_the_first_search_reports_its_progress(project: Path, files: Files) -> None:
    files({f"notes/{number}.md": f"Note {number} is about deploying.\n" for number in range(30)})
    told: list[tuple[float, float | None]] = []

    async def noted(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def search() -> None:
        async with in_process(project, mode="legacy") as client:
            await client.call_tool("search_files", {"query": "deploying"}, progress_callback=noted)

    asyncio.run(search())

    assert told
    assert all(total and done <= total for done, total in told)


def test_a_call_that_is_given_up_leaves_the_server_answering(project: Path, files: Files) -> None:
    files({f"notes/{number}.md": f"Note {number} is about deploying.\n" * 50 for number in range(300)})
    told: list[float] = []

    async def give_up() -> str:
        begun = asyncio.Event()

        async def noted(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)
            begun.set()

        async with over_stdio(project, "legacy") as client:
            search = client.call_tool("search_files", {"query": "deploying"}, progress_callback=noted)
            running = asyncio.ensure_future(search)
            await begun.wait()
            running.cancel()
            return text_of(await client.call_tool("expand_references", {"text": "@file:docs/style.md"}))

    assert "Deploy on Fridays" in asyncio.run(give_up())
    assert told[-1] < 300


def test_without_the_extra_it_says_what_to_install(project: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from promptuary.cli.main import main; sys.exit(main(['mcp']))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert how_to_install("mcp") in done.stderr

"""What an attacker tried against the API: requests that cost much, limits to get around, names to learn."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError, RelayError
from promptuary.base.messages import ToolCall
from promptuary.client import BlockingClient
from promptuary.models.chat_model import ToolSpec
from promptuary.server.tokens import Limits
from promptuary.testing.chat_server import ChatServer, Says
from promptuary.threads.run_values import Tool
from tests.conftest import Files
from tests.served import Answer, RunningServer
from tests.server.conftest import StartServer
from tests.server.upstream import Body, Raw, Upstream
from tests.waiting import wait_until

READ = ToolCall("c", "read_file", '{"path": "a.txt"}')


def post(server: RunningServer, secret: str, path: str, body: object, **headers: str) -> Answer:
    sent = {"authorization": f"Bearer {secret}", "content-type": "application/json", **headers}
    return server.ask("POST", f"/api/v1{path}", sent, json.dumps(body).encode())


def get(server: RunningServer, secret: str, path: str) -> Any:
    return json.loads(server.ask("GET", f"/api/v1{path}", {"authorization": f"Bearer {secret}"}).body)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[ChatServer]:
    with ChatServer(getattr(request, "param", [Says("Let me look.", calls=[READ])])) as server:
        yield server


@pytest.fixture
def at_model(
    start_server: StartServer, files: Files, monkeypatch: pytest.MonkeyPatch, model: ChatServer
) -> RunningServer:
    files({"a.txt": "the text of a\n"})
    monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
    return start_server(settings={"answer_model": "gpt-5-mini"})


def test_the_answer_of_a_long_run_grows_with_its_requests_and_does_not_double(at_model: RunningServer) -> None:
    sizes = [
        len(
            post(
                at_model, at_model.create(), "/runs", {"text": "go", "thread": None, "tools": ["read_file"], **most}
            ).body
        )
        for most in ({"max_requests": 5}, {"max_requests": 20})
    ]

    assert sizes[1] < 16 * sizes[0] * 1.5  # each of the requests names those before it


class Loop:
    """How long the server leaves others waiting while something goes on."""

    def __init__(self, server: RunningServer) -> None:
        self._server, self._stopped, self.longest = server, threading.Event(), 0.0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(0.02):
            began = time.monotonic()
            self._server.ask("GET", "/healthz")
            self.longest = max(self.longest, time.monotonic() - began)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/preview", {"text": "ab" * 25_000, "pasted": ["ab"] * 1_000, "thread": None}),
        ("/preview", {"text": "ab" * 25_000, "pasted": [[n, n + 1] for n in range(2_000)], "thread": None}),
        (
            "/runs",
            {"text": "hi", "client_tools": [{"spec": {"name": f"t{n}", "description": ""}} for n in range(20_000)]},
        ),
    ],
    ids=["many times the same", "many spans", "many tools"],
)
def test_a_request_with_very_many_parts_holds_nobody_up(server: RunningServer, path: str, body: object) -> None:
    secret = server.create()
    post(server, secret, "/preview", {"text": "warm up", "thread": None})

    with Loop(server) as loop:
        answer = post(server, secret, path, body)

    assert answer.status in {200, 400}
    assert loop.longest < 2


@pytest.mark.parametrize("model", [[Says("a long story " * 50, pause=0.1)]], indirect=True)
def test_who_leaves_a_run_has_used_what_was_sent_and_said(at_model: RunningServer, model: ChatServer) -> None:
    del model
    with at_model.open_stream("/api/v1/runs", b'{"text": "tell"}') as stream:
        while b"text_piece" not in stream.recv(100_000):
            pass

    (token,) = at_model.store.list()
    wait_until(lambda: at_model.store.use_today(token).tokens > 0)


def test_each_request_of_a_run_counts_and_none_is_sent_beyond_the_limit(
    at_model: RunningServer, model: ChatServer
) -> None:
    secret = at_model.create(limits=Limits(requests=3))

    post(at_model, secret, "/runs", {"text": "go", "tools": ["read_file"], "max_requests": 50})
    again = post(at_model, secret, "/runs", {"text": "go"})

    assert len(model.asked) == 3
    assert (again.status, json.loads(again.body)["code"]) == (429, "LIMIT")


def test_runs_that_go_on_together_send_no_more_requests_than_the_limit_says(
    at_model: RunningServer, model: ChatServer
) -> None:
    secret = at_model.create(limits=Limits(requests=5))
    body = {"text": "go", "thread": None, "tools": ["read_file"], "max_requests": 50}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: post(at_model, secret, "/runs", body), range(4)))

    assert len(model.asked) == 5


def test_a_turn_that_is_run_again_counts(at_model: RunningServer) -> None:
    secret = at_model.create(limits=Limits(tokens=10_000))
    (token,) = [one for one in at_model.store.list() if one.limits.tokens]
    with BlockingClient(at_model.base, token=secret) as p:
        p.threads.finish(p.threads.prepare("hello @file:a.txt"), "fine")
        p.threads.rerun(model="gpt-5-mini")

    use = at_model.store.use_today(token)
    assert (use.requests, use.tokens > 20) == (1, True)


@pytest.mark.parametrize("name", ["lmstudio/x", "ollama/x", "vllm/x", "llamacpp/x"])
def test_no_token_reaches_a_service_on_the_machine_that_nobody_configured(at_model: RunningServer, name: str) -> None:
    answer = post(at_model, at_model.create(), "/runs", {"text": "hi", "model": name})

    assert (answer.status, json.loads(answer.body)["code"]) == (404, "NO_MODEL")


def test_nobody_learns_where_the_workspace_is(server: RunningServer, workspace: Path) -> None:
    answer = post(server, server.create(), "/search/index", {"paths": ["nope"]})

    assert answer.status >= 400
    assert str(workspace) not in answer.body.decode()


def test_a_link_leads_no_index_out_of_the_workspace(server: RunningServer, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.md").write_text("# secret\n")
    (workspace / "lnk").symlink_to(tmp_path / "elsewhere")

    answer = post(server, server.create(), "/search/index", {"paths": ["lnk"]})

    assert answer.status == 400
    assert get(server, server.create(), "/search/status")["folders"] == []


def test_a_limited_token_learns_no_names_from_the_index(server: RunningServer, files: Files) -> None:
    files({"hidden/big.md": "x" * 3_000_000, "docs/a.md": "# a\n"})
    post(server, server.create(), "/search/index", {"paths": ["."]})

    limited = server.create(kinds=frozenset({"file"}), folders=("docs",))
    report = post(server, limited, "/search/index", {})
    status = get(server, limited, "/search/status")

    assert b"hidden" not in report.body
    assert (status["folders"], status["counts"]["files"]) == ([], 0)


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/threads/main/turns", {"text": "x", "pasted": json.loads("[" * 900 + "]" * 900)}, {}, 400),
        ("/runs", {"text": "x"}, {"idempotency-key": "k"}, 400),
        ("/notes/0000/forget", {}, {"if-match": '"stale"'}, 400),
        ("/search", {"query": {"text": "x", "filters": {"until": 10**20}}}, {}, 400),
        ("/search", {"query": {"text": "x", "limit": -1}}, {}, 400),
    ],
)
def test_what_cannot_be_kept_is_refused(
    server: RunningServer, path: str, body: object, headers: dict[str, str], status: int
) -> None:
    assert post(server, server.create(), path, body, **headers).status == status


def test_json_that_is_very_deep_is_refused(server: RunningServer) -> None:
    deep = b'{"type": "task_solution", "intent": "x", "solution": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    headers = {"authorization": f"Bearer {server.create()}", "content-type": "application/json"}

    assert server.ask("POST", "/api/v1/experiences", headers, deep).status == 400


def test_a_cursor_for_an_empty_list_is_no_failure(server: RunningServer) -> None:
    headers = {"authorization": f"Bearer {server.create()}"}

    assert server.ask("GET", "/api/v1/sessions?cursor=MC4wLng", headers).status == 200


def test_a_note_is_changed_by_its_path(server: RunningServer) -> None:
    with BlockingClient(server.base, token=server.create()) as p:
        note = p.memory.write("The door is blue.")
        p.memory.write("The door is red.", id=note.header.path)

        found = p.memory.get(note.header.id)
        assert found is not None
        assert found.body.strip() == "The door is red."


def test_a_workspace_that_does_not_exist_is_no_missing_note(server: RunningServer) -> None:
    with BlockingClient(server.base, token=server.create(), workspace="typo") as p, pytest.raises(PromptuaryError):
        p.memory.get("x")


def test_what_json_cannot_hold_is_refused_by_the_client(server: RunningServer) -> None:
    with BlockingClient(server.base, token=server.create()) as p:
        turn = p.threads.prepare("hello")
        with pytest.raises(ConfigError):
            p.threads.finish(turn, "fine", cost=float("nan"))
        with pytest.raises(ConfigError):
            p.threads.prepare("hello", thread=None)  # type: ignore[arg-type]
        assert [one.id for one in p.threads.list()] == ["main"]


def test_an_audit_has_as_many_rows_as_in_the_folder(server: RunningServer, files: Files) -> None:
    files({"a.txt": "the text of a\n"})
    with BlockingClient(server.base, token=server.create()) as p:
        for _ in range(3):
            p.threads.finish(p.threads.prepare("hello @file:a.txt"), "fine")
        assert len(p.threads.audit("a.txt", limit=2).rows) == 2
        assert p.threads.audit("a.txt", limit=2).more


@pytest.mark.parametrize("model", [[Says("x", calls=[ToolCall("c", "slow", "{}")]), Says("done")]], indirect=True)
def test_a_tool_of_the_client_has_its_own_time_and_its_value_is_json(
    at_model: RunningServer, model: ChatServer
) -> None:
    tool = Tool(ToolSpec("slow", "", {"type": "object"}), lambda _: {"a": 1})  # type: ignore[arg-type, return-value]

    with BlockingClient(at_model.base, token=at_model.create()) as p:
        p.threads.run("go", tools=[tool])
        said = [item.content for item in p.threads.history() if item.role == "tool"]

    del model
    assert said == ['{"a": 1}']


@pytest.mark.parametrize(
    "reply",
    [
        Body({"unexpected": 1}),
        Body("<html>", 200, "text/html"),
        Body("", 204, "text/plain"),
        Body("", 302, "text/plain", {"Location": "http://127.0.0.1:1/"}),
        Body({"code": "NOTE_CONFLICT", "title": "", "detail": "", "status": 412, "current": 5}, 412),
        Body("[" * 5_000, 200, "application/json"),
        Raw([b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n\xff\xff"]),
    ],
)
def test_a_server_that_answers_nonsense_is_told_as_such(reply: Any) -> None:
    with Upstream(reply) as nonsense, BlockingClient(nonsense.url, token="pt_" + "x" * 30) as p:
        with pytest.raises(PromptuaryError):
            p.memory.list()
        with pytest.raises((RelayError, PromptuaryError)):
            p.threads.run("hello")

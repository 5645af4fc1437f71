"""The server as a whole: its start and end, bodies, slow clients, revoked tokens, what it counts and writes down."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from promptuary.cli.main import main
from promptuary.server.asgi import MAX_BODY, Receive, Scope, Send
from promptuary.server.serve import Newcomers
from promptuary.workspace.programs.agents.token import store_token, token_file
from tests.conftest import Figure
from tests.server.conftest import RunningServer, StartServer
from tests.server.test_guard import EchoProxy

JSON = {"content-type": "application/json"}


class StreamingProxy(EchoProxy):
    """Begins to stream, and goes on until it is cut or told to end; says how each request ended."""

    def __init__(self) -> None:
        self.ends: list[str] = []
        self.may_end = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = scope["promptuary.request"]
        request.thread, request.turn = "a-thread", "a-turn"
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            while not self.may_end:  # noqa: ASYNC110  (another thread sets it)
                await asyncio.sleep(0.01)
            await send({"type": "http.response.body", "body": b"done"})
            self.ends.append("whole")
        except asyncio.CancelledError:
            self.ends.append("cut")
            raise

    async def shutdown(self) -> None:
        self.ends.append("shutdown")


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def stream(server: RunningServer, secret: str) -> Iterator[http.client.HTTPResponse]:
    """Ask for a stream, and read its first bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request("POST", "/v1/messages", b"{}", {**JSON, "x-api-key": secret})
        with connection.getresponse() as response:
            assert response.read(5) == b"begun"
            yield response
    finally:
        connection.close()


def test_revoking_a_token_ends_its_streams_and_no_others(server: RunningServer) -> None:
    server.application.areas["proxy"] = proxy = StreamingProxy()
    revoked, other = server.create(), server.create()
    with stream(server, revoked) as ending, stream(server, other) as going_on:
        server.store.revoke(revoked.split("_")[1])
        with pytest.raises(http.client.IncompleteRead):
            ending.read()
        assert proxy.ends == ["cut"]
        assert server.ask("GET", "/v1/models", {"x-api-key": revoked}).status == 401
        proxy.may_end = True
        assert going_on.read() == b"done"


def test_a_server_that_stops_ends_its_streams_and_then_finishes_what_it_records(server: RunningServer) -> None:
    server.application.areas["proxy"] = proxy = StreamingProxy()
    with stream(server, server.create()) as response:
        server.stop()
        wait_for(lambda: not server.server.servers[0].is_serving())
        proxy.may_end = True
        assert response.read() == b"done"
    wait_for(lambda: len(proxy.ends) == 2)
    assert proxy.ends == ["whole", "shutdown"]
    with pytest.raises(ConnectionRefusedError):
        server.ask("GET", "/healthz")


def test_requests_are_counted_and_written_down_without_anything_of_their_text(
    start_server: StartServer, capfd: pytest.CaptureFixture[str]
) -> None:
    server = start_server(log="json")
    server.application.areas["proxy"] = proxy = StreamingProxy()
    proxy.may_end = True
    secret = server.create(name="audited")
    query = "/v1/messages?beta=secret-query"
    assert server.ask("POST", query, {**JSON, "x-api-key": secret, "x-note": "secret-header"}, b"{}").status == 200
    server.ask("POST", "/secret-path", {"x-api-key": secret})

    wait_for(lambda: len(server.store.list_audit()) == 2)
    unknown, known = server.store.list_audit()
    assert (known.method, known.route, known.status) == ("POST", "/v1/messages", 200)
    assert (known.thread, known.turn, known.token) == ("a-thread", "a-turn", secret.split("_")[1])
    assert (unknown.route, unknown.status) == ("-", 404)
    lines: list[str] = []

    def has_both_lines() -> bool:
        lines.extend(capfd.readouterr().err.splitlines())
        return len(lines) >= 2

    wait_for(has_both_lines)
    assert json.loads(lines[0])["route"] == "/v1/messages"
    metrics = server.ask("GET", "/metrics", {"x-api-key": secret}).body.decode()
    assert 'promptuary_requests_total{route="/v1/messages",status="200"} 1' in metrics
    assert 'promptuary_request_seconds_count{route="/v1/messages"} 1' in metrics
    for text in ("".join(lines), metrics):
        assert "secret" not in text
        assert secret not in text


def test_a_body_over_the_limit_is_refused_before_it_is_read(server: RunningServer) -> None:
    server.application.areas["proxy"] = EchoProxy()
    headers = {**JSON, "x-api-key": server.create()}
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        host = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        connection.sendall(f"{host}{head}Content-Length: {MAX_BODY + 1}\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 413"

    def chunks() -> Iterator[bytes]:
        for _ in range(66):
            yield b" " * (1 << 20)

    chunked = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        chunked.request("POST", "/v1/messages", chunks(), headers, encode_chunked=True)
        response = chunked.getresponse()
        assert response.status == 413
        assert json.loads(response.read())["error"]["type"] == "request_too_large"
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server closed the connection while the rest was still being sent
    finally:
        chunked.close()
    assert server.ask("POST", "/v1/messages", headers, b"{}").status == 200


def test_a_compressed_body_and_one_that_is_no_json_are_refused_in_the_shape_of_the_protocol(
    server: RunningServer,
) -> None:
    server.application.areas["proxy"] = EchoProxy()
    own = {"x-api-key": server.create()}
    for path, shape in (("/v1/messages", {"type", "error"}), ("/v1/chat/completions", {"error"})):
        for headers in (
            {**JSON, "content-encoding": "gzip"},
            {"content-type": "text/plain"},
            {"content-type": "application/x-www-form-urlencoded"},
            {},
        ):
            answer = server.ask("POST", path, {**own, **headers}, b"{}")
            assert answer.status == 415
            assert set(json.loads(answer.body)) == shape


@pytest.mark.torture
def test_clients_that_send_nothing_take_no_place_of_others(start_server: StartServer, figure: Figure) -> None:
    server = start_server(newcomers=Newcomers(most=50, seconds=60))
    server.application.areas["proxy"] = EchoProxy()
    secret = server.create()
    with ExitStack() as stack:
        for number in range(figure(120, 1000)):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            if number % 2:
                slow.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: ")
        for _ in range(5):
            assert server.ask("GET", "/v1/models", {"x-api-key": secret}).status == 200
        wait_for(lambda: len(server.server.server_state.connections) <= 50)


def test_a_client_without_a_token_is_not_waited_for(start_server: StartServer) -> None:
    server = start_server(newcomers=Newcomers(seconds=0.2))
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        with suppress(ConnectionResetError):
            assert slow.recv(1) == b""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "--tls-cert FILE --tls-key FILE, or --behind-proxy"),
        (["--host", "192.0.2.7"], "--behind-proxy"),
        (["--host", "::"], "--behind-proxy"),
        (["--host", "0.0.0.0", "--tls-cert", "cert.pem"], "give both"),
        (["--host", "0.0.0.0", "--behind-proxy", "proxy.example"], "10.0.0.0/24"),
        (["a=.", "a=."], "two workspaces are called a"),
        (["a/b=."], "cannot be in an address"),
        (["a=nowhere"], "is not a folder"),
        (["a=.", "--workspace", "."], "not both"),
        (["--tls-cert", "none.pem", "--tls-key", "none.pem", "--port", "0"], "the certificate"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_sentence(
    arguments: list[str],
    sentence: str,
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(workspace)
    assert main(["serve", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_the_program_makes_a_token_serves_and_ends_when_it_is_asked_to(workspace: Path) -> None:
    command = [sys.executable, "-m", "promptuary", "serve", f"app={workspace}", "--port", "0"]
    for is_first in (True, False):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        assert process.stderr is not None
        with process, process.stderr as lines:
            base = next(lines).split()[1]
            introduction = [next(lines) for _ in range(3)]
            assert ("a token was created" in introduction[1]) == is_first
            secret = token_file("serve").read_text().strip()
            assert token_file("serve").stat().st_mode & 0o777 == 0o600
            connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=20)
            connection.request("GET", "/metrics", headers={"authorization": f"Bearer {secret}"})
            assert connection.getresponse().status == 200
            connection.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def test_a_folder_below_the_home_may_be_written_with_a_tilde_in_any_shell(
    server: RunningServer, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(workspace.parent))
    for word in (f"app=~/{workspace.name}", f"~/{workspace.name}"):
        assert main(["serve", word, "--port", str(server.port)]) == 2
        told = capsys.readouterr().err
        assert "choose another, --port" in told
        assert "home folder" not in told
    assert main(["serve", "app=~nobody-at-all/app"]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_serving_the_home_folder_is_warned_of(
    server: RunningServer, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(workspace))
    for folder in (workspace, workspace.parent):
        assert main(["serve", f"all={folder}", "--port", str(server.port)]) == 2
        (warning,) = [line for line in capsys.readouterr().err.splitlines() if "home folder" in line]
        assert str(folder) in warning


def test_of_several_workspaces_the_settings_of_a_client_name_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("shop", "site"):
        (workspace / name).mkdir()
    words = [f"shop={workspace}/shop", f"site={workspace}/site", "--print-config", "claude-code"]
    for here, name, other in ((workspace, "shop", "site"), (workspace / "site", "site", "shop")):
        monkeypatch.chdir(here)
        assert main(["serve", *words]) == 0
        printed = capsys.readouterr()
        assert f"ANTHROPIC_BASE_URL=http://127.0.0.1:8766/w/{name}\n" in printed.out
        assert f"http://127.0.0.1:8766/w/{other}" in printed.err
    assert main(["serve", words[0], *words[2:]]) == 0
    assert "/w/" not in capsys.readouterr().out


def test_settings_for_another_machine_do_not_name_the_token_of_this_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    store_token("serve", "pt_0123456789ab_of_this_machine")

    def print_config(*words: str) -> str:
        assert main(["serve", "--print-config", "codex", "--server-key", *words]) == 0
        printed = capsys.readouterr()
        return printed.out + printed.err

    assert str(token_file("serve")) in print_config()
    far = print_config("--host", "192.0.2.7", "--tls-cert", "c.pem", "--tls-key", "k.pem")
    assert "tokens/serve" not in far
    assert "printenv" in far
    assert "promptuary token create" in far
    monkeypatch.setenv("PROMPTUARY_TOKEN", "pt_0123456789ab_of_my_own")
    near = print_config()
    assert "tokens/serve" not in near
    assert "of_my_own" not in near


def test_a_port_in_use_is_told(server: RunningServer, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", f"app={workspace}", "--port", str(server.port)]) == 2
    assert "choose another, --port" in capsys.readouterr().err


def test_a_request_that_arrives_in_one_piece_may_be_larger_than_its_head(server: RunningServer) -> None:
    """As that of a coding agent, which a loopback connection hands over at once."""
    server.application.areas["proxy"] = EchoProxy()
    body = b'{"input": "' + b"x" * 200_000 + b'"}'
    fields = f"Authorization: Bearer {server.create()}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        head = f"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{fields}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")


def test_a_refusal_that_does_not_pass_by_itself_tells_clients_not_to_ask_again(server: RunningServer) -> None:
    """Claude Code asks again for more than a minute otherwise, and shows nothing."""
    own = {**JSON, "x-api-key": server.create()}
    for headers, path in ((JSON, "/v1/messages"), (own, "/w/nowhere/v1/messages"), (own, "/nothing")):
        assert server.ask("POST", path, headers, b"{}").headers["x-should-retry"] == "false"

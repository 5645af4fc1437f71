"""Who may ask what: a matrix from the table of routes, and one of Host and Origin."""

import http.client
import itertools
import json
import re
import socket
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from promptuary.base.principals import Principal
from promptuary.server.asgi import Receive, Scope, Send, read_body, send_answer
from promptuary.server.errors import Refusal
from promptuary.server.guard import Doors, accepted_hosts, check_sender, find_secret, read_networks
from promptuary.server.matches import Area, Route
from promptuary.server.routes import ROUTES, find_route
from promptuary.server.tokens import SCOPES
from tests.served import Answer, RunningServer
from tests.server.conftest import StartServer

EXAMPLES = {"{id}": "resp_1", "{model}": "gpt-5", "{rest}": "files/file-1/content"}
HEADERS = ("authorization", "x-api-key", "x-promptuary-token")
OPEN = {
    "/healthz": "says only that the server runs",
    "/static/{name}": "styles and scripts of the page, the same for everybody",
    "/sign-in": "whoever signs in shows a token or a code, and has no session yet",
}
"""The rows that need no token, and why."""
GUARDED = [route for route in ROUTES if route.path not in OPEN]


class EchoProxy:
    """Answers with what the guard found out."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive)
        request = scope["promptuary.request"]
        about = {"workspace": request.workspace, "own_key": request.own_key}
        await send_answer(send, 200, json.dumps({**about, "bytes": len(body)}).encode())

    async def shutdown(self) -> None:
        pass


def path_of(route: Route) -> str:
    path = route.path
    for part, example in EXAMPLES.items():
        path = path.replace(part, example)
    return re.sub(r"\{\w+\}", "1", path)


def with_secret(header: str, secret: str) -> dict[str, str]:
    return {header: f"Bearer {secret}" if header == "authorization" else secret}


def ask(server: RunningServer, route: Route, headers: dict[str, str], prefix: str = "") -> Answer:
    body = b"{}" if route.method in {"POST", "PATCH"} else None
    kind = "application/x-www-form-urlencoded" if route.area == "page" else "application/json"
    return server.ask(
        route.method, prefix + path_of(route), {**({"content-type": kind} if body else {}), **headers}, body
    )


@pytest.fixture
def two(start_server: StartServer, tmp_path: Path) -> RunningServer:
    folders = {name: tmp_path / name for name in ("app", "notes")}
    for folder in folders.values():
        folder.mkdir()
    server = start_server(folders)
    server.application.areas = dict.fromkeys(get_args(Area), EchoProxy())
    return server


def test_only_the_rows_that_say_why_are_open() -> None:
    assert {route.path for route in ROUTES if route.scope is None} == OPEN.keys()


def test_every_other_route_needs_a_valid_token_in_whichever_header_it_is_sent(two: RunningServer) -> None:
    revoked = two.create()
    two.store.revoke(revoked.split("_")[1])
    wrong = f"{two.create()[:-1]}x"
    for route, header in itertools.product(GUARDED, HEADERS):
        for secret in (revoked, wrong, "", "sk-ant-something"):
            answer = ask(two, route, with_secret(header, secret))
            # A person is shown where to sign in; a browser asked for a "Bearer" could show nothing of use.
            challenge = None if route.protocol == "page" else "Bearer"
            assert (answer.status, answer.headers.get("www-authenticate")) == (401, challenge), (route, header)
    assert {ask(two, route, {}).status for route in ROUTES if route.path == "/healthz"} == {200}
    assert two.ask("GET", "/nothing").status == two.ask("GET", "/w/app/healthz").status == 401


def test_a_token_opens_the_routes_of_its_scopes_and_no_others(two: RunningServer) -> None:
    for scope, header in itertools.product(SCOPES, HEADERS):
        secret = two.create(scopes=frozenset({scope}), workspaces=("app",))
        for route in GUARDED:
            if route.path == "/readyz":
                continue
            answer = ask(two, route, with_secret(header, secret))
            assert answer.status == (200 if route.scope == scope else 403), (route, scope, header)


def test_what_is_absent_and_what_is_not_for_a_token_are_answered_alike(two: RunningServer) -> None:
    secret = two.create(workspaces=("app",))
    headers = {**with_secret("x-api-key", secret)}
    for route in (route for route in GUARDED if route.area != "server"):
        foreign, absent = (ask(two, route, headers, f"/w/{name}") for name in ("notes", "nothing"))
        assert (foreign.status, foreign.body) == (absent.status, absent.body)
        assert foreign.status == 404
        assert ask(two, route, headers, "/w/app").status == 200


def test_the_workspace_is_that_of_the_address_else_of_the_token(two: RunningServer) -> None:
    route = next(route for route in ROUTES if route.path == "/v1/models")
    everywhere, here = two.create(), two.create(workspaces=("notes",), principal=Principal("ana"))

    assert json.loads(ask(two, route, with_secret("x-api-key", here)).body)["workspace"] == "notes"
    assert json.loads(ask(two, route, with_secret("x-api-key", everywhere), "/w/app").body)["workspace"] == "app"
    undecided = ask(two, route, with_secret("x-api-key", everywhere))
    assert undecided.status == 400
    assert b"/w/NAME" in undecided.body


def test_our_header_leaves_the_usual_ones_to_the_key_of_the_client(two: RunningServer) -> None:
    secret = two.create(workspaces=("app",))
    headers = {"x-promptuary-token": secret, "authorization": "Bearer sk-own", "x-api-key": "sk-own"}

    assert json.loads(two.ask("GET", "/v1/models", headers).body)["own_key"] is True
    assert json.loads(two.ask("GET", "/v1/models", with_secret("authorization", secret)).body)["own_key"] is False


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"x-api-key", b"pt_a"), (b"authorization", b"Bearer pt_a")], ("pt_a", False)),
        ([(b"x-api-key", b"pt_a"), (b"authorization", b"Bearer pt_b")], ("", False)),
        ([(b"x-api-key", b"sk-1"), (b"authorization", b"bearer pt_b")], ("pt_b", False)),
        ([(b"x-api-key", b"pt_a"), (b"x-api-key", b"pt_a"), (b"authorization", b"Bearer pt_a")], ("", False)),
        ([(b"x-promptuary-token", b"pt_a"), (b"x-promptuary-token", b"pt_a")], ("", True)),
        ([(b"x-promptuary-token", b""), (b"x-api-key", b"pt_a")], ("", True)),
        ([(b"authorization", b"Basic pt_a")], ("", False)),
        ([], ("", False)),
    ],
)
def test_credentials_are_read_in_one_way(headers: list[tuple[bytes, bytes]], expected: tuple[str, bool]) -> None:
    assert find_secret(headers) == expected


@pytest.mark.parametrize(
    "path",
    [
        b"/v1//messages",
        b"/v1/../v1/messages",
        b"/v1/%2e%2e/x",
        b"/v1/files/../x",
        b"/v1/",
        b"/V1/messages",
        b"/v1/a\xff",
    ],
)
def test_a_path_that_others_may_read_in_another_way_is_no_route(path: bytes) -> None:
    assert find_route("GET", path) is None
    assert find_route("POST", path) is None


BINDS: dict[str, Doors] = {
    "loopback": Doors(accepted_hosts("127.0.0.1", 8766)),
    "IPv6 loopback": Doors(accepted_hosts("::1", 8766)),
    "every address, with TLS": Doors(accepted_hosts("0.0.0.0", 443, ["ai.example.org"], scheme="https"), "https"),
    "one address": Doors(accepted_hosts("10.1.2.3", 8766), "https"),
    "behind a proxy": Doors(accepted_hosts("10.1.2.3", 8766, ["ai.example.org"]), "http", read_networks(["10.0.0.5"])),
}
LOOPBACK = ("loopback", "IPv6 loopback")
NOT_443 = (*LOOPBACK, "one address", "behind a proxy")
NAMED = ("every address, with TLS", "behind a proxy")
HOSTS: dict[str, tuple[str, ...]] = {
    "127.0.0.1:8766": NOT_443,
    "localhost:8766": NOT_443,
    "LOCALHOST:8766": NOT_443,
    "[::1]:8766": NOT_443,
    "127.0.0.1": ("every address, with TLS",),
    "localhost": ("every address, with TLS",),
    "[::1]": ("every address, with TLS",),
    "127.0.0.1:443": ("every address, with TLS",),
    "10.1.2.3:8766": ("one address", "behind a proxy"),
    "10.1.2.3": (),
    "ai.example.org": NAMED,
    "AI.Example.ORG": NAMED,
    "ai.example.org:443": ("every address, with TLS",),
    "ai.example.org:8766": ("behind a proxy",),
    **dict.fromkeys(
        (
            *("127.0.0.1:8765", "localhost.:8766", "localhost:08766", "localhost:8766.", "localhost:", "localhost:x"),
            *("127.0.0.2:8766", "127.1:8766", "2130706433:8766", "0x7f.0.0.1:8766", "0.0.0.0:8766", "[::]:8766"),
            *("[0:0:0:0:0:0:0:1]:8766", "[::ffff:127.0.0.1]:8766", "[::1%25lo]:8766", "::1:8766"),
            *("evil.example:8766", "localhost.evil.example:8766", "127.0.0.1.nip.io:8766", "user@localhost:8766"),
            *("localhost:8766@evil.example", "localhost:8766, evil.example", " ", "", "ai.example.org.", "localhost/"),
            *("http://localhost:8766", "loc\x00alhost:8766", "xn--lcalhost-54a:8766"),
        ),
        (),
    ),
}


def request(host: str | None, *more: tuple[bytes, bytes], client: str = "127.0.0.1") -> Scope:
    hosts = [] if host is None else [(b"host", host.encode())]
    return {"headers": [*hosts, *more], "raw_path": b"/v1/models", "client": (client, 5)}


def status_of(scope: Scope, doors: Doors) -> int:
    try:
        check_sender(scope, doors)
    except Refusal as refusal:
        return refusal.status
    return 200


@pytest.mark.parametrize("bind", BINDS)
def test_only_the_names_of_the_server_are_accepted_as_host(bind: str) -> None:
    assert len(HOSTS) >= 40
    for host, accepted in HOSTS.items():
        assert status_of(request(host), BINDS[bind]) == (200 if bind in accepted else 421), host
    assert status_of(request(None), BINDS[bind]) == 421
    assert status_of(request("localhost:8766", (b"host", b"localhost:8766")), BINDS[bind]) == 421


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (b"http://localhost:8766", 200),
        (b"HTTP://LOCALHOST:8766", 200),
        *(
            (origin, 403)
            for origin in (
                *(b"https://localhost:8766", b"http://127.0.0.1:8766", b"http://localhost", b"http://localhost:8765"),
                *(b"null", b"", b"http://evil.example", b"http://localhost:8766.evil.example", b"file://"),
                *(b"http://localhost:8766/", b"http://user@localhost:8766", b"chrome-extension://abc"),
            )
        ),
    ],
)
def test_only_the_own_origin_is_accepted(origin: bytes, status: int) -> None:
    assert status_of(request("localhost:8766", (b"origin", origin)), BINDS["loopback"]) == status
    twice = request("localhost:8766", (b"origin", b"http://localhost:8766"), (b"origin", origin))
    assert status_of(twice, BINDS["loopback"]) == 403


@pytest.mark.parametrize(
    ("site", "status"), [(b"same-origin", 200), (b"none", 200), (b"cross-site", 403), (b"same-site", 403)]
)
def test_a_browser_that_tells_of_another_site_is_refused(site: bytes, status: int) -> None:
    assert status_of(request("localhost:8766", (b"sec-fetch-site", site)), BINDS["loopback"]) == status


def test_behind_a_proxy_only_that_is_answered_whatever_a_header_says() -> None:
    doors = BINDS["behind a proxy"]
    forged = ((b"x-forwarded-for", b"10.0.0.5"), (b"forwarded", b"for=10.0.0.5"))
    assert status_of(request("ai.example.org", client="10.0.0.5"), doors) == 200
    assert status_of(request("ai.example.org", client="::ffff:10.0.0.5"), doors) == 200
    assert status_of(request("ai.example.org", *forged, client="10.0.0.6"), doors) == 403


def raw(server: RunningServer, head: str) -> tuple[int, bytes, dict[str, str]]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        with closing(http.client.HTTPResponse(connection, method="GET")) as response:
            response.begin()
            return response.status, response.read(), dict(response.getheaders())


def test_a_whole_url_as_target_and_an_unknown_method_get_nothing(server: RunningServer) -> None:
    token = server.create()
    own = f"Host: 127.0.0.1:{server.port}\nx-api-key: {token}"
    assert raw(server, f"GET http://evil.example/metrics HTTP/1.1\n{own}")[0] == 400
    assert raw(server, f"GET /metrics HTTP/1.1\n{own}")[0] == 200
    assert raw(server, f"GET /metrics HTTP/1.1\nHost: evil.example\nx-api-key: {token}")[0] == 421
    status, body, headers = raw(server, f"OPTIONS /v1/messages HTTP/1.1\n{own}\nOrigin: http://127.0.0.1:{server.port}")
    assert status == 404
    assert not [name for name in headers if name.lower().startswith(("access-control", "allow", "server"))]
    assert b"not_found" in body


def test_headers_without_end_close_the_connection(server: RunningServer) -> None:
    with pytest.raises((http.client.HTTPException, OSError)):
        raw(server, f"GET /healthz HTTP/1.1\nHost: x\nx-long: {'a' * 400_000}" * 2)
    many = "\n".join(f"x-{number}: {'a' * 1000}" for number in range(100))
    assert raw(server, f"GET /healthz HTTP/1.1\nHost: x\n{many}")[0] == 400

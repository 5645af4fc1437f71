"""The page against hostile clients and hostile pages in other tabs: over real HTTP, for every route of the page."""

import re
from contextlib import ExitStack, closing
from urllib.parse import quote

import pytest

from promptuary.server.matches import Route
from promptuary.server.page.layout import HEADERS
from promptuary.server.routes import ROUTES
from tests.served import Answer, RunningServer
from tests.server.test_page_signin import NAVIGATION
from tests.server.visitors import Visitor, as_text

PAGE_ROUTES = tuple(route for route in ROUTES if route.area == "page")
FORMS = tuple(route for route in PAGE_ROUTES if route.method == "POST")
STREAMS = frozenset({"/live"})
FORM = {"content-type": "application/x-www-form-urlencoded"}
SAME = {"sec-fetch-site": "same-origin"}


def path_of(route: Route, part: str = "1") -> str:
    return re.sub(r"\{\w+\}", part, route.path)


def ask(
    server: RunningServer, route: Route, headers: dict[str, str], body: bytes | None = b"", path: str = ""
) -> Answer:
    sent = {**(FORM if route.method == "POST" else {}), "accept": "text/html", **headers}
    return server.ask(route.method, path or path_of(route), sent, body if route.method == "POST" else None)


def test_every_answer_of_every_route_has_the_headers_of_the_page(server: RunningServer) -> None:
    visitor = Visitor(server)
    cookie = {"cookie": visitor.cookie, **SAME}
    huge = f"form_token={visitor.form_token()}&" + "&".join(f"f{number}=1" for number in range(300))
    for route in (route for route in PAGE_ROUTES if route.path not in STREAMS):
        answers = {
            "as meant": ask(server, route, cookie, b"form_token=wrong"),
            "without a session": ask(server, route, SAME),
            "from elsewhere": ask(server, route, {**cookie, "sec-fetch-site": "cross-site"}),
            "with another origin": ask(server, route, {**cookie, "origin": "http://evil.test"}),
            "with another host": ask(server, route, {**cookie, "host": "evil.test"}),
            "with too many fields": ask(server, route, cookie, huge.encode(), f"{path_of(route)}?{huge}"),
            "compressed": ask(server, route, {**cookie, "content-encoding": "gzip"}, b"x"),
        }
        for what, answer in answers.items():
            assert answer.status != 500, (route, what)
            for name, value in HEADERS:
                assert answer.headers.get(name.decode()) == value.decode(), (route, what, answer.status)
            assert not [name for name in answer.headers if name.startswith("access-control")], (route, what)
            if not route.path.startswith("/static"):
                assert answer.headers.get("cache-control") == "no-store", (route, what, answer.status)


def test_no_route_but_those_of_the_page_takes_a_cookie(server: RunningServer) -> None:
    visitor = Visitor(server)
    for route in (route for route in ROUTES if route.area != "page" and route.scope is not None):
        headers = {"cookie": visitor.cookie, "content-type": "application/json", **SAME}
        path = re.sub(r"\{\w+\}", "x", route.path)
        body = None if route.method in {"GET", "HEAD"} else b"{}"
        for prefix in ("", "/w/app"):
            answer = server.ask(route.method, prefix + path, headers, body)
            assert answer.status == 401, (route, prefix)


@pytest.mark.parametrize("route", FORMS, ids=[route.path for route in FORMS])
def test_a_form_is_refused_unless_a_page_of_this_session_sent_it(server: RunningServer, route: Route) -> None:
    visitor, other = Visitor(server), Visitor(server)
    own, foreign = visitor.form_token(), other.form_token()
    cookie = {"cookie": visitor.cookie}
    good = f"form_token={own}".encode()
    refused = [
        ask(server, route, {**cookie, "sec-fetch-site": site}, good) for site in ("cross-site", "same-site", "none")
    ]
    refused += [
        ask(server, route, cookie, good),  # a browser says at least its origin
        ask(server, route, {**cookie, "origin": "null"}, good),
        ask(server, route, {**cookie, **SAME, "origin": "http://evil.test"}, good),
        ask(server, route, {**cookie, **SAME, "origin": f"http://localhost:{server.port + 1}"}, good),
    ]
    if route.path != "/sign-in":  # who is not signed in has no token of a form
        refused += [
            ask(server, route, {**cookie, **SAME}, body)
            for body in (b"", b"form_token=", b"form_token=" + b"0" * 64, f"form_token={foreign}".encode())
        ]
    assert [answer.status for answer in refused] == [403] * len(refused)
    wrong_kinds = ("text/plain", "multipart/form-data; boundary=x", "application/json", "")
    for kind in wrong_kinds:
        assert ask(server, route, {**cookie, **SAME, "content-type": kind}, good).status == 415, kind
    assert visitor.get("/turns").status == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "127.0.0.1", "[::1", "127.0.0.1:1", "a@127.0.0.1", ""]
)
def test_a_name_that_leads_here_is_not_a_host_of_this_server(server: RunningServer, host: str) -> None:
    visitor = Visitor(server)
    code = server.store.invite(visitor.token.id)
    for path in ("/turns", "/turns.json", "/sign-in", f"/sign-in?code={code}", "/nothing"):
        answer = visitor.get(path, host=host)
        assert answer.status in (400, 421), (path, answer.status)
        assert "set-cookie" not in answer.headers
    assert server.store.redeem(code)


def test_codes_and_sessions_are_not_guessed_nor_taken_in_another_form(server: RunningServer) -> None:
    visitor = Visitor(server)
    code = server.store.invite(visitor.token.id)
    session = visitor.cookie.partition("=")[2]
    stranger = Visitor(server, signed_in=False)
    for guess in (
        "",
        "x",
        code[:-1],
        f"{code}x",
        code.swapcase(),
        session,
        visitor.secret,
        "0" * 5000,
        quote("\x00\udcff", errors="replace"),
    ):
        answer = stranger.get(f"/sign-in?code={guess}")
        assert answer.status == (401 if guess else 200), guess
        assert "set-cookie" not in answer.headers
    name = visitor.cookie.partition("=")[0]
    for value in ("", code, visitor.secret, session[:-1], f"{session}; {name}={session}x", f'"{session}"', "0" * 5000):
        stranger.cookie = f"{name}={value}"
        assert stranger.get("/turns").status == 401, value
    stranger.cookie = visitor.cookie.replace(name, f"promptuary-{server.port + 1}")
    assert stranger.get("/turns").status == 401
    assert server.store.redeem(code)


def test_the_link_is_of_no_use_to_who_sees_it_later_nor_after_its_token_is_revoked(server: RunningServer) -> None:
    visitor = Visitor(server)
    used, unused = (server.store.invite(visitor.token.id) for _ in range(2))
    assert "set-cookie" in Visitor(server, signed_in=False).get(f"/sign-in?code={used}").headers

    server.store.revoke(visitor.token.id)

    for code in (used, unused):
        assert Visitor(server, signed_in=False).get(f"/sign-in?code={code}").status == 401
    assert visitor.get("/turns").status == 401


@pytest.mark.parametrize(
    "goal",
    [
        *("//evil.test", "/\\evil.test", "\\\\evil.test", "/\t/evil.test", "http:evil.test", "https://evil.test/"),
        *(
            "javascript:alert(1)",
            " /turns",
            "/turns\r\nset-cookie: a=b",
            "data:text/html,x",
            "\u2028/turns",
            "evil.test",
        ),
    ],
)
def test_nobody_is_led_away_from_here_whatever_an_address_says(server: RunningServer, goal: str) -> None:
    visitor = Visitor(server, signed_in=False)

    for answer in (
        visitor.get(f"/sign-in?next={quote(goal)}"),
        visitor.send("/sign-in", token="wrong", next=goal),
        visitor.send("/sign-in", token=visitor.secret, next=goal),
    ):
        body = answer.body.decode()
        led = re.findall(r'(?:content="0; url=|name="next" value="|href=")([^"]*)"', body)
        assert led
        assert all(address.startswith(("/", "#")) and not address.startswith(("//", "/\\")) for address in led), led
        assert "location" not in answer.headers


@pytest.mark.parametrize(
    "path", ["//evil.test/turns", "/turns?%0d%0aset-cookie:a=b", "/turns;/../..", "/w/app/../../turns", "/%2e%2e/turns"]
)
def test_an_address_that_is_shown_again_leads_nowhere_else(server: RunningServer, path: str) -> None:
    stranger = Visitor(server, signed_in=False)
    for answer in (stranger.get(path), stranger.get(path, sec_fetch_site="cross-site", **NAVIGATION)):
        assert answer.status in (200, 400, 401, 404)
        assert "set-cookie" not in answer.headers
        body = answer.body.decode()
        assert not re.search(r'(?:url=|value="|href=")//', body), body


def test_what_an_address_says_is_text_on_every_error_page(server: RunningServer) -> None:
    visitor = Visitor(server)
    payload = "<script>alert(1)</script>"
    for path in (f"/{quote(payload)}", f"/turns?cursor={quote(payload)}", f"/status/settings?saved={quote(payload)}"):
        for answer in (visitor.get(path), Visitor(server, signed_in=False).get(path)):
            assert payload not in answer.body.decode(), path
    sent = visitor.send("/status/settings", form_token=visitor.form_token(), name=payload, value=payload)
    assert sent.status in (400, 422)
    assert payload not in sent.body.decode()
    assert "is not a setting" in as_text(sent.body)


def test_streams_of_some_take_no_place_of_others(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptuary.server.running.MAX_OF_TOKEN", 2)
    mine, theirs = server.create(), server.create()

    with ExitStack() as stack:
        for secret in (mine, mine, theirs):
            stream = stack.enter_context(closing(server.open_get("/live", f"Authorization: Bearer {secret}\r\n")))
            assert b"200 OK" in stream.recv(65536)

"""Who gets into the page, how, and how it ends: over real HTTP."""

import json
import re
import time
from html import unescape
from typing import Any

import pytest

from promptuary.server.tokens import TokenStore
from tests.server.conftest import RunningServer, StartServer
from tests.server.visitors import Visitor, as_text

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def test_a_link_signs_in_once_and_leads_to_the_page(server: RunningServer) -> None:
    visitor = Visitor(server, signed_in=False)
    code = server.store.invite(visitor.token.id)

    # A link in a file is another site to the browser.
    first = visitor.get(f"/sign-in?code={code}", sec_fetch_site="cross-site", **NAVIGATION)

    assert first.status == 200
    assert b'http-equiv="refresh" content="0; url=/"' in first.body
    assert visitor.get("/turns").status == 200
    again = Visitor(server, signed_in=False)
    assert again.get(f"/sign-in?code={code}").status == 401
    assert again.get("/turns").status == 401


NAVIGATION = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}


def test_a_link_is_good_for_five_minutes(server: RunningServer) -> None:
    clock = ["2026-01-01T00:00:00.000Z"]
    store = TokenStore(server.store._path, clock=lambda: clock[0])
    token = Visitor(server, signed_in=False).token
    early, late = store.invite(token.id), store.invite(token.id)

    clock[0] = "2026-01-01T00:04:59.000Z"
    assert store.redeem(early)
    clock[0] = "2026-01-01T00:05:00.000Z"
    assert not store.redeem(late)
    store.close()


def test_the_cookie_is_only_for_this_server_and_no_script_reads_it(server: RunningServer) -> None:
    visitor = Visitor(server, signed_in=False)

    answer = visitor.send("/sign-in", token=visitor.secret)

    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == f"promptuary-{server.port}"
    assert rest.partition("; ")[2] == "Path=/; HttpOnly; SameSite=Strict"


def test_behind_a_proxy_with_tls_the_cookie_is_bound_to_the_host(start_server: StartServer) -> None:
    visitor = Visitor(start_server(proxies=("127.0.0.1",)), signed_in=False)

    cookie = visitor.send("/sign-in", token=visitor.secret).headers["set-cookie"]

    assert cookie.startswith("__Host-promptuary=")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")


def test_a_wrong_token_is_told_so_and_gets_no_session(server: RunningServer) -> None:
    visitor = Visitor(server, signed_in=False)

    answer = visitor.send("/sign-in", token="pt_000000000000_" + "0" * 48)

    assert answer.status == 401
    assert "no such token" in as_text(answer.body)
    assert not visitor.cookie


def test_without_a_session_every_page_asks_to_sign_in_and_comes_back(server: RunningServer) -> None:
    visitor = Visitor(server, signed_in=False)

    answer = visitor.get("/turns?thread=a%26b")

    assert answer.status == 401
    assert b'name="next" value="/turns?thread=a%26b"' in answer.body
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("goal", ["//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)", "/a\nb"])
def test_nobody_is_led_to_another_site(server: RunningServer, goal: str) -> None:
    visitor = Visitor(server, signed_in=False)

    answer = visitor.send("/sign-in", token=visitor.secret, next=goal)

    assert b'content="0; url=/"' in answer.body


def test_the_api_and_the_proxy_take_no_cookie(server: RunningServer) -> None:
    visitor = Visitor(server)

    assert visitor.get("/turns").status == 200
    assert visitor.get("/api/v1/threads").status == 401
    assert visitor.get("/v1/models").status == 401
    assert visitor.get("/metrics").status == 401
    assert visitor.get("/mcp").status == 401


def test_a_page_is_read_as_json_with_a_token_or_with_a_session(server: RunningServer) -> None:
    visitor = Visitor(server)

    with_token = server.ask("GET", "/turns.json", {"authorization": f"Bearer {visitor.secret}"})

    assert json.loads(with_token.body) == json.loads(visitor.get("/turns.json").body)
    assert server.ask("GET", "/turns.json").status == 401


def test_signing_out_ends_the_session_at_once(server: RunningServer) -> None:
    visitor = Visitor(server)
    cookie = visitor.cookie

    assert visitor.send("/sign-out", form_token=visitor.form_token()).status == 303

    visitor.cookie = cookie
    assert visitor.get("/turns").status == 401


def test_revoking_the_token_ends_the_session_at_once_also_from_another_process(server: RunningServer) -> None:
    visitor = Visitor(server)
    assert visitor.get("/turns").status == 200

    other = TokenStore(server.store._path)
    other.revoke(visitor.token.id)
    other.close()

    assert visitor.get("/turns").status == 401


def test_a_session_survives_a_restart(start_server: StartServer) -> None:
    first = start_server()
    visitor = Visitor(first)
    first.stop()

    second = start_server()
    visitor.server = second
    visitor.cookie = visitor.cookie.replace(f"promptuary-{first.port}", f"promptuary-{second.port}")

    assert visitor.get("/turns").status == 200


def test_a_form_needs_the_token_of_its_session_and_must_come_from_here(server: RunningServer) -> None:
    visitor, other = Visitor(server), Visitor(server)
    token = visitor.form_token()
    origin = {"origin": f"http://127.0.0.1:{server.port}"}

    assert visitor.send("/sign-out").status == 403
    assert visitor.send("/sign-out", form_token=other.form_token()).status == 403
    assert visitor.send("/sign-out", {"sec-fetch-site": "cross-site"}, form_token=token).status == 403
    assert visitor.send("/sign-out", {"sec-fetch-site": "none"}, form_token=token).status == 403
    assert visitor.send("/sign-out", {"content-type": "text/plain"}, form_token=token).status == 415
    # A browser without Sec-Fetch-Site says at least its origin.
    assert visitor._ask("POST", "/sign-out", FORM, f"form_token={token}".encode()).status == 403
    assert visitor._ask("POST", "/sign-out", FORM | {"origin": "http://evil.test"}, b"").status == 403
    assert visitor._ask("POST", "/sign-out", FORM | origin, f"form_token={token}".encode()).status == 303


FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_who_follows_a_link_from_another_site_is_led_on(server: RunningServer) -> None:
    """Browsers send no cookie then: a page leads on to the same address, and to that they do."""
    visitor = Visitor(server)
    cookie, visitor.cookie = visitor.cookie, ""

    answer = visitor.get("/turns?thread=a", sec_fetch_site="cross-site", **NAVIGATION)

    assert (answer.status, b'content="0; url=/turns?thread=a"' in answer.body) == (200, True)
    visitor.cookie = cookie
    assert visitor.get("/turns", sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403
    frame = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}
    assert visitor.get("/turns", sec_fetch_site="cross-site", **frame).status == 403


def test_every_answer_of_the_page_has_the_policy(server: RunningServer) -> None:
    visitor = Visitor(server)
    stranger = Visitor(server, signed_in=False)
    static = visitor.get("/turns").body.decode().partition("/static/")[2].partition('"')[0]

    for answer in (
        visitor.get("/turns"),
        visitor.get("/turns.json"),
        visitor.get("/nothing"),
        visitor.get(f"/static/{static}"),
        visitor.get("/"),
        stranger.get("/turns"),
        stranger.get("/sign-in"),
    ):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_page_that_does_not_exist_says_so_as_a_page(server: RunningServer) -> None:
    visitor = Visitor(server)

    answer = visitor.get("/nothing")

    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Nothing here" in as_text(answer.body)
    assert Visitor(server, signed_in=False).get("/nothing").status == 401


def test_a_live_stream_ends_when_its_session_is_signed_out(server: RunningServer) -> None:
    visitor = Visitor(server)
    token = visitor.form_token()
    stream = server.open_get("/live", f"Cookie: {visitor.cookie}\r\n")
    assert b"event: start" in stream.recv(65536)
    area = server.application.areas["page"]
    assert len(area._running) == 1

    visitor.send("/sign-out", form_token=token)

    deadline = time.monotonic() + 10
    while stream.recv(65536) and time.monotonic() < deadline:
        pass
    assert time.monotonic() < deadline
    stream.close()


def test_a_token_that_may_not_read_sees_no_page(server: RunningServer) -> None:
    visitor = Visitor(server, scopes=frozenset({"proxy"}))

    assert visitor.get("/turns").status == 403


def test_with_several_workspaces_the_page_offers_each(
    start_server: StartServer, workspace: object, tmp_path: object
) -> None:
    visitor = Visitor(start_server({"app": workspace, "notes": workspace}))

    assert b'href="/w/notes/turns"' in visitor.get("/turns").body
    assert b'href="/w/notes/turns" aria-current="page"' in visitor.get("/w/notes/turns").body


# What was typed when a session had ended


def ended(server: RunningServer) -> tuple[Visitor, str]:
    """Return a visitor whose session has ended, and the token of its forms."""
    visitor = Visitor(server)
    token = visitor.form_token()
    server.store.end_session(visitor.cookie.partition("=")[2])
    return visitor, token


def test_what_was_typed_when_the_session_had_ended_is_sent_after_signing_in(server: RunningServer) -> None:
    visitor, token = ended(server)
    typed = "<b>first</b> & last\r\n\r\nline"

    refused = visitor.send("/memory/new", form_token=token, content=typed, title='a "title"')

    assert refused.status == 401
    assert "this was not sent" in as_text(refused.body).lower()
    assert kept(refused.body)["next"] == "/memory/new"
    again = visitor.send("/sign-in", token="pt_000000000000_" + "0" * 48, **kept(refused.body))
    assert (again.status, kept(again.body)) == (401, kept(refused.body))
    signed_in = visitor.send("/sign-in", token=visitor.secret, **kept(again.body))
    assert signed_in.status == 200
    assert b"<b>first" not in signed_in.body
    assert b'action="/memory/new"' in signed_in.body
    assert not server.store.find_session("")
    fields = kept(signed_in.body)
    assert (fields["content"], fields["title"]) == (typed, 'a "title"')
    saved = visitor.send("/memory/new", **fields)
    assert saved.status == 303
    assert "first" in visitor.text(saved.headers["location"])


def kept(body: bytes) -> dict[str, Any]:
    """Return what is in the form of a page but for the secret, as a browser sends it."""
    page = body.decode()
    inputs = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page)
    texts = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL)
    return {name: unescape(value) for name, value in (*inputs, *texts)}


def test_who_signs_in_with_a_link_elsewhere_goes_on_with_what_was_typed(server: RunningServer) -> None:
    visitor, token = ended(server)
    refused = visitor.send("/memory/new", form_token=token, content="a long text")
    too_early = visitor.send("/sign-in", token="", **kept(refused.body))

    visitor.get(f"/sign-in?code={server.store.invite(visitor.token.id)}")
    answer = visitor.send("/sign-in", token="", **kept(too_early.body))

    assert too_early.status == 401
    assert "not signed in yet" in as_text(too_early.body)
    assert kept(answer.body)["content"] == "a long text"
    assert visitor.send("/memory/new", **kept(answer.body)).status == 303


def test_a_form_of_an_earlier_session_is_shown_to_be_sent_again_and_not_carried_out(server: RunningServer) -> None:
    visitor, token = ended(server)
    visitor.send("/sign-in", token=visitor.secret)

    refused = visitor.send("/memory/new", form_token=token, content="a long text")

    assert refused.status == 403
    assert "a long text" not in visitor.text("/memory")
    assert visitor.send("/memory/new", **kept(refused.body)).status == 303
    assert "a long text" in visitor.text("/memory")


def test_a_form_of_another_site_is_neither_kept_nor_shown(server: RunningServer) -> None:
    visitor, token = ended(server)
    words: dict[str, Any] = {"kept.content": "words"}
    for headers in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "none"}, {"content-type": "text/plain"}):
        answer = visitor.send("/memory/new", headers, form_token=token, content="planted words")
        assert answer.status == 401
        assert b"planted words" not in answer.body
    planted = visitor.send("/sign-in", {"sec-fetch-site": "cross-site"}, token="x", **words)
    assert planted.status == 403
    elsewhere = visitor.send("/sign-in", token=visitor.secret, next="//evil.test/", **words)
    assert b'action="/"' in elsewhere.body


def test_a_button_that_sends_no_text_just_asks_to_sign_in(server: RunningServer) -> None:
    visitor, token = ended(server)

    answer = visitor.send("/status/check", form_token=token)

    assert answer.status == 401
    assert b"kept." not in answer.body
    assert "not sent" not in as_text(answer.body)

"""Posting to a service that the person named: what is sent, what is tried again, and what is never told."""

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence

import pytest
from msgspec.structs import replace
from rich.pretty import pretty_repr

from promptuary.base.errors import PromptuaryError
from promptuary.models.http import Credential, PostPolicy, post_json
from promptuary.testing.loopback import RESET, Loopback, Route, Step, answer, redirect

KEY = "sk-very-secret"
POLICY = PostPolicy(timeout=5.0, attempts=3, pause=0.0)
OK = answer('{"ok": true}', "application/json")


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def post(server: Loopback, route: Route, *, policy: PostPolicy = POLICY, key: str = "") -> object:
    server.routes["/v1"] = route
    return post_json(server.url("/v1"), {"text": "ü"}, policy, Credential(key))


def in_turn(*routes: bytes | Sequence[Step]) -> Route:
    """Return a route that answers differently each time."""
    rest = iter(routes)

    def steps() -> Sequence[Step]:
        following = next(rest)
        return (following,) if isinstance(following, bytes) else following

    return steps


def test_json_goes_there_and_comes_back(server: Loopback) -> None:
    assert post(server, answer('[1, {"a": null}]', "application/json"), key=KEY) == [1, {"a": None}]
    lines = server.requests[-1].split("\r\n")
    assert lines[0] == "POST /v1 HTTP/1.1"
    assert f"Authorization: Bearer {KEY}" in lines
    assert "Content-Type: application/json" in lines
    assert json.loads(server.bodies[-1]) == {"text": "ü"}


def test_the_key_that_is_sent_is_in_no_log(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        post(server, OK, key=KEY)

    assert KEY in server.requests[-1]
    assert caplog.text
    assert KEY not in caplog.text


def test_without_a_key_none_is_sent(server: Loopback) -> None:
    post(server, OK)

    assert "authorization" not in server.requests[-1].lower()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(server: Loopback, status: int) -> None:
    asked = server.accepted

    assert post(server, in_turn(answer("later", status=status), (RESET,), OK)) == {"ok": True}
    assert server.accepted - asked == 3


def test_it_is_not_tried_without_end(server: Loopback) -> None:
    asked = server.accepted
    with pytest.raises(PromptuaryError, match="answers with HTTP status 503: busy now"):
        post(server, answer("busy\n now", status=503))

    assert server.accepted - asked == 3


def test_a_service_that_asks_for_more_time_than_there_is_is_not_waited_for(server: Loopback) -> None:
    asked = server.accepted
    with pytest.raises(PromptuaryError, match="429"):
        post(server, answer("", status=429, headers={"Retry-After": "3600"}))

    assert server.accepted - asked == 1


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_what_will_not_pass_is_not_tried_again_and_told_in_the_words_of_the_service(
    server: Loopback, status: int
) -> None:
    asked = server.accepted
    with pytest.raises(PromptuaryError, match=f"HTTP status {status}: no such model"):
        post(server, answer("no such\tmodel\x1b\n", status=status))

    assert server.accepted - asked == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_told_and_not_shown(server: Loopback, status: int) -> None:
    with pytest.raises(PromptuaryError, match="does not accept the key") as caught:
        post(server, answer(f"bad key {KEY}", status=status), key=KEY)

    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "route", [answer(f"your key {KEY} is {KEY}", status=500), answer(KEY, status=400), answer(KEY), redirect(f"/{KEY}")]
)
def test_a_key_that_a_service_repeats_is_in_no_error(
    server: Loopback, route: Route, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(PromptuaryError) as caught:
        post(server, route, key=KEY)

    assert KEY not in "".join(traceback.format_exception(caught.value)) + caplog.text


@pytest.mark.parametrize("key", ["a\r\nX: y", "a b", "schlüssel", "a\0"])
def test_a_key_that_cannot_be_one_is_refused_before_anything_is_sent(server: Loopback, key: str) -> None:
    asked = server.accepted
    with pytest.raises(PromptuaryError, match="The key contains") as caught:
        post(server, OK, key=key)

    assert server.accepted == asked
    assert key not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server: Loopback, status: int) -> None:
    server.routes["/elsewhere"] = OK
    asked = server.accepted
    with pytest.raises(PromptuaryError, match="redirects, which is not followed"):
        post(server, redirect("/elsewhere", status))

    assert server.accepted - asked == 1


@pytest.mark.parametrize("body", ["", "<html>", "{", "[" * 100_000])
def test_what_is_not_json_is_told(server: Loopback, body: str) -> None:
    with pytest.raises(PromptuaryError, match="does not answer with JSON"):
        post(server, answer(body))


def test_an_answer_that_is_too_large_is_not_read(server: Loopback) -> None:
    with pytest.raises(PromptuaryError, match="more than 100 bytes"):
        post(server, answer(b" " * 101), policy=replace(POLICY, max_bytes=100))


def test_a_silent_service_is_left_when_time_is_up(server: Loopback) -> None:
    with pytest.raises(PromptuaryError, match=r"did not answer within 0\.3 seconds"):
        post(server, lambda: (3600.0,), policy=replace(POLICY, timeout=0.3))


def test_a_service_that_is_not_there_is_told() -> None:
    with Loopback() as gone:
        url = gone.url("/v1")
    with pytest.raises(
        PromptuaryError, match=r"127\.0\.0\.1:\d+ refuses the connection or cannot be reached \(asked 3 times\)"
    ):
        post_json(url, {}, POLICY)


def test_plain_http_is_spoken_with_this_machine_only(server: Loopback) -> None:
    asked = server.accepted
    with pytest.raises(PromptuaryError, match=r"site\.test:\d+ is not on this machine.*use https"):
        post_json(
            f"http://site.test:{server.port}/v1", {}, POLICY, resolve=lambda host, port: ["127.0.0.1", "192.0.2.1"]
        )

    assert server.accepted == asked


def test_plain_http_is_spoken_with_a_host_that_was_allowed(server: Loopback) -> None:
    server.routes["/v1"] = OK
    allowed = replace(POLICY, allow_hosts=frozenset({"site.test"}))
    url = f"http://site.test:{server.port}/v1"
    answered = post_json(url, {}, allowed, resolve=lambda host, port: ["127.0.0.1"])

    assert answered == {"ok": True}
    assert f"Host: site.test:{server.port}" in server.requests[-1]


def test_the_name_of_this_machine_is_this_machine(server: Loopback) -> None:
    server.routes["/v1"] = OK

    assert post_json(server.url("/v1", "localhost"), {}, POLICY, resolve=lambda host, port: ["127.0.0.1"]) == {
        "ok": True
    }


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "127.0.0.1:80/v1", "http://user:pw@127.0.0.1/", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(PromptuaryError, match="URL"):
        post_json(url, {}, POLICY)


@pytest.mark.parametrize("show", [repr, str, pretty_repr])
def test_a_key_is_not_shown_where_a_credential_is(show: Callable[[object], str]) -> None:
    shown = show(Credential(KEY, more=(("X-Version", "2"),)))

    assert "X-Version" in shown
    assert KEY not in shown

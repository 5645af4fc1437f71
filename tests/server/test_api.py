"""The API as a program without our client sees it: addresses, headers, problems, pages."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from promptuary.base.principals import Principal
from promptuary.client import BlockingClient
from promptuary.server.tokens import Scope
from tests.conftest import Files
from tests.served import RunningServer
from tests.server.conftest import StartServer

Ask = Callable[..., "Reply"]


class Reply:
    """An answer with its JSON."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def value(self) -> Any:
        return json.loads(self.body)


@pytest.fixture
def ask(files: Files, start_server: StartServer) -> Ask:
    """Send requests to a server: ``ask("GET", "/notes")``; ``user`` and ``scopes`` say with which token."""
    files({"a.txt": "the text of a\n", "docs/deploy.md": "# Deploy\n\nWe deploy with make ship.\n"})
    server = start_server()
    secrets: dict[object, str] = {}

    def send(
        method: str,
        path: str,
        body: object = None,
        *,
        user: str = "ada",
        scopes: frozenset[Scope] = frozenset({"read", "write"}),
        **headers: str,
    ) -> Reply:
        if (user, scopes) not in secrets:
            secrets[user, scopes] = server.create(principal=Principal(user), scopes=scopes)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent["authorization"] = f"Bearer {secrets[user, scopes]}"
        if body is not None:
            sent.setdefault("content-type", "application/json")
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = server.ask(method, path if path.startswith("/w/") else f"/api/v1{path}", sent, data)
        return Reply(answer.status, answer.headers, answer.body)

    return send


def test_a_note_has_its_revision_as_etag_and_is_not_sent_again(ask: Ask) -> None:
    written = ask("POST", "/notes", {"content": "We deploy on Fridays"})
    note = written.value["header"]

    read = ask("GET", f"/notes/{note['id']}")

    assert written.headers["etag"] == read.headers["etag"] == f'"{note["rev"]}"'
    again = ask("GET", f"/notes/{note['id']}", if_none_match=read.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_a_change_needs_the_revision_that_was_read_and_a_conflict_has_the_current_text(ask: Ask) -> None:
    first = ask("POST", "/notes", {"content": "We deploy on Fridays"})
    path = f"/notes/{first.value['header']['id']}"
    second = ask("PATCH", path, {"content": "We deploy on Mondays"}, if_match=first.headers["etag"])

    late = ask("PATCH", path, {"content": "We deploy on Sundays"}, if_match=first.headers["etag"])
    blind = ask("PATCH", path, {"content": "We never deploy"})
    anyway = ask("PATCH", path, {"content": "We deploy daily"}, if_match="*")

    assert second.status == anyway.status == 200
    assert (late.status, late.headers["content-type"]) == (412, "application/problem+json")
    assert late.headers["etag"] == second.headers["etag"]
    assert late.value["code"] == "NOTE_CONFLICT"
    assert late.value["current"]["body"].strip() == "We deploy on Mondays"
    assert (blind.status, blind.value["code"]) == (428, "MATCH_NEEDED")


def test_lists_come_in_pages_that_a_link_leads_through(ask: Ask) -> None:
    for number in range(7):
        ask("POST", "/notes", {"content": f"fact number {number}", "title": f"fact {number}"})

    titles, path = [], "/notes?limit=3&kinds=project&kinds=reference&kinds=user&kinds=feedback"
    while path:
        page = ask("GET", path)
        assert len(page.value["headers"]) <= 3
        titles += [header["title"] for header in page.value["headers"]]
        link = page.headers.get("link", "")
        path = link.partition(">")[0].removeprefix("</api/v1") if 'rel="next"' in link else ""

    assert sorted(titles) == [f"fact {number}" for number in range(7)]


def test_what_is_added_while_somebody_reads_pages_makes_nothing_come_twice(ask: Ask) -> None:
    for number in range(6):
        ask("POST", "/notes", {"content": f"fact number {number}", "title": f"fact {number}"})
    first = ask("GET", "/notes?limit=3")
    ask("POST", "/notes", {"content": "a later fact", "title": "later"})

    second = ask("GET", first.headers["link"].partition(">")[0].removeprefix("</api/v1"))

    seen = [header["title"] for page in (first, second) for header in page.value["headers"]]
    assert sorted(seen) == [f"fact {number}" for number in range(6)]


@pytest.mark.parametrize("cursor", ["x", "AAAA", "LTUuYWJj", "%00", "9" * 400])
def test_a_cursor_that_is_none_is_refused_or_ends_the_list(ask: Ask, cursor: str) -> None:
    ask("POST", "/notes", {"content": "We deploy on Fridays"})

    answer = ask("GET", f"/notes?cursor={cursor}")

    assert answer.status == 400 or answer.value["headers"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/notes/unheard-of", None, 404, "ABSENT"),
        ("POST", "/notes/unheard-of/archive", {}, 404, "UNKNOWN_NOTE"),
        ("GET", "/nothing", None, 404, "HTTP_404"),
        ("POST", "/expand", {"txt": "hello"}, 400, "BAD_ARGUMENT"),
        ("POST", "/expand", {"text": 5}, 400, "BAD_ARGUMENT"),
        ("POST", "/expand", b"{", 400, "BAD_ARGUMENT"),
        ("GET", "/notes?limit=0", None, 400, "BAD_ARGUMENT"),
        ("GET", "/notes?limit=1001", None, 400, "BAD_ARGUMENT"),
        ("GET", "/notes?lmit=5", None, 400, "BAD_ARGUMENT"),
        ("GET", "/notes?limit=5&limit=6", None, 400, "BAD_ARGUMENT"),
        ("GET", "/threads/%ff/history", None, 400, "BAD_ARGUMENT"),
        ("GET", "/threads/a%60b/history", None, 422, "REFUSED"),
        ("GET", "/audit?source=b.txt", None, 422, "NOT_FOUND"),
        ("POST", "/threads/main/turns/7/finish", {"reply": "x"}, 409, "CONFLICT"),
        ("POST", "/sessions/none/archive", {}, 404, "UNKNOWN_SESSION"),
        ("POST", "/search/index", {"paths": "/etc"}, 400, "BAD_ARGUMENT"),
        ("POST", "/search/index", {"paths": ["docs", "../.."]}, 400, "BAD_ARGUMENT"),
        ("POST", "/notes", {"content": "token ghp_" + "a1B2c3D4" * 5}, 422, "SECRET"),
        ("POST", "/runs", {"text": "hello"}, 403, "HTTP_403"),
    ],
)
def test_what_goes_wrong_is_a_problem_with_a_code(
    ask: Ask, method: str, path: str, body: object, *, status: int, code: str
) -> None:
    answer = ask(method, path, body)

    assert (answer.status, answer.value["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.value["status"] == status
    assert answer.value["detail"]
    assert answer.value["title"]


def test_a_message_that_is_only_expanded_writes_no_note(ask: Ask) -> None:
    expanded = ask("POST", "/expand", {"text": '@remember:"We deploy on Fridays"'}, scopes=frozenset({"read"}))
    previewed = ask("POST", "/preview", {"text": '@remember:"We deploy on Fridays"'}, scopes=frozenset({"read"}))

    assert expanded.status == previewed.status == 200
    assert ask("GET", "/notes").value["total"] == 0


def test_a_search_does_not_tell_where_on_the_machine_the_workspace_is(ask: Ask, workspace: Any) -> None:
    indexed = ask("POST", "/search/index", {"paths": "docs"})
    answers = [indexed, ask("GET", "/search/status"), ask("POST", "/search", {"query": "deploy"})]

    assert answers[2].value["hits"][0]["folder"] == "/app/docs"
    assert not any(str(workspace).encode() in answer.body for answer in answers)


def test_the_status_says_whom_the_token_stands_for(ask: Ask) -> None:
    status = ask("GET", "/status").value

    assert status["principal"] == {"user": "ada", "agent": "default", "group": None}
    assert (status["workspace"], status["scopes"], status["window"]) == ("app", ["read", "write"], 128_000)


def test_the_document_says_what_can_be_asked(ask: Ask) -> None:
    document = ask("GET", "/openapi.json").value

    assert document["openapi"] == "3.1.0"
    assert document["paths"]["/api/v1/notes/{id}"]["patch"]["operationId"] == "memory.update"


def test_a_text_that_is_no_unicode_is_answered_nevertheless(ask: Ask, workspace: Any) -> None:
    (workspace / "odd.txt").write_bytes(b"caf\xe9 \xed\xa0\x80\n")

    assert ask("POST", "/expand", {"text": "@file:odd.txt"}).status == 200


def test_notes_of_another_day_are_listed_as_they_were(ask: Ask) -> None:
    ask("POST", "/notes", {"content": "We deploy on Fridays"})

    assert ask("GET", "/notes?as_of=2020-01-01").value["headers"] == []
    assert ask("GET", "/notes?as_of=2999-01-01").value["total"] == 1


def read_pages(server: RunningServer, secret: str, change: Callable[[list[str]], None]) -> list[str]:
    """Return the titles of all notes, read in pages; ``change`` is called with those of each page before the next."""
    headers, path, titles = {"authorization": f"Bearer {secret}"}, "/api/v1/notes?limit=3", list[str]()
    while path:
        answer = server.ask("GET", path, headers)
        page = [header["title"] for header in json.loads(answer.body)["headers"]]
        titles += page
        link = answer.headers.get("link", "")
        path = link[1 : link.find(">")]
        change(page)
    return titles


@pytest.mark.parametrize("what", ["nothing", "forget the last", "forget all", "pin the last", "add one"])
def test_what_happens_between_two_pages_makes_nothing_else_come_twice_or_not_at_all(
    server: RunningServer, what: str
) -> None:
    with BlockingClient(server.base, token=(secret := server.create())) as p:
        ids = {f"n{number}": p.memory.write(f"Text {number}", title=f"n{number}").header.id for number in range(20)}

        def change(page: list[str]) -> None:
            if what == "pin the last":
                p.memory.write(id=ids[page[-1]], pinned=True)
            elif what == "add one":
                p.memory.write("More", title=f"new {page[0]}")
            elif what != "nothing":
                for title in page[-1:] if what == "forget the last" else page:
                    p.memory.forget(ids[title])

        titles = read_pages(server, secret, change)

    assert sorted(title for title in titles if title in ids) == sorted(ids)


def test_a_prepared_turn_has_the_messages_to_send(ask: Ask) -> None:
    turn = ask("POST", "/threads/main/turns", {"text": "Look at @file:a.txt"}).value

    assert [message["role"] for message in turn["messages"]] == ["user"]
    assert "the text of a" in turn["messages"][0]["content"]


def test_a_request_is_the_same_under_both_addresses_of_its_workspace(server: RunningServer) -> None:
    headers = {"authorization": f"Bearer {server.create()}", "content-type": "application/json", "idempotency-key": "k"}

    answers = [
        server.ask("POST", f"{prefix}/api/v1/remember", headers, b'{"text": "We use tabs."}')
        for prefix in ("", "/w/app")
    ]

    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].body == answers[1].body

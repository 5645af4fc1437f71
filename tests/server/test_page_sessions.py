"""The views of sessions, over real HTTP."""

import json

import pytest

from promptuary.client import BlockingClient
from tests.conftest import Files
from tests.server.conftest import StartServer
from tests.server.visitors import Visitor, as_text


@pytest.fixture
def visitor(files: Files, start_server: StartServer) -> Visitor:
    files({"docs/a.md": "first\n", "docs/b.md": "second\n", "c.md": "third\n"})
    found = Visitor(start_server(settings={"embedder": "none"}))
    with BlockingClient(found.server.base, token=found.secret) as p:
        p.sessions.create("review", roots=["docs"], memory=False)
        p.threads.finish(p.threads.prepare("read @file:docs/a.md", thread="review"), "read")
    return found


def test_sessions_are_listed_with_what_they_may_see(visitor: Visitor) -> None:
    page = visitor.text("/sessions")

    assert "review" in page
    assert "docs, no memory" in page
    assert json.loads(visitor.get("/sessions.json").body)[0]["files_pinned"] == 2


def test_a_session_shows_what_changed_since_and_what_an_answer_rests_on(visitor: Visitor, files: Files) -> None:
    files({"docs/a.md": "changed\n", "docs/new.md": "new\n"})

    page = visitor.get("/sessions/review")

    text = as_text(page.body)
    assert "1 new" in text
    assert "1 changed" in text
    assert "changed since" in text
    value = json.loads(visitor.get("/sessions/review.json").body)
    assert value["report"]["files"] == {"added": ["docs/new.md"], "changed": ["docs/a.md"], "gone": []}
    assert [(row["source"], row["current"]) for row in value["sources"] if "a.md" in row["source"]] == [
        ("file:docs/a.md", False)
    ]


def test_pinning_anew_archiving_and_restoring_are_one_button_each(visitor: Visitor, files: Files) -> None:
    files({"docs/a.md": "changed\n"})
    token = visitor.form_token()

    assert visitor.send("/sessions/review/refresh", form_token=token).headers["location"] == "/sessions/review"
    assert "Nothing has changed" in visitor.text("/sessions/review")
    visitor.send("/sessions/review/archive", form_token=token)
    assert "No turn is prepared in this thread" in visitor.text("/sessions/review")
    visitor.send("/sessions/review/restore", form_token=token)
    assert "No turn is prepared in this thread" not in visitor.text("/sessions/review")


def test_a_session_is_created_with_a_form(visitor: Visitor) -> None:
    token = visitor.form_token()

    answer = visitor.send("/sessions", form_token=token, name="plan", roots="docs\r\nc.md\r\n", memory="yes")

    assert answer.headers["location"] == "/sessions/plan"
    made = json.loads(visitor.get("/sessions/plan.json").body)["report"]["session"]
    assert (made["roots"], made["memory"], made["files_pinned"]) == (["docs", "c.md"], True, 3)
    assert "Give the session a name" in as_text(visitor.send("/sessions", form_token=token, name=" ").body)


def test_what_does_not_exist_says_so(visitor: Visitor) -> None:
    assert visitor.get("/sessions/none").status == 404
    assert visitor.get("/sessions/review?turn=x").status == 400


def test_without_sessions_the_page_says_what_one_is(start_server: StartServer) -> None:
    visitor = Visitor(start_server())

    assert "No session yet" in visitor.text("/sessions")
    assert "promptuary thread create" in visitor.text("/sessions")


def test_a_session_that_is_refused_keeps_what_was_typed_beside_the_reason(visitor: Visitor) -> None:
    answer = visitor.send("/sessions", form_token=visitor.form_token(), name="plan", roots="nowhere\r\n<docs>")

    assert answer.status >= 400
    shown = answer.body.decode()
    assert 'id="wrong">' in shown
    assert 'name="name" required maxlength="200" autocomplete="off" value="plan"' in shown
    assert "\nnowhere\r\n&lt;docs&gt;</textarea>" in shown
    assert 'name="memory" value="yes" checked' not in shown

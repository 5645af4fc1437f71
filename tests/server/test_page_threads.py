"""The views of threads, and how one goes on: over real HTTP."""

import json
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from promptuary.base.messages import ToolCall
from promptuary.base.principals import Principal
from promptuary.client import BlockingClient
from promptuary.testing.chat_server import ChatServer, Refuses, Says
from tests.conftest import Files
from tests.server.browser import chromium, needs_chromium, page_of
from tests.server.conftest import RunningServer, StartServer
from tests.server.visitors import Visitor, as_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser

READS = ToolCall("c1", "read_file", '{"path": "a.txt"}')
WRITES = ToolCall("c2", "write_memory", '{"content": "We deploy on Fridays", "title": "deploys", "type": "project"}')


@pytest.fixture
def model() -> Iterator[ChatServer]:
    says = [Says("Let me <look>.", calls=[READS]), Says("It **rains** in Paris.")]
    with ChatServer(says) as server:
        yield server


@pytest.fixture
def server(
    start_server: StartServer, files: Files, monkeypatch: pytest.MonkeyPatch, model: ChatServer
) -> RunningServer:
    files({"a.txt": "the text of a\n", "deep/b.txt": "the text of b\n"})
    monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
    return start_server(settings={"answer_model": "gpt-5-mini", "embedder": "none"})


@pytest.fixture
def visitor(server: RunningServer) -> Visitor:
    return Visitor(server)


def finish(visitor: Visitor, thread: str, *pairs: tuple[str, str]) -> None:
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        for text, reply in pairs:
            p.threads.finish(p.threads.prepare(text, thread=thread), reply)


def events(body: bytes) -> list[tuple[str, dict[str, object]]]:
    parts = [part.split("\n") for part in body.decode().split("\n\n") if part.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def open_run(visitor: Visitor, text: str) -> socket.socket:
    """Send a message as the script of the page does, and return the connection: the answer is read as it comes."""
    body = urlencode({"form_token": visitor.form_token(), "text": text, "stream": "1"}).encode()
    head = (
        f"POST /threads/talk/run HTTP/1.1\r\nHost: 127.0.0.1:{visitor.server.port}\r\nCookie: {visitor.cookie}\r\n"
        "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", visitor.server.port), 20)
    connection.sendall(head.encode() + body)
    return connection


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    got = b""
    while mark not in got:
        part = connection.recv(65536)
        assert part, got
        got += part
    return got


# Reading


def test_threads_are_listed_the_last_used_first_in_parts(visitor: Visitor) -> None:
    for number in range(52):
        with BlockingClient(visitor.server.base, token=visitor.secret) as p:
            p.threads.attach("#a.txt", thread=f"talk {number}")

    first = json.loads(visitor.get("/threads.json").body)
    second = json.loads(visitor.get(f"/threads.json?cursor={first['following'].replace(' ', '+')}").body)

    assert [thread["id"] for thread in first["threads"]][:2] == ["talk 51", "talk 50"]
    assert [thread["id"] for thread in second["threads"]] == ["talk 1", "talk 0"]
    assert second["following"] == ""
    assert "Older threads" in visitor.text("/threads")


def test_a_history_is_shown_as_safe_markdown_with_what_was_attached_and_its_turns(visitor: Visitor) -> None:
    hostile = "**bold** <img src=x onerror=alert(1)> [link](javascript:alert(1)) ![i](http://evil.test/i.png)"
    finish(visitor, "a/b ü", ("see @file:a.txt:1 and #deep/b.txt", hostile))

    page = visitor.get("/threads/a%2Fb%20%C3%BC").body.decode()

    assert "<strong>bold</strong>" in page
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page
    assert 'href="javascript' not in page
    assert 'src="http' not in page
    assert "see @file:a.txt:1 and #deep/b.txt" in page
    assert 'href="/file?path=a.txt&amp;lines=1-1#L1"' in page
    assert 'href="/turns/a%2Fb%20%C3%BC/1"' in page


def test_a_long_history_comes_in_parts_and_a_long_message_is_cut(visitor: Visitor) -> None:
    finish(visitor, "long", *((f"question {n}", f"answer {n}") for n in range(20)), ("last", "x" * 20_000))

    newest = json.loads(visitor.get("/threads/long.json").body)
    assert newest["messages"][-1]["cut"] == 8_000
    earlier = json.loads(visitor.get(f"/threads/long.json?before={newest['earlier']}").body)

    texts = [message["text"] for message in (*earlier["messages"], *newest["messages"])]
    assert texts[:-2] == [text for n in range(20) for text in (f"question {n}", f"answer {n}")]
    assert earlier["earlier"] == ""
    assert "Earlier messages" in visitor.text("/threads/long")
    whole = visitor.get(f"/threads/long/messages/{newest['messages'][-1]['id']}")
    assert "x" * 20_000 in as_text(whole.body)
    assert visitor.get("/threads/long/messages/none").status == 422


def test_a_thread_is_opened_by_its_name(visitor: Visitor) -> None:
    assert visitor.get("/threads?open=new+one").headers["location"] == "/threads/new%20one"
    assert "Nothing was said here yet" in visitor.text("/threads/new%20one")


def test_without_threads_the_page_says_how_to_begin(visitor: Visitor) -> None:
    assert "No thread yet" in visitor.text("/threads")
    assert "promptuary chat" in visitor.text("/threads")


def test_who_cannot_go_on_is_told_why(start_server: StartServer) -> None:
    server = start_server()
    assert "No model is configured to answer" in Visitor(server).text("/threads/a")

    reader = Visitor(server, scopes=frozenset({"read"}))

    assert "needs the scope proxy" in reader.text("/threads/a")
    assert reader.send("/threads/a/run", form_token=reader.form_token(), text="hello").status == 403


# Going on


def test_without_a_script_the_answer_is_shown_when_it_is_complete(visitor: Visitor, model: ChatServer) -> None:
    token = visitor.form_token()

    answer = visitor.send("/threads/talk/run", form_token=token, text="what\r\nis in it?")

    assert (answer.status, answer.headers["location"]) == (303, "/threads/talk#end")
    page = visitor.get("/threads/talk").body.decode()
    assert "<strong>rains</strong>" in page
    assert "Let me &lt;look&gt;." in page
    assert '<span class="tool">read_file</span>' in page
    assert "the text of a" in page
    assert "what\nis in it?" in page
    offered = {tool["function"]["name"] for tool in model.asked[0]["tools"]}
    assert offered == {"read_file", "search_files", "search_recall_memories"}


def test_a_run_without_a_script_that_fails_is_a_page_that_says_so(visitor: Visitor, model: ChatServer) -> None:
    model._reply = lambda _: Refuses(400, "no such thing")

    answer = visitor.send("/threads/talk/run", form_token=visitor.form_token(), text="hello")

    assert answer.status == 502
    assert "no such thing" in as_text(answer.body)


def test_a_script_gets_the_answer_as_it_comes_and_no_prompt(visitor: Visitor) -> None:
    answer = visitor.send("/threads/talk/run", form_token=visitor.form_token(), text="read @file:a.txt", stream="1")

    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer.body)
    names = [name for name, _ in found]
    assert names[:2] == ["run_begun", "prepared"]
    assert names[-1] == "ended"
    said = "".join(str(value["text"]) for name, value in found if name == "text")
    assert said == "Let me <look>.It **rains** in Paris."
    assert [value["name"] for name, value in found if name == "call"] == ["read_file"]
    assert "the text of a" in str([value for name, value in found if name == "result"])
    assert b"instructions" not in answer.body


def test_a_tool_that_writes_waits_for_the_persons_consent(server: RunningServer, model: ChatServer) -> None:
    replies = iter([Says("I note it.", calls=[WRITES]), Says("Noted.")] * 2)
    model._reply = lambda _: next(replies)
    visitor, stranger = Visitor(server), Visitor(server, Principal("eve"))

    for agreed, notes in (("no", 0), ("yes", 1)):
        connection = open_run(visitor, "note it")
        got = read_until(connection, b"event: call_waits")
        run = got.partition(b'{"run":"')[2].partition(b'"')[0].decode()
        path = f"/runs/{run}/calls/c2"
        assert stranger.send(path, form_token=stranger.form_token(), agreed="yes").status == 404
        assert visitor.send(path, form_token=visitor.form_token(), agreed=agreed).status == 204
        read_until(connection, b"event: ended")
        connection.close()
        with BlockingClient(server.base, token=visitor.secret) as p:
            assert p.memory.list().total == notes


def test_signing_out_ends_what_a_model_is_saying(server: RunningServer, model: ChatServer) -> None:
    model._reply = lambda _: Says("a long story " * 200, pause=0.2)
    visitor = Visitor(server)
    area = server.application.areas["page"]
    token = visitor.form_token()
    connection = open_run(visitor, "tell me")
    got = read_until(connection, b"event: text")
    assert len(area._running) == 1

    visitor.send("/sign-out", form_token=token)

    while connection.recv(65536):
        pass
    connection.close()
    assert b"event: ended" not in got


# While somebody types


def test_the_menus_are_those_of_the_chat(visitor: Visitor) -> None:
    token = visitor.form_token()

    def rows(text: str) -> str:
        return visitor.send("/complete", form_token=token, text=text, hints="1").body.decode()

    assert 'data-insert="@file:a.txt' in rows("look at @file:a.")
    assert 'data-start="8"' in rows("look at @file:a.")
    assert 'data-insert="#deep/b.txt' in rows("#dee")
    assert "tokens" in rows("#dee")
    assert "option" not in rows("nothing here")
    long = "x" * 20_000 + " @file:a."
    assert f'data-start="{len(long) - len("@file:a.")}"' in rows(long)


def test_what_a_message_would_cost_is_known_before_it_is_sent(visitor: Visitor) -> None:
    token = visitor.form_token()

    plain = as_text(visitor.send("/threads/t/measure", form_token=token, text="hello you").body)
    attached = as_text(visitor.send("/threads/t/measure", form_token=token, text="see @file:a.txt").body)
    pasted = visitor.send(
        "/threads/t/measure", form_token=token, text="see @file:a.txt", pasted=json.dumps(["@file:a.txt", "gone"])
    )

    assert "2 tokens" in plain
    assert "of them attached" in attached
    assert "of them attached" not in as_text(pasted.body)
    assert visitor.send("/threads/t/measure", form_token=token, text="x", pasted="no json").status == 400


def test_forms_need_the_token_of_their_session(visitor: Visitor) -> None:
    for path in ("/threads/t/run", "/threads/t/measure", "/complete", "/runs/r/calls/c"):
        assert visitor.send(path, text="hello").status == 403


def test_an_empty_message_is_not_sent(visitor: Visitor, model: ChatServer) -> None:
    assert visitor.send("/threads/t/run", form_token=visitor.form_token(), text=" \r\n").status == 400
    assert model.asked == []


# In a browser


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


@needs_chromium
@pytest.mark.timeout(180)
def test_a_thread_goes_on_by_keyboard_with_a_menu_and_a_streamed_answer(
    browser: "Browser", visitor: Visitor, model: ChatServer
) -> None:
    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        page.goto("/threads/talk")
        box = page.get_by_role("combobox", name="Message")
        box.focus()
        page.keyboard.type("see 🎈 @b.")
        option = page.get_by_role("option", name="deep/b.txt")
        option.wait_for()
        assert box.get_attribute("aria-expanded") == "true"
        assert option.get_attribute("id") == box.get_attribute("aria-activedescendant")
        page.get_by_text("tokens").first.wait_for()
        page.keyboard.press("Enter")
        assert "deep/b.txt" in box.input_value()
        assert box.input_value().startswith("see 🎈 @")
        page.get_by_text("of them attached").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        page.locator("#history strong", has_text="rains").wait_for()

        assert page.locator("#history").get_by_text("read_file").first.is_visible()
        assert box.input_value() == ""
        assert box.evaluate("element => element === document.activeElement")
    assert "the text of b" in json.dumps(model.asked[0]["messages"])


@needs_chromium
@pytest.mark.timeout(180)
def test_a_person_agrees_to_a_call_and_stops_an_answer(browser: "Browser", visitor: Visitor, model: ChatServer) -> None:
    replies = iter([Says("I note it.", calls=[WRITES]), Says("Noted."), Says("a long story " * 500, pause=0.1)])
    model._reply = lambda _: next(replies)
    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        page.goto("/threads/talk")
        box = page.get_by_role("combobox", name="Message")
        box.fill("note <b>it</b>")
        page.keyboard.press("Enter")
        page.get_by_role("group", name="Allow write_memory?").wait_for()
        page.keyboard.press("Enter")
        assert page.get_by_role("button", name="Allow").is_visible()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        assert page.locator(":focus").inner_text() == "Allow"
        page.keyboard.press("Enter")
        page.locator("#history", has_text="Noted.").wait_for()
        assert page.locator("#history", has_text="note <b>it</b>").is_visible()

        box.fill("tell me")
        page.get_by_role("button", name="Send").click()
        page.locator("#streamed", has_text="a long story a long").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Send").wait_for()
        page.locator("#history", has_text="[interrupted]").wait_for()
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        assert [header.title for header in p.memory.list()] == ["deploys"]


@needs_chromium
@pytest.mark.timeout(180)
@pytest.mark.parametrize("width", [360, 1280])
def test_without_javascript_a_thread_is_read_and_goes_on(browser: "Browser", visitor: Visitor, width: int) -> None:
    finish(visitor, "talk", ("what is `a`? " + "word" * 60, "It **is** a."))
    window = {"width": width, "height": 740}
    with page_of(browser, visitor.server.base, visitor.cookie, java_script_enabled=False, viewport=window) as page:
        page.goto("/threads/talk")
        assert page.locator("strong", has_text="is").is_visible()
        page.get_by_label("Message").fill("and now?")
        page.get_by_role("button", name="Send").click()
        page.locator("strong", has_text="rains").wait_for()
    with page_of(browser, visitor.server.base, visitor.cookie, viewport=window) as page:
        for path in ("/threads", "/threads/talk", "/search?q=a", "/file?path=a.txt", "/experiences", "/sessions"):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_an_attachment_is_shown_as_its_turn_sent_it_also_after_it_was_shortened(
    files: Files, start_server: StartServer
) -> None:
    code = "".join(f"def function_{n}(x: int) -> int:\n    return x + {n}\n\n\n" for n in range(600))
    files({"code.py": code})
    visitor = Visitor(start_server(settings={"embedder": "none", "window": 6_000, "reply_reserve": 500}))
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        turn = p.threads.prepare("What is in @file:code.py?", thread="talk")
        (detail,) = [entry.detail for entry in turn.receipt.entries if entry.source == "file:code.py"]
        p.threads.finish(turn, "Functions.")
        for number in range(8):
            p.threads.finish(p.threads.prepare(f"and {number}?", thread="talk"), "Yes.")
        p.threads.compact(thread="talk")
        details = [one.detail for item in p.threads.history(thread="talk") for one in item.attachments]
    assert (detail, details) == ("outline", ["excerpt"])

    said = json.loads(visitor.get("/threads/talk.json").body)["messages"][0]

    assert [one["detail"] for one in said["attached"]] == ["outline"]
    assert "code.py outline" in visitor.text("/threads/talk")


def test_a_message_whose_answer_failed_without_a_script_is_kept_to_be_sent_again(
    visitor: Visitor, model: ChatServer
) -> None:
    model._reply = lambda _: Refuses(401, "this key is wrong")

    answer = visitor.send("/threads/t/run", form_token=visitor.form_token(), text="first line\r\nand @file:a.txt")

    assert answer.status >= 400
    assert b'<form method="post" action="/threads/t/run">' in answer.body
    assert b"first line\r\nand @file:a.txt</textarea>" in answer.body.replace(b"\n</textarea>", b"</textarea>")


def test_words_of_a_thread_are_kept_when_the_session_has_ended(browser: "Browser", visitor: Visitor) -> None:
    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        page.goto("/threads/talk")
        page.fill("#text", "my long words")
        visitor.server.store.end_session(visitor.cookie.partition("=")[2])
        page.get_by_role("button", name="Send").click()
        page.get_by_label("Your token").fill(visitor.secret)
        page.get_by_role("button", name="Sign in").click()
        assert page.get_by_label("Text").input_value() == "my long words"
        page.get_by_role("button", name="Send again").click()
        page.wait_for_url("**/threads/talk#end")
        assert "my long words" in page.locator("#history").inner_text()

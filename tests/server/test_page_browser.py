"""The page in Chromium: what scripts do, and what the policy of the page forbids."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptuary.client import BlockingClient
from tests.conftest import Files
from tests.server.browser import chromium, needs_chromium, page_of
from tests.server.conftest import StartServer
from tests.server.visitors import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = [needs_chromium, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as found:
        yield found


@pytest.fixture
def visitor(files: Files, start_server: StartServer) -> Visitor:
    files({"a.txt": "the text of a\n"})
    found = Visitor(start_server())
    with BlockingClient(found.server.base, token=found.secret) as p:
        p.threads.finish(p.threads.prepare("what is in @file:a.txt?", thread="review"), "The text of a.")
        p.threads.prepare("and @file:missing.txt?", thread="review")
    return found


def test_a_file_of_the_person_signs_in_and_signing_out_ends_it(
    browser: "Browser", visitor: Visitor, tmp_path: Path
) -> None:
    """A file is another site, so that no cookie goes with the first request."""
    link = f"{visitor.server.base}/sign-in?code={visitor.server.store.invite(visitor.token.id)}"
    file = tmp_path / "open.html"
    file.write_text(f'<meta http-equiv="refresh" content="0; url={link}">')
    with page_of(browser, visitor.server.base, allowed=file.as_uri()) as page:
        page.goto(file.as_uri())
        page.wait_for_url("**/turns")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in")


def test_a_turn_that_is_prepared_elsewhere_appears_without_a_reload(browser: "Browser", visitor: Visitor) -> None:
    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        page.goto("/turns")
        page.evaluate("window.wasNotReloaded = true")

        with BlockingClient(visitor.server.base, token=visitor.secret) as p:
            p.threads.prepare("this one is new", thread="elsewhere")

        page.get_by_text("this one is new").wait_for(timeout=20_000)
        assert page.evaluate("window.wasNotReloaded")


def test_a_turn_is_read_without_javascript_and_by_keyboard_alone(browser: "Browser", visitor: Visitor) -> None:
    with page_of(browser, visitor.server.base, visitor.cookie, java_script_enabled=False) as page:
        page.goto("/turns")
        page.keyboard.press("Tab")
        assert page.locator(":focus").inner_text() == "Skip to the content"
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.locator(":focus").inner_text() == "and @file:missing.txt?":
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/turns/review/2")
        assert page.get_by_role("heading", name="Left out").is_visible()


@pytest.mark.parametrize("path", ["/turns", "/turns/review/2", "/turns/review/2/beside?with=1", "/sources?of=a.txt"])
def test_nothing_is_wider_than_a_phone(browser: "Browser", visitor: Visitor, path: str) -> None:
    with page_of(browser, visitor.server.base, visitor.cookie, viewport={"width": 360, "height": 740}) as page:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


_BROKEN_WORDS = """() => [...document.querySelectorAll("button, .button, .top nav a, .tabs a")].flatMap((part) => {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), broken = [];
  for (let text = walker.nextNode(); text; text = walker.nextNode())
    for (const found of text.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      const lines = [...range.getClientRects()].filter((line) => line.width);
      const isBroken = new Set(lines.map((line) => line.top)).size > 1;
      if (isBroken || lines.some((line) => line.right > innerWidth)) broken.push(found[0]);
    }
  return broken;
})"""


@pytest.mark.parametrize("path", ["/turns/review/2", "/threads", "/search", "/memory", "/status/settings", "/sources"])
def test_on_a_phone_no_word_of_a_button_or_of_the_navigation_is_broken_or_out_of_sight(
    browser: "Browser", visitor: Visitor, path: str
) -> None:
    with page_of(browser, visitor.server.base, visitor.cookie, viewport={"width": 360, "height": 740}) as page:
        page.goto(path)
        assert page.locator("button:visible").count()
        assert page.evaluate(_BROKEN_WORDS) == []


def test_an_injected_script_does_not_run(browser: "Browser", visitor: Visitor) -> None:
    hostile = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        p.threads.prepare(hostile, thread="t")
    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        page.goto("/turns/t/1")
        assert page.get_by_text("<img src=x onerror=").first.is_visible()
        assert page.title() != "run"


def test_texts_and_the_answer_open_in_place_and_close_again(browser: "Browser", visitor: Visitor, files: Files) -> None:
    files({"a.txt": "the text of a\n"})
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        p.threads.finish(p.threads.prepare("what is in @file:a.txt?", thread="t"), "It is **short**.")
    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        page.goto("/turns/t/1")
        link = page.get_by_role("row", name="a.txt").get_by_role("link", name="Text").first
        link.focus()
        page.keyboard.press("Enter")
        page.locator(".opened .exact", has_text="the text of a").wait_for()
        page.keyboard.press("Enter")
        page.locator(".opened .exact").wait_for(state="detached")

        page.get_by_role("link", name="What was answered").click()
        page.locator("#answer strong", has_text="short").wait_for()
        assert page.url.endswith("/turns/t/1")

"""Debian's Chromium, driven by Playwright: in no page may a script fail, or anything be loaded from elsewhere."""

import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

CHROMIUM = shutil.which("chromium")
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_REFUSED = re.compile(r"Failed to load resource: the server responded with a status of (40[0134]|409|422) ").match
"""Said of an error whose page is shown, and of a form that is shown again."""
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="NO BROWSER: the page is not tested in Chromium; as root, scripts/install_browser installs it",
)


@contextmanager
def chromium() -> "Iterator[Browser]":
    """Run Chromium until the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        yield browser
        browser.close()


@contextmanager
def page_of(
    browser: "Browser", base: str, cookie: str = "", *, allowed: str = "data:", **about: Any
) -> "Iterator[Page]":
    """Open a window, signed in with a cookie. At its end, nothing may have failed in it or been asked for elsewhere."""
    context = browser.new_context(base_url=base, **about)
    name, _, value = cookie.partition("=")
    if cookie:
        context.add_cookies([{"name": name, "value": value, "url": base, "httpOnly": True, "sameSite": "Strict"}])
    wrong: list[str] = []
    page = context.new_page()
    page.on("console", lambda said: wrong.extend([said.text] * (said.type == "error" and not _REFUSED(said.text))))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.extend([asked.url] * (not asked.url.startswith((base, allowed)))))
    page.on("dialog", lambda dialog: wrong.append(f"a dialog opened: {dialog.message}"))
    yield page
    context.close()
    assert not wrong, wrong


def go_to(page: "Page", part: "Locator | str") -> None:
    """Press Tab until a part of the page, or what a selector means, has the focus."""
    wanted = page.locator(part) if isinstance(part, str) else part
    wanted.wait_for()
    for _ in range(200):
        if wanted.evaluate("part => part === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {part}")


def press(page: "Page", part: "Locator | str") -> None:
    """Press a button, or follow a link, by keyboard alone."""
    go_to(page, part)
    page.keyboard.press("Enter")


def type_into(page: "Page", part: "Locator | str", words: str) -> None:
    """Replace the text of a field, by keyboard alone."""
    go_to(page, part)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text(words)

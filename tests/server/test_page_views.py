"""What holds for every view, by construction, in Chromium: hostile texts, WCAG, small windows, keyboard, no JavaScript.

The views are those of the table of pages, with the examples of the tests of ownership, and the answers of forms.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

from promptuary.base.messages import ToolCall
from promptuary.base.text import one_line
from promptuary.client import BlockingClient
from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Figure, Files
from tests.server.browser import chromium, needs_chromium, page_of
from tests.server.conftest import StartServer
from tests.server.page_payloads import PAYLOADS
from tests.server.page_views import VIEWS, addresses, bare_addresses, fill, forms
from tests.server.visitors import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [needs_chromium, pytest.mark.torture, pytest.mark.timeout(3600)]

WIDTHS: Final = (360, 1280)
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
OF_LOOKS: Final = ("color-contrast", "scrollable-region-focusable", "link-in-text-block")
"""The rules of axe that depend on colours and widths."""

_FOREIGN: Final = """() => {
  const found = window.ran ? ["a script ran"] : [];
  const tags = ["iframe", "object", "embed", "base", "style", "video", "audio", "template", "marquee"];
  for (const element of document.querySelectorAll("*")) {
    const name = element.localName;
    if (tags.includes(name)) found.push(`<${name}>`);
    if (name === "script" && !element.src.startsWith(`${location.origin}/static/`)) found.push("a foreign script");
    for (const { name: attribute, value } of element.attributes) {
      const runs = /^on|^hx-on|^style$|^srcdoc$/.test(attribute);
      if (runs || (attribute.startsWith("hx-") && /^[a-z]*:?[/]{2}/i.test(value))) found.push(`${attribute}=${value}`);
    }
    const leads = String(element.href?.baseVal ?? element.href ?? "");
    if (leads && name === "a" && !/^(https?|mailto):/.test(leads)) found.push(`a link to ${leads}`);
    const sends = name === "form" ? element.action : name === "link" ? leads : location.origin;
    if (!String(sends).startsWith(location.origin)) found.push(`${name} of ${sends}`);
  }
  return found;
}"""
"""What a page must not have, whatever it shows."""


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as started:
        yield started


def file_name(payload: str, number: int) -> str:
    """Return a payload as the name of a file: nobody can refer to one with control characters."""
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f/]", "∕", payload).encode("utf-8", "replace")[:200].decode("utf-8", "ignore")
    return f"{number} {clean}.txt"


def filled(visitor: Visitor, files: Files, payloads: "tuple[str, ...]") -> Iterator[Mapping[str, str]]:
    """Store payloads, one after another, wherever texts can be, and yield the names for each.

    A new thread cannot have any name; one of a backup that was restored can.
    """
    names = [file_name(payload, number) for number, payload in enumerate(payloads)]
    workspace = files(dict(zip(names, payloads, strict=True)))
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        for payload, name in zip(payloads, names, strict=True):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("promptuary.threads.values._SHELL", frozenset())
                stored = fill(p, workspace, payload, name)
            yield {**stored, "token": visitor.token.id}


_SEND: Final = """([address, fields]) => {
  const form = document.createElement("form");
  const token = document.querySelector("[name=form_token]").value;
  Object.assign(form, { method: "post", action: address });
  for (const [name, value] of Object.entries({ form_token: token, ...fields })) {
    const field = document.createElement("textarea");
    Object.assign(field, { name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}"""


def send(page: "Page", address: str, fields: Mapping[str, str]) -> None:
    """Send a form as a page of this session does, and wait for its answer."""
    if not page.locator("[name=form_token]").count():
        page.goto("/status")
    with page.expect_navigation():
        page.evaluate(_SEND, [address, fields])


SHOWN_IN: Final = {
    "/turns/{thread}/{number}": ".said",
    "/threads/{thread}": "pre.result",
    "/memory/notes/{key}": "h1",
    "/memory/proposals/{proposal}": "#content",
    "/file": ".l > span",
}
"""Where a payload is the text of an element, as it is."""


def test_hostile_texts_are_shown_as_they_are_and_nothing_in_them_runs(
    browser: "Browser", files: Files, start_server: StartServer, figure: Figure
) -> None:
    payloads = PAYLOADS[:: figure(len(PAYLOADS) // 4, 1)]
    visitor = Visitor(start_server())
    pages = refused = 0
    wrong = list[tuple[str, str, object]]()

    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        for number, (payload, names) in enumerate(zip(payloads, filled(visitor, files, payloads), strict=True)):
            shows_lists = number % 8 == 0 or number == len(payloads) - 1  # before they are on the second page of one
            for path, address in zip((view.path for view in VIEWS), addresses(names), strict=True):
                if path == address and not shows_lists:
                    continue
                answer = page.goto(address)
                assert answer is not None
                # A name that cannot be referred to is a clear error, in whose page it is text as well.
                assert answer.status in (200, 404, 422), (address, answer.status)
                wrong += [(address, payload, found) for found in page.evaluate(_FOREIGN)]
                pages, refused = pages + 1, refused + (answer.status != 200)
                if page.evaluate(_OPEN_ALL):
                    page.wait_for_function(_ARE_OPEN)
                    wrong += [(address, payload, found) for found in page.evaluate(_FOREIGN)]
                part = SHOWN_IN.get(path) if answer.status == 200 else None
                if part and not is_shown(payload, page.locator(part).all()):
                    wrong.append((address, payload, "not shown as it is"))
            for address, fields in forms(names, payload) if number % 4 == 0 else ():
                if fields.get("confirm") != names["key"]:  # it is looked at later, too
                    send(page, address, fields)
                    wrong += [(address, payload, found) for found in page.evaluate(_FOREIGN)]
                    pages += 1
    assert not wrong, wrong
    print(f"{len(payloads)} payloads in {pages} pages, {refused} of them errors: nothing ran, nothing left the page")


_OPEN_ALL: Final = """() => {
  const links = [...document.querySelectorAll("[data-opens]")];
  for (const link of links) link.click();
  return links.length;
}"""
"""Opens every text of a page in its place."""
_ARE_OPEN: Final = """() => [...document.querySelectorAll("[data-opens]")]
  .every((link) => document.getElementById(link.dataset.opens).childElementCount)"""


def test_hostile_texts_that_come_while_somebody_looks_on_are_text_too(
    browser: "Browser", files: Files, start_server: StartServer, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    payloads = (*PAYLOADS[:: figure(len(PAYLOADS) // 20, 1)], "\u2028 ends a line for some patterns, \u2029 too")
    said = "\n\n".join(payloads)
    files({file_name(payload, number): payload for number, payload in enumerate(payloads)} | {"a.txt": said})
    call = ToolCall("c1", "read_file", json.dumps({"path": "a.txt", "why": said}))
    replies, is_seen = iter([Says(said, calls=[call]), Says(f"It is: {said}")]), threading.Event()

    def reply(asked: Mapping[str, Any]) -> Says:
        if asked["messages"][-1]["role"] == "tool":
            is_seen.wait(30)
        return next(replies)

    with ChatServer(reply) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
        visitor = Visitor(start_server(settings={"answer_model": "gpt-5-mini", "embedder": "none"}))
        with page_of(browser, visitor.server.base, visitor.cookie) as page:
            page.goto("/threads/talk")
            box = page.get_by_role("combobox", name="Message")
            for number in range(0, len(payloads), 10):
                box.fill(f"@file:{number}")
                page.locator(".option").first.wait_for()
                assert page.evaluate(_FOREIGN) == []
            box.fill(f"> {said}")
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Send").click()
            page.locator("#streamed .call .result").wait_for(state="attached")
            assert page.evaluate(_FOREIGN) == []
            is_seen.set()
            page.locator("#history", has_text="It is:").wait_for()
            assert page.evaluate(_FOREIGN) == []


def is_shown(payload: str, parts: "Sequence[Locator]") -> bool:
    """Return whether a payload is the text of one of these parts, apart from blanks; what is hidden is spelled out."""
    texts = [part.input_value() if part.get_attribute("name") else str(part.text_content()) for part in parts]
    texts.append("".join(texts))  # each line of a file is a part
    wanted = {
        letters(payload),
        *(letters("".join(map(one_line, payload.split(end)))) for end in ("\n", "\r\n", "\0\0")),
    }
    return any(one in letters(text) for one in wanted for text in texts)


def letters(text: str) -> str:
    """Return the characters of a text that can be seen; notes that differ in capitals alone are the same note."""
    return "".join(char for char in text if char.isprintable() and not char.isspace()).casefold()


def collapsed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


_IS_LOADED: Final = """() => !document.querySelector("[data-until-loaded]")"""
"""Whether the parts are there that are loaded after their page."""


class Sample:
    """Every view with texts that are long and of no harm, for a visitor, and what forms answer."""

    def __init__(self, visitor: Visitor, names: Mapping[str, str]) -> None:
        self.visitor = visitor
        self.views = [*addresses(names), *bare_addresses(names)]
        self.forms = list(forms(names, TEXT))

    def visits(self, page: "Page") -> "Iterator[str]":
        """Load every page, one after another, and yield its name."""
        for address in self.views:
            answer = page.goto(address)
            assert answer is not None
            assert answer.status == (404 if address == "/nothing" else 200), (address, answer.status)
            page.wait_for_function(_IS_LOADED)
            yield address
        page.goto("/status")
        for address, fields in self.forms:
            send(page, address, fields)
            page.wait_for_function(_IS_LOADED)
            yield f"{address} {fields}"


TEXT: Final = "a long word " + "w" * 90


@pytest.fixture
def sample(files: Files, start_server: StartServer) -> Sample:
    visitor = Visitor(start_server())
    (names,) = filled(visitor, files, (TEXT,))
    return Sample(visitor, names)


def test_axe_finds_nothing_serious_in_any_view_at_any_width_in_light_and_dark(
    browser: "Browser", sample: Sample, figure: Figure
) -> None:
    looks = [(width, scheme) for width in WIDTHS for scheme in SCHEMES][:: figure(3, 1)]  # a wide and a narrow one
    axe = resources("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    found: dict[str, Any] = {}
    # Its script is put in from outside of the page, which would not let it in.
    with page_of(browser, sample.visitor.server.base, sample.visitor.cookie, bypass_csp=True) as page:
        for name in sample.visits(page):
            page.evaluate(axe)
            for width, scheme in looks:
                page.set_viewport_size({"width": width, "height": 800})
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                if problems := violations(page, every_rule=(width, scheme) == looks[0]):
                    found[f"{name} {width} {scheme}"] = problems
    assert not found, json.dumps(found, indent=1)


def violations(page: "Page", *, every_rule: bool) -> list[str]:
    """Return the serious and critical violations that axe finds, each with where it is."""
    rules = "" if every_rule else f", runOnly: {json.dumps(OF_LOOKS)}"
    result = page.evaluate(f"axe.run({{ resultTypes: ['violations']{rules} }})")
    return [
        f"{one['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for one in result["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]


_WIDTH: Final = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")].filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
    .slice(0, 5).map((part) => part.outerHTML.slice(0, 80))"""
"""What is beyond the edge of the window, if the page is wider than that."""


_CONTROLS: Final = """() => {
  const every = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  const isOutside = (part) => part.closest("details:not([open])") && part.localName !== "summary";
  const shown = [...document.querySelectorAll(every)]
    .filter((part) => part.tabIndex >= 0 && !part.disabled && part.checkVisibility() && !isOutside(part));
  window.missed = new Set(shown);
  window.unmarked = new Set();
  document.addEventListener("focusin", ({ target }) => {
    window.missed.delete(target);
    if (getComputedStyle(target).outlineStyle === "none") window.unmarked.add(target);
  });
  document.activeElement.blur();
  const parts = shown.filter((part) => part.type === "date").length * 3;  // day, month, year and calendar
  return shown.length + parts + 1;
}"""
"""Notes which controls of a page a person could want, and returns how often to press Tab to go through them."""
_MISSED: Final = """() => [...window.missed, ...window.unmarked].map((part) => part.outerHTML.slice(0, 120))"""


def test_no_view_is_wider_than_a_phone_and_every_control_is_reached_and_marked_by_the_keyboard(
    browser: "Browser", sample: Sample
) -> None:
    visitor = sample.visitor
    with page_of(browser, visitor.server.base, visitor.cookie, viewport={"width": 360, "height": 700}) as page:
        wide, missed = {}, {}
        for name in sample.visits(page):
            wide[name] = page.evaluate(_WIDTH)
            for _ in range(page.evaluate(_CONTROLS)):
                page.keyboard.press("Tab")
            missed[name] = page.evaluate(_MISSED)
    assert not {name: found for name, found in wide.items() if found}
    assert not {name: found for name, found in missed.items() if found}


def test_every_view_is_read_without_javascript(browser: "Browser", sample: Sample) -> None:
    base, cookie = sample.visitor.server.base, sample.visitor.cookie
    with page_of(browser, base, cookie, java_script_enabled=False) as plain, page_of(browser, base, cookie) as page:
        for address in sample.views:
            plain.goto(address)
            page.goto(address)
            page.wait_for_function(_IS_LOADED)
            lazy = plain.locator("[hx-trigger=load]").all()
            assert all(part.locator("a[href]").count() for part in lazy), address  # what is loaded has a link
            shown = without_times(plain.locator("main").inner_text())
            for part in lazy:
                shown = shown.replace(without_times(part.inner_text()), "", 1)
            with_script = without_times(page.evaluate(_NOT_LAZY))
            assert shown, address
            assert plain.locator("h1").count() == 1, address
            assert collapsed(shown) == with_script, address


_NOT_LAZY: Final = """() => {
  for (const part of document.querySelectorAll("[hx-trigger=load]")) part.remove();
  return document.querySelector("main").innerText;
}"""


def without_times(text: str) -> str:
    """Return what a page shows, without how long ago something was."""
    return collapsed(re.sub(r"\d+ (s|min|h) ago|just now", "", text))

"""What holds for every view, by construction, in Chromium: hostile texts, WCAG, narrow windows, and no JavaScript.

The views are those of the table of pages, with the examples of the tests of ownership.
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

from promptuary.base.text import one_line
from promptuary.client import BlockingClient
from tests.conftest import Figure, Files
from tests.server.browser import chromium, needs_chromium, page_of
from tests.server.conftest import StartServer
from tests.server.page_payloads import PAYLOADS
from tests.server.page_views import addresses, fill
from tests.server.visitors import Visitor, as_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [needs_chromium, pytest.mark.torture, pytest.mark.timeout(900)]

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


def filled(visitor: Visitor, files: Files, payloads: "tuple[str, ...]") -> list[Mapping[str, str]]:
    """Store payloads wherever texts can be, and return the names for each.

    A new thread cannot have any name; one of a backup that was restored can.
    """
    names = [file_name(payload, number) for number, payload in enumerate(payloads)]
    files(dict(zip(names, payloads, strict=True)))
    client = BlockingClient(visitor.server.base, token=visitor.secret)
    with client as p, pytest.MonkeyPatch.context() as patch:
        patch.setattr("promptuary.threads.values._SHELL", frozenset())
        return [fill(p, payload, name) for payload, name in zip(payloads, names, strict=True)]


def test_hostile_texts_are_shown_as_they_are_and_nothing_in_them_runs(
    browser: "Browser", files: Files, start_server: StartServer, figure: Figure
) -> None:
    payloads = PAYLOADS[:: figure(len(PAYLOADS) // 8, 1)]
    visitor = Visitor(start_server())
    stored = filled(visitor, files, payloads)
    asked = dict.fromkeys(address for names in stored for address in addresses(visitor, names))
    answers = {address: visitor.get(address) for address in asked}
    every = [address for address, answer in answers.items() if answer.status == 200]
    # A name that cannot be referred to is a clear error, in whose page it is text as well.
    for answer in answers.values():
        assert answer.status in (200, 404, 422), as_text(answer.body)
        assert not [
            payload for payload in payloads if "alert" in payload and payload.encode() in answer.body and "<" in payload
        ]
    said = ""

    with page_of(browser, visitor.server.base, visitor.cookie) as page:
        for address in every:
            page.goto(address)
            assert page.evaluate(_FOREIGN) == [], address
            said += collapsed(page.evaluate("document.body.textContent"))
    for payload in payloads:
        assert collapsed(one_line(payload))[:40] in said, payload
    print(f"{len(payloads)} payloads in {len(every)} pages: nothing ran, nothing was asked for elsewhere")


def collapsed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture
def sample(files: Files, start_server: StartServer) -> "tuple[Visitor, list[str]]":
    """Return a visitor, and the addresses of every view, with texts that are long and of no harm, and without any."""
    visitor = Visitor(start_server())
    (names,) = filled(visitor, files, ("a long word " + "w" * 90,))
    return visitor, [one for one in dict.fromkeys(addresses(visitor, names)) if visitor.get(one).status == 200]


def test_axe_finds_nothing_serious_in_any_view_at_any_width_in_light_and_dark(
    browser: "Browser", sample: "tuple[Visitor, list[str]]", figure: Figure
) -> None:
    visitor, every = sample
    looks = [(width, scheme) for width in WIDTHS for scheme in SCHEMES][:: figure(3, 1)]  # a wide and a narrow one
    axe = resources("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    found: dict[str, Any] = {}
    # Its script is put in from outside of the page, which would not let it in.
    with page_of(browser, visitor.server.base, visitor.cookie, bypass_csp=True) as page:
        for address in every:
            page.goto(address)
            page.evaluate(axe)
            for width, scheme in looks:
                page.set_viewport_size({"width": width, "height": 800})
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                if problems := violations(page, every_rule=(width, scheme) == looks[0]):
                    found[f"{address} {width} {scheme}"] = problems
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


def test_no_view_is_wider_than_a_phone(browser: "Browser", sample: "tuple[Visitor, list[str]]") -> None:
    visitor, every = sample
    with page_of(browser, visitor.server.base, visitor.cookie, viewport={"width": 360, "height": 700}) as page:
        widths = {}
        for address in every:
            page.goto(address)
            widths[address] = page.evaluate(_WIDTH)
    assert not {address: found for address, found in widths.items() if found}


def test_every_view_is_read_without_javascript(browser: "Browser", sample: "tuple[Visitor, list[str]]") -> None:
    visitor, every = sample
    with (
        page_of(browser, visitor.server.base, visitor.cookie, java_script_enabled=False) as plain,
        page_of(browser, visitor.server.base, visitor.cookie) as page,
    ):
        for address in every:
            plain.goto(address)
            page.goto(address)
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

"""Turns a template and its values into a page, with everything that all pages have.

Everything is escaped but what ``markdown`` made, which is sanitised. Knows nothing of requests.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import nh3
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from promptuary.base.text import counted, one_line
from promptuary.context.receipt import AROUND
from promptuary.server.page.static import static_name
from promptuary.server.page.view import address

_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = [
    (b"content-security-policy", _POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""The headers of every answer of the page."""

_TAGS: Final = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_SCHEMES: Final = {"http", "https", "mailto"}
_AGO: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
_MAX_DAYS: Final = 30


def form_token(session: str) -> str:
    """Return the token that forms of a session carry: whoever does not know the session cannot know it."""
    return hmac.new(session.encode(), b"forms of the page", hashlib.sha256).hexdigest()


def is_form_token(session: str, given: str) -> bool:
    """Return whether this is the token of forms of a session."""
    return hmac.compare_digest(form_token(session), given.encode("ascii", "replace").decode())


def render(template: str, values: Mapping[str, Any]) -> bytes:
    """Return a page as it is sent. Lone surrogates, which no page can have, are replaced. May take long."""
    return _environment().get_template(template).render(values).encode("utf-8", "replace")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"static": static_address, "address": address, "live": _live}
    made.filters |= {
        "n": _number,
        "signed": _signed,
        "of": _share,
        "ago": _ago,
        "percent": _percent,
        "money": _money,
        "markdown": _markdown,
        "line": one_line,
        "counted": counted,
        "sentence": _sentence,
        "colour": _colour,
    }
    return made


def static_address(name: str) -> str:
    """Return the address of a file that pages use."""
    return f"/static/{static_name(name)}"


def _live(kinds: str, name: str) -> Markup:
    """Return the attributes of an element that is fetched again when events of these kinds come."""
    trigger = ", ".join(f"{kind} from:body" for kind in kinds.split())
    return Markup('id="{0}" data-live-part hx-get="" hx-trigger="{1}" hx-select="#{0}" hx-swap="outerMorph"').format(
        name, trigger
    )


_COLOURS: Final = {
    "history": 0,
    "message": 1,
    "references": 2,
    "file_reference": 3,
    "instructions": 4,
    "memory_digest": 5,
    "memory_recall": 6,
    "experience": 7,
    "tools": 8,
    "loop": 8,
    AROUND: 9,
}
"""The usual layers look the same everywhere; others share two colours."""


def _colour(layer: str) -> int:
    """Return the number of the colour of a layer, everywhere the same."""
    return _COLOURS.get(layer, 10 + len(layer) % 2)


def _sentence(text: str) -> str:
    """Return a text on one line that begins as a sentence does."""
    return one_line(text[:1].upper() + text[1:])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"


def _signed(value: int) -> str:
    return f"{value:+,}".replace("-", "−") if value else "0"


def _share(part: float, whole: float) -> str:
    """Return a length as an attribute of SVG."""
    return f"{max(0.0, min(1.0, part / max(whole, 1))):.3%}"


def _percent(part: float, whole: float) -> str:
    share = part / whole if whole else 0.0
    return "0 %" if not part else "< 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")


def _money(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}" if value >= 1 else f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def _ago(time: str) -> Markup:
    """Return a time as an element: how long ago it is, and exactly."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return Markup("{0}").format(time)
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - then).total_seconds()
    exact = then.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    said = exact[:10]
    if seconds < _MAX_DAYS * 86_400:
        said = next((f"{seconds // size:.0f} {unit} ago" for size, unit in _AGO if seconds >= size), "just now")
    return Markup('<time datetime="{0}" title="{1}">{2}</time>').format(time, exact, said)


def _markdown(text: str) -> Markup:
    """Return Markdown as HTML. Nothing in it is fetched, run, or styled, and no link tells where it was followed."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text)
    safe = nh3.clean(made, tags=_TAGS, attributes={"a": {"href"}}, url_schemes=_SCHEMES, link_rel="noreferrer nofollow")
    return Markup(safe)  # noqa: S704  (it is sanitised)

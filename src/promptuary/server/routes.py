"""The one table of routes: what can be asked, and which scope of a token it needs.

Every path also exists below ``/w/NAME/``, where it concerns the workspace of that name. The table drives the server and
the tests of who may ask what. Knows nothing of requests but method and path.
"""

import re
from collections.abc import Collection
from typing import Final

from promptuary.api.endpoints import ENDPOINTS, PREFIX
from promptuary.server.errors import NOT_FOUND, Protocol, Refusal
from promptuary.server.matches import Match, Route
from promptuary.server.page import pages
from promptuary.server.page.view import Page

_WORKSPACE: Final = re.compile(r"/w/([^/]+)(/.*)", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_PARTS: Final = {
    "{id}": r"(?P<id>[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199})",
    "{model}": r"(?P<model>[A-Za-z0-9_][A-Za-z0-9_.:@/%+-]{0,199})",
    "{rest}": r"(?P<rest>[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199}(?:/[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199}){0,9})",
}
"""What stands for a part of a path. No part starts with a dot, and none is empty: an upstream could read it as a way
out of where it was checked."""


def _proxy(method: str, path: str, protocol: Protocol = "", *, any_body: bool = False) -> Route:
    return Route(method, path, "proxy", "proxy", protocol, any_body)


def _page_routes(page: Page) -> tuple[Route, ...]:
    """Return the routes of a page: its own, and that of its value as JSON. Names in a path may end as that does."""
    own = Route(page.method, page.path, page.scope, "page", "page", page.method == "POST")
    twin = Route("GET", f"{page.path}{pages.TWIN}", page.scope, "page", "api")
    return (twin, own) if page.method == "GET" else (own,)


ROUTES: Final = (
    Route("GET", "/healthz", None),
    Route("HEAD", "/healthz", None),
    Route("GET", "/readyz", "admin"),
    Route("GET", "/metrics", "admin"),
    Route("HEAD", "/", "proxy"),  # how Claude Code looks whether somebody is there
    _proxy("POST", "/v1/messages", "messages"),
    _proxy("POST", "/v1/messages/count_tokens", "messages"),
    _proxy("POST", "/v1/responses", "responses"),
    _proxy("GET", "/v1/responses/{id}", "responses"),
    _proxy("DELETE", "/v1/responses/{id}", "responses"),
    _proxy("POST", "/v1/responses/{id}/cancel", "responses"),
    _proxy("GET", "/v1/responses/{id}/input_items", "responses"),
    _proxy("POST", "/v1/chat/completions", "chat"),
    _proxy("POST", "/v1/completions", "chat"),
    _proxy("POST", "/v1/embeddings", "chat"),
    _proxy("GET", "/v1/models"),
    _proxy("GET", "/v1/models/{model}"),
    # What else the upstream has, for those who bring their own key; uploads of files are not JSON.
    _proxy("GET", "/v1/{rest}"),
    _proxy("POST", "/v1/{rest}", any_body=True),
    _proxy("DELETE", "/v1/{rest}"),
    *(Route(method, "/mcp", "read", "mcp") for method in ("POST", "GET", "DELETE")),  # tools that write need more
    Route("GET", f"{PREFIX}/openapi.json", "read", "api", "api"),
    *(Route(one.method, one.address, one.scope, "api", "api") for one in ENDPOINTS),
    Route("GET", f"{pages.STATIC}/{{name}}", None, "page", "page"),
    Route("GET", pages.SIGN_IN, None, "page", "page"),
    Route("POST", pages.SIGN_IN, None, "page", "page", any_body=True),
    Route("POST", pages.SIGN_OUT, "read", "page", "page", any_body=True),
    Route("GET", pages.HOME, "read", "page", "page"),
    Route("GET", pages.LIVE, "read", "page", "page"),
    *(route for page in pages.PAGES for route in _page_routes(page)),
)


def _pattern(route: Route) -> "re.Pattern[str]":
    parts = re.split(r"(\{\w+\})", route.path)
    return re.compile("".join(_pattern_of(route, part) for part in parts), re.ASCII)


def _pattern_of(route: Route, part: str) -> str:
    """Return the pattern of a part: of API and page, any name with whatever an address cannot hold as it is encoded."""
    if route.area in {"api", "page"} and part.startswith("{"):
        return rf"(?P<{part[1:-1]}>(?:[A-Za-z0-9_.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{{2}}){{1,2000}})"
    return _PARTS.get(part) or re.escape(part)


_PATTERNS: Final = tuple((route, _pattern(route)) for route in ROUTES)


def find_route(method: str, raw_path: bytes) -> Match | None:
    """Return the first route for a method and a path as it was sent, before anything in it is decoded."""
    try:
        path, name = raw_path.decode("ascii"), None
    except UnicodeDecodeError:
        return None
    if below := _WORKSPACE.fullmatch(path):
        name, path = below.groups()
    for route, pattern in _PATTERNS:
        if route.method == method and (found := pattern.fullmatch(path)):
            return Match(route, name, found.groupdict(), path)
    return None


def find_protocol(raw_path: bytes) -> Protocol:
    """Return the protocol of a path, whoever asks and whether or not it exists."""
    if PREFIX.encode() in raw_path:
        return "api"
    path = raw_path.partition(b"/v1/")[2]
    for start, protocol in ((b"messages", "messages"), (b"responses", "responses"), (b"chat/", "chat")):
        if path.startswith(start):
            return protocol  # type: ignore[return-value]
    return ""


def is_workspace_name(name: str) -> bool:
    """Return whether a workspace may be called so: it is a part of addresses."""
    return _NAME.fullmatch(name) is not None


def find_workspace(named: str | None, allowed: Collection[str], served: Collection[str]) -> str:
    """Return the name of the workspace that a request concerns: the one in its address, else the only possible one.

    ``allowed`` are the names that its token may use; none means all. Raises ``Refusal``.
    """
    usable = [name for name in served if not allowed or name in allowed]
    if named is not None:
        usable = [name for name in usable if name == named]
    if not usable:
        raise Refusal(404, NOT_FOUND)
    if len(usable) > 1:
        raise Refusal(400, "several workspaces are served: name one in the address, as in /w/NAME/…")
    return usable[0]

"""The one table of routes: what can be asked, and which scope of a token it needs.

Every path also exists below ``/w/NAME/``, where it concerns the workspace of that name. The table drives the server and
the tests of who may ask what. Knows nothing of requests but method and path.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final, Literal

from msgspec import Struct

from promptuary.server.errors import Protocol, Refusal
from promptuary.server.tokens import Scope

Area = Literal["server", "proxy"]
"""Who answers: the server about itself, or the proxy."""

NOT_FOUND: Final = "there is nothing at this address for this token"
"""Said of what is absent and of what is somebody else's, so that nobody can tell them apart."""

_WORKSPACE: Final = re.compile(r"/w/([^/]+)(/.*)", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_PARTS: Final = {
    "{id}": r"(?P<id>[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199})",
    "{model}": r"(?P<model>[A-Za-z0-9_][A-Za-z0-9_.:@/%+-]{0,199})",
    "{rest}": r"(?P<rest>[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199}(?:/[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199}){0,9})",
}
"""What stands for a part of a path. No part starts with a dot, and none is empty: an upstream could read it as a way
out of where it was checked."""


class Route(Struct, frozen=True):
    """Something that can be asked. ``scope`` is what the token needs; ``None``: nothing, and no token either.

    The shape of errors is that of ``protocol``. Bodies must be JSON, unless ``any_body``.
    """

    method: str
    path: str
    scope: Scope | None
    area: Area = "server"
    protocol: Protocol = ""
    any_body: bool = False


class Match(Struct, frozen=True):
    """A route, the name of the workspace in the path, and the parts of the path that the route names."""

    route: Route
    workspace: str | None
    parts: Mapping[str, str]
    path: str
    """The path without the workspace."""


def _proxy(method: str, path: str, protocol: Protocol = "", *, any_body: bool = False) -> Route:
    return Route(method, path, "proxy", "proxy", protocol, any_body)


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
)


def _pattern(path: str) -> "re.Pattern[str]":
    return re.compile("".join(_PARTS.get(part, re.escape(part)) for part in re.split(r"(\{\w+\})", path)), re.ASCII)


_PATTERNS: Final = tuple((route, _pattern(route.path)) for route in ROUTES)


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
        raise Refusal(400, "several workspaces are served: name one in the address, as in /w/NAME/v1/…")
    return usable[0]

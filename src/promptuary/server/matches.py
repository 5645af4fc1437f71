"""A route of the server, and that a request was found to ask for it. Knows nothing of which routes there are."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from promptuary.server.errors import Protocol
from promptuary.server.tokens import Scope

Area = Literal["server", "proxy", "api", "mcp", "page"]
"""Who answers: the server about itself, the proxy, the API, MCP, or the page."""


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

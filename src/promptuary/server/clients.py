"""Which clients use the proxy: what models read for them, how much of it came from a cache, and what was added here.

Kept in memory since the server was started, by token and name of the client; for one event loop.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.clock import now
from promptuary.models.chat_model import ModelUsage
from promptuary.server.tokens import Token

_MAX_CLIENTS: Final = 500
_NAME: Final = re.compile(rb"[A-Za-z0-9._-]{1,40}(?:/[A-Za-z0-9._-]{1,20})?")


class ClientUse(Struct, frozen=True):
    """What one client did. ``input_tokens`` are all that models read, ``cached_tokens`` those of them from a cache.

    ``added_tokens`` is what was added to its requests here.
    """

    token: Token
    name: str
    seen: str = ""
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    added_tokens: int = 0


class Clients:
    """The clients of a server."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], ClientUse] = {}

    def add(self, token: Token, user_agent: bytes, usage: ModelUsage, added: int) -> None:
        """Count an answer that a client got."""
        name = client_name(user_agent)
        use = self._used.pop((token.id, name), None) or ClientUse(token, name)
        self._used[token.id, name] = replace(
            use,
            seen=now(),
            requests=use.requests + 1,
            input_tokens=use.input_tokens + usage.input_tokens,
            cached_tokens=use.cached_tokens + usage.cached_tokens,
            output_tokens=use.output_tokens + usage.output_tokens,
            added_tokens=use.added_tokens + added,
        )
        if len(self._used) > _MAX_CLIENTS:
            del self._used[next(iter(self._used))]

    def list(self) -> Sequence[ClientUse]:
        """Return every client, the last one that was seen first."""
        return tuple(reversed(self._used.values()))


def client_name(user_agent: bytes) -> str:
    """Return what a client calls itself, without what it says besides."""
    found = _NAME.match(user_agent)
    return found[0].decode("ascii") if found else "unknown"

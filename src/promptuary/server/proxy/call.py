"""A request of a client while it is answered: who asks for what, from which client, and what it is told of it."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from promptuary.base.principals import Owner
from promptuary.base.text import one_line
from promptuary.server.asgi import Receive, Scope, Send
from promptuary.server.errors import Protocol
from promptuary.server.matches import Match
from promptuary.server.proxy.wire import is_for_an_agent
from promptuary.server.tokens import Token

_AGENTS: Final = (b"claude-cli", b"claude-code", b"codex", b"opencode")
"""Coding agents: they send tools with every request of a conversation, and what has none is a title or a probe."""
_EXPANDING: Final = (*_AGENTS, b"aider")
"""Clients that read a bare ``@path`` themselves."""


class Call(Struct):
    """A request while it is answered."""

    scope: Scope
    receive: Receive
    send: Send
    token: Token
    match: Match
    workspace: str
    own_key: bool
    headers: Mapping[bytes, bytes]
    told: dict[bytes, str] = {}
    """Our headers of the answer."""
    key: str = ""
    """The server's key for the service."""
    is_big: bool = False
    added: int = 0
    """The tokens that were added to it."""

    def __repr__(self) -> str:
        return f"Call({self.match.route.path!r})"  # its key and its body are nobody's business

    @property
    def protocol(self) -> Protocol:
        """The protocol of its path."""
        return self.match.route.protocol

    @property
    def owner(self) -> Owner:
        """Whose threads it belongs to."""
        return self.token.principal.owner

    @property
    def always_has_tools(self) -> bool:
        """Whether every request of a conversation has tools in this client."""
        return self._is_of(_AGENTS)

    @property
    def expands_paths(self) -> bool:
        """Whether the client reads a bare ``@path`` itself."""
        return self._is_of(_EXPANDING)

    def _is_of(self, names: tuple[bytes, ...]) -> bool:
        agent = self.headers.get(b"user-agent", b"").lower()
        return any(name in agent for name in names)

    @property
    def is_aside(self) -> bool:
        """Whether it is one of an agent that the client's own agent has started."""
        return is_for_an_agent(self.headers)

    @property
    def is_own(self) -> bool:
        """Whether a thread of ours is the conversation: the header decides, else the token."""
        mode = self.headers.get(b"x-promptuary-mode", b"").lower()
        return mode == b"own" or (self.token.mode == "own" and mode != b"augment")

    def warn(self, reason: str) -> None:
        """Tell the client what it should know, in a header."""
        told = self.told.get(b"x-promptuary-warning", "")
        self.told[b"x-promptuary-warning"] = f"{told}; {one_line(reason)}".removeprefix("; ")[:500]

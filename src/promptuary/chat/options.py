"""The options that a chat starts with."""

from msgspec import Struct


class ChatOptions(Struct, frozen=True):
    thread: str = "main"
    tools: bool = True
    max_requests: int = 50
    may_write: bool = False
    """Whether tools may write without asking."""
    quiet: bool = False
    """Whether it starts without notes."""

"""The options that a chat starts with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatOptions:
    thread: str = "main"
    tools: bool = True
    max_requests: int = 50
    may_write: bool = False
    """Whether tools may write without asking."""
    quiet: bool = False
    """Whether it starts without notes."""

"""A chat model whose replies are in the configuration: for tests and demonstrations. It uses no network."""

import threading
from collections.abc import Sequence

from promptuary.base.messages import Message


class ScriptedReplies:
    """A ``ChatModel`` that returns ``replies`` in order, then repeats the last one."""

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the next reply, whatever the messages are."""
        del messages, max_tokens
        with self._lock:
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

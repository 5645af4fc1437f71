"""A chat model whose replies are written in the configuration: for tests and demonstrations. It reaches nobody."""

import threading
from collections.abc import Sequence

from promptuary.core.messages import Message


class ScriptedReplies:
    """A ``ChatModel`` that gives ``replies`` in order, and the last one again and again."""

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the next reply, whatever is asked."""
        del messages, max_tokens
        with self._lock:
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

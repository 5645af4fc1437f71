"""The requests that run now, by token: revoking a token ends them, and no token has too many. For one event loop."""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from promptuary.server.errors import Refusal

MAX_OF_TOKEN: Final = 128
"""The most requests of one token at a time."""


class Running:
    """The tasks that answer requests."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[Any]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._tasks.values()))

    @property
    def token_ids(self) -> tuple[str, ...]:
        """The tokens whose requests run."""
        return tuple(self._tasks)

    @contextmanager
    def of(self, token_id: str) -> Iterator[None]:
        """Count the current task as one of a token. Raises ``Refusal`` if that has too many."""
        task = asyncio.current_task()
        tasks = self._tasks.setdefault(token_id, set())
        if len(tasks) >= MAX_OF_TOKEN:
            raise Refusal(429, f"{MAX_OF_TOKEN} requests of this token are running; wait for one of them")
        if task is None:
            raise AssertionError("requests are answered in tasks")
        tasks.add(task)
        try:
            yield
        finally:
            tasks.discard(task)
            if not tasks:
                self._tasks.pop(token_id, None)

    def end(self, token_ids: Collection[str]) -> int:
        """Cancel every request of these tokens, and return how many; their upstreams are closed, too."""
        tasks = [task for token_id in token_ids for task in self._tasks.get(token_id, ())]
        for task in tasks:
            task.cancel()
        return len(tasks)

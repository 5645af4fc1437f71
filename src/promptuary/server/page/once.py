"""Secrets of new tokens until they are shown: each once, to the session that made it, for a few minutes. In memory."""

import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 300.0
_MOST: Final = 100


class Secrets:
    """Secrets that wait to be shown, by session and token. Used by one event loop."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._waiting: dict[tuple[str, str], tuple[float, str]] = {}

    def put(self, session: str, token: str, secret: str) -> None:
        """Keep a secret; the oldest of too many is dropped."""
        self._drop_old()
        self._waiting[session, token] = (self._monotonic() + _SECONDS, secret)
        if len(self._waiting) > _MOST:
            del self._waiting[next(iter(self._waiting))]

    def take(self, session: str, token: str) -> str:
        """Return the secret of a token that a session made, and forget it; "" if it was shown, or is too old."""
        self._drop_old()
        return self._waiting.pop((session, token), (0.0, ""))[1]

    def _drop_old(self) -> None:
        now = self._monotonic()
        self._waiting = {key: one for key, one in self._waiting.items() if one[0] > now}

"""Requests with an Idempotency-Key: each is carried out once, however often it is sent.

A key counts within its principal, its route and its body. The answers are in memory, where a note that is forgotten
leaves them soon; that a request was begun is in the database, so that it is not repeated after a restart either.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from promptuary.base import concurrency
from promptuary.server.asgi import Headers
from promptuary.server.errors import Refusal
from promptuary.server.tokens import Token, TokenStore

MAX_KEY: Final = 255
_MAX_BYTES: Final = 32 << 20
"""How many bytes of answers are kept."""
_SECONDS: Final = 600.0
"""For how long an answer is kept."""


class StoredAnswer(Struct, frozen=True):
    """The answer to a request."""

    status: int
    body: bytes
    content_type: bytes
    headers: Headers = ()


class Once:
    """The requests that were begun, and the answers of the last ones."""

    def __init__(self, store: TokenStore, *, most_bytes: int = _MAX_BYTES, seconds: float = _SECONDS) -> None:
        self._store, self._most_bytes, self._seconds = store, most_bytes, seconds
        self._answers: OrderedDict[bytes, tuple[float, StoredAnswer]] = OrderedDict()
        self._bytes = 0
        self._running: dict[bytes, asyncio.Future[None]] = {}

    async def answer(
        self, token: Token, route: str, key: str, content: bytes, work: Callable[[], Awaitable[StoredAnswer]]
    ) -> StoredAnswer:
        """Return the answer of ``work``, or that of the same request before. Raises ``Refusal``.

        ``route`` is the address, ``content`` everything else that says what is asked for.
        """
        owner = token.principal.owner
        asked = (owner.kind, owner.name, owner.agent, token.principal.user, route, key)
        named = "\0".join(asked)
        name = hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()
        while (running := self._running.get(name)) is not None:
            await asyncio.shield(running)
        self._running[name] = asyncio.get_running_loop().create_future()
        try:
            return await self._carry_out(name, hashlib.sha256(content).digest(), work)
        finally:
            self._running.pop(name).set_result(None)

    async def _carry_out(self, name: bytes, body: bytes, work: Callable[[], Awaitable[StoredAnswer]]) -> StoredAnswer:
        state = await concurrency.run(lambda: self._store.begin(name, body))
        if state == "other":
            raise Refusal(422, "this Idempotency-Key was used with another request", code="KEY_REUSED")
        if state == "known":
            self._drop_old()
            if (known := self._answers.get(name)) is not None:
                return known[1]
            reason = "this request was begun before, and its answer is not known any more; look whether it was done"
            raise Refusal(409, reason, code="BEGUN_BEFORE")
        try:
            answer = await work()
        except Refusal:
            await concurrency.run(lambda: self._store.not_begun(name))
            raise
        if answer.status >= 400:  # refused or failed, so it may be tried again
            await concurrency.run(lambda: self._store.not_begun(name))
        else:
            self._keep(name, answer)
        return answer

    def _keep(self, name: bytes, answer: StoredAnswer) -> None:
        self._answers[name] = (asyncio.get_running_loop().time(), answer)
        self._bytes += len(answer.body)
        self._drop_old()

    def _drop_old(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._answers:
            at, answer = next(iter(self._answers.values()))
            if self._bytes <= self._most_bytes and now - at <= self._seconds:
                return
            self._answers.popitem(last=False)
            self._bytes -= len(answer.body)

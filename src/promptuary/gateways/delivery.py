"""Sends an answer while it comes in, and so that a kill at any moment neither loses nor repeats it.

A part is noted before it is sent, and its id after that. After a restart a part whose id is known is edited; one that
was being sent is sent again, with the same key where the platform knows such keys, else marked as perhaps a repetition.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from promptuary.core.errors import PlatformError, PlatformUnreachableError, RateLimitedError
from promptuary.core.ports.inbox import Received
from promptuary.engine import AsyncInbox
from promptuary.gateways.chunking import chunks
from promptuary.gateways.port import Backoff, Capabilities, ChatReply

logger = logging.getLogger(__name__)

MOST_MESSAGES: Final = 5
"""An answer that needs more messages is sent as a file, after its beginning."""
REPEATED: Final = "(You may have this already: I was restarted while I sent it.)"
IN_A_FILE: Final = "\n\n… (The whole answer is in the file below.)"
FILE_NAME: Final = "answer.md"
_TRIES: Final = 12
_TYPING_EVERY: Final = 4.0

Result = TypeVar("Result")


class Delivery:
    """One answer on its way into a chat. ``show`` is called with all of it that there is so far, again and again."""

    def __init__(self, inbox: AsyncInbox, reply: ChatReply, capabilities: Capabilities, received: Received) -> None:
        self._inbox, self._reply, self._capabilities, self._number = inbox, reply, capabilities, received.number
        self._ids = list(received.sent)
        self._uncertain = {part for part, message in enumerate(received.sent) if not message}
        self._shown: dict[int, str] = {}
        self._next = 0.0
        self._next_typing = 0.0
        self._lock = asyncio.Lock()

    async def typing(self) -> None:
        """Show that an answer is being written; that this fails is no matter."""
        if time.monotonic() >= self._next_typing:
            self._next_typing = time.monotonic() + _TYPING_EVERY
            try:
                await self._reply.typing()
            except PlatformError as error:
                logger.debug("typing could not be shown: %s", error)

    async def show(self, text: str) -> None:
        """Show what there is of an answer, unless that was done a moment ago; what fails is tried again later."""
        if not text.strip() or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._capabilities.edit_every
        try:
            async with self._lock:
                for part, piece in enumerate(self._pieces(text)[:MOST_MESSAGES]):
                    await self._put(part, piece)
        except RateLimitedError as error:
            self._next = time.monotonic() + error.seconds
        except PlatformError as error:
            logger.debug("a part of an answer could not be shown: %s", error)

    async def finish(self, text: str) -> None:
        """Send the whole answer, however often that has to be tried, and note that it was sent.

        Raises ``PlatformUnreachableError`` if the platform cannot be reached for long; the next start tries again.
        """
        await self._inbox.ready(self._number, text)
        async with self._lock:
            await self._finish(text)
        await self._inbox.answered(self._number)

    async def _finish(self, text: str) -> None:
        pieces = self._pieces(text)
        if len(pieces) <= MOST_MESSAGES:
            for part, piece in enumerate(pieces):
                await self._insist(lambda part=part, piece=piece: self._put(part, piece))  # type: ignore[misc]
        else:
            first = self._pieces(text, less=len(IN_A_FILE))[0] + IN_A_FILE
            shown = max(1, sum(1 for one in self._ids if one))
            await self._insist(lambda: self._put(0, first))
            for part in range(1, min(shown, MOST_MESSAGES)):  # what was shown while it came in stays as it is
                await self._insist(lambda part=part: self._put(part, pieces[part]))  # type: ignore[misc]
            await self._insist(lambda: self._send_file(max(shown, 1), text))

    def _pieces(self, text: str, less: int = 0) -> list[str]:
        # Room for the mark of a repetition, wherever it turns out to be needed.
        return chunks(text, self._capabilities.longest - len(REPEATED) - 2 - less)

    async def _put(self, part: int, piece: str) -> None:
        """Make ``piece`` the text of a part: the message that it is, or a new one."""
        is_repeated = part in self._uncertain and not self._capabilities.idempotent
        text = f"{REPEATED}\n\n{piece}" if is_repeated else piece
        known = self._ids[part] if part < len(self._ids) else None
        if known:
            if self._shown.get(part) != text:
                await self._reply.edit(known, text)
        else:
            if known is None:
                await self._inbox.sending(self._number, part)
                self._ids.append("")
            try:
                message = await self._reply.send(text, key=f"{self._number}.{part}")
            except PlatformUnreachableError as error:
                if error.may_have_arrived:
                    self._uncertain.add(part)
                raise
            await self._inbox.sent(self._number, part, message)
            self._ids[part] = message
        self._shown[part] = text

    async def _send_file(self, part: int, text: str) -> None:
        if part < len(self._ids) and self._ids[part]:
            return
        if part >= len(self._ids):
            await self._inbox.sending(self._number, part)
            self._ids.append("")
        message = await self._reply.send_file(FILE_NAME, text.encode("utf-8", "replace"), key=f"{self._number}.{part}")
        await self._inbox.sent(self._number, part, message)
        self._ids[part] = message

    async def _insist(self, deed: Callable[[], Awaitable[Result]]) -> Result:
        return await insist(deed)


async def insist(deed: Callable[[], Awaitable[Result]], *, tries: int = _TRIES) -> Result:
    """Return what ``deed`` returns, and try again while the platform cannot be reached or asks to wait."""
    backoff = Backoff()
    for _ in range(tries - 1):
        try:
            return await deed()
        except PlatformUnreachableError as error:
            logger.info("trying again: %s", error)
            await asyncio.sleep(backoff.after(error))
    return await deed()

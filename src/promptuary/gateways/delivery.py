"""Sends an answer while it comes in, so that a kill at any moment neither loses nor repeats it.

A part is recorded before it is sent, and its id afterwards. After a restart, a part whose id is known is edited. One
that was being sent is looked up on the platform by its key; if that fails, it is sent again: with the same key while
the platform knows it, else marked as a possible repetition. The mark stays with the part, however often that happens.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from promptuary.base.errors import PlatformError, PlatformUnreachableError, RateLimitedError
from promptuary.base.text import visible
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.inbox_store import Received, SentPart
from promptuary.gateways.port import Backoff, Capabilities, ChatReply
from promptuary.gateways.texts.chunking import chunks
from promptuary.gateways.texts.markdown import with_tables_as_code

logger = logging.getLogger(__name__)

MAX_MESSAGES: Final = 5
"""An answer that needs more messages is sent as a file, after a message with its beginning."""
REPEATED: Final = "(You may have this already: I was interrupted while I sent it.)"
SUPERSEDED: Final = "(This was a part of an answer that I began before I was restarted. The answer is above.)"
IN_A_FILE: Final = "\n\n… (The whole answer is in the file below.)"
FILE_NAME: Final = "answer.md"
_FILE_PART: Final = MAX_MESSAGES
_TRIES: Final = 12
_TYPING_EVERY: Final = 4.0

Result = TypeVar("Result")


class Delivery:
    """One answer that is being sent to a chat. ``show`` is called repeatedly with the whole answer so far."""

    def __init__(self, inbox: AsyncInbox, reply: ChatReply, capabilities: Capabilities, received: Received) -> None:
        self._inbox, self._reply, self._capabilities = inbox, reply, capabilities
        self._number, self._question = received.number, received.message
        self._parts = dict(received.sent)
        self._uncertain = {part for part, one in self._parts.items() if not one.message}
        self._shown: dict[int, str] = {}
        self._next = 0.0
        self._not_before = 0.0
        self._next_typing = 0.0
        self._lock = asyncio.Lock()

    async def typing(self) -> None:
        """Show that an answer is being written; a failure is ignored."""
        if time.monotonic() >= self._next_typing:
            self._next_typing = time.monotonic() + _TYPING_EVERY
            try:
                await self._reply.typing()
            except PlatformError as error:
                logger.debug("typing could not be shown: %s", error)

    async def show(self, text: str) -> None:
        """Show the answer so far, unless that was done a moment ago; a failed attempt is repeated later."""
        if not text.strip() or time.monotonic() < self._next:
            return
        text = visible(text)[0]
        self._next = time.monotonic() + self._capabilities.edit_every
        begun = text[: self._capabilities.longest * (MAX_MESSAGES + 1)]  # only this much is shown before the end
        try:
            async with self._lock:
                for part, piece in enumerate(self._pieces(begun)[:MAX_MESSAGES]):
                    await self._put(part, piece)
        except RateLimitedError as error:
            self._next = self._not_before = time.monotonic() + error.seconds
        except PlatformError as error:
            logger.debug("a part of an answer could not be shown: %s", error)

    async def finish(self, text: str) -> None:
        """Send the whole answer, retrying as often as needed, and record that it was sent.

        Raises ``PlatformUnreachableError`` if the platform cannot be reached for long; the next start tries again.
        """
        text = visible(text)[0]  # an escape sequence of a program that a model repeats is no text for a chat
        await self._inbox.store_answer(self._number, text)
        async with self._lock:
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            await self._finish(text)
        await self._inbox.mark_answered(self._number)

    async def _finish(self, text: str) -> None:
        pieces = self._pieces(text)
        shown = [part for part in self._parts if part < MAX_MESSAGES]
        if len(pieces) <= MAX_MESSAGES:
            texts = dict(enumerate(pieces))
            texts |= {part: SUPERSEDED for part in shown if part >= len(pieces) and self._parts[part].message}
        else:
            # The messages that were shown while it came in stay, and are not sent again.
            texts = {0: self._pieces(text, less=len(IN_A_FILE))[0] + IN_A_FILE}
            texts |= {part: pieces[part] for part in shown if part}
        for part, piece in texts.items():
            await insist(lambda part=part, piece=piece: self._put(part, piece))  # type: ignore[misc]
        if len(pieces) > MAX_MESSAGES:
            await insist(lambda: self._put_file(text))

    def _pieces(self, text: str, less: int = 0) -> list[str]:
        # Leaves room for the mark of a repetition, which any piece may need.
        longest = self._capabilities.longest - len(REPEATED) - 2 - less
        return chunks(with_tables_as_code(text), longest, self._capabilities.size)

    async def _put(self, part: int, piece: str) -> None:
        """Make ``piece`` the text of a part: edit its message, or send a new one."""
        sent = await self._prepare(part)
        text = f"{REPEATED}\n\n{piece}" if sent.repeated else piece
        if sent.message:
            if self._shown.get(part) != text:
                await self._reply.edit(sent.message, text)
        else:
            may_be_older = part in self._uncertain and self._capabilities.key_seconds > 0
            message = await self._send_part(part, lambda key: self._reply.send(text, key=key))
            if may_be_older:  # the platform may know the message by its key, with its earlier text
                await self._reply.edit(message, text)
        self._shown[part] = text

    async def _put_file(self, text: str) -> None:
        sent = await self._prepare(_FILE_PART)
        if not sent.message:
            data, said = text.encode("utf-8", "replace"), REPEATED if sent.repeated else ""
            await self._send_part(_FILE_PART, lambda key: self._reply.send_file(FILE_NAME, data, text=said, key=key))

    async def _prepare(self, part: int) -> SentPart:
        """Return the record of a part that is about to be sent or edited; changes to it are stored first."""
        sent = self._parts.get(part)
        if sent is None:
            await self._inbox.mark_sending(self._number, part)
            sent = SentPart(since=datetime.now(UTC).isoformat())
        elif not sent.message and part in self._uncertain:
            found = await self._find(part)
            if found:
                await self._inbox.mark_sent(self._number, part, found)
                sent = replace(sent, message=found)
            elif not sent.repeated and not knows_key(self._capabilities, sent, datetime.now(UTC)):
                await self._inbox.mark_sending(self._number, part, again=True)
                sent = replace(sent, repeated=True)
        self._parts[part] = sent
        return sent

    async def _find(self, part: int) -> str:
        try:
            return await self._reply.find(self._key(part), after=self._question)
        except PlatformUnreachableError:
            raise
        except PlatformError as error:
            logger.info("a message that may have been sent could not be looked for: %s", error)
            return ""

    async def _send_part(self, part: int, send: Callable[[str], Awaitable[str]]) -> str:
        """Send a part, record its id, and return it."""
        try:
            message = await send(self._key(part))
        except PlatformUnreachableError as error:
            if error.may_have_arrived:
                self._uncertain.add(part)
            raise
        await self._inbox.mark_sent(self._number, part, message)
        self._parts[part] = replace(self._parts[part], message=message)
        self._uncertain.discard(part)
        return message

    def _key(self, part: int) -> str:
        return f"{self._number}.{part}"


def knows_key(capabilities: Capabilities, sent: SentPart, now: datetime) -> bool:
    """Return whether the platform still knows the key of a part, so that it does not arrive twice."""
    try:
        age = (now - datetime.fromisoformat(sent.since)).total_seconds()
    except (TypeError, ValueError):  # written by a version that did not record the time
        return False
    return 0 <= age < capabilities.key_seconds


async def insist(deed: Callable[[], Awaitable[Result]], *, tries: int = _TRIES) -> Result:
    """Return the result of ``deed``; retry while the platform cannot be reached or asks to wait."""
    backoff = Backoff()
    for _ in range(tries - 1):
        try:
            return await deed()
        except PlatformUnreachableError as error:
            logger.info("trying again: %s", error)
            await asyncio.sleep(backoff.after(error))
    return await deed()

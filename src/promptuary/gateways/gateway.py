"""One gateway: takes messages from a platform, answers each chat in order, and loses no message in a restart.

Every message is stored before it is acknowledged to the platform. Each chat has its own queue: none waits for the slow
model of another.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import PlatformError, PlatformUnreachableError, PromptuaryError
from promptuary.config.gateways import NamedGateway
from promptuary.gateways.answering import AnsweredChat, answer
from promptuary.gateways.delivery import Delivery, insist
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.inbox_store import Received
from promptuary.gateways.people import HOUR, MINUTE, RateLimit, RecentMessages, find_principal
from promptuary.gateways.port import Backoff, Inbound, Platform
from promptuary.gateways.texts.wording import FAILED, unanswered
from promptuary.gateways.workspaces import OpenWorkspaces

logger = logging.getLogger(__name__)

_MAX_WAITING: Final = 20
_DAYS_KEPT: Final = 30
_RETRY_SECONDS: Final = 30.0
_MAX_TEXT: Final = 100_000
_MAX_STRANGERS: Final = 10
"""How many strangers are told their id in a minute: platforms limit what a bot sends, and answers come first."""

UNKNOWN: Final = "I do not know you. The operator of this bot can allow your id: {user}"
TOO_MANY: Final = "That is too many messages at once; please wait {seconds:.0f} seconds."
TOO_LONG: Final = "That message is too long. Send it as a document."
EDITED_LATE: Final = "You edited that message after I began to answer it; send it again to get another answer."


class _Queue(Struct):
    """The waiting messages of one conversation, and the task that answers them."""

    waiting: deque[int] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None


class Gateway:
    """A gateway on ``platform``. ``on_state`` is called with sentences for the operator."""

    def __init__(
        self,
        config: NamedGateway,
        platform: Platform,
        inbox: AsyncInbox,
        workspaces: OpenWorkspaces,
        *,
        on_state: Callable[[str], None] = lambda _: None,
        slow_seconds: float = 20.0,
    ) -> None:
        self.config, self._platform, self._inbox, self._workspaces = config, platform, inbox, workspaces
        self._on_state, self._slow_seconds = on_state, slow_seconds
        pace = config.edit_every or platform.capabilities.edit_every
        self._capabilities = replace(platform.capabilities, edit_every=pace)
        self._accepting = asyncio.Lock()
        self._queues: dict[str, _Queue] = {}
        self._rate = RateLimit(config.rate, time.monotonic)
        self._told_unknown = RecentMessages(HOUR, time.monotonic, a_minute=_MAX_STRANGERS)
        self._told_lately = RecentMessages(MINUTE, time.monotonic)
        self._sentences: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Answer the messages that an earlier process left, and then new ones, until cancelled."""
        before = datetime.now(UTC) - timedelta(days=_DAYS_KEPT)
        await self._inbox.prune(before.isoformat(timespec="seconds"))
        left = await self._inbox.list_unanswered(self.config.name)
        if left:
            self._on_state(f"{len(left)} message{'s' * (len(left) != 1)} from before to be answered now")
        for one in left:
            self._enqueue(Inbound.of(one.body).place, one.number)
        backoff = Backoff()
        try:
            while True:
                try:
                    last = await self._inbox.last_messages(self.config.name)
                    return await self._platform.run(self.accept, last, self._on_state)
                except PlatformError:
                    raise
                except PromptuaryError:  # such as a full disk; it was reported, and the platform keeps the message
                    await asyncio.sleep(backoff.next())
        finally:
            await self._stop()

    async def accept(self, message: Inbound) -> None:
        """Take a message; when this returns, it is stored, or it is one that gets no answer."""
        async with self._accepting:  # client libraries call this concurrently; messages are stored in their order
            try:
                await self._accept(message)
            except PromptuaryError as error:
                self._on_state(f"a message could not be stored: {error}")
                raise

    async def _accept(self, message: Inbound) -> None:
        if not message.addressed:
            return
        if not self.config.allows(message.chat, message.user):
            # Somebody who got no answer yesterday does not get this sentence at every start.
            if not message.missed and self._told_unknown.may_say(message.user):
                self._say(message, UNKNOWN.format(user=message.user), tries=1)
            return
        if message.edited:
            if await self._inbox.edit(self.config.name, message.chat, message.message, message.body()) == "late":
                self._say_once(message, "edited", EDITED_LATE)
            return
        if len(message.text) > _MAX_TEXT:
            self._say_once(message, "long", TOO_LONG)
            return
        number = await self._inbox.receive(self.config.name, message.chat, message.message, message.body())
        if number is None:
            logger.info("a message was delivered again, and is not answered again")
            return
        queue = self._queues.get(message.place)
        seconds = self._rate.wait(message.user)
        if not seconds and queue is not None and len(queue.waiting) >= _MAX_WAITING:
            seconds = 10.0
        if seconds:
            await self._inbox.mark_answered(number)
            self._say_once(message, "wait", TOO_MANY.format(seconds=seconds))
            return
        self._enqueue(message.place, number)

    async def idle(self) -> None:
        """Wait until nothing is left to be answered."""
        while tasks := [queue.worker for queue in self._queues.values() if queue.worker] + [*self._sentences]:
            await asyncio.wait(tasks)

    def _enqueue(self, place: str, number: int) -> None:
        queue = self._queues.setdefault(place, _Queue())
        queue.waiting.append(number)
        if queue.worker is None:
            queue.worker = asyncio.create_task(self._work(place, queue))

    async def _work(self, place: str, queue: _Queue) -> None:
        """Answer the messages of one conversation in order, until no more wait."""
        try:
            while queue.waiting:
                if await self._try_to_answer(queue.waiting[0]):
                    queue.waiting.popleft()
                else:
                    await asyncio.sleep(_RETRY_SECONDS)
        finally:
            queue.worker = None
            if self._queues.get(place) is queue:
                del self._queues[place]

    async def _try_to_answer(self, number: int) -> bool:
        """Answer one message; return False if the platform cannot be reached, so that the caller retries."""
        received = await self._inbox.begin(number)
        if received is None:
            return True
        message = Inbound.of(received.body)
        reply = self._platform.reply(message.chat, message.thread)
        delivery = Delivery(self._inbox, reply, self._capabilities, received)
        try:
            text = received.answer if received.answer is not None else await self._answer(received, message, delivery)
            await delivery.finish(text)
        except PlatformUnreachableError as error:
            self._on_state(f"an answer could not be sent yet: {error}")
            return False
        except PlatformError as error:
            # The bot was removed from the chat, or the message was deleted.
            self._on_state(f"an answer could not be sent: {error}")
            await self._inbox.mark_answered(number)
        return True

    async def _answer(self, received: Received, message: Inbound, delivery: Delivery) -> str:
        rules = self.config.rules_of(message.chat)
        try:
            async with self._workspaces.of(find_principal(self.config, message), rules) as promptuary:
                chat = AnsweredChat(self.config, self._platform, self._inbox, promptuary, message, self._slow_seconds)
                return await answer(chat, received, delivery)
        except PlatformError:
            raise
        except PromptuaryError as error:
            self._on_state(f"a message could not be answered: {error}")
            return unanswered(error)
        except Exception:  # a bug must not block the other messages of the chat
            logger.exception("a message could not be answered")
            return FAILED

    def _say_once(self, message: Inbound, about: str, text: str) -> None:
        """Send a sentence to a person, unless it was sent a moment ago: platforms limit how much a bot may send."""
        if self._told_lately.may_say(f"{about} {message.user}"):
            self._say(message, text)

    def _say(self, message: Inbound, text: str, *, tries: int = 3) -> None:
        """Send a sentence that is not an answer: it may get lost, and nothing waits for it."""
        task = asyncio.create_task(self._send(message, text, tries))
        self._sentences.add(task)
        task.add_done_callback(self._sentences.discard)

    async def _send(self, message: Inbound, text: str, tries: int) -> None:
        reply = self._platform.reply(message.chat, message.thread)
        try:
            await insist(lambda: reply.send(text, key=f"{message.message}.said"), tries=tries)
        except PlatformError as error:
            logger.info("a sentence could not be sent: %s", error)

    async def _stop(self) -> None:
        tasks = [queue.worker for queue in self._queues.values() if queue.worker] + [*self._sentences]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

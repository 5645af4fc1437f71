"""Telegram, with python-telegram-bot: long polling, so that the bot needs no public address.

Telegram counts updates as received when the next ones are requested, which happens only when all of them are stored.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from promptuary.base.errors import (
    BadTokenError,
    ConfigError,
    PlatformError,
    PlatformUnreachableError,
    RateLimitedError,
    how_to_install,
)
from promptuary.base.text import one_line
from promptuary.gateways.port import Accept, Backoff, Capabilities, ChatFile, ChatReply, Inbound, kind_of_mime
from promptuary.gateways.texts.entities import units, with_entities

if TYPE_CHECKING:
    from collections.abc import Iterator

    import telegram

_POLL_SECONDS: Final = 25
_UPDATES: Final = ["message", "edited_message"]
_CAPABILITIES: Final = Capabilities(longest=4096, edit_every=1.5, size=lambda text: units(with_entities(text)[0]))
_COMMAND: Final = re.compile(r"/\w+(@\w+)?")
_TOKEN: Final = re.compile(r"\d+:[\w-]{10,}")
_CONNECTIONS: Final = 16
"""For sending: Telegram accepts some 30 messages a second, and the client examines all connections for each."""
_SERVER: Final = "https://api.telegram.org"


class Telegram:
    """A Telegram bot. ``base_url`` is the URL of a self-hosted Bot API server."""

    def __init__(self, token: str, base_url: str = "") -> None:
        # The library's switch for the times of its next version; without it, it warns about every time.
        os.environ.setdefault("PTB_TIMEDELTA", "1")
        try:
            import markdown_it  # noqa: F401, PLC0415  (of the same extra)
            import telegram  # noqa: PLC0415  (an extra, and slow)
            from telegram.request import HTTPXRequest  # noqa: PLC0415
        except ImportError:
            raise ConfigError(f"Telegram needs the extra telegram: {how_to_install('telegram')}") from None
        server = (base_url or _SERVER).rstrip("/")
        self._files = f"{server}/file/bot{token}/"
        self._bot = telegram.Bot(
            token,
            base_url=f"{server}/bot",
            base_file_url=f"{server}/file/bot",
            request=HTTPXRequest(
                connection_pool_size=_CONNECTIONS, pool_timeout=30.0, read_timeout=20.0, write_timeout=20.0
            ),
            get_updates_request=HTTPXRequest(read_timeout=_POLL_SECONDS + 10.0),
        )

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    async def run(self, accept: Accept, last: Mapping[str, str], on_state: Callable[[str], None]) -> None:  # noqa: ARG002  (Telegram keeps what was missed)
        """Pass every message to ``accept`` until it is cancelled."""
        offset, backoff, is_connected = 0, Backoff(), False
        while True:
            try:
                if not is_connected:
                    with _translate_errors():
                        await self._bot.initialize()
                        await self._bot.delete_webhook()
                    is_connected = True
                    on_state(f"connected to Telegram as @{self._bot.username}")
                with _translate_errors():
                    updates = await self._bot.get_updates(
                        offset=offset, timeout=_POLL_SECONDS, allowed_updates=_UPDATES
                    )
                backoff.reset()
            except PlatformUnreachableError as error:
                on_state(f"Telegram cannot be reached; trying again: {error}")
                await asyncio.sleep(backoff.after(error))
                continue
            for update in updates:
                if (found := self._inbound(update)) is not None:
                    await accept(found)
                offset = update.update_id + 1

    def reply(self, chat: str, thread: str) -> ChatReply:
        return _TelegramReply(self._bot, int(chat), int(thread) if thread else None)

    async def download(self, file: ChatFile) -> bytes:
        """Return the content of a file. With a path from the server, the library would read a file of this machine."""
        with _translate_errors():
            path = ((await self._bot.get_file(file.handle)).file_path or "").removeprefix(self._files)
        if path.startswith("/"):
            raise PlatformError("the Bot API server runs in local mode; start it without --local")
        try:
            with _translate_errors():
                return await self._bot.request.retrieve(self._files + quote(path))
        except BadTokenError as error:  # the library's error for a missing address
            raise PlatformError("Telegram no longer has the file") from error

    async def check(self) -> Sequence[str]:
        """Try the token, and describe the bot."""
        with _translate_errors():
            me = await self._bot.get_me()
        groups = "may be added to groups" if me.can_join_groups else "cannot be added to groups"
        reads = "reads every message there" if me.can_read_all_group_messages else "reads there what is addressed to it"
        return [f"Telegram: @{me.username} ({me.id})", f"it {groups}, and {reads}"]

    async def close(self) -> None:
        await self._bot.shutdown()
        await self._bot.request.shutdown()  # the call above skips a bot that was only checked

    def _inbound(self, update: "telegram.Update") -> Inbound | None:
        message = update.effective_message
        if message is None or message.from_user is None or message.from_user.is_bot:
            return None
        text, is_direct = message.text or message.caption or "", message.chat.type == "private"
        name = f"@{self._bot.username}"
        replied = message.reply_to_message.from_user if message.reply_to_message else None
        mentioned = _name_pattern(name).search(text) is not None
        command = _COMMAND.match(text)
        is_ours = command is not None and (command[1] or name).lower() == name.lower()
        to_us = (replied is not None and replied.id == self._bot.id) or mentioned or is_ours
        return Inbound(
            chat=str(message.chat.id),
            message=str(message.message_id),
            user=str(message.from_user.id),
            user_name=message.from_user.full_name,
            text=_without_name(text, name),
            thread=str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else "",
            direct=is_direct,
            addressed=is_direct or to_us,
            edited=update.edited_message is not None,
            files=tuple(_files(message)),
        )


class _TelegramReply:
    """Answers in one chat."""

    def __init__(self, bot: "telegram.Bot", chat: int, thread: int | None) -> None:
        self._bot, self._chat, self._thread = bot, chat, thread

    async def typing(self) -> None:
        with _translate_errors():
            await self._bot.send_chat_action(self._chat, "typing", message_thread_id=self._thread)

    async def send(self, text: str, *, key: str) -> str:
        del key  # Telegram has no such keys
        sent = await _show(
            text,
            lambda shown, about: self._bot.send_message(self._chat, shown, message_thread_id=self._thread, **about),
        )
        return str(sent.message_id)

    async def edit(self, message: str, text: str) -> None:
        await _show(
            text,
            lambda shown, about: self._bot.edit_message_text(
                shown, chat_id=self._chat, message_id=int(message), **about
            ),
        )

    async def send_file(self, name: str, data: bytes, *, text: str, key: str) -> str:
        del key
        where = self._thread
        with _translate_errors():
            sent = await self._bot.send_document(
                self._chat, data, filename=name, caption=text or None, message_thread_id=where
            )
        return str(sent.message_id)

    async def find(self, key: str, *, after: str) -> str:
        """Return nothing: a Telegram bot cannot read what it has sent."""
        del key, after
        return ""


async def _show(text: str, put: "Callable[[str, dict[str, Any]], Awaitable[Any]]") -> Any:
    """Show a Markdown text with ``put``; without entities if Telegram refuses them."""
    import telegram  # noqa: PLC0415  (loaded already)

    shown, found = with_entities(text)
    entities = [
        telegram.MessageEntity(one.kind, one.offset, one.length, language=one.language or None, url=one.url or None)
        for one in found
    ]
    # Without previews: Telegram fetches the linked page, so a URL in an answer could leak text elsewhere.
    about = {"link_preview_options": telegram.LinkPreviewOptions(is_disabled=True)}
    try:
        with _translate_errors():
            return await put(shown, {**about, "entities": entities})
    except (PlatformUnreachableError, BadTokenError):
        raise
    except PlatformError:
        if not entities:
            raise
        with _translate_errors():
            return await put(shown.replace("@", "@\u200b")[: _CAPABILITIES.longest], about)


def _without_name(text: str, name: str) -> str:
    """Return a message without the name of the bot it is addressed to; a command may keep it."""
    if text.startswith("/"):
        return text
    return _name_pattern(name).sub("", text, count=1).strip() if _name_pattern(name).search(text) else text


def _name_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the name of a bot, and no longer name that begins with it."""
    return re.compile(rf"{re.escape(name)}(?!\w)", re.IGNORECASE)


def _files(message: "telegram.Message") -> "Iterator[ChatFile]":
    if message.photo:
        yield ChatFile("picture", "picture")
    if message.voice or message.audio or message.video or message.video_note:
        yield ChatFile("sound", "sound")
    if message.sticker or message.animation:
        yield ChatFile("sticker", "other")
    elif (document := message.document) is not None:
        kind = kind_of_mime(document.mime_type)
        yield ChatFile(document.file_name or "document", kind, document.file_size or 0, document.file_id)


def _reason(error: Exception) -> str:
    return _TOKEN.sub("…", one_line(str(error)))[:200] or type(error).__name__


def _may_have_arrived(error: Exception) -> bool:
    """Return whether Telegram may have carried out a request, although no answer came."""
    import httpx  # noqa: PLC0415  (loaded with the bot)

    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return not isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return "Bad Gateway" in str(error) or "Gateway Time" in str(error)


@contextlib.contextmanager
def _translate_errors() -> "Iterator[None]":
    from telegram import error as errors  # noqa: PLC0415  (loaded with the bot)

    try:
        yield
    except errors.RetryAfter as error:
        seconds = error.retry_after
        raise RateLimitedError(seconds if isinstance(seconds, int | float) else seconds.total_seconds()) from error
    except (errors.InvalidToken, errors.Conflict) as error:
        if isinstance(error, errors.Conflict):
            raise PlatformUnreachableError("another program polls this bot, or it has a webhook") from error
        raise BadTokenError("Telegram does not accept the token; ask @BotFather for it again") from error
    except errors.BadRequest as error:
        if "not modified" not in str(error).lower():
            raise PlatformError(f"Telegram refused it: {error}") from error
    except errors.Forbidden as error:
        raise PlatformError(f"Telegram refused it: {error}") from error
    except errors.NetworkError as error:
        raise PlatformUnreachableError(_reason(error), may_have_arrived=_may_have_arrived(error)) from error
    except errors.TelegramError as error:  # such as an answer of a proxy that is not JSON
        raise PlatformUnreachableError(_reason(error)) from error

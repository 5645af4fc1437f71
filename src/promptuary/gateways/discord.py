"""Discord, with discord.py: a websocket for incoming messages, HTTP for outgoing ones.

Discord keeps the history of a channel, so messages that were missed while the bot was not connected are read from it:
in known channels, and in the channels of the servers that the bot is on. A bot cannot find a direct channel that it
does not know. Messages carry a nonce, by which Discord recognizes one that is sent again.
"""

import asyncio
import contextlib
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

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
from promptuary.gateways.texts.discord_markdown import discord_markdown
from promptuary.gateways.texts.entities import units

if TYPE_CHECKING:
    import discord

logger = logging.getLogger(__name__)

_CAPABILITIES: Final = Capabilities(
    longest=2000, edit_every=1.5, key_seconds=60.0, size=lambda text: units(discord_markdown(text))
)
"""Discord documents that it knows a nonce for "a few minutes"."""
_BARE_LINK: Final = re.compile(r"<(https?://[^\s<>]+)>", re.IGNORECASE)
"""A link without a preview: people write @url:<https://…>, too."""
_MAX_MISSED: Final = 100
_MAX_CHANNELS: Final = 200
"""How many server channels with new messages are read for missed ones."""


class Discord:
    """A Discord bot. ``base_url`` is the URL of another server with the same API."""

    def __init__(self, token: str, base_url: str = "") -> None:
        try:
            with warnings.catch_warnings():
                # Its voice support, which is not used here, imports a module that Python will remove.
                warnings.simplefilter("ignore", DeprecationWarning)
                import discord  # noqa: F401, PLC0415  (an extra, and slow)
                import markdown_it  # noqa: F401, PLC0415  (of the same extra)
        except ImportError:
            raise ConfigError(f"Discord needs the extra discord: {how_to_install('discord')}") from None
        self._token = token
        if base_url:
            import yarl  # noqa: PLC0415  (comes with discord.py)
            from discord.gateway import DiscordWebSocket  # noqa: PLC0415
            from discord.http import Route  # noqa: PLC0415

            # The library has no other place to set it.
            Route.BASE = base_url.rstrip("/")
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(base_url.replace("http", "ws", 1).rstrip("/") + "/gateway")
        self._client = self._make_client()
        self._logged_in = asyncio.Event()
        self._accept: Accept | None = None
        self._last: dict[str, str] = {}
        self._on_state: Callable[[str], None] = lambda _: None

    def _make_client(self) -> "discord.Client":
        import discord  # noqa: PLC0415  (loaded already)

        class Client(discord.Client):
            """A client that dispatches no events while it is being closed: nothing would run the handlers."""

            def dispatch(self, event: str, /, *args: Any, **about: Any) -> None:
                if not self.is_closed():
                    super().dispatch(event, *args, **about)

        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        none = discord.AllowedMentions.none()  # whatever a model writes, it notifies nobody
        # Waits half a second for one more guild before it reports that it is ready.
        client = Client(intents=intents, allowed_mentions=none, max_messages=1000, guild_ready_timeout=0.5)
        client.event(self.on_message)
        client.event(self.on_raw_message_edit)
        client.event(self.on_ready)
        client.event(self.on_disconnect)
        client.event(self.on_resumed)
        return client

    async def client(self) -> "discord.Client":
        """Return the client once it is logged in: it can send nothing before that."""
        await self._logged_in.wait()
        return self._client

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    async def run(self, accept: Accept, last: Mapping[str, str], on_state: Callable[[str], None]) -> None:
        """Pass every message to ``accept`` until it is cancelled."""
        self._accept, self._last, self._on_state = accept, dict(last), on_state
        backoff = Backoff()
        while True:
            try:
                with _translate_errors():
                    await self._client.login(self._token)
                    self._logged_in.set()
                    backoff.reset()
                    await self._client.connect(reconnect=True)
            except PlatformUnreachableError as error:
                on_state(f"Discord cannot be reached; trying again: {error}")
                self._logged_in.clear()
                await self._client.close()
                self._client = self._make_client()  # a closed client cannot connect again
                await asyncio.sleep(backoff.after(error))
            else:
                return

    async def on_ready(self) -> None:
        """Read the messages that were sent while the bot was not connected."""
        self._on_state(f"connected to Discord as {self._client.user}")
        known = dict(self._last)
        for chat, message in known.items():
            try:
                with _translate_errors():
                    await self._get_missed(int(chat), int(message))
            except PlatformError as error:
                self._on_state(f"missed messages of a chat could not be read: {error}")
        newest = max(map(int, known.values()), default=0)
        for channel in self._channels_with_news(known, newest):
            try:
                with _translate_errors():
                    await self._get_missed(channel, newest, known=False)
            except PlatformError as error:  # most of them are not for the bot
                logger.info("the messages of a channel could not be read: %s", error)

    async def on_disconnect(self) -> None:
        """Report that the connection was lost, or could not be made; the client reconnects by itself."""
        self._on_state("the connection to Discord is lost; trying again")

    async def on_resumed(self) -> None:
        """Report that the connection is restored."""
        self._on_state(f"connected to Discord as {self._client.user}")

    def _channels_with_news(self, known: Mapping[str, str], newest: int) -> list[int]:
        """Return the server channels with a message after the last one that was received anywhere."""
        if not newest:  # nothing was ever received, so nothing was missed
            return []
        every: list[Any] = [one for guild in self._client.guilds for one in (*guild.text_channels, *guild.threads)]
        with_news = [one for one in every if (one.last_message_id or 0) > newest and str(one.id) not in known]
        with_news.sort(key=lambda one: -(one.last_message_id or 0))
        return [one.id for one in with_news[:_MAX_CHANNELS]]

    async def _get_missed(self, chat: int, message: int, *, known: bool = True) -> None:
        import discord  # noqa: PLC0415  (loaded with the client)

        channel: Any = self._client.get_channel(chat) or await self._client.fetch_channel(chat)
        after = discord.Object(id=message)
        async for one in channel.history(after=after, limit=_MAX_MISSED, oldest_first=True):
            await self._take(one, missed=not known)

    async def on_message(self, message: "discord.Message") -> None:
        await self._take(message)

    async def _take(self, message: "discord.Message", *, missed: bool = False) -> None:
        if message.author.bot or self._accept is None or self._client.user is None:
            return
        replied = message.reference.resolved if message.reference else None
        author = getattr(replied, "author", None)
        found = self._inbound(
            str(message.channel.id),
            str(message.id),
            message.author.id,
            message.content,
            direct=message.guild is None,
            replied=author is not None and author.id == self._client.user.id,
            name=message.author.display_name,
            files=tuple(_file(attachment) for attachment in message.attachments),
        )
        await self._accept(replace(found, missed=missed))
        if int(self._last.get(found.chat, "0")) < message.id:
            self._last[found.chat] = str(message.id)

    async def on_raw_message_edit(self, payload: "discord.RawMessageUpdateEvent") -> None:
        """Handle a message that its sender edited; Discord also reports messages to which it added a preview."""
        data: Mapping[str, Any] = payload.data
        author = data.get("author") or {}
        if self._accept is None or author.get("bot") or not author.get("id") or not data.get("edited_timestamp"):
            return
        if payload.cached_message is not None and payload.cached_message.content == data.get("content"):
            return
        found = self._inbound(
            str(payload.channel_id),
            str(payload.message_id),
            int(author["id"]),
            str(data.get("content") or ""),
            direct=payload.guild_id is None,
            name=str(author.get("username") or ""),
            edited=True,
            files=tuple(_file_of(one) for one in data.get("attachments") or ()),
        )
        await self._accept(found)

    def _inbound(
        self,
        chat: str,
        message: str,
        user: int,
        content: str,
        *,
        direct: bool,
        name: str,
        replied: bool = False,
        edited: bool = False,
        files: tuple[ChatFile, ...] = (),
    ) -> Inbound:
        own = self._client.user.id if self._client.user else 0
        text = content
        for mention in (f"<@{own}>", f"<@!{own}>"):
            text = text.replace(mention, "")
        is_addressed = direct or replied or text != content or content.startswith("/")
        return Inbound(
            chat,
            message,
            str(user),
            _BARE_LINK.sub(r"\1", text).strip(),
            user_name=name,
            direct=direct,
            addressed=is_addressed,
            edited=edited,
            files=files,
        )

    def reply(self, chat: str, thread: str) -> ChatReply:
        """Return a reply object for a channel; a Discord thread is a channel."""
        del thread
        return _DiscordReply(self, int(chat))

    async def download(self, file: ChatFile) -> bytes:
        with _translate_errors():
            return await (await self.client()).http.get_from_cdn(file.handle)

    async def check(self) -> Sequence[str]:
        """Try the token, and describe the bot."""
        with _translate_errors():
            await self._client.login(self._token)
            info = await self._client.application_info()
        flags = info.flags
        reads = flags.gateway_message_content or flags.gateway_message_content_limited
        lines = [f"Discord: {self._client.user} ({info.id})"]
        return [*lines, "it may read messages" if reads else "turn on MESSAGE CONTENT INTENT in the developer portal"]

    async def close(self) -> None:
        """Close every connection; messages that arrive meanwhile are read from the channel at the next start."""
        await self._client.close()


class _DiscordReply:
    """Answers in one channel."""

    def __init__(self, bot: Discord, chat: int) -> None:
        self._bot, self._chat = bot, chat

    async def _channel(self) -> "discord.PartialMessageable":
        return (await self._bot.client()).get_partial_messageable(self._chat)

    async def typing(self) -> None:
        channel = await self._channel()
        with _translate_errors():
            await channel.typing()

    async def send(self, text: str, *, key: str) -> str:
        channel = await self._channel()
        with _translate_errors():
            # Without previews: Discord fetches the linked page, so a URL in an answer could leak text elsewhere.
            sent = await channel.send(discord_markdown(text), nonce=_nonce(key), suppress_embeds=True)
        return str(sent.id)

    async def edit(self, message: str, text: str) -> None:
        channel = await self._channel()
        with _translate_errors():
            await channel.get_partial_message(int(message)).edit(content=discord_markdown(text))

    async def send_file(self, name: str, data: bytes, *, text: str, key: str) -> str:
        import discord  # noqa: PLC0415  (loaded with the client)

        channel, file = await self._channel(), discord.File(BytesIO(data), name)
        with _translate_errors():
            sent = await channel.send(text or None, file=file, nonce=_nonce(key))
        return str(sent.id)

    async def find(self, key: str, *, after: str) -> str:
        """Return nothing: Discord returns the nonce of a message only to its sender, when it is sent."""
        del key, after
        return ""


def _nonce(key: str) -> str:
    return f"promptuary-{key}"[:25]


def _file(one: "discord.Attachment") -> ChatFile:
    kind = kind_of_mime(one.content_type)
    return ChatFile(one.filename, kind, one.size, one.url)


def _file_of(one: Mapping[str, Any]) -> ChatFile:
    """Return a file from the payload of an edited message."""
    kind = kind_of_mime(one.get("content_type"))
    return ChatFile(str(one["filename"]), kind, int(one.get("size") or 0), str(one["url"]))


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    import aiohttp  # noqa: PLC0415  (loaded with the client)
    import discord  # noqa: PLC0415

    try:
        yield
    except (discord.LoginFailure, discord.PrivilegedIntentsRequired) as error:
        if isinstance(error, discord.PrivilegedIntentsRequired):
            raise BadTokenError("turn on MESSAGE CONTENT INTENT of the bot in Discord's developer portal") from error
        raise BadTokenError("Discord does not accept the token; reset it in Discord's developer portal") from error
    except discord.RateLimited as error:
        raise RateLimitedError(error.retry_after) from error
    except discord.HTTPException as error:
        if error.status == 429 or error.status >= 500:
            silent = error.status in {502, 504}
            raise PlatformUnreachableError(f"Discord answered {error.status}", may_have_arrived=silent) from error
        raise PlatformError(f"Discord refused it ({error.status})") from error
    except discord.ConnectionClosed as error:
        raise PlatformUnreachableError(f"the connection was closed ({error.code})") from error
    except (aiohttp.ClientError, discord.GatewayNotFound, OSError, TimeoutError) as error:
        arrived = not isinstance(error, aiohttp.ClientConnectorError)
        reason = one_line(str(error))[:200] or type(error).__name__
        raise PlatformUnreachableError(reason, may_have_arrived=arrived) from error

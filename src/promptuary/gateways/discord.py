"""Discord, by discord.py: a websocket for what comes in, HTTP for what goes out.

Discord forgets nothing that was said in a channel, so what was missed while nobody was connected is read from there.
Messages carry a nonce, by which Discord knows one that is sent again.
"""

import asyncio
import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from promptuary.core.errors import (
    BadTokenError,
    ConfigError,
    PlatformError,
    PlatformUnreachableError,
    RateLimitedError,
    how_to_install,
)
from promptuary.gateways.port import Accept, Backoff, Capabilities, ChatFile, ChatReply, Inbound, kind_of_mime

if TYPE_CHECKING:
    import discord

_CAPABILITIES: Final = Capabilities(longest=2000, edit_every=1.5, idempotent=True)
_MOST_MISSED: Final = 100


class Discord:
    """A bot of Discord. ``base_url`` is that of another server which speaks its API."""

    def __init__(self, token: str, base_url: str = "") -> None:
        try:
            with warnings.catch_warnings():
                # Its part for voice, which is not used here, imports a module that Python will drop.
                warnings.simplefilter("ignore", DeprecationWarning)
                import discord  # noqa: PLC0415  (an extra, and slow)
        except ImportError:
            raise ConfigError(f"Discord needs the extra discord: {how_to_install('discord')}") from None
        self._token = token
        if base_url:
            import yarl  # noqa: PLC0415  (comes with discord.py)
            from discord.gateway import DiscordWebSocket  # noqa: PLC0415
            from discord.http import Route  # noqa: PLC0415

            # The library has no other place for it.
            Route.BASE = base_url.rstrip("/")
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(base_url.replace("http", "ws", 1).rstrip("/") + "/gateway")
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        none = discord.AllowedMentions.none()  # whatever a model writes, nobody is called by it
        self._client = discord.Client(intents=intents, allowed_mentions=none, max_messages=1000)
        self._client.event(self.on_message)
        self._client.event(self.on_raw_message_edit)
        self._client.event(self.on_ready)
        self._accept: Accept | None = None
        self._last: Mapping[str, str] = {}
        self._on_state: Callable[[str], None] = lambda _: None

    @property
    def capabilities(self) -> Capabilities:
        """What Discord can do."""
        return _CAPABILITIES

    async def run(self, accept: Accept, last: Mapping[str, str], on_state: Callable[[str], None]) -> None:
        """Pass every message to ``accept`` until it is cancelled."""
        self._accept, self._last, self._on_state = accept, dict(last), on_state
        backoff = Backoff()
        while True:
            try:
                with _translated():
                    await self._client.login(self._token)
                    await self._client.connect(reconnect=True)
            except PlatformUnreachableError as error:
                on_state(f"Discord cannot be reached; trying again: {error}")
                await self._client.close()
                await asyncio.sleep(backoff.after(error))
                self._client.clear()
            else:
                return

    async def on_ready(self) -> None:
        """Read what was said while nobody was connected, in the chats that are known."""
        self._on_state(f"connected to Discord as {self._client.user}")
        for chat, message in list(self._last.items()):
            try:
                with _translated():
                    await self._missed(int(chat), int(message))
            except PlatformError as error:
                self._on_state(f"what was missed in a chat could not be read: {error}")

    async def _missed(self, chat: int, message: int) -> None:
        import discord  # noqa: PLC0415  (loaded with the client)

        channel: Any = self._client.get_channel(chat) or await self._client.fetch_channel(chat)
        after = discord.Object(id=message)
        async for one in channel.history(after=after, limit=_MOST_MISSED, oldest_first=True):
            await self.on_message(one)

    async def on_message(self, message: "discord.Message") -> None:
        """Take a message."""
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
            files=tuple(_file(one) for one in message.attachments),
        )
        await self._accept(found)
        if self._last.get(found.chat, "0").isdigit() and int(self._last.get(found.chat, "0")) < message.id:
            self._last = {**self._last, found.chat: str(message.id)}

    async def on_raw_message_edit(self, payload: "discord.RawMessageUpdateEvent") -> None:
        """Take a message that its sender edited; Discord also tells of those to which it added a preview."""
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
            text.strip(),
            user_name=name,
            direct=direct,
            addressed=is_addressed,
            edited=edited,
            files=files,
        )

    def reply(self, chat: str, thread: str) -> ChatReply:
        """Return what answers in a channel; a thread of Discord is a channel."""
        del thread
        return _DiscordReply(self._client, int(chat))

    async def download(self, file: ChatFile) -> bytes:
        """Return what is in a file."""
        with _translated():
            return await self._client.http.get_from_cdn(file.handle)

    async def check(self) -> Sequence[str]:
        """Try the token, and return what the bot is."""
        with _translated():
            await self._client.login(self._token)
            info = await self._client.application_info()
        flags = info.flags
        reads = flags.gateway_message_content or flags.gateway_message_content_limited
        lines = [f"Discord: {self._client.user} ({info.id})"]
        return [*lines, "it may read messages" if reads else "turn on MESSAGE CONTENT INTENT in the developer portal"]

    async def close(self) -> None:
        """Close every connection; what arrives meanwhile is read from the channel at the next start."""
        self._client.dispatch = lambda *_, **__: None  # type: ignore[method-assign]
        await self._client.close()


class _DiscordReply:
    """Answers in one channel."""

    def __init__(self, client: "discord.Client", chat: int) -> None:
        self._channel = client.get_partial_messageable(chat)

    async def typing(self) -> None:
        with _translated():
            await self._channel.typing()

    async def send(self, text: str, *, key: str) -> str:
        with _translated():
            sent = await self._channel.send(text or "\u200b", nonce=f"promptuary-{key}"[:25])
        return str(sent.id)

    async def edit(self, message: str, text: str) -> None:
        with _translated():
            await self._channel.get_partial_message(int(message)).edit(content=text or "\u200b")

    async def send_file(self, name: str, data: bytes, *, key: str) -> str:
        import discord  # noqa: PLC0415  (loaded with the client)

        with _translated():
            sent = await self._channel.send(file=discord.File(BytesIO(data), name), nonce=f"promptuary-{key}"[:25])
        return str(sent.id)


def _file(one: "discord.Attachment") -> ChatFile:
    kind = kind_of_mime(one.content_type)
    return ChatFile(one.filename, kind, one.size, one.url)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
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
            raise PlatformUnreachableError(f"Discord answered {error.status}") from error
        raise PlatformError(f"Discord refused it ({error.status})") from error
    except discord.ConnectionClosed as error:
        raise PlatformUnreachableError(f"the connection was closed ({error.code})") from error
    except (aiohttp.ClientError, discord.GatewayNotFound, OSError, TimeoutError) as error:
        raise PlatformUnreachableError(type(error).__name__) from error

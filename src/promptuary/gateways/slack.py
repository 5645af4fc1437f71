"""Slack, with slack-bolt in socket mode: the bot needs no public address.

An event is acknowledged when it is stored; Slack resends an event that is not acknowledged. Messages that were missed
while the bot was not connected are read from the history of the channels. Slack has no idempotency key for messages
(that of its own clients is not for apps), but its metadata can hold one, by which a message is found in the history.
"""

import asyncio
import contextlib
import html
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

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
from promptuary.gateways.delivery import insist
from promptuary.gateways.port import Accept, Backoff, Capabilities, ChatFile, ChatReply, Inbound, kind_of_mime
from promptuary.gateways.texts.mrkdwn import mrkdwn

logger = logging.getLogger(__name__)

_CAPABILITIES: Final = Capabilities(longest=3900, edit_every=1.5, command_mark="!", size=lambda text: len(mrkdwn(text)))
"""Slack accepts 40,000 characters, but an edited message has at most 4,000."""
_NO_PREVIEWS: Final = {"unfurl_links": False, "unfurl_media": False}
"""Slack fetches the page for a preview, so a URL in an answer could leak text elsewhere."""
_ANSWER: Final = "promptuary_answer"
_MAX_READ: Final = 200
_CHATS: Final = "im,mpim,public_channel,private_channel"
PING_SECONDS: Final = 5.0
"""How often the client checks whether the socket is still connected; it reconnects if not."""
_LINK: Final = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_BAD_TOKEN: Final = frozenset({"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"})
_PASSING: Final = frozenset({"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})


class Slack:
    """A Slack bot: ``token`` begins with xoxb-, ``app_token`` with xapp-."""

    def __init__(self, token: str, app_token: str, base_url: str = "") -> None:
        try:
            import markdown_it  # noqa: F401, PLC0415  (of the same extra)
            from slack_bolt.app.async_app import AsyncApp  # noqa: PLC0415  (an extra, and slow)
            from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415
        except ImportError:
            raise ConfigError(f"Slack needs the extra slack: {how_to_install('slack')}") from None
        self._token, self._app_token = token, app_token
        server = f"{base_url.rstrip('/')}/" if base_url else AsyncWebClient.BASE_URL
        self._host = urlsplit(base_url).netloc if base_url else "files.slack.com"
        # Without the library's own retries: they would repeat a message whose acknowledgement got lost.
        self._client = AsyncWebClient(token, base_url=server, timeout=20, retry_handlers=[])
        # An event is acknowledged only after the listener has stored it.
        # The logger has a fixed name: the library names its own after the program, so they could not be silenced.
        own = logging.getLogger("slack_bolt")
        self._app = AsyncApp(client=self._client, process_before_response=True, logger=own)
        self._app.event("message")(self._on_event)
        self._app.event("app_mention")(self._on_event)
        self._handler: Any = None
        self._accept: Accept | None = None
        self._user = ""

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    async def run(self, accept: Accept, last: Mapping[str, str], on_state: Callable[[str], None]) -> None:
        """Pass every message to ``accept`` until it is cancelled."""
        from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler  # noqa: PLC0415  (loaded on use)

        self._accept, backoff = accept, Backoff()
        while True:
            try:
                with _translate_errors():
                    self._user = str((await self._client.auth_test())["user_id"])
                    self._handler = AsyncSocketModeHandler(self._app, self._app_token, ping_interval=PING_SECONDS)
                    await self._handler.connect_async()
                break
            except PlatformUnreachableError as error:
                on_state(f"Slack cannot be reached; trying again: {error}")
                await asyncio.sleep(backoff.after(error))
        on_state("connected to Slack")
        try:
            for chat, oldest in (await self._chats_with_news(last)).items():
                await insist(partial(self._get_missed, chat, oldest, known=chat in last), tries=3)
        except PlatformError as error:
            on_state(f"messages that were sent while the gateway did not run could not be read: {error}")
        await self._watch(on_state)

    async def _watch(self, on_state: Callable[[str], None]) -> None:
        """Report when the connection is lost, and when it is restored; the client reconnects by itself."""
        was_connected = True
        while True:
            await asyncio.sleep(PING_SECONDS)
            is_connected = await self._handler.client.is_connected()
            if is_connected != was_connected:
                on_state("connected to Slack" if is_connected else "Slack cannot be reached; trying again")
            was_connected = is_connected

    async def _chats_with_news(self, last: Mapping[str, str]) -> dict[str, str]:
        """Return the chats to read missed messages from, each with the message to start after.

        These are the known chats, and all others that the bot is in: in the latter, reading starts after the last
        message that was received anywhere.
        """
        if not last:  # nothing was ever received, so nothing was missed
            return {}
        newest, found = max(last.values(), key=float), dict(last)
        try:
            with _translate_errors():
                listed = await self._client.users_conversations(types=_CHATS, exclude_archived=True, limit=_MAX_READ)
        except PlatformUnreachableError:
            raise
        except PlatformError as error:  # the app was installed without the scopes for it
            logger.info("the chats of the bot could not be listed: %s", error)
            return found
        return found | {str(one["id"]): newest for one in listed.get("channels") or [] if one["id"] not in found}

    async def _get_missed(self, chat: str, oldest: str, *, known: bool) -> None:
        try:
            with _translate_errors():
                found = await self._client.conversations_history(channel=chat, oldest=oldest, limit=_MAX_READ)
        except PlatformUnreachableError:
            raise
        except PlatformError as error:  # the bot was removed from it, or may not read it
            logger.info("missed messages of a chat could not be read: %s", error)
            return
        for one in reversed(found.get("messages") or []):
            is_direct = chat.startswith("D")
            message = {**one, "channel": chat, "channel_type": "im" if is_direct else "channel"}
            await self._take(message, missed=not known)

    async def _on_event(self, event: dict[str, Any]) -> None:
        await self._take(event)

    async def _take(self, event: Mapping[str, Any], *, missed: bool = False) -> None:
        found = self._inbound(event)
        if found is not None and self._accept is not None:
            await self._accept(replace(found, missed=missed))

    def _inbound(self, event: Mapping[str, Any]) -> Inbound | None:
        kind, said, before = event.get("subtype"), event, ""
        if kind == "message_changed":
            said, before = event.get("message") or {}, str((event.get("previous_message") or {}).get("text"))
            if said.get("text") == before:  # only a preview was added
                return None
        elif kind not in {None, "file_share", "thread_broadcast"}:
            return None
        if said.get("bot_id") or not said.get("user") or said.get("user") == self._user:
            return None
        text, mention = str(said.get("text") or ""), f"<@{self._user}>"
        is_direct = event.get("channel_type") == "im"
        return Inbound(
            chat=str(event.get("channel")),
            message=str(said.get("ts")),
            user=str(said.get("user")),
            text=plain(text.replace(mention, "").strip()),
            thread=str(said.get("thread_ts") or ""),
            direct=is_direct,
            addressed=is_direct or mention in text or event.get("type") == "app_mention",
            edited=kind == "message_changed",
            files=tuple(_file(one) for one in said.get("files") or ()),
        )

    def reply(self, chat: str, thread: str) -> ChatReply:
        """Return a reply object for a channel, or for a thread in it."""
        return _SlackReply(self._client, chat, thread or None)

    async def download(self, file: ChatFile) -> bytes:
        """Return the content of a file; the token is sent only to Slack."""
        import aiohttp  # noqa: PLC0415  (loaded with the client)

        if urlsplit(file.handle).netloc != self._host:
            raise PlatformError("the file is not on a Slack server")
        with _translate_errors():
            headers = {"Authorization": f"Bearer {self._token}"}
            async with aiohttp.ClientSession(headers=headers) as session, session.get(file.handle) as response:
                response.raise_for_status()
                data = await response.content.read(self.capabilities.largest_download + 1)
        if len(data) > self.capabilities.largest_download:
            raise PlatformError("the file is too large")
        return data

    async def check(self) -> Sequence[str]:
        """Try both tokens, and describe the bot."""
        with _translate_errors():
            me = await self._client.auth_test()
            await self._client.apps_connections_open(app_token=self._app_token)
        scopes = str(me.headers.get("x-oauth-scopes", ""))
        lines = [f"Slack: {me.get('user')} in {me.get('team')}", "the socket can be opened"]
        return [*lines, f"it may: {scopes}"] if scopes else lines

    async def close(self) -> None:
        if self._handler is not None:
            await self._handler.close_async()


class _SlackReply:
    """Answers in one conversation."""

    def __init__(self, client: Any, chat: str, thread: str | None) -> None:
        self._client, self._chat, self._thread = client, chat, thread

    async def typing(self) -> None:
        """Do nothing: Slack has no typing indicator for bots."""

    async def send(self, text: str, *, key: str) -> str:
        metadata = {"event_type": _ANSWER, "event_payload": {"key": key}}
        with _translate_errors():
            sent = await self._client.chat_postMessage(
                channel=self._chat, text=mrkdwn(text), thread_ts=self._thread, metadata=metadata, **_NO_PREVIEWS
            )
        return str(sent["ts"])

    async def edit(self, message: str, text: str) -> None:
        with _translate_errors():
            await self._client.chat_update(channel=self._chat, ts=message, text=mrkdwn(text))

    async def send_file(self, name: str, data: bytes, *, text: str, key: str) -> str:
        del key
        with _translate_errors():
            sent = await self._client.files_upload_v2(
                channel=self._chat, thread_ts=self._thread, filename=name, content=data, initial_comment=text or None
            )
        return str((sent.get("files") or [{}])[0].get("id") or "file")

    async def find(self, key: str, *, after: str) -> str:
        """Look for a message in the history by the key in its metadata."""
        about = {"channel": self._chat, "oldest": after, "limit": _MAX_READ, "include_all_metadata": True}
        with _translate_errors():
            if self._thread:
                found = await self._client.conversations_replies(ts=self._thread, **about)
            else:
                found = await self._client.conversations_history(**about)
        for one in found.get("messages") or []:
            metadata = one.get("metadata") or {}
            if metadata.get("event_type") == _ANSWER and (metadata.get("event_payload") or {}).get("key") == key:
                return str(one["ts"])
        return ""


def plain(text: str) -> str:
    """Return what a person typed: Slack turns names that look like URLs into links, and escapes three characters."""

    def typed(found: re.Match[str]) -> str:
        target, label = found[1], found[2]
        if label and target in {f"http://{label}", f"https://{label}", f"mailto:{label}"}:
            return label
        if target.startswith(("@", "#", "!")):
            return f"{target[:1]}{label}" if label else target
        return target

    return html.unescape(_LINK.sub(typed, text))


def _file(one: Mapping[str, Any]) -> ChatFile:
    kind = kind_of_mime(one.get("mimetype"))
    handle = str(one.get("url_private_download") or one.get("url_private") or "")
    return ChatFile(str(one.get("name") or "document"), kind, int(one.get("size") or 0), handle)


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    import aiohttp  # noqa: PLC0415  (loaded with the client)
    from slack_sdk.errors import SlackClientError  # noqa: PLC0415

    try:
        yield
    except SlackClientError as error:
        response: Any = getattr(error, "response", None)
        status = getattr(response, "status_code", 0)
        data = getattr(response, "data", None)
        code = str(data.get("error") or "") if isinstance(data, dict) else ""
        if status == 429:
            raise RateLimitedError(float(response.headers.get("Retry-After", 1))) from error
        if code in _BAD_TOKEN:
            raise BadTokenError(f"Slack does not accept the token ({code}); install the app again") from error
        if code in _PASSING or status >= 500 or response is None:
            silent = status in {502, 504} or response is None
            raise PlatformUnreachableError(f"Slack answered {code or status}", may_have_arrived=silent) from error
        raise PlatformError(f"Slack refused it ({code or type(error).__name__})") from error
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        arrived = not isinstance(error, aiohttp.ClientConnectorError)
        reason = one_line(str(error))[:200] or type(error).__name__
        raise PlatformUnreachableError(reason, may_have_arrived=arrived) from error

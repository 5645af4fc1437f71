"""Discord on loopback: the part of its HTTP API and gateway that a bot needs to read and write messages.

``FakeDiscord().url("/api")`` is the base of its API, and its gateway is a websocket at ``/api/gateway``.
"""

import asyncio
import json
import re
from typing import Any, Final

from aiohttp import WSMsgType, web

from tests.platforms.server import BotMessage, PlatformServer

TOKEN: Final = "fake.discord.token"
BOT: Final = {"id": "900", "username": "promptuary", "discriminator": "0000", "avatar": None, "bot": True}
GUILD: Final = "700"
CHANNELS: Final = ("555", "556")


class FakeDiscord(PlatformServer):
    """The server. The id of a direct channel is 1000 and the id of its person; all other channels belong to one guild.

    A client that was disconnected resumes its session, and receives what it missed.
    """

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.sessions = 0
        self.files: dict[str, bytes] = {}
        self._message = 10_000
        self._sequence = 0
        self._events: list[dict[str, Any]] = []
        super().__init__()

    def routes(self, app: web.Application) -> None:
        """Add the routes of the API, and the gateway."""
        app.router.add_get("/api/gateway", self._gateway)
        app.router.add_get("/api/users/@me", self._me)
        app.router.add_get("/api/oauth2/applications/@me", self._application)
        app.router.add_get("/api/channels/{channel}", self._channel)
        app.router.add_get("/api/channels/{channel}/messages", self._history)
        app.router.add_post("/api/channels/{channel}/messages", self._send)
        app.router.add_patch("/api/channels/{channel}/messages/{message}", self._edit)
        app.router.add_post("/api/channels/{channel}/typing", self._typing)
        app.router.add_get("/files/{name}", self._file)

    def say(
        self,
        user: int,
        text: str,
        *,
        chat: int | None = None,
        name: str = "ada",
        edit: int | None = None,
        document: tuple[str, bytes] | None = None,
        picture: bool = False,
        bot: bool = False,
    ) -> int:
        """Write as a person or another bot, to the bot or in a channel of the guild; return the id of the message."""
        with self.changing():
            if edit is None:
                self._message += 1
            number = edit or self._message
            message = self._shaped(str(number), str(chat or direct(user)), text, {**_person(user, name), "bot": bot})
            if chat is not None:
                message |= {"guild_id": GUILD, "member": {"roles": [], "joined_at": None, "deaf": False, "mute": False}}
            if document is not None:
                self.files[document[0]] = document[1]
                mime = "image/png" if picture else "text/markdown"
                message["attachments"] = [
                    {
                        "id": "1",
                        "filename": document[0],
                        "size": len(document[1]),
                        "url": self.url(f"/files/{document[0]}"),
                        "proxy_url": self.url(f"/files/{document[0]}"),
                        "content_type": mime,
                    }
                ]
            if edit is not None:
                message["edited_timestamp"] = "2026-01-02T03:04:06+00:00"
                self.said = [one for one in self.said if one["id"] != str(edit)]
            self.said.append(message)
        self.dispatch("MESSAGE_UPDATE" if edit is not None else "MESSAGE_CREATE", message)
        return number

    def deliver_again(self) -> None:
        """Deliver every message once more."""
        for message in list(self.said):
            self.dispatch("MESSAGE_CREATE", message)

    def forget(self) -> None:
        """Do nothing: Discord never delivers again."""

    def dispatch(self, event: str, data: dict[str, Any]) -> None:
        """Send an event to the connected clients."""

        def send() -> None:
            self._sequence += 1
            frame = {"op": 0, "t": event, "s": self._sequence, "d": data}
            self._events.append(frame)
            for socket in self.sockets:
                asyncio.ensure_future(self._put(socket, frame))  # noqa: RUF006  (the task ends with the socket)

        self.on_loop(send)

    def too_many(self, method: str) -> web.Response:
        """Return Discord's answer to too many requests."""
        del method
        body = {"message": "You are being rate limited.", "retry_after": float(self.retry_after), "global": False}
        return _json(body, status=429, headers={"Retry-After": str(self.retry_after), "Via": "1.1 fake"})

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"op": 10, "d": {"heartbeat_interval": 40_000}, "s": None, "t": None}))
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    await self._heard(socket, json.loads(frame.data))
        finally:
            if socket in self.sockets:
                self.sockets.remove(socket)
        return socket

    async def _heard(self, socket: web.WebSocketResponse, frame: dict[str, Any]) -> None:
        match frame["op"]:
            case 1:
                await socket.send_str(json.dumps({"op": 11, "d": None, "s": None, "t": None}))
            case 2:
                ready = {
                    "v": 10,
                    "user": BOT,
                    "guilds": [{"id": GUILD, "unavailable": True}],
                    "session_id": "s",
                    "resume_gateway_url": self.url("/api/gateway").replace("http", "ws", 1),
                    "application": {"id": BOT["id"], "flags": 0},
                }
                await self._event(socket, "READY", ready)
                await self._event(socket, "GUILD_CREATE", _guild([self._shown_channel(one) for one in CHANNELS]))
                with self.changing():
                    self.sessions += 1
                    self.sockets.append(socket)
            case 6:
                missed = [event for event in self._events if event["s"] > frame["d"]["seq"]]
                for event in missed:
                    await socket.send_str(json.dumps(event))
                await self._event(socket, "RESUMED", {})
                with self.changing():
                    self.sessions += 1
                    self.sockets.append(socket)
            case _:
                pass

    async def _event(self, socket: web.WebSocketResponse, event: str, data: dict[str, Any]) -> None:
        self._sequence += 1
        await self._put(socket, {"op": 0, "t": event, "s": self._sequence, "d": data})

    async def _put(self, socket: web.WebSocketResponse, frame: dict[str, Any]) -> None:
        if not socket.closed:
            await socket.send_str(json.dumps(frame))

    async def _me(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bot {TOKEN}":
            return _json({"message": "401: Unauthorized", "code": 0}, status=401)
        return await self.failed("me") or _json(BOT)

    async def _application(self, _: web.Request) -> web.Response:
        empty: dict[str, Any] = {
            "description": "",
            "icon": None,
            "rpc_origins": [],
            "bot_public": True,
            "bot_require_code_grant": False,
        }
        owner = {**_person(1, "owner")}
        return _json({"id": BOT["id"], "name": "p", "flags": 1 << 19, "verify_key": "", "owner": owner, **empty})

    async def _channel(self, request: web.Request) -> web.Response:
        channel = request.match_info["channel"]
        if channel.startswith("1000"):
            person = _person(int(channel.removeprefix("1000")), "ada")
            return _json({"id": channel, "type": 1, "recipients": [person], "last_message_id": None})
        return _json(self._shown_channel(channel))

    def _shown_channel(self, channel: str) -> dict[str, Any]:
        said = [one["id"] for one in self.said if one["channel_id"] == channel]
        return {**_text_channel(channel), "last_message_id": said[-1] if said else None}

    async def _history(self, request: web.Request) -> web.Response:
        after = int(request.query.get("after") or 0)
        channel = request.match_info["channel"]
        found = [one for one in self.said if one["channel_id"] == channel and int(one["id"]) > after]
        return _json(sorted(found, key=lambda one: -int(one["id"]))[: int(request.query.get("limit") or 50)])

    async def _send(self, request: web.Request) -> web.StreamResponse:
        if (failed := await self.failed("send")) is not None:
            return failed
        data = None
        if request.content_type.startswith("multipart/"):
            given = await request.post()
            body = json.loads(str(given["payload_json"]))
            with given["files[0]"].file as file:  # type: ignore[union-attr]
                data = file.read()
        else:
            body = await request.json()
        text, channel, nonce = body.get("content") or "", request.match_info["channel"], str(body.get("nonce") or "")
        if len(text) > 2000:
            return _json({"code": 50035, "message": "Invalid Form Body"}, status=400)
        known = [one for one in self.sent if nonce and (one.chat, one.key) == (channel, nonce)]
        if known and body.get("enforce_nonce"):
            return _json(self._shaped(known[0].id, channel, known[0].text, BOT))
        with self.changing():
            self._message += 1
            sent = BotMessage(channel, str(self._message), _shown(text), file=data, key=nonce, raw=text)
            sent.previews = not int(body.get("flags") or 0) & 1 << 2
            self.sent.append(sent)
        return _json(self._shaped(sent.id, channel, text, BOT))

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        if (failed := await self.failed("edit")) is not None:
            return failed
        found = [one for one in self.sent if one.id == request.match_info["message"]]
        if not found:
            return _json({"code": 10008, "message": "Unknown Message"}, status=404)
        text = str((await request.json())["content"])
        if len(text) > 2000:
            return _json({"code": 50035, "message": "Invalid Form Body"}, status=400)
        with self.changing():
            found[0].edits.append(found[0].text)
            found[0].text, found[0].raw = _shown(text), text
        return _json(self._shaped(found[0].id, found[0].chat, found[0].text, BOT))

    async def _typing(self, _: web.Request) -> web.Response:
        return web.Response(status=204)

    async def _file(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["name"]])

    def _shaped(self, message: str, channel: str, text: str, author: dict[str, Any]) -> dict[str, Any]:
        lists = ("mentions", "mention_roles", "attachments", "embeds", "components")
        empty: dict[str, Any] = {one: [] for one in lists}
        if "<@900>" in text:
            empty["mentions"] = [BOT]
        flags = {"tts": False, "mention_everyone": False, "pinned": False, "type": 0, "flags": 0}
        when = {"timestamp": "2026-01-02T03:04:05+00:00", "edited_timestamp": None}
        return {"id": message, "channel_id": channel, "author": author, "content": text, **empty, **flags, **when}


def _shown(text: str) -> str:
    """Return a text as people see it: without the escapes of marks."""
    parts = re.split(r"(```.*?```|`[^`\n]+`)", text, flags=re.DOTALL)
    parts[::2] = [re.sub(r"\\([^\w\s])", r"\1", one) for one in parts[::2]]
    return "".join(parts)


def direct(user: int) -> int:
    """Return the id of the direct channel with a person."""
    return int(f"1000{user}")


def _person(user: int, name: str) -> dict[str, Any]:
    return {"id": str(user), "username": name, "discriminator": "0", "avatar": None, "global_name": name}


def _text_channel(channel: str) -> dict[str, Any]:
    more = {"permission_overwrites": [], "nsfw": False, "parent_id": None, "topic": None, "last_message_id": None}
    return {"id": channel, "type": 0, "guild_id": GUILD, "name": "general", "position": 0, **more}


def _guild(channels: list[dict[str, Any]]) -> dict[str, Any]:
    lists = ("emojis", "stickers", "features", "members", "voice_states", "threads", "presences")
    empty: dict[str, Any] = {one: [] for one in lists}
    empty["roles"] = [{"id": GUILD, "name": "@everyone", "permissions": "0", "position": 0, "color": 0, "flags": 0}]
    numbers = ("verification_level", "default_message_notifications", "explicit_content_filter", "mfa_level")
    levels = dict.fromkeys((*numbers, "premium_tier"), 0)
    more = {"name": "guild", "owner_id": "1", "member_count": 2, "preferred_locale": "en-US", "nsfw_level": 0}
    return {"id": GUILD, "channels": channels, **empty, **levels, **more, "system_channel_flags": 0, "afk_timeout": 60}


def _json(value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    # The client requires exactly this type, without a charset.
    body = json.dumps(value).encode()
    return web.Response(body=body, status=status, headers={"Content-Type": "application/json", **(headers or {})})

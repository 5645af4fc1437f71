"""Slack on loopback: the part of its web API and socket mode that a bot needs to read and write messages.

``FakeSlack().url("/api")`` is the base of its API. An event without acknowledgement is sent again to the next socket.
"""

import asyncio
import json
from typing import Any, Final

from aiohttp import WSMsgType, web

from tests.platforms.server import BotMessage, PlatformServer

TOKEN: Final = "xoxb-fake"
APP_TOKEN: Final = "xapp-fake"
BOT: Final = "UBOT"
_PREVIEWS: Final = ("unfurl_links", "unfurl_media")


class FakeSlack(PlatformServer):
    """The server. The direct channel of a user begins with D, every other one with C."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.acknowledged: set[str] = set()
        self.sessions = 0
        self._envelopes: dict[str, dict[str, Any]] = {}
        self._count = 0
        super().__init__()

    def routes(self, app: web.Application) -> None:
        """Add the routes of the API, and the socket."""
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/socket", self._socket)
        app.router.add_post("/upload/{name}", self._upload)
        app.router.add_get("/files/{name}", self._file)

    def say(
        self,
        user: str,
        text: str,
        *,
        chat: str | None = None,
        edit: str | None = None,
        document: tuple[str, bytes] | None = None,
        picture: bool = False,
        bot: bool = False,
    ) -> str:
        """Write as a person or another bot, in their own channel or in another one, and return the message's id."""
        with self.changing():
            self._count += 1
            stamp = edit or f"1700000000.{self._count:06d}"
            channel = chat or direct(user)
            message: dict[str, Any] = {"type": "message", "user": user, "text": text, "ts": stamp}
            if bot:
                message["bot_id"] = "B9"
            if document is not None:
                self.files[document[0]] = document[1]
                message["subtype"] = "file_share"
                mime = "image/png" if picture else "text/markdown"
                url = self.url(f"/files/{document[0]}")
                message["files"] = [
                    {"name": document[0], "mimetype": mime, "size": len(document[1]), "url_private": url}
                ]
            before = next((one for one in self.said if one["ts"] == edit), None)
            self.said = [one for one in self.said if one["ts"] != edit]
            self.said.append({**message, "channel": channel})
            where = {"channel": channel, "channel_type": "im" if chat is None else "channel"}
            event = {**message, **where}
            if edit is not None:
                event = {"type": "message", "subtype": "message_changed", "message": message, **where}
                event["previous_message"] = {"text": (before or {}).get("text", "")}
            self._put(event)
            if chat is not None and f"<@{BOT}>" in text and edit is None:
                self._put({**message, **where, "type": "app_mention"})  # Slack sends both
        self._deliver()
        return stamp

    def deliver_again(self) -> None:
        """Deliver every event once more, as Slack does after a late acknowledgement."""
        with self.changing():
            self.acknowledged.clear()
        self._deliver()

    def forget(self) -> None:
        """Deliver nothing again, as after some hours: messages are then only in the history."""
        with self.changing():
            self.acknowledged.update(self._envelopes)

    def too_many(self, method: str) -> web.Response:
        """Return Slack's answer to too many requests."""
        del method
        headers = {"Retry-After": str(self.retry_after)}
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)

    def _put(self, event: dict[str, Any]) -> None:
        envelope = f"e{len(self._envelopes) + 1}"
        authorization = {"enterprise_id": None, "team_id": "T1", "user_id": BOT, "is_bot": True}
        payload: dict[str, Any] = {"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event": event}
        payload |= {"event_id": f"Ev{envelope}", "event_time": 1_700_000_000, "authorizations": [authorization]}
        body = {"envelope_id": envelope, "type": "events_api", "accepts_response_payload": False, "payload": payload}
        self._envelopes[envelope] = body

    def _deliver(self) -> None:
        self.on_loop(lambda: asyncio.ensure_future(self._send_events()))

    async def _send_events(self) -> None:
        for socket in self.sockets[-1:]:
            for name, envelope in list(self._envelopes.items()):
                if name not in self.acknowledged and not socket.closed:
                    await socket.send_str(json.dumps(envelope))

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}}))
        with self.changing():
            self.sessions += 1
            self.sockets.append(socket)
        await self._send_events()
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT and frame.data.startswith("{"):
                    with self.changing():
                        self.acknowledged.add(json.loads(frame.data).get("envelope_id", ""))
        finally:
            self.sockets.remove(socket)
        return socket

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if (failed := await self.failed(method)) is not None:
            return failed
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        wanted = APP_TOKEN if method == "apps.connections.open" else TOKEN
        if token != wanted:
            return web.json_response({"ok": False, "error": "invalid_auth"})
        given: dict[str, Any] = {**request.query, **(await request.post())}
        if request.content_type == "application/json":
            given = await request.json()
        return web.json_response({"ok": True, **self._answers(method, given)})

    def _answers(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "auth.test":
                return {"user_id": BOT, "user": "promptuary", "team": "Team", "team_id": "T1", "bot_id": "B1"}
            case "apps.connections.open":
                return {"url": self.url("/socket").replace("http", "ws", 1)}
            case "chat.postMessage":
                return self._send(given)
            case "chat.update":
                return self._edit(given)
            case "conversations.history" | "conversations.replies":
                found = [*(one for one in self.said if one["channel"] == given["channel"]), *self._own(given)]
                later = [one for one in found if float(one["ts"]) > float(given.get("oldest") or 0)]
                return {"messages": sorted(later, key=lambda one: -float(one["ts"])), "has_more": False}
            case "users.conversations":
                return {"channels": [{"id": one} for one in sorted({one["channel"] for one in self.said})]}
            case "files.getUploadURLExternal":
                name = str(given["filename"])
                return {"upload_url": self.url(f"/upload/{name}"), "file_id": f"F{name}"}
            case "files.completeUploadExternal":
                return self._complete(given)
            case _:
                return {}

    def _own(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the messages of the bot in a channel; their metadata only if it is requested."""
        wants = str(given.get("include_all_metadata")).lower() in {"1", "true"}
        return [
            {
                "type": "message",
                "user": BOT,
                "bot_id": "B1",
                "text": one.text,
                "ts": one.id,
                **({"metadata": one.metadata} if wants else {}),
            }
            for one in self.sent
            if (one.chat, one.thread) == (given["channel"], str(given.get("ts") or "")) and one.file is None
        ]

    def _send(self, given: dict[str, Any]) -> dict[str, Any]:
        if len(str(given.get("text"))) > 40_000:
            return {"ok": False, "error": "msg_too_long"}
        metadata = given.get("metadata") or "{}"
        about = json.loads(metadata) if isinstance(metadata, str) else metadata
        with self.changing():
            self._count += 1
            thread = str(given.get("thread_ts") or "")
            stamp = f"1700000000.{self._count:06d}"
            raw = str(given["text"])
            sent = BotMessage(str(given["channel"]), stamp, _shown(raw), thread, metadata=about, raw=raw)
            sent.previews = any(str(given.get(one, True)).lower() in {"1", "true"} for one in _PREVIEWS)
            self.sent.append(sent)
        return {"ts": sent.id, "channel": sent.chat}

    def _edit(self, given: dict[str, Any]) -> dict[str, Any]:
        found = [one for one in self.sent if (one.chat, one.id) == (given["channel"], given["ts"])]
        if not found:
            return {"ok": False, "error": "message_not_found"}
        if len(str(given.get("text"))) > 4000:
            return {"ok": False, "error": "msg_too_long"}
        with self.changing():
            found[0].edits.append(found[0].text)
            found[0].text, found[0].raw = _shown(given["text"]), str(given["text"])
        return {"ts": found[0].id, "channel": found[0].chat}

    def _complete(self, given: dict[str, Any]) -> dict[str, Any]:
        listed = given["files"]
        files = json.loads(listed) if isinstance(listed, str) else listed
        name = str(files[0]["id"]).removeprefix("F")
        with self.changing():
            self._count += 1
            channel = str(given.get("channel_id") or "")
            stamp = f"1700000000.{self._count:06d}"
            text = _shown(given.get("initial_comment") or "")
            self.sent.append(BotMessage(channel, stamp, text, file=self.files.get(f"up:{name}", b"")))
        return {"files": files}

    async def _upload(self, request: web.Request) -> web.Response:
        if request.content_type.startswith("multipart/"):
            given: Any = await request.post()
            (part,) = list(given.values())[:1]
            data = part.file.read() if hasattr(part, "file") else str(part).encode()
        else:
            data = await request.read()
        self.files[f"up:{request.match_info['name']}"] = data
        return web.Response(text="OK")

    async def _file(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(status=403)
        return web.Response(body=self.files[request.match_info["name"]])


def direct(user: str) -> str:
    """Return the id of the direct channel with a person."""
    return f"D{user}"


def _shown(text: object) -> str:
    """Return a text as people see it."""
    return str(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

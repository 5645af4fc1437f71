"""Telegram on loopback: the part of the Bot API that a polling bot needs. Any client of the Bot API works with it.

with FakeTelegram() as telegram:
telegram.say(42, "Hello")
telegram.wait_for(lambda: telegram.texts("42"))
"""

import asyncio
import json
from collections import defaultdict
from typing import Any, Final

from aiohttp import web

from tests.platforms.server import BotMessage, PlatformServer

TOKEN: Final = "123456:fake-token-for-tests"
BOT: Final = {
    "id": 123456,
    "is_bot": True,
    "first_name": "Bot",
    "username": "promptuary_bot",
    "can_join_groups": True,
    "can_read_all_group_messages": False,
    "supports_inline_queries": False,
}


class FakeTelegram(PlatformServer):
    """The server. An update is delivered until it is confirmed by a request for a later one."""

    def __init__(self) -> None:
        self.updates: dict[int, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.confirmed = 0
        self._count = 0
        self._message = 100
        self._news: asyncio.Event | None = None
        super().__init__()

    def routes(self, app: web.Application) -> None:
        """Add the routes of the Bot API."""
        app.router.add_route("*", "/bot{token}/{method}", self._call)
        app.router.add_get("/file/bot{token}/{path:.*}", self._file)

    def say(
        self,
        user: int,
        text: str,
        *,
        chat: int | None = None,
        name: str = "Ada",
        edit: int | None = None,
        reply_to_bot: bool = False,
        document: tuple[str, bytes] | None = None,
        bot: bool = False,
        **more: Any,
    ) -> int:
        """Write as a person or another bot, in their own chat or in a group, and return the id of the message."""
        with self.changing():
            self._count += 1
            if edit is None:
                self._message += 1
            number = edit or self._message
            group = {"id": chat, "type": "supergroup", "title": "Group"}
            message: dict[str, Any] = {
                "message_id": number,
                "date": 1_700_000_000,
                "chat": group if chat is not None else {"id": user, "type": "private", "first_name": name},
                "from": {"id": user, "is_bot": bot, "first_name": name},
                "text": text,
                **more,
            }
            if reply_to_bot:
                message["reply_to_message"] = {**message, "message_id": 1, "from": BOT}
            if document is not None:
                self.files[document[0]] = document[1]
                message["caption"] = message.pop("text")
                message["document"] = {
                    "file_id": document[0],
                    "file_unique_id": document[0],
                    "file_name": document[0],
                    "file_size": len(document[1]),
                }
            self.updates[self._count] = {
                "update_id": self._count,
                ("edited_message" if edit is not None else "message"): message,
            }
        self._wake()
        return number

    def deliver_again(self) -> None:
        """Deliver every update once more, as after a lost confirmation."""
        with self.changing():
            self.confirmed = 0
            again = [self.updates[number] for number in sorted(self.updates)]
            self.updates = {}
            for update in again:
                self._count += 1
                self.updates[self._count] = {**update, "update_id": self._count}
        self._wake()

    def too_many(self, method: str) -> web.Response:
        """Return Telegram's answer to too many requests."""
        del method
        body = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 1"}
        return web.json_response({**body, "parameters": {"retry_after": self.retry_after}}, status=429)

    def _wake(self) -> None:
        self.on_loop(lambda: self._news.set() if self._news else None)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if request.match_info["token"] != TOKEN:
            return web.json_response({"ok": False, "error_code": 401, "description": "Unauthorized"}, status=401)
        if (failed := await self.failed(method)) is not None:
            return failed
        given = {**request.query, **(await request.post())}
        answer = await self._answers(method, given)
        if isinstance(answer, str):
            return web.json_response({"ok": False, "error_code": 400, "description": answer}, status=400)
        return web.json_response({"ok": True, "result": answer})

    async def _answers(self, method: str, given: dict[str, Any]) -> Any:
        match method:
            case "getMe":
                return BOT
            case "getUpdates":
                return await self._updates(int(given.get("offset") or 0), float(given.get("timeout") or 0))
            case "sendMessage" | "sendDocument":
                return await self._send(given)
            case "editMessageText":
                return self._edit(given)
            case "getFile":
                name = str(given["file_id"])
                size = len(self.files[name])
                return {"file_id": name, "file_unique_id": name, "file_path": name, "file_size": size}
            case _:
                return True

    async def _updates(self, offset: int, timeout: float) -> list[dict[str, Any]]:
        with self.changing():
            self.confirmed = max(self.confirmed, offset)
            for number in [one for one in self.updates if one < offset]:
                del self.updates[number]
        self._news = self._news or asyncio.Event()
        self._news.clear()
        if not self.updates:
            try:
                await asyncio.wait_for(self._news.wait(), timeout)
            except TimeoutError:
                return []
        return [self.updates[number] for number in sorted(self.updates) if number >= offset][:100]

    async def _send(self, given: dict[str, Any]) -> Any:
        text, document = str(given.get("text") or given.get("caption") or ""), None
        if not isinstance(given.get("document", ""), str):
            with given["document"].file as file:
                document = file.read()
        if refused := _refused(text, empty=document is not None):
            return refused
        with self.changing():
            self._message += 1
            thread = str(given.get("message_thread_id") or "")
            shown = _with_marks(text, given)
            sent = BotMessage(str(given["chat_id"]), str(self._message), shown, thread, file=document, raw=text)
            sent.previews = not json.loads(given.get("link_preview_options") or "{}").get("is_disabled")
            self.sent.append(sent)
        return self._shown(sent)

    def _edit(self, given: dict[str, Any]) -> Any:
        found = [one for one in self.sent if (one.chat, one.id) == (str(given["chat_id"]), str(given["message_id"]))]
        if not found:
            return "Bad Request: message to edit not found"
        if refused := _refused(str(given["text"])):
            return refused
        text = _with_marks(str(given["text"]), given)
        if found[0].text == text:
            return "Bad Request: message is not modified"
        with self.changing():
            found[0].edits.append(found[0].text)
            found[0].text, found[0].raw = text, str(given["text"])
        return self._shown(found[0])

    def _shown(self, sent: BotMessage) -> dict[str, Any]:
        chat = int(sent.chat)
        kind = "private" if chat > 0 else "supergroup"
        return {
            "message_id": int(sent.id),
            "date": 1_700_000_000,
            "chat": {"id": chat, "type": kind, "title": "Group"} if chat < 0 else {"id": chat, "type": kind},
            "from": BOT,
            "text": sent.text,
        }

    async def _file(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["path"]])


def _refused(text: str, *, empty: bool = False) -> str:
    """Return why Telegram refuses a text; it counts UTF-16 code units."""
    if len(text.encode("utf-16-le", "surrogatepass")) > 2 * 4096:
        return "Bad Request: message is too long"
    return "" if empty or text.strip() else "Bad Request: message text is empty"


def _with_marks(text: str, given: dict[str, Any]) -> str:
    """Return a text with its entities as Markdown."""
    marks = {"bold": "**", "italic": "*", "strikethrough": "~~", "code": "`"}
    found = sorted(json.loads(given.get("entities") or "[]"), key=lambda one: (one["offset"], -one["length"]))
    opening: defaultdict[int, str] = defaultdict(str)
    closing: defaultdict[int, str] = defaultdict(str)
    for one in found:
        kind, begin, end = one["type"], one["offset"], one["offset"] + one["length"]
        around = marks.get(kind, "")
        before, after = around, around
        if kind == "pre":
            before, after = f"```{one.get('language', '')}\n", "\n```"
        elif kind == "text_link":
            before, after = "[", f"]({one['url']})"
        opening[begin] += before
        closing[end] = after + closing[end]
    units = text.encode("utf-16-le", "surrogatepass")
    places = sorted({0, *opening, *closing, len(units) // 2})
    shown = ""
    for begin, end in zip(places, [*places[1:], len(units) // 2], strict=True):
        part = units[begin * 2 : end * 2].decode("utf-16-le", "surrogatepass")
        shown += closing[begin] + opening[begin] + part
    return shown

"""Answers of a service to what is no conversation, such as files and embeddings: what was made, and what it cost. Pure.

Their requests are passed on as they are.
"""

from collections.abc import Mapping
from typing import Any, Final

from promptuary.models.chat.openai_stream import chat_usage, error_text
from promptuary.server.proxy.completions import error_event, insert, parse
from promptuary.server.proxy.wire import Dialect, Reply, mapping, upstream_id


class PlainReading:
    """An answer while it arrives."""

    def __init__(self) -> None:
        self._reply = Reply()

    def take_event(self, event: Mapping[str, Any]) -> None:
        self.take_body(event)

    def take_body(self, body: Mapping[str, Any]) -> None:
        name, usage = upstream_id(body.get("id")), mapping(body.get("usage"))
        ids = (name,) if name else self._reply.ids
        counted = chat_usage(usage) if usage else self._reply.usage
        error = error_text(body["error"]) if body.get("error") else self._reply.error
        self._reply = Reply((), counted, ids, "", error, is_complete=True)

    def end(self) -> None:
        """Nothing: whoever asked knows what ends it."""

    def reply(self) -> Reply:
        return self._reply


PLAIN: Final = Dialect("", parse, insert, PlainReading, error_event)

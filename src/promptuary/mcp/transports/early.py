"""The answers that do not wait for the MCP package, whose import takes most of the start-up time.

A client first asks who the server is and what it offers, and some let their model start without the tools of a server
that is slow to answer. Those answers never change, for a server without resources. Only usual requests are answered
here: an unusual one is left to the package. The package also gets every request that is answered here, so its state is
the same as without this. Pure.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple

from promptuary.mcp.description import CAPABILITIES, INSTRUCTIONS, OFFERED, SERVER, list_answer

HANDSHAKES: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The protocol versions that begin with ``initialize``."""
MODERN: Final = "2026-07-28"
"""The version in which every request names its sender."""
_META: Final = "io.modelcontextprotocol/"

RequestId = int | str


class EarlyAnswer(NamedTuple):
    """A line that answers the request with this id."""

    id: RequestId
    line: bytes


class EarlyAnswers:
    """Answers the first requests of one client, in the protocol era that it begins with."""

    def __init__(self, tools: Collection[str] = tuple(OFFERED)) -> None:
        self._tools = tools
        self._era: Literal["unknown", "handshake", "modern", "left to the package"] = "unknown"

    def answer(self, line: bytes) -> EarlyAnswer | None:
        """Return the answer to a message; ``None`` if it is not answered here."""
        request = _request(line)
        if request is None or self._era == "left to the package":
            return None
        identifier, method, params = request
        modern = f"{_META}protocolVersion" in _object(params.get("_meta"))
        if self._era == "unknown":
            self._era = "modern" if modern and method != "initialize" else "handshake"
            if self._era == "handshake":
                return self._greet(identifier, method, params)
        if modern != (self._era == "modern") or params.keys() - {"_meta"}:
            return None
        found = list_answer(method, self._tools)
        result = _modern_result(method, params["_meta"], found) if modern else found
        return None if result is None else _answer(identifier, result)

    def _greet(self, identifier: RequestId, method: str, params: Mapping[str, Any]) -> EarlyAnswer | None:
        version, sender = params.get("protocolVersion"), params.get("clientInfo")
        known = method == "initialize" and version in HANDSHAKES and isinstance(params.get("capabilities"), dict)
        if not known or not _is_sender(sender):
            self._era = "left to the package"
            return None
        return _answer(
            identifier,
            {
                "protocolVersion": version,
                "capabilities": CAPABILITIES,
                "serverInfo": SERVER,
                "instructions": INSTRUCTIONS,
            },
        )


def _request(line: bytes) -> tuple[RequestId, str, dict[str, Any]] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match found:
        case {"jsonrpc": "2.0", "id": int() | str() as identifier, "method": str() as method}:
            params = found.get("params", {})
            is_usual = isinstance(params, dict) and not isinstance(identifier, bool)
            return (identifier, method, params) if is_usual else None
        case _:
            return None


def _modern_result(method: str, meta: Mapping[str, Any], result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    able = meta.get(f"{_META}clientCapabilities")
    if meta[f"{_META}protocolVersion"] != MODERN or not isinstance(able, dict):
        return None
    if not _is_sender(meta.get(f"{_META}clientInfo")):
        return None
    if method == "server/discover":
        result = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}
    if result is None:
        return None
    known = {"cacheScope": "private", "ttlMs": 0, "resultType": "complete"}
    return {**result, **known, "_meta": {f"{_META}serverInfo": SERVER}}


def _answer(identifier: RequestId, result: Mapping[str, Any]) -> EarlyAnswer:
    answer = {"jsonrpc": "2.0", "id": identifier, "result": result}
    return EarlyAnswer(identifier, f"{json.dumps(answer)}\n".encode())


def _is_sender(value: Any) -> bool:
    sender = _object(value)
    return all(isinstance(sender.get(name), str) for name in ("name", "version"))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

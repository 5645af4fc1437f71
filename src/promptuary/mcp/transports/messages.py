"""Which messages are invalid, and the error that each of them gets: the same over every transport.

JSON-RPC requires an answer to every message that cannot be read: with its id if that can be read, else without one.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from pydantic import ValidationError

from promptuary.mcp.transports.standard_streams import MAX_BYTES

TOO_LARGE: Final = f"the message is too large: at most {MAX_BYTES:,} bytes are allowed"
_NO_JSON: Final = "this is not JSON; a message is one JSON object"
_NO_MESSAGE: Final = (
    'this is not a JSON-RPC 2.0 message: an object with "jsonrpc": "2.0", a method, params that are an object, and an '
    "id that is a whole number or a text; messages are sent one by one, not in a list"
)
_TEXT: Final = (str, "a text")
_OBJECT: Final = (dict, "an object")
_NEEDED: Final[Mapping[str, Mapping[str, tuple[type, str]]]] = {
    "tools/call": {"name": _TEXT},
    "prompts/get": {"name": _TEXT},
    "resources/read": {"uri": _TEXT},
    "completion/complete": {"ref": _OBJECT, "argument": _OBJECT},
}
"""The required parameters of each method."""
_TAKE_ARGUMENTS: Final = frozenset({"tools/call", "prompts/get"})


def refusal(data: str | bytes, *, first: bool = False) -> types.JSONRPCError | None:
    """Return the error for a message that cannot be read; ``None`` if it can be.

    The ``first`` request decides which era of the protocol is used, so its parameters are left to the MCP package.
    """
    try:
        message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        return _of_text(data)
    # Otherwise a request with an invalid id would be treated as a notification, and get no answer.
    if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(data):
        return error(types.INVALID_REQUEST, _NO_MESSAGE)
    return _wrong_params(message) if isinstance(message, types.JSONRPCRequest) and not first else None


def _wrong_params(request: types.JSONRPCRequest) -> types.JSONRPCError | None:
    """Return the error for wrong parameters of a request; the MCP package would not say what is wrong."""
    given = request.params or {}
    for name, (kind, called) in _NEEDED.get(request.method, {}).items():
        if not isinstance(given.get(name), kind):
            said = f"{request.method} needs params with {name!r}, which is {called}"
            return error(types.INVALID_PARAMS, said, request.id)
    arguments = given.get("arguments")
    if request.method in _TAKE_ARGUMENTS and arguments is not None and not isinstance(arguments, dict):
        return error(types.INVALID_PARAMS, f"the arguments of {request.method} are an object", request.id)
    return None


def error(code: int, sentence: str, identifier: Any = None) -> types.JSONRPCError:
    known = identifier if isinstance(identifier, int | str) and not isinstance(identifier, bool) else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=sentence))


def _of_text(data: str | bytes) -> types.JSONRPCError:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return error(types.PARSE_ERROR, _NO_JSON)
    return error(types.INVALID_REQUEST, _NO_MESSAGE, found.get("id") if isinstance(found, dict) else None)

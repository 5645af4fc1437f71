"""Which messages are none of the protocol, and the error that each of them gets: the same over every transport.

JSON-RPC wants an answer to whatever cannot be read: with the id that was sent, if it can be told, else with none.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from pydantic import ValidationError

from promptuary.mcp.transports.standard_streams import LARGEST

TOO_LARGE: Final = f"the message is too large: {LARGEST:,} bytes are the most"
_NO_JSON: Final = "this is no JSON; a message is one JSON object"
_NO_MESSAGE: Final = (
    'this is no message of JSON-RPC 2.0: an object with "jsonrpc": "2.0", a method, params that are an object, and an '
    "id that is a whole number or a text; messages are sent one by one, and not in a list"
)
_TEXT: Final = (str, "a text")
_OBJECT: Final = (dict, "an object")
_NEEDED: Final[Mapping[str, Mapping[str, tuple[type, str]]]] = {
    "tools/call": {"name": _TEXT},
    "prompts/get": {"name": _TEXT},
    "resources/read": {"uri": _TEXT},
    "completion/complete": {"ref": _OBJECT, "argument": _OBJECT},
}
"""The parameters that a method cannot do without."""
_TAKE_ARGUMENTS: Final = frozenset({"tools/call", "prompts/get"})


def refusal(data: str | bytes, *, first: bool = False) -> types.JSONRPCError | None:
    """Return the error with which a message is answered that cannot be read; ``None`` if it can be.

    The ``first`` request decides which era of the protocol is spoken, so its parameters are left to the protocol.
    """
    try:
        message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        return _of_text(data)
    # A request whose id is no id would be taken for a notification otherwise, and get no answer.
    if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(data):
        return error(types.INVALID_REQUEST, _NO_MESSAGE)
    return _wrong_params(message) if isinstance(message, types.JSONRPCRequest) and not first else None


def _wrong_params(request: types.JSONRPCRequest) -> types.JSONRPCError | None:
    """Return what is wrong with the parameters of a request; the package of the protocol would not say what."""
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
    """Return an error as it is sent."""
    known = identifier if isinstance(identifier, int | str) and not isinstance(identifier, bool) else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=sentence))


def _of_text(data: str | bytes) -> types.JSONRPCError:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return error(types.PARSE_ERROR, _NO_JSON)
    return error(types.INVALID_REQUEST, _NO_MESSAGE, found.get("id") if isinstance(found, dict) else None)

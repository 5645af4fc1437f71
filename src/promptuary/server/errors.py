"""Refusals, and how each protocol spells an error. Knows nothing of requests."""

from typing import Any, Final, Literal

import msgspec

from promptuary.api.problems import plain_problem

Protocol = Literal["", "messages", "responses", "chat", "api", "page"]
"""Whose shape answers have: Anthropic's Messages, OpenAI's Responses or Chat Completions, our API, a page; or none."""

NOT_FOUND: Final = "there is nothing at this address for this token"
"""Said of what is absent and of what is somebody else's, so that nobody can tell them apart."""
_ANTHROPIC: Final = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI: Final = {
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("permission_error", None),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


class Refusal(Exception):  # noqa: N818  (a value that is raised: how a request is answered)
    """A request is answered with a status and a sentence. ``code`` is the machine's word for it, if there is one."""

    def __init__(self, status: int, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def error_body(protocol: Protocol, status: int, message: str, *, code: str = "") -> bytes:
    """Return the body of an error in the shape that clients of ``protocol`` read."""
    body: dict[str, Any]
    if protocol == "api":
        return msgspec.json.encode(plain_problem(status, message, code))
    if protocol == "messages":
        kind = _ANTHROPIC.get(status, "invalid_request_error" if status < 500 else "api_error")
        body = {"type": "error", "error": {"type": kind, "message": message}}
    else:
        usual = ("invalid_request_error", None) if status < 500 else ("server_error", None)
        kind, spelled = _OPENAI.get(status, usual)
        body = {"error": {"message": message, "type": kind, "param": None, "code": code or spelled}}
    return msgspec.json.encode(body)

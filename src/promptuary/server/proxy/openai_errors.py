"""Errors of ours as OpenAI's services write them. Pure."""

from promptuary.server.proxy.wire import encoded


def error_fields(status: int, message: str, code: str = "") -> dict[str, object]:
    """Return the error itself."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    if status in (402, 429):
        kind = "rate_limit_exceeded" if status == 429 else "insufficient_quota"
    return {"message": message, "type": kind, "param": None, "code": code or None}


def error_body(status: int, message: str, code: str = "") -> bytes:
    """Return the body of an answer with an error."""
    return encoded({"error": error_fields(status, message, code)})

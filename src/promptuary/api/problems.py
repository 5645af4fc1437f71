"""Errors on the wire, as RFC 9457 has them: what the server answers for an error, and the error that a client raises.

``code`` is for programs and stable. That of an error is its name here; a source that could not be fetched has its own.
"""

from typing import Any, Final

from msgspec import Struct

from promptuary.base import errors
from promptuary.base.errors import Code, NoteConflictError, PromptuaryError, RunFailedError, SourceError

CONTENT_TYPE: Final = b"application/problem+json"
ABSENT: Final = "ABSENT"
"""The code for something that was looked for and is not there, where a method returns ``None``."""

_CODES: Final[dict[type[PromptuaryError], tuple[int, str]]] = {
    errors.ConfigError: (400, "BAD_ARGUMENT"),
    errors.SourceError: (422, ""),
    errors.NoteConflictError: (412, "NOTE_CONFLICT"),
    errors.ThreadBusyError: (409, "THREAD_BUSY"),
    errors.ConflictError: (409, "CONFLICT"),
    errors.UnknownNoteError: (404, "UNKNOWN_NOTE"),
    errors.UnknownExperienceError: (404, "UNKNOWN_EXPERIENCE"),
    errors.UnknownSessionError: (404, "UNKNOWN_SESSION"),
    errors.NothingIndexedError: (409, "NOTHING_INDEXED"),
    errors.SecretError: (422, "SECRET"),
    errors.FrontMatterError: (422, "FRONT_MATTER"),
    errors.ServiceRefusedError: (502, "SERVICE_REFUSED"),
    errors.ModelAnswerError: (502, "MODEL_ANSWER"),
    errors.RunFailedError: (502, "RUN_FAILED"),
    errors.RelayError: (502, "SERVICE_UNREACHABLE"),
    errors.LockTimeoutError: (503, "LOCKED"),
    errors.IndexBusyError: (503, "INDEX_BUSY"),
    errors.StateReplacedError: (503, "STATE_REPLACED"),
    errors.DatabaseUnavailableError: (503, "DATABASE_UNAVAILABLE"),
    errors.StorageError: (503, "STORAGE"),
    errors.PromptuaryError: (422, "REFUSED"),
}
"""The status and the code of each error; one that is not listed has those of the error that it is derived from."""

_TITLES: Final = {
    400: "The request is wrong",
    401: "A token is needed",
    403: "The token does not allow this",
    404: "Nothing is here",
    405: "Not this method",
    408: "The request came too slowly",
    409: "Something else is going on",
    412: "It has changed",
    413: "The request is too large",
    415: "Send JSON",
    421: "Another server is meant",
    422: "This cannot be done",
    428: "Say what you have read",
    429: "A limit is reached",
    502: "The model's service failed",
    503: "Not now",
}


class Problem(Struct, frozen=True, omit_defaults=True):
    """An error as it is sent. ``current`` is the note as it is now, if somebody else has changed it."""

    title: str
    status: int
    detail: str
    code: str
    type: str = "about:blank"
    current: Any = None
    result: Any = None
    size: int | None = None


def problem_of(error: PromptuaryError) -> Problem:
    """Return how an error is answered."""
    status, code = next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
    if isinstance(error, SourceError):
        return Problem(_TITLES[status], status, error.reason, str(error.code), size=error.size)
    current = error.current if isinstance(error, NoteConflictError) else None
    result = error.result if isinstance(error, RunFailedError) else None
    return Problem(_TITLES[status], status, str(error), code, current=current, result=result)


def plain_problem(status: int, detail: str, code: str = "") -> Problem:
    """Return a problem of a request that never reached a method."""
    return Problem(_TITLES.get(status, "It failed"), status, detail, code or f"HTTP_{status}")


def error_of(problem: Problem) -> PromptuaryError:
    """Return the error that a problem stands for, as the method itself would raise it."""
    for kind, (_, code) in _CODES.items():
        if code and code == problem.code:
            if kind is errors.NoteConflictError:
                return NoteConflictError(problem.detail, problem.current)
            if kind is errors.RunFailedError:
                return RunFailedError(problem.detail, problem.result)
            return _rebuilt(kind, problem.detail)
    if problem.code in Code.__members__:
        return SourceError(Code(problem.code), problem.detail, size=problem.size)
    return PromptuaryError(problem.detail or f"the server answered with HTTP status {problem.status}")


def _rebuilt(kind: type[PromptuaryError], message: str) -> PromptuaryError:
    """Return an error with a message, whatever its constructor takes."""
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error

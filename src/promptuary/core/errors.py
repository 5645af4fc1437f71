"""Every error of the library, and every code a reference can end with.

    PromptuaryError
    ├── ConfigError      a setting is wrong; nothing was done
    └── SourceError      one source could not be had; carries a Code and says what to do

A ``SourceError`` is never a reason to lose the rest of a message: whoever resolves references
turns it into that reference's outcome.
"""

from enum import StrEnum
from typing import Literal

Status = Literal["included", "degraded", "refused", "missing", "failed"]
"""How a reference ended: in whole, in less detail, not allowed, not there, or tried without success."""


class Code(StrEnum):
    """Why a source was refused, missing or failed. Stable: programs match on these."""

    # What a rule refuses.
    PATH_TRAVERSAL = "PATH_TRAVERSAL"
    ABSOLUTE_PATH = "ABSOLUTE_PATH"
    SYMLINK = "SYMLINK"
    BAD_NAME = "BAD_NAME"
    OTHER_DEVICE = "OTHER_DEVICE"
    DISALLOWED_EXTENSION = "DISALLOWED_EXTENSION"
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    SENSITIVE_PATH = "SENSITIVE_PATH"
    NOT_A_FILE = "NOT_A_FILE"
    NOT_A_FOLDER = "NOT_A_FOLDER"
    BINARY = "BINARY"
    BAD_RANGE = "BAD_RANGE"
    BAD_REVISION = "BAD_REVISION"
    BAD_URL = "BAD_URL"
    BAD_PATTERN = "BAD_PATTERN"
    BLOCKED_ADDRESS = "BLOCKED_ADDRESS"
    UNSUPPORTED_TYPE = "UNSUPPORTED_TYPE"
    RESPONSE_TOO_LARGE = "RESPONSE_TOO_LARGE"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    # What is not there.
    NOT_FOUND = "NOT_FOUND"
    NO_MATCH = "NO_MATCH"
    NOT_INDEXED = "NOT_INDEXED"
    NOT_A_REPOSITORY = "NOT_A_REPOSITORY"
    # What was tried in vain.
    PERMISSION_DENIED = "PERMISSION_DENIED"
    READ_FAILED = "READ_FAILED"
    GIT_FAILED = "GIT_FAILED"
    FETCH_FAILED = "FETCH_FAILED"
    TIMEOUT = "TIMEOUT"
    NEEDS_EXTRA = "NEEDS_EXTRA"
    INTERNAL = "INTERNAL"

    @property
    def status(self) -> Status:
        """The family this code belongs to."""
        if self in _MISSING:
            return "missing"
        if self in _FAILED:
            return "failed"
        return "refused"


_MISSING = frozenset({Code.NOT_FOUND, Code.NO_MATCH, Code.NOT_INDEXED, Code.NOT_A_REPOSITORY})
_FAILED = frozenset(
    {
        Code.PERMISSION_DENIED,
        Code.READ_FAILED,
        Code.GIT_FAILED,
        Code.FETCH_FAILED,
        Code.TIMEOUT,
        Code.NEEDS_EXTRA,
        Code.INTERNAL,
    }
)


class PromptuaryError(Exception):
    """Something went wrong in Promptuary."""


class ConfigError(PromptuaryError):
    """A setting is wrong; the message names it and what it may be."""


class SourceError(PromptuaryError):
    """One source could not be had.

    ``reason`` is a sentence for the person who wrote the reference: what is wrong and what to do.
    It names the source as the person wrote it, never an absolute path of the host.
    """

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason

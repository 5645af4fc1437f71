"""Every error of the package, and every code that a reference can fail with.

    PromptuaryError                  catch this to catch all
    ├── ConfigError                  a setting or an argument is wrong; nothing was done
    ├── SourceError                  one source could not be fetched; it has a Code and a reason
    ├── ServiceRefusedError          a service did not accept a request; it has the HTTP status
    ├── ServerSaidError              a tool server of the person refused something; it has the server's words apart
    ├── RelayError                   a service did not answer, or not to the end; it has the HTTP status to answer with
    │   └── NotReachedError          it has not got the request, as far as can be known: it may be sent again
    ├── ModelAnswerError             a model's answer does not have the requested format
    ├── RunFailedError               a model did not complete its answer; it has what was recorded of the turn
    ├── PlatformError                a chat platform refused a request; a retry does not help
    │   ├── PlatformUnreachableError  it could not be reached, or failed; a retry may help
    │   │   └── RateLimitedError     it asks to wait for some seconds
    │   └── BadTokenError            it does not accept the token
    ├── LayerInitError               a layer that is required could not be started
    ├── ConflictError                a thread was changed by somebody else since it was read
    │   └── ThreadBusyError          a model is answering in a thread, so no other turn can begin in it
    ├── NoteConflictError            a note was changed by somebody else since it was read
    ├── UnknownNoteError             there is no note with that name, or none that the principal may see
    ├── NothingIndexedError          no folder is indexed, so nothing can be searched
    ├── UnknownExperienceError       there is no experience with that id, or none of the principal
    ├── UnknownSessionError          there is no session with that name
    ├── UnknownPromptError           there is no prompt with that name
    ├── PromptNotAcceptedError       a prompt came with the workspace, and the person has not read it yet
    ├── SecretError                  a text to be stored contains a secret
    ├── FrontMatterError             the front matter of a note cannot be read, or cannot be written
    └── StorageError                 something stored cannot be used
        ├── DatabaseDamagedError     a database cannot be read
        ├── ForeignStateError        a database belongs to somebody else; adopt or remove it
        ├── StateReplacedError       a database was removed or replaced while it was in use
        ├── DatabaseUnavailableError  a database server does not answer; a retry may help
        ├── TargetInUseError         what is to be copied would replace something else
        ├── SourceInUseError         what is to be copied is being written
        ├── UnknownFormatError       a file is not Promptuary's, or of a later version
        ├── IndexDamagedError        a part of the index cannot be read; it is rebuilt from the files
        ├── IndexBusyError           another process is writing the index
        ├── LockTimeoutError         another process or thread holds a lock
        └── NoteFileError            a file of the memory cannot be read or written safely

The message of a plain ``PromptuaryError`` says what went wrong and what to do. A ``SourceError`` never loses the rest
of a message: inside ``expand`` it becomes the outcome of its reference.
"""

import errno
from enum import StrEnum
from typing import Any, Final, Literal

Status = Literal["included", "degraded", "refused", "missing", "failed"]
"""How a reference ended: whole, in less detail, refused by a rule, not there, or failed."""


class Code(StrEnum):
    """Why a source was refused, missing or failed. Stable: programs match on these."""

    # Refused by a rule.
    PATH_TRAVERSAL = "PATH_TRAVERSAL"
    ABSOLUTE_PATH = "ABSOLUTE_PATH"
    SYMLINK = "SYMLINK"
    BAD_NAME = "BAD_NAME"
    OTHER_DEVICE = "OTHER_DEVICE"
    DISALLOWED_EXTENSION = "DISALLOWED_EXTENSION"
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    SENSITIVE_PATH = "SENSITIVE_PATH"
    CLOSED_FOLDER = "CLOSED_FOLDER"
    OUTSIDE_SESSION = "OUTSIDE_SESSION"
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
    HOLDS_SECRET = "HOLDS_SECRET"  # noqa: S105  (a name)
    NOT_REMEMBERED = "NOT_REMEMBERED"
    NOT_AVAILABLE = "NOT_AVAILABLE"
    # Missing.
    NOT_FOUND = "NOT_FOUND"
    NO_MATCH = "NO_MATCH"
    NOT_INDEXED = "NOT_INDEXED"
    NOT_A_REPOSITORY = "NOT_A_REPOSITORY"
    # Failed.
    PERMISSION_DENIED = "PERMISSION_DENIED"
    READ_FAILED = "READ_FAILED"
    CONVERSION_FAILED = "CONVERSION_FAILED"
    WRITE_FAILED = "WRITE_FAILED"
    GIT_FAILED = "GIT_FAILED"
    FETCH_FAILED = "FETCH_FAILED"
    TIMEOUT = "TIMEOUT"
    NEEDS_EXTRA = "NEEDS_EXTRA"
    INTERNAL = "INTERNAL"

    @property
    def status(self) -> Status:
        """The status of a reference that ends with this code."""
        if self in _MISSING:
            return "missing"
        if self in _FAILED:
            return "failed"
        return "refused"


TRANSIENT_CODES: Final = frozenset({Code.READ_FAILED, Code.PERMISSION_DENIED, Code.NOT_FOUND, Code.TIMEOUT})
"""Codes that say nothing about the content of a file: its entries in the index stay, and it is retried."""


_MISSING = frozenset({Code.NOT_FOUND, Code.NO_MATCH, Code.NOT_INDEXED, Code.NOT_A_REPOSITORY})
_FAILED = frozenset(
    {
        Code.PERMISSION_DENIED,
        Code.READ_FAILED,
        Code.CONVERSION_FAILED,
        Code.WRITE_FAILED,
        Code.GIT_FAILED,
        Code.FETCH_FAILED,
        Code.TIMEOUT,
        Code.NEEDS_EXTRA,
        Code.INTERNAL,
    }
)


_SHORTAGES: Final = {
    errno.EMFILE: "this process has too many files open; close some, or raise the limit (ulimit -n).",
    errno.ENFILE: "too many files are open on this machine; end some programs.",
    errno.ENOSPC: "the disk is full, and nothing was added to it. Make room and repeat.",
    errno.EDQUOT: "your share of the disk is used up, and nothing was added to it. Make room and repeat.",
    errno.ENOMEM: "there is not enough memory; end some programs and repeat.",
}

NO_THREADS: Final = "no more threads can be started; end some programs, or raise the limit (ulimit -u)"


def shortage(number: int | None) -> str:
    """Return what has run out and what to do, for an error number of the system; empty for any other error."""
    return _SHORTAGES.get(number or 0, "")


CLOSED: Final = "This Promptuary is closed; open the workspace again."
"""The error message for any use after it was closed."""


class PromptuaryError(Exception):
    """Something went wrong. The message says what to do."""


class ConfigError(PromptuaryError):
    """A setting or an argument is wrong. The message names it and the values that it may have."""


class SourceError(PromptuaryError):
    """One source could not be fetched.

    ``reason`` is a sentence for the person who wrote the reference: what is wrong and what to do.
    It names the source as the person wrote it, never an absolute path of the host. ``size`` is in bytes, where it tells
    a model something about what it does not get.
    """

    def __init__(self, code: Code, reason: str, *, size: int | None = None) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.size = size


class ServiceRefusedError(PromptuaryError):
    """A service that the person configured did not accept a request."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class ServerSaidError(PromptuaryError):
    """A server refused something: ``said`` are its words, which are not to be trusted and not in the message."""

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


class RelayError(PromptuaryError):
    """A service did not answer, or its answer broke off. ``status`` is what to tell the client that waits for it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class NotReachedError(RelayError):
    """The connection could not be made, or an idle one was closed: the service has not answered the request."""


class ModelAnswerError(PromptuaryError):
    """A model answered, but not in the requested format."""


class RunFailedError(PromptuaryError):
    """The model did not complete its answer.

    ``result`` is the ``core.runs.RunResult`` of what was recorded of the turn; ``None`` if nothing had arrived: then
    the turn counts as failed and is not in the history.
    """

    def __init__(self, reason: str, result: Any = None) -> None:  # core.runs imports this module
        super().__init__(reason)
        self.result = result


class PlatformError(PromptuaryError):
    """The platform refused a request; a retry does not help."""


class PlatformUnreachableError(PlatformError):
    """The platform could not be reached, or failed; a retry may help.

    ``may_have_arrived``: a message may have been delivered nevertheless.
    """

    def __init__(self, reason: str, *, may_have_arrived: bool = False) -> None:
        super().__init__(reason)
        self.may_have_arrived = may_have_arrived


class RateLimitedError(PlatformUnreachableError):
    """The platform asks to wait for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the platform asks to wait {seconds:g} s")
        self.seconds = seconds


class BadTokenError(PlatformError):
    """The platform does not accept the token."""


class LayerInitError(PromptuaryError):
    """A layer that is required could not be started, so no turn can be prepared."""


class ConflictError(PromptuaryError):
    """The thread has changed since it was read. Read it again and repeat."""


class ThreadBusyError(ConflictError):
    """A model is answering in the thread. Wait until it has answered, or use another thread."""


class NoteConflictError(PromptuaryError):
    """The note has changed since the writer read it; ``current`` is its current ``Note``, ``None`` if it is gone."""

    def __init__(self, message: str, current: Any = None) -> None:  # notes are defined above this module
        super().__init__(message)
        self.current = current


class NothingIndexedError(PromptuaryError):
    """No folder is indexed, so nothing can be searched."""


class UnknownNoteError(PromptuaryError):
    """There is no note with that id or path, or none that the principal may see."""


class UnknownExperienceError(PromptuaryError):
    """There is no experience with that id, or none that belongs to the principal."""


class UnknownSessionError(PromptuaryError):
    """There is no session with that name."""


class UnknownPromptError(PromptuaryError):
    """There is no prompt with that name."""


class PromptNotAcceptedError(PromptuaryError):
    """A prompt came with the workspace, and the person has not read it, or not since it changed. It is not used."""


class SecretError(PromptuaryError):
    """A text to be stored contains a secret. Nothing was stored."""

    def __init__(self) -> None:
        super().__init__(
            "this looks like it holds a password, a key or a token, which is not stored; say where it is kept instead"
        )


class FrontMatterError(PromptuaryError):
    """The front matter of a note cannot be read, or cannot be written. The message says what is wrong with it."""


class StorageError(PromptuaryError):
    """Something that Promptuary stored cannot be used."""


class DatabaseDamagedError(StorageError):
    """A database cannot be read, or does not hold what was written to it."""


class ForeignStateError(StorageError):
    """A database came with a clone, or belongs to somebody else. It is not used until the person adopts it."""


class StateReplacedError(StorageError):
    """A database was removed or replaced while it was in use. The last write is not stored."""


class DatabaseUnavailableError(StorageError):
    """A database server is away, or too slow. Try again later."""


class TargetInUseError(StorageError):
    """What is to be copied would replace something else."""


class SourceInUseError(StorageError):
    """What is to be copied is being written."""


class UnknownFormatError(StorageError):
    """A database is not Promptuary's, or was made by a later version. It was not changed."""


class IndexDamagedError(StorageError):
    """A part of the index cannot be read. Nothing is lost: it is rebuilt from the files."""


class IndexBusyError(StorageError):
    """Another process holds the lock of the index."""


class LockTimeoutError(StorageError):
    """Another process or thread held a lock for longer than the timeout."""


class NoteFileError(StorageError):
    """A file of the memory cannot be used: it is a link, or too large, or outside the folder, or the disk fails."""


def how_to_install(extra: str, *, only: tuple[str, ...] = (), again: bool = False) -> str:
    """Return the command that adds the packages of an extra to the running installation, wherever that came from.

    ``only`` names those of its packages that are needed.

    It names these packages, because Promptuary itself may have come from a repository or a folder. pipx is used if that
    made the installation, and uv if there is no pip in it.
    """
    import re  # noqa: PLC0415  (all of these only for hints)
    import site  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import sysconfig  # noqa: PLC0415
    from importlib import metadata, util  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415
    from shlex import join, quote  # noqa: PLC0415

    marker = re.compile(rf"""\s*;\s*extra == ["']{re.escape(extra)}["']$""")
    # Not on all of sys.path, which may begin with the current folder: anybody may have written what is there.
    places = [str(Path(__file__).parents[2]), sysconfig.get_path("purelib"), site.getusersitepackages()]
    known = next(iter(metadata.distributions(name="promptuary", path=places)), None)
    needed = (known and known.requires) or ()
    wanted = [marker.sub("", one) for one in needed if marker.search(one)] or [f".[{extra}]"]
    wanted = [one for one in wanted if not only or one.startswith(only)] or list(only)
    if "pipx" in sys.prefix.replace("\\", "/").split("/"):
        command = "pipx runpip promptuary install"
    elif util.find_spec("pip") is None:
        command = f"uv pip install --python {quote(sys.executable)}"
    else:
        command = f"{quote(sys.executable)} -m pip install"
    return f"{command}{' --force-reinstall' if again else ''} {join(wanted)}"

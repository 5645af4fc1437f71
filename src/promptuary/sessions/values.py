"""The values of sessions: what a conversation may see, at which revisions, and what has changed since.

A ``Session`` is a name over a thread. ``Pins`` are the revisions that it was made with. A ``Sight`` is made from both
and decides whether a turn may see something: all code that reads files, notes or experiences asks it. A ``Reach`` does
the same for people who are not trusted with a whole workspace, such as those who write to a chat gateway. Values only,
no input or output.
"""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Final, Literal, NamedTuple

from msgspec import Struct, field

from promptuary.base.errors import Code, ConfigError, ConflictError, SourceError
from promptuary.base.principals import NoteScope
from promptuary.base.references import KEYWORDS, KINDS
from promptuary.base.text import one_line
from promptuary.base.values import shown_without

SessionStatus = Literal["active", "archived"]
"""No turn is prepared in the thread of an archived session."""

Choice = Literal["all", "chosen", "none"]
"""Which notes or experiences a session has: all that existed, some that were named, or none."""

WORKSPACE: Final = ""
"""The root that holds every file: a path relative to the workspace."""

_OF_FILES: Final = frozenset({"file", "folder", "glob", "symbol", "search", "path"})
_OF_NOTES: Final = frozenset({"memory", "remember"})
_MOST_NAMED: Final = 5


HOST_KINDS: Final = frozenset({"clipboard"})
"""Kinds that reach the local user rather than the workspace: nobody else gets them."""

REMOTE_KINDS: Final = frozenset({*KINDS, *KEYWORDS} - HOST_KINDS)
"""Every kind that a ``Reach`` may have."""

OPEN_KINDS: Final = frozenset({"url", "memory", "remember"})
"""Kinds that need no workspace: pages, and the notes of the caller."""

_OF_GIT: Final = frozenset({"commit", "diff", "git", "staged", "status"})
_TOLD: Final = frozenset(
    {
        Code.BAD_RANGE,
        Code.BAD_REVISION,
        Code.BAD_URL,
        Code.UNSUPPORTED_TYPE,
        Code.RESPONSE_TOO_LARGE,
        Code.BUDGET_EXCEEDED,
        Code.HOLDS_SECRET,
        Code.NOT_REMEMBERED,
    }
)
"""Codes whose reasons reveal only what the caller wrote, or may read."""


class FilePin(NamedTuple):
    """A file when it was pinned. ``modified`` is in nanoseconds; with the size it mostly shows whether it changed."""

    sha256: str
    size: int
    modified: int


NotePin = tuple[NoteScope, str]
"""Which note was pinned: an id is unique in its scope only."""


class Pins(Struct, frozen=True):
    """The pinned revisions of a session: of every file, note and experience, by path, note and id.

    ``pages`` are the texts that people wrote into the lists of notes: hashes by scope and path.
    """

    files: Mapping[str, FilePin] = field(default_factory=dict)
    notes: Mapping[NotePin, str] = field(default_factory=dict)
    experiences: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return shown_without(self, "files")


class Session(Struct, frozen=True):
    """A name, a thread, and what that thread may see. Times are ISO 8601 in UTC.

    ``roots`` are files and folders of the workspace; none means all of it. ``memory``: turns recall notes and
    experiences, and may write them. ``version`` counts how often the session was pinned. The counts are those of the
    pins.
    """

    id: str
    name: str
    thread: str
    created: str
    pinned: str
    roots: tuple[str, ...] = ()
    notes: Choice = "all"
    experiences: Choice = "all"
    memory: bool = True
    status: SessionStatus = "active"
    version: int = 1
    files_pinned: int = 0
    notes_pinned: int = 0
    experiences_pinned: int = 0


class Difference(Struct, frozen=True):
    """What differs from the pins, by name."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    gone: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.added) + len(self.changed) + len(self.gone)


class SessionReport(Struct, frozen=True):
    """A session, and what has changed since it was pinned."""

    session: Session
    files: Difference = Difference()
    notes: Difference = Difference()
    experiences: Difference = Difference()

    @property
    def is_current(self) -> bool:
        """Whether everything still matches the pins."""
        return not (len(self.files) or len(self.notes) or len(self.experiences))


class Sight(Struct, frozen=True):
    """What the turns of one thread may see: all code that reads on behalf of a turn asks it.

    ``roots`` are paths relative to the workspace; ``WORKSPACE`` covers all files, and no root at all covers none.
    """

    session: Session
    pins: Pins
    roots: tuple[str, ...] = (WORKSPACE,)

    def __repr__(self) -> str:
        return shown_without(self, "pins")

    @classmethod
    def of(cls, session: Session, pins: Pins) -> "Sight":
        """Return what a session sees."""
        return cls(session, pins, session.roots or (WORKSPACE,))

    @property
    def key(self) -> tuple[str, int]:
        """A key for caches; it changes whenever the session is pinned again."""
        return self.session.id, self.session.version

    @property
    def whole(self) -> bool:
        """Whether every file of the workspace is inside."""
        return WORKSPACE in self.roots

    def check_open(self) -> None:
        """Raise ``ConflictError`` if the session is archived."""
        if self.session.status == "archived":
            name = one_line(self.session.name)
            raise ConflictError(
                f"the session {name!r} of this thread is archived; "
                f"`promptuary thread archive --undo {quote(name)}` brings it back"
            )

    def covers(self, path: str) -> bool:
        """Return whether a path, relative to the workspace and in normal form, is inside the roots."""
        return any(not root or path == root or path.startswith(f"{root}/") for root in self.roots)

    def leads_to(self, folder: str) -> bool:
        """Return whether a folder is inside the roots, or above one of them."""
        return self.covers(folder) or any(not folder or root.startswith(f"{folder}/") for root in self.roots)

    def refusal(self, path: str) -> SourceError | None:
        """Return the error for reading a path; ``None`` if it is inside. It does not say whether the path exists."""
        return None if self.covers(path) else self.outside(f'"{one_line(path)[:120]}"')

    def kind_refusal(self, kind: str) -> SourceError | None:
        """Return the error for a kind of reference that reaches beyond files, where roots are named."""
        if kind in _OF_NOTES and not self.session.memory:
            return SourceError(
                Code.OUTSIDE_SESSION,
                f"the session {self.name!r} is without memory; make one with memory, or send this in another thread.",
            )
        if self.whole or kind in _OF_FILES | _OF_NOTES:
            return None
        return self.outside(f"@{kind}")

    def sees_experience(self, experience: str, rev: str) -> bool:
        """Return whether turns may see an experience: it is pinned and unchanged since."""
        return self.session.memory and self.pins.experiences.get(experience) == rev

    def outside(self, what: str) -> SourceError:
        """Return the error that says what a session does not see, and what to do."""
        roots = named(self.roots) or "no files"
        return SourceError(
            Code.OUTSIDE_SESSION,
            f"{what} is outside of the session {self.name!r}, which sees {roots}; "
            "send this in another thread, or make a session with more roots.",
        )

    @property
    def name(self) -> str:
        """The name of the session on one line."""
        return one_line(self.session.name)


class Reach(Struct, frozen=True):
    """What messages may refer to: ``kinds`` of references, and ``folders`` of the workspace.

    A refusal reads the same as a missing file, so that nobody learns from it what exists.

    Folders are relative to the workspace and in normal form; ``""`` is all of it, and none means no file. ``hosts`` are
    those that ``@url`` may fetch from although they are not public.
    """

    kinds: frozenset[str] = OPEN_KINDS
    folders: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if unknown := sorted(self.kinds - REMOTE_KINDS):
            raise ConfigError(f"{unknown[0]} cannot be an allowed kind; use {', '.join(sorted(REMOTE_KINDS))}")
        for folder in self.folders:
            if (
                folder.startswith("/")
                or folder.endswith("/")
                or {"..", ".", ""} & set(folder.split("/") if folder else ())
            ):
                raise ConfigError(f"{folder!r} is not a folder of the workspace in its plain form, such as docs/guides")

    @property
    def whole(self) -> bool:
        """Whether every file of the workspace is inside."""
        return "" in self.folders

    def covers(self, path: str) -> bool:
        """Return whether a path, relative to the workspace and in normal form, is inside the folders."""
        return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in self.folders)

    def leads_to(self, folder: str) -> bool:
        """Return whether a folder is inside the folders, or above one of them."""
        return self.covers(folder) or any(not folder or one.startswith(f"{folder}/") for one in self.folders)

    def allows(self, kind: str) -> bool:
        """Return whether a kind of reference may be used at all; a path without a kind is that of a file."""
        kind = "file" if kind == "path" else kind
        return kind in self.kinds and (self.whole or kind not in _OF_GIT)

    def told(self, kind: str, error: SourceError) -> SourceError:
        """Return the error as the caller may see it: the same for what is refused and for what does not exist."""
        return error if error.code in _TOLD and self.allows(kind) else unavailable(kind)


def unavailable(kind: str) -> SourceError:
    """Return the one error for everything that the caller may not have, whether it exists or not."""
    what = "it cannot be fetched from here" if kind == "url" else "it is not available here"
    return SourceError(Code.NOT_AVAILABLE, what)


def named(names: Sequence[str]) -> str:
    """Return some names in a sentence: the first few, and how many more there are."""
    more = len(names) - _MOST_NAMED
    return ", ".join(map(one_line, names[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def difference(pinned: Mapping[str, object], now: Mapping[str, object]) -> Difference:
    """Return what is added, changed and gone since something was pinned, each sorted."""
    return Difference(
        sorted(now.keys() - pinned.keys()),
        sorted(name for name in now.keys() & pinned.keys() if now[name] != pinned[name]),
        sorted(pinned.keys() - now.keys()),
    )

"""What a reader may read, list, search and fetch: one value, which everything that reads asks.

The settings of the person say which names may be read. ``Access.limited`` narrows that for people who are not trusted
with a whole workspace, such as those who write to a chat gateway, and ``Access.during`` for the turns of a session.
Decides by names alone: it opens nothing, and does not know what exists.
"""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import Code, ConfigError, ConflictError, SourceError
from promptuary.base.references import KEYWORDS, KINDS
from promptuary.base.text import list_names, one_line, without_forged_masks
from promptuary.base.values import fields_without, shown_without
from promptuary.workspace.disk.protected_folders import ProtectedFolders, protected_error
from promptuary.workspace.disk.root import comparable, display_path
from promptuary.workspace.disk.secret_values import mask_secrets
from promptuary.workspace.disk.sensitive_names import ALLOWED, IMAGES, PICTURES, STEMS, is_sensitive, is_too_long

if TYPE_CHECKING:
    from promptuary.base.principals import NoteScope
    from promptuary.sessions.values import Session

WORKSPACE: Final = ""
"""The folder that holds every file: a path relative to the workspace."""

HOST_KINDS: Final = frozenset({"clipboard"})
"""Kinds that reach the local user rather than the workspace: nobody else gets them."""

REMOTE_KINDS: Final = frozenset({*KINDS, *KEYWORDS} - HOST_KINDS)
"""Every kind that people may have who are not trusted with a whole workspace."""

OPEN_KINDS: Final = frozenset({"url", "memory", "remember"})
"""Kinds that need no workspace: pages, and the notes of the caller."""

_OF_FILES: Final = frozenset({"file", "folder", "glob", "symbol", "search", "path"})
_OF_NOTES: Final = frozenset({"memory", "remember"})
_OF_GIT: Final = frozenset({"commit", "diff", "git", "staged", "status"})
_DISCLOSED: Final = frozenset(
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

_MIB: Final = 1024 * 1024
_MAX_SHOWN: Final = 120

Action = Literal["read", "list", "see", "use"]
"""Read a file; list a folder; learn whether something is at a path; use a kind of reference."""


class FilePin(NamedTuple):
    """A file when it was pinned. ``modified`` is in nanoseconds; with the size it mostly shows whether it changed."""

    sha256: str
    size: int
    modified: int


NotePin = tuple["NoteScope", str]
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


class Access(Struct, frozen=True):
    """What a reader may read, list, search and fetch.

    ``kinds`` of references, ``folders`` of the workspace and ``hosts`` say what messages may refer to; no ``kinds``
    means all, for people who are trusted with the workspace. Folders are relative to it and in normal form; ``""`` is
    all of it, and none means no file. From ``hosts``, each with a port or for all of them, pages may be fetched even if
    they are not public.

    ``session`` is that of the thread that reads, with its ``pins``, and ``roots`` are the files and folders that it
    sees.

    ``allowed`` holds extensions with their dot and whole names, in lower case; names without an extension are always
    allowed. ``also`` holds what a person allows in addition; ``*`` is every extension. ``allow_sensitive`` holds names,
    or paths relative to the workspace, that a person allows explicitly, whatever they are called. Nothing opens
    what is ``protected``: Promptuary's own folders. ``None`` protects none, for reading the configuration in them.
    """

    kinds: frozenset[str] | None = None
    folders: tuple[str, ...] = (WORKSPACE,)
    hosts: frozenset[str] = frozenset()
    session: "Session | None" = None
    pins: Pins = Pins()
    roots: tuple[str, ...] = (WORKSPACE,)
    max_bytes: int = _MIB
    allowed: frozenset[str] = ALLOWED
    also: frozenset[str] = frozenset()
    allow_sensitive: frozenset[str] = frozenset()
    protected: ProtectedFolders | None = field(default_factory=ProtectedFolders)
    fetch_timeout: float = 15.0
    """Seconds for a whole fetch."""
    max_page_bytes: int = 2 * _MIB
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})

    def __post_init__(self) -> None:
        if unknown := sorted((self.kinds or frozenset()) - REMOTE_KINDS):
            raise ConfigError(f"{unknown[0]} cannot be an allowed kind; use {', '.join(sorted(REMOTE_KINDS))}")
        for folder in self.folders:
            if (
                folder.startswith("/")
                or folder.endswith("/")
                or {"..", ".", ""} & set(folder.split("/") if folder else ())
            ):
                raise ConfigError(f"{folder!r} is not a folder of the workspace in its plain form, such as docs/guides")

    def __repr__(self) -> str:
        return shown_without(self, "allowed", "pins")

    def __hash__(self) -> int:
        return hash(fields_without(self, "pins"))

    @classmethod
    def limited(
        cls,
        kinds: frozenset[str] = OPEN_KINDS,
        folders: tuple[str, ...] = (),
        hosts: frozenset[str] = frozenset(),
    ) -> "Access":
        """Return the access of people who are not trusted with the whole workspace; by default, none of it.

        A refusal reads the same as a missing file, so that nobody learns from it what exists.
        """
        return cls(kinds, folders, hosts)

    def during(self, session: "Session", pins: Pins) -> "Access":
        """Return what the turns of a session may see of this."""
        return replace(self, session=session, pins=pins, roots=session.roots or (WORKSPACE,))

    def narrow(self, other: "Access") -> "Access":
        """Return as much of this as ``other`` allows to its people and in its session."""
        narrow = replace(self, folders=_common(self.folders, other.folders), roots=_common(self.roots, other.roots))
        if other.session is not None:
            narrow = replace(narrow, session=other.session, pins=other.pins)
        if other.kinds is None:
            return narrow
        # The person's own exceptions are not for others.
        kinds, hosts = other.kinds, other.hosts
        if self.kinds is not None:
            kinds, hosts = kinds & self.kinds, hosts & self.hosts
        return replace(narrow, kinds=kinds, hosts=hosts, allow_sensitive=frozenset())

    @property
    def is_limited(self) -> bool:
        """Whether the reader is not trusted with the whole workspace: then no error says what exists."""
        return self.kinds is not None

    @property
    def is_whole(self) -> bool:
        """Whether every file of the workspace is inside."""
        return WORKSPACE in self.folders and WORKSPACE in self.roots

    @property
    def session_key(self) -> tuple[str, int] | None:
        """A key for caches; it changes whenever the session is pinned again. ``None`` without a session."""
        return None if self.session is None else (self.session.id, self.session.version)

    @property
    def session_name(self) -> str:
        """The name of the session on one line."""
        return "" if self.session is None else one_line(self.session.name)

    @property
    def has_memory(self) -> bool:
        """Whether turns recall and write notes and experiences."""
        return self.session is None or self.session.memory

    # The one question

    def allows(self, action: Action, what: str) -> bool:
        """Return whether a reader may do this."""
        return self.refusal(action, what) is None

    def refusal(self, action: Action, what: str, shown: str = "") -> SourceError | None:
        """Return the error for an action; ``None`` if it is allowed. ``what`` is a path in normal form, or a kind.

        ``shown`` is what the reader called it, if that is not ``what``.
        """
        match action:
            case "read":
                return self._refusal_to_read(what, shown)
            case "list":
                return self._refusal_to_list(what)
            case "see":
                return None if self.leads_to(what) else self._outside(what)
            case "use":
                return self._refusal_to_use(what)

    def check_open(self) -> None:
        """Raise ``ConflictError`` if the session is archived."""
        if self.session is not None and self.session.status == "archived":
            name = self.session_name
            raise ConflictError(
                f"the session {name!r} of this thread is archived; "
                f"`promptuary thread archive --undo {quote(name)}` brings it back"
            )

    def disclose(self, kind: str, error: SourceError) -> SourceError:
        """Return an error as the reader may see it: the same for what is refused and for what does not exist."""
        if not self.is_limited or (error.code in _DISCLOSED and self._has_kind(kind)):
            return error
        return _unavailable(kind)

    # Paths

    def covers(self, path: str) -> bool:
        """Return whether a path, relative to the workspace and in normal form, is inside what the reader may see."""
        return _covers(self.folders, path) and _covers(self.roots, path)

    def leads_to(self, folder: str) -> bool:
        """Return whether a folder is inside what the reader may see, or above a part of it."""
        return self.is_whole or any(
            _covers((place,), folder) or not folder or place.startswith(f"{folder}/") for place in self.places()
        )

    def places(self) -> tuple[str, ...]:
        """Return the files and folders that hold all that the reader may see; none if that is nothing."""
        return _common(self.folders, self.roots)

    def inside(self, paths: Sequence[str]) -> Sequence[str]:
        """Return those of ``paths`` that the reader may see."""
        return paths if self.is_whole else [path for path in paths if self.covers(path)]

    def protects(self, path: str) -> bool:
        """Return whether ``path``, a file or a folder, is in a folder of Promptuary's own."""
        return self.protected is not None and self.protected.holds(path)

    def is_sensitive(self, path: str) -> bool:
        """Return whether ``path``, a file or a folder in normal form, must not be read or listed."""
        if is_too_long(path) or self.protects(path):
            return True
        names = comparable(path)
        return is_sensitive(names) and not self._allows_by_name(names)

    def for_images(self, max_bytes: int) -> "Access":
        """Return the access to images that models accept, unless the person allows only certain extensions."""
        also = self.also | IMAGES if self.allowed is ALLOWED else self.also
        return replace(self, max_bytes=max_bytes, also=also)

    # What is in them

    def mask(self, text: str, *paths: str) -> str:
        """Return ``text``, which comes from ``paths``, with its secrets masked unless the person allows these names.

        What only looks like a mask is spelled differently: a file cannot claim that something was masked in it.
        """
        text = without_forged_masks(text)
        return text if paths and all(map(self.allows_secrets, paths)) else mask_secrets(text)

    def allows_secrets(self, path: str) -> bool:
        """Return whether the person allows the file ``path`` by name, including secrets in it."""
        return self._allows_by_name(comparable(path))

    def sees_experience(self, experience: str, rev: str) -> bool:
        """Return whether turns may see an experience: in a session, it is pinned and unchanged since."""
        return self.session is None or (self.session.memory and self.pins.experiences.get(experience) == rev)

    def _refusal_to_read(self, path: str, shown: str) -> SourceError | None:
        if is_too_long(path):
            start = one_line(path[:_MAX_SHOWN])
            return SourceError(Code.BAD_NAME, f'"{start}…" is longer than the name of a file can be; rename it.')
        if self.protects(path):
            return protected_error(path)
        if not self.covers(path):
            return self._outside(path, shown)
        names = comparable(path)
        if self._allows_by_name(names):
            return None
        if is_sensitive(names):
            return SourceError(
                Code.SENSITIVE_PATH,
                f'"{one_line(path)}" is a usual name for secrets, so it is not read; '
                "if it holds none, allow it by name (--allow-sensitive, or allow_sensitive in your configuration).",
            )
        return None if self._has_text_name(names[-1]) else _not_text(path, names[-1])

    def _refusal_to_list(self, folder: str) -> SourceError | None:
        if self.protects(folder):
            return protected_error(folder)
        if not self.leads_to(folder):
            return self._outside(folder, display_path(folder))
        if folder and self.is_sensitive(folder):
            return SourceError(
                Code.SENSITIVE_PATH, f"{display_path(folder)} is a folder for secrets, so it is not listed."
            )
        return None

    def _refusal_to_use(self, kind: str) -> SourceError | None:
        if not self._has_kind(kind):
            return _unavailable(kind)
        if kind in _OF_NOTES and not self.has_memory:
            return SourceError(
                Code.OUTSIDE_SESSION,
                f"the session {self.session_name!r} is without memory; "
                "make one with memory, or send this in another thread.",
            )
        # What is neither a file nor a note reaches beyond the roots.
        return None if WORKSPACE in self.roots or kind in _OF_FILES | _OF_NOTES else self.outside_session(f"@{kind}")

    def _has_kind(self, kind: str) -> bool:
        """Return whether a kind of reference may be used at all; a path without a kind is that of a file."""
        kind = "file" if kind == "path" else kind
        return self.kinds is None or (kind in self.kinds and (WORKSPACE in self.folders or kind not in _OF_GIT))

    def _outside(self, path: str, shown: str = "") -> SourceError:
        """Return the error for a path that is not inside. It does not say whether the path exists."""
        if not _covers(self.folders, path):
            return _unavailable("file")
        return self.outside_session(shown or f'"{one_line(path)[:_MAX_SHOWN]}"')

    def outside_session(self, what: str) -> SourceError:
        """Return the error that says what a session does not see, and what to do."""
        roots = list_names(self.roots) or "no files"
        return SourceError(
            Code.OUTSIDE_SESSION,
            f"{what} is outside of the session {self.session_name!r}, which sees {roots}; "
            "send this in another thread, or make a session with more roots.",
        )

    def _allows_by_name(self, names: list[str]) -> bool:
        if not self.allow_sensitive:
            return False
        path = "/" + "/".join(names)
        return any(path.endswith("/" + "/".join(comparable(name))) for name in self.allow_sensitive)

    def _has_text_name(self, name: str) -> bool:
        stem, dot, extension = name.rpartition(".")
        if not stem or not dot or extension.isdigit():
            return True
        if {f".{extension}", name, "*"} & self.also or f".{extension}" in self.allowed or name in self.allowed:
            return True
        return self.allowed is ALLOWED and name.split(".", 1)[0] in STEMS


WHOLE: Final = Access()
"""Every file that the rules for names allow."""


def _covers(places: Sequence[str], path: str) -> bool:
    return any(not place or path == place or path.startswith(f"{place}/") for place in places)


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the places that are inside both."""
    inside = [place for place in first if _covers(second, place)]
    return tuple(dict.fromkeys([*inside, *(place for place in second if _covers(first, place))]))


def _unavailable(kind: str) -> SourceError:
    """Return the one error for everything that the reader may not have, whether it exists or not."""
    what = "it cannot be fetched from here" if kind == "url" else "it is not available here"
    return SourceError(Code.NOT_AVAILABLE, what)


def _not_text(path: str, name: str) -> SourceError:
    if name.endswith(tuple(IMAGES)):
        reason = (
            "is a picture, and only text is attached in this way; @file: attaches it for a model that takes images."
        )
    elif name.endswith(PICTURES):
        reason = (
            "is a picture, and only text is attached; write what is to be seen in it, "
            "or give the picture to the model beside this message."
        )
    else:
        reason = (
            "has an extension that is not known to be text; "
            "if it is, allow it (--allow-extension, or allowed_extensions in your configuration)."
        )
    return SourceError(Code.DISALLOWED_EXTENSION, f'"{one_line(path)}" {reason}')

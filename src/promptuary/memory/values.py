"""The values of durable memory: notes, who may see them, and what happened to them.

A note is a Markdown file with front matter that a person may read, edit and delete. The shared rules are only here: who
sees a note (``visible_to``), how it is named (``slug``, ``note_path``), which ids are valid. Values only, no input or
output.
"""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypedDict

from msgspec import Struct
from msgspec.structs import force_setattr

from promptuary.base.principals import NoteScope, Owner
from promptuary.base.values import fields_without
from promptuary.database.feed import Follower
from promptuary.search.values import RecordResult, Why

if TYPE_CHECKING:
    from promptuary.threads.ledger_values import ThreadSize

Audience = Literal["private", "shared"]
"""Who may read a note: its owner alone, or everybody who uses the agent in that place."""

NoteKind = Literal["user", "feedback", "project", "reference"]
"""What a note is about: the person, how to work, the project, or where something is found."""


NoteStatus = Literal["active", "archived", "frozen"]
"""An archived note is not recalled; a frozen one is neither recalled nor changed by anybody but the person."""

NoteSource = Literal["manual", "tool", "writeback", "import"]
"""How a note came to be: a person wrote it, an agent's tool did, a model after a turn, or another memory's files."""

NoteTrust = Literal["person", "agent", "external"]
"""Whose words a note holds, from the most trusted to the least. Only code assigns it, and nothing can raise it."""

AUDIENCES: Final[tuple[Audience, ...]] = ("private", "shared")
KINDS: Final[tuple[NoteKind, ...]] = ("user", "feedback", "project", "reference")
SCOPES: Final[tuple[NoteScope, ...]] = ("project", "user")
STATUSES: Final[tuple[NoteStatus, ...]] = ("active", "archived", "frozen")

LEGACY_KINDS: Final[Mapping[str, NoteKind]] = {"profile": "user", "qa": "reference"}
_LEGACY_ARGUMENTS: Final = {"memoryId": "memory_id", "relativePath": "relative_path", "kind": "type"}
"""Kinds of older memories, and what they are now. Their folders are still read."""

HAND: Final = "hand"
"""Who changed a note without this program: somebody with an editor."""

INDEX_NAME: Final = "MEMORY.md"
"""The file in each audience that lists its notes for a person."""

_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]{2,62}[a-z0-9])", re.IGNORECASE | re.ASCII)
_MAX_SLUG: Final = 48
_FOLDER_NAME: Final = re.compile(r"(?!.*-[0-9a-f]{8}\Z)[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)
"""Names that are valid folder names. None can be the folder of another name: those end with a hash."""
_MAX_FOLDER: Final = 32
_DAY: Final = len("2026-01-31")
_NEAR: Final = 0.55
"""The share of the best score that a note needs to be recalled with the best."""
_MOST_NEAR: Final = 3
"""The most such notes, unless they are as good as the best: the answer is one of them, and mostly the first."""
_AS_GOOD: Final = 0.9


class NoteHeader(Struct, frozen=True, gc=False):
    """The metadata of a note, without its text. Times are ISO 8601 in UTC, empty if unknown.

    ``path`` begins with the audience (``private/user/likes-tabs-4f1c….md``) and is relative to the agent's folder.
    ``rev`` is the SHA-256 of the whole file. ``owner`` is the owner that the journal recorded, ``None`` for a shared
    note that nobody here wrote. ``valid_from`` and ``valid_until`` bound when it is true; ``supersedes`` is the id of
    the note that it replaces. ``external``: it came from elsewhere and is treated as data until somebody adopts it.
    ``fingerprint`` is equal for notes that say the same, whatever their case and spacing. ``problem`` says what is
    wrong with the file, if anything is.
    """

    id: str
    path: str
    scope: NoteScope
    audience: Audience
    kind: NoteKind
    title: str
    rev: str
    owner: Owner | None = None
    status: NoteStatus = "active"
    summary: str = ""
    tags: tuple[str, ...] = ()
    created_at: str = ""
    created_by: str = ""
    updated_at: str = ""
    updated_by: str = ""
    source: NoteSource = "manual"
    source_ref: str = ""
    valid_from: str = ""
    valid_until: str = ""
    supersedes: str = ""
    pinned: bool = False
    confidence: float = 1.0
    trust: NoteTrust = "person"
    external: bool = False
    fingerprint: str = ""
    problem: str = ""

    @property
    def address(self) -> str:
        """How receipts and the ledger name it."""
        return f"memory:{self.id}"


class Note(Struct, frozen=True):
    """A note as a whole: ``text`` is the file byte for byte, ``body`` what follows its front matter.

    ``similar`` are older notes about the same, of a note that was just written: it may contradict or replace them.
    """

    header: NoteHeader
    body: str
    text: str
    similar: Sequence[NoteHeader] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Note):
            return NotImplemented
        return fields_without(self, "similar") == fields_without(other, "similar")

    def __hash__(self) -> int:
        return hash(fields_without(self, "similar"))

    @property
    def hint(self) -> str:
        """What to do about the notes that this one may contradict; empty if there are none."""
        if not self.similar:
            return ""
        old = self.similar[0]
        replaces = f"promptuary memory write --id {self.header.id} --supersedes {old.id}"
        return f"the note {old.id} is about the same ({old.title}); if it is no longer true: {replaces}"


class NoteDraft(Struct, frozen=True):
    """The fields of a note to write. ``None`` keeps the value of an existing note, or uses the default of a new one.

    ``id`` names the note to update. ``title`` defaults to the first words of ``content``. ``created_at`` and
    ``updated_at`` are for what was written elsewhere; for all else they are now. A legacy ``kind`` is taken, too.
    """

    content: str | None = None
    title: str | None = None
    id: str | None = None
    kind: NoteKind | None = None
    audience: Audience | None = None
    scope: NoteScope | None = None
    status: NoteStatus | None = None
    summary: str | None = None
    tags: Sequence[str] | None = None
    source: NoteSource = "manual"
    source_ref: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    supersedes: str | None = None
    pinned: bool | None = None
    confidence: float | None = None
    trust: NoteTrust = "person"
    created_at: str | None = None
    updated_at: str | None = None

    def __post_init__(self) -> None:
        """Replace a legacy kind: here every door passes."""
        if self.kind is not None and self.kind in LEGACY_KINDS:
            force_setattr(self, "kind", LEGACY_KINDS[self.kind])


class NoteFields(TypedDict, total=False):
    """The optional fields of a note beside its content, as keyword arguments. See ``NoteHeader``."""

    title: str
    id: str
    kind: NoteKind
    audience: Audience
    scope: NoteScope
    status: NoteStatus
    summary: str
    tags: Sequence[str]
    valid_from: str
    valid_until: str
    supersedes: str
    pinned: bool
    confidence: float


class NoteSelection(TypedDict, total=False):
    """Filters for notes, as keyword arguments; those not given match every note."""

    kinds: Sequence[NoteKind]
    audiences: Sequence[Audience]
    scopes: Sequence[NoteScope]
    statuses: Sequence[NoteStatus]
    tags: Sequence[str]


class NoteHit(Struct, frozen=True):
    """A note that matches a query; ``text`` are its best matching lines. ``named``: the query has its name."""

    header: NoteHeader
    text: str
    score: float
    why: Why
    named: bool = False


class MemoryResult(RecordResult[NoteHit], frozen=True):
    """The notes that a search found."""

    @property
    def answers(self) -> bool:
        """Whether the first hits probably answer the query, or the query names any of them."""
        return super().answers or any(hit.named for hit in self.hits)

    @property
    def near(self) -> Sequence[NoteHit]:
        """The hits that the query names, and those that probably answer."""
        best = max((hit.score for hit in self.hits), default=0.0)
        likely = [
            hit
            for place, hit in enumerate(self.hits if best > 0 else ())
            if hit.score >= (_NEAR if place < _MOST_NEAR else _AS_GOOD) * best
        ]
        answering = likely if self.confidence >= 1 else ()
        return [*(hit for hit in self.hits if hit.named), *(hit for hit in answering if not hit.named)]


class NoteList(Struct, frozen=True):
    """Notes, and how many match in all. ``complete``: no files were left that still had to be read."""

    headers: Sequence[NoteHeader]
    total: int
    complete: bool = True

    def __iter__(self) -> Iterator[NoteHeader]:
        """Iterate over the notes."""
        return iter(self.headers)

    def __len__(self) -> int:
        """Return how many notes there are here; ``total`` may be more."""
        return len(self.headers)


ForeignForm = Literal["promptuary", "xpert", "claude-code", "codex", "basic-memory", "markdown"]
"""Which program wrote the files of another memory."""


class ImportReport(Struct, frozen=True):
    """The result of an import: the new notes, how many existed already, and what was left out and why."""

    form: ForeignForm
    imported: Sequence[NoteHeader] = ()
    known: int = 0
    skipped: Mapping[str, str] | None = None


ChangeKind = Literal["create", "update", "archive", "restore", "adopt", "undo", "edit", "delete", "forget"]
"""What happened to a note. ``edit`` and ``delete`` were done by hand and found later."""


class NoteChange(Struct, frozen=True, gc=False):
    """An entry of the journal. ``text`` is the file after the change, ``None`` where it is gone or forgotten.

    ``number`` counts up in one journal and is 0 before the change is recorded. ``actor`` is who did it, as
    ``user/agent``, or ``HAND`` for what was found changed on disk. ``trust`` says whose words the note held then;
    ``None``, in journals that were restored: the text does.
    """

    note: str
    kind: ChangeKind
    at: str
    actor: str
    rev: str
    path: str
    text: str | None = None
    reason: str = ""
    before: str = ""
    number: int = 0
    trust: NoteTrust | None = None


class NoteStamp(NamedTuple):
    """The state of a file in the file system; it differs after every change. Times are nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int


class KnownFile(Struct, frozen=True):
    """A file as the journal last saw it; ``recorded``: this exact content was written here, or adopted.

    ``trust`` says whose words it holds: only the journal does, whatever the file says.
    """

    path: str
    note: str
    rev: str
    stamp: NoteStamp
    recorded: bool
    trust: NoteTrust


class NoteFilter(Struct, frozen=True):
    """A filter: a note with one of these audiences, kinds and statuses, and with all of these tags. Empty matches any.

    ``fingerprint`` matches notes with the same content.
    """

    audiences: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("active",)
    tags: tuple[str, ...] = ()
    fingerprint: str = ""
    limit: int | None = None


class NoteView(Protocol):
    """The notes of one agent that one owner may see. No method takes an owner, so none can return another owner's."""

    def header(self, key: str) -> NoteHeader | None:
        """Return the note with this id, or at this path."""
        ...

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the matching notes, pinned ones first, then the most recently updated."""
        ...

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes match."""
        ...

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note, the oldest change first; nothing if it is not visible.

        Changes from when a note was private are visible only to its owner, even after it was shared. A note whose file
        is gone stays visible to the owners who could see it last.
        """
        ...

    def changed_until(self, at: str, needs_text: Callable[[NoteChange], bool] = bool) -> Sequence[NoteChange]:
        """Return the last change of every visible note at or before a time.

        ``text`` is ``None`` if the note did not exist at that time, and empty where it is not needed.
        """
        ...

    def texts(self) -> Iterator[tuple[str, str]]:
        """Return the id and the text of every note that is recorded, as it was written last: all of them at once."""
        ...

    def follow(self) -> Follower:
        """Return what tells which notes have changed, whoever changed them."""
        ...


PlaceKind = Literal["thread", "summary", "proposal", "queue", "experience", "typed"]
"""Where a text also occurs: said or shown in a thread, in a summary of one, in a proposal, in a turn that waits, learnt
as an experience, or among the lines that were typed in chats."""


class Place(Struct, frozen=True, order=True):
    """Where the text of a forgotten note also occurs. ``name`` is the thread, or the id of a proposal or an experience.

    ``turn`` is the number of the turn in its thread, 0 where there is none.
    """

    kind: PlaceKind
    name: str
    turn: int = 0


class ForgetReport(Struct, frozen=True):
    """The result of forgetting a note, or of a dry run.

    ``prompts`` is how many stored prompts, receipts and states it was taken out of. ``places`` are where somebody said
    the same words; ``redacted``: they were removed there, too. ``in_git``: git tracks the file, so its history still
    has it.
    """

    note: str
    path: str = ""
    prompts: int = 0
    places: Sequence[Place] = ()
    redacted: bool = False
    in_git: bool = False
    done: bool = True


FindingCode = Literal[
    "UNADOPTED",
    "OTHER_OWNER",
    "DUPLICATE_ID",
    "NOT_A_NOTE",
    "UNREADABLE",
    "BROKEN_LINK",
    "EXPOSED",
    "TRACKED_BY_GIT",
    "LEFTOVERS",
    "LIST_OUTDATED",
    "INDEX_OUTDATED",
    "FORGETTING_UNFINISHED",
    "WRITEBACK_FAILED",
    "DATABASE",
    "NOTES_IN_FILES",
    "STATE_IN_FILE",
]
"""The kind of a finding. Stable: programs match on these."""


class Finding(Struct, frozen=True):
    """One problem: a sentence about it, where it is, and a sentence about how to solve it.

    ``fixable``: it can be repaired without losing anything. ``fixed``: it was.
    """

    code: FindingCode
    problem: str
    where: str = ""
    advice: str = ""
    fixable: bool = False
    fixed: bool = False


class Examination(Struct, frozen=True):
    """What was checked, by name with a count, and what was found. ``threads`` has the size of each thread."""

    counts: Sequence[tuple[str, int]] = ()
    findings: Sequence[Finding] = ()
    threads: "Sequence[ThreadSize]" = ()

    @property
    def is_well(self) -> bool:
        """Whether nothing is left to do."""
        return all(finding.fixed for finding in self.findings)


def visible_to(header: NoteHeader, owner: Owner) -> bool:
    """Return whether ``owner`` may see a note. Every code path that reads notes asks this."""
    if header.audience == "shared":
        return True
    return header.owner is not None and header.owner == owner


def is_by_agent(header: NoteHeader) -> bool:
    """Return whether an agent wrote a note here."""
    return not header.external and header.source in {"tool", "writeback"}


def they_wait(count: int) -> str:
    """Return the sentence that tells the person how many notes wait, and what to do."""
    said = "1 note was not written here and waits" if count == 1 else f"{count:,} notes were not written here and wait"
    return f"{said}: `promptuary memory adopt` lists what you may take over"


def valid_at(header: NoteHeader, at: str) -> bool:
    """Return whether what a note says was true at a time, ISO 8601 in UTC. A bound without a time is the whole day."""
    until = header.valid_until
    ended = bool(until) and (at[: len(until)] > until if len(until) <= _DAY else at >= until)
    return header.valid_from <= at and not ended


def new_note_id() -> str:
    """Return a new id: twelve characters, so that it can be typed."""
    return secrets.token_hex(6)


def is_note_id(text: str) -> bool:
    """Return whether ``text`` can be the id of a note: letters, digits, hyphens and underscores, so never a path."""
    return _ID.fullmatch(text) is not None


def slug(title: str) -> str:
    """Return a title as a part of a file name: letters and digits in lower case, with ``-`` between words."""
    folded = unicodedata.normalize("NFKC", title).lower()
    words = re.sub(r"[\W_]+", "-", folded).strip("-")
    return words[:_MAX_SLUG].strip("-") or "memory"


def folder_name(name: str) -> str:
    """Return a folder name for any name: the name itself if it is valid, else a readable and unique one."""
    if _FOLDER_NAME.fullmatch(name):
        return name
    return f"{slug(name)[:_MAX_FOLDER]}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def note_path(audience: Audience, kind: NoteKind, title: str, note: str) -> str:
    """Return the path of a new note in its agent's folder. An update keeps the path that a note has."""
    return f"{audience}/{kind}/{slug(title)}-{note}.md"


def plain_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool for notes without null values, legacy names and legacy kinds."""
    named = {_LEGACY_ARGUMENTS.get(str(key), str(key)): value for key, value in given.items() if value is not None}
    if isinstance(kind := named.get("type"), str):
        named["type"] = LEGACY_KINDS.get(kind, kind)
    return named

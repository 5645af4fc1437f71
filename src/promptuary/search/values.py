"""The values of search: chunks of files, queries and hits, and what an index reports about itself.

Values only, no input or output. A chunk is always whole lines, so that its lines slice back to exactly its text.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from posixpath import dirname, join, normpath
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, assert_never
from unicodedata import normalize

from msgspec import Struct, field

from promptuary.base.errors import TRANSIENT_CODES, Code, ConfigError
from promptuary.base.files import Stamp
from promptuary.base.references import format_reference
from promptuary.base.text import one_line
from promptuary.base.values import fields_without, shown_without
from promptuary.models.protocols import Embedder

FileKind = Literal["markdown", "code", "text", "data"]
"""The kind of a file for search: prose with headings, source code, other prose, configuration and tables."""

FILE_KINDS: tuple[FileKind, ...] = ("markdown", "code", "text", "data")


CONTEXT: Final = 2
"""The version of ``Chunk.context``. Vectors of another version are not used."""


_NOTE_ENDINGS: Final = (".md", ".markdown", ".mdx")


def note_name(path: str) -> str:
    """Return the name by which links find a file: without folders, and without the ending of a note."""
    return _spelled(path).rpartition("/")[2]


def _spelled(path: str) -> str:
    """Return a path in one spelling, without the ending of a note."""
    plain = normalize("NFC", path).casefold()
    return plain.removesuffix(next((one for one in _NOTE_ENDINGS if plain.endswith(one)), ""))


def as_tag(text: str) -> str:
    """Return a tag as it is compared: without ``#``, in one spelling. ``work/plans`` is below *work*."""
    return normalize("NFC", text).casefold().strip().lstrip("#").strip("/")


class NoteLink(NamedTuple):
    """A link in a note: the path that it points at, as it is written, and what that file is called there."""

    target: str
    text: str

    @property
    def name(self) -> str:
        """The name of the file that it points at, see ``note_name``."""
        return note_name(self.target)

    def pointed_at(self, source: str, paths: Iterable[str]) -> str | None:
        """Return which of ``paths`` the link points at if it is in the file ``source``; all of them have its ``name``.

        The path from that file is meant, else the path from the top, else a file whose path ends so: people leave out
        folders. Of several the shortest path is taken, of equally long ones the first.
        """
        written = _spelled(self.target)
        beside, top = normpath(join(dirname(_spelled(source)), written)), normpath(written).lstrip("/")

        def distance(path: str) -> int:
            key = _spelled(path)
            return 0 if key == beside else 1 if key == top else 2 if f"/{key}".endswith(f"/{top}") else 3

        nearest = min(((distance(path), len(path), path) for path in paths), default=(3, 0, ""))
        return nearest[2] if nearest[0] < 3 else None


class Chunk(Struct, frozen=True):
    """Some whole lines of a file. ``start_line`` and ``end_line`` count from one, both included.

    ``text`` is exactly these lines, joined by line feeds. ``heading`` says where in the file they are: the headings
    above them, or the names of the definitions around them, the outermost first.

    ``own`` is what people say in a whole conversation, on its first chunk, else empty. ``names`` are the title,
    the aliases and the tags of the note. ``date`` is when this part of the file was written, in seconds since 1970, if
    the file says so; else the date of the file counts. ``links`` are those in the text that give other files a name.
    ``days`` are those that the file says it is of, see ``chunks.days``, in order, as days since 1970.
    """

    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...] = ()
    own: str = ""
    names: tuple[str, ...] = ()
    date: int | None = None
    links: tuple[NoteLink, ...] = ()
    days: tuple[int, ...] = ()

    @property
    def sha256(self) -> str:
        """The hash of heading and text, which identifies what is embedded: the other fields are not part of that."""
        return self.digest.hex()

    @property
    def digest(self) -> bytes:
        """The same hash as bytes."""
        whole = "\x1f".join((*self.heading, self.text)) if self.heading else self.text
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()

    @property
    def context(self) -> str:
        """The text to embed: preceded by those headings that are not in it."""
        above = " > ".join(title for title in self.heading if title not in self.text)
        return f"{above}\n{self.text}" if above else self.text


UNREAD: Final = "0" * 64
"""The ``sha256`` of a file that is indexed without content: binary, too large, not allowed."""


class IndexedFile(Struct, frozen=True):
    """A file as the index knows it. ``date`` is seconds since 1970: a date of its own, else its last change.

    ``tags`` are those of a note, as ``as_tag`` spells them.
    """

    path: str
    stamp: Stamp
    sha256: str
    kind: FileKind
    date: int
    tags: tuple[str, ...] = ()


_MAX_NUMBER: Final = 2**53
"""The largest number that every part of the index can compare, and JSON can carry."""


class Filters(Struct, frozen=True):
    """The filters of a search. An empty one matches everything; ``since`` and ``until`` are seconds since 1970.

    ``paths`` are globs, files or folders, with ``!`` before what is excluded: relative to the workspace, relative to
    the indexed folder, or absolute. a relative one is first tried from ``current_folder`` (absolute), if it matches any
    file there; ``workspace`` is filled in by the search. ``tags``: notes with one of them, or with one below it.
    ``within`` are further paths, of which a file must have one, too: what the reader may see.
    """

    folders: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[FileKind, ...] = ()
    labels: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    current_folder: str = ""
    workspace: str = ""
    tags: tuple[str, ...] = ()
    within: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("folders", "paths", "kinds", "labels", "tags", "within"):
            if isinstance(value := getattr(self, name), str):
                raise ConfigError(f"{name} of a search are a tuple of strings: {name}=({value!r},)")
        if unknown := [kind for kind in self.kinds if kind not in FILE_KINDS]:
            raise ConfigError(f"{unknown[0]!r} is not a kind of file; use {', '.join(FILE_KINDS)}")
        if not all(map(as_tag, self.tags)):
            raise ConfigError("a tag of a search has no name; use one such as work or work/plans")
        if any(abs(date) > _MAX_NUMBER for date in (self.since, self.until) if date is not None):
            raise ConfigError("since and until of a search are seconds since 1970; this number is no such date")

    def __bool__(self) -> bool:
        return self != Filters()


class SearchQuery(Struct, frozen=True):
    """A question as any text, the most hits to return, and what may be among them.

    ``lexical_only`` compares words and not meaning. ``per_file`` is how many passages of one document are returned at
    most; 0 means any number. A conversation in a file of several is a document. ``merge_copies`` makes one hit of those
    with the same text.
    """

    text: str
    limit: int = 10
    filters: Filters = Filters()
    lexical_only: bool = False
    per_file: int = 1
    merge_copies: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.limit <= _MAX_NUMBER and 0 <= self.per_file <= _MAX_NUMBER):
            raise ConfigError("limit and per_file of a search are numbers of hits, from 0 on")


class Words(Struct, frozen=True):
    """A query parsed for full-text search: each part is what a person typed, not yet analysed.

    ``phrases`` must be in a hit word for word, ``prefixes`` are beginnings of words, ``terms`` are the rest.
    ``quotations`` are phrases that need not be in a hit; their words are among the terms. ``respelled`` are words of
    the terms that no text has, each with a similar word; see ``SearchIndex.respelled``.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    quotations: tuple[str, ...] = ()
    respelled: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        return len(self.terms) + len(self.phrases) + len(self.prefixes)


TimeEffect: TypeAlias = Literal["", "decides", "leans"]


class Why(Struct, frozen=True):
    """The parts of a hit's score. ``None``: it was not compared in that way.

    ``lexical`` is how many of the query's words the text explains: a rare one counts for more than one. ``meaning`` is
    the ``cosine`` against its background: about 0 for a text that has nothing to do with the query. ``length`` is what
    was taken off because a long document has many chances. ``share`` is ``lexical`` as a part of all the words.
    ``foreign``: the model does not know the language of the query or of the text, so that words decide. ``time`` says
    what became of its being from the time that the query names: that decided, or made it a little better.
    """

    lexical: float | None = None
    cosine: float | None = None
    match: Callable[[], tuple[str, ...]] = field(default_factory=lambda: tuple)
    rerank: float | None = None
    meaning: float | None = None
    length: float = 0.0
    share: float = 0.0
    foreign: bool = False
    time: TimeEffect = ""

    def __repr__(self) -> str:
        return shown_without(self, "match")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Why):
            return NotImplemented
        return fields_without(self, "match") == fields_without(other, "match")

    def __hash__(self) -> int:
        return hash(fields_without(self, "match"))

    @property
    def matched(self) -> tuple[str, ...]:
        """The words of the query that are in the text; ``rolback ~ rollback`` if one is there spelled differently.

        Computed on access: most hits never need it.
        """
        return self.match()


_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./")


class Hit(Struct, frozen=True):
    """One chunk that answers a query.

    ``folder`` is the indexed folder and ``path`` the file in it; ``workspace`` is the root of the workspace that was
    searched. ``date`` is that of the chunk if it has one, else that of the file. ``said_at`` is when it was said, if it
    is a part of a dated chat. ``copies`` are other places with the same text. ``more`` is how many passages of its
    document match as well and are beyond ``SearchQuery.per_file``.
    """

    folder: str
    path: str
    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...]
    kind: FileKind
    date: int
    sha256: str
    score: float
    why: Why
    workspace: str = ""
    said_at: int | None = None
    copies: tuple[str, ...] = ()
    more: int = 0

    @property
    def place(self) -> str:
        """The lines as a reference names them: ``@file:{place}`` attaches them.

        The path is relative to the workspace, and quoted where that is needed. Outside the workspace it is absolute:
        an editor can open it, ``@file:`` refuses it.
        """
        path = f"{self.folder.rstrip('/')}/{self.path}"
        if self.workspace:
            path = path.removeprefix(f"{self.workspace.rstrip('/')}/")
        lines = f":{self.start_line}-{self.end_line}"
        if path[-1:].isalnum() and _PLAIN.issuperset(path):
            return f"{path}{lines}"
        return format_reference("file", path, lines).removeprefix("@file:")


HeldReason = Literal["missing", "empty", "unreadable"]
"""Why the files of a folder are not deleted from the index: the folder is gone, has no files, or cannot be listed."""


class FolderHeld(Struct, frozen=True, tag=True):
    """Files of an indexed folder cannot be seen, so their entries in the index were kept.

    ``inside`` is the folder below ``folder`` that cannot be listed, if it is not all of ``folder``. ``detail`` is an
    optional explanation for a person.
    """

    folder: str
    reason: HeldReason
    inside: str = ""
    detail: str = ""


class FilesSkipped(Struct, frozen=True, tag=True):
    """Files that could not be indexed, by their absolute paths, and why."""

    files: Mapping[str, Code]


class FilesUnparsed(Struct, frozen=True, tag=True):
    """Files of code that take too long to parse, by their absolute paths; they were indexed by paragraphs."""

    files: tuple[str, ...]


class IgnoreRulesCut(Struct, frozen=True, tag=True):
    """Ignore files that have more rules than are applied, by their absolute paths: they hide less than they say."""

    files: tuple[str, ...]


class IndexBusy(Struct, frozen=True, tag=True):
    """The index lacks something: another thread of this process (``here``), or another process, is writing it.

    ``reason`` is why it could not be written, if that failed.
    """

    here: bool = False
    reason: str = ""


class IndexRebuilt(Struct, frozen=True, tag=True):
    """The index was damaged and was rebuilt from the files."""


class SearchedByWordsOnly(Struct, frozen=True, tag=True):
    """The query could not be embedded, so that only words were compared."""

    reason: str


class NotReranked(Struct, frozen=True, tag=True):
    """The reranker did not answer, so that the hits are in the order of words and meaning."""

    reason: str


class FilesUnpinned(Struct, frozen=True, tag=True):
    """Files of a session, by their paths in the workspace, that are left out: they changed since it was pinned."""

    session: str
    files: tuple[str, ...]


SearchNote: TypeAlias = (
    FolderHeld
    | FilesSkipped
    | FilesUnparsed
    | IgnoreRulesCut
    | IndexBusy
    | IndexRebuilt
    | SearchedByWordsOnly
    | NotReranked
    | FilesUnpinned
)
"""A note for a person about the result of a search or a sync."""

_NAMED: Final = 5
"""How many files are named in a sentence; a folder may be full of them."""


def why_text(why: Why) -> str:
    """Return why something was found, in a few words for a receipt."""
    words = [f"words {', '.join(why.matched[:5])}"] if why.matched else []
    cosine = [f"cosine {why.cosine:.2f}"] if why.cosine is not None else []
    return "; ".join([*words, *cosine]) or "found"


def note_text(note: SearchNote) -> str:
    """Return ``note`` as a sentence for a person."""
    match note:
        case FolderHeld():
            return f"{_why_held(note)}; its entries in the index were kept"
        case FilesSkipped(files):
            named = ", ".join(f"{one_line(path)} ({code})" for path, code in list(files.items())[:_NAMED])
            more = len(files) - _NAMED
            rest = f" and {more:,} more (promptuary index --rebuild --json lists all)" if more > 0 else ""
            large = "; raise max_file_size to index large ones" if Code.FILE_TOO_LARGE in files.values() else ""
            misnamed = "; rename what has no valid name" if Code.BAD_NAME in files.values() else ""
            broken = "; @file: of a document says why" if Code.CONVERSION_FAILED in files.values() else ""
            return f"skipped {named}{rest}{large}{misnamed}{broken}"
        case FilesUnparsed(paths):
            return f"indexed by paragraphs, since parsing takes too long: {_some(paths)}"
        case IgnoreRulesCut(paths):
            return f"too many rules to apply all, so files that they should hide may be indexed: {_some(paths)}"
        case IndexBusy(reason=reason) if reason:
            return f"not everything was searched, since it could not be indexed: {reason}"
        case IndexBusy(here=True):
            return "not everything was searched: it is still being indexed; try again soon"
        case IndexBusy():
            return "another process is indexing; the latest changes are not in the index yet"
        case IndexRebuilt():
            return "the index was damaged and has been rebuilt; nothing was lost"
        case SearchedByWordsOnly(reason):
            return f"searched by words only: {reason}"
        case NotReranked(reason):
            return f"not reranked: {reason}"
        case FilesUnpinned(session, paths):
            pin = f"`promptuary thread refresh {session}` pins them as they are now"
            return f"left out, since they changed after the session {session!r} was pinned: {_some(paths)}; {pin}"
        case _:
            assert_never(note)


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _why_held(note: FolderHeld) -> str:
    match note.reason:
        case "missing":
            return f"{note.folder} is missing"
        case "empty":
            return f"{note.folder} has no files left"
        case "unreadable":
            path = f"{note.folder}/{note.inside}" if note.inside else note.folder
            return note.detail.rstrip(".") or f"{path} cannot be listed"
        case _:
            assert_never(note.reason)


class SearchResult(Struct, frozen=True):
    """The hits of a search, the best first. ``mode`` says what was compared: words, or words and meaning.

    ``auto_synced``: files had changed and were indexed first. ``partially_embedded``: some chunks have no vector yet.
    ``confidence`` says how sure it is that the first hits answer: below 1 they are probably just the nearest there is.
    """

    hits: Sequence[Hit] = ()
    mode: Literal["lexical", "hybrid"] = "lexical"
    auto_synced: bool = False
    partially_embedded: bool = False
    notes: tuple[SearchNote, ...] = ()
    confidence: float = 1.0

    @property
    def answers(self) -> bool:
        """Whether the first hits probably answer the query."""
        return bool(self.hits) and self.confidence >= 1


RecordHit = TypeVar("RecordHit", bound=Any)


class RecordResult(Struct, Generic[RecordHit], frozen=True):
    """The hits of a search for something other than files, the best first. See ``SearchResult`` for the fields."""

    hits: Sequence[RecordHit] = ()
    mode: Literal["lexical", "hybrid"] = "lexical"
    confidence: float = 1.0
    notes: tuple[SearchNote, ...] = ()

    @property
    def answers(self) -> bool:
        """Whether the first hits probably answer the query."""
        return bool(self.hits) and self.confidence >= 1

    @property
    def near(self) -> Sequence[RecordHit]:
        """The hits that probably answer: none unless the best does, and none with less than half of its score."""
        best = max((hit.score for hit in self.hits), default=0.0)
        return [hit for hit in self.hits if self.answers and 2 * hit.score >= best]


Search = Callable[[SearchQuery], SearchResult]
"""Answers a query from the index. Raises ``PromptuaryError`` if nothing is indexed."""


class SyncReport(Struct, frozen=True):
    """The result of a sync, counted in files.

    ``reread`` files were read again and are the same. ``skipped`` are the files that could not be read, by their
    absolute paths, and why: a file that is not text is reported once and retried when it has changed; one that is too
    large is reported by every sync of its folder. ``held`` are folders whose files were not deleted from the index
    although they cannot be seen. ``rebuilt``: the index was damaged. ``unparsed`` files of code took too long to parse
    and were indexed by paragraphs. ``cut_rules`` are ignore files that have more rules than are applied. ``left_out``
    counts files that tools hide or write, among those that were examined.
    """

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    reread: int = 0
    skipped: Mapping[str, Code] = field(default_factory=dict)
    held: tuple[FolderHeld, ...] = ()
    rebuilt: bool = False
    unparsed: tuple[str, ...] = ()
    cut_rules: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def has_changes(self) -> bool:
        """Whether the results of searches may have changed."""
        return bool(self.added or self.changed or self.moved or self.removed)

    def notes(self, *, recurring: bool = True) -> tuple[SearchNote, ...]:
        """Return the notes for a person; unless ``recurring``, without those that every sync of a folder reports."""
        again = () if recurring else {*TRANSIENT_CODES, Code.FILE_TOO_LARGE, Code.BAD_NAME}
        skipped = {path: code for path, code in self.skipped.items() if code not in again}
        rebuilt = (IndexRebuilt(),) if self.rebuilt else ()
        unparsed = (FilesUnparsed(self.unparsed),) if self.unparsed else ()
        cut = (IgnoreRulesCut(self.cut_rules),) if self.cut_rules and recurring else ()
        return (*rebuilt, *self.held, *((FilesSkipped(skipped),) if skipped else ()), *unparsed, *cut)

    def unchanged(self, counts: "IndexCounts") -> int:
        """Return how many of the indexed files are as they were before; most of them were not even opened."""
        return max(0, counts.files - self.added - self.changed - self.moved)

    def __add__(self, other: "SyncReport") -> "SyncReport":
        return SyncReport(
            added=self.added + other.added,
            changed=self.changed + other.changed,
            moved=self.moved + other.moved,
            removed=self.removed + other.removed,
            reread=self.reread + other.reread,
            skipped={**self.skipped, **other.skipped},
            held=(*self.held, *other.held),
            rebuilt=self.rebuilt or other.rebuilt,
            unparsed=(*self.unparsed, *other.unparsed),
            cut_rules=(*self.cut_rules, *other.cut_rules),
            left_out=self.left_out + other.left_out,
        )


class IndexCounts(Struct, frozen=True):
    """How much an index holds; ``unembedded`` chunks have no vector yet."""

    files: int = 0
    chunks: int = 0
    unembedded: int = 0


class FolderStatus(Struct, frozen=True):
    """An indexed folder with the number of its indexed files; ``missing``: it is not there at the moment."""

    path: str
    label: str
    files: int
    missing: bool


class IndexStatus(Struct, frozen=True):
    """The status of an index. ``embedder`` is the id of the embedder, empty if there is none.

    ``foreign`` is how many chunks are in each language that the embedder does not know, the most first.
    """

    folders: tuple[FolderStatus, ...] = ()
    counts: IndexCounts = IndexCounts()
    embedder: str = ""
    foreign: Mapping[str, int] = field(default_factory=dict)


class WatchModeChanged(Struct, frozen=True):
    """How changes are noticed from now on: by events, or by polling and then why."""

    mode: Literal["events", "polling"]
    reason: str = ""


class FilesSynced(Struct, frozen=True):
    """Files had changed and were indexed."""

    report: SyncReport


class ChunksEmbedded(Struct, frozen=True):
    """Chunks got their vectors, in ``seconds``; ``left`` still lack one."""

    count: int
    left: int = 0
    seconds: float = 0.0


class UpdateFailed(Struct, frozen=True):
    """An update failed and will be tried again."""

    reason: str


IndexUpdate: TypeAlias = WatchModeChanged | FilesSynced | ChunksEmbedded | UpdateFailed | SearchNote
"""An event of a watched index."""

SyncProgress = Callable[[int, int], None]
"""Called with how many files are done, of how many. An exception that it raises stops the sync."""

EmbedProgress = Callable[[int], bool]
"""Called with how many chunks are embedded. Returns whether to continue."""


def vector_space_id(embedder: Embedder) -> str:
    """Return the id under which vectors are stored: only vectors with the same id can be compared."""
    return f"{embedder.id}; context {CONTEXT}"

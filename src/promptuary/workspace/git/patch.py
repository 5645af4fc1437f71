"""Patches as values: what changed, in which files, without the files that policy withholds.

The files of a patch are never guessed from its text. Git is called twice with the same options: for the names,
separated by NUL and unquoted (``--raw -z``), and for the patch. The header of every section of the patch is predicted
from the names; a patch that does not match them one by one is refused as a whole. So a name with quotes, a file that
contains ``diff --git`` or a commit message that looks like a patch cannot get a withheld file past the policy: inside a
patch every line of content begins with a space, a sign or a backslash, and every line of a message with four spaces.

Pure: reads no file and starts no program.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.base.text import counted

MAX_COMMITS: Final = 100
"""How many commits a history shows at most."""

Refusal = Callable[[str], SourceError | None]
"""Returns the error for a path that may not be shown; ``None`` if it may."""

Mask = Callable[..., str]
"""Returns a text, its first argument, that comes from the paths that follow, without its secrets."""

_SECTION = re.compile(rb"^diff --(?:git|cc) ", re.MULTILINE)
_COMMIT = re.compile(rb"^commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
_HEX = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
PART: Final = re.compile(r"^(?=diff --(?:git|cc) |commit [0-9a-f]{40})", re.MULTILINE)
"""Where a file or a commit begins: no line of content or of a message can look like that."""
_HUNK = re.compile(rb"^(@@+) ", re.MULTILINE)
_ESCAPES = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}


class FileChange(Struct, frozen=True):
    """The change of one file; the counts are ``None`` if the patch was truncated before they were known."""

    path: str
    added: int | None
    removed: int | None
    binary: bool = False
    previous: str | None = None


class Patch(Struct, frozen=True):
    """A patch and the files that it changes. ``withheld`` names files that policy keeps out of ``text``.

    ``closed`` says that files in closed folders are left out, too: they have no names here, and are not counted.
    ``commits`` is how many commits it covers: none for uncommitted changes.
    """

    text: str
    files: tuple[FileChange, ...] = ()
    withheld: tuple[str, ...] = ()
    truncated: bool = False
    notes: tuple[str, ...] = ()
    commits: int = 0
    closed: bool = False

    def total(self) -> str:
        """Return how many files and lines are changed."""
        added = sum(file.added or 0 for file in self.files)
        removed = sum(file.removed or 0 for file in self.files)
        return f"{counted(len(self.files), 'file')} changed, +{added} −{removed}"

    def names(self) -> str:
        """Return the changed files, one per line."""
        return "\n".join(file.path for file in self.files)

    def mask(self, mask: Mask) -> "Patch":
        """Return this patch without the secrets in it; a message belongs to no path."""
        if mask(self.text) == self.text:
            return self
        paths = {f"diff --git a/{file.previous or file.path} b/{file.path}": (file.path,) for file in self.files}
        parts = (mask(part, *paths.get(part.partition("\n")[0], ())) for part in PART.split(self.text))
        return replace(self, text="".join(parts))

    def followed_by(self, other: "Patch") -> "Patch":
        """Return this patch with ``other`` appended."""
        return Patch(
            self.text + other.text,
            self.files + other.files,
            tuple(dict.fromkeys(self.withheld + other.withheld)),
            self.truncated or other.truncated,
            self.notes + other.notes,
            self.commits + other.commits,
            self.closed or other.closed,
        )


class PatchEntry(Struct, frozen=True):
    """One changed file as ``--raw`` lists it: every name that it had, the current one last."""

    status: str
    names: tuple[bytes, ...]
    optional: bool
    """Whether the patch may omit it: a conflict is listed once and shown as one section, or as none."""


class CommitEntries(Struct, frozen=True):
    """A commit's changed files; ``sha`` is empty for changes that are not committed."""

    sha: bytes
    entries: tuple[PatchEntry, ...]


class PatchMismatchError(ValueError):
    """The patch does not match the list of names: the files changed in between, or something is wrong."""


def parse_names(listed: bytes) -> list[CommitEntries]:
    """Parse the output of ``--raw -z`` (with ``--format=%H`` for a history)."""
    found: list[tuple[bytes, list[PatchEntry]]] = []
    tokens = iter(listed.split(b"\0"))
    for token in tokens:
        word = token.strip(b"\n")
        if word.startswith(b":"):
            if not found:
                found.append((b"", []))
            found[-1][1].append(_entry(word, tokens))
        elif _HEX.fullmatch(word):
            found.append((word, []))
        elif word:
            raise PatchMismatchError("the list of changed files cannot be read")
    return [CommitEntries(sha, _mark_conflicts(entries)) for sha, entries in found]


def _entry(head: bytes, tokens: Iterator[bytes]) -> PatchEntry:
    status = head.rsplit(b" ", 1)[-1].decode("ascii", "replace")
    count = 2 if status[0] in "RC" else 1
    names = tuple(name for _, name in zip(range(count), tokens, strict=False))
    if len(names) < count:
        raise PatchMismatchError("the list of changed files ends too early")
    return PatchEntry(status, names, optional=status[0] == "U")


def _mark_conflicts(entries: list[PatchEntry]) -> tuple[PatchEntry, ...]:
    unmerged = {entry.names[-1] for entry in entries if entry.status[0] == "U"}
    return tuple(
        PatchEntry(entry.status, entry.names, optional=True) if entry.names[-1] in unmerged else entry
        for entry in entries
    )


class _FileTotals(Struct):
    """The changes of each file so far, over all commits."""

    refusal: Refusal
    changes: dict[str, FileChange] = field(default_factory=dict)
    withheld: dict[str, None] = field(default_factory=dict)
    closed: bool = False
    _refused: dict[bytes, Code | None] = field(default_factory=dict)

    def allows(self, entry: PatchEntry) -> bool:
        """Return whether an entry may be shown; every name that it had must be allowed."""
        for name in entry.names:
            if name not in self._refused:
                error = self.refusal(name.decode("utf-8", "surrogateescape"))
                self._refused[name] = None if error is None else error.code
        codes = [self._refused[name] for name in entry.names]
        if codes[-1] is Code.CLOSED_FOLDER:
            self.closed = True
        elif any(codes):
            self.withheld.setdefault(display_name(entry.names[-1]))
        return not any(codes)

    def count(self, entry: PatchEntry, sections: Sequence[bytes], *, whole: bool) -> None:
        path = display_name(entry.names[-1])
        previous = display_name(entry.names[0]) if entry.names[0] != entry.names[-1] else None
        before = self.changes.get(path, FileChange(path, 0, 0, previous=previous))
        added, removed, binary = _counts(sections)
        known = whole and before.added is not None and before.removed is not None
        self.changes[path] = FileChange(
            path,
            (before.added or 0) + added if known else None,
            (before.removed or 0) + removed if known else None,
            before.binary or binary,
            before.previous or previous,
        )


def build_patch(commits: Sequence[CommitEntries], text: bytes, refusal: Refusal, *, truncated: bool = False) -> Patch:
    """Return the patch without the sections of files that may not be shown.

    Of a truncated text, only complete lines are used. Raises ``PatchMismatchError`` if ``text`` does not match
    ``commits``.
    """
    if truncated:
        text = text[: text.rfind(b"\n") + 1]
    if not commits and not text:
        return Patch("", truncated=truncated)
    parts = _by_commit(text, named=bool(commits and commits[0].sha))
    if len(parts) > len(commits) or (len(parts) < len(commits) and not truncated):
        raise PatchMismatchError("the patch has other commits than the list")
    totals = _FileTotals(refusal)
    kept: list[bytes] = []
    for index, commit in enumerate(commits):
        sha, part = parts[index] if index < len(parts) else (commit.sha, b"")
        if sha != commit.sha:
            raise PatchMismatchError("the patch has other commits than the list")
        cut = truncated and index >= len(parts) - 1
        kept += _allowed_sections(commit, part, totals, cut=cut)
    shown_text = b"".join(kept).decode("utf-8", "replace")
    count = sum(bool(commit.sha) for commit in commits)
    changes, withheld = tuple(totals.changes.values()), tuple(totals.withheld)
    return Patch(shown_text, changes, withheld, truncated, commits=count, closed=totals.closed)


def _by_commit(text: bytes, *, named: bool) -> list[tuple[bytes, bytes]]:
    if not named:
        return [(b"", text)]
    starts = list(_COMMIT.finditer(text))
    if text and (not starts or starts[0].start() != 0):
        raise PatchMismatchError("the history does not begin with a commit")
    bounds = pairwise([*(start.start() for start in starts), len(text)])
    return [(start.group(1), text[first:last]) for start, (first, last) in zip(starts, bounds, strict=True)]


def _allowed_sections(commit: CommitEntries, text: bytes, totals: _FileTotals, *, cut: bool) -> Iterator[bytes]:
    starts = [match.start() for match in _SECTION.finditer(text)]
    yield text[: starts[0]] if starts else text
    sections = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    position = 0
    for entry in commit.entries:
        mine = []
        while position < len(sections) and _belongs_to(sections[position], entry):
            mine.append(sections[position])
            position += 1
        if not mine and not entry.optional and not (cut and position == len(sections)):
            raise PatchMismatchError("the patch leaves out a file of the list")
        if totals.allows(entry):
            totals.count(entry, mine, whole=not (cut and position == len(sections)))
            yield from mine
    if position < len(sections):
        raise PatchMismatchError("the patch has a file that is not in the list")


def _belongs_to(section: bytes, entry: PatchEntry) -> bool:
    old, new = entry.names[0], entry.names[-1]
    pair = quote(b"a/" + old) + b" " + quote(b"b/" + new)
    line = section.partition(b"\n")[0]
    # The unstaged changes of a file in conflict are shown against both sides.
    return line in {b"diff --git " + pair, b"diff --cc " + quote(new)}


def _counts(sections: Sequence[bytes]) -> tuple[int, int, bool]:
    added = removed = 0
    binary = False
    for section in sections:
        hunk = _HUNK.search(section)
        if hunk is None:
            binary = binary or b"\nBinary files " in section
            continue
        body = section[hunk.start() :]
        columns = len(hunk.group(1)) - 1
        if columns == 1:
            added += body.count(b"\n+")
            removed += body.count(b"\n-")
        else:
            added += len(re.findall(rb"\n(?=[ +]{%d})(?= *\+)" % columns, body))
            removed += len(re.findall(rb"\n(?=[ -]{%d})(?= *-)" % columns, body))
    return added, removed, binary


def quote(name: bytes) -> bytes:
    """Return a name as git writes it: in quotes with escapes if it contains unusual characters."""
    if not any(byte < 32 or byte in b'"\\\x7f' for byte in name):
        return name
    return b'"' + b"".join(_escape(byte) for byte in name) + b'"'


def _escape(byte: int) -> bytes:
    if byte in _ESCAPES:
        return b"\\" + _ESCAPES[byte]
    if byte < 32 or byte == 127:
        return b"\\%03o" % byte
    return bytes([byte])


def display_name(name: bytes) -> str:
    """Return a path as text; invalid bytes become U+FFFD."""
    return name.decode("utf-8", "replace")

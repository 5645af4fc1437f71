"""Finds text that was probably meant as a reference, and suggests corrections: ``@flie:a.py``, ``@src/mian.py``.

Pure except for ``KnownPaths``, and bounded: whatever a message holds, few paths are looked up. What people write with
these marks for other reasons (handles, scopes, decorators, tags) must not be reported: ``python -m bench.false_alarms``
measures that on the documents of repositories.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import islice

from msgspec import Struct, field

from promptuary.base.errors import SourceError
from promptuary.base.languages import language_of
from promptuary.base.references import ENDS_VALUE, KEYWORDS, KINDS, PATH_KINDS, Reference, quote
from promptuary.references.expansion import Typo
from promptuary.references.selection import interpretations
from promptuary.workspace.listing.glob import match_glob
from promptuary.workspace.workspace import Workspace

MAX_SLIPS = 20
"""How many slips of one message are reported."""

_MAX_LOOKUPS = 200
"""How many paths of one message are looked up on disk; later ones are not examined."""

_MAX_SEARCHES = 20
"""How many paths of one message are compared with those of the workspace."""

_MAX_COMPARED = 2_000
"""With how many names of a folder a name is compared."""

_AHEAD = 300
"""How many characters after a mark are examined."""

_MAX_WORDS = 6
_LISTING_SECONDS = 1.0
_CLOSE = 0.75
_CLOSE_PATH = 0.8
_SHORTEST = 4
"""The fewest letters of a name without an ending: too many shorter ones are similar."""

_SYNONYMS = {
    "dir": "folder",
    "directory": "folder",
    "path": "file",
    "link": "url",
    "web": "url",
    "page": "url",
    "uri": "url",
    "func": "symbol",
    "function": "symbol",
    "class": "symbol",
    "method": "symbol",
    "find": "search",
    "grep": "search",
    "mem": "memory",
    "sha": "commit",
    "rev": "commit",
    "pattern": "glob",
}
_OTHER_PROGRAMS = {"codebase": '@search:"what you look for"', "git-changes": "@diff", "git_changes": "@diff"}
"""What other programs call something that has another name here."""

_ATTRIBUTES = frozenset({"assume", "deprecated", "fallthrough", "likely", "nodiscard", "noreturn", "unlikely"})
"""What C and C++ write between two brackets."""

# What a value must look like where other tools use the same words (Kotlin's @get:Rule, Gherkin's @link:42).
_SHAPES = {
    "url": re.compile(r"(?:https?://|www\.)\S", re.IGNORECASE),
    "git": re.compile(r"[0-9]{1,4}\Z|\S+\.\.\S|HEAD\b"),
    "glob": re.compile(r"[^*?]*[*?]"),
    "commit": re.compile(r"[0-9a-fA-F]{7,40}\Z|HEAD\b"),
}
_QUOTES = {"“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "‘": "’", "’": "’", "「": "」", "『": "』"}
_ANY_QUOTE = "".join(_QUOTES) + "\"'`"
_ENDING = ".,;:!?)]}'"
_WORD = re.compile(r"[A-Za-z]{2,12}")
_VALUE = re.compile(rf"(\"[^\"\n]{{1,{_AHEAD}}}\"|'[^'\n]{{1,{_AHEAD}}}'|[^{ENDS_VALUE}]{{1,{_AHEAD}}})")
_ADDRESS = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_PATH = re.compile(r"(?!/)[^\s:*?<>|\"@=(){}$]+(?: [^\s:*?<>|\"@=(){}$]+)*")
_NAMED_FILE = re.compile(r"[^\s*?<>|\"]*\.[A-Za-z][A-Za-z0-9]{0,7}(?::[0-9][0-9,\-]{0,40})?\Z")
_LINES = re.compile(r"(?::[0-9][0-9,\-]{0,40}|#[\w.]{1,100})\Z")
_BLANK = re.compile(r"\\? ")
_NOTE_NAME = re.compile(r"[^\W\d_][\w '\-]{2,80}(?:\.md)?")
# What the scanner does not read: paths from a root, a home or a pattern, and plain quotes of another kind.
_UNREAD = re.compile(r"(?<!\S)[@#](?=/\w|~/\w|\*|'[^\s'])")


class _Allowance(Struct):
    """How many lookups in the workspace are left."""

    lookups: int = _MAX_LOOKUPS
    searches: int = _MAX_SEARCHES


class KnownPaths(Struct, dict=True):
    """The paths of a workspace, with a limited number of lookups for one message.

    ``blind``: finds nothing, for people who must not learn from suggestions what exists.
    """

    workspace: Workspace
    blind: bool = False
    _left: _Allowance = field(default_factory=_Allowance)

    def there(self, typed: str) -> bool:
        """Return whether a path that a person typed exists; ``False`` after too many lookups."""
        if self.blind or self._left.lookups <= 0:
            return False
        self._left.lookups -= 1
        try:
            return self.workspace.interpret(typed).is_there
        except SourceError:
            return False

    def readings(self, typed: str) -> Sequence[str]:
        """Return the paths in the workspace that ``typed`` can mean."""
        try:
            return self.workspace.standpoint.readings(typed)
        except SourceError:
            return ()

    def matches(self, pattern: str) -> bool:
        """Return whether a file matches a pattern that a person typed."""
        if self.blind or not self.may_search():
            return False
        try:
            meant = self.workspace.standpoint.patterns(pattern)
        except SourceError:
            return False
        return any(match_glob(self.files, [one]) for one in meant)

    def may_search(self) -> bool:
        """Return whether the list of files may be searched once more."""
        self._left.searches -= 1
        return self._left.searches >= 0

    @cached_property
    def files(self) -> Sequence[str]:
        return () if self.blind else self.workspace.files(wait=_LISTING_SECONDS)

    @cached_property
    def entries(self) -> dict[str, list[str]]:
        """The names in each folder."""
        found: dict[str, dict[str, None]] = {}
        for path in self.files:
            folder, _, name = path.rpartition("/")
            while name not in (names := found.setdefault(folder, {})):
                names[name] = None
                if not folder:
                    break
                folder, _, name = folder.rpartition("/")
        return {folder: list(names) for folder, names in found.items()}

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.files:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found


def slips(text: str, valueless: Iterable[Reference], unread: Iterable[Reference], paths: KnownPaths) -> list[Typo]:
    """Return the slips of ``text`` in order, the first ones if there are many.

    ``valueless`` are kinds and marks without a value, ``unread`` bare references that match nothing.
    """
    found = [_without_value(text, one, paths) for one in valueless]
    found += [_of_bare(text, one, paths) for one in unread]
    found += (_unread(text, match.start(), paths) for match in islice(_UNREAD.finditer(text), _MAX_LOOKUPS))
    told = {one.start: one for one in found if one is not None}
    return [told[start] for start in sorted(told)][:MAX_SLIPS]


def _unread(text: str, start: int, paths: KnownPaths) -> Typo | None:
    """Return the slip at a mark that no reference begins with: few people write these for any other reason."""
    sigil, root = text[start], f"{paths.workspace.root.path}/"
    value = _value_at(text[start + 1 : start + 1 + _AHEAD])
    end, path = start + 1 + len(value), _LINES.sub("", value)
    if value.startswith(root):
        value = value.rstrip(_ENDING)
        inside = value.removeprefix(root)
        if not inside or not paths.there(_LINES.sub("", inside)):
            return None
        if sigil == "#":
            return _slip(text, start, end, f"#{inside}", "a tracked path counts from the workspace")
        return _slip(text, start, end, f"@file:{value}", "an absolute path needs the kind file")
    if value.startswith("'"):
        inside = value.strip("'")
        there = bool(inside) and paths.there(inside)
        return _slip(text, start, end, f'{sigil}"{inside}"', "only double quotes are read here") if there else None
    if value.startswith("*"):
        return _pattern_slip(text, start, end, value, paths)
    inside = path.removeprefix("~").lstrip("/")
    if paths.there(inside):
        meant = f"{sigil}{quote(inside)}{value[len(path) :]}"
        return _slip(text, start, end, meant, "a path counts from the workspace")
    home = "~ is not read as a home folder; only files of the workspace are attached"
    return _slip(text, start, end, "", home) if value.startswith("~") else None


def _pattern_slip(text: str, start: int, end: int, pattern: str, paths: KnownPaths) -> Typo | None:
    """Return the slip of a pattern without its kind, if some file matches it."""
    if text[start] != "@" or not paths.matches(pattern):
        return None
    return _slip(text, start, end, f"@glob:{pattern}", "a pattern needs the kind glob")


def with_blanks(text: str, reference: Reference, paths: KnownPaths) -> tuple[str, int]:
    """Return the correct spelling of an unquoted reference whose path contains blanks, and where it ends in ``text``.

    The spelling is empty if no such path exists. People write a backslash before a blank, as in a shell.
    """
    if reference.quoted or reference.start < 0 or not _BLANK.match(text, reference.end):
        return "", 0
    before = reference.raw[: len(reference.raw) - len(reference.value)]
    written = text[reference.end - len(reference.value) : reference.end + _AHEAD].partition("\n")[0]
    rest = written.replace("\\ ", " ")
    path = _existing_start(rest, paths, reference.kind)
    if not path or len(path) <= len(reference.value):
        return "", 0
    found = _LINES.search(rest[len(path) :].partition(" ")[0].rstrip(_ENDING))
    lines = found[0] if found else ""
    length = len(path) + len(lines)
    while written[:length].replace("\\ ", " ") != path + lines:
        length += 1
    return f"{before}{quote(path)}{lines}", reference.end - len(reference.value) + length


def _existing_start(rest: str, paths: KnownPaths, kind: str = "path") -> str:
    """Return the existing path, or the pattern of some, with blanks at the beginning of ``rest``; empty if none."""
    end = rest.find(" ")
    for _ in range(_MAX_WORDS):
        if end < 0:
            break
        after = rest.find(" ", end + 1)
        candidate = _LINES.sub("", rest[: after if after >= 0 else len(rest)].rstrip(_ENDING))
        last = candidate[end + 1 :]
        if kind == "glob":
            if "*" in candidate and paths.matches(candidate):
                return candidate
        elif last and (kind == "folder" or "/" in last or _NAMED_FILE.match(last)) and paths.there(candidate):
            return candidate
        end = after
    return ""


def _without_value(text: str, mark: Reference, paths: KnownPaths) -> Typo | None:
    """Return the slip after a kind, or a bare ``@``, without a value."""
    after = text[mark.end : mark.end + _AHEAD].partition("\n")[0]
    first = after[:1]
    if first in _QUOTES:
        inside = re.match(f"[^{_QUOTES[first]}]+", after[1:])
        value = inside[0].strip() if inside else ""
        if value and (mark.kind != "path" or paths.there(value) or _looks_like_file(value)):
            end = mark.end + 1 + (inside.end() if inside else 0)
            meant = f'{mark.raw}"{value}"'
            return _slip(text, mark.start, min(end + 1, len(text)), meant, "typographic quotes are not read as quotes")
        return None
    if first and first in "\"'`":
        return _unclosed(text, mark, after, paths)
    value = after.lstrip(" \t")
    if not value or value == after or mark.kind == "path" or not _fits(mark.kind, value, paths):
        return None
    written = _value_at(value)
    if not written:
        return None
    end = mark.end + len(after) - len(value) + len(written)
    free = mark.kind not in {*PATH_KINDS, *_SHAPES}
    shown = f'"{value.strip()}"' if free and " " in value.strip() and '"' not in value else written
    return _slip(text, mark.start, end, f"{mark.raw}{shown}", "no blank may follow the colon")


def _unclosed(text: str, mark: Reference, after: str, paths: KnownPaths) -> Typo | None:
    value = after[1:].strip()
    if not value or after[1:2] == after[0]:  # empty quotes are text
        return None
    path = _existing_start(value, paths) or value.partition(" ")[0].rstrip(_ENDING)
    # An empty path is the workspace itself: what closes a string of code (`…@",`) is not meant as that.
    if not path or (mark.kind == "path" and not paths.there(path)):
        return None
    inside = value if mark.kind not in PATH_KINDS and mark.kind != "path" else path
    end = mark.end + 1 + after[1:].find(inside) + len(inside)
    return _slip(
        text, mark.start, end, f'{mark.raw}"{inside.strip(_ANY_QUOTE)}"', "the quote is not closed on its line"
    )


def _fits(kind: str, value: str, paths: KnownPaths) -> bool:
    """Return whether ``value`` is plausible for ``kind``, and not the next word of a sentence."""
    word = value.partition(" ")[0].rstrip(_ENDING)
    if kind in PATH_KINDS:
        return bool(word) and (_looks_like_file(word) or paths.there(word))
    shape = _SHAPES.get(kind)
    return bool(shape.match(word)) if shape else word[:1].isalnum() or word[:1] in "\"'"


def _of_bare(text: str, reference: Reference, paths: KnownPaths) -> Typo | None:
    """Return the slip in a bare reference that matches nothing."""
    if reference.raw.startswith("[["):
        return _of_note(text, reference, paths)
    at = reference.sigil == "@"
    if at and _ADDRESS.match(reference.value):
        return _at(text, reference, f"@url:{reference.value}", "an address needs the kind url")
    if not at and "/" in reference.value and paths.there(reference.value):
        # A file would have been read. A word alone may be a tag.
        return _at(text, reference, f"@folder:{quote(reference.value)}", "a folder cannot be kept in view")
    if not reference.quoted:
        if (found := _of_kind(text, reference, paths)) is not None:
            return found
        meant, end = with_blanks(text, reference, paths)
        if meant:
            return _slip(text, reference.start, end, meant, "a path with blanks needs quotes")
        if "*" in reference.value:
            return _pattern_slip(text, reference.start, reference.end, reference.value, paths)
    if reference.value.startswith("../") and not paths.readings(reference.value):
        return _at(text, reference, "", "it leads out of the workspace, and only files in it are attached")
    almost = _almost_path(reference, paths)
    return None if almost is None else _at(text, reference, almost, "there is no such file or folder")


def _of_note(text: str, reference: Reference, paths: KnownPaths) -> Typo | None:
    """Return the slip in ``[[name]]`` if it can hardly be anything but the name of a note: no table, array or test."""
    name, line = reference.value, text[: reference.start].rpartition("\n")[2]
    alone = not line.strip() and not text[reference.end :].partition("\n")[0].strip()
    if not _NOTE_NAME.fullmatch(name) or name in _ATTRIBUTES or paths.blind or (alone and " " not in name):
        return None
    notes = {path.rpartition("/")[2].removesuffix(".md"): path for path in paths.files if path.endswith(".md")}
    if not notes or not paths.may_search():
        return None
    near = get_close_matches(name, list(notes)[:_MAX_COMPARED], 1, _CLOSE)
    if "_" in name and not near:  # more likely an attribute: [[maybe_unused]]
        return None
    return _at(text, reference, f"[[{near[0]}]]" if near else "", "there is no note of this name")


def _of_kind(text: str, reference: Reference, paths: KnownPaths) -> Typo | None:
    """Return the slip in the kind, or in the colon after it."""
    word, colon, written = reference.value.partition(":")
    end = reference.end
    if reference.sigil == "@" and (meant := _OTHER_PROGRAMS.get(reference.value.lower())):
        return _at(text, reference, meant, "that is the word of another program")
    head = word.partition("(")[0]
    if head != word and _looks_like_file(head) and paths.there(head):
        return _at(text, reference, f"{reference.sigil}{quote(head)}", "there is no such file or folder")
    if not _WORD.fullmatch(word):
        return None
    if not colon:
        colon = text[end : end + 1]
        written = _value_at(text[end + 1 : end + 1 + _AHEAD]) if colon in {":", "："} else ""
        end += 1 + len(written)
    name = word.lower()
    if not written:
        near = [one for one in sorted(KEYWORDS) if one_edit(name, one)] if reference.sigil == "@" else []
        return _at(text, reference, f"@{near[0]}", "there is no such keyword") if near else None
    if reference.sigil == "#":
        if name not in PATH_KINDS:
            return None
        return _slip(text, reference.start, end, f"#{written}", "a tracked path has no kind")
    if name in KEYWORDS - KINDS:
        return _slip(text, reference.start, end, f"@{name}", f"{name} takes no value")
    if colon == "：" and name in KINDS:
        return _slip(text, reference.start, end, f"@{name}:{written}", "the colon must be a plain one")
    kind = _meant_kind(name)
    if not kind or (kind in _SHAPES and not _SHAPES[kind].match(written.strip(_ANY_QUOTE))):
        return None
    if name in _SYNONYMS and kind == "file" and not _fits(kind, written, paths):
        return None
    return _slip(text, reference.start, end, f"@{kind}:{written}", f'there is no kind "{word}"')


def _meant_kind(word: str) -> str:
    """Return the kind that ``word`` is a synonym of, or is one edit away from; empty if there is none."""
    if word in _SYNONYMS:
        return _SYNONYMS[word]
    near = [kind for kind in sorted(KINDS) if one_edit(word, kind) and (word[0] == kind[0] or word[1] == kind[0])]
    return near[0] if near else ""


def one_edit(one: str, other: str) -> bool:
    """Return whether two words differ by one missing, wrong or extra letter, or by two swapped ones. Linear."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    left, right = one[same:], other[same:]
    if len(left) == len(right):
        return left[1:] == right[1:] or (left[2:] == right[2:] and left[:2] == right[1::-1])
    return left[1:] == right if len(left) > len(right) else left == right[1:]


def _almost_path(reference: Reference, paths: KnownPaths) -> str | None:
    """Return a reference to a similar path; ``None`` if it does not look like a path.

    Empty if none is similar, but it names a file in a folder that exists: nobody writes that for any other reason.
    """
    *_, part = interpretations(reference)
    path = part.path.removeprefix("./").rstrip("/")
    named = _looks_like_file(path)
    folder, slash, _ = path.rpartition("/")
    inside = bool(slash) and paths.there(folder)
    if not _PATH.fullmatch(path) or not (named or inside):
        return None
    if paths.there(path) or not paths.may_search():  # it exists but is not shown, for a reason reported elsewhere
        return None
    found = next(_similar(path, paths, named=named), "")
    if found:
        return f"{reference.sigil}{quote(found)}{part.suffix}"
    return "" if inside else None


def _similar(path: str, paths: KnownPaths, *, named: bool) -> Iterator[str]:
    """Yield the paths of the workspace that are probably meant by ``path``, the likeliest first."""
    name = path.rpartition("/")[2]
    for reading in paths.readings(path):
        folder = reading.rpartition("/")[0]
        for entry in _similar_names(name, paths.entries.get(folder, ())[:_MAX_COMPARED], named=named):
            yield f"{folder}/{entry}" if folder else entry
    if named:
        same = paths.by_name.get(name, ())[:_MAX_COMPARED]
        yield from get_close_matches(path, same, 1, _CLOSE_PATH) if "/" in path else same[:1]


def _similar_names(name: str, names: Sequence[str], *, named: bool) -> Iterator[str]:
    low = name.casefold()
    if named:
        yield from (one for one in names if one_edit(low, one.casefold()) or low == one.casefold())
        yield from get_close_matches(name, names, 1, _CLOSE)
        stem = low.rpartition(".")[0]
        yield from (one for one in names if one.casefold().rpartition(".")[0] == stem)
    elif len(name) >= _SHORTEST:
        stems = ((one, one.casefold().partition(".")[0]) for one in names)
        yield from (one for one, stem in stems if low == stem or one_edit(low, one.casefold()))


def _looks_like_file(path: str) -> bool:
    """Return whether ``path`` ends in a name with the ending of a known language."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return bool(stem and dot and (ending.lower() in {"txt", "pdf"} or language_of(name)))


def _value_at(text: str) -> str:
    """Return the value at the beginning of ``text`` as it is written, without the punctuation of its sentence."""
    found = _VALUE.match(text)
    if not found:
        return ""
    return found[0] if found[0][0] in "\"'" else found[0].rstrip(_ENDING)


def _at(text: str, reference: Reference, meant: str, reason: str) -> Typo:
    return _slip(text, reference.start, reference.end, meant, reason)


def _slip(text: str, start: int, end: int, meant: str, reason: str) -> Typo:
    return Typo(text[start:end], start, end, meant, reason)

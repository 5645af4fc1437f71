"""Resolves the path of a reference to one relative to the workspace; code after this ignores the current folder."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property

from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.base.references import Reference, format_reference
from promptuary.base.text import counted
from promptuary.references.selection import interpretations
from promptuary.workspace.disk.root import normalise
from promptuary.workspace.listing.glob import match_glob
from promptuary.workspace.workspace import LISTING_SECONDS, MeantPath, Workspace

CONTENTS = ":contents"
"""The suffix that requests the files of a folder instead of its tree."""

VAULT = ".obsidian"
"""The folder that marks a vault of notes."""

_LISTING_SECONDS = 2.0
_NAMED = 3
"""How many of the other notes with the same name are listed."""

_PATHS = frozenset({"file", "folder", "path", "symbol"})


_ENDINGS = (".md", ".markdown")


class NoteNames:
    """The names of files, with and without their endings; each is looked up in one step."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            name = path.rpartition("/")[2].casefold()
            for known in {name, _without_ending(name)}:
                self._paths.setdefault(known, []).append(path)

    def named(self, name: str) -> list[str]:
        """Return the files that ``name`` means, the likeliest first."""
        wanted = name.strip("/").casefold()
        candidates = self._paths.get(wanted.rpartition("/")[2], ())
        found = [path for path in candidates if "/" not in wanted or _ends_in(path.casefold(), wanted)]
        return sorted(found, key=lambda path: (path.count("/"), len(path), path))


def _without_ending(name: str) -> str:
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _ends_in(path: str, wanted: str) -> bool:
    return f"/{path}".endswith(f"/{wanted}") or f"/{_without_ending(path)}".endswith(f"/{wanted}")


def located(reference: Reference, workspace: Workspace) -> Reference:
    """Return ``reference`` with its path relative to the workspace, which is then unambiguous.

    The literal path is tried before its end is read as a range. A reference without a path, or with a path outside the
    workspace, is returned unchanged: resolving it reports why it is refused.
    """
    if reference.kind not in _PATHS:
        return reference
    missing = None
    for typed, suffix in _parts(reference):
        try:
            # "#" tracks a file of the workspace for everybody who continues the thread, wherever their copy is. People
            # who must not learn where the workspace is cannot use absolute paths, either.
            absolute = reference.sigil == "@" and not workspace.access.is_limited
            meant = workspace.interpret(typed, absolute=absolute, rooted=reference.rooted)
        except SourceError:
            continue
        found = replace(
            reference,
            value=meant.path or ".",
            suffix=suffix,
            quoted=True,
            rooted=True,
            remark=_remark(typed, meant),
        )
        if meant.is_there:
            return found
        missing = replace(found, remark="")
    # A symbol need not be in a named file.
    return missing if missing and reference.kind != "symbol" else reference


def _parts(reference: Reference) -> Iterator[tuple[str, str]]:
    """Yield the paths that a reference can name, each with what follows it, the literal path first."""
    value = reference.value
    if reference.kind == "folder":
        yield value, reference.suffix
        if not reference.quoted and value.endswith(CONTENTS):
            yield value.removesuffix(CONTENTS), CONTENTS
        return
    for part in interpretations(reference):
        if part.selection.symbol or reference.kind != "symbol":
            yield part.path, part.suffix


class Notes:
    """The notes of a workspace by their names, for the bare references of one message. Lists it on first use."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @cached_property
    def _in_vault(self) -> bool:
        return self._workspace.kind_of(VAULT) == "folder"

    @cached_property
    def _names(self) -> NoteNames:
        return NoteNames(self._workspace.files(wait=_LISTING_SECONDS))

    def located(self, reference: Reference) -> Reference | None:
        """Return a bare reference as a reference to the note with its name; ``None`` if there is none.

        ``[[name]]`` means a note everywhere, ``@name`` only in a vault, where people refer to notes without their
        folder and ending. There a broken link is reported as missing; elsewhere it is text.
        """
        linked = reference.raw.startswith("[[")
        if not (linked or self._in_vault):
            return None
        for typed, suffix in _parts(reference):
            if found := self._names.named(typed):
                others = ", ".join(found[1 : 1 + _NAMED]) + (" …" if len(found) > 1 + _NAMED else "")
                told = f"read as {found[0]}; the name is also that of {others}" if others else ""
                meant = replace(reference, kind="file", value=found[0], suffix=suffix, quoted=True)
                return replace(meant, rooted=True, remark=told)
        return replace(reference, kind="file", rooted=True) if linked and self._in_vault else None


def located_pattern(reference: Reference, workspace: Workspace) -> Reference:
    """Return a ``@glob:`` with patterns relative to the workspace: from the current folder, if any file matches there.

    Lists the workspace, so it may block. Raises ``SourceError`` for a pattern that leads out of the workspace.
    """
    patterns, excludes = split_patterns(reference.value)
    here = workspace.standpoint
    if reference.rooted or not here.inside:
        for pattern in (*patterns, *excludes):
            normalise(pattern)  # raises for absolute patterns and for ".."
        return replace(reference, rooted=True)
    from_here, from_root = ([here.patterns(one)[which] for one in patterns] for which in (0, -1))
    files = workspace.files(wait=LISTING_SECONDS)
    found, others = match_glob(files, from_here), match_glob(files, from_root)
    chosen, which = (from_here, 0) if found else (from_root, -1)
    value = ",".join([*chosen, *(f"!{here.patterns(one)[which]}" for one in excludes)])
    more = f"{counted(len(others), 'file')} of the workspace would match, too"
    also = f"read as {value}, from the current folder; {more}"
    return replace(reference, value=value, rooted=True, remark=also if found and others and found != others else "")


def split_patterns(value: str) -> tuple[list[str], list[str]]:
    """Return the patterns of a ``@glob:`` and the excluded ones, which are separated by commas outside braces."""
    parts, depth = [""], 0
    for char in value:
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    parts = [part.strip() for part in parts if part.strip()]
    patterns = [part for part in parts if not part.startswith("!")]
    if not patterns:
        raise SourceError(Code.BAD_PATTERN, f"{value} only excludes; begin with a pattern to include, such as **/*.py")
    return patterns, [part[1:] for part in parts if part.startswith("!")]


def rooted_spelling(reference: Reference, workspace: Workspace) -> str:
    """Return how ``reference`` is written relative to the workspace, independent of the current folder."""
    found = located_pattern(reference, workspace) if reference.kind == "glob" else located(reference, workspace)
    if reference.kind in {"diff", "staged"} and reference.value:
        with suppress(SourceError):
            meant = workspace.interpret(reference.value, rooted=reference.rooted)
            return format_reference(reference.kind, f"./{meant.path}") if meant.is_there else reference.raw
    same = (found.value, found.suffix) == (reference.value, reference.suffix)
    return reference.raw if same else format_reference(found.kind, found.value, found.suffix)


def _remark(typed: str, meant: MeantPath) -> str:
    """Return a remark for the person if the path would mean another file from the root of the workspace; else empty."""
    try:
        if normalise(typed) == meant.path:
            return ""
    except SourceError:  # it can be read in one way only
        return ""
    also = f"; the workspace has {meant.other}, too" if meant.other not in {"", "."} else ""
    return f"read as {meant.path}, from the current folder{also}"

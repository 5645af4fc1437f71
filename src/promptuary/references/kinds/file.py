"""``@file:path``, with line ranges or a symbol: one file, or a part of it."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from urllib.parse import unquote

from promptuary.base.blocks import Forms, Source
from promptuary.base.errors import Code, SourceError, how_to_install
from promptuary.base.languages import language_of
from promptuary.base.references import Reference, format_reference, quote
from promptuary.base.text import counted
from promptuary.references.kinds.image import image_source
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.selection import FilePart, count_lines, cut, interpretations
from promptuary.references.shorten.text import text_forms
from promptuary.search.outline import GRAMMARS, Definition, best_named, definitions, has_grammar, plain_name
from promptuary.workspace.disk.read import TextFile
from promptuary.workspace.documents.names import is_image
from promptuary.workspace.workspace import Workspace

_READ_ON_LINES = 200
_COMPARED = 20_000
"""How many names are searched for similar ones."""


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the file, or the part of one, that ``reference`` names. A file with exactly that name takes precedence."""
    *earlier, last = interpretations(reference)
    for part in earlier:
        if context.workspace.kind_of(part.path) not in {None, "outside"}:
            return [read(part, context)]
    try:
        return [read(last, context)]
    except SourceError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        raise SourceError(error.code, error.reason + _advice(last.path, context.workspace)) from error


def read(part: FilePart, context: ResolveContext) -> Source:
    if is_image(part.path) and (found := context.workspace.picture(part.path)) is not None:
        if part.selection.symbol or part.selection.ranges:
            raise SourceError(Code.BAD_RANGE, f"{found[0]} is an image, which has no lines; attach all of it.")
        return image_source(*found, context.model)
    file = context.workspace.read(part.path)
    if part.selection.symbol:
        return part_at_symbol(file, part.selection.symbol)
    if part.selection.ranges:
        return part_at_lines(file, part)
    return whole_file(file, context.notes.append)


def whole_file(file: TextFile, note: Callable[[str], None] = lambda _: None) -> Source:
    """Return all of ``file``; ``note`` is called with a sentence if parsing it for an outline takes too long."""
    language = _language(file)
    total = count_lines(file.text)

    @cache  # every attempt to fit the file needs them, and parsing is the most expensive part
    def outlines() -> Forms:
        return text_forms(file.text, language, lambda: note(f"{file.path} has no outline: it takes too long to parse"))

    return Source(
        key=f"file:{file.path}",
        label=file.path,
        kind="file",
        text=file.text,
        revision=file.sha256,
        path=file.path,
        language=language,
        facts=(*_encoding_fact(file), "empty" if not total else counted(total, "line")),
        first_line=1,
        outlines=outlines,
        read_on=_read_on(file.path, 1, total),
    )


def part_at_lines(file: TextFile, part: FilePart) -> Source:
    """Return the lines of ``file`` that ``part`` selects."""
    found = cut(file.text, part.selection.ranges, file.path)
    wanted = ",".join(str(one) for one in part.selection.ranges)
    clamped = (f"the file ends at line {found.total}",) if found.clamped else ()
    return Source(
        key=f"file:{file.path}:{wanted}",
        label=f"{file.path}:{wanted}",
        kind="file",
        text=found.text,
        revision=file.sha256,
        path=file.path,
        language=_language(file),
        facts=(*_encoding_fact(file), f"lines {found.first}-{found.last} of {found.total:,}", *clamped),
        lines=(found.first, found.last),
        first_line=None if found.gaps else found.first,
        read_on="ask for fewer lines",
    )


def part_at_symbol(file: TextFile, symbol: str) -> Source:
    language = language_of(file.path)
    slow: list[str] = []
    known = definitions(file.text, language, lambda: slow.append(file.path), everything=True)
    if slow:
        raise SourceError(Code.TIMEOUT, f"{file.path} takes too long to parse; use a line range instead of {symbol}")
    name = symbol if language == "markdown" else plain_name(symbol)
    found = best_named(known, name, lambda one: one)
    if not found and language == "markdown":
        wanted = _letters(unquote(symbol))
        found = [one for one in known if wanted and _letters(one.name) == wanted]
    if not found:
        names = [one.name for one in known if one.role == "definition"] or [one.name for one in known]
        raise _no_such_symbol(file.path, language, symbol, names)
    return definition_source(file, found[0])


def _letters(heading: str) -> str:
    """Return a normal form of a heading that also fits the links to it, whichever program made them."""
    return "".join(filter(str.isalnum, heading.casefold()))


def definition_source(file: TextFile, found: Definition) -> Source:
    """Return one definition of ``file`` as a separate source, with the comments and attributes above it."""
    text = "".join(line + "\n" for line in file.text.split("\n")[found.above - 1 : found.last])
    return Source(
        key=f"file:{file.path}:{found.above}-{found.last}",
        label=f"{file.path}#{found.name}",
        kind="symbol",
        text=text,
        revision=file.sha256,
        path=file.path,
        language=language_of(file.path),
        facts=(f"lines {found.above}-{found.last} of {count_lines(file.text):,}",),
        lines=(found.above, found.last),
        first_line=found.above,
        read_on=_read_on(file.path, found.above, found.last),
    )


def _read_on(path: str, first: int, last: int) -> str:
    """Return how to request a part of these lines; empty if there is only one line."""
    lines = min((last - first + 2) // 2, _READ_ON_LINES)
    return f"read on with {format_reference('file', path, f':{first}-{first + lines - 1}')}" if last > first else ""


def _language(file: TextFile) -> str:
    return "markdown" if file.converted else language_of(file.path)


def _encoding_fact(file: TextFile) -> tuple[str, ...]:
    if file.converted:
        return (file.converted,)
    return () if file.encoding.lower() in {"utf-8", "ascii", "utf_8"} else (f"decoded from {file.encoding}",)


def _no_such_symbol(path: str, language: str, symbol: str, known: list[str]) -> SourceError:
    if language in GRAMMARS and not has_grammar(language):
        advice = f"install the 'languages' extra: {how_to_install('languages')}"
        return SourceError(Code.NEEDS_EXTRA, f"symbols in {path} cannot be looked up; {advice}")
    names = ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
    if language == "markdown":
        whole = next((one for one in known if one.casefold().startswith(f"{symbol} ".casefold())), "")
        if whole and '"' not in whole:
            return SourceError(Code.NO_MATCH, f'a heading with blanks needs quotes: {path}#"{whole}"')
        advice = f"its headings are {names}" if names else "it has no headings; use a line range"
        return SourceError(Code.NO_MATCH, f"{path} has no heading {symbol}: {advice}")
    advice = f"it defines {names}" if names else "it defines no symbols; use a line range"
    return SourceError(Code.NO_MATCH, f"{path} does not define {symbol}: {advice}")


def _advice(path: str, workspace: Workspace) -> str:
    """Return what to write instead of a path that does not exist; empty if unknown."""
    if "*" in path or "?" in path:
        return f" To attach every file that matches, write @glob:{path if ' ' not in path else quote(path)}"
    return did_you_mean(path, workspace)


def did_you_mean(path: str, workspace: Workspace, *, timeout: float = 1.0) -> str:
    """Return `` Did you mean …?``, or an empty text: files of the same name elsewhere, similar paths, other endings.

    ``timeout`` is how many seconds to wait for the listing of the workspace.
    """
    paths = workspace.files(wait=timeout)
    name = path.rsplit("/", 1)[-1].casefold()
    same = [one for one in paths if one.rsplit("/", 1)[-1].casefold() == name]
    similar = same[:3] or get_close_matches(path, paths[:_COMPARED], n=3, cutoff=0.75) or _alike(name, paths)
    similar = similar or [one for one in paths if one.rpartition(".")[0] == path.rpartition(".")[0] != ""][:3]
    return f" Did you mean {' or '.join(similar)}?" if similar else ""


def _alike(name: str, paths: Sequence[str]) -> list[str]:
    """Return the files whose names without their folders and endings are like ``name``, as in ``[[note]]``."""
    stems: dict[str, str] = {}
    for path in paths[:_COMPARED]:
        stems.setdefault(path.rsplit("/", 1)[-1].rpartition(".")[0].casefold(), path)
    return [stems[one] for one in get_close_matches(name, stems, n=3, cutoff=0.8)]

"""``@symbol:Class.method``: where a name is defined in the workspace.

Files that do not contain the name are never parsed. Definitions are looked for in every language that is installed.
"""

import time
from dataclasses import replace

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, SourceError
from promptuary.core.languages import language_of
from promptuary.core.references import Reference
from promptuary.outline import GRAMMARS, Definition, definitions, has_grammar
from promptuary.references.kinds.file import definition_source, part_at_symbol
from promptuary.references.resolve_context import Desk
from promptuary.references.selection import readings
from promptuary.workspace.disk.read import TextFile

MAX_SHOWN = 5
"""How many definitions of one name are shown; the others are named."""

SEARCH_SECONDS = 10.0


def resolve(reference: Reference, desk: Desk) -> list[Source]:
    """Return the definitions of a name: the ones with exactly that qualified name, else those that end in it."""
    for reading in readings(reference):
        if reading.selection.symbol and desk.workspace.kind_of(reading.path) == "file":
            return [part_at_symbol(desk.workspace.read(reading.path), reading.selection.symbol)]
    name = reference.value
    found, complete = _search(name, desk)
    exact = [one for one in found if one[1].name == name]
    chosen = exact or found
    if not chosen:
        raise _not_found(name, desk, complete=complete)
    sources = [definition_source(file, definition) for file, definition in chosen[:MAX_SHOWN]]
    return sources if len(chosen) <= MAX_SHOWN else _with_notice(sources, name, chosen)


def _search(name: str, desk: Desk) -> tuple[list[tuple[TextFile, Definition]], bool]:
    last = name.rsplit(".", 1)[-1]
    until = time.monotonic() + SEARCH_SECONDS
    found: list[tuple[TextFile, Definition]] = []
    for path in desk.workspace.files():
        language = language_of(path)
        if language == "markdown" or not has_grammar(language):
            continue
        if time.monotonic() > until:
            return found, False
        try:
            file = desk.workspace.read(path)
        except SourceError:
            continue
        if last in file.text:
            matching = (one for one in definitions(file.text, language) if f".{one.name}".endswith(f".{name}"))
            found += [(file, one) for one in matching]
    return found, True


def _with_notice(sources: list[Source], name: str, chosen: list[tuple[TextFile, Definition]]) -> list[Source]:
    others = ", ".join(f"{file.path}#{one.name}" for file, one in chosen[MAX_SHOWN : MAX_SHOWN + 10])
    notice = f"{name} is defined {len(chosen)} times; the first {MAX_SHOWN} are here, others are {others}"
    return [replace(sources[0], notes=(notice,)), *sources[1:]]


def _not_found(name: str, desk: Desk, *, complete: bool) -> SourceError:
    if not complete:
        return SourceError(
            Code.TIMEOUT, f"{name} was not found in {SEARCH_SECONDS:.0f} s; name its file: @file:a.py#{name}"
        )
    missing = {language_of(path) for path in desk.workspace.listing.paths} & GRAMMARS
    unread = sorted(language for language in missing if not has_grammar(language))
    advice = f"; {', '.join(unread)} need: pip install 'promptuary[languages]'" if unread else ""
    return SourceError(Code.NO_MATCH, f"no function or class called {name} is defined in this workspace{advice}")

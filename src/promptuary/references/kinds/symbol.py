"""``@symbol:Class.method``, also ``Class::method``: the definitions of a name in the workspace.

Searches every language that ``outline`` can parse. A file that does not contain the name is not parsed.
"""

import time
from functools import partial

from msgspec.structs import replace

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, SourceError, how_to_install
from promptuary.base.languages import language_of
from promptuary.base.references import Reference
from promptuary.references.kinds.file import definition_source, part_at_symbol
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.selection import interpretations
from promptuary.search.outline import GRAMMARS, Definition, best_named, definitions, has_grammar, plain_name
from promptuary.workspace.disk.read import TextFile

MAX_SHOWN = 5
"""The most definitions of one name that are attached; a notice lists the others."""

SEARCH_SECONDS = 10.0

_NAMED = 3
"""How many of the files that take too long to parse are named."""


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the definitions with exactly this qualified name, else those whose name ends in it.

    Constants, fields and declarations count only if nothing else with that name is defined.
    """
    for part in interpretations(reference):
        if part.selection.symbol and context.workspace.kind_of(part.path) == "file":
            return [part_at_symbol(context.workspace.read(part.path), part.selection.symbol)]
    name = plain_name(reference.value)
    unparsed: list[str] = []
    found, complete = _search(name, context, unparsed)
    chosen = best_named(found, name, lambda one: one[1])
    if not chosen:
        raise _not_found(name, context, unparsed, complete=complete)
    if unparsed:
        context.notes.append(f"{name} may be defined elsewhere, too: {_too_slow(unparsed)}")
    sources = [definition_source(file, definition) for file, definition in chosen[:MAX_SHOWN]]
    return sources if len(chosen) <= MAX_SHOWN else _with_notice(sources, name, chosen)


def _search(name: str, context: ResolveContext, unparsed: list[str]) -> tuple[list[tuple[TextFile, Definition]], bool]:
    """Return the definitions, and whether all files were searched; adds to ``unparsed`` what takes too long."""
    last = name.rsplit(".", 1)[-1]
    until = time.monotonic() + SEARCH_SECONDS
    found: list[tuple[TextFile, Definition]] = []
    for path in context.workspace.files():
        language = language_of(path)
        if language == "markdown" or not has_grammar(language):
            continue
        if time.monotonic() > until:
            return found, False
        try:
            file = context.workspace.read(path)
        except SourceError:
            continue
        if last in file.text:
            known = definitions(file.text, language, partial(unparsed.append, path), everything=True)
            found += [(file, one) for one in known if f".{one.name}".endswith(f".{name}")]
    return found, True


def _with_notice(sources: list[Source], name: str, chosen: list[tuple[TextFile, Definition]]) -> list[Source]:
    others = ", ".join(f"{file.path}#{one.name}" for file, one in chosen[MAX_SHOWN : MAX_SHOWN + 10])
    notice = f"{name} is defined {len(chosen)} times; the first {MAX_SHOWN} are attached, others are {others}"
    return [replace(sources[0], notes=(notice,)), *sources[1:]]


def _too_slow(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED:,} more files" if len(paths) > _NAMED else ""
    return f"{', '.join(paths[:_NAMED])}{more} could not be searched, since parsing takes too long"


def _not_found(name: str, context: ResolveContext, unparsed: list[str], *, complete: bool) -> SourceError:
    if not complete:
        return SourceError(
            Code.TIMEOUT, f"{name} was not found within {SEARCH_SECONDS:.0f} s; name its file: @file:a.py#{name}"
        )
    missing = {language_of(path) for path in context.workspace.files()} & GRAMMARS
    unread = sorted(language for language in missing if not has_grammar(language))
    advice = f"; to search {', '.join(unread)}: {how_to_install('languages')}" if unread else ""
    advice += f"; {_too_slow(unparsed)}" if unparsed else ""
    return SourceError(Code.NO_MATCH, f"nothing called {name} is defined in this workspace{advice}")

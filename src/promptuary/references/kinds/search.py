"""``@search:"words"``: the lines of indexed files that answer best; ``@memory:"words"``: of what is remembered."""

import re
from typing import Final

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, PromptuaryError, SourceError
from promptuary.core.references import Reference
from promptuary.core.search import Filters, Hit, SearchQuery, note_text
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.search_hits import apart, place_of, source_of, worth
from promptuary.workspace.indexed_folders import IndexedFoldersFile

MOST_HITS: Final = 8
"""How many places one search brings: what is not needed is cut by its rank."""

MEMORIES: Final = ".promptuary/memory"
"""Where memories are kept, seen from the workspace."""

_WILD = re.compile(r"[*?\[\]{}\\]")


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the best places for what was asked."""
    hits = _hits(reference, context, Filters())
    if not hits:
        raise SourceError(Code.NO_MATCH, f"nothing that is indexed answers {reference.value!r}; try other words")
    return _sources(hits, reference, context)


def memory(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the best places among memories, whichever indexed folder they are in: the workspace or one around it."""
    home = str(context.workspace.root.path)
    # No pattern can say every name exactly; what it lets through besides is left out here.
    pattern = f"{_WILD.sub('?', home.rstrip('/'))}/{MEMORIES}/**"
    found = _hits(reference, context, Filters(paths=(pattern,)))
    hits = [hit for hit in found if place_of(hit, home).startswith(f"{MEMORIES}/")]
    if not hits:
        raise _no_memory(reference, context)
    return _sources(hits, reference, context)


def _sources(hits: list[Hit], reference: Reference, context: ResolveContext) -> list[Source]:
    home = str(context.workspace.root.path)
    return [source_of(hit, home, reference.kind) for hit in hits]


def _hits(reference: Reference, context: ResolveContext, filters: Filters) -> list[Hit]:
    if context.search is None:
        raise SourceError(Code.NOT_INDEXED, "nothing can be searched here; index a folder: promptuary index")
    try:
        found = context.search(SearchQuery(reference.value + reference.suffix, MOST_HITS, filters))
    except SourceError:
        raise
    except PromptuaryError as error:
        raise SourceError(Code.NOT_INDEXED, str(error)) from error
    context.notes.extend(map(note_text, found.notes))
    return apart(worth(found.hits))


def _no_memory(reference: Reference, context: ResolveContext) -> SourceError:
    """Return why nothing was found: it is not indexed, there is nothing, or the words are not in it."""
    root = context.workspace.root.path
    if not any((root / MEMORIES).is_relative_to(folder.path) for folder in IndexedFoldersFile(root).all()):
        advice = "run `promptuary index .` in the workspace"
        return SourceError(Code.NOT_INDEXED, f"what is remembered in {MEMORIES} is not indexed; {advice}")
    if not any(path.startswith(f"{MEMORIES}/") for path in context.workspace.files()):
        advice = "write one, and let no ignore file hide it"
        return SourceError(Code.NO_MATCH, f"nothing is remembered: no file in {MEMORIES} is indexed; {advice}")
    told = f"nothing that is remembered and indexed answers {reference.value!r}"
    return SourceError(Code.NO_MATCH, f"{told}; try other words")

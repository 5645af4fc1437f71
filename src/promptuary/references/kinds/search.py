"""``@search:"words"``: the best passages of the indexed files; ``@memory:"words"``: of the saved memories."""

import re
from typing import Final

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, PromptuaryError, SourceError
from promptuary.core.references import Reference
from promptuary.core.search import Filters, Hit, SearchQuery, note_text
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.search_hits import apart, path_of_hit, relevant, source_of
from promptuary.workspace.indexed_folders import IndexedFoldersFile

MOST_HITS: Final = 8
"""The most passages that one reference attaches."""

MEMORIES: Final = ".promptuary/memory"
"""The folder of the memories, in the workspace."""

_WILD = re.compile(r"[*?\[\]{}\\]")


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the best passages for the value of ``reference``."""
    hits = _hits(reference, context, Filters())
    if not hits:
        raise SourceError(Code.NO_MATCH, f"no indexed passage matches {reference.value!r}; try other words")
    return _sources(hits, reference, context)


def memory(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the best passages of the memories, whether the workspace is indexed or a folder that contains it."""
    home = str(context.workspace.root.path)
    # A pattern cannot quote special characters, so it may match more; the rest is filtered out here.
    pattern = f"{_WILD.sub('?', home.rstrip('/'))}/{MEMORIES}/**"
    found = _hits(reference, context, Filters(paths=(pattern,)))
    hits = [hit for hit in found if path_of_hit(hit, home).startswith(f"{MEMORIES}/")]
    if not hits:
        raise _no_memory(reference, context)
    return _sources(hits, reference, context)


def _sources(hits: list[Hit], reference: Reference, context: ResolveContext) -> list[Source]:
    home = str(context.workspace.root.path)
    return [source_of(hit, home, reference.kind) for hit in hits]


def _hits(reference: Reference, context: ResolveContext, filters: Filters) -> list[Hit]:
    if context.search is None:
        raise SourceError(Code.NOT_INDEXED, "nothing is indexed; index a folder: promptuary index")
    try:
        found = context.search(SearchQuery(reference.value + reference.suffix, MOST_HITS, filters))
    except SourceError:
        raise
    except PromptuaryError as error:
        raise SourceError(Code.NOT_INDEXED, str(error)) from error
    context.notes.extend(map(note_text, found.notes))
    return apart(relevant(found))


def _no_memory(reference: Reference, context: ResolveContext) -> SourceError:
    """Return why nothing was found: the memories are not indexed, there are none, or none matches."""
    root = context.workspace.root.path
    if not any((root / MEMORIES).is_relative_to(folder.path) for folder in IndexedFoldersFile(root).all()):
        advice = "run `promptuary index .` in the workspace"
        return SourceError(Code.NOT_INDEXED, f"the memories in {MEMORIES} are not indexed; {advice}")
    if not any(path.startswith(f"{MEMORIES}/") for path in context.workspace.files()):
        advice = "write one that no ignore file hides"
        return SourceError(Code.NO_MATCH, f"there are no memories: no file in {MEMORIES} is indexed; {advice}")
    return SourceError(Code.NO_MATCH, f"no indexed memory matches {reference.value!r}; try other words")

"""``@search:"words"``: the best passages of the indexed files."""

from typing import Final

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, PromptuaryError, SourceError
from promptuary.base.references import Reference
from promptuary.references.kinds.search_hits import apart, relevant, source_of
from promptuary.references.resolve_context import ResolveContext
from promptuary.search.values import Hit, SearchQuery, note_text

MOST_HITS: Final = 8
"""The most passages that one reference attaches."""


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the best passages for the value of ``reference``."""
    hits = _hits(reference, context)
    if not hits:
        raise SourceError(Code.NO_MATCH, f"no indexed passage matches {reference.value!r}; try other words")
    home = str(context.workspace.root.path)
    return [source_of(hit, home, reference.kind) for hit in hits]


def _hits(reference: Reference, context: ResolveContext) -> list[Hit]:
    if context.search is None:
        raise SourceError(Code.NOT_INDEXED, "nothing is indexed; index a folder: promptuary index")
    try:
        found = context.search(SearchQuery(reference.value + reference.suffix, MOST_HITS, per_file=2))
    except SourceError:
        raise
    except PromptuaryError as error:
        raise SourceError(Code.NOT_INDEXED, str(error)) from error
    context.notes.extend(map(note_text, found.notes))
    return apart(relevant(found))

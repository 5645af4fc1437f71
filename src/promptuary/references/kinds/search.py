"""``@search:"words"``: the lines of indexed files that answer best; ``@memory:"words"``: of what is remembered."""

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, PromptuaryError, SourceError
from promptuary.core.recall import Filters, Found, Question
from promptuary.core.references import Reference
from promptuary.references.desk import Desk
from promptuary.references.found import apart, source_of, worth

MOST_HITS = 8
"""How many places one search brings: what is not needed is cut by its rank."""

MEMORIES = ".promptuary/memory/**"
"""Where memories are kept, seen from the workspace."""


def resolve(reference: Reference, desk: Desk) -> list[Source]:
    """Return the best places for what was asked."""
    return _sources(reference, desk, Filters(), f"nothing that is indexed answers {reference.value!r}")


def memory(reference: Reference, desk: Desk) -> list[Source]:
    """Return the best places among memories."""
    filters = Filters(folders=(str(desk.workspace.root.path),), paths=(MEMORIES,))
    return _sources(reference, desk, filters, f"nothing that is remembered and indexed answers {reference.value!r}")


def _sources(reference: Reference, desk: Desk, filters: Filters, nothing: str) -> list[Source]:
    found = _found(Question(reference.value + reference.suffix, MOST_HITS, filters), desk)
    hits = worth(apart(found.hits))
    if not hits:
        raise SourceError(Code.NO_MATCH, f"{nothing}; try other words")
    home = str(desk.workspace.root.path)
    return [source_of(hit, home, reference.kind) for hit in hits]


def _found(question: Question, desk: Desk) -> Found:
    if desk.search is None:
        raise SourceError(Code.NOT_INDEXED, "nothing can be searched here; index a folder: promptuary index")
    try:
        return desk.search(question)
    except SourceError:
        raise
    except PromptuaryError as error:
        raise SourceError(Code.NOT_INDEXED, str(error)) from error

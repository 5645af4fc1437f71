"""``@memory:``: a note by its id or path, or the notes that match words. The memory decides which ones are visible."""

from collections.abc import Sequence

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, PromptuaryError, SourceError
from promptuary.base.references import Reference
from promptuary.references.resolve_context import NotesFound, ResolveContext


def resolve(reference: Reference, context: ResolveContext) -> Sequence[Source]:
    """Return the notes that the value of ``reference`` names or matches, as far as the person may see them."""
    words = reference.value + reference.suffix
    try:
        found = NotesFound() if context.find_notes is None else context.find_notes(words)
    except SourceError:
        raise
    except PromptuaryError as error:
        raise SourceError(Code.READ_FAILED, str(error)) from error
    if not found.sources:
        raise SourceError(Code.NO_MATCH, f"no note matches {words!r}; try other words")
    context.notes.extend(found.remarks)
    return found.sources

"""``@memory:"words"``: the notes that answer best, from the memory, which knows whose each is. Reads no file."""

from collections.abc import Sequence

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, PromptuaryError, SourceError
from promptuary.core.references import Reference
from promptuary.references.resolve_context import ResolveContext


def resolve(reference: Reference, context: ResolveContext) -> Sequence[Source]:
    """Return the notes for the value of ``reference`` that the person may see."""
    words = reference.value + reference.suffix
    try:
        found = () if context.find_notes is None else context.find_notes(words)
    except SourceError:
        raise
    except PromptuaryError as error:
        raise SourceError(Code.READ_FAILED, str(error)) from error
    if not found:
        raise SourceError(Code.NO_MATCH, f"no note matches {words!r}; try other words")
    return found

"""``@remember:"…"`` in a message: writes what the person asks to be remembered, in their own words.

Only what the person typed counts. A reference from a layer, an attached text or a model is refused, and so is one in
what looks like a quotation or a paste: the author of a text that a person quotes must not be able to write into that
person's memory.
"""

from typing import TYPE_CHECKING, Final

from promptuary.base.errors import Code, PromptuaryError, SecretError, SourceError
from promptuary.base.references import Reference
from promptuary.memory.writeback.own_words import own_words
from promptuary.references.resolve_context import NoteKept
from promptuary.references.scan import scan

if TYPE_CHECKING:
    from promptuary.memory.pinned import TurnMemory

_ADVICE: Final = 'write it in a short message of your own, or run `promptuary remember "…"`'


def remember(memory: "TurnMemory", said: str, reference: Reference) -> NoteKept:
    """Write what ``reference`` asks for. ``said`` is the message as the person typed it. Raises ``SourceError``."""
    if reference.raw not in {found.raw for found in scan(said) if found.kind == reference.kind}:
        raise SourceError(Code.NOT_REMEMBERED, f"it is not in the message as you typed it; {_ADVICE}")
    if reference.raw not in own_words(said).text:
        raise SourceError(Code.NOT_REMEMBERED, f"it is in what looks like a quotation or a paste; {_ADVICE}")
    try:
        written = memory.remembered(reference.value + reference.suffix, reason="asked for in a message")
    except SecretError as error:
        raise SourceError(Code.HOLDS_SECRET, str(error)) from error
    except PromptuaryError as error:
        raise SourceError(Code.WRITE_FAILED, str(error)) from error
    header = written.note.header
    if written.is_new:
        also = f"; {written.note.hint}" if written.note.hint else ""
        return NoteKept(header.address, f"remembered as {header.id} ({header.audience}, {header.kind}){also}")
    return NoteKept(header.address, f"the note {header.id} says it already")

"""``@clipboard``: the text that was copied last, wherever it came from."""

from promptuary.base.blocks import Source, Trust, content_hash
from promptuary.base.references import Reference
from promptuary.base.text import counted
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.selection import count_lines


def resolve(_: Reference, context: ResolveContext) -> list[Source]:
    """Return the content of the clipboard, marked as external: its author is unknown."""
    text = context.workspace.clipboard()
    lines = count_lines(text)
    return [
        Source(
            key="clipboard",
            label="clipboard",
            kind="clipboard",
            text=text,
            revision=content_hash(text),
            trust=Trust.EXTERNAL,
            facts=(counted(lines, "line"),),
        )
    ]

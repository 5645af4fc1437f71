"""``@NAME:uri``: a resource of an MCP server that the person configured under that name."""

from promptuary.base.blocks import Source, Trust, content_hash
from promptuary.base.errors import Code, PromptuaryError, ServerSaidError, SourceError
from promptuary.base.references import Reference
from promptuary.base.text import one_line
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.shorten.text import text_forms
from promptuary.tool_servers.contents import ServerText
from promptuary.workspace.access import Access


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return what the server answers, marked as external: data, never instructions."""
    if context.read_server is None:
        raise SourceError(Code.NOT_AVAILABLE, "the servers of the person are not available here")
    value = f"{reference.value}{reference.suffix}"
    try:
        answer = context.read_server(reference.kind, value)
    except SourceError:
        raise
    except PromptuaryError as error:
        # What the server itself said about it is for the person: the model reads the reason.
        if isinstance(error, ServerSaidError):
            context.notes.append(one_line(f"{reference.kind} says: {error.said}"))
        raise SourceError(Code.FETCH_FAILED, str(error)) from error
    if answer.is_error:
        context.notes.append(one_line(f"{reference.kind} says: {answer.text[:300]}"))
        raise SourceError(Code.FETCH_FAILED, f"the server {reference.kind} reports an error")
    if not answer.text.strip():
        raise SourceError(Code.UNSUPPORTED_TYPE, f"the server {reference.kind} answers without text")
    return [external(answer, f"{reference.kind}:{value}", context.workspace.access)]


def external(answer: ServerText, label: str, access: Access) -> Source:
    """Return a text of a server as a source, without its secrets."""
    text = access.mask(answer.text)
    left_out = (f"Left out, since it is no text: {', '.join(answer.left_out)}",) if answer.left_out else ()
    return Source(
        key=f"mcp:{label}",
        label=label,
        kind="mcp",
        text=text,
        revision=content_hash(text),
        trust=Trust.EXTERNAL,
        claims=left_out,
        first_line=1,
        outlines=lambda: text_forms(text, ""),
        partial=bool(answer.left_out),
    )

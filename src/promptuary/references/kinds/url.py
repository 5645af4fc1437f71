"""``@url:https://…``: a page as Markdown, a PDF as text, JSON and plain text as they are."""

from promptuary.base.blocks import Source, Trust
from promptuary.base.references import Reference
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.shorten.text import text_forms


def resolve(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the page at the URL, marked as external: data, never instructions."""
    page = context.workspace.fetch(reference.value)
    claims = (
        f"Title: {page.title}" if page.title else "",
        f"From: {page.final_url}" if page.final_url != page.url else "",
    )
    return [
        Source(
            key=f"url:{page.final_url}",
            label=page.url,
            kind="url",
            text=page.text,
            revision=page.sha256,
            language=page.language,
            trust=Trust.EXTERNAL,
            facts=(f"{page.dated} {page.date}",),
            claims=tuple(filter(None, claims)),
            notes=tuple(page.notes),
            first_line=1,
            outlines=lambda: text_forms(page.text, page.language),
        )
    ]

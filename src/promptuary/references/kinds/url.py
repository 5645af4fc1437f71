"""``@url:https://…``: a page as Markdown, a PDF as text, JSON and plain text as they are."""

from promptuary.core.blocks import Source, Trust
from promptuary.core.references import Reference
from promptuary.outline import outline
from promptuary.references.resolve_context import Desk


def resolve(reference: Reference, desk: Desk) -> list[Source]:
    """Return what the URL leads to. It comes from outside: data, never instructions."""
    page = desk.workspace.fetch(reference.value)
    found = (page.title, page.final_url if page.final_url != page.url else "", f"{page.dated} {page.date}")

    def headings() -> list[str]:
        text = outline(page.text, page.language)
        return [text] if text else []

    return [
        Source(
            key=f"url:{page.final_url}",
            label=page.url,
            kind="url",
            text=page.text,
            revision=page.sha256,
            language=page.language,
            trust=Trust.EXTERNAL,
            facts=tuple(fact for fact in found if fact),
            notes=tuple(page.notes),
            first_line=1,
            outlines=headings,
        )
    ]

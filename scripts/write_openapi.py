"""Write ``docs/openapi.json`` from the table of the API. ``make generate`` runs this."""

from pathlib import Path

from promptuary.api.openapi import document

TARGET = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"


def content() -> bytes:
    """Return what the file has."""
    return document() + b"\n"


if __name__ == "__main__":
    TARGET.write_bytes(content())

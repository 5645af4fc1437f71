"""Converts documents to text: PDF and DOCX in the child process that converts pages, notebooks here."""

from pathlib import PurePosixPath

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.base.text import counted
from promptuary.workspace.disk.read import decode
from promptuary.workspace.disk.root import display_path
from promptuary.workspace.documents.names import PROGRAMS
from promptuary.workspace.documents.notebook import notebook_text
from promptuary.workspace.documents.pages import PageKind, run_converter, well_formed

SIZE_FACTOR = 32
"""How many times as large as a text file a document may be: most of it is layout and pictures."""

_NAMES = {"pdf": "a PDF", "docx": "a Word document"}
_MAGIC = {"pdf": b"%PDF-", "docx": b"PK\x03\x04"}
_SECONDS = 16.0
"""How long a conversion may take on a busy machine; what it may compute is limited by ``web.pages``."""


class DocumentText(Struct, frozen=True):
    """The text of a document; ``about`` says what it was, for the head of its block; empty if it was text already."""

    text: str
    about: str = ""


def document_text(data: bytes, path: str) -> DocumentText:
    """Return the text of the document ``path``. Raises ``SourceError`` if it has none, is broken, or takes too long."""
    kind = PROGRAMS.get(PurePosixPath(path).suffix.lower())
    if kind is not None and _MAGIC[kind] in data[:1024]:
        return _convert(kind, data, path)
    text, _ = decode(data, path)
    shown = notebook_text(text) if kind is None else None
    if shown is None:
        return DocumentText(text)
    left_out = f", {counted(shown.images, 'picture')} left out" if shown.images else ""
    return DocumentText(shown.text, f"a notebook{left_out}")


def _convert(kind: PageKind, data: bytes, path: str) -> DocumentText:
    try:
        page = run_converter(kind, data, "", _SECONDS)
    except SourceError as error:
        code = Code.TIMEOUT if error.code is Code.TIMEOUT else Code.READ_FAILED
        raise SourceError(code, f"{display_path(path)} cannot be converted to text now: {error.reason}") from error
    if failed := page.get("failed"):
        raise SourceError(Code.CONVERSION_FAILED, f"{display_path(path)}: {failed}")
    return DocumentText(well_formed(page["text"]), ", ".join([f"{_NAMES[kind]} as text", *page.get("notes", ())]))

"""Which files are documents, by their names."""

from pathlib import PurePosixPath
from typing import Final, Literal

PROGRAMS: Final[dict[str, Literal["pdf", "docx"]]] = {".pdf": "pdf", ".docx": "docx"}
"""What is converted by a program, which takes a moment."""


def needs_program(path: str) -> bool:
    """Return whether a file of that name is converted by a program."""
    return PurePosixPath(path).suffix.lower() in PROGRAMS


def is_document(path: str) -> bool:
    """Return whether a file of that name is a document."""
    return PurePosixPath(path).suffix.lower() in {*PROGRAMS, ".ipynb"}

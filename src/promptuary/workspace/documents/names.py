"""Which files are documents or images, by their names."""

from pathlib import PurePosixPath
from typing import Final, Literal

from promptuary.workspace.disk.sensitive_names import IMAGES

PROGRAMS: Final[dict[str, Literal["pdf", "docx"]]] = {".pdf": "pdf", ".docx": "docx"}
"""Types that a program converts, which takes a moment."""


def is_image(path: str) -> bool:
    """Return whether a file with that name is an image that models accept."""
    return PurePosixPath(path).suffix.lower() in IMAGES


def needs_program(path: str) -> bool:
    """Return whether a program converts a file with that name."""
    return PurePosixPath(path).suffix.lower() in PROGRAMS


def is_document(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in {*PROGRAMS, ".ipynb"}

"""What is printed about an index that is brought up to date."""

import pytest

from promptuary.base.errors import Code
from promptuary.cli.search.indexing import advice
from promptuary.search.values import FilesSkipped, FolderHeld, HeldReason, IndexRebuilt, SearchNote


@pytest.mark.parametrize("reason", ["missing", "empty"])
def test_what_to_do_about_a_folder_that_is_gone_is_told(reason: HeldReason) -> None:
    assert advice(FolderHeld("/notes", reason)) == " (promptuary index --prune removes its files)"


@pytest.mark.parametrize(
    "note",
    [
        FolderHeld("/notes", "unreadable"),
        FolderHeld("/notes", "unreadable", inside="diary"),
        FilesSkipped({"/notes/is missing.md": Code.BINARY}),
        IndexRebuilt(),
    ],
)
def test_nothing_else_is_said_to_be_gone(note: SearchNote) -> None:
    assert advice(note) == ""

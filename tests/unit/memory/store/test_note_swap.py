"""Temporary files of notes: what killed writers left behind, and what others are writing just now."""

import os
from pathlib import Path

import pytest

from promptuary.base import durable
from promptuary.memory.store.swap import recover


def test_a_temporary_file_that_its_writer_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who write the first notes of a folder at once both write its .gitignore, without the lock."""
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    listed = durable.leftovers

    def leftovers(descriptor: int) -> list[str]:
        with durable.temporary(descriptor, b"*\n", 0o644):
            return listed(descriptor)  # and it is gone when the caller sees its name

    monkeypatch.setattr(durable, "leftovers", leftovers)
    try:
        assert recover(folder) == 1
    finally:
        os.close(folder)

    assert list(tmp_path.iterdir()) == []

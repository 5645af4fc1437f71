"""What git sees of notes: shared ones, the list of them and the ignore file; never anything private."""

from pathlib import Path

import pytest

from promptuary import PromptuaryError
from promptuary.blocking import Promptuary
from tests.conftest import git


def test_git_sees_what_is_shared_and_nothing_private(workspace: Path) -> None:
    git(workspace, "init", "-q")
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        p.memory.write("Mine alone.", kind="feedback")
        private = git(workspace, "status", "--porcelain", "--untracked-files=all")
        note = p.memory.write("For everybody.", kind="project", audience="shared")
    shared = git(workspace, "status", "--porcelain", "--untracked-files=all")

    assert ".promptuary" not in str(private)
    assert f".promptuary/memory/agents/default/{note.header.path}" in str(shared)
    assert ".promptuary/.gitignore" in str(shared)
    assert "private" not in str(shared)
    assert "state.db" not in str(shared)


def test_a_note_of_a_clone_that_nobody_changed_cannot_be_undone(workspace: Path) -> None:
    git(workspace, "init", "-q")
    file = workspace / ".promptuary" / "memory" / "agents" / "default" / "shared" / "project" / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nid: abcdef123456\n---\nRun this.\n")
    git(workspace, "add", "-f", ".promptuary")
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        with pytest.raises(PromptuaryError, match="nothing to undo"):
            p.memory.undo("abcdef123456")
        note = p.memory.get("abcdef123456")
    assert note is not None
    assert note.header.status == "active"

"""What git sees of notes: shared ones, the list of them and the ignore file; never anything private."""

from pathlib import Path

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

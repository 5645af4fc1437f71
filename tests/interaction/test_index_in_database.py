"""Files, notes and experiences are found in PostgreSQL, and nothing of an index is on the disk."""

from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.errors import ConfigError
from promptuary.blocking import Promptuary
from tests.conftest import Files


def test_files_notes_and_experiences_are_found_without_an_index_on_disk(files: Files, postgres: str) -> None:
    root = files({"docs/deploy.md": "# Deploy\n\nThe release runs from the pipeline.\n", "a.txt": "nothing"})
    ada = Principal(user="ada")
    with Promptuary.open(root, principal=ada, database=postgres, index="database", embedder="none") as promptuary:
        promptuary.search.index([root / "docs"])
        promptuary.memory.write("The database port is 5544.", title="Database port")
        promptuary.experiences.add("task_solution", "deploy the release", {"summary": "run the pipeline"})
        assert [hit.path for hit in promptuary.search.find("release pipeline").hits] == ["deploy.md"]
        assert len(promptuary.memory.find("which port has the database").hits) == 1
        assert len(promptuary.experiences.find_similar("deploy a release").hits) == 1

    assert not list(root.rglob("catalog.db"))
    with Promptuary.open(root, principal=ada, database=postgres, index="database", embedder="none") as promptuary:
        assert [hit.path for hit in promptuary.search.find("release pipeline").hits] == ["deploy.md"]
    with Promptuary.open(
        root, principal=Principal(user="bob"), database=postgres, index="database", embedder="none"
    ) as promptuary:
        assert not promptuary.memory.find("which port has the database").hits


def test_an_index_in_the_database_needs_a_database(tmp_path: Path) -> None:
    with (
        Promptuary.open(tmp_path, index="database", embedder="none") as promptuary,
        pytest.raises(ConfigError, match='set database = "postgresql://USER@HOST/NAME", or index = "embedded"'),
    ):
        promptuary.search.index([tmp_path])


def test_a_workspace_does_not_say_where_its_index_is(files: Files) -> None:
    root = files({".promptuary/config.toml": 'index = "database"\n', "a.md": "alpha"})
    with Promptuary.open(root, embedder="none") as promptuary:
        promptuary.search.index([root])
        assert [hit.path for hit in promptuary.search.find("alpha").hits] == ["a.md"]

"""A search can be restricted to the notes with a tag."""

from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError
from promptuary.cli.main import main
from promptuary.search.chunks.tags import tags_in
from promptuary.search.values import Filters, SearchQuery
from tests.indexes import search_of

NOTES = {
    "listed.md": "---\ntags: [Work/Plans, birds]\n---\n\nThe heron stands.\n",
    "spoken.md": "# Heron\n\nIt flies. #birds (#work)\n",
    "plain.md": "The heron, once more.\n",
    "code.py": "# heron\n#birds\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Return a folder of notes, some of which have tags."""
    for path, text in NOTES.items():
        (tmp_path / path).write_text(text)
    return tmp_path


def test_only_notes_with_the_tag_or_one_below_it_are_found(vault: Path) -> None:
    with search_of(vault) as service:
        service.index(".")

        def found(*tags: str) -> set[str]:
            return {hit.path for hit in service.find(SearchQuery("heron", filters=Filters(tags=tags))).hits}

        assert found("birds") == found("#Birds") == found("work") == {"listed.md", "spoken.md"}
        assert found("work/plans") == {"listed.md"}
        assert found("plans") == set()
        (vault / "plain.md").write_text("The heron, once more. #birds/waders\n")
        assert found("birds") == {"listed.md", "spoken.md", "plain.md"}


def test_the_command_has_the_filter(
    vault: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault)
    main(["index", ".", "--embedder", "none", "--quiet"])
    capsys.readouterr()
    assert main(["search", "heron", "--tag", "work/plans", "-l", "--embedder", "none"]) == 0
    assert capsys.readouterr().out == "listed.md\n"
    assert main(["search", "heron", "--tag", "nowhere", "--embedder", "none"]) == 1


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one and #Two/three, #four.", ("one", "two/three", "four")),
        ("# Heading\n\n## Other\n", ()),
        ("issue #123, a#b, http://x.y/#z, `#code`", ()),
        ("```c\n#include <x>\n```\n#after", ("after",)),
        ("~~~\n#a\n```\n#b\n~~~\n#c", ("c",)),
        ("#2024-plan #über #日本", ("2024-plan", "über", "日本")),
        ("---\ntags:\n  - '#quoted'\n  - plain\n---\n", ("quoted", "plain")),
        ("---\ntags: one\n---\n#one #two", ("one", "two")),
    ],
)
def test_tags_are_read_as_people_write_them(text: str, tags: tuple[str, ...]) -> None:
    assert tags_in(text, "markdown") == tags


def test_a_tag_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no name"):
        Filters(tags=("#",))

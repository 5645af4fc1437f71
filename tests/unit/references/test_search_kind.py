"""``@search:`` and ``@memory:`` in a message: places of indexed files, attached with their lines."""

from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.core.errors import PromptuaryError
from promptuary.core.expansion import Expansion
from promptuary.core.recall import Found
from tests.conftest import Files

NOTES = {
    "notes/deploy.md": "# Deploying\n\nRun the release script.\n\n## Rollback\n\nPut the last image back.\n",
    "notes/lunch.md": "# Lunch\n\nThe canteen closes at two.\n",
    ".promptuary/memory/people.md": "# People\n\nAda likes the canteen.\n",
    "src/app.py": "def release_script():\n    return 1\n",
}


def opened(workspace: Path, **options: Any) -> Promptuary:
    return Promptuary.open(workspace, exact=True, **{"embedder": "none", **options})


@pytest.fixture
def indexed(files: Files) -> Path:
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.index([workspace])
    return workspace


def expanded(workspace: Path, text: str) -> Expansion:
    with opened(workspace) as promptuary:
        return promptuary.expand(text)


def sent(expansion: Expansion) -> str:
    return expansion.messages[-1]["content"]


def test_a_search_attaches_the_best_places_with_their_paths_and_lines(indexed: Path) -> None:
    expansion = expanded(indexed, 'Why? @search:"canteen closes"')

    assert expansion.blocks[0].source.label == "notes/lunch.md:1-3"
    assert [outcome.code for outcome in expansion.outcomes] == [None]
    assert "lines 1-3" in sent(expansion)
    assert "The canteen closes at two." in sent(expansion)


def test_a_single_word_needs_no_quotes(indexed: Path) -> None:
    assert [block.source.label for block in expanded(indexed, "@search:rollback").blocks] == ["notes/deploy.md:1-7"]


def test_a_memory_is_looked_for_only_among_what_is_remembered(indexed: Path) -> None:
    expansion = expanded(indexed, 'Who? @memory:"canteen"')

    assert [block.source.label for block in expansion.blocks] == [".promptuary/memory/people.md:1-3"]
    assert "Ada likes the canteen." in sent(expansion)


@pytest.mark.parametrize("order", ["{search} {file}", "{file} {search}"])
def test_lines_that_are_asked_for_twice_stand_there_once(indexed: Path, order: str) -> None:
    text = order.format(search='@search:"canteen closes at two"', file="@file:notes/lunch.md:1-3")
    expansion = expanded(indexed, text)

    assert [block.source.label for block in expansion.blocks].count("notes/lunch.md:1-3") == 1
    assert sent(expansion).count("The canteen closes at two.") == 1
    assert [outcome.code for outcome in expansion.outcomes] == [None, None]


def test_two_searches_that_find_the_same_show_it_once(indexed: Path) -> None:
    expansion = expanded(indexed, "@search:rollback and @search:image")

    assert [block.source.label for block in expansion.blocks] == ["notes/deploy.md:1-7"]


def test_a_place_in_a_folder_elsewhere_has_its_whole_path(files: Files, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "zoo.md").write_text("# Zoo\n\nThe zebra sleeps.\n")
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.index([vault])
        expansion = promptuary.expand("@search:zebra")

    assert [block.source.label for block in expansion.blocks] == [f"{vault}/zoo.md:1-3"]


@pytest.mark.parametrize("reference", ["@search:canteen", "@memory:canteen"])
def test_where_nothing_is_indexed_the_answer_says_what_to_do_and_leaves_no_trace(files: Files, reference: str) -> None:
    workspace = files({"a.md": "canteen"})
    expansion = expanded(workspace, f"{reference} and @file:a.md")

    (searched, read) = expansion.outcomes
    assert (searched.code, read.code) == ("NOT_INDEXED", None)
    assert "promptuary index" in (searched.reason or "")
    assert [block.source.label for block in expansion.blocks] == ["a.md"]
    assert not (workspace / ".promptuary").exists()


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("@search:giraffe", "nothing that is indexed answers 'giraffe'"),
        ("@memory:rollback", "nothing that is remembered and indexed answers 'rollback'"),
        ('@search:"..."', "nothing that is indexed answers '...'"),
    ],
)
def test_a_search_that_finds_nothing_says_so(indexed: Path, reference: str, told: str) -> None:
    (outcome,) = expanded(indexed, f"{reference} please").outcomes

    assert outcome.code == "NO_MATCH"
    assert told in (outcome.reason or "")
    assert "try other words" in (outcome.reason or "")


@pytest.mark.parametrize("error", [PromptuaryError("the disk is gone"), RuntimeError("a defect")])
def test_a_search_that_fails_costs_the_message_that_reference_and_nothing_else(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> Found:
        raise error

    monkeypatch.setattr("promptuary.file_memory.FileMemory.search", fail)
    expansion = expanded(indexed, "@search:canteen and @file:src/app.py")

    (searched, read) = expansion.outcomes
    assert searched.code is not None
    assert read.code is None
    assert [block.source.label for block in expansion.blocks] == ["src/app.py"]


def test_what_changed_a_moment_ago_is_what_is_attached(indexed: Path) -> None:
    (indexed / "notes/lunch.md").write_text("# Lunch\n\nThe kitchen is new.\n")
    expansion = expanded(indexed, "@search:kitchen")

    assert "The kitchen is new." in sent(expansion)


def test_the_menu_offers_both_kinds_after_an_at_sign(indexed: Path) -> None:
    with opened(indexed) as promptuary:
        every = promptuary.complete("Look @", limit=50)
        some = promptuary.complete("Look @sea", limit=50)

    assert {"@search:", "@memory:"} <= {item.insert for item in every.items}
    assert some.items[0].insert == "@search:"

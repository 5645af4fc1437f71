"""``@search:`` in a message: places of indexed files, attached with their lines."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.references.expansion import Expansion
from promptuary.search.values import Hit, SearchResult, Why
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
        promptuary.search.index([workspace])
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


@pytest.mark.parametrize(
    ("reference", "labels"),
    [
        ('@search:"at closes two"', ["notes/lunch.md:1-3"]),
        ("@search:'\"closes at two\"'", ["notes/lunch.md:1-3"]),
        ("@search:'\"at closes two\"'", []),
        (r'@search:"\"closes at two\""', ["notes/lunch.md:1-3"]),
        (r'@search:"\"at closes two\""', []),
        ('@search:"rollb*"', ["notes/deploy.md:1-7"]),
    ],
)
def test_the_quotes_of_a_phrase_stand_within_those_around_the_value(
    indexed: Path, reference: str, labels: list[str]
) -> None:
    assert [block.source.label for block in expanded(indexed, reference).blocks] == labels


@pytest.mark.parametrize("order", ["{search} {file}", "{file} {search}"])
def test_lines_that_are_asked_for_twice_stand_there_once(indexed: Path, order: str) -> None:
    text = order.format(search='@search:"canteen closes at two"', file="@file:notes/lunch.md:1-3")
    expansion = expanded(indexed, text)

    assert [block.source.label for block in expansion.blocks].count("notes/lunch.md:1-3") == 1
    assert sent(expansion).count("The canteen closes at two.") == 1
    assert [outcome.code for outcome in expansion.outcomes] == [None, None]


@pytest.fixture
def partly(files: Files) -> Path:
    """Have some folders of a workspace indexed, and not the workspace."""
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.search.index([workspace / "notes", workspace / "src"])
    return workspace


def test_a_place_in_an_indexed_folder_of_the_workspace_is_named_from_the_workspace(partly: Path) -> None:
    expansion = expanded(partly, "@search:canteen and @search:release_script")

    (lunch, *others) = expansion.blocks
    assert (lunch.source.label, lunch.source.path) == ("notes/lunch.md:1-3", "notes/lunch.md")
    assert lunch.source.read_on == "read on with @file:notes/lunch.md"
    assert [block.source.path for block in others] == ["src/app.py", "notes/deploy.md"]  # "the release script"
    assert str(partly) not in sent(expansion)


@pytest.mark.parametrize("order", ["{search} {file}", "{file} {search}"])
def test_lines_of_an_indexed_folder_of_the_workspace_stand_there_once_too(partly: Path, order: str) -> None:
    text = order.format(search="@search:canteen", file="@file:notes/lunch.md:1-3")
    expansion = expanded(partly, text)

    assert [block.source.label for block in expansion.blocks] == ["notes/lunch.md:1-3"]
    assert sent(expansion).count("The canteen closes at two.") == 1


def test_of_a_folder_around_the_workspace_only_what_is_in_the_workspace_is_named_from_it(
    files: Files,
) -> None:
    workspace = files(NOTES)
    beside = workspace.parent / f"{workspace.name}-beside"
    beside.mkdir()
    (beside / "menu.md").write_text("# Menu\n\nThe canteen has soup.\n")
    with opened(workspace) as promptuary:
        promptuary.search.index([workspace.parent])
        expansion = promptuary.expand("@search:canteen")

    assert {block.source.label for block in expansion.blocks} == {
        "notes/lunch.md:1-3",
        f"{beside}/menu.md:1-3",
    }
    assert {block.source.path for block in expansion.blocks} == {"notes/lunch.md", ""}


def test_two_searches_that_find_the_same_show_it_once(indexed: Path) -> None:
    expansion = expanded(indexed, "@search:rollback and @search:image")

    assert [block.source.label for block in expansion.blocks] == ["notes/deploy.md:1-7"]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Make a folder of notes beside the workspace."""
    made = tmp_path / "vault"
    made.mkdir()
    (made / "zoo.md").write_text("# Zoo\n\nThe zebra sleeps.\n")
    return made


def test_a_place_in_a_folder_elsewhere_has_its_whole_path(files: Files, vault: Path) -> None:
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.search.index([vault])
        expansion = promptuary.expand("@search:zebra")

    assert [block.source.label for block in expansion.blocks] == [f"{vault}/zoo.md:1-3"]


def test_where_nothing_is_indexed_the_answer_says_what_to_do_and_leaves_no_trace(files: Files) -> None:
    workspace = files({"a.md": "canteen"})
    expansion = expanded(workspace, "@search:canteen and @file:a.md")

    (searched, read) = expansion.outcomes
    assert (searched.code, read.code) == ("NOT_INDEXED", None)
    assert "promptuary index" in (searched.reason or "")
    assert [block.source.label for block in expansion.blocks] == ["a.md"]
    assert not (workspace / ".promptuary").exists()


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("@search:giraffe", "no indexed passage matches 'giraffe'"),
        ('@search:"..."', "no indexed passage matches '...'"),
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
    def fail(*_: object, **__: object) -> SearchResult:
        raise error

    monkeypatch.setattr("promptuary.search.service.SearchService.find", fail)
    expansion = expanded(indexed, "@search:canteen and @file:src/app.py")

    (searched, read) = expansion.outcomes
    assert searched.code is not None
    assert read.code is None
    assert [block.source.label for block in expansion.blocks] == ["src/app.py"]


@pytest.fixture
def vanished(files: Files, vault: Path) -> Path:
    """Have a folder indexed that is not there any more; return the workspace."""
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.search.index([vault])
    vault.rename(vault.with_name("away"))
    return workspace


@pytest.mark.parametrize("message", ["@search:zebra", "@search:zebra @search:sleeps", "@search:giraffe"])
def test_what_there_is_to_tell_of_the_index_is_told_once_and_not_to_the_model(vanished: Path, message: str) -> None:
    expansion = expanded(vanished, message)

    (told,) = [warning for warning in expansion.warnings if "its entries in the index were kept" in warning]
    assert told.startswith(f"{vanished.parent / 'vault'} is missing")
    assert "was kept" not in sent(expansion)


def test_in_a_thread_the_receipt_tells_it(vanished: Path) -> None:
    with opened(vanished, recall_tokens=0) as promptuary:
        turn = promptuary.threads.prepare("@search:zebra")

    assert [warning for warning in turn.receipt.warnings if "its entries in the index were kept" in warning]


def test_a_file_that_was_skipped_is_told_beside_the_prompt(indexed: Path) -> None:
    (indexed / "notes/deploy.md").write_bytes(b"\x00\x01\x02" * 100)
    expansion = expanded(indexed, "@search:canteen")

    assert [warning for warning in expansion.warnings if "deploy.md (BINARY)" in warning]
    assert "skipped" not in sent(expansion)


def test_places_that_have_lines_in_common_show_them_once(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = Why(1.0, None, lambda: ("canteen",))
    best = Hit(str(indexed), "a.md", 1, 3, "one\ntwo\nthree", (), "markdown", 0, "ab" * 32, 0.9, why)
    next_best = replace(best, start_line=3, end_line=5, text="three\nfour\nfive", score=0.8)
    monkeypatch.setattr(
        "promptuary.search.service.SearchService.find", lambda *_, **__: SearchResult([best, next_best])
    )
    expansion = expanded(indexed, "@search:canteen")

    assert [block.source.label for block in expansion.blocks] == ["a.md:1-3", "a.md:4-5"]
    assert sent(expansion).count("three") == 1


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

"""The layer that brings along what is indexed and fits the message: what it says, and when it says nothing."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.blocks import Attachment, Block, Detail, Passage
from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Item
from promptuary.blocking import Promptuary
from promptuary.layers.layer import LayerContext, Recall, RecallRequest
from promptuary.layers.recall import HEADING, SemanticRecall, allowance, fitted, in_view, lines_in_view
from promptuary.references.kinds.search_hits import recallable, relevant
from promptuary.references.message import ParsedMessage
from promptuary.search.values import Hit, SearchQuery, SearchResult, Why
from promptuary.sessions.values import Session
from promptuary.threads.prepared import Turn
from promptuary.tokens.counting import Counter
from promptuary.workspace.access import Access, Pins
from tests.conftest import Files

HOME = "/home/ada/notes"
COUNTER = Counter()

NOTES = {
    "notes/deploy.md": "# Deploying\n\nRun the release script.\n\n## Rollback\n\nPut the last image back.\n",
    "notes/lunch.md": "# Lunch\n\nThe canteen closes at two.\n",
    "src/app.py": "def release_script():\n    '''Release everything.'''\n    return 1\n",
}


def hit(path: str = "a.md", first: int = 3, text: str = "alpha\nbeta", **changes: Any) -> Hit:
    last = first + text.count("\n")
    one = Hit(
        HOME, path, first, last, text, ("Top", "Part"), "markdown", 0, "ab" * 32, 0.9, Why(5.0, 0.6, lambda: ("alpha",))
    )
    return replace(one, **changes)


def said(hits: Sequence[Hit], request: RecallRequest, *, ready: bool = True) -> Recall | None:
    layer = SemanticRecall(lambda _: SearchResult(hits, "hybrid"), lambda: ready, HOME)
    return asyncio.run(layer.recall(request, LayerContext("t", "", None, COUNTER, 8_000)))


# What it says


def test_what_a_search_has_to_tell_is_told_to_the_person_and_not_to_the_model(files: Files, tmp_path: Path) -> None:
    workspace = files(NOTES)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "rota.md").write_text("Mira is on call.\n")
    with Promptuary.open(workspace, embedder="none") as promptuary:
        promptuary.search.index([workspace, tmp_path / "other"])
        shutil.rmtree(tmp_path / "other")
        turn = promptuary.threads.prepare("Who is on call?", thread="t")

    (warning,) = turn.receipt.warnings
    assert "other is missing" in warning
    assert "were kept" in warning
    assert "Mira is on call." in str(turn.messages)
    assert "were kept" not in str(turn.messages)


def test_a_layer_that_cannot_search_within_limits_recalls_nothing_in_a_session() -> None:
    session = Session("s1", "s", "t", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
    context = LayerContext("t", "", None, COUNTER, 8_000, access=Access().during(session, Pins()))
    layer = SemanticRecall(lambda _: SearchResult([hit()], "hybrid"), lambda: True, HOME)

    assert asyncio.run(layer.recall(RecallRequest("alpha?", 500), context)) is None
    context.access = Access()
    assert asyncio.run(layer.recall(RecallRequest("alpha?", 500), context)) is not None


def test_a_block_says_where_it_stands_and_why_it_is_there() -> None:
    recall = said([hit()], RecallRequest("alpha?", 500))

    assert recall is not None
    (block,) = recall.blocks
    assert recall.heading == HEADING
    assert (block.source.label, block.source.address, block.source.revision) == ("a.md:3-4", "index:a.md", "ab" * 32)
    assert (block.score, block.reason) == (0.9, "words alpha; cosine 0.60")
    assert "a.md" in block.text
    assert "a.md:3-4" in block.text
    assert "Top > Part" in block.text
    assert "alpha\nbeta" in block.text


def test_a_place_outside_of_the_workspace_has_its_whole_path() -> None:
    recall = said([hit(folder="/vault")], RecallRequest("alpha?", 500))

    assert recall is not None
    assert [block.source.label for block in recall.blocks] == ["/vault/a.md:3-4"]


@pytest.mark.parametrize(
    ("folder", "path", "label"),
    [
        (f"{HOME}/sub", "a.md", "sub/a.md"),
        ("/home/ada", "notes/a.md", "a.md"),
        ("/", "home/ada/notes/sub/a.md", "sub/a.md"),
        (f"{HOME}-old", "a.md", f"{HOME}-old/a.md"),
        ("/home/ada", "other/a.md", "/home/ada/other/a.md"),
        ("/", "a.md", "/a.md"),
    ],
)
def test_a_place_is_named_from_the_workspace_whichever_folder_is_indexed(folder: str, path: str, label: str) -> None:
    recall = said([hit(path, folder=folder)], RecallRequest("alpha?", 500))

    assert recall is not None
    (block,) = recall.blocks
    assert block.source.label == f"{label}:3-4"
    assert block.source.address == f"index:{label}"


def test_a_place_that_is_indexed_with_two_folders_is_one_place() -> None:
    recall = said([hit("sub/a.md"), hit(folder=f"{HOME}/sub", score=0.8)], RecallRequest("alpha?", 500))

    assert recall is not None
    assert [block.source.label for block in recall.blocks] == ["sub/a.md:3-4"]


def test_the_best_stands_first_and_lines_that_a_better_place_shows_are_not_shown_again() -> None:
    whole, part, other = hit(text="alpha\nbeta\ngamma"), hit(first=4, text="beta", score=0.8), hit("b.md", score=0.7)
    recall = said([whole, part, other], RecallRequest("alpha?", 500))

    assert recall is not None
    assert [block.source.label for block in recall.blocks] == ["a.md:3-5", "b.md:3-4"]


def test_what_does_not_fit_is_named_and_something_smaller_still_stands() -> None:
    large, small = hit(text="word " * 400), hit("b.md", score=0.8)
    recall = said([large, small], RecallRequest("alpha?", 200))

    assert recall is not None
    assert [block.source.label for block in recall.blocks] == ["b.md:3-4"]
    (omitted,) = recall.omitted
    assert (omitted.label, omitted.score) == ("a.md:3-3", 0.9)
    assert "did not fit" in omitted.reason


def test_if_nothing_fits_nothing_is_said_and_everything_is_named() -> None:
    recall = said([hit(), hit("b.md", text="gamma")], RecallRequest("alpha?", 3))

    assert recall is not None
    assert (recall.text, len(recall.omitted)) == ("", 2)


HITS = st.lists(
    st.builds(
        hit,
        st.sampled_from(["a.md", "b.py", "c d.txt", "ü.json"]),
        st.integers(1, 10_000),
        st.text(max_size=300) | st.text(st.characters(codec=None), max_size=60),
        score=st.floats(-1, 3),
        heading=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    ),
    max_size=12,
)


@given(HITS, st.integers(-5, 600))
def test_it_never_costs_more_than_it_may_and_forgets_no_place(hits: list[Hit], budget: int) -> None:
    recall = fitted(hits, budget, COUNTER, HOME)

    if recall is None:
        assert not hits
        return
    assert COUNTER.count(recall.text) <= max(budget, 0)
    # Neighbours become one block, so that places are looked for and not counted.
    omitted = {one.label for one in recall.omitted}
    shown = [(block.source.path, block.source.lines or (0, 0)) for block in recall.blocks]
    for each in hits:
        covered = any(path == each.path and a <= each.start_line and each.end_line <= b for path, (a, b) in shown)
        assert covered or f"{each.path}:{each.start_line}-{each.end_line}" in omitted


# When it says nothing


@pytest.mark.parametrize("query", ["", "  \n"])
def test_a_message_without_words_is_not_searched_for(query: str) -> None:
    assert said([hit()], RecallRequest(query, 500)) is None


def test_without_an_index_or_without_room_nothing_is_searched() -> None:
    def search(_: SearchQuery) -> SearchResult:
        raise AssertionError("it was")

    context = LayerContext("t", "", None, COUNTER, 8_000)
    for ready, budget in ((False, 500), (True, 0)):
        layer = SemanticRecall(search, lambda ready=ready: ready, HOME)  # type: ignore[misc]
        assert asyncio.run(layer.recall(RecallRequest("alpha", budget), context)) is None


def test_what_stands_in_the_window_is_not_repeated() -> None:
    shown, nothing = Block.of("Look:\n\nalpha\nbeta\n\nWell?", "shown"), Block.of("nothing", "nothing")

    assert said([hit()], RecallRequest("alpha?", 500, in_view=[nothing, shown])) is None
    recall = said([hit(), hit("b.md", text="gamma\ndelta")], RecallRequest("alpha?", 500, in_view=[shown]))
    assert recall is not None
    assert [block.source.label for block in recall.blocks] == ["b.md:3-4"]


def test_line_ends_and_blank_lines_around_do_not_make_a_text_another_one() -> None:
    assert in_view(hit(text="\n\nalpha\r\nbeta\r\n"), [Passage("so: alpha\nbeta.")])
    assert not in_view(hit(text="alpha\ngamma"), [Passage("alpha"), Passage("gamma")])


def scored(score: float, *, matched: bool = True, cosine: float | None = 0.5) -> Hit:
    return hit(score=score, why=Why(1.0, cosine, lambda: ("alpha",) if matched else ()))


def test_what_is_far_behind_the_best_is_left_out() -> None:
    hits = [
        hit(f"{number}.md", text=f"text {number}", score=score) for number, score in enumerate((1.0, 0.6, 0.3, 0.2))
    ]

    assert relevant(SearchResult(hits)) == hits[:2]
    assert recallable(SearchResult(hits)) == hits[:3]


def test_headings_that_can_be_read_already_are_not_repeated() -> None:
    chat = ("Chat of 8 May",)
    first = hit("chat.md", 1, "# Chat of 8 May\n\nAda: hello", heading=chat)
    others = [hit("chat.md", 9, "Bob: bye", heading=chat), hit("chat.md", 20, "Ada: again", heading=chat)]
    elsewhere = hit("b.md", 5, "Eve: no", heading=chat)

    shown = fitted([first, *others, elsewhere], 500, COUNTER, HOME)

    assert shown is not None
    assert [block.text.count("Chat of 8 May") for block in shown.blocks] == [1, 0, 0, 1]


def test_when_nothing_answers_nothing_is_recalled() -> None:
    assert recallable(SearchResult([hit(score=1.0)], confidence=0.99)) == []
    assert recallable(SearchResult()) == relevant(SearchResult()) == []


def test_of_near_copies_the_best_is_relevant() -> None:
    words = " ".join(f"word{number}" for number in range(40))
    best, copy, other = hit("a.md", text=words), hit("b.md", text=f"{words} more"), hit("c.md", text="another text")

    assert relevant(SearchResult([best, copy, other])) == [best, other]


def test_what_is_far_behind_the_best_is_not_recalled_because_the_best_is_in_view() -> None:
    best, far, near = (
        hit(score=1.0),
        hit("b.md", text="gamma\ndelta", score=0.2),
        hit("c.md", text="epsilon", score=0.6),
    )
    seen = [Block.of("Look:\n\nalpha\nbeta\n\nWell?", "seen")]

    assert said([best, far], RecallRequest("alpha?", 500, in_view=seen)) is None
    recall = said([best, near, far], RecallRequest("alpha?", 500, in_view=seen))
    assert recall is not None
    assert [block.source.label for block in recall.blocks] == ["c.md:3-3"]


# Lines that are there already


@pytest.mark.parametrize("past", [False, True], ids=["now", "before"])
@pytest.mark.parametrize(
    ("source", "lines", "body", "left"),
    [
        ("file:a.md", (1, 4), "one\ntwo\nalpha\nbeta", ["a.md:5-6"]),
        ("file:a.md", (5, 90), "gamma\ndelta\nmore", ["a.md:3-4"]),
        ("file:a.md", (4, 9), "beta\ngamma\ndelta\nmore", []),
        ("index:a.md", (5, 6), "gamma\ndelta", ["a.md:3-4"]),
        ("file:a.md", (4, 5), "beta\ngamma", []),
        ("file:a.md", (1, 2), "one\ntwo", ["a.md:3-6"]),
        ("file:a.md", (7, 9), "more", ["a.md:3-6"]),
        ("file:a.md", (1, 4), "it was\nanother\nthen", ["a.md:3-6"]),
        ("file:aa.md", (1, 4), "one\ntwo\nalpha\nbeta", ["a.md:3-6"]),
        ("url:a.md", (1, 4), "one\ntwo\nalpha\nbeta", ["a.md:3-6"]),
        ("file:a.md", (4, 1), "alpha\nbeta", ["a.md:3-6"]),
        ("file:a.md", None, "alpha\nbeta", ["a.md:3-6"]),
    ],
    ids=[
        "begin",
        "end",
        "one-left",
        "indexed",
        "middle",
        "before",
        "behind",
        "changed",
        "other-file",
        "no-file",
        "reversed",
        "no-lines",
    ],
)
def test_of_a_place_that_is_attached_in_part_only_the_other_lines_are_recalled(
    source: str, lines: tuple[int, int] | None, body: str, left: list[str], past: bool
) -> None:
    block = Block.of(f"## a.md\n\n```markdown\n{body}\n```\n", "a.md", source=source, lines=lines)
    content = f"# Attached context\n\n{body}\n\n# Message\n\nHm."
    attachment = Attachment(source, "a.md", "0" * 64, Detail.FULL, lines, 20, 20 + len(body))
    item = Item("i", "user", content, attachments=(attachment,), words_start=len(content) - 3)
    request = RecallRequest("alpha?", 500, **({"history": [item]} if past else {"in_view": [block]}))
    recall = said([hit(text="alpha\nbeta\ngamma\ndelta")], request)

    assert [block.source.label for block in recall.blocks] == left if recall else left == []


def test_lines_in_view_are_those_that_can_be_read_there_whatever_their_ends() -> None:
    shown = Passage("one\ntwo\nalpha\nbe⟨U+200B⟩ta\n", "a.md", (1, 4))

    assert list(lines_in_view(hit(text="alpha\r\nbe\u200bta\r\ngamma"), "a.md", [shown])) == [(3, 4)]


def test_the_lines_that_two_places_have_in_common_are_recalled_once() -> None:
    first, second = hit(text="alpha\nbeta\ngamma"), hit(first=5, text="gamma\ndelta\neta", score=0.8)
    recall = said([first, second], RecallRequest("alpha?", 500))

    assert recall is not None
    # Neighbouring lines are one block.
    assert [block.source.label for block in recall.blocks] == ["a.md:3-7"]
    assert recall.text.count("gamma") == 1
    assert recall.blocks[0].source.revision not in {first.sha256, second.sha256}


def test_what_was_said_in_chats_stands_in_the_order_in_which_it_was_said() -> None:
    later = hit("b.md", text="beta", score=0.9, date=20, said_at=20)
    earlier = hit("a.md", text="alpha", score=0.8, date=10, said_at=10)
    note = hit("c.md", text="gamma", score=0.7, date=15)

    recall = fitted([later, earlier, note], 500, COUNTER, HOME)
    assert recall is not None
    assert [block.source.path for block in recall.blocks] == ["a.md", "c.md", "b.md"]
    recall = fitted([later, replace(earlier, said_at=None), note], 500, COUNTER, HOME)
    assert recall is not None
    assert [block.source.path for block in recall.blocks] == ["b.md", "a.md", "c.md"]


# What is asked for


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("When does it close?", "When does it close?"),
        ('Why? @search:"canteen hours" Tell me', "Why? Tell me"),
        ("Check #docs/style.md and @file:src/app.py:1-3, please", "Check and , please"),
        ("Check @style.md against @diff", "Check against"),
        ("Ask @ada about the #rollback", "Ask @ada about the #rollback"),
        ('@search:"canteen hours"', "canteen hours"),
        ("@search:canteen and @memory:'tea time'?", "and ?"),
        ("(@search:canteen, @file:notes/lunch.md)?", "canteen notes/lunch.md"),
        ("@diff", ""),
    ],
)
def test_what_is_searched_for_are_the_words_beside_the_references_or_else_what_they_name(
    message: str, words: str
) -> None:
    assert ParsedMessage(message).words == words


# In a turn


@pytest.fixture
def indexed(files: Files) -> Path:
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.search.index([workspace])
    return workspace


def opened(workspace: Path, **options: Any) -> Promptuary:
    return Promptuary.open(workspace, exact=True, **{"embedder": "none", **options})


def recalled(turn: Turn) -> list[str]:
    return [one.label for one in turn.receipt.entries if one.layer == "semantic_recall" and one.status != "out"]


def prompt(turn: Turn) -> str:
    return "\n".join(message["content"] for message in turn.messages)


def test_a_turn_brings_along_what_fits_the_message_and_the_receipt_names_the_places(indexed: Path) -> None:
    with opened(indexed) as promptuary:
        turn = promptuary.threads.prepare("When does the canteen close?")

    assert recalled(turn) == ["notes/lunch.md:1-3"]
    assert turn.receipt.failures == ()
    assert turn.prompt.live[0]["content"].startswith(HEADING)
    assert "The canteen closes at two." in turn.prompt.live[0]["content"]
    assert turn.messages[-1] == {"role": "user", "content": "When does the canteen close?"}


def test_a_turn_in_a_workspace_without_an_index_says_nothing_of_it_and_makes_none(files: Files) -> None:
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        turn = promptuary.threads.prepare("When does the canteen close?")

    assert [entry.layer for entry in turn.receipt.entries] == ["message"]
    assert turn.receipt.failures == ()
    assert not (workspace / ".promptuary/index").exists()


@pytest.mark.parametrize(
    "message",
    ["When does the canteen close? @file:notes/lunch.md", "When does the canteen close? #notes/lunch.md"],
    ids=["attached", "tracked"],
)
def test_what_the_message_attaches_or_keeps_in_view_is_not_recalled(indexed: Path, message: str) -> None:
    with opened(indexed) as promptuary:
        turn = promptuary.threads.prepare(message)

    assert recalled(turn) == []
    assert prompt(turn).count("The canteen closes at two.") == 1


@pytest.mark.parametrize("reference", ["@file:notes/lunch.md", "@search:canteen", "#notes/lunch.md"])
def test_what_is_in_view_of_a_file_with_windows_line_ends_is_not_recalled_either(files: Files, reference: str) -> None:
    workspace = files({"notes/lunch.md": "# Lunch\r\n\r\nThe canteen closes at two.\r\n"})
    with opened(workspace) as promptuary:
        promptuary.search.index([workspace])
        turn = promptuary.threads.prepare(f"When does the canteen close? {reference}")

    assert recalled(turn) == []
    assert prompt(turn).count("The canteen closes at two.\n") == 1
    assert "U+000D" not in prompt(turn)


@pytest.mark.parametrize("reference", ["@file:notes/lunch.md", "@search:canteen", "#notes/lunch.md"])
def test_where_a_folder_of_the_workspace_is_indexed_what_is_in_view_is_not_recalled_either(
    files: Files, reference: str
) -> None:
    workspace = files(NOTES)
    with opened(workspace) as promptuary:
        promptuary.search.index([workspace / "notes"])
        alone = promptuary.threads.prepare("When does the canteen close?")
        promptuary.threads.abandon(alone)
        turn = promptuary.threads.prepare(f"When does the canteen close? {reference}")

    assert recalled(alone) == ["notes/lunch.md:1-3"]
    assert recalled(turn) == []
    assert prompt(turn).count("The canteen closes at two.") == 1


def test_the_name_of_a_kind_of_reference_is_not_searched_for(files: Files) -> None:
    workspace = files({**NOTES, "howto.md": "# How to\n\nA search needs an index.\n"})
    with opened(workspace) as promptuary:
        promptuary.search.index([workspace])
        turn = promptuary.threads.prepare('What about giraffes? @search:"canteen"')

    assert recalled(turn) == []
    assert "The canteen closes at two." in prompt(turn)


def test_lines_that_the_message_attaches_are_not_recalled_with_those_beside_them(indexed: Path) -> None:
    with opened(indexed) as promptuary:
        turn = promptuary.threads.prepare("How do we put the last image back? @file:notes/deploy.md:1-3")

    assert recalled(turn) == ["notes/deploy.md:4-7"]
    assert prompt(turn).count("Run the release script.") == 1
    assert prompt(turn).count("Put the last image back.") == 1


def test_what_was_said_before_is_not_recalled(indexed: Path) -> None:
    with opened(indexed) as promptuary:
        first = promptuary.threads.prepare("Read @file:notes/lunch.md, please.")
        promptuary.threads.finish(first, "The canteen closes at two.")
        turn = promptuary.threads.prepare("When does the canteen close?")

    assert recalled(turn) == []
    assert prompt(turn).count("# Lunch") == 1


def test_lines_that_were_attached_before_are_not_recalled_with_those_beside_them(indexed: Path) -> None:
    with opened(indexed) as promptuary:
        first = promptuary.threads.prepare("Read @file:notes/deploy.md:1-3, please.")
        promptuary.threads.finish(first, "I have.")
        turn = promptuary.threads.prepare("How do we put the last image back?")

    assert recalled(turn) == ["notes/deploy.md:4-7"]
    assert prompt(turn).count("Run the release script.") == 1


def test_a_message_that_nothing_answers_brings_nothing_along(indexed: Path) -> None:
    with opened(indexed) as promptuary:
        turn = promptuary.threads.prepare("What about giraffes?")

    assert recalled(turn) == []


def test_it_can_be_switched_off(indexed: Path) -> None:
    with opened(indexed, recall_tokens=0, memory_tokens=0, experience_tokens=0) as promptuary:
        turn = promptuary.threads.prepare("When does the canteen close?")

    assert turn.messages == [{"role": "user", "content": "When does the canteen close?"}]
    assert {hook.layer for hook in turn.receipt.hooks} <= {"instructions", "file_reference"}


def test_it_takes_no_more_of_the_window_than_the_setting_says(files: Files) -> None:
    workspace = files({f"{number}.md": f"The canteen closes at {number} " + "word " * 100 for number in range(10)})
    with opened(workspace, recall_tokens=300) as promptuary:
        promptuary.search.index([workspace])
        turn = promptuary.threads.prepare("When does the canteen close?")

    spent = sum(COUNTER.count(message["content"]) for message in turn.prompt.live)
    assert 0 < spent <= 300
    assert [one.status for one in turn.receipt.entries if one.layer == "semantic_recall"].count("out") > 0


@pytest.mark.parametrize("error", [PromptuaryError("the disk is gone"), RuntimeError("a defect")])
def test_a_search_that_fails_is_told_and_the_turn_goes_on(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> SearchResult:
        raise error

    monkeypatch.setattr("promptuary.search.service.SearchService.find", fail)
    with opened(indexed) as promptuary:
        turn = promptuary.threads.prepare("When does the canteen close?")

    assert turn.messages == [{"role": "user", "content": "When does the canteen close?"}]
    (failure,) = turn.receipt.failures
    assert (failure.layer, failure.hook) == ("semantic_recall", "recall")
    assert str(error) in failure.reason


def test_a_list_of_folders_that_cannot_be_read_is_told_and_the_turn_goes_on(indexed: Path) -> None:
    (listed,) = (Path.home() / ".local/state/promptuary/folders").glob("*.json")
    listed.write_text("{")
    with opened(indexed) as promptuary:
        turn = promptuary.threads.prepare("When does the canteen close?")

    assert len(turn.messages) == 1
    assert "not a list of folders" in turn.receipt.failures[0].reason


def test_the_less_sure_an_answer_is_the_less_of_the_budget_it_takes() -> None:
    assert [allowance(sure, 2_000) for sure in (1.0, 1.5, 2.0, 5.0)] == [1_000, 1_500, 2_000, 2_000]

"""A model is tried on the person's own files: what is asked, what is compared, and that nothing stays behind."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.models.protocols import Scale
from promptuary.search.service import SearchService
from promptuary.search.trial.compare import Candidate, compare, gain_of
from promptuary.search.trial.questions import FileText, ask
from promptuary.search.values import Chunk
from tests.embedders import HashedWords, search_with

TOPICS = 24
BODY = "These lines tell at some length of what the house number {} holds in its rooms, and who lives there."


class Knowing(HashedWords):
    """Knows which heading belongs to which text: both have a number, spelled differently."""

    scale = Scale()

    def _vector(self, text: str) -> bytes:
        import numpy as np

        vector = np.zeros(self.dimensions, "<f4")
        for letters, digits in re.findall(r"topic ([a-z]+)|number (\d+)", text):
            vector[(ord(letters) - ord("a") if letters else int(digits)) % self.dimensions] = 1.0
        length = float(np.sqrt((vector * vector).sum()))
        if not length:
            vector[-1] = length = 1.0
        return (vector / length).astype("<f4").tobytes()


class KnowingReranker:
    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        number = ord(query.rpartition(" ")[2]) - ord("a")
        return [float(f"number {number} " in text) for text in texts]


@pytest.fixture
def searched(tmp_path: Path) -> Iterator[SearchService]:
    workspace = tmp_path / "notes"
    workspace.mkdir()
    for number in range(TOPICS):
        text = f"# The topic {chr(ord('a') + number)}\n\n{BODY.format(number)}\n"
        (workspace / f"{number}.md").write_text(text, encoding="utf-8")
    with search_with(workspace, HashedWords()) as service:
        service.index([workspace])
        yield service


def test_a_model_that_knows_what_headings_mean_is_better_and_the_files_stay_as_they_were(
    searched: SearchService, tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    seen: list[tuple[int, int]] = []

    trial = compare(
        Candidate("knowing", Knowing("knowing", TOPICS + 1)),
        searched.backend,
        lambda done, total: seen.append((done, total)),
    )

    assert (trial.questions, trial.passages, trial.chunks, trial.kind) == (
        {"heading": TOPICS},
        TOPICS,
        TOPICS,
        "embedder",
    )
    assert trial.candidate.mrr == 1.0
    assert trial.present.mrr < 0.5
    assert trial.gain.is_sure
    assert not trial.gain.is_loss
    assert seen[-1] == (5 * TOPICS, 5 * TOPICS)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
    assert searched.status().counts.unembedded == TOPICS


def test_the_note_in_which_a_link_stands_does_not_count_as_found(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(TOPICS):
        linking = (
            f"Before anything else have a look at [the topic {chr(ord('a') + number)}](room{number}.md), says Ann.\n"
        )
        (notes / f"link{number}.md").write_text(linking, encoding="utf-8")
        (notes / f"room{number}.md").write_text(BODY.format(number), encoding="utf-8")
    with search_with(notes, HashedWords()) as service:
        service.index([notes])
        trial = compare(Candidate("knowing", Knowing("knowing", TOPICS + 1)), service.backend)
    assert (trial.questions, trial.candidate.mrr) == ({"link": TOPICS}, 1.0)


def test_a_reranker_is_tried_on_the_hits_of_the_present_search(searched: SearchService) -> None:
    trial = compare(Candidate("knowing", reranker=KnowingReranker()), searched.backend)
    assert trial.kind == "reranker"
    assert trial.candidate.in_five > trial.present.in_five


def test_whoever_stops_a_trial_stops_it_at_the_next_step(searched: SearchService) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    embedder = Knowing("knowing", TOPICS + 1)
    with pytest.raises(KeyboardInterrupt):
        compare(Candidate("knowing", embedder), searched.backend, stop)
    assert embedder.questions == []


def test_too_few_headings_are_an_error_that_says_what_to_index(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("# The topic a\n\nSome words.\n", encoding="utf-8")
    with search_with(tmp_path / "notes", HashedWords()) as service:
        service.index([tmp_path / "notes"])
        with pytest.raises(PromptuaryError, match=r"only 0 questions .* more headings"):
            compare(Candidate("knowing", Knowing("knowing")), service.backend)


def test_what_is_asked_is_not_in_the_passages_that_answer_it() -> None:
    code = (
        'def settle(account, note):\n    """Pay what is still owed to everyone."""\n    return account.close(balance=0)'
    )
    files = [
        FileText(
            "a.md", "markdown", [chunk("# Baking sour bread\nFeed the starter in the evening, knead, wait, bake hot.")]
        ),
        FileText(
            "plain.txt", "text", [Chunk(1, 1, "The old boat leaks again. It lies at the pier until June, says Ann.")]
        ),
        FileText("money.py", "code", [Chunk(1, 4, code)]),
    ]
    passages, questions = ask(files, passages=10, questions=10)

    assert {question.kind: question.text for question in questions} == {
        "heading": "Baking sour bread",
        "beginning": "The old boat leaks again.",
        "docstring": "Pay what is still owed to everyone.",
    }
    for question in questions:
        (number,) = question.answers
        assert question.text not in passages[number].text


def test_a_link_asks_for_its_target_and_the_note_with_the_link_does_not_count() -> None:
    linking = Chunk(1, 1, "Before you leave, read [what to pack for the trip](pack.md) and lock the back door twice.")
    target = Chunk(1, 1, "Two shirts, the lamp with fresh batteries, rope, and the small stove with its blue bottle.")
    _, questions = ask(
        [FileText("a.md", "markdown", [linking]), FileText("pack.md", "markdown", [target])], passages=9, questions=9
    )
    link = next(question for question in questions if question.kind == "link")
    assert (link.text, link.answers, link.apart) == ("what to pack for the trip", frozenset({1}), frozenset({0}))


def test_a_heading_that_several_files_have_is_not_asked() -> None:
    text = "Usage notes\nCall the function with the path of the file, then read what it returns line by line."
    files = [FileText(f"{name}.md", "markdown", [chunk(f"# {text}")]) for name in "ab"]
    assert not any(question.kind == "heading" for question in ask(files, passages=9, questions=9)[1])


def test_a_gain_of_every_question_is_sure_and_none_is_not() -> None:
    assert gain_of([1.0] * 20, [0.5] * 20).is_sure
    even = gain_of([1.0, 0.0] * 10, [0.0, 1.0] * 10)
    assert (even.is_sure, even.is_loss, even.mean) == (False, False, 0.0)


def chunk(text: str) -> Chunk:
    return Chunk(1, text.count("\n") + 1, text, (text.split("\n", maxsplit=1)[0].lstrip("# "),))

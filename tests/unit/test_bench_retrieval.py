"""The measure of retrieval itself: reads sets as they are on disk, and its figures are right."""

import json
from pathlib import Path

import pytest

from bench.retrieval.__main__ import HYBRID, gains
from bench.retrieval.evidence import filled, share
from bench.retrieval.figures import FIGURES, Difference, difference, figures
from bench.retrieval.sets import found_sets, mixed_sets, written
from promptuary.tokens.counting import Counter


def put_corpus(folder: Path, documents: list[dict[str, str]], answers: dict[str, str]) -> None:
    """Write a corpus in which ``answers`` are documents by question."""
    folder.mkdir(parents=True)
    lines = [json.dumps(one, ensure_ascii=False) for one in documents]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    questions = [json.dumps({"_id": one, "text": f"question {one}"}) for one in answers]
    (folder / "queries.jsonl").write_text("\n".join(questions), encoding="utf-8")
    rows = [f"{question}\t{document}\t1" for question, document in answers.items()]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]), encoding="utf-8")


def test_a_document_is_written_under_its_path_or_else_under_its_id(tmp_path: Path) -> None:
    documents = [
        {"_id": "a b", "title": "Boats", "text": "They float."},
        {"_id": "x", "path": "notes/Old boats.md", "title": "", "text": "line\u2028separator"},
    ]
    put_corpus(tmp_path / "data" / "one", documents, {"q": "x"})

    (found,) = found_sets(tmp_path / "data", (), 0)
    folder = written(found.corpora[0], tmp_path / "cache")

    assert (folder / "a_b.md").read_text(encoding="utf-8") == "# Boats\n\nThey float.\n"
    assert (folder / "notes" / "Old boats.md").read_text(encoding="utf-8") == "line\u2028separator\n"
    assert found.corpora[0].relevant == {"q": {"notes/Old boats.md": 1}}


def test_a_folder_of_corpora_is_one_set(tmp_path: Path) -> None:
    for name in ("first", "second"):
        put_corpus(tmp_path / "many" / name, [{"_id": name, "text": name}], {"q": name})
    put_corpus(tmp_path / "single", [{"_id": "x", "text": "x"}], {"q": "x"})

    found = found_sets(tmp_path, (), 0)

    assert [(one.name, one.documents, one.questions) for one in found] == [("many", 2, 2), ("single", 1, 1)]
    assert [one.name for one in found_sets(tmp_path, ["single"], 0)] == ["single"]


def test_fewer_questions_are_spread_over_all(tmp_path: Path) -> None:
    put_corpus(tmp_path / "one", [{"_id": "x", "text": "x"}], {f"q{number}": "x" for number in range(10)})

    assert list(found_sets(tmp_path, (), 2)[0].corpora[0].questions) == ["q0", "q5"]


def test_sets_of_a_mixed_vault_share_its_files_and_keep_their_questions(tmp_path: Path) -> None:
    put_corpus(tmp_path / "notes-dev", [{"_id": "x", "text": "x"}], {"q": "x"})
    put_corpus(tmp_path / "stackfaq-dev", [{"_id": "x", "text": "y"}], {"q": "x"})
    functions = [{"_id": f"{number}", "text": "def f(): ..."} for number in range(1_600)]
    put_corpus(tmp_path / "cosqa-dev", functions, {f"q{number}": f"{number}" for number in range(800)})
    put_corpus(tmp_path / "other-dev", [{"_id": "x", "text": "x"}], {"q": "x"})

    code, notes, answers = mixed_sets(found_sets(tmp_path, (), 0))

    assert [one.name for one in (code, notes, answers)] == ["mixed/cosqa-dev", "mixed/notes-dev", "mixed/stackfaq-dev"]
    assert code.corpora[0].files == notes.corpora[0].files == answers.corpora[0].files
    assert notes.corpora[0].relevant == {"q": {"notes-dev/x.md": 1}}
    assert code.documents == 1_502
    assert 750 <= code.questions < 800
    assert all(code.corpora[0].files.keys() >= relevant.keys() for relevant in code.corpora[0].relevant.values())


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["a", "b"], (1, 1, 1, 1, 1, 1)),
        (["a"], (0.6131, 0.5, 0.5, 1, 1, 0)),
        (["x", "a", "x2", "x3", "x4", "b"], (0.6053, 0.5, 1, 0.5, 1, 0)),
        ([], (0, 0, 0, 0, 0, 0)),
    ],
)
def test_the_figures_of_a_ranking(found: list[str], expected: tuple[float, ...]) -> None:
    assert figures(found, {"a": 1, "b": 1, "c": 0}) == pytest.approx(expected, abs=1e-4)


def test_the_interval_of_a_difference_is_the_same_each_time_and_holds_the_mean() -> None:
    ours, theirs = [1.0, 0.0, 1.0, 1.0, 0.5] * 10, [0.5, 0.0, 1.0, 0.0, 1.0] * 10

    found = difference(ours, theirs)

    assert found == difference(ours, theirs)
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(0.2)
    assert difference(ours, ours) == Difference(0, 0, 0)


def test_the_hybrid_is_compared_with_the_best_ranking_of_each_figure() -> None:
    columns = {figure: [0.5, 0.5] for figure in FIGURES}
    measured = {
        HYBRID: columns,
        "words": {**columns, "MRR": [1.0, 0.5]},
        "vectors": {**columns, "R@5": [0.5, 0.8]},
    }

    found = gains(measured, ["words", "vectors"])

    assert found["MRR"][0] == "words"
    assert found["MRR"][1].mean == pytest.approx(-0.25)
    assert found["R@5"][0] == "vectors"


def test_plain_hits_fill_a_budget_and_one_that_does_not_fit_is_left_out() -> None:
    counter = Counter()

    text = filled(["short one", "long " * 100, "another"], 20, counter)

    assert text == "short one\n\nanother"
    assert counter.count(text) <= 20


def test_evidence_counts_word_for_word() -> None:
    assert share(["I like tea.", "You like tea."], "Ada: I like tea.\nBob: you like tea.") == 0.5

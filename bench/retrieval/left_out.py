"""Whether the constants of the fusion carry over: chosen on all sets but one, measured on that one.

    python -m bench.retrieval.left_out --data DIR [--set NAME ...] [--limit-questions N]

The candidates of every question are collected once; then each constant is varied in turn, and the value is kept that is
best on the other sets: by how much nDCG@10, recall@5 and MRR exceed the better of words and vectors alone, where more
than ``ENOUGH`` counts no more, so that no set can pay for what is lost on another. The table shows what these constants
reach on the set that was left out, beside what the shipped ones reach, and the better of words and vectors alone.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import fields, replace

from bench.retrieval.baselines import embed
from bench.retrieval.figures import FIGURES, figures, mean
from bench.retrieval.sets import CACHE, Corpus, found_sets, mixed_sets, written
from promptuary.blocking import Promptuary
from promptuary.models.protocols import Scale
from promptuary.search.answer import Searching
from promptuary.search.query import parse
from promptuary.search.ranking import WEIGHTS, Candidate, Weights, fuse
from promptuary.search.vectors.scale import measured as scale_of

SHOWN = ("nDCG@10", "R@5", "MRR")
ENOUGH = 0.03
FACTORS = (0.5, 0.75, 1.0, 1.33, 2.0)
VARIED = ("words", "code", "chat", "long", "spoken", "hub", "length", "sure")


@dataclass(frozen=True, slots=True)
class Question:
    """The candidates of a question, the file of each, and which files answer it."""

    candidates: Sequence[Candidate]
    scale: Scale
    terms: int
    paths: Mapping[int, str]
    relevant: Mapping[str, int]


Order = Callable[[Question], Sequence[int]]
Known = dict[tuple[str, Weights], dict[str, float]]
"""What constants reach on a set, so that it is measured once for all sets that are left out."""


def main() -> None:
    options = _options()
    os.environ["XDG_STATE_HOME"] = str(options.cache / "state")
    sets = found_sets(options.data, options.set or (), options.limit_questions)
    questions = {
        one.name: [each for corpus in one.corpora for each in collected(corpus, options.cache)]
        for one in [*sets, *(mixed_sets(sets) if options.mixed else ())]
    }
    better = {name: _better(every) for name, every in questions.items()}
    known: Known = {}
    print(f"\nConstants chosen with each set left out ({', '.join(SHOWN)})\n")
    print(f"  {'':<18} {'better signal':>22} {'shipped':>22} {'left out':>22}  changed constants")
    for name, every in questions.items():
        others = {other: each for other, each in questions.items() if _part(other) != _part(name)}
        chosen = choose(others, better, known)
        rows = (better[name], measured(every, _fused(WEIGHTS)), measured(every, _fused(chosen)))
        changed = [
            f"{one.name} {getattr(chosen, one.name):.3g}"
            for one in fields(Weights)
            if getattr(chosen, one.name) != getattr(WEIGHTS, one.name)
        ]
        print(f"  {name:<18} " + " ".join(" ".join(f"{row[one]:7.3f}" for one in SHOWN) for row in rows), end="  ")
        print(", ".join(changed), flush=True)


def collected(corpus: Corpus, cache: Path) -> list[Question]:
    """Return the candidates of every question of a corpus, as a search has them before they are ranked."""
    folder = written(corpus, cache)
    with Promptuary.open(folder, exact=True) as promptuary:
        promptuary.search.index([folder])
        embed(promptuary, cache)
        backend = promptuary._app.search.backend
        scale = scale_of(backend.store, backend.embedder)
        searching = Searching(backend.index, backend.embedder, None, str(folder), scale)
        found = []
        for number, text in corpus.questions.items():
            words = backend.index.respelled(parse(text))
            candidates = searching.candidates(text, words)
            paths = {one: each.path for one, each in backend.index.chunks([one.chunk for one in candidates]).items()}
            found.append(Question(candidates, scale, len(words), paths, corpus.relevant[number]))
        return found


def _part(name: str) -> str:
    """Return the name of a set that may be a part of the mixed vault: with a set, its part is left out as well."""
    return name.removeprefix("mixed/")


def choose(
    questions: Mapping[str, Sequence[Question]], better: Mapping[str, Mapping[str, float]], known: Known
) -> Weights:
    """Return the constants that are best on these sets, each varied once while the others stay."""
    best, reached = WEIGHTS, _goal(questions, better, WEIGHTS, known)
    for name in VARIED:
        for factor in FACTORS:
            tried = replace(best, **{name: getattr(WEIGHTS, name) * factor})
            if (goal := _goal(questions, better, tried, known)) > reached + 1e-9:
                best, reached = tried, goal
    return best


def measured(questions: Sequence[Question], order: Order) -> dict[str, float]:
    """Return the figures of an order of the candidates, averaged over the questions."""
    rows = [
        figures(list(dict.fromkeys(each.paths[one] for one in order(each) if one in each.paths)), each.relevant)
        for each in questions
    ]
    return {name: mean(column) for name, column in zip(FIGURES, zip(*rows, strict=True), strict=True)}


def _goal(
    questions: Mapping[str, Sequence[Question]],
    better: Mapping[str, Mapping[str, float]],
    weights: Weights,
    known: Known,
) -> float:
    gains = []
    for name, each in questions.items():
        if (name, weights) not in known:
            known[name, weights] = measured(each, _fused(weights))
        reached = known[name, weights]
        gains += [min(ENOUGH, reached[one] - better[name][one]) for one in SHOWN]
    return mean(gains)


def _fused(weights: Weights) -> Order:
    return lambda each: [one.chunk for one in fuse(each.candidates, each.terms, weights, scale=each.scale)]


def _better(questions: Sequence[Question]) -> dict[str, float]:
    """Return the better of both signals alone, figure by figure."""
    words = measured(questions, lambda each: _sorted(each, lambda one: one.lexical))
    vectors = measured(questions, lambda each: _sorted(each, lambda one: one.similarity and one.similarity.cosine))
    return {name: max(words[name], vectors[name]) for name in FIGURES}


def _sorted(question: Question, score: Callable[[Candidate], float | None]) -> list[int]:
    having = [(score(one), one.chunk) for one in question.candidates]
    return [chunk for _, chunk in sorted((-value, chunk) for value, chunk in having if value is not None)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval.left_out", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the sets")
    parser.add_argument("--set", action="append", help="only this set; repeat")
    parser.add_argument("--limit-questions", type=int, default=0, help="at most so many questions of a set")
    parser.add_argument("--mixed", action="store_true", help="the sets of the mixed vault in it, too")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where indexes and vectors are kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()

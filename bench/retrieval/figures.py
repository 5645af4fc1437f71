"""The figures of a ranking, question by question, and how sure the difference of two rankings is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIGURES = ("nDCG@10", "R@5", "R@10", "MRR", "any@5", "all@5")
"""``any@5`` is what others call hit@5 or Acc@5."""

SAMPLES = 2_000
SEED = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two rankings over the same questions, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f} {self.high:+.3f}]"


def figures(found: Sequence[str], relevant: Mapping[str, int]) -> tuple[float, ...]:
    """Return the ``FIGURES`` of the documents that were ``found``, the best first, for one question."""
    gains = [relevant.get(one, 0) for one in found[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    best = _discounted(ideal)
    rank = next((rank for rank, one in enumerate(found, 1) if relevant.get(one, 0) > 0), 0)
    wanted = {one for one, gain in relevant.items() if gain > 0}
    at_5, at_10 = (len(wanted.intersection(found[:depth])) / len(wanted) for depth in (5, 10))
    ndcg = _discounted(gains) / best if best else 0.0
    return ndcg, at_5, at_10, 1 / rank if rank else 0.0, float(at_5 > 0), float(at_5 == 1)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """Return by how much ``ours`` is better, with the interval of a bootstrap over the questions."""
    import numpy as np

    pairs = np.asarray(ours) - np.asarray(theirs)
    chosen = np.random.default_rng(SEED).integers(0, len(pairs), (SAMPLES, len(pairs)))
    low, high = np.percentile(pairs[chosen].mean(axis=1), (2.5, 97.5))
    return Difference(float(pairs.mean()), float(low), float(high))


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))

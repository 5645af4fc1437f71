"""Evidence in the window: how much of what answers a question stands, word for word, in the prompt that is built.

Beside it: the plain hits of a search, each as its text, filled up to the same number of tokens.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.retrieval.figures import mean
from bench.retrieval.sets import Corpus
from promptuary.blocking import Promptuary
from promptuary.layers.recall import SemanticRecall
from promptuary.search.values import SearchQuery
from promptuary.tokens.counting import Counter

BUDGETS = (1_000, 2_000, 4_000)
DEPTH = 100


@dataclass(frozen=True, slots=True)
class Evidence:
    """The mean share of the evidence in the prompt, and among the plain hits; tokens that recall used of its budget."""

    budget: int
    recalled: float
    tokens: float
    plain: float
    plain_tokens: float


def in_window(corpus: Corpus, folder: Path) -> list[Evidence]:
    """Return the share of evidence at each budget. Works on a copy of ``folder``: turns would fill its database."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("index"))
        with _opened(copy, BUDGETS[0]) as promptuary:
            promptuary.adopt()
            promptuary.search.index([copy])
            promptuary.search.embed()
        return [_measured(corpus, copy, budget) for budget in BUDGETS]


def _measured(corpus: Corpus, folder: Path, budget: int) -> Evidence:
    counter = Counter()
    rows = []
    with _opened(folder, budget) as promptuary:
        # So that a search need not look at every file whether it has changed.
        promptuary._app.search.watcher()
        for number, question in corpus.questions.items():
            if number not in corpus.evidence:
                continue
            turn = promptuary.threads.prepare(question)
            promptuary.threads.abandon(turn)
            prompt = "\n".join(str(message["content"]) for message in turn.messages)
            used = sum(entry.tokens for entry in turn.receipt.entries if entry.layer == SemanticRecall.id)
            hits = promptuary.search.find(SearchQuery(question, DEPTH, per_file=0)).hits
            plain = filled([hit.text for hit in hits], budget, counter)
            wanted = corpus.evidence[number]
            rows.append((share(wanted, prompt), used, share(wanted, plain), counter.count(plain)))
    return Evidence(budget, *(mean(column) for column in zip(*rows, strict=True)))


def share(wanted: Sequence[str], text: str) -> float:
    """Return the share of ``wanted`` strings that are in ``text``."""
    return mean([float(one in text) for one in wanted])


def filled(texts: Sequence[str], budget: int, counter: Counter) -> str:
    """Return the texts that fit into ``budget`` tokens, in their order; one that does not fit is left out."""
    chosen: list[str] = []
    left = budget
    for text in texts:
        # The empty line between two texts costs a token.
        cost = counter.count(text) + 1
        if cost <= left:
            chosen.append(text)
            left -= cost
    return "\n\n".join(chosen)


def _opened(folder: Path, budget: int) -> Promptuary:
    return Promptuary.open(folder, exact=True, watch_debounce=0.05, recall_tokens=budget)

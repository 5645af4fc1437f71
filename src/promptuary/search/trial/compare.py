"""Compares a model with the one in use on a sample of the indexed files: words and meaning together, as searches do.

Everything is in memory, so that nothing stays behind, however it ends. The sample is smaller for a slow model. Blocks.
"""

import hashlib
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.files import Folder, Stamp
from promptuary.models.protocols import Embedder, FetchProgress, Reranker
from promptuary.search.answer import answer
from promptuary.search.chunks.generated import is_generated
from promptuary.search.index.memory import MemoryIndex
from promptuary.search.index.port import HEAD_LINES, SearchIndex
from promptuary.search.kind_index import SearchBackend
from promptuary.search.rerank import TOP, reordered
from promptuary.search.trial.questions import MOST_OF_A_FILE, FileText, Passage, TrialQuestion, ask
from promptuary.search.values import UNREAD, Chunk, Hit, IndexedFile, SearchQuery
from promptuary.search.vectors.embed import embed_missing
from promptuary.search.vectors.scale import measured

PASSAGES: Final = 400
"""The most passages that are embedded."""
_FEWEST_PASSAGES: Final = 120
QUESTIONS: Final = 150
_FEWEST_QUESTIONS: Final = 10
_SECONDS: Final = 40.0
"""How long both models may embed; the questions take some seconds more."""
_PROBED: Final = 6
"""How many passages show how fast a model is."""
_LIMIT: Final = 10
_SAMPLES: Final = 1_000
_SEED: Final = 7


class TrialFigures(Struct, frozen=True):
    """How well the questions were answered: the mean of one over the rank, and the share found among the first five."""

    mrr: float
    in_five: float


class Gain(Struct, frozen=True):
    """By how much the mean of one over the rank is better, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether it is a gain at all, as far as these questions show."""
        return self.low > 0

    @property
    def is_loss(self) -> bool:
        """Whether it is surely worse."""
        return self.high < 0


class ModelTrial(Struct, frozen=True):
    """What a trial of ``model`` found. ``present`` is the search as it is, which uses ``beside``; empty: words alone.

    ``questions`` are how many were made from what. ``chunks`` are all that are indexed, and ``seconds`` how long
    embedding them would take; of a reranker, how long a question takes longer.
    """

    model: str
    kind: str
    beside: str
    passages: int
    questions: Mapping[str, int]
    words: TrialFigures
    present: TrialFigures
    candidate: TrialFigures
    gain: Gain
    chunks: int
    seconds: float


class Candidate(NamedTuple):
    """The model to try: its name, and itself as what it is."""

    name: str
    embedder: Embedder | None = None
    reranker: Reranker | None = None


def compare(candidate: Candidate, backend: SearchBackend, progress: FetchProgress | None = None) -> ModelTrial:
    """Return how well ``candidate`` finds the indexed files of ``backend``, beside what is used now.

    ``progress`` gets how many steps are done of how many, and may raise to stop. Raises ``PromptuaryError`` if there
    are too few files to ask about.
    """
    reranker = backend.reranking.reranker if backend.reranking else None
    embedders = [one for one in (backend.embedder, candidate.embedder) if one is not None]
    passages, questions = _asked(backend.index, embedders)
    steps = _Steps(len(passages) * len(embedders) + 3 * len(questions), progress)
    chunks = backend.index.counts().chunks

    own = _Sample(passages, backend.embedder, steps)
    words = own.ranks(questions, steps, words_only=True)
    began = time.perf_counter()
    present = own.ranks(questions, steps, reranker)
    usual = time.perf_counter() - began
    if candidate.embedder is not None:
        other = _Sample(passages, candidate.embedder, steps)
        tried, seconds = other.ranks(questions, steps, reranker), other.seconds / len(passages) * chunks
    else:
        began = time.perf_counter()
        tried = own.ranks(questions, steps, candidate.reranker)
        seconds = (time.perf_counter() - began - usual) / len(questions)
    return ModelTrial(
        candidate.name,
        "embedder" if candidate.embedder is not None else "reranker",
        backend.embedder.id if backend.embedder is not None else "",
        len(passages),
        dict(Counter(question.kind for question in questions)),
        _figures(words),
        _figures(present),
        _figures(tried),
        gain_of([_reciprocal(rank) for rank in tried], [_reciprocal(rank) for rank in present]),
        chunks,
        max(0.0, seconds),
    )


def gain_of(ours: Sequence[float], theirs: Sequence[float]) -> Gain:
    """Return by how much ``ours`` are better on average, with the interval of a bootstrap over the pairs."""
    pairs = [one - other for one, other in zip(ours, theirs, strict=True)]
    chance = random.Random(_SEED)  # noqa: S311  (the same figures for the same files)
    means = sorted(_mean(chance.choices(pairs, k=len(pairs))) for _ in range(_SAMPLES))
    return Gain(_mean(pairs), means[int(_SAMPLES * 0.025)], means[int(_SAMPLES * 0.975)])


class _Steps:
    """Counts the steps of a trial for whoever shows its progress."""

    def __init__(self, total: int, progress: FetchProgress | None) -> None:
        self._total, self._progress, self._done = total, progress, 0

    def take(self, count: int = 1) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


class _Sample:
    """An index of the passages in memory, with the vectors of one embedder."""

    def __init__(self, passages: Sequence[Passage], embedder: Embedder | None, steps: _Steps) -> None:
        self._embedder, self._store = embedder, _Vectors()
        self._index = MemoryIndex(store=self._store, embedder=embedder)
        with self._index.writing() as writer:
            if writer is None:
                raise AssertionError("nobody else writes this index")
            for number, passage in enumerate(passages):
                stamp = Stamp(1, number, 1, number)
                file = IndexedFile(
                    _path(number), stamp, hashlib.sha256(passage.text.encode()).hexdigest(), passage.kind, 0
                )
                writer.put(Folder("/"), file, passage.text, [Chunk(1, passage.text.count("\n") + 1, passage.text)])
        self.seconds = 0.0
        if embedder is not None:
            before = 0

            def embedded(done: int) -> bool:
                nonlocal before
                steps.take(done - before)
                before = done
                return True

            began = time.perf_counter()
            embed_missing(self._index, self._store, embedder, progress=embedded)
            self.seconds = time.perf_counter() - began

    def ranks(
        self,
        questions: Sequence[TrialQuestion],
        steps: _Steps,
        reranker: Reranker | None = None,
        *,
        words_only: bool = False,
    ) -> list[int]:
        """Return the rank of the first answer to each question; zero if it is not among the first ten."""
        found = []
        for question in questions:
            found.append(self._rank(question, reranker, words_only=words_only))
            steps.take()
        return found

    def _rank(self, question: TrialQuestion, reranker: Reranker | None, *, words_only: bool) -> int:
        embedder = None if words_only else self._embedder
        query = SearchQuery(question.text, TOP + len(question.apart), merge_copies=False)
        scale = measured(self._store, embedder)
        hits: Sequence[Hit] = answer(query, self._index, embedder, scale=scale).hits
        apart = {_path(number) for number in question.apart}
        hits = [hit for hit in hits if hit.path not in apart][:TOP]
        if reranker is not None and not words_only and len(hits) > 1:
            hits = reordered(hits, reranker.rerank(question.text, [hit.text for hit in hits]))
        answers = {_path(number) for number in question.answers}
        return next((rank for rank, hit in enumerate(hits[:_LIMIT], 1) if hit.path in answers), 0)


class _Vectors:
    """A ``VectorStore`` that ends with this object."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def get(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:  # noqa: ARG002  (there is one)
        return {one: self._known[one] for one in hashes if one in self._known}

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:  # noqa: ARG002
        self._known |= vectors

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:  # noqa: ARG002
        return self.remove([one for one in self._known if one not in set(hashes)])

    def remove(self, hashes: Sequence[str]) -> int:
        return sum(self._known.pop(one, None) is not None for one in hashes)

    def close(self) -> None:
        """Have nothing to close."""


def _asked(index: SearchIndex, embedders: Sequence[Embedder]) -> tuple[list[Passage], list[TrialQuestion]]:
    """Return passages of the indexed files and questions that they answer: as many as can be embedded in time."""
    files = _sampled(index)
    passages, questions = ask(files, passages=PASSAGES, questions=QUESTIONS)
    if len(questions) >= _FEWEST_QUESTIONS and embedders:
        probed = [passage.text for passage in passages[:: max(1, len(passages) // _PROBED)]]
        most = int(_SECONDS / max(1e-6, sum(_seconds_each(embedder, probed) for embedder in embedders)))
        if most < len(passages):
            passages, questions = ask(files, passages=max(most, _FEWEST_PASSAGES), questions=QUESTIONS)
    if len(questions) < _FEWEST_QUESTIONS:
        raise PromptuaryError(
            f"only {len(questions)} questions can be made from the indexed files; index a folder with more headings, "
            "links, notes or docstrings"
        )
    return passages, questions


def _sampled(index: SearchIndex) -> list[FileText]:
    """Return files from all over the index, with enough chunks for a sample. Files of one folder do not come first."""
    every = [
        (folder, path, file.kind)
        for folder, _ in index.folders()
        for path, file in index.files(folder).items()
        if file.sha256 != UNREAD
    ]
    found: list[FileText] = []
    chunks = 0
    for folder, path, kind in sorted(
        every, key=lambda one: hashlib.sha256(one[1].encode("utf-8", "surrogatepass")).digest()
    ):
        if chunks >= PASSAGES:
            break
        text, cut = index.content(folder, path)
        head = "\n".join(text.split("\n", HEAD_LINES)[:HEAD_LINES])
        if cut and not is_generated(path, head, cut[0].context):
            found.append(FileText(path, kind, cut))
            chunks += min(len(cut), MOST_OF_A_FILE)
    return found


def _seconds_each(embedder: Embedder, texts: Sequence[str]) -> float:
    """Return how long a text takes, once the model is loaded."""
    embedder.embed(texts[:1], "passage")
    began = time.perf_counter()
    embedder.embed(texts, "passage")
    return (time.perf_counter() - began) / len(texts)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _path(number: int) -> str:
    return f"p{number}.md"


def _figures(ranks: Sequence[int]) -> TrialFigures:
    return TrialFigures(_mean([_reciprocal(rank) for rank in ranks]), _mean([float(1 <= rank <= 5) for rank in ranks]))


def _reciprocal(rank: int) -> float:
    return 1 / rank if rank else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

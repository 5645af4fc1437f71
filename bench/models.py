"""How good and how fast embedders are, by their vectors alone, on the sets of ``bench.retrieval``.

    python -m bench.models --data DIR [--set NAME ...] [--embedder minilm] [--embedder onnx:FOLDER ...]

A document is cut into the chunks that the index would have; its rank is that of its nearest chunk. The times are those
of the processor. ``--questions`` and ``--documents`` bound a set: some questions, the documents that answer them, and
others up to the number.

``--whole`` measures the whole search instead, words and meaning, as a person has it with this embedder; behind each but
the first is the difference to the first, with the 95 % interval of a bootstrap over the questions. That is what
``promptuary model list --catalogue`` says of a model.
"""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from bench.retrieval.figures import difference, figures, mean
from bench.retrieval.sets import Corpus, found_sets, written
from promptuary.blocking import Promptuary
from promptuary.config.settings import Settings
from promptuary.models.embedders import embedder_for
from promptuary.models.protocols import Embedder, Purpose
from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Sizes
from promptuary.tokens.counting import Counter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64


class Speed(NamedTuple):
    """Milliseconds of processor for a chunk and for a question."""

    chunk: float
    question: float


def main() -> None:
    options = _options()
    embedders = {name: embedder_for(Settings(embedder=name)) for name in options.embedder or ["minilm"]}
    known: dict[str, dict[str, bytes]] = {name: {} for name in embedders}
    for collection in found_sets(options.data, options.set, options.questions):
        corpus = collection.corpora[0]
        texts = cut(corpus, options.documents)
        if options.whole:
            compare_whole(corpus, texts, list(embedders))
            continue
        print(
            f"\n{corpus.name}: {len({name for name, _ in texts}):,} documents, {len(texts):,} chunks, "
            f"{len(corpus.questions):,} questions\n\n"
            f"  {'':<44} {'MRR':>7} {'nDCG@10':>8} {'ms/chunk':>9} {'ms/question':>12}"
        )
        for name, embedder in embedders.items():
            assert embedder is not None, 'the embeddings extra is not installed: pip install "promptuary[embeddings]"'
            quality, speed = measured(corpus, texts, embedder, known[name])
            print(
                f"  {name[-44:]:<44} {quality[3]:7.3f} {quality[0]:8.3f} {speed.chunk:9.1f} {speed.question:12.1f}",
                flush=True,
            )


def compare_whole(corpus: Corpus, texts: Sequence[tuple[str, str]], embedders: Sequence[str]) -> None:
    """Print nDCG@10 of the whole search with each embedder, and by how much it differs from the first."""
    names = sorted({name for name, _ in texts})
    print(
        f"\n{corpus.name}: {len(names):,} documents, {len(texts):,} chunks, {len(corpus.questions):,} questions\n\n"
        f"  {'':<44} {'nDCG@10':>8} {'MRR':>7} {'s CPU/1,000 chunks':>19}  difference of nDCG@10"
    )
    first: list[float] = []
    for name in embedders:
        with TemporaryDirectory() as place:
            os.environ["XDG_STATE_HOME"] = str(Path(place) / "state")
            folder = written(replace(corpus, files={name: corpus.files[name] for name in names}), Path(place))
            with Promptuary.open(folder, embedder=name, exact=True, watch_debounce=0.05) as promptuary:
                promptuary.search.index([folder])
                chunks, began = promptuary.search.status().counts.unembedded, time.process_time()
                promptuary.search.embed()
                spent = (time.process_time() - began) / max(chunks, 1) * 1000
                promptuary._app.search.watcher()
                rows = [
                    figures(
                        list(dict.fromkeys(hit.path for hit in promptuary.search.find(question, limit=100).hits)),
                        corpus.relevant[number],
                    )
                    for number, question in corpus.questions.items()
                ]
        found = [row[0] for row in rows]
        behind = f"  {difference(found, first)}" if first else ""
        first = first or found
        print(
            f"  {name[-44:]:<44} {mean(found):8.3f} {mean([row[3] for row in rows]):7.3f} {spent:19.1f}{behind}",
            flush=True,
        )


def measured(
    corpus: Corpus, texts: Sequence[tuple[str, str]], embedder: Embedder, known: dict[str, bytes]
) -> tuple[Sequence[float], Speed]:
    """Return the ``FIGURES`` of one embedder, averaged over the questions, and its speed.

    ``known`` are vectors of other sets: some share documents.
    """
    embedder.embed(["a first text loads the model"], "query")
    passages, chunk = _vectors(embedder, [text for _, text in texts], "passage", known)
    questions, question = _vectors(embedder, list(corpus.questions.values()), "query", {})
    found = []
    for number, vector in zip(corpus.questions, questions, strict=True):
        order = (-(passages @ vector)).argsort(kind="stable")
        ranked = list(dict.fromkeys(texts[place][0] for place in order))
        found.append(figures(ranked, corpus.relevant[number]))
    return [mean(column) for column in zip(*found, strict=True)], Speed(chunk, question)


def cut(corpus: Corpus, most_documents: int) -> list[tuple[str, str]]:
    """Return the chunks to embed, each with its document."""
    wanted = {name for number in corpus.questions for name in corpus.relevant[number]}
    others = [name for name in corpus.files if name not in wanted]
    if most_documents:
        others = others[: max(0, most_documents - len(wanted))]
    counter, sizes = Counter(), Sizes(Settings().chunk_tokens, Settings().chunk_overlap)
    return [
        (name, chunk.context)
        for name in sorted(wanted.union(others))
        for chunk in chunks(corpus.files[name], name, sizes, counter)
    ]


def _vectors(
    embedder: Embedder, texts: Sequence[str], purpose: Purpose, known: dict[str, bytes]
) -> "tuple[NDArray[np.float32], float]":
    """Return the vectors of ``texts``, and the milliseconds for each of those that are not ``known``."""
    import numpy as np

    fresh = [text for text in dict.fromkeys(texts) if text not in known]
    began = time.process_time()
    for start in range(0, len(fresh), BATCH):
        batch = fresh[start : start + BATCH]
        known.update(zip(batch, embedder.embed(batch, purpose), strict=True))
    spent = (time.process_time() - began) / max(len(fresh), 1) * 1000
    return np.frombuffer(b"".join(known[text] for text in texts), "<f4").reshape(len(texts), -1), spent


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.models", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the sets")
    parser.add_argument("--set", action="append", default=[], help="only this set; repeat")
    parser.add_argument("--embedder", action="append", help="as the setting of this name; repeat")
    parser.add_argument("--questions", type=int, default=0, help="at most so many questions of a set")
    parser.add_argument("--documents", type=int, default=0, help="at most about so many documents of a set")
    parser.add_argument("--whole", action="store_true", help="measure the whole search, words and meaning")
    return parser.parse_args()


if __name__ == "__main__":
    main()

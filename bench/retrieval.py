"""How well search finds what it should, on public sets: ours beside plain stemmed BM25 and plain vectors.

    python -m bench.retrieval --data DIR [--set NAME ...]

Each folder in DIR is a set in the BEIR form: ``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv``. A document becomes a
file as a person's folder would have it: Markdown under its title, or Python where the text is code. Ours is what
``promptuary search`` does with its default settings; a document's rank is that of its best chunk. The baselines see the
same texts: BM25 (English stems, stop words dropped) of whole documents and of our chunks, cosines of the same vectors.
Vectors are kept in ``~/.cache/promptuary-bench``, so that a second run does not embed again.
"""

import argparse
import hashlib
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptuary.blocking import Promptuary
from promptuary.core.search import SearchQuery

CACHE = Path.home() / ".cache" / "promptuary-bench" / "retrieval"
DEPTH = 100
"""How many chunks are asked for: enough for ten documents."""

Ranking = Callable[[str], Sequence[str]]
"""The documents for a question, the best first."""


@dataclass(frozen=True, slots=True)
class Collection:
    """One set: documents by file name, questions, and which documents answer which."""

    name: str
    files: Mapping[str, str]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Quality:
    """The four figures of a ranking, averaged over the questions."""

    ndcg10: float
    recall5: float
    recall10: float
    mrr: float

    def __str__(self) -> str:
        return f"{self.ndcg10:8.4f} {self.recall5:8.4f} {self.recall10:8.4f} {self.mrr:8.4f}"


def main() -> None:
    options = _options()
    sets = (
        sorted(path for path in options.data.iterdir() if (path / "qrels.tsv").is_file())
        if options.data.is_dir()
        else []
    )
    if options.set:
        sets = [path for path in sets if path.name in options.set]
    if not sets:
        print(f"retrieval: there are no sets in {options.data}; name a folder with --data DIR")
        sys.exit(0)
    os.environ["XDG_STATE_HOME"] = str(CACHE / "state")
    print("\nRetrieval (nDCG@10, recall@5, recall@10, MRR; higher is better)")
    for path in sets:
        measure(loaded(path))


def measure(collection: Collection) -> None:
    folder = written(collection)
    began = time.perf_counter()
    with Promptuary.open(folder, exact=True, watch_debounce=0.05) as promptuary:
        promptuary.search.index([folder])
        indexed = time.perf_counter() - began
        promptuary.search.embed()
        embedded = time.perf_counter() - began - indexed
        counts = promptuary.search.status().counts
        # So that a search need not look at every file whether it has changed.
        promptuary._core.search().watcher()

        def ours(question: str, *, lexical_only: bool = False) -> Sequence[str]:
            found = promptuary.search.find(SearchQuery(question, DEPTH, lexical_only=lexical_only))
            return _first(hit.path for hit in found.hits)

        rankings: dict[str, Ranking] = {
            "BM25, whole documents": bm25(collection.files),
            "BM25, chunks": bm25_chunks(promptuary, collection),
            "vectors, chunks": vectors(promptuary, collection),
            "promptuary, words alone": lambda question: ours(question, lexical_only=True),
            "promptuary": ours,
        }
        print(
            f"\n{collection.name}: {len(collection.files):,} documents, {counts.chunks:,} chunks, "
            f"{len(collection.questions):,} questions; indexed in {indexed:.1f} s, embedded in {embedded:.0f} s\n"
        )
        print(f"  {'':<26} {'nDCG@10':>8} {'R@5':>8} {'R@10':>8} {'MRR':>8} {'ms':>8}")
        for name, ranking in rankings.items():
            started = time.perf_counter()
            quality = judged(collection, ranking)
            taken = (time.perf_counter() - started) / max(len(collection.questions), 1) * 1000
            print(f"  {name:<26} {quality} {taken:8.1f}")


def judged(collection: Collection, ranking: Ranking) -> Quality:
    """Return the figures of ``ranking`` over all questions that have an answer."""
    figures = [
        quality(ranking(text), collection.relevant[number])
        for number, text in collection.questions.items()
        if collection.relevant.get(number)
    ]
    return Quality(*(sum(column) / len(figures) for column in zip(*figures, strict=True)))


def quality(found: Sequence[str], relevant: Mapping[str, int]) -> tuple[float, float, float, float]:
    """Return nDCG@10, recall@5, recall@10 and the reciprocal rank of one ranking."""
    gains = [relevant.get(one, 0) for one in found[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal))
    ndcg = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains)) / best if best else 0.0
    rank = next((rank for rank, one in enumerate(found, 1) if relevant.get(one, 0) > 0), 0)
    wanted = {one for one, gain in relevant.items() if gain > 0}
    recall = [len(wanted & set(found[:depth])) / len(wanted) for depth in (5, 10)]
    return ndcg, recall[0], recall[1], 1 / rank if rank else 0.0


def loaded(path: Path) -> Collection:
    """Return the set in ``path``."""
    documents = [json.loads(line) for line in (path / "corpus.jsonl").read_text(encoding="utf-8").splitlines() if line]
    code = sum("def " in one["text"][:200] for one in documents) > len(documents) / 2
    names = {one["_id"]: _name(one["_id"], ".py" if code else ".md") for one in documents}
    files = {
        names[one["_id"]]: f"# {one['title']}\n\n{one['text']}\n" if one.get("title") else f"{one['text']}\n"
        for one in documents
    }
    questions = [json.loads(line) for line in (path / "queries.jsonl").read_text(encoding="utf-8").splitlines() if line]
    relevant: dict[str, dict[str, int]] = {}
    for line in (path / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, score = line.split("\t")
        relevant.setdefault(question, {})[names[document]] = int(score)
    return Collection(path.name, files, {one["_id"]: one["text"] for one in questions}, relevant)


def written(collection: Collection) -> Path:
    """Return a folder that holds the documents; it is made once for the same content."""
    digest = hashlib.sha256(json.dumps(sorted(collection.files.items())).encode()).hexdigest()[:12]
    folder = CACHE / f"{collection.name}-{digest}"
    done = folder / ".promptuary" / "written"
    if not done.exists():
        for name, text in collection.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done.parent.mkdir(exist_ok=True)
        done.touch()
    return folder


def bm25(texts: Mapping[str, str], documents: Mapping[str, str] | None = None) -> Ranking:
    """Return plain stemmed BM25 over ``texts``; ``documents`` says which document a text belongs to."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("name", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", tokenizer_name="plain")
    schema = builder.build()
    index = tantivy.Index(schema)
    analyzer = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stopword("english"))
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )
    index.register_tokenizer("plain", analyzer)
    writer = index.writer()
    for name, text in texts.items():
        writer.add_document(tantivy.Document(name=name, text=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def ranking(question: str) -> Sequence[str]:
        terms = list(dict.fromkeys(analyzer.analyze(question)))
        if not terms:
            return []
        clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term)) for term in terms]
        hits = searcher.search(tantivy.Query.boolean_query(clauses), DEPTH).hits
        names = [str(searcher.doc(address).get_first("name")) for _, address in hits]
        return _first(documents[name] if documents else name for name in names)

    return ranking


def bm25_chunks(promptuary: Promptuary, collection: Collection) -> Ranking:
    """Return plain stemmed BM25 over our chunks, each with its headings."""
    chunks = _chunks(promptuary, collection)
    texts = {number: context for number, (_, context) in chunks.items()}
    return bm25(texts, {number: path for number, (path, _) in chunks.items()})


def vectors(promptuary: Promptuary, collection: Collection) -> Ranking:
    """Return the order of the cosines alone, over the same vectors that ours uses."""
    import numpy as np

    from promptuary.core.ports.models import vector_space_id
    from promptuary.storage.sqlite.vectors import SqliteVectors
    from promptuary.wiring.search import embedder_for

    chunks = _chunks(promptuary, collection)
    embedder = embedder_for(promptuary.settings)
    assert embedder is not None, 'the embeddings extra is not installed: pip install "promptuary[embeddings]"'
    store = SqliteVectors(promptuary.path / ".promptuary" / "state.db")
    kept = store.get(vector_space_id(embedder), [number.partition(":")[0] for number in chunks])
    store.close()
    names = [path for number, (path, _) in chunks.items() if number.partition(":")[0] in kept]
    rows = [kept[number.partition(":")[0]] for number in chunks if number.partition(":")[0] in kept]
    matrix = np.frombuffer(b"".join(rows), "<f4").reshape(len(rows), -1)

    def ranking(question: str) -> Sequence[str]:
        query = np.frombuffer(embedder.embed([question], "query")[0], "<f4")
        order = np.argsort(-(matrix @ query), kind="stable")[:DEPTH]
        return _first(names[one] for one in order)

    return ranking


def _chunks(promptuary: Promptuary, collection: Collection) -> dict[str, tuple[str, str]]:
    """Return every chunk by its hash and place: the path of its file, and its text under its headings."""
    from promptuary.core.search import Chunk
    from promptuary.search.chunks.chunker import chunks
    from promptuary.search.chunks.sizes import Sizes
    from promptuary.tokens import Counter

    sizes, counter = Sizes(promptuary.settings.chunk_tokens, promptuary.settings.chunk_overlap), Counter()
    found: dict[str, tuple[str, str]] = {}
    for path, text in collection.files.items():
        every: Iterable[Chunk] = chunks(text, path, sizes, counter)
        for chunk in every:
            found[f"{chunk.sha256}:{path}:{chunk.start_line}"] = (path, chunk.context)
    return found


def _first(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _name(number: str, ending: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', number)}{ending}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of the sets")
    parser.add_argument("--set", action="append", help="only this set; repeat")
    return parser.parse_args()


if __name__ == "__main__":
    main()

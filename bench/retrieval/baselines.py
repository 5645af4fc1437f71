"""What search is measured against: plain stemmed BM25 and plain cosines, on the same texts, chunks and vectors."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.retrieval.sets import Corpus
from promptuary.blocking import Promptuary
from promptuary.models.embedders import embedder_for
from promptuary.search.values import Chunk, vector_space_id
from promptuary.search.vectors.store import Vectors

Ranking = Callable[[str, int], Sequence[str]]
"""Returns the documents of the best hits for a question, the best first, given how many hits count."""


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

    def ranking(question: str, limit: int) -> Sequence[str]:
        terms = list(dict.fromkeys(analyzer.analyze(question)))
        if not terms:
            return []
        clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term)) for term in terms]
        hits = searcher.search(tantivy.Query.boolean_query(clauses), limit).hits
        names = [str(searcher.doc(address).get_first("name")) for _, address in hits]
        return list(dict.fromkeys(documents[name] if documents else name for name in names))

    return ranking


def bm25_chunks(chunks: Sequence[tuple[str, Chunk]]) -> Ranking:
    """Return plain stemmed BM25 over our chunks, each with its headings."""
    texts = {str(number): chunk.context for number, (_, chunk) in enumerate(chunks)}
    return bm25(texts, {str(number): path for number, (path, _) in enumerate(chunks)})


def vectors(promptuary: Promptuary, chunks: Sequence[tuple[str, Chunk]]) -> Ranking:
    """Return the order of the cosines alone, over the same vectors that ours uses."""
    import numpy as np

    embedder = embedder_for(promptuary.settings)
    assert embedder is not None, 'the embeddings extra is not installed: pip install "promptuary[embeddings]"'
    store = Vectors(promptuary.path / ".promptuary" / "state.db")
    stored = store.get(vector_space_id(embedder), list({chunk.sha256 for _, chunk in chunks}))
    store.close()
    embedded = [(path, stored[chunk.sha256]) for path, chunk in chunks if chunk.sha256 in stored]
    matrix = np.frombuffer(b"".join(vector for _, vector in embedded), "<f4").reshape(len(embedded), -1)

    def ranking(question: str, limit: int) -> Sequence[str]:
        query = np.frombuffer(embedder.embed([question], "query")[0], "<f4")
        order = np.argsort(-(matrix @ query), kind="stable")[:limit]
        return list(dict.fromkeys(embedded[one][0] for one in order))

    return ranking


def embed(promptuary: Promptuary, cache: Path) -> None:
    """Embed what lacks a vector, unless another set in ``cache`` has the same text."""
    store = promptuary._app.search.backend.store
    embedder = embedder_for(promptuary.settings)
    index = promptuary._app.search.backend.index
    if embedder is not None and store is not None and index.lacks_vectors():
        space, lacking = vector_space_id(embedder), set(index.hashes())
        lacking -= store.get(space, list(lacking)).keys()
        for path in sorted(cache.glob("*/.promptuary/state.db")) if lacking else ():
            if path.parents[1] != promptuary.path:
                other = Vectors(path)
                found = other.get(space, list(lacking))
                other.close()
                store.put(space, found)
                lacking -= found.keys()
    promptuary.search.embed()


def chunks_of(promptuary: Promptuary, corpus: Corpus) -> list[tuple[str, Chunk]]:
    """Return every chunk of the corpus with the path of its file."""
    folder = promptuary.search.status().folders[0]
    index = promptuary._app.search.backend.index
    known = next(one for one, _ in index.folders() if one.path == folder.path)
    return [(path, chunk) for path in corpus.files for chunk in index.content(known, path)[1]]

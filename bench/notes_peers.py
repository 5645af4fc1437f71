"""The notes of ``bench.notes_in_prompts`` in mem0 and in langchain's ensemble of BM25 and FAISS, on given vectors.

It is run by a Python that has both and not Promptuary. Notes, messages and the vector of every text come as JSON on its
standard input; the numbers of the notes that each returns for each message, the best first, go out as JSON.
"""

import json
import os
import struct
import sys
import tempfile
from collections.abc import Callable
from typing import Any

Find = Callable[[str], list[int]]


def given_vectors(vectors: dict[str, str]) -> Any:
    """Return the vectors that were given, as an embedder of langchain, which both take."""
    from langchain_core.embeddings import Embeddings

    class Given(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(map(self.embed_query, texts))

        def embed_query(self, text: str) -> list[float]:
            packed = bytes.fromhex(vectors.get(text) or next(iter(vectors.values())))
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))

    return Given()


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    vectors = given_vectors(given["vectors"])
    made = {"BM25 and FAISS": ensemble(given["notes"], vectors), "mem0": mem0(given["notes"], vectors)}
    found = {name: [find(text) for text in given["asked"]] for name, find in made.items()}
    print(f"\n{json.dumps(found)}")


def ensemble(notes: list[str], vectors: Any) -> Find:
    """Return langchain's ensemble with equal weights and its default numbers of documents."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS

    numbered: list[Any] = [{"number": number} for number in range(len(notes))]
    words = BM25Retriever.from_texts(notes, metadatas=numbered)
    meaning = FAISS.from_texts(notes, vectors, metadatas=numbered).as_retriever()
    both = EnsembleRetriever(retrievers=[words, meaning], weights=[0.5, 0.5])
    return lambda text: [one.metadata["number"] for one in both.invoke(text)]


def mem0(notes: list[str], vectors: Any) -> Find:
    """Return mem0 with our vectors and no model: each note is stored as it is."""
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "unused"}
    from mem0 import Memory

    folder = tempfile.mkdtemp(dir=os.environ["HOME"])
    store = {"path": folder, "collection_name": "notes", "embedding_model_dims": len(vectors.embed_query(notes[0]))}
    memory = Memory.from_config(
        {
            "embedder": {"provider": "langchain", "config": {"model": vectors}},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": f"{folder}/history.db",
        }
    )
    for number, note in enumerate(notes):
        memory.add(note, user_id="somebody", metadata={"number": number}, infer=False)
    return lambda text: [
        one["metadata"]["number"] for one in memory.search(text, filters={"user_id": "somebody"})["results"]
    ]


if __name__ == "__main__":
    main()

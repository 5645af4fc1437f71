"""What a search costs in langchain's BM25 with FAISS and in mem0, for ``bench.searching --beside PYTHON``.

Run by the Python of another environment, which has langchain-community, langchain-classic, rank-bm25, faiss-cpu,
mem0ai, onnxruntime and tokenizers, and nothing of ours: ``searching_peers.py FOLDER MODEL TOKENIZER``. The folder has
the texts (``texts.json``) and their vectors (``vectors.npy``); the question's vector is made by the same bare model for
both. Each line of standard input is the name of a peer, a tab and a question; the answer is the processor's time in
milliseconds, of all threads. mem0's memories are put into its vector store at once, as ``add(infer=False)`` puts them
one by one.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


class Model:
    """The bare model, with the methods that langchain calls."""

    def __init__(self, weights: str, tokenizer: str) -> None:
        import numpy as np
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._numpy = np
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.no_padding()

    def embed_query(self, text: str) -> list[float]:
        np = self._numpy
        pieces = np.array([self._tokenizer.encode(text).ids], np.int64)
        every = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": np.zeros_like(pieces)}
        names = [one.name for one in self._session.get_inputs()]
        found = self._session.run(None, {name: every[name] for name in names})[0][0].mean(axis=0)
        vector: list[float] = (found / np.linalg.norm(found)).tolist()
        return vector

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def langchain(texts: Sequence[str], vectors: Any, model: Model) -> dict[str, Callable[[str], object]]:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings

    class Embedding(Embeddings):
        embed_query = model.embed_query
        embed_documents = model.embed_documents

    words = BM25Retriever.from_texts(list(texts), k=10)
    faiss = FAISS.from_embeddings(zip(texts, vectors.tolist(), strict=True), Embedding())
    both = EnsembleRetriever(retrievers=[words, faiss.as_retriever(search_kwargs={"k": 10})], weights=[0.5, 0.5])
    return {"langchain BM25": words.invoke, "langchain BM25 + FAISS": both.invoke}


def mem0(texts: Sequence[str], vectors: Any, model: Model, folder: Path) -> dict[str, Callable[[str], object]]:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "none"}
    from mem0 import Memory

    store = {"collection_name": "bench", "path": str(folder / "faiss"), "embedding_model_dims": vectors.shape[1]}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "faiss", "config": store},
            "embedder": {"provider": "openai", "config": {"embedding_dims": vectors.shape[1]}},
            "history_db_path": str(folder / "history.db"),
        }
    )

    class Embedding:
        def embed(self, text: str, memory_action: str = "") -> list[float]:
            del memory_action
            return model.embed_query(text)

    memory.embedding_model = Embedding()
    payloads = [{"data": text, "hash": str(number), "user_id": "one"} for number, text in enumerate(texts)]
    memory.vector_store.insert(vectors.tolist(), payloads, [str(number) for number in range(len(texts))])
    filters = {"user_id": "one"}
    return {"mem0 (infer=False), FAISS": lambda question: memory.search(question, top_k=10, filters=filters)}


def main() -> None:
    import numpy as np

    warnings.simplefilter("ignore")
    folder, answers = Path(sys.argv[1]), sys.stdout
    sys.stdout = sys.stderr  # the libraries print
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    vectors, model = np.load(folder / "vectors.npy"), Model(sys.argv[2], sys.argv[3])
    sides = langchain(texts, vectors, model) | mem0(texts, vectors, model, folder)
    print(json.dumps(list(sides)), file=answers, flush=True)
    for line in sys.stdin:
        name, _, question = line.rstrip("\n").partition("\t")
        began = time.process_time()
        sides[name](question)
        print((time.process_time() - began) * 1000, file=answers, flush=True)


if __name__ == "__main__":
    main()

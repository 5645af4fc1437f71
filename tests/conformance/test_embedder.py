"""Every embedder keeps the same contract; ``promptuary.testing.embedder_conformance`` is the contract."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptuary.models.http import PostPolicy
from promptuary.models.minilm import MiniLM, available
from promptuary.models.onnx_folder import open_embedder
from promptuary.models.openai_embeddings import EndpointEmbedder
from promptuary.models.paired import PairedEmbedder
from promptuary.models.protocols import Embedder
from promptuary.testing.embedder_conformance import EmbedderConformance, numbers
from promptuary.testing.loopback import Loopback, Step, answer
from promptuary.testing.word_embedder import WordEmbedder
from tests.embedders import HashedWords
from tests.onnx_models import embedder_weights, write_folder

LOCAL = MiniLM(threads=1)  # loads nothing before it is used


class TestHashedWords(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashedWords()


class TestWordEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return WordEmbedder()


@pytest.mark.skipif(not available(), reason="the extra is not installed")
class TestMiniLM(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return LOCAL


@pytest.mark.skipif(not available(), reason="the extra is not installed")
class TestOnnxFolder(EmbedderConformance):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        """Return a tiny model whose texts begin with a prefix and are cut into many windows."""
        settings = {"window": 16, "prefixes": {"query": "query: "}}
        write_folder(tmp_path, {"model.onnx": embedder_weights(), "promptuary.json": settings})
        return open_embedder(tmp_path, cache=None)


class TestPairedEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return PairedEmbedder(WordEmbedder("one"), HashedWords("two", 8))


class TestEndpointEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        """Return one whose service embeds as the small one above does, whatever order it is asked in."""
        behind = HashedWords()
        with Loopback() as server:

            def steps() -> Sequence[Step]:
                texts = json.loads(server.bodies[-1])["input"]
                rows = [
                    {"index": place, "embedding": numbers(vector)}
                    for place, vector in enumerate(behind.embed(texts, "passage"))
                ]
                return [answer(json.dumps({"data": rows[::-1]}), "application/json")]

            server.routes["/v1/embeddings"] = steps
            policy = PostPolicy(allow_hosts=frozenset({"127.0.0.1"}))
            yield EndpointEmbedder(server.url("/v1"), "small", policy=policy)

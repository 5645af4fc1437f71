"""Every reranker keeps the same contract; ``promptuary.testing.reranker_conformance`` is the contract."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptuary.models.minilm import available
from promptuary.models.onnx_folder import read_folder
from promptuary.models.onnx_reranker import OnnxReranker
from promptuary.models.protocols import Reranker
from promptuary.models.rerank_endpoint import EndpointReranker
from promptuary.testing.loopback import Loopback, Step, answer
from promptuary.testing.reranker_conformance import RerankerConformance
from promptuary.testing.scripted import ScriptedReranker
from tests.onnx_models import cross_encoder_weights, write_folder


def shared_letters(query: str, text: str) -> float:
    return float(len(set(query) & set(text)))


class TestScriptedReranker(RerankerConformance):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return ScriptedReranker(shared_letters)


@pytest.mark.skipif(not available(), reason="the extra is not installed")
class TestOnnxReranker(RerankerConformance):
    @pytest.fixture
    def reranker(self, tmp_path: Path) -> Reranker:
        folder = write_folder(tmp_path, {"model.onnx": cross_encoder_weights(), "promptuary.json": {"window": 32}})
        return OnnxReranker(read_folder(folder, cache=None))


class TestEndpointReranker(RerankerConformance):
    @pytest.fixture
    def reranker(self) -> Iterator[Reranker]:
        """Return one whose service judges by shared letters, and answers with the best first."""
        with Loopback() as server:

            def steps() -> Sequence[Step]:
                asked = json.loads(server.bodies[-1])
                rows = [
                    {"index": place, "relevance_score": shared_letters(asked["query"], text)}
                    for place, text in enumerate(asked["documents"])
                ]
                rows.sort(key=lambda row: -row["relevance_score"])
                return [answer(json.dumps({"results": rows}), "application/json")]

            server.routes["/v1/rerank"] = steps
            yield EndpointReranker(server.url("/v1"), "small")

"""Rerankers: an endpoint in either of the usual forms, and a cross-encoder in a folder."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.config.api_keys import KeyPlace
from promptuary.models.http import PostPolicy
from promptuary.models.onnx_folder import read_folder
from promptuary.models.onnx_reranker import OnnxReranker
from promptuary.models.rerank_endpoint import EndpointReranker
from promptuary.testing.loopback import Loopback, answer
from tests.onnx_models import cross_encoder_weights, embedder_weights, write_folder

QUICK = PostPolicy(attempts=1, timeout=20)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def says(value: object, status: int = 200) -> bytes:
    return answer(json.dumps(value), "application/json", status=status)


def ranked(server: Loopback, value: object, *, key: str = "") -> list[float]:
    server.routes["/rerank"] = says(value)
    return list(EndpointReranker(server.url(), "m", key=KeyPlace(key), policy=QUICK).rerank("q", ["one", "two"]))


@pytest.mark.parametrize(
    "value",
    [
        {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]},  # Jina, vLLM
        {"id": "x", "results": [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.9}]},  # Cohere
        {"object": "list", "data": [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}]},
        [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}],  # Text Embeddings Inference
    ],
)
def test_the_usual_answers_are_understood(server: Loopback, value: object) -> None:
    assert ranked(server, value) == [0.1, 0.9]


def test_a_request_has_the_common_form_and_the_key(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_TEST_KEY", "secret-key")
    ranked(server, [{"index": 0, "score": 1}, {"index": 1, "score": 2}], key="RERANK_TEST_KEY")

    assert json.loads(server.bodies[0]) == {
        "model": "m",
        "query": "q",
        "documents": ["one", "two"],
        "top_n": 2,
        "return_documents": False,
    }
    assert "Authorization: Bearer secret-key" in server.requests[0]


def test_an_address_may_end_with_the_path_itself(server: Loopback) -> None:
    server.routes["/v2/rerank"] = says([{"index": 0, "score": 1.5}])

    assert EndpointReranker(server.url("/v2/rerank/"), policy=QUICK).rerank("q", ["one"]) == [1.5]
    assert "model" not in json.loads(server.bodies[0])


def test_a_service_of_the_other_form_is_asked_in_it_and_from_then_on_at_once(server: Loopback) -> None:
    def steps() -> list[bytes]:
        asked = json.loads(server.bodies[-1])
        if "texts" not in asked:
            return [says({"error": "missing field `texts`"}, 422)]
        return [says([{"index": place, "score": len(text)} for place, text in enumerate(asked["texts"])])]

    server.routes["/rerank"] = steps
    reranker = EndpointReranker(server.url(), "m", policy=QUICK)

    assert list(reranker.rerank("q", ["a", "bcd"])) == [1.0, 3.0]
    assert list(reranker.rerank("q", ["ab"])) == [2.0]
    assert ["texts" in json.loads(body) for body in server.bodies] == [False, True, True]


def test_what_a_service_says_of_the_common_form_is_told_if_neither_is_taken(server: Loopback) -> None:
    server.routes["/rerank"] = says({"error": "no such model"}, 400)

    with pytest.raises(PromptuaryError, match="no such model"):
        EndpointReranker(server.url(), "m", policy=QUICK).rerank("q", ["one"])
    server.routes["/rerank"] = says({"error": "not here"}, 404)
    with pytest.raises(PromptuaryError, match="404"):
        EndpointReranker(server.url(), "m", policy=QUICK).rerank("q", ["one"])


@pytest.mark.parametrize(
    "value",
    [
        "text",
        None,
        {"results": "none"},
        {"results": [1, 2]},
        [{"index": 0, "score": 1.0}],
        [{"index": 0, "score": 1.0}, {"index": 0, "score": 2.0}],
        [{"index": 0, "score": 1.0}, {"index": 2, "score": 2.0}],
        [{"index": 0, "score": 1.0}, {"index": [], "score": 2.0}],
        [{"index": 0, "score": 1.0}, {"index": True, "score": 2.0}],
        [{"index": 0, "score": "high"}, {"index": 1, "score": 2.0}],
        [{"index": 0, "score": None}, {"index": 1, "score": 2.0}],
        [{"index": 0, "score": float("nan")}, {"index": 1, "score": 2.0}],
    ],
)
def test_any_other_answer_is_an_error(server: Loopback, value: object) -> None:
    with pytest.raises(PromptuaryError, match="The rerank service sends"):
        ranked(server, value)


def test_a_key_that_is_not_set_is_told_and_nothing_is_sent(server: Loopback) -> None:
    with pytest.raises(ConfigError, match="set the environment variable NO_SUCH_RERANK_KEY"):
        ranked(server, [], key="NO_SUCH_RERANK_KEY")
    assert server.accepted == 0


onnx = pytest.mark.skipif(pytest.importorskip("onnxruntime") is None, reason="the extra is not installed")


@onnx
@pytest.mark.parametrize(("logits", "expected"), [(1, [3.0, 1.0]), (2, [6.0, 2.0])])
def test_a_cross_encoder_reads_the_question_and_the_text(tmp_path: Path, logits: int, expected: list[float]) -> None:
    """The score is what the words of the text weigh, and nothing of the question; two numbers are for and against."""
    folder = write_folder(tmp_path, {"model.onnx": cross_encoder_weights(logits=logits)})
    reranker = OnnxReranker(read_folder(folder, cache=None), threads=1)

    assert reranker.rerank("gamma gamma", ["alpha", "gamma"]) == expected


@onnx
def test_a_model_that_is_no_cross_encoder_is_an_error(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": embedder_weights()})

    with pytest.raises(PromptuaryError, match="it is not a cross-encoder"):
        OnnxReranker(read_folder(folder, cache=None)).rerank("alpha", ["beta"])


@onnx
def test_a_pair_that_is_too_long_is_cut(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"model.onnx": cross_encoder_weights(), "promptuary.json": {"window": 16}})

    # Of sixteen pieces three mark the ends, and the question has one.
    assert OnnxReranker(read_folder(folder, cache=None)).rerank("beta", ["alpha " * 100]) == [3.0 * 12]

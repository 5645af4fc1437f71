"""Vectors by a service: what it is asked, and that its answers are believed only as far as they were checked."""

import json
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.config.api_keys import KeyPlace
from promptuary.models.http import PostPolicy
from promptuary.models.openai_embeddings import EndpointEmbedder
from promptuary.testing.loopback import Loopback, Step, answer

if TYPE_CHECKING:
    from promptuary.models.protocols import Embedder

POLICY = PostPolicy(timeout=5.0, attempts=2, pause=0.0)

Answering = Callable[[list[str]], object]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        serve(running, lambda texts: {"data": [row(place, len(text), 1.0) for place, text in enumerate(texts)]})
        yield running


def row(index: int, *numbers: float) -> dict[str, object]:
    return {"object": "embedding", "index": index, "embedding": list(numbers)}


def serve(server: Loopback, answering: Answering) -> None:
    def steps() -> Sequence[Step]:
        texts = json.loads(server.bodies[-1])["input"]
        return (answer(json.dumps(answering(texts)), "application/json"),)

    server.routes["/v1/embeddings"] = steps


def embedder(server: Loopback, **options: Any) -> EndpointEmbedder:
    return EndpointEmbedder(server.url("/v1"), "some-model", policy=POLICY, **options)


def unpacked(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def asked(server: Loopback) -> list[Any]:
    return [json.loads(body) for body in server.bodies]


def test_texts_become_vectors_of_length_one_in_order(server: Loopback) -> None:
    made: Embedder = embedder(server)
    vectors = made.embed(["abc", "z"], "passage")

    assert unpacked(vectors[0]) == pytest.approx((3 / math.sqrt(10), 1 / math.sqrt(10)))
    assert unpacked(vectors[1]) == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    assert asked(server) == [{"model": "some-model", "input": ["abc", "z"], "encoding_format": "float"}]
    assert made.dimensions == 2


def test_vectors_are_put_in_order_by_their_index(server: Loopback) -> None:
    serve(server, lambda texts: {"data": [row(1, 0, 1), row(0, 1, 0)]})

    assert list(map(unpacked, embedder(server).embed(["a", "b"], "query"))) == [(1, 0), (0, 1)]


def test_many_texts_are_sent_in_batches(server: Loopback) -> None:
    vectors = embedder(server, batch=2).embed(["a", "bb", "ccc", "dddd", "eeeee"], "passage")

    assert [body["input"] for body in asked(server)] == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert [round(unpacked(vector)[0] / unpacked(vector)[1]) for vector in vectors] == [1, 2, 3, 4, 5]


def test_nothing_is_asked_for_nothing(server: Loopback) -> None:
    assert embedder(server).embed([], "query") == []
    assert server.accepted == 0


def test_the_dimensions_are_learnt_by_asking_once(server: Loopback) -> None:
    made = embedder(server)

    assert (made.dimensions, made.dimensions) == (2, 2)
    assert server.accepted == 1


def test_dimensions_that_were_given_are_asked_for_and_not_learnt(server: Loopback) -> None:
    made = embedder(server, dimensions=2)
    assert made.dimensions == 2
    assert server.accepted == 0
    made.embed(["a"], "query")

    assert asked(server)[0]["dimensions"] == 2


def test_a_purpose_may_have_a_prefix(server: Loopback) -> None:
    made = embedder(server, prefixes={"query": "search_query: "})
    made.embed(["a"], "query")
    made.embed(["a"], "passage")

    assert [body["input"] for body in asked(server)] == [["search_query: a"], ["a"]]


def test_the_id_names_all_that_decides_about_the_vectors(server: Loopback) -> None:
    ids = [
        embedder(server).id,
        embedder(server, dimensions=2).id,
        embedder(server, prefixes={"query": "q: "}).id,
        EndpointEmbedder(server.url("/v1"), "other").id,
        EndpointEmbedder(server.url("/v2"), "some-model").id,
    ]

    assert len(set(ids)) == 5
    assert ids[0] == embedder(server, batch=3).id == EndpointEmbedder(server.url("/v1/"), "some-model").id
    assert server.accepted == 0


@pytest.mark.parametrize("text", ["", "\0", "half \ud800", "x" * 1_000_000, "\U0001f600" * 30_000])
def test_any_text_may_be_sent(server: Loopback, text: str) -> None:
    assert len(embedder(server).embed([text], "passage")) == 1
    (sent,) = asked(server)[0]["input"]
    assert 0 < len(sent) <= 24_000
    sent.encode()


def test_the_key_is_read_from_the_variable_and_sent(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " sk-1 \n")
    embedder(server, key=KeyPlace("MY_KEY")).embed(["a"], "query")

    assert "Authorization: Bearer sk-1\r\n" in server.requests[0]


def test_a_key_that_is_not_there_is_told_by_the_name_of_its_variable(server: Loopback) -> None:
    with pytest.raises(ConfigError, match="set the environment variable NO_SUCH_KEY"):
        embedder(server, key=KeyPlace("NO_SUCH_KEY")).embed(["a"], "query")

    assert server.accepted == 0


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"data": {}},
        {"data": [1, 2]},
        {"data": [row(0, 1)]},
        {"data": [row(0, 1), row(1, 1), row(2, 1)]},
        {"data": [row(0, 1), row(0, 1)]},
        {"data": [row(1, 1), row(2, 1)]},
        {"data": [{"index": [0], "embedding": [1]}, row(1, 1)]},
        {"data": [row(0, 1), {"index": 1}]},
        {"data": [row(0, 1), {"index": 1, "embedding": "AACAPw=="}]},
        {"data": [row(0, 1), {"index": 1, "embedding": ["1"]}]},
        {"data": [row(0, 1), {"index": 1, "embedding": [None]}]},
        {"data": [row(0, 1), {"index": 1, "embedding": [[1]]}]},
        {"data": [row(0, 1), row(1, 10**400)]},
        {"data": [row(0, 1), row(1, math.nan)]},
        {"data": [row(0, 1), row(1, math.inf)]},
        {"data": [row(0, 1), row(1, 0)]},
        {"data": [row(0, 1), row(1)]},
        {"data": [row(0, 1), row(1, 1, 2)]},
    ],
)
def test_an_answer_that_is_not_one_vector_a_text_is_refused(server: Loopback, wrong: object) -> None:
    serve(server, lambda texts: wrong)
    with pytest.raises(PromptuaryError, match="The embedding service sends"):
        embedder(server).embed(["a", "b"], "passage")


def test_vectors_that_change_their_length_are_refused(server: Loopback) -> None:
    made = embedder(server)
    made.embed(["a"], "query")
    serve(server, lambda texts: {"data": [row(0, 1, 2, 3)]})
    with pytest.raises(PromptuaryError, match="vectors of 3 numbers where 2 were expected"):
        made.embed(["a"], "query")


def test_a_service_that_fails_is_told(server: Loopback) -> None:
    server.routes["/v1/embeddings"] = answer("model not loaded", status=404)
    with pytest.raises(PromptuaryError, match="HTTP status 404: model not loaded"):
        embedder(server).embed(["a"], "query")

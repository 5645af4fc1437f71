"""Two embedders side by side are one embedder, whose cosines are the mean of theirs."""

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.config.settings import Settings
from promptuary.models.embedders import embedder_for
from promptuary.models.paired import PairedEmbedder
from promptuary.models.protocols import Embedder
from promptuary.testing.embedder_conformance import numbers
from promptuary.testing.word_embedder import WordEmbedder
from tests.embedders import HashedWords


def cosine(embedder: Embedder, one: str, other: str) -> float:
    a, b = (numbers(vector) for vector in (*embedder.embed([one], "query"), *embedder.embed([other], "passage")))
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_a_cosine_is_the_mean_of_both() -> None:
    first, second = WordEmbedder("one", 8), WordEmbedder("two", 24)
    pair = PairedEmbedder(first, second)
    texts = "alpha beta gamma", "beta gamma delta epsilon"

    assert cosine(pair, *texts) == pytest.approx((cosine(first, *texts) + cosine(second, *texts)) / 2, abs=1e-6)
    assert cosine(first, *texts) != pytest.approx(cosine(second, *texts))
    assert (pair.id, pair.dimensions) == ("one + two", 32)


def test_a_failure_of_either_is_the_failure_of_both() -> None:
    broken = HashedWords()
    broken.broken = "the second is away"
    for pair in (PairedEmbedder(WordEmbedder(), broken), PairedEmbedder(broken, WordEmbedder())):
        for purpose in ("query", "passage"):
            with pytest.raises(PromptuaryError, match="the second is away"):
                pair.embed(["x"], "query" if purpose == "query" else "passage")


def test_two_names_with_a_plus_between_them_are_a_pair() -> None:
    settings = Settings(embedder="endpoint+endpoint", embed_url="http://127.0.0.1:1/v1", embed_model="small")
    found = embedder_for(settings)

    assert isinstance(found, PairedEmbedder)
    assert found.id == "small at http://127.0.0.1:1/v1 + small at http://127.0.0.1:1/v1"


@pytest.mark.parametrize("name", ["endpoint+none", "none+endpoint", "endpoint+", "+endpoint", "endpoint+auto"])
def test_both_of_a_pair_are_named(name: str) -> None:
    settings = Settings(embedder=name, embed_url="http://127.0.0.1:1/v1", embed_model="small")

    with pytest.raises(ConfigError, match="names two embedders"):
        embedder_for(settings)


def test_a_folder_may_have_a_plus_in_its_name() -> None:
    with pytest.raises(ConfigError, match=r"/c\+\+ is not a folder with a model"):
        embedder_for(Settings(embedder="onnx:/c++"))

"""Which languages an embedder knows."""

import pytest

from promptuary.base.text_language import COMMON_WORDS
from promptuary.models.languages import (
    ENGLISH,
    known_languages,
    languages_named,
    languages_of_service,
    languages_of_vocabulary,
)
from promptuary.models.minilm import MiniLM
from promptuary.models.named.catalogue import embedder_knowing
from promptuary.models.paired import PairedEmbedder
from promptuary.search.vectors.shared import SharedEmbedder
from promptuary.testing.word_embedder import WordEmbedder


def test_an_embedder_that_does_not_say_knows_every_language() -> None:
    assert known_languages(WordEmbedder()) is None
    assert known_languages(SharedEmbedder(WordEmbedder())) is None


def test_the_default_model_knows_english_also_where_it_is_shared_or_one_of_two() -> None:
    assert known_languages(SharedEmbedder(MiniLM())) == ENGLISH
    assert known_languages(PairedEmbedder(WordEmbedder(), MiniLM())) == ENGLISH


def test_a_list_of_languages_is_all_of_them_if_one_is_not_told_apart() -> None:
    assert languages_named("English, code") == ENGLISH
    assert languages_named("English, German") == frozenset({"en", "de"})
    assert languages_named("about 100") is None


@pytest.mark.parametrize("model", ["all-minilm:l6-v2", "BAAI/bge-small-en-v1.5", "nomic-embed-text", "e5-small-v2"])
def test_the_name_of_an_english_model_says_so(model: str) -> None:
    assert languages_of_service(model) == ENGLISH


@pytest.mark.parametrize(
    "model",
    [
        "text-embedding-3-small",
        "bge-m3",
        "multilingual-e5-small",
        "nomic-embed-text-v2-moe",
        "snowflake-arctic-embed2",
        "openai/embed",
    ],
)
def test_any_other_model_of_a_service_is_taken_to_know_all(model: str) -> None:
    assert languages_of_service(model) is None


def test_a_vocabulary_shows_which_languages_a_model_learnt() -> None:
    english = COMMON_WORDS["en"]

    def pieces(text: str) -> list[str]:
        return text.split() if english.issuperset(text.split()) else list(text)

    # A Chinese character is a word of its own.
    assert languages_of_vocabulary(pieces) == frozenset({"en", "zh", "ja"})
    assert languages_of_vocabulary(lambda text: [text[at : at + 4] for at in range(0, len(text), 4)]) is None


def test_the_catalogue_has_an_embedder_for_other_languages() -> None:
    assert embedder_knowing(["de", "ja"]) == "multilingual-e5-small"

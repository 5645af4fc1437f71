"""Counts are exact, offline, and never surprised."""

from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from promptuary.core.errors import ConfigError
from promptuary.tokens import VOCABULARIES, Counter, for_model, known_model
from tests.reference_tokenizer import reference

SAMPLES = [
    "",
    "hello world",
    "grüße aus köln",
    "你好，世界。",
    "🧑‍🚀 🇩🇪",
    "<|endoftext|>",
    "a" * 999,
    " " * 80 + "\n" * 40,
]
PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=["o200k_base", "cl100k_base"])
def published(request: pytest.FixtureRequest) -> tiktoken.Encoding:
    return reference(request.param)


def test_counts_are_those_of_the_published_tokenizer(published: tiktoken.Encoding) -> None:
    counter = Counter(published.name)
    texts = SAMPLES + [path.read_text(encoding="utf-8") for path in (PROJECT / "src").rglob("*.py")]

    assert [counter.count(text) for text in texts] == [len(published.encode_ordinary(text)) for text in texts]


@given(text=st.text())
def test_counts_agree_on_any_text(published: tiktoken.Encoding, text: str) -> None:
    assert Counter(published.name).count(text) == len(published.encode_ordinary(text))


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_vocabulary_counts_offline(vocabulary: str) -> None:
    assert 2 <= Counter(vocabulary).count("hello world") <= 3


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_can_be_counted_even_with_lone_surrogates(text: str) -> None:
    assert Counter().count(text) >= (1 if text else 0)


@given(st.text(min_size=65))
def test_a_second_count_is_the_first(text: str) -> None:
    counter = Counter()

    assert counter.count(text) == counter.count(text)


def test_a_control_token_spelled_in_a_text_counts_as_text() -> None:
    counter = Counter()

    assert counter.count("<|endoftext|>" * 10) > 60


@pytest.mark.parametrize(
    ("name", "window", "vocabulary"),
    [
        ("gpt-4", 8_192, "cl100k_base"),
        ("gpt-4o-mini", 128_000, "o200k_base"),
        ("openai/gpt-4.1-nano", 1_047_576, "o200k_base"),
        ("Claude-Sonnet-4", 200_000, "o200k_base"),
    ],
)
def test_a_model_is_known_by_the_longest_prefix_of_its_name(name: str, window: int, vocabulary: str) -> None:
    assert (for_model(name).window, for_model(name).vocabulary) == (window, vocabulary)


def test_an_unknown_model_or_vocabulary_is_told_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="--window"):
        for_model("nobody")
    with pytest.raises(ConfigError, match="o200k_base"):
        Counter("klingon")


def test_a_model_is_asked_about_without_an_error() -> None:
    assert known_model("nobody") is None
    assert known_model("gpt-4") == for_model("gpt-4")


def test_a_vocabulary_that_is_not_public_is_not_exact() -> None:
    assert not for_model("claude-3").exact
    assert for_model("gpt-4o").exact

"""Counts are exact, offline, and never surprised."""

import re
from itertools import product
from pathlib import Path

import pytest
import splintr
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from scripts.pack_tokens import ordinary_tokens

from promptuary.base.errors import ConfigError
from promptuary.tokens import counting as tokens
from promptuary.tokens.counting import VOCABULARIES, Counter, for_model, known_model
from promptuary.tokens.vocabulary import TokenTable, pack
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
PROJECT = Path(__file__).parents[3]


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


def few() -> tokens._FewTokens:
    with tokens.TABLE.open("rb") as file:
        return tokens._FewTokens(TokenTable(file.read()))


def test_the_packed_tokens_are_those_of_the_tokenizer() -> None:
    assert tokens.TABLE.read_bytes() == pack(ordinary_tokens("o200k_base"))


@pytest.mark.parametrize("text", [*SAMPLES, "it'slong 12½³ (\n//x\r\n\t  -- don't's é...\n"])
def test_a_few_tokens_count_as_the_whole_vocabulary_does(text: str) -> None:
    whole = len(splintr.Tokenizer.from_pretrained("o200k_base").encode_ordinary(text))

    assert few().count(text) in {whole, None}
    assert few().count(text) is not None or len(text) > 300


@given(st.lists(st.text() | st.text("aB'9 \n\r/(.é½—\u0301\u3000字", max_size=12), max_size=4))
def test_a_few_tokens_count_any_texts_exactly(texts: list[str]) -> None:
    part = few()
    whole = splintr.Tokenizer.from_pretrained("o200k_base")

    for text in texts:
        counted = part.count(text)
        assert counted in {len(whole.encode_ordinary(text)), None}
        assert counted is not None or any("\x1c" <= char <= "\x1f" for char in text)


def test_a_few_tokens_count_source_files_exactly() -> None:
    whole = splintr.Tokenizer.from_pretrained("o200k_base")
    files = [one for one in (PROJECT / "src").rglob("*.py") if one.stat().st_size < 3000][:25]
    counts = [(few().count(text), len(whole.encode_ordinary(text))) for text in map(Path.read_text, files)]

    assert sum(quick is not None for quick, _ in counts) > 15
    assert [pair for pair in counts if pair[0] not in {pair[1], None}] == []


def test_a_long_text_or_many_texts_take_the_whole_vocabulary() -> None:
    part = few()

    assert part.count(" ".join(map("".join, product("abcdefgh", repeat=5)))) is None
    assert few().count("word" * 200) is None
    assert part.count("word") is None


def test_many_short_texts_with_tokens_of_their_own_take_the_whole_vocabulary() -> None:
    part, words = few(), re.findall("[a-z]{5,}", (PROJECT / "README.md").read_text().lower())
    counted = [part.count(word) for word in dict.fromkeys(words)]

    assert None not in counted[:5]
    assert counted.index(None) < 60


@pytest.mark.parametrize("data", [b"", b"tokens1\n", b"tokens1\n\x01\0\0\0", bytes(100)])
def test_what_is_no_table_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a table"):
        TokenTable(data)


def test_without_the_table_the_whole_vocabulary_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tokens, "TABLE", tmp_path / "gone")
    monkeypatch.setattr(tokens, "_whole", {})
    tokens._few.cache_clear()
    try:
        assert Counter().count("hello world") == 2
        assert "o200k_base" in tokens._whole
    finally:
        tokens._few.cache_clear()

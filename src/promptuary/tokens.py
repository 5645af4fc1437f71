"""Exact token counts, offline from the first call.

One ``Counter`` per vocabulary; ``known_model`` says which vocabulary and window a model has.
Counts are cached by content hash, so an unchanged text is never counted twice in a process.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Protocol, cast

from promptuary.core.errors import ConfigError

DEFAULT_VOCABULARY = "o200k_base"
DEFAULT_WINDOW = 128_000

VOCABULARIES = ("o200k_base", "cl100k_base", "llama3", "deepseek_v3", "mistral_v3")
"""The vocabularies a counter can be made for; each was checked against its reference tokenizer's package."""

_CACHE_LIMIT = 50_000
_SMALL = 64


class _Encoder(Protocol):
    """The part of a splintr tokenizer that is used here."""

    def special_tokens(self) -> dict[str, int]: ...

    def encode_ordinary(self, text: str) -> list[int]: ...

    def encode_flat(self, text: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Model:
    """What must be known of a model to fit a prompt into it. ``exact`` is false where its vocabulary is not public."""

    window: int
    vocabulary: str
    exact: bool = True


# The longest matching prefix wins. Vocabularies that are not public are counted with o200k, and said so.
_MODELS: dict[str, Model] = {
    "gpt-3.5": Model(16_385, "cl100k_base"),
    "gpt-4": Model(8_192, "cl100k_base"),
    "gpt-4-turbo": Model(128_000, "cl100k_base"),
    "gpt-4o": Model(128_000, "o200k_base"),
    "gpt-4.1": Model(1_047_576, "o200k_base"),
    "gpt-5": Model(400_000, "o200k_base"),
    "o1": Model(200_000, "o200k_base"),
    "o3": Model(200_000, "o200k_base"),
    "o4": Model(200_000, "o200k_base"),
    "gpt-oss": Model(131_072, "o200k_base"),
    "claude": Model(200_000, "o200k_base", exact=False),
    "gemini": Model(1_048_576, "o200k_base", exact=False),
    "llama-3": Model(128_000, "llama3"),
    "llama3": Model(128_000, "llama3"),
    "deepseek": Model(128_000, "deepseek_v3"),
    "mistral": Model(128_000, "mistral_v3"),
}


def known_model(name: str) -> Model | None:
    """Return what is known of the model called ``name`` (a provider prefix such as ``openai/`` is ignored)."""
    bare = name.rsplit("/", 1)[-1].lower()
    prefixes = [prefix for prefix in _MODELS if bare.startswith(prefix)]
    return _MODELS[max(prefixes, key=len)] if prefixes else None


def for_model(name: str) -> Model:
    """Return what ``known_model`` does, or raise what to do about a model that is not known."""
    known = known_model(name)
    if known is None:
        names = ", ".join(sorted(_MODELS))
        raise ConfigError(
            f"model {name[:60]!r} is not known; set its window too (window, or --window), "
            f"or use a name that begins with one of: {names}"
        )
    return known


class Counter:
    """Counts tokens of one vocabulary. Safe to share between threads."""

    def __init__(self, vocabulary: str = DEFAULT_VOCABULARY) -> None:
        if vocabulary not in VOCABULARIES:
            raise ConfigError(f"vocabulary {vocabulary!r} is not known; use one of: {', '.join(VOCABULARIES)}")
        self.vocabulary = vocabulary
        self._cache: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is. Words that look like control tokens count as plain text."""
        if len(text) <= _SMALL:
            return self._encode(text)
        key = _key(text)
        known = self._cache.get(key)
        if known is None:
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            known = self._cache[key] = self._encode(text)
        return known

    def _encode(self, text: str) -> int:
        encoder, control_marks = _encoder(self.vocabulary)
        try:
            # The flat form builds no list of integers, which is most of the cost; but it takes a spelled-out
            # control token for a real one, so it may only be used where none can be spelled.
            if not any(mark in text for mark in control_marks):
                return len(encoder.encode_flat(text)) // 4
            return len(encoder.encode_ordinary(text))
        except UnicodeEncodeError:  # lone surrogates, from a file name or an argument that is not UTF-8
            return self._encode(text.encode("utf-8", "replace").decode())


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


@lru_cache(maxsize=len(VOCABULARIES))
def _encoder(vocabulary: str) -> tuple[_Encoder, frozenset[str]]:
    """Return the encoder of a vocabulary, and how the names of its control tokens begin."""
    import splintr  # noqa: PLC0415  (the vocabulary is loaded here, and nobody pays for it earlier)

    encoder = cast("_Encoder", splintr.Tokenizer.from_pretrained(vocabulary))
    return encoder, frozenset(token[:2] for token in encoder.special_tokens())

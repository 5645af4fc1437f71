"""Exact token counts, without network access, and what is known of models.

A ``Counter`` counts with one vocabulary; ``known_model`` returns the vocabulary and the window of a model.
Counts are cached by content hash: a process counts an unchanged text once.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Protocol, cast

from promptuary.core.errors import ConfigError

DEFAULT_VOCABULARY = "o200k_base"
DEFAULT_WINDOW = 128_000

VOCABULARIES = ("o200k_base", "cl100k_base", "llama3", "deepseek_v3", "mistral_v3")
"""The supported vocabularies. Each was compared with its reference tokenizer."""

_CACHE_LIMIT = 50_000
_SMALL = 64


class _Encoder(Protocol):
    """The part of a splintr tokenizer that is used here."""

    def special_tokens(self) -> dict[str, int]: ...

    def encode_ordinary(self, text: str) -> list[int]: ...

    def encode_flat(self, text: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Model:
    """The window and vocabulary of a model. ``exact`` is false if its vocabulary is not public."""

    window: int
    vocabulary: str
    exact: bool = True


# The longest matching prefix wins. Models whose vocabulary is not public are counted with o200k_base.
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
    """Return the model called ``name``, or ``None``. A provider prefix such as ``openai/`` is ignored."""
    bare = name.rsplit("/", 1)[-1].lower()
    prefixes = [prefix for prefix in _MODELS if bare.startswith(prefix)]
    return _MODELS[max(prefixes, key=len)] if prefixes else None


def for_model(name: str) -> Model:
    """Return the model called ``name``. Raises ``ConfigError`` if it is unknown."""
    known = known_model(name)
    if known is None:
        names = ", ".join(sorted(_MODELS))
        raise ConfigError(
            f"model {name[:60]!r} is unknown; set its window, too (window, or --window), "
            f"or use a name that begins with one of: {names}"
        )
    return known


class Counter:
    """Counts tokens with one vocabulary. Threads may share it. Raises ``ConfigError`` for an unknown vocabulary."""

    def __init__(self, vocabulary: str = DEFAULT_VOCABULARY) -> None:
        if vocabulary not in VOCABULARIES:
            raise ConfigError(f"vocabulary {vocabulary!r} is unknown; use one of: {', '.join(VOCABULARIES)}")
        self.vocabulary = vocabulary
        self._cache: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``. Names of control tokens count as plain text."""
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
            # The flat form does not build a list of integers, which is most of the cost. But it counts the name of a
            # control token as one token, so it is used only if the text can contain no such name.
            if not any(mark in text for mark in control_marks):
                return len(encoder.encode_flat(text)) // 4
            return len(encoder.encode_ordinary(text))
        except UnicodeEncodeError:  # lone surrogates, from a file name or an argument that is not UTF-8
            return self._encode(text.encode("utf-8", "replace").decode())


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


@lru_cache(maxsize=len(VOCABULARIES))
def _encoder(vocabulary: str) -> tuple[_Encoder, frozenset[str]]:
    """Return the encoder of a vocabulary, and the first two characters of its control tokens."""
    import splintr  # noqa: PLC0415  (loads the vocabulary)

    encoder = cast("_Encoder", splintr.Tokenizer.from_pretrained(vocabulary))
    return encoder, frozenset(token[:2] for token in encoder.special_tokens())

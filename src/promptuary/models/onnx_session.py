"""Loads a model in the ONNX format on this machine: the libraries, the tokenizer, and a session with the weights.

Loading runs in parallel where possible, because a person waits for it. Does not know what a model is for, nor where its
files come from: ``ModelFiles`` returns them, verified.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.models import onnx_cache, signed_weights

_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

Inputs = Callable[..., Mapping[str, Any]]
"""Makes the inputs of one run from tokens and, for a pair of texts, which of the two each token belongs to."""


class ModelFiles(Struct, frozen=True):
    """The files of a model. ``key`` identifies the weights, and names their copy that loads faster.

    ``weights`` and ``tokenizer`` return the content of a file, or raise ``PromptuaryError`` if it is not the expected
    one. For weights in several files, ``weights`` returns the path of the first.
    """

    name: str
    key: str
    weights: Callable[[], bytes | str]
    tokenizer: Callable[[], bytes]


class LoadedModel(NamedTuple):
    """A model that can be run. ``save_copy`` writes the copy that loads faster, if there is none."""

    tokenizer: Any
    session: Any
    save_copy: Callable[[], None]


class Loading(NamedTuple):
    """A model that is being loaded. ``is_intact`` returns whether there is a copy that loads faster."""

    files: ModelFiles
    cache: Path | None
    onnxruntime: Any
    session: Callable[[], Any]
    is_intact: Callable[[], bool]


def load(files: ModelFiles, cache: Path | None) -> LoadedModel:
    """Load libraries, tokenizer and weights. ``cache`` is a private folder of the person for faster copies."""
    return finish(start(files, cache))


def start(files: ModelFiles, cache: Path | None) -> Loading:
    """Import the library, and start loading the weights in another thread."""
    files = _fastest(files)
    copy = onnx_cache.find(cache, files.key) if cache else None
    is_intact = concurrency.begin(lambda: copy is not None and onnx_cache.is_intact(copy)).result
    # Turns off the library's telemetry. Has no effect once it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        # Imports the parts of numpy that it needs; the other thread reads and hashes meanwhile.
        onnxruntime = concurrency.load_native("onnxruntime")  # 100 ms
    except ImportError as error:
        raise missing_extra() from error
    session = concurrency.begin(lambda: _session(onnxruntime, files, copy, is_intact)).result
    return Loading(files, cache, onnxruntime, session, is_intact)


def finish(loading: Loading) -> LoadedModel:
    """Load the tokenizer, and wait for the weights."""
    files = loading.files
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  (30 ms with its vocabulary)
    except ImportError as error:
        raise missing_extra() from error
    try:
        tokenizer = Tokenizer.from_str(files.tokenizer().decode())
    except PromptuaryError:
        raise
    except Exception as error:  # the library has no class of its own for what it raises
        raise PromptuaryError(f"tokenizer.json of {files.name} cannot be used: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    try:
        session = loading.session()
    except PromptuaryError:
        raise
    except Exception as error:  # the library has no class of its own for what it raises
        raise PromptuaryError(f"onnxruntime cannot load {files.name} ({error}); try another version of it.") from error

    def save_copy() -> None:
        if loading.cache is not None and not loading.is_intact():
            options = _options(loading.onnxruntime, optimised=False)
            onnx_cache.write(loading.cache, files.key, files.weights(), loading.onnxruntime, options)

    return LoadedModel(tokenizer, session, save_copy)


def _fastest(files: ModelFiles) -> ModelFiles:
    """Return the same model in the form that this processor runs fastest, if its results are the same."""
    if not signed_weights.helps():
        return files

    def weights() -> bytes | str:
        found = files.weights()
        return found if isinstance(found, str) else signed_weights.with_signed_weights(found)

    return replace(files, weights=weights)


def read_verified(path: Path, sha256: str, otherwise: PromptuaryError) -> bytes:
    """Return the bytes of a file. Raises ``otherwise`` if the hash differs, ``OSError`` if it cannot be read."""
    found = path.read_bytes()
    if hashlib.sha256(found).hexdigest() != sha256:
        raise otherwise
    return found


def inputs_of(session: Any) -> Inputs:
    """Return a function that makes the inputs of one run. Raises ``PromptuaryError`` if the model needs others."""
    concurrency.load_native("numpy")
    import numpy as np  # noqa: PLC0415  (100 ms, with onnxruntime)

    kinds = {one.name: np.int32 if one.type == "tensor(int32)" else np.int64 for one in session.get_inputs()}
    if "input_ids" not in kinds or not set(_INPUTS).issuperset(kinds):
        raise PromptuaryError(f"the model takes {', '.join(kinds)}; Promptuary can give it only {', '.join(_INPUTS)}")

    def inputs(pieces: Sequence[int], types: Sequence[int] | None = None) -> Mapping[str, Any]:
        whole = np.array([pieces], np.int64)
        values = {
            "input_ids": whole,
            "attention_mask": np.ones_like(whole),
            "token_type_ids": np.zeros_like(whole) if types is None else np.array([types], np.int64),
            "position_ids": np.arange(len(pieces))[np.newaxis],
        }
        return {name: values[name].astype(kind, copy=False) for name, kind in kinds.items()}

    return inputs


def cores() -> int:
    """Return how many runs can be executed at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def missing_extra() -> PromptuaryError:
    """Return the error for libraries that are not installed."""
    return PromptuaryError(f"Semantic search needs the 'embeddings' extra: {how_to_install('embeddings')}")


def _session(onnxruntime: Any, files: ModelFiles, copy: Path | None, is_intact: Callable[[], bool]) -> Any:
    session = None
    if copy is not None:
        # Loaded while its hash is still being computed; a damaged copy may not even load.
        with suppress(Exception):
            session = _opened(onnxruntime, str(copy), optimised=True)
    if session is None or not is_intact():
        session = _opened(onnxruntime, files.weights(), optimised=False)
    return session


def _opened(onnxruntime: Any, model: str | bytes, *, optimised: bool) -> Any:
    options = _options(onnxruntime, optimised=optimised)
    # Without ``enable_fallback=0`` it prints the error, and repeats the same attempt.
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)


def _options(onnxruntime: Any, *, optimised: bool) -> Any:
    options = onnxruntime.SessionOptions()
    # One thread for each run: parallel runs use several cores better than one run does, and do not spin.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL if optimised else levels.ORT_ENABLE_EXTENDED
    return options

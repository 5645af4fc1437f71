"""A cache of models in onnxruntime's optimised form, which loads in half the time.

A copy belongs to one model and one installation of the library, and has its hash in a file next to it; a damaged copy
counts as missing. The folder must be writable by the person alone. Does not know what the model is for.
"""

import hashlib
import importlib.util
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from promptuary.base import durable
from promptuary.models import signed_weights

logger = logging.getLogger(__name__)


def find(folder: Path, model: str) -> Path | None:
    """Return the path of the copy of ``model`` (the name or hash of its weights); ``None`` if there is none."""
    try:
        path = _path(folder, model)
        return path if path.is_file() and _hash_file(path).is_file() else None
    except OSError:  # the folder cannot be accessed
        return None


def is_intact(path: Path) -> bool:
    """Return whether a copy has the hash that was written with it."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _hash_file(path).read_text(
            encoding="ascii", errors="replace"
        )
    except OSError:
        return False


def write(folder: Path, model: str, weights: bytes | str, onnxruntime: Any, options: Any) -> None:
    """Write the copy; ``options`` are those of its session. A failure is logged, not raised."""
    new = folder / f"{model}.{os.getpid()}.new"  # written by the library itself
    try:
        path = _path(folder, model)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        options.optimized_model_filepath = str(new)
        options.add_session_config_entry("session.save_model_format", "ORT")
        onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        content = new.read_bytes()
        # The hash comes last: without it, the copy counts as missing.
        _hash_file(path).unlink(missing_ok=True)
        durable.replace(path, content, sync=False)
        durable.replace(_hash_file(path), hashlib.sha256(content).hexdigest().encode(), sync=False)
        for old in (*folder.glob(f"{model}-*.ort"), *folder.glob(f"{model}-*.ort.sha256")):
            if old not in {path, _hash_file(path)}:
                old.unlink(missing_ok=True)
    except Exception:  # whatever the reason, the model works without a copy
        logger.debug("the optimised copy of the model could not be written", exc_info=True)
    finally:
        with suppress(OSError):
            new.unlink()


def _path(folder: Path, model: str) -> Path:
    """Return the path of the copy.

    Its name changes with the library, of which another version may optimise better, and with the form of the weights
    that this processor needs.
    """
    found = importlib.util.find_spec("onnxruntime")
    origin = found.origin if found is not None and found.origin else ""
    changed = Path(origin).stat().st_mtime_ns if origin else 0
    form = "signed" if signed_weights.helps() else ""
    library = hashlib.sha256(f"{origin} {changed} {form}".encode("utf-8", "surrogatepass")).hexdigest()
    return folder / f"{model}-{library[:12]}.ort"


def _hash_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")

"""A model as onnxruntime makes it ready, kept so that the next start need not do it again: half the time of loading.

A copy is made of one model by one installation of the library, and beside it lies a hash of it; one that is not whole
is as good as none. It belongs in a folder that only the person can write to. Knows nothing of what the model is for.
"""

import hashlib
import importlib.util
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from promptuary import durable

logger = logging.getLogger(__name__)


def find(folder: Path, model: str) -> Path | None:
    """Return where the copy of ``model`` (the name or hash of its weights) is; ``None`` if there is none."""
    try:
        path = _path(folder, model)
        return path if path.is_file() and _sum(path).is_file() else None
    except OSError:  # a folder that may not be looked into
        return None


def is_intact(path: Path) -> bool:
    """Tell whether a copy is what was written."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _sum(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return False


def write(folder: Path, model: str, weights: bytes, onnxruntime: Any, options: Any) -> None:
    """Make the copy; ``options`` are those of the session that it is for. Failing is not worth an error."""
    new = folder / f"{model}.{os.getpid()}.new"  # written by the library itself
    try:
        path = _path(folder, model)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        options.optimized_model_filepath = str(new)
        options.add_session_config_entry("session.save_model_format", "ORT")
        onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        content = new.read_bytes()
        # The hash last: until it is there, there is no copy.
        _sum(path).unlink(missing_ok=True)
        durable.replace(path, content, sync=False)
        durable.replace(_sum(path), hashlib.sha256(content).hexdigest().encode(), sync=False)
        for old in (*folder.glob(f"{model}-*.ort"), *folder.glob(f"{model}-*.ort.sha256")):
            if old not in {path, _sum(path)}:
                old.unlink(missing_ok=True)
    except Exception:  # a full disk, a folder that cannot be written to, a library that cannot do it: all the same
        logger.debug("no optimised copy of the model could be kept", exc_info=True)
    finally:
        with suppress(OSError):
            new.unlink()


def _path(folder: Path, model: str) -> Path:
    """Return where the copy is. Its name changes with the library: another version may do it better."""
    found = importlib.util.find_spec("onnxruntime")
    origin = found.origin if found is not None and found.origin else ""
    changed = Path(origin).stat().st_mtime_ns if origin else 0
    library = hashlib.sha256(f"{origin} {changed}".encode("utf-8", "surrogatepass")).hexdigest()
    return folder / f"{model}-{library[:12]}.ort"


def _sum(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")

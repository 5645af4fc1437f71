"""A model as onnxruntime makes it ready, kept so that the next start need not do it again: half the time of loading.

A copy is made of one model by one installation of the library, and ends with a hash of itself; one that is not whole is
as good as none. It belongs in a folder that only the person can write to. Knows nothing of what the model is for.
"""

import hashlib
import importlib.util
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_HASH: Final = 32

logger = logging.getLogger(__name__)


def read(folder: Path, model: str) -> bytes | None:
    """Return the copy of ``model`` (the name or hash of its weights), or ``None`` if there is none that can be used."""
    try:
        data = _path(folder, model).read_bytes()
    except OSError:
        return None
    body = data[:-_HASH]
    return body if hashlib.sha256(body).digest() == data[-_HASH:] else None


def make(folder: Path, model: str, weights: bytes, onnxruntime: Any, options: Any) -> None:
    """Make the copy; ``options`` are those of the session that it is for. Failing is not worth an error."""
    path = _path(folder, model)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        options.optimized_model_filepath = str(new)
        options.add_session_config_entry("session.save_model_format", "ORT")
        onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        data = new.read_bytes()
        new.write_bytes(data + hashlib.sha256(data).digest())
        new.replace(path)
        for old in folder.glob(f"{model}-*.ort"):
            if old != path:
                old.unlink(missing_ok=True)
    except Exception:  # a full disk, a folder that cannot be written to, a library that cannot do it: all the same
        logger.debug("no optimised copy of the model could be kept", exc_info=True)
        with suppress(OSError):
            new.unlink()


def _path(folder: Path, model: str) -> Path:
    """Return where the copy is. Its name changes with the library: another version may do it better."""
    found = importlib.util.find_spec("onnxruntime")
    origin = found.origin if found is not None and found.origin else ""
    changed = Path(origin).stat().st_mtime_ns if origin else 0
    library = hashlib.sha256(f"{origin} {changed}".encode("utf-8", "surrogatepass")).hexdigest()
    return folder / f"{model}-{library[:12]}.ort"

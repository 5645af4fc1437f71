"""How often and how lately each path of a workspace was used, to put likely files first.

``Frecency`` is the pure part: uses and their decay. ``Usage`` keeps it in one small file outside the
workspace. It is a convenience: a file that is missing, corrupt or unwritable changes the order of a
menu and nothing else. Two processes may write at once; the last one wins.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from promptuary.workspace.user_folders import state_folder

MAX_ENTRIES: Final = 1_000
HALF_LIFE: Final = 7 * 24 * 3600.0
"""Seconds after which a use counts half."""

_MAX_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Use:
    """A path's uses so far: their decayed sum ``weight``, as it stood at ``when``."""

    weight: float
    when: float


def decayed(use: Use, now: float) -> float:
    """Return what a path's uses are worth ``now``: each halves every ``HALF_LIFE``."""
    return float(use.weight * 2.0 ** (-max(0.0, now - use.when) / HALF_LIFE))


def used(uses: Mapping[str, Use], paths: Iterable[str], now: float) -> dict[str, Use]:
    """Return ``uses`` with one more use of each path, bounded to the most valuable entries."""
    after = dict(uses)
    for path in dict.fromkeys(paths):
        before = decayed(after[path], now) if path in after else 0.0
        after[path] = Use(before + 1.0, now)
    if len(after) <= MAX_ENTRIES:
        return after
    best = sorted(after, key=lambda path: (-decayed(after[path], now), path))
    return {path: after[path] for path in best[:MAX_ENTRIES]}


class Usage:
    """The uses of one workspace's paths, read once and written at each ``record``."""

    def __init__(self, workspace: Path, *, folder: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
        self._file = (folder or state_folder() / "usage") / f"{name}.json"
        self._clock = clock
        self._uses: dict[str, Use] | None = None

    def record(self, paths: Iterable[str]) -> None:
        """Count one use of each path, on top of what another process may have written meanwhile."""
        self._uses = used(_read(self._file), paths, self._clock())
        _write(self._file, self._uses)

    def score(self, path: str) -> float:
        """Return how much ``path`` was used, lately counting more; zero if never."""
        use = self._known().get(path)
        return decayed(use, self._clock()) if use else 0.0

    def scores(self) -> dict[str, float]:
        """Return the score of every path that was used."""
        now = self._clock()
        return {path: decayed(use, now) for path, use in self._known().items()}

    def _known(self) -> dict[str, Use]:
        if self._uses is None:
            self._uses = _read(self._file)
        return self._uses


def _read(file: Path) -> dict[str, Use]:
    try:
        with file.open("rb") as opened:
            entries = json.loads(opened.read(_MAX_FILE))
        return {
            str(path): Use(float(weight), float(when))
            for path, (weight, when) in list(entries.items())[:MAX_ENTRIES]
            if 0.0 < float(weight) < float("inf")
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _write(file: Path, uses: Mapping[str, Use]) -> None:
    """Replace the file whole, so that a reader never sees half of it."""
    content = json.dumps({path: [round(use.weight, 4), round(use.when)] for path, use in uses.items()})
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.stem)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
                opened.write(content)
            Path(temporary).replace(file)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise

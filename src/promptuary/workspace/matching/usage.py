"""How often and how recently each path of a workspace was used, to rank likely files first.

``with_uses`` and ``decayed_weight`` are pure: uses and their decay. ``Usage`` stores them in one small file in the
person's state folder. It is a convenience: a file that is missing, corrupt or not writable changes the order of a menu,
and is never an error.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import LockTimeoutError
from promptuary.workspace.user_folders import state_folder, workspace_file

MAX_ENTRIES: Final = 1_000
HALF_LIFE: Final = 7 * 24 * 3600.0
"""Seconds after which a use counts half."""

_MAX_FILE: Final = 1 << 20
_LOCK_TIMEOUT: Final = 1.0
"""Seconds to wait for another process that records its uses; a person waits for this."""


class Use(Struct, frozen=True):
    """The uses of one path: ``weight`` is their decayed sum at the time ``when``."""

    weight: float
    when: float


def decayed_weight(use: Use, now: float) -> float:
    """Return the weight of a path's uses at the time ``now``: it halves every ``HALF_LIFE``."""
    return float(use.weight * 2.0 ** (-max(0.0, now - use.when) / HALF_LIFE))


def with_uses(uses: Mapping[str, Use], paths: Iterable[str], now: float) -> dict[str, Use]:
    """Return ``uses`` with one more use of each path, limited to the ``MAX_ENTRIES`` of the greatest weight."""
    after = dict(uses)
    for path in dict.fromkeys(paths):
        before = decayed_weight(after[path], now) if path in after else 0.0
        after[path] = Use(before + 1.0, now)
    if len(after) <= MAX_ENTRIES:
        return after
    best = sorted(after, key=lambda path: (-decayed_weight(after[path], now), path))
    return {path: after[path] for path in best[:MAX_ENTRIES]}


class Usage:
    """The uses of one workspace's paths. The file is read once, and updated by each ``record``."""

    def __init__(self, workspace: Path, *, folder: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = workspace_file(folder or state_folder() / "usage", workspace)
        self._clock = clock
        self._uses: dict[str, Use] | None = None

    def record(self, paths: Iterable[str]) -> None:
        """Count one use of each path, in the file if it can be written, else until the process ends."""
        paths, now = list(paths), self._clock()
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with durable.locked(self._file.with_suffix(".lock"), timeout=_LOCK_TIMEOUT):
                uses = with_uses(_read(self._file), paths, now)
                durable.replace(self._file, _pack(uses), sync=False)
                self._uses = uses
        except (OSError, LockTimeoutError):
            self._uses = with_uses(self._load(), paths, now)

    def score(self, path: str) -> float:
        """Return the weight of the uses of ``path`` now; zero if it was never used."""
        use = self._load().get(path)
        return decayed_weight(use, self._clock()) if use else 0.0

    def scores(self) -> dict[str, float]:
        """Return the weight of every path that was used, now."""
        now = self._clock()
        return {path: decayed_weight(use, now) for path, use in self._load().items()}

    def _load(self) -> dict[str, Use]:
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


def _pack(uses: Mapping[str, Use]) -> bytes:
    return json.dumps({path: [round(use.weight, 4), round(use.when)] for path, use in uses.items()}).encode()

"""Replaces what differs from run to run: ids, times, durations, versions, addresses."""

import re
import sys
import time
from pathlib import Path

_STAMP = re.compile(r"\b20[2-9]\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|\+00:00)?")
_FIXED = re.compile(r"2026-0[12]-")
_ID = re.compile(r"\b([a-z]+-)?(?:([0-9a-f]{12})-)?(0{2,4}\d{2,6}0{4})\b")
_SECONDS = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b(?=[^\w]|$)")
_HASH = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b")
_HOOKS = re.compile(r"hooks: [a-z_]+\.[^\n\"]*")
_MILLISECONDS = re.compile(r'("(?:milli)?seconds")\s*:\s*[\d.e-]+')
_FLOAT = re.compile(r"\b\d+\.\d{4,}\b")
_BACKUP = re.compile(r"\bbackup-[a-z0-9_]{8}\b")
# What is stored may grow and shrink; what a file of the workspace has may not.
_BYTES = re.compile(r'("(?:bytes|size)")\s*:\s*\d+')
_SIZE = re.compile(r"\b\d{3}\.\d kB\b|\b\d+\.\d MB\b")
_SIZE_ROW = re.compile(r" +(?:SIZE|[\d.]+ (?:bytes|kB))  (ROOT/)")
_SIZE_HEAD = re.compile(r"what +size +path")
_KILOBYTES = re.compile(r"^(\S+ +\d+ +\d+) +\d+\.\d$", re.MULTILINE)
_ORIGIN = re.compile(r"markdown:[0-9a-f]{8}/")  # a hash of where the notes came from
_RATE = re.compile(r"\b\d+(?:\.\d+)?/s\b")
_UNIX = re.compile(r"\b1[789]\d{8}\b")
_DAY = 86_400
_PROGRAMS = str(Path(sys.executable).parent)
_PORT = re.compile(r"(127\.0\.0\.1|localhost):\d{4,5}")


class Plain:
    """Replaces the same id by the same word wherever it occurs in one story."""

    def __init__(self, root: Path, today: str, version: str) -> None:
        self._root, self._today, self._version = str(root), today, version
        self._now = time.time()
        self._names: dict[str, str] = {}
        self._hashes: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        text = text.replace(_PROGRAMS, "PROGRAMS").replace(self._root, "ROOT").replace(self._version, "VERSION")
        text = _STAMP.sub(lambda found: found[0] if _FIXED.match(found[0]) else "TIME", text)
        text = text.replace(self._today, "TODAY")
        text = _ID.sub(self._named, text)
        text = _PORT.sub(r"\1:PORT", text)
        text = _HASH.sub(lambda found: self._hashes.setdefault(found[0], f"HASH{len(self._hashes) + 1}"), text)
        text = _HOOKS.sub("hooks: those that took long", _MILLISECONDS.sub(r"\1: MILLISECONDS", text))
        text = _FLOAT.sub(lambda found: f"{float(found[0]):.3g}", text)
        text = _BACKUP.sub("backup-TEMP", _BYTES.sub(r"\1: BYTES", text))
        text = _SIZE_HEAD.sub("what size path", _SIZE_ROW.sub(r" SIZE \1", _SIZE.sub("SIZE", text)))
        text = _KILOBYTES.sub(r"\1 KB", _ORIGIN.sub("markdown:ORIGIN/", text))
        text = _RATE.sub("RATE", _UNIX.sub(lambda found: "NOW" if self._is_now(found[0]) else found[0], text))
        return _SECONDS.sub("SECONDS", text)

    def _is_now(self, seconds: str) -> bool:
        return abs(int(seconds) - self._now) < _DAY

    def _named(self, found: re.Match[str]) -> str:
        kind = found[1] or ""
        key = found[3]
        name = self._names.setdefault(key, f"ID{len(self._names) + 1}")
        return f"{kind}{name}"

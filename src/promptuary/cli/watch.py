"""``promptuary watch``: keeps the index up to date for as long as it runs, and tells of everything it does."""

import argparse
import queue
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import opened, print_json_line
from promptuary.cli.indexing import Work, as_json, embed, many, sync, tell_embedded, tell_synced
from promptuary.core.text import one_line
from promptuary.search.service import BUSY

if TYPE_CHECKING:
    from promptuary.search.updater import IndexUpdate

_GATHER: Final = 2.0
"""Seconds for which vectors are counted before a line tells of them: a batch is made every moment."""

_REMIND: Final = 600.0
"""Seconds after which a note that still holds is told again."""

_SAID_HERE: Final = {BUSY: "another process is indexing; trying again"}
"""Notes that are meant for who searches, and what they say to who watches."""


def main(options: argparse.Namespace) -> int:
    """Watch until Ctrl-C, or once."""
    with opened(options) as promptuary:
        return _once(promptuary, options) if options.once else _watch(promptuary, options)


def _folders(promptuary: Promptuary, work: Work) -> list[str]:
    """Return the folders to begin with: the workspace itself if nothing is indexed yet, else none besides those."""
    if promptuary.search.status().folders:
        return []
    work.note(f"nothing is indexed yet, so {promptuary.path} is")
    return [str(promptuary.path)]


def _once(promptuary: Promptuary, options: argparse.Namespace) -> int:
    work = Work(promptuary, quiet=options.quiet)
    done = sync(work, _folders(promptuary, work))
    if not options.json:
        tell_synced(done)
    code = embed(work, done)
    if options.json:
        print_json_line({"event": "done", "time": _now(), **as_json(done)})
    else:
        tell_embedded(done)
    return code


def _watch(promptuary: Promptuary, options: argparse.Namespace) -> int:
    work = Work(promptuary, quiet=options.quiet)
    if new := _folders(promptuary, work):
        done = sync(work, new)
        if options.json:
            print_json_line({"event": "indexed", "time": _now(), **as_json(done)})
        else:
            tell_synced(done)
    folders = [folder.path for folder, _ in promptuary.search.status().folders]
    told: queue.SimpleQueue[IndexUpdate] = queue.SimpleQueue()
    promptuary.search.watch(told.put)
    _begin(folders, work, options)
    lines = _Lines(as_json=options.json, quiet=options.quiet)
    # Told here and not where it happens: who cannot be told any more ends this thread, not the one that works.
    while True:
        try:
            lines.tell(told.get(timeout=lines.patience()))
        except queue.Empty:
            lines.tell_embedded()


def _begin(folders: list[str], work: Work, options: argparse.Namespace) -> None:
    """Say what is watched."""
    if options.json:
        print_json_line({"event": "watching", "time": _now(), "folders": folders})
        return
    for folder in folders:
        work.note(f"watching {folder}")
    work.note("Ctrl-C ends it")


class _Lines:
    """Tells of what was done, a line each; vectors that are made without a pause share one."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json = as_json
        self._quiet = quiet and not as_json
        self._embedded = 0
        self._since = 0.0
        self._noted: dict[str, float] = {}

    def patience(self) -> float | None:
        """Return how many seconds may pass before there is something to tell; ``None`` is any number."""
        return max(0.0, self._since + _GATHER - time.monotonic()) if self._embedded else None

    def tell(self, kept: "IndexUpdate") -> None:
        """Tell of one thing."""
        if kept.embedded and not self._embedded:
            self._since = time.monotonic()
        self._embedded += kept.embedded
        if (how := kept.watching) and not self._quiet:
            self._print("noticing", f"changes are noticed by {one_line(how)}", by=how)
        if done := kept.synced:
            counts = {"added": done.added, "changed": done.changed, "moved": done.moved, "removed": done.removed}
            named = zip(("new", "changed", "moved", "removed"), counts.values(), strict=True)
            told = ", ".join(f"{count:,} {name}" for name, count in named if count)
            self._print("synced", f"synced: {told}", **counts)
        for note in kept.notes:
            self._note(_SAID_HERE.get(note, note))
        if self._embedded and not self.patience():
            self.tell_embedded()

    def _note(self, note: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(note, -_REMIND) >= _REMIND:
            self._noted[note] = now
            self._print("note", one_line(note), text=note)

    def tell_embedded(self) -> None:
        """Tell how many vectors were made since the last time."""
        if self._embedded:
            self._print("embedded", f"embedded {many(self._embedded, 'chunk')}", chunks=self._embedded)
        self._embedded = 0

    def _print(self, event: str, line: str, **more: Any) -> None:
        if self._as_json:
            print_json_line({"event": event, "time": _now(), **more})
        else:
            stream = sys.stdout if event in {"synced", "embedded"} else sys.stderr
            print(f"{time.strftime('%H:%M:%S')} {line}", file=stream, flush=True)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")

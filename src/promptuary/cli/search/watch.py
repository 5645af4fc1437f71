"""``promptuary watch``: keeps the index up to date while it runs, and prints each step."""

import argparse
import queue
import sys
import time
from typing import Any, Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import open_workspace, print_json_line
from promptuary.cli.progress import duration
from promptuary.cli.search.indexing import IndexJob, is_wide, print_synced, sync
from promptuary.present.search import sync_json, update_json
from promptuary.search.values import (
    ChunksEmbedded,
    FilesSynced,
    IndexUpdate,
    SyncReport,
    UpdateFailed,
    WatchModeChanged,
    note_text,
)

_GATHER: Final = 2.0
"""Seconds for which embedded chunks are counted before a line reports them, because a batch takes less."""

_REMIND: Final = 600.0
"""Seconds after which a note that still applies is printed again."""


def main(options: argparse.Namespace) -> int:
    """Watch until Ctrl-C."""
    with open_workspace(options) as promptuary:
        return _watch(promptuary, options)


def _folders(promptuary: Promptuary, job: IndexJob) -> list[str]:
    """Return the folders to add: the workspace itself if nothing is indexed yet, else none."""
    if promptuary.search.status().folders:
        return []
    if is_wide(str(promptuary.path)):
        raise PromptuaryError(
            f"this would index all of {promptuary.path}; name the folders to index first: promptuary index FOLDER"
        )
    job.note(f"nothing is indexed yet; indexing {promptuary.path}")
    return [str(promptuary.path)]


def _watch(promptuary: Promptuary, options: argparse.Namespace) -> int:
    job = IndexJob(promptuary, quiet=options.quiet)
    if new := _folders(promptuary, job):
        outcome = sync(job, new)
        if options.json:
            _print_event("indexed", **sync_json(outcome.report, outcome.status, seconds=outcome.seconds))
        else:
            print_synced(outcome)
    folders = [folder.path for folder in promptuary.search.status().folders]
    updates: queue.SimpleQueue[IndexUpdate] = queue.SimpleQueue()
    promptuary.search.watch(updates.put)
    _print_folders(folders, job, options)
    printer = UpdatePrinter(as_json=options.json, quiet=options.quiet)
    # Printed in this thread, so that a closed pipe does not end the worker thread.
    while True:
        try:
            printer.show(updates.get(timeout=printer.timeout()))
        except queue.Empty:
            printer.flush()


def _print_folders(folders: list[str], job: IndexJob, options: argparse.Namespace) -> None:
    if options.json:
        _print_event("watching", folders=folders)
        return
    for folder in folders:
        job.note(f"watching {folder}")
    job.note("press Ctrl-C to stop")


class UpdatePrinter:
    """Prints one line per update; chunks that are embedded without a pause share one line."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json = as_json
        self._quiet = quiet and not as_json
        self._embedded = ChunksEmbedded(0)
        self._since = 0.0
        self._noted: dict[str, float] = {}

    def timeout(self) -> float | None:
        """Return the seconds until ``flush`` is due; ``None`` if it is not."""
        return max(0.0, self._since + _GATHER - time.monotonic()) if self._embedded.count else None

    def show(self, update: IndexUpdate) -> None:
        """Print one update, now or together with the next ones."""
        match update:
            case ChunksEmbedded(count, left, seconds):
                if not self._embedded.count:
                    self._since = time.monotonic()
                so_far = self._embedded
                self._embedded = ChunksEmbedded(so_far.count + count, left, so_far.seconds + seconds)
            case WatchModeChanged(mode, reason):
                if not self._quiet:
                    self._print(update, f"detecting changes by {mode}{f' ({reason})' if reason else ''}")
            case FilesSynced(report):
                self._print(update, f"synced: {_counts(report)}", result=True)
            case UpdateFailed(reason):
                self._note(update, reason)
            case _:
                self._note(update, note_text(update))
        if self._embedded.count and not self.timeout():
            self.flush()

    def flush(self) -> None:
        """Print how many chunks were embedded since the last time."""
        if self._embedded.count:
            embedded, self._embedded = self._embedded, ChunksEmbedded(0)
            self._print(embedded, f"embedded {counted(embedded.count, 'chunk')}{_time_left(embedded)}", result=True)

    def _note(self, update: IndexUpdate, text: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(text, -_REMIND) >= _REMIND:
            self._noted[text] = now
            self._print(update, text)

    def _print(self, update: IndexUpdate, line: str, *, result: bool = False) -> None:
        if self._as_json:
            _print_event(**update_json(update))
        else:
            stream = sys.stdout if result else sys.stderr
            print(f"{time.strftime('%H:%M:%S')} {one_line(line)}", file=stream, flush=True)


def _time_left(embedded: ChunksEmbedded) -> str:
    """Return the rate of embedding, the number of chunks left, and the time that they take."""
    if not embedded.left or embedded.seconds <= 0:
        return ""
    rate = embedded.count / embedded.seconds
    return f" ({rate:,.1f}/s; {embedded.left:,} left, {duration(embedded.left / rate)})"


def _counts(report: SyncReport) -> str:
    counts = {"new": report.added, "changed": report.changed, "moved": report.moved, "removed": report.removed}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _print_event(event: str, **about: Any) -> None:
    print_json_line({"event": event, "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **about})

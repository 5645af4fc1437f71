"""Updates the index for a person at a terminal, and prints the progress and the result.

``promptuary index`` and the start of ``promptuary watch`` share it. Ctrl-C stops it cleanly at any point.
"""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.base.errors import ConfigError, PromptuaryError, how_to_install
from promptuary.base.text import counted, list_names, one_line
from promptuary.base.text_language import LANGUAGES
from promptuary.blocking import Promptuary
from promptuary.cli.interruptible import StoppedError, run_interruptibly
from promptuary.cli.progress import ProgressLine, duration
from promptuary.models.named.catalogue import embedder_knowing
from promptuary.search.values import FolderHeld, IndexStatus, SearchNote, SyncReport, note_text

DONE, NOT_ALL = 0, 1
_LOOKS_BACK: Final = 30.0
"""Seconds over which the rate of embedding is measured: batches of some hundred chunks vary in length."""


class IndexJob(Struct, frozen=True):
    """The workspace to index; with ``quiet``, only errors are printed."""

    promptuary: Promptuary
    quiet: bool = False

    def note(self, text: str) -> None:
        """Print a message to standard error."""
        if not self.quiet:
            print(one_line(text), file=sys.stderr)


class IndexOutcome(Struct):
    """What was done, the state of the index, and how many chunks were embedded. Times are in seconds."""

    report: SyncReport
    status: IndexStatus
    sync_seconds: float
    embedded: int = 0
    embed_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """The total time."""
        return self.sync_seconds + self.embed_seconds


def is_wide(folder: str) -> bool:
    """Return whether ``folder`` is the home folder or contains it, which is never indexed by default."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111  (no error for a user without a home)
    return Path(home).is_relative_to(os.path.realpath(folder))


def sync(
    job: IndexJob, paths: Sequence[str], *, label: str = "", rebuild: bool = False, prune: bool = False
) -> IndexOutcome:
    """Index ``paths``, update all indexed folders, and print the notes."""
    began = time.monotonic()
    index = job.promptuary.search.index
    with ProgressLine(sys.stderr, "files", shown=not job.quiet) as progress:
        try:
            progress.say("scanning files")
            report = run_interruptibly(
                lambda stop: index(paths, label=label, rebuild=rebuild, prune=prune, progress=_until(stop, progress))
            )
        except KeyboardInterrupt:
            progress.close()
            left = "the old index is unchanged" if rebuild else "the next promptuary index continues from here"
            job.note(f"stopped: {left}")
            raise
    seconds = time.monotonic() - began
    for note in report.notes():
        job.note(f"note: {note_text(note)}{advice(note)}")
    return IndexOutcome(report, job.promptuary.search.status(), seconds)


def advice(note: SearchNote) -> str:
    """Return what to do about a missing folder; empty for one that exists and cannot be listed."""
    gone = isinstance(note, FolderHeld) and note.reason in {"missing", "empty"}
    return " (promptuary index --prune removes its files)" if gone else ""


def _until(stop: threading.Event, progress: ProgressLine) -> Callable[[int, int], None]:
    """Return a callback that shows the progress, and stops the work when ``stop`` is set."""

    def show(done: int, total: int) -> None:
        if stop.is_set():
            raise StoppedError
        progress(done, total)

    return show


def embed(job: IndexJob, outcome: IndexOutcome) -> int:
    """Embed the chunks without a vector, update ``outcome``, and return the exit code."""
    status = outcome.status
    if not status.embedder:
        if job.promptuary.settings.embedder == "auto":
            job.note(
                f"search is by words only; semantic search needs the 'embeddings' extra: {how_to_install('embeddings')}"
            )
        return DONE
    began = time.monotonic()
    if status.counts.unembedded:
        job.note("search by words is ready; embedding for search by meaning (Ctrl-C is safe)")
    try:
        with ProgressLine(sys.stderr, "chunks embedded", shown=not job.quiet, looks_back=_LOOKS_BACK) as progress:
            progress.say("loading the model")
            outcome.embedded = run_interruptibly(lambda stop: _embed(job, status.counts.unembedded, progress, stop))
    except KeyboardInterrupt:
        outcome.status = job.promptuary.search.status()
        left = f"{counted(outcome.status.counts.unembedded, 'chunk')} left for the next promptuary index or watch"
        job.note(f"stopped: all files can be searched by words, embedded ones also by meaning; {left}")
        raise
    except ConfigError:
        raise
    except PromptuaryError as error:
        sentence = f"search is by words only until promptuary index can embed: {error}"
        print(f"promptuary: {one_line(sentence)}", file=sys.stderr)
        return NOT_ALL
    finally:
        outcome.embed_seconds = time.monotonic() - began
    outcome.status = job.promptuary.search.status()
    return DONE


def _embed(job: IndexJob, total: int, progress: ProgressLine, stop: threading.Event) -> int:
    def show(done: int) -> bool:
        progress(done, max(total, done))
        return not stop.is_set()

    return job.promptuary.search.embed(show)


def print_synced(outcome: IndexOutcome) -> None:
    counts, report = outcome.status.counts, outcome.report
    skipped = ", ".join(f"{count:,} {code}" for code, count in sorted(Counter(report.skipped.values()).items()))
    figures = {
        "new": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
        "unchanged": report.unchanged(counts),
        f"skipped: {skipped}": len(report.skipped),
        "left out: hidden or generated": report.left_out,
    }
    done = ", ".join(f"{count:,} {name}" for name, count in figures.items() if count)
    left = f"; {counted(counts.unembedded, 'chunk')} to embed" if outcome.status.embedder and counts.unembedded else ""
    details = f" ({done})" if done else ""
    print(f"indexed {counted(counts.files, 'file')}{details} in {duration(outcome.sync_seconds)}{left}", flush=True)


def foreign_text(status: IndexStatus) -> str:
    """Return which part of the text the model does not know, and which model does; empty if it knows all of it."""
    if not status.foreign:
        return ""
    every = sum(status.foreign.values())
    share = max(1, round(100 * every / max(1, status.counts.chunks)))
    # Not what one odd page seems to be in.
    names = list_names([LANGUAGES.get(code, code) for code, chunks in status.foreign.items() if 20 * chunks >= every])
    knowing = embedder_knowing(status.foreign)
    fetch = f"promptuary model add {knowing or 'OWNER/NAME'}"
    advice = f'{fetch} and embedder = "{knowing}" add meaning' if knowing else f"{fetch} fetches one that may"
    return f"{share} % of the text is in languages that the model does not know ({names}): words decide there; {advice}"


def print_embedded(outcome: IndexOutcome) -> None:
    """Print how many chunks were embedded, if any were."""
    if outcome.embedded:
        print(f"embedded {counted(outcome.embedded, 'chunk')} in {duration(outcome.embed_seconds)}", flush=True)

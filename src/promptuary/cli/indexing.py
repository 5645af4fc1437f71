"""Brings the index up to date for a person who watches: how far it is, what was done, and what is left.

What ``promptuary index`` and ``promptuary watch --once`` have in common. Ctrl-C ends it in good order anywhere.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptuary.blocking import Promptuary
from promptuary.cli.interruptible import StoppedError, run_interruptibly
from promptuary.cli.progress import Progress, duration
from promptuary.core.errors import ConfigError, PromptuaryError
from promptuary.core.text import one_line

if TYPE_CHECKING:
    from promptuary.search.service import IndexStatus

DONE, NOT_ALL = 0, 1
WITH_MEANING: Final = 'pip install "promptuary[embeddings]"'
_GONE: Final = ("is not there", "has no files left")
"""What is said of folders whose files ``index --prune`` forgets."""


@dataclass(frozen=True, slots=True)
class Work:
    """Where the index is, and whether only errors are told."""

    promptuary: Promptuary
    quiet: bool = False

    def note(self, text: str) -> None:
        """Tell the person something that is no result."""
        if not self.quiet:
            print(one_line(text), file=sys.stderr)


@dataclass(slots=True)
class Done:
    """What was done, counted in files; what is in the index now; and what was embedded. Times are seconds."""

    added: int
    changed: int
    moved: int
    removed: int
    skipped: Mapping[str, str]
    held: Sequence[str]
    status: "IndexStatus"
    seconds: float
    embedded: int = 0
    embedding: float = 0.0

    @property
    def unchanged(self) -> int:
        """How many files are indexed as they were: most of them were not even opened."""
        return max(0, self.status.counts.files - self.added - self.changed - self.moved)


def sync(work: Work, paths: Sequence[str], *, label: str = "", rebuild: bool = False, prune: bool = False) -> Done:
    """Index ``paths`` and bring everything up to date; what was held back is told."""
    began = time.monotonic()
    index = work.promptuary.search.index
    with Progress(sys.stderr, "files", shown=not work.quiet) as progress:
        try:
            progress.say("looking at the files")
            synced = run_interruptibly(
                lambda stop: index(paths, label=label, rebuild=rebuild, prune=prune, progress=_until(stop, progress))
            )
        except KeyboardInterrupt:
            progress.close()
            left = "the index is as it was" if rebuild else "the next promptuary index goes on from here"
            work.note(f"stopped: {left}")
            raise
    seconds = time.monotonic() - began
    for held in synced.held:
        work.note(f"note: {held}{advice(held)}")
    for skipped in synced.notes():
        work.note(f"note: {skipped}")
    counted = (synced.added, synced.changed, synced.moved, synced.removed, synced.skipped, list(synced.held))
    return Done(*counted, work.promptuary.search.status(), seconds)


def advice(held: str) -> str:
    """Return what to do about something that was held back: a folder that is there may not even be listed."""
    is_gone = any(why in held for why in _GONE)
    return " (if it is gone for good: promptuary index --prune)" if is_gone else ""


def _until(stop: threading.Event, progress: Progress) -> Callable[[int, int], None]:
    """Return what is told how many files are done, and ends the work when it is to stop."""

    def told(done: int, total: int) -> None:
        if stop.is_set():
            raise StoppedError
        progress(done, total)

    return told


def embed(work: Work, done: Done) -> int:
    """Make the vectors that are missing, and return the exit code; ``done`` is brought up to date."""
    status = done.status
    if not status.embedder:
        if work.promptuary.settings.embedder == "auto":
            work.note(f"search is by words; for search by meaning, too: {WITH_MEANING}")
        return DONE
    began = time.monotonic()
    if status.counts.unembedded:
        work.note("search by words works now, by meaning for what is embedded; Ctrl-C loses nothing")
    try:
        with Progress(sys.stderr, "chunks embedded", shown=not work.quiet) as progress:
            progress.say("loading the model")
            done.embedded = run_interruptibly(lambda stop: _embed(work, status.counts.unembedded, progress, stop))
    except KeyboardInterrupt:
        done.status = work.promptuary.search.status()
        count = done.status.counts.unembedded
        left = f"{many(count, 'chunk')} {'is' if count == 1 else 'are'} left for the next promptuary index or watch"
        work.note(f"stopped: everything can be searched by words, and what is embedded by meaning; {left}")
        raise
    except ConfigError:
        raise
    except PromptuaryError as error:
        told = f"search is by words until promptuary index can make the vectors: {error}"
        print(f"promptuary: {one_line(told)}", file=sys.stderr)
        return NOT_ALL
    finally:
        done.embedding = time.monotonic() - began
    done.status = work.promptuary.search.status()
    return DONE


def _embed(work: Work, total: int, progress: Progress, stop: threading.Event) -> int:
    def go_on(done: int) -> bool:
        progress(done, max(total, done))
        return not stop.is_set()

    return work.promptuary.search.embed(go_on)


def tell_synced(done: Done) -> None:
    """Print what the sync did."""
    counts = done.status.counts
    skipped = ", ".join(f"{count:,} {code}" for code, count in _by_code(done.skipped).items())
    figures = {
        "new": done.added,
        "changed": done.changed,
        "moved": done.moved,
        "removed": done.removed,
        "unchanged": done.unchanged,
        f"skipped: {skipped}": len(done.skipped),
    }
    told = ", ".join(f"{count:,} {name}" for name, count in figures.items() if count)
    left = f"; {many(counts.unembedded, 'chunk')} to embed" if done.status.embedder and counts.unembedded else ""
    kept = f" ({told})" if told else ""
    print(f"indexed {many(counts.files, 'file')}{kept} in {duration(done.seconds)}{left}", flush=True)


def _by_code(skipped: Mapping[str, str]) -> dict[str, int]:
    return {str(code): count for code, count in sorted(Counter(skipped.values()).items())}


def tell_embedded(done: Done) -> None:
    """Print how many vectors were made, if any were."""
    if done.embedded:
        print(f"embedded {many(done.embedded, 'chunk')} in {duration(done.embedding)}", flush=True)


def as_json(done: Done) -> dict[str, Any]:
    """Return the object that ``index --json`` prints; its shape is a promise."""
    return {
        "added": done.added,
        "changed": done.changed,
        "moved": done.moved,
        "removed": done.removed,
        "unchanged": done.unchanged,
        "skipped": _by_code(done.skipped),
        "skipped_files": [{"path": path, "code": str(code)} for path, code in done.skipped.items()],
        "held": list(done.held),
        **listed(done.status),
        "seconds": round(done.seconds + done.embedding, 3),
    }


def listed(status: "IndexStatus") -> dict[str, Any]:
    """Return the object that ``index --list --json`` prints."""
    return {
        "folders": [
            {"path": one.path, "label": one.label, "files": files, "there": one.path not in status.missing}
            for one, files in status.folders
        ],
        "files": status.counts.files,
        "chunks": status.counts.chunks,
        "unembedded": status.counts.unembedded,
        "embedder": status.embedder,
    }


def many(count: int, noun: str) -> str:
    """Return a number of things: ``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

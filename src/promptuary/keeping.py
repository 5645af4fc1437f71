"""Keeps an index up to date while a program runs: waits for changes, syncs them, and embeds in between.

A thread of its own that never keeps the program from ending. Whatever goes wrong is told and tried again; the thread
does not end before it is closed.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptuary.core.errors import PromptuaryError
from promptuary.file_memory import FileMemory

if TYPE_CHECKING:
    from promptuary.workspace.watch import Watcher

_LOOK_EVERY: Final = 30.0
"""Seconds after which everything is looked at, whatever the watcher says: events can be lost."""

_PATIENCE: Final = 0.5
"""Seconds to wait for an event before looking whether to end, or whether there is something to embed."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that the keeper did: a sync that changed the index, vectors that were made, or a failure.

    ``watching`` tells how it learns of changes, whenever that changes: by events or by polling, and then why.
    """

    synced: bool = False
    embedded: int = 0
    notes: tuple[str, ...] = ()
    watching: str = ""


class Keeper:
    """Keeps ``files`` up to date; ``told`` hears of everything that is done."""

    def __init__(self, files: FileMemory, *, debounce: float, told: Callable[[Kept], None] | None = None) -> None:
        self._files = files
        self._debounce = debounce
        self._told = told or (lambda _: None)
        self._ending = threading.Event()
        self._watching = ""
        self._thread = threading.Thread(target=self._run, name="promptuary-keeper", daemon=True)

    def start(self) -> None:
        """Begin, and return at once."""
        self._thread.start()

    def close(self) -> None:
        """End, when what is at work is done."""
        self._ending.set()
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        watcher: Watcher | None = None
        looked, seen = time.monotonic(), -1
        while not self._ending.is_set():
            if watcher is not (watcher := self._files.watch(debounce=self._debounce)):
                seen = -1  # other folders than before
            self._tell_how(watcher)
            due = time.monotonic() - looked > _LOOK_EVERY
            if due:
                looked = time.monotonic()
            if due or seen < 0 or watcher.generation > seen:
                seen = watcher.generation
                self._attempt(self._look_at_everything if due else self._sync)
            elif self._attempt(self._embed):
                continue
            else:
                watcher.wait(seen, _PATIENCE)

    def _tell_how(self, watcher: "Watcher") -> None:
        how = f"{watcher.mode} ({watcher.reason})" if watcher.reason else str(watcher.mode)
        if how != self._watching:
            self._watching = how
            self._told(Kept(watching=how))

    def _look_at_everything(self) -> int:
        return self._sync(everything=True)

    def _sync(self, *, everything: bool = False) -> int:
        synced, notes = self._files.refresh(everything=everything)
        if synced or notes:
            self._told(Kept(synced=synced, notes=tuple(notes)))
        return int(synced)

    def _embed(self) -> int:
        """Embed until a change comes."""
        until = time.monotonic() + _PATIENCE
        done = self._files.embed(lambda _: not self._ending.is_set() and time.monotonic() < until)
        if done:
            self._told(Kept(embedded=done))
        return done

    def _attempt(self, work: Callable[[], int]) -> int:
        try:
            return work()
        except PromptuaryError as error:
            self._told(Kept(notes=(str(error),)))
        except Exception as error:  # noqa: BLE001  (a thread that dies in silence keeps nothing up to date)
            self._told(Kept(notes=(f"unexpected: {error!r}",)))
        self._ending.wait(_PATIENCE)
        return 0

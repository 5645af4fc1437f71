"""What takes longer than a request: indexing and checking a workspace, with how far it is and what came of it.

One job of a kind runs for a workspace at a time; what the last ones said is kept. For one event loop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from msgspec import Struct

from promptuary.base.clock import now
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted, one_line
from promptuary.engine import Promptuary
from promptuary.memory.values import Examination
from promptuary.server.tokens import Token
from promptuary.server.workspaces import Workspaces

logger = logging.getLogger(__name__)

_MAX_JOBS: Final = 200

Work = Callable[["Job", Promptuary, Callable[[], None]], Awaitable[None]]
"""What a job does. It calls the function from time to time, which raises if the server stops."""


class Job(Struct):
    """A job while it runs, and what came of it. ``is_running`` until ``ended``, with ``done`` of ``total`` files.

    ``problem`` is why it failed, ``summary`` what it did; ``embedded`` is how many chunks have got a vector.
    """

    started: str
    ended: str = ""
    done: int = 0
    total: int = 0
    embedded: int = 0
    summary: str = ""
    problem: str = ""
    found: Examination | None = None

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return not self.ended


class Jobs:
    """The jobs of a server."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._jobs: dict[Hashable, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ends = False

    def indexing(self, name: str) -> Job | None:
        """Return how the last indexing of a workspace went: its principals share the index."""
        return self._jobs.get(name)

    def checking(self, name: str, token: Token) -> Job | None:
        """Return what the last check of a workspace found for a principal."""
        return self._jobs.get((name, token.principal))

    def index(self, name: str, token: Token) -> None:
        """Start to bring an index up to date, unless that goes on already."""
        self._start(name, token, name, _index)

    def check(self, name: str, token: Token, *, fix: bool) -> None:
        """Start to check a workspace for a principal, and to repair what can be without loss."""
        self._start((name, token.principal), token, name, _repair if fix else _check)

    def _start(self, key: Hashable, token: Token, name: str, work: Work) -> None:
        known = self._jobs.pop(key, None)
        self._jobs[key] = job = known if known and known.is_running else Job(now())
        if job is known:
            return
        for old in [key for key, one in self._jobs.items() if not one.is_running][
            : max(len(self._jobs) - _MAX_JOBS, 0)
        ]:
            del self._jobs[old]
        task = asyncio.create_task(self._run(job, token, name, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, job: Job, token: Token, name: str, work: Work) -> None:
        try:
            async with self._workspaces.of(token, name) as workspace:
                await work(job, workspace, self._check_goes_on)
        except PromptuaryError as error:
            job.problem = one_line(str(error)).replace(str(self._workspaces.folders[name]), f"/{name}")
        except _Ended:
            job.problem = "the server was stopped"
        except Exception as error:  # nobody waits for it; the page says that it failed
            logger.warning("a job failed: %s", type(error).__name__, exc_info=logger.isEnabledFor(logging.DEBUG))
            job.problem = "it failed; the log of the server says how"
        finally:
            job.ended = now()

    def _check_goes_on(self) -> None:
        if self._ends:
            raise _Ended

    async def shutdown(self) -> None:
        """Stop what runs, where it can be stopped, and wait for it."""
        self._ends = True
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Ended(Exception):  # noqa: N818  (not an error of anybody)
    """The server stops."""


async def _index(job: Job, workspace: Promptuary, check: Callable[[], None]) -> None:
    def synced(done: int, total: int) -> None:
        check()
        job.done, job.total = done, total

    def embedded(done: int) -> bool:
        check()
        job.embedded = done
        return True

    known = (await workspace.search.status()).folders
    report = await workspace.search.index(() if known else workspace.path, progress=synced)
    changes = {"new": report.added, "changed": report.changed, "moved": report.moved, "removed": report.removed}
    said = [f"{count:,} {what}" for what, count in changes.items() if count]
    said += [f"{counted(len(report.skipped), 'file')} could not be read"] if report.skipped else []
    job.summary = ", ".join(said) or "nothing had changed"
    await workspace.search.embed(embedded)


async def _check(job: Job, workspace: Promptuary, _: Callable[[], None]) -> None:
    job.found = await workspace.examine()


async def _repair(job: Job, workspace: Promptuary, _: Callable[[], None]) -> None:
    job.found = await workspace.examine(fix=True)

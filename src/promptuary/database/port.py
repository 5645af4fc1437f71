"""What a store needs from a database: read, write, transaction, lock, notify. Stores are written once, over this.

Two drivers stand behind it: ``sqlite`` and ``postgres``. The work of a store is a function that gets a ``Connection``;
it may run more than once, so it has no other effects. SQL is in named files (``queries``) with placeholders ``:name``;
a driver can translate them, or take a query of the same name from a file of its own. Knows nothing of what is stored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

Result = TypeVar("Result")

Row = tuple[Any, ...]
"""A row from the database; it may be anything if the database is damaged."""


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows a statement changed."""
        ...

    def fetchone(self) -> Any:
        """Return the next row; ``None`` if there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """What the work of one transaction runs its statements on."""

    @property
    def tenant(self) -> int:
        """The workspace whose rows it reads and writes: the first part of every key."""
        ...

    @property
    def owners(self) -> dict[Any, int]:
        """The numbers of owners that were read from what is committed: they never change."""
        ...

    @property
    def is_committed(self) -> bool:
        """Whether everything that it reads is committed."""
        ...

    def act_as(self, owner: int | None, /) -> None:
        """Read and write from now on only what an owner and everybody has; ``None`` stands for all owners, and stays.

        A database may enforce it, beside the owner in the queries.
        """
        ...

    def hold(self, owner: int | None, /) -> None:
        """Wait for other writers of what an owner has, and keep them waiting until this transaction ends.

        0 is what everybody shares; ``None`` is everything in the workspace. What is written depends on what was read
        after this: a database with one writer at a time needs nothing for it.
        """
        ...

    def execute(self, query: str, values: Mapping[str, Any] | Sequence[Any] = ..., /) -> Cursor:
        """Run a statement."""
        ...

    def executemany(self, query: str, values: Iterable[Any], /) -> Cursor:
        """Run a statement once for each of ``values``."""
        ...


Work = Callable[[Connection], Result]
"""The work of one transaction. It may run more than once, so it must not have other effects."""


class ChangeFields(TypedDict, total=False):
    """What happened to something, who did it, and the space that it is in, if it has one. Never text of it."""

    event: str
    actor: str
    place: str


class Database(Protocol):
    """A database that many threads and processes use."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def tenant(self) -> int:
        """The workspace whose rows it reads and writes."""
        ...

    def read(self, work: Work[Result], /) -> Result:
        """Run ``work``, which reads from one snapshot of the database."""
        ...

    def write(self, work: Work[Result], /, *, after_commit: Callable[[Result], object] = ...) -> Result:
        """Run ``work`` atomically; when this returns, it is persistent and ``after_commit`` was called.

        Within ``transaction`` both happen when that ends.
        """
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Join every ``write`` of this thread in the block into one transaction. Blocks do not nest."""
        ...

    def lock(self, key: str, /) -> AbstractContextManager[int]:
        """Hold the lock ``key`` over all processes, and yield its fencing token, which counts up with every holder.

        Raises ``LockTimeoutError`` at once if somebody holds it. It is released when the holder ends, however it does.
        """
        ...

    def check_lock(self, connection: Connection, key: str, /) -> None:
        """Raise ``ConflictError`` if this process holds the lock ``key`` and somebody else took it since."""
        ...

    def notify(self, connection: Connection, owner: int, noun: str, key: str, /, **what: Unpack[ChangeFields]) -> None:
        """Append to the feed of changes, within a write: to that of ``owner``, a number, or of everybody.

        ``noun`` says what ``key`` names. The numbers in a feed grow in the order of the commits; old ones are dropped.
        """
        ...

    def version(self) -> int:
        """Return a number that differs after a commit by anybody that told of something (``notify``), or soon after.

        It may differ after others, too. Cheap: no table is read.
        """
        ...

    @property
    def in_memory(self) -> bool:
        """Whether it ends with the process."""
        ...

    def is_current(self) -> bool:
        """Return whether it is still the database that was opened."""
        ...

    def verify(self) -> None:
        """Raise an error if the database itself finds that it is damaged. Slow for a large one."""
        ...

    def purge(self) -> None:
        """Erase deleted data from the files, free pages and logs included."""
        ...

    def close(self) -> None:
        """Close it after the transactions that are running."""
        ...

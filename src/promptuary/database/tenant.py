"""The state of a workspace in PostgreSQL: the rows of one tenant.

The number of a tenant is made from its binding, so that every server finds it without asking, and the binding is stored
with it: two that got the same number by chance would be noticed.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from promptuary.base.errors import ForeignStateError
from promptuary.database import schema
from promptuary.database.binding import Bound
from promptuary.database.port import Connection
from promptuary.database.postgres import PostgresDatabase
from promptuary.database.queries import queries

_QUERIES: Final = queries(__package__, "tenant.sql")

_TOO_OLD: Final = 3600
"""Seconds after which an open transaction is a problem: the server removes no dead row that is younger."""
_OLDEST_PGVECTOR: Final = (0, 8)
"""The first version that goes on looking in an approximate index until it has enough of one owner."""
_HERE: Final = ("", "localhost", "127.0.0.1", "::1")


def tenant_number(binding: str) -> int:
    """Return the number of the tenant with a binding: 63 bits, never 0."""
    return int.from_bytes(hashlib.sha256(binding.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1 or 1


class TenantDatabase(Bound, PostgresDatabase):
    """The rows of the tenant that ``expected`` names, in the database at ``url``."""

    def __init__(self, url: str, expected: str, *, timeout: float = 30.0) -> None:
        PostgresDatabase.__init__(self, url, tenant_number(expected), schema.postgres_steps(), timeout=timeout)
        self.expected, self._address = expected, url

    def found(self) -> bool:
        """Return whether the tenant exists. Raises ``ForeignStateError`` if it is another's."""
        bound = self.binding
        self.check_complete(bound)
        if not self.exists:
            return False
        if bound not in (None, self.expected):
            raise ForeignStateError(
                f"{self.name}: another workspace has the number of this one; bind it to another tenant."
            )
        return True

    def make(self) -> None:
        """Make the tenant, unless it exists."""
        if not self.found():
            self.create()
        if self.binding is None:
            self.bind(self.expected)

    def problems(self, *, has_vectors: bool = False) -> Sequence[tuple[str, str]]:
        """Return what is wrong with the roles, policies and partitions, the connection and the transactions.

        ``has_vectors``: the index is in this database, and its vectors should be.
        """
        found = [*_of_connection(self._address), *self.read(lambda own: list(_of_server(own)))]
        return [*found, *self.read(lambda own: list(_of_vectors(own)))] if has_vectors else found


def _of_connection(url: str) -> Iterator[tuple[str, str]]:
    given = conninfo_to_dict(url)
    hosts = str(given.get("host") or given.get("hostaddr") or "").split(",")
    is_here = all(host.startswith("/") or host in _HERE for host in hosts)
    if not is_here and given.get("sslmode") != "verify-full":
        yield (
            "the connection does not check whom it talks to",
            "Add ?sslmode=verify-full to the setting database, and sslrootcert if your server needs one.",
        )


def _of_server(own: Connection) -> Iterator[tuple[str, str]]:
    is_above, is_owner = own.execute(_QUERIES["role"]).fetchone()
    if is_above:
        yield (
            "row-level security does not hold for this role",
            "Work as one that is neither superuser nor BYPASSRLS.",
        )
    elif is_owner:
        yield (
            "the role that works owns the tables, so it could switch row-level security off",
            "Let one role migrate and another, which owns nothing, work: see docs/scale.md.",
        )
    if tables := [row[0] for row in own.execute(_QUERIES["open_tables"])]:
        yield (
            f"these tables have no row-level security: {', '.join(tables)}",
            "Switch it on again: ALTER TABLE promptuary.NAME FORCE ROW LEVEL SECURITY.",
        )
    if tables := [row[0] for row in own.execute(_QUERIES["without_default"])]:
        yield (
            f"these tables refuse the rows of a tenant that has no partition: {', '.join(tables)}",
            "Add CREATE TABLE promptuary.NAME_rest PARTITION OF promptuary.NAME DEFAULT, with the policy of its table.",
        )
    (seconds,) = own.execute(_QUERIES["oldest"]).fetchone()
    if seconds > _TOO_OLD:
        yield (
            f"a transaction has been open for {seconds // 60:,} minutes, so nothing that was removed leaves the disk",
            "End it: SELECT pid, query FROM pg_stat_activity ORDER BY xact_start.",
        )


def _of_vectors(own: Connection) -> Iterator[tuple[str, str]]:
    version, has_table = own.execute(_QUERIES["vectors"]).fetchone()
    numbers = tuple(int(part) for part in str(version or "0").split(".")[:2] if part.isdigit())
    if version is None:
        yield (
            "pgvector is missing, so the index in this database is searched by words only",
            "Install it on the server, and let its administrator run CREATE EXTENSION vector; then see docs/scale.md.",
        )
    elif numbers < _OLDEST_PGVECTOR:
        yield (
            f"pgvector {version} is too old: large indexes need 0.8 or newer",
            "Upgrade it on the server, then run ALTER EXTENSION vector UPDATE.",
        )
    elif not has_table:
        yield (
            "pgvector was added after the tables were made, so the index in this database is searched by words only",
            "Let the role that owns the tables add the one for vectors: see docs/scale.md.",
        )

"""Checks on a Citus cluster that our tables can be cut by tenant, a line for each check.

    python -m bench citus --url postgresql://USER@COORDINATOR/DATABASE

For whoever runs such a cluster: the database must have no schema ``promptuary``, which is made and dropped again. The
tables are made by the migrations of the product, distributed by ``tenant``, and used through its stores. Exits 1 if a
check failed; on a server without Citus those that need none are run, too.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, Final

import psycopg

from promptuary.base.errors import ConflictError
from promptuary.base.messages import Item
from promptuary.base.principals import Principal
from promptuary.context.receipt import Receipt
from promptuary.database import schema
from promptuary.database.postgres import SCHEMA, PostgresDatabase
from promptuary.database.tenant import TenantDatabase, tenant_number
from promptuary.memory.writeback.values import QueuedTurn
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord

ADA: Final = Principal("ada")
EVE: Final = Principal("eve")
TENANTS: Final = ("citus check 1", "citus check 2", "citus check 3")
NO_CITUS: Final = (
    "this server has no Citus, so nothing was distributed: run this against the coordinator of a Citus cluster."
)


class FailedError(Exception):
    """A check found something else than it expects."""


class Cluster:
    """The checks, in the order in which they need each other."""

    def __init__(self, url: str, raw: psycopg.Connection[Any], held: ExitStack) -> None:
        self._url, self._raw, self._held = url, raw, held
        self._states: list[StateDatabase] = []
        self.is_distributed = False

    def has_citus(self) -> str:
        """Check that the server has Citus."""
        if not self._raw.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'citus'").fetchone():
            raise FailedError(NO_CITUS)
        self._raw.execute("CREATE EXTENSION IF NOT EXISTS citus")
        (version,) = self._raw.execute("SELECT extversion FROM pg_extension WHERE extname = 'citus'").fetchone() or "?"
        self.is_distributed = True
        return f"Version {version}."

    def first_tables(self) -> str:
        """Check that the tables of the first step are made, and distributed by tenant where there is Citus."""
        tenant = tenant_number(TENANTS[0])
        PostgresDatabase(self._url, tenant, schema.postgres_steps()[:1]).close()
        return f"{self._distribute()} tables were distributed."

    def migrations(self) -> str:
        """Check that the later steps run on these tables, and what they make is distributed as well."""
        for name in TENANTS:
            database = TenantDatabase(self._url, name)
            self._states.append(StateDatabase(database=database))
            self._held.callback(self._states[-1].close)
            database.make()
        return f"{self._distribute()} tables were distributed."

    def colocated(self) -> str:
        """Check that all tables of a tenant are in one place."""
        query = (
            "SELECT count(DISTINCT colocation_id), count(*) FROM citus_tables WHERE citus_table_type = 'distributed'"
        )
        groups, tables = self._raw.execute(query).fetchone() or (0, 0)
        if groups != 1:
            raise FailedError(f"{tables} tables are in {groups} groups")
        return f"{tables} tables."

    def turns(self) -> str:
        """Check that a turn is stored in one transaction over several tables, for each tenant."""
        for state in self._states:
            with state.answering(ADA, "talk"):
                receipt = Receipt("one", "talk", 1_000, 100, 10)
                said: Any = [{"role": "user", "content": "What is it?"}]
                turn = TurnRecord("one", "talk", 1, "2026-01-01T00:00:00", "finished", "What is it?", said, receipt)
                state.threads(ADA).apply(ThreadChange("talk", turn=turn, items=[Item("asked", "user", "What is it?")]))
        return f"{len(self._states)} tenants."

    def joins(self) -> str:
        """Check that what was stored is read again, by joins of tables of a tenant."""
        for state in self._states:
            history, turn = state.threads(ADA).history("talk"), state.threads(ADA).turn("talk", 1)
            if [item.content for item in history] != ["What is it?"] or turn is None or turn.text != "What is it?":
                raise FailedError(f"{history} {turn}")
        return ""

    def rolled_back(self) -> str:
        """Check that a transaction that fails leaves nothing in any table."""
        with suppress(ConflictError), self._states[0].transaction():
            for _ in range(2):  # the second has an id that is taken
                self._states[0].threads(ADA).apply(ThreadChange("gone", items=[Item("gone", "user", "gone")]))
        if [thread.id for thread in self._states[0].threads(ADA).threads()] != ["talk"]:
            raise FailedError("a thread of it is there")
        return ""

    def policies(self) -> str:
        """Check that row-level security hides, with settings of the transaction, what others have."""
        for state in self._states:
            for principal, expected in ((ADA, 1), (EVE, 0)):
                threads = state.threads(principal).threads()
                if len(threads) != expected:
                    raise FailedError(f"{principal.user} sees {len(threads)} threads")
        if is_above(self._raw):
            raise FailedError("no policy holds for this role; use one that is neither superuser nor BYPASSRLS")
        (seen,) = self._raw.execute(f"SELECT count(*) FROM {SCHEMA}.thread").fetchone() or (0,)
        if seen:
            raise FailedError(f"without a setting, {seen} threads are seen")
        with self._raw.transaction():
            self._raw.execute("SELECT set_config('app.owner', '-2', true), set_config('app.tenant', %s, true)", ["7"])
            (seen,) = self._raw.execute(f"SELECT count(*) FROM {SCHEMA}.thread").fetchone() or (0,)
        if seen:
            raise FailedError(f"another tenant sees {seen} threads")
        return ""

    def queue(self) -> str:
        """Check that the queue of writeback is taken tenant by tenant, each turn once."""
        for state in self._states:
            queue = state.writeback_queue(ADA)
            queue.add(QueuedTurn("one", "talk", "2026-01-01T00:00:00", "text"))
            taken = [queue.take(1e9, lease=60.0), queue.take(1e9, lease=60.0)]
            if taken[0] is None or taken[1] is not None:
                raise FailedError(f"{taken} were taken")
        return ""

    def _distribute(self) -> int:
        """Distribute the tables that are not, those that others refer to first; return how many."""
        if not self.is_distributed:
            return 0
        tables = self._raw.execute(
            "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant' "
            f"WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind = 'r' "
            "AND pg_class.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition) "
            "ORDER BY (SELECT count(*) FROM pg_constraint WHERE conrelid = pg_class.oid AND contype = 'f'), relname"
        ).fetchall()
        if not self._raw.execute(
            f"SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '{SCHEMA}.migration'::regclass"
        ).fetchone():
            self._raw.execute(f"SELECT create_reference_table('{SCHEMA}.migration')")
        for (table,) in tables:
            others = "" if table == "tenant" else f", colocate_with => '{SCHEMA}.tenant'"
            self._raw.execute(f"SELECT create_distributed_table('{SCHEMA}.{table}', 'tenant'{others})")
        return len(tables)


def is_above(raw: psycopg.Connection[Any]) -> bool:
    """Return whether no policy holds for this role."""
    query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    return bool((raw.execute(query).fetchone() or (True,))[0])


def main() -> None:
    url = _options().url
    with ExitStack() as held:
        raw = held.enter_context(psycopg.connect(url, autocommit=True, prepare_threshold=None))
        if raw.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [SCHEMA]).fetchone():
            sys.exit(f"the database has a schema {SCHEMA}, which this program would drop; name another database.")
        held.callback(raw.execute, f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        cluster = Cluster(url, raw, held)
        _passed(cluster.has_citus)
        checks = [cluster.first_tables, cluster.migrations]
        if cluster.is_distributed:
            checks.append(cluster.colocated)
        checks += [cluster.turns, cluster.joins, cluster.rolled_back, cluster.policies, cluster.queue]
        passed = [_passed(check) for check in checks]
    if not cluster.is_distributed:
        sys.exit(NO_CITUS)
    if not all(passed):
        sys.exit(f"{passed.count(False)} of {len(passed)} checks failed.")


def _passed(check: Callable[[], str]) -> bool:
    """Run a check, and print what it found."""
    name = (check.__doc__ or "").removeprefix("Check that ")
    name = name[:1].upper() + name[1:]
    try:
        said = check()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is what the person wants to know)
        print(f"FAILED  {name} {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
        return False
    print(f"ok      {name} {said}".rstrip(), flush=True)
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench citus")
    parser.add_argument("--url", required=True, help="the address of a database on the coordinator")
    words = sys.argv[1:]
    return parser.parse_args(words[next((at for at, word in enumerate(words) if word.startswith("-")), len(words)) :])


if __name__ == "__main__":
    main()

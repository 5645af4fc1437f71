"""PostgreSQL as the database of many people: loading, turns, recall and search, beside bare SQL and beside SQLite.

    python -m bench postgres [--full] [--chunks N ...] [--turns N] [--owners N] [--clients N ...] [--rounds N]

A turn is what stores do for one: the head of the thread is read, the prompt is stored, the reply is stored. Recall is
the list of a person's notes, their number and those that match a question; search is by words in the index of the
workspace (``index = "database"``). Bare SQL fetches and writes the same rows of the same tables in as many
transactions: for turns by hand, for the others the statements of the same question again, by a role that no policy
holds for.
The sides take turns. ``--full``: 100,000 turns of 10,000 owners, 100,000 and 1,000,000 chunks.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg
from psycopg_pool import ConnectionPool

from bench.passages import PER_FILE, passages, questions
from bench.postgres_index import Server
from bench.report import Row, report
from promptuary.base.blocks import Attachment, Detail
from promptuary.base.files import Folder, Stamp
from promptuary.base.messages import Item, Message
from promptuary.base.principals import Owner, Principal
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.database import postgres
from promptuary.database.contents import pack
from promptuary.layers.layer import StateKey
from promptuary.memory.values import NoteChange, NoteFilter, NoteHeader, NoteStamp
from promptuary.search.answer import answer
from promptuary.search.index.index import DiskIndex
from promptuary.search.index.port import SearchIndex
from promptuary.search.index.postgres.index import PostgresIndex
from promptuary.search.index.postgres.tables import IndexRows, TableGenerations
from promptuary.search.index.postgres.vectors import TableVectors
from promptuary.search.values import Chunk, IndexedFile, SearchQuery
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord
from tests.postgres import as_superuser, new_tenant, postgres_server

Side = Callable[[int], object]
"""What is measured: the number says for which owner, and which question."""

FULL: Final = {"chunks": [100_000, 1_000_000], "turns": 100_000, "owners": 10_000, "rounds": 2_000}
AT_ONCE: Final = 500
NOTES: Final = 20
"""Notes of each owner who is asked."""
ASKED: Final = 32
"""Owners who take turns and have notes."""
DIMENSIONS: Final = 384
VECTORS: Final = 5_000
"""Vectors that are loaded; ``bench postgres_index`` measures searching them."""
SPACE: Final = "agents/default"
_BARE_TENANT: Final = 7
_THREADS: Final = 16
"""The most clients."""

_numbers: Final = count(1)


def main() -> None:
    options = _options()
    texts = passages(max(options.chunks))
    with ExitStack() as held:
        url = held.enter_context(postgres_server(fsync=True))
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        server = Server(url)
        states = {
            "PostgreSQL": StateDatabase(database=new_tenant(url)),
            "SQLite": StateDatabase(folder / "state.db"),
        }
        for state in states.values():
            held.callback(state.close)
        _load(states, options)
        _analyze(url)
        rounds = Rounds(server, options.clients, options.rounds)
        with closing(BareTurns(url, options.owners)) as bare:
            sides: dict[str, Side] = {"bare SQL": bare.turn}
            sides |= {name: Turns(state, options.owners).turn for name, state in states.items()}
            rounds.report(f"Turns: {options.turns:,} of {options.owners:,} owners", sides, most=1.5)
        before: dict[str, float] = {}
        for chunks in options.chunks:
            before = _searches(url, folder, states, texts[:chunks], rounds, before)


class Rounds:
    """Measures sides one after the other, a round each, with different numbers of clients."""

    def __init__(self, server: Server, clients: Sequence[int], rounds: int) -> None:
        self._server, self._clients, self._rounds = server, clients, rounds

    def report(self, title: str, sides: Mapping[str, Side], *, most: float) -> dict[str, float]:
        """Report the times of each side beside the first; return the medians with one client."""
        rows, medians = [], dict[str, float]()
        for clients in self._clients:
            taken, used = self._measure(sides, clients)
            base = None
            for name, times in taken.items():
                middle = statistics.median(times)
                tail = sorted(times)[int(len(times) * 0.99)]
                base = base or (middle, tail, used[name])
                what = f"{name}, {clients} client{'s' if clients > 1 else ''}"
                rows += [
                    Row(f"{what}: p50", middle, "ms", middle / base[0]),
                    Row(f"{what}: p99", tail, "ms", tail / base[1]),
                    Row(f"{what}: processor", used[name], "ms", used[name] / base[2]),
                ]
                if clients == self._clients[0]:
                    medians[name] = middle
        report(f"{title} (ratios to {next(iter(sides))}; goal of PostgreSQL: {most}x)", rows)
        sys.stdout.flush()
        return medians

    def _measure(self, sides: Mapping[str, Side], clients: int) -> tuple[dict[str, list[float]], dict[str, float]]:
        """Return the milliseconds of each piece of work of each side, and of processor time on average."""
        for side in sides.values():
            side(0)
        parts = 4
        size = max(1, self._rounds // parts // clients)
        taken: dict[str, list[float]] = {name: [] for name in sides}
        used = dict.fromkeys(sides, 0.0)
        with ThreadPoolExecutor(clients) as pool:
            for part in range(parts):
                for name, side in sides.items():
                    began, own = self._server.seconds(), time.process_time()
                    work = [pool.submit(_timed, side, part * 1_000 + client, size) for client in range(clients)]
                    for one in work:
                        taken[name] += one.result()
                    used[name] += self._server.seconds() - began + time.process_time() - own
        return taken, {name: used[name] * 1000 / len(taken[name]) for name in sides}


def _timed(side: Side, number: int, size: int) -> list[float]:
    taken = []
    for at in range(size):
        began = time.perf_counter()
        side(number + at * _THREADS)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


# Turns


class Turns:
    """Turns of owners through the stores; each client has a thread of its own."""

    def __init__(self, state: StateDatabase, owners: int) -> None:
        self._state, self._owners = state, owners

    def turn(self, number: int) -> None:
        number %= _THREADS
        store, thread = self._state.threads(_principal(number % self._owners)), f"of client {number}"
        head = store.head(thread, [StateKey("bench", "thread", thread)])
        prepared, finished = _turn(thread, head.last_number + 1, head.history)
        store.apply(prepared)
        store.apply(finished)
        if len(head.history) > CARRIED:
            store.apply(ThreadChange(thread, removed=[item.id for item in head.history]))


CARRIED: Final = 12
"""How many items a history has at most; then it begins anew."""


def _principal(number: int) -> Principal:
    return Principal(f"user{number}")


def _turn(thread: str, number: int, history: Sequence[Item]) -> tuple[ThreadChange, ThreadChange]:
    """Return what is stored when a turn is prepared, and when it is finished."""
    name = f"turn {next(_numbers)} {thread}"
    path = f"file:src/module_{number % 50}.py"
    text = _text(number)
    messages: list[Message] = [{"role": "system", "content": "Be kind."}]
    messages += [{"role": item.role, "content": item.content} for item in history]
    messages.append({"role": "user", "content": text})
    entries = [
        ReceiptEntry("instructions", "AGENTS.md", "in", 10, 0.0, "file:AGENTS.md", "0" * 64),
        ReceiptEntry("references", path, "in", 40, 0.0, path, f"{number:064}", lines=(1, 40)),
    ]
    receipt = Receipt(name, thread, 128_000, 4_096, 2_000, entries=entries)
    turn = TurnRecord(name, thread, number, "2026-01-01T00:00:00", "prepared", text, messages, receipt)
    done = TurnRecord(
        name, thread, number, "2026-01-01T00:00:00", "finished", text, messages, receipt, reply_tokens=number % 99
    )
    attached = Attachment(path, path, f"{number:064}", Detail.FULL, (1, 40), 20, 30)
    items = [
        Item(f"asked {name}", "user", text, turn=name, attachments=(attached,)),
        Item(f"said {name}", "assistant", f"It does what {name} says. " * 8, turn=name),
    ]
    return ThreadChange(thread, turn=turn), ThreadChange(thread, turn=done, items=items)


def _text(number: int) -> str:
    return f"# Attached context\n\nline {next(_numbers)} of {number}\n" + "def main(): ...\n" * 30


def _load(states: Mapping[str, StateDatabase], options: argparse.Namespace) -> None:
    """Make turns and notes of many owners, many to a transaction."""
    rows = []
    for name, state in states.items():
        histories: dict[int, list[Item]] = {}
        began = time.perf_counter()
        for first in range(0, options.turns, AT_ONCE):
            with state.transaction():
                for number in range(first, min(first + AT_ONCE, options.turns)):
                    owner = number % options.owners
                    history = histories.setdefault(owner, [])
                    change = _turn("loaded", number // options.owners + 1, history)[1]
                    state.threads(_principal(owner)).apply(change)
                    history += change.items
                    del history[:-CARRIED]
        rows.append(Row(f"{name}: turns in a second", options.turns / (time.perf_counter() - began), ""))
        began = time.perf_counter()
        for owner in range(min(options.owners, ASKED)):
            state.notes(SPACE).record([_note(owner, number) for number in range(NOTES)])
        made = min(options.owners, ASKED) * NOTES
        rows.append(Row(f"{name}: notes in a second", made / (time.perf_counter() - began), ""))
    report(f"Loading: {options.turns:,} turns of {options.owners:,} owners, {AT_ONCE} to a transaction", rows)
    sys.stdout.flush()


def _note(owner: int, number: int) -> tuple[NoteChange, NoteHeader, NoteStamp]:
    name, at = f"note-{owner}-{number}", f"2026-01-{number % 28 + 1:02}T00:00:00Z"
    path, rev = f"private/project/{name}.md", f"{next(_numbers):064}"
    header = NoteHeader(
        name, path, "project", "private", "project", f"Note {number}", rev, _principal(owner).owner, updated_at=at
    )
    change = NoteChange(name, "create", at, "bench", rev, path, f"The house of {owner} has {number} doors.\n" * 8)
    return change, header, NoteStamp(300, number, number, number)


class BareTurns:
    """The same turns by somebody who knows the tables, with the driver alone."""

    def __init__(self, url: str, owners: int) -> None:
        self._owners = owners
        self._pool = _pool(url)
        with self._pool.connection() as raw:
            raw.execute("INSERT INTO tenant (tenant, owners) VALUES (%s, %s)", [_BARE_TENANT, owners])
            raw.cursor().executemany(
                "INSERT INTO owner (tenant, owner, kind, name, agent, counter) VALUES (%s, %s, 'user', %s, '', 1000)",
                [(_BARE_TENANT, owner + 1, f"user{owner}") for owner in range(owners)],
            )

    def turn(self, number: int) -> None:
        number %= _THREADS
        own = {"tenant": _BARE_TENANT, "owner": number % self._owners + 1, "name": f"of client {number}"}
        asked = _read_head(self._pool, own)
        _prepare(self._pool, own, asked)
        _finish(self._pool, own)

    def close(self) -> None:
        self._pool.close()


def _pool(url: str) -> ConnectionPool[Any]:
    address = f"{as_superuser(url)}&options=-csearch_path%3Dpromptuary,public"
    settings = {"prepare_threshold": None, "autocommit": True, "context": postgres._ADAPTERS}
    return ConnectionPool(address, min_size=0, max_size=16, open=True, kwargs=settings)


_OWN: Final = "tenant = %(tenant)s AND owner = %(owner)s"
_THREAD: Final = f"{_OWN} AND thread = %(thread)s"


def _read_head(pool: ConnectionPool[Any], own: dict[str, Any]) -> int:
    """Read a thread and its state; add its number to ``own``, and return that of the next turn."""
    with pool.connection() as raw:
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = raw.execute(f"SELECT thread FROM thread WHERE {_OWN} AND name = %(name)s", own).fetchone()
        own["thread"] = found[0] if found else -1
        raw.execute(
            "SELECT item.*, packed, body FROM item JOIN content USING (tenant, owner) "
            "WHERE content.sha256 = item.content AND tenant = %(tenant)s AND owner = %(owner)s "
            "AND thread = %(thread)s AND compacted = 0 ORDER BY place DESC LIMIT 2",
            own,
        ).fetchall()
        (last,) = raw.execute(f"SELECT coalesce(max(number), 0) FROM turn WHERE {_THREAD}", own).fetchone() or (0,)
        raw.execute(f"SELECT * FROM state WHERE {_OWN} AND layer = 'bench' AND name = %(name)s", own).fetchall()
        raw.execute("COMMIT")
    return int(last) + 1


@contextmanager
def _writing(pool: ConnectionPool[Any], own: dict[str, Any]) -> Iterator[psycopg.Connection[Any]]:
    """Run the transaction of a change: its number, the owner's counter, the thread, and the feed of changes."""
    with pool.connection() as raw:
        raw.execute("BEGIN")
        raw.execute("INSERT INTO written (tenant, id) VALUES (%s, %s)", [_BARE_TENANT, os.urandom(16)])
        counted = raw.execute(f"UPDATE owner SET counter = counter + 8 WHERE {_OWN} RETURNING counter", own).fetchone()
        own["next"] = counted[0] - 8 if counted else 0
        made = raw.execute(
            "INSERT INTO thread (tenant, owner, thread, name, created, updated, used, history) "
            "VALUES (%(tenant)s, %(owner)s, %(next)s, %(name)s, '', '', %(next)s, 0) "
            "ON CONFLICT (tenant, owner, name) DO UPDATE SET used = excluded.used RETURNING thread",
            own,
        ).fetchone()
        own["thread"] = made[0] if made else 0
        yield raw
        raw.execute(
            "INSERT INTO change (tenant, owner, seq, noun, id, event, at, actor, place) "
            f"SELECT %(tenant)s, %(owner)s, 1 + coalesce(max(seq), 0), 'turn', %(id)s, 'e', '2026-01-01T00:00:00', "
            f"'ada', '' FROM change WHERE {_OWN}",
            own,
        )
        raw.execute("COMMIT")


def _put(raw: psycopg.Connection[Any], own: dict[str, Any], *texts: str) -> list[bytes]:
    """Store texts in one statement, unless they are there, and return their hashes."""
    packed = [pack(text) for text in texts]
    marks = ", ".join(["(%s, %s, %s, %s, %s)"] * len(packed))
    raw.execute(
        f"INSERT INTO content (tenant, owner, sha256, packed, body) VALUES {marks} ON CONFLICT DO NOTHING",
        [value for one in packed for value in (own["tenant"], own["owner"], one.sha256, one.packed, one.body)],
    )
    return [one.sha256 for one in packed]


def _prepare(pool: ConnectionPool[Any], own: dict[str, Any], number: int) -> None:
    own |= {"id": f"turn {next(_numbers)}", "number": number}
    with _writing(pool, own) as raw:
        own["part"], own["serial"] = own["next"] + 1, own["next"] + 2
        own["text"], own["receipt"] = _put(raw, own, _text(number), f"{own['id']} " * 60)
        raw.execute(
            'INSERT INTO turn (tenant, owner, thread, number, serial, id, created, status, "user", text, messages, '
            "receipt, tokens, reply_tokens, checksum) VALUES (%(tenant)s, %(owner)s, %(thread)s, %(number)s, "
            "%(serial)s, %(id)s, '2026-01-01T00:00:00', 'prepared', 'ada', %(text)s, %(text)s, %(receipt)s, 9, 0, 7)",
            own,
        )
        own["address"] = f"file:src/module_{number % 50}.py"
        found = raw.execute(f"SELECT source FROM source WHERE {_OWN} AND address = %(address)s", own).fetchone()
        own["source"] = found[0] if found else own["next"] + 3
        if not found:
            raw.execute("INSERT INTO source VALUES (%(tenant)s, %(owner)s, %(source)s, %(address)s)", own)
        raw.execute(
            "INSERT INTO source_part VALUES (%(tenant)s, %(owner)s, %(part)s, %(source)s, 'references', %(id)s, 1, 40)",
            own,
        )
        raw.execute(
            "INSERT INTO turn_source VALUES (%(tenant)s, %(owner)s, %(source)s, %(serial)s, %(part)s, %(thread)s), "
            "(%(tenant)s, %(owner)s, 0, %(serial)s, 0, %(thread)s)",
            own,
        )
        raw.execute(f"SELECT source, part, how FROM carried_source WHERE {_THREAD} AND last IS NULL", own).fetchall()


def _finish(pool: ConnectionPool[Any], own: dict[str, Any]) -> None:
    with _writing(pool, own) as raw:
        place = f"SELECT coalesce(max(place), 0) FROM item WHERE {_THREAD} AND compacted = 0"
        (last,) = raw.execute(place, own).fetchone() or (0,)
        own["said"], own["receipt"] = _put(raw, own, f"It does what {own['id']} says. " * 8, f"{own['id']}. " * 60)
        row = {**own, "item": own["next"] + 1, "place": last + 1, "id2": f"said {own['id']}"}
        raw.execute(
            "INSERT INTO item (tenant, owner, thread, item, id, place, pinned, sourced, role, kind, content, "
            "tool_calls, tool_call_id, stands_for, turn, attached, checksum) VALUES "
            "(%(tenant)s, %(owner)s, %(thread)s, %(item)s, %(id)s, %(place)s, 0, 1, 'user', '', %(text)s, '[]', '', "
            "'[]', %(id)s, '[]', 7), (%(tenant)s, %(owner)s, %(thread)s, %(item)s + 1, %(id2)s, %(place)s + 1, 0, 0, "
            "'assistant', '', %(said)s, '[]', '', '[]', %(id)s, '', 7)",
            row,
        )
        raw.execute(
            "INSERT INTO item_source VALUES (%(tenant)s, %(owner)s, %(item)s, %(part)s, 'attached', %(source)s)", row
        )
        raw.execute(f"UPDATE turn SET status = 'finished', receipt = %(receipt)s WHERE {_OWN} AND id = %(id)s", own)
        raw.execute(f"SELECT item, pinned, checksum FROM item WHERE {_THREAD} AND compacted = 0", own).fetchall()
        raw.execute(f"UPDATE thread SET history = 7 WHERE {_THREAD}", own)


# Recall and search


def _searches(  # noqa: PLR0917  (what main has)
    url: str,
    folder: Path,
    states: Mapping[str, StateDatabase],
    texts: Sequence[str],
    rounds: Rounds,
    before: Mapping[str, float],
) -> dict[str, float]:
    """Measure recall and search in an index of so many chunks; return the medians."""
    asked, name = questions(list(texts), ASKED), f"{len(texts):,} chunks"
    notes = [f"The house of somebody has {number} doors. {texts[number % len(texts)][:200]}" for number in range(NOTES)]
    owners = [_principal(number).owner for number in range(4)]
    indexes: dict[str, SearchIndex] = {
        "PostgreSQL": PostgresIndex(new_tenant(url), "files", "bench"),
        "SQLite": DiskIndex(folder / name, "bench"),
    }
    own: dict[str, list[SearchIndex]] = {
        "PostgreSQL": [PostgresIndex(new_tenant(url), "notes", "bench", owner=owner) for owner in owners],
        "SQLite": [DiskIndex(folder / f"{name} {owner.name}", "bench") for owner in owners],
    }
    rows = []
    for side, index in indexes.items():
        began = time.perf_counter()
        _index(index, texts)
        rows.append(Row(f"{side}: chunks in a second, by words", len(texts) / (time.perf_counter() - began), ""))
        for one in own[side]:
            _index(one, notes)
    rows.append(Row("PostgreSQL: vectors in a second", _load_vectors(url, min(len(texts), VECTORS)), ""))
    report(f"Loading: {name}", rows)
    _analyze(url)

    def search(index: SearchIndex) -> Side:
        return lambda number: answer(SearchQuery(asked[number % len(asked)], 10), index, None).hits

    def recall(state: StateDatabase, each: Sequence[SearchIndex]) -> Side:
        def of(number: int) -> object:
            view = state.notes(SPACE).view(_principal(number % ASKED).owner)
            found = answer(SearchQuery(asked[number % len(asked)], 5), each[number % len(each)], None).hits
            return view.headers(NoteFilter(limit=NOTES)), view.count(), found

        return of

    with closing(_pool(url)) as pool:
        searching = {side: search(index) for side, index in indexes.items()}
        recalling = {side: recall(states[side], own[side]) for side in states}
        medians = rounds.report(f"Recall beside {name}", _with_bare(recalling, pool), most=1.5)
        found = rounds.report(f"Search: {name}", _with_bare(searching, pool), most=1.5)
    medians |= {f"search, {side}": value for side, value in found.items()}
    grown = [Row(f"{what}: p50", value, "ms", value / before[what]) for what, value in medians.items() if before]
    if grown:
        report(f"Growth to {name}: medians, and ratios to the size before", grown)
    for one in (*indexes.values(), *own["PostgreSQL"], *own["SQLite"]):
        one.close()
    return medians


def _with_bare(sides: Mapping[str, Side], pool: ConnectionPool[Any]) -> dict[str, Side]:
    """Add, as the first, a side that sends the statements of the one in PostgreSQL again, once recorded."""
    theirs, recorded = sides["PostgreSQL"], list[list[tuple[Any, Any]]]()
    for number in range(ASKED):
        theirs(number)  # counts words that are new
        recorded.append(_statements(theirs, number))

    def bare(number: int) -> None:
        with pool.connection() as raw:
            for query, values in recorded[number % ASKED]:
                done = raw.cursor(binary=True).execute(query, values)
                if done.description:
                    done.fetchall()

    return {"bare SQL": bare, **sides}


def _statements(side: Side, number: int) -> list[tuple[Any, Any]]:
    """Return the statements of a piece of work, without what makes the policies hold."""
    said: list[tuple[Any, Any]] = []
    execute = psycopg.Cursor.execute

    def recording(self: Any, query: Any, values: Any = None, **options: Any) -> Any:
        if str(query).startswith("BEGIN"):
            said.append((str(query).partition(";")[0], None))
        elif "set_config('app.owner'" not in str(query):
            said.append((query, values))
        return execute(self, query, values, **options)

    psycopg.Cursor.execute = recording  # type: ignore[method-assign, assignment]
    try:
        side(number)
    finally:
        psycopg.Cursor.execute = execute  # type: ignore[method-assign]
    return said


def _index(index: SearchIndex, texts: Sequence[str]) -> None:
    folder = Folder("/bench")
    with index.writing() as writer:
        if writer is None:
            raise RuntimeError("another program writes this index")
        for number in range(0, len(texts), PER_FILE):
            chunks, line, some = [], 1, texts[number : number + PER_FILE]
            for text in some:
                chunks.append(Chunk(line, line + text.count("\n"), text))
                line = chunks[-1].end_line + 1
            file = IndexedFile(f"folder/file{number}.md", Stamp(1, 1, 1, number), f"{number:064}", "markdown", 0)
            writer.put(folder, file, "\n".join(some), chunks)


def _load_vectors(url: str, size: int) -> float:
    """Return how many generated vectors of one owner are written in a second."""
    database = new_tenant(url)
    own = IndexRows(database, Owner("user", "vectors", ""), "notes")
    path = TableGenerations(database, own, "notes").begin()
    table = TableVectors(own.of(int(path.name)), DIMENSIONS)
    matrix = np.random.default_rng(7).standard_normal((size, DIMENSIONS)).astype("<f4")
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    began = time.perf_counter()
    for first in range(0, size, AT_ONCE):
        table.write({first + at: row.tobytes() for at, row in enumerate(matrix[first : first + AT_ONCE])}, ())
    taken = time.perf_counter() - began
    database.close()
    return size / taken


def _analyze(url: str) -> None:
    """Let the server count its rows, as it does by itself after a while."""
    with psycopg.connect(as_superuser(url), autocommit=True) as raw:
        raw.execute("ANALYZE")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench postgres")
    parser.add_argument("--full", action="store_true", help="the sizes that the goal names; takes an hour or more")
    parser.add_argument("--chunks", type=int, nargs="+", default=[2_000, 20_000], help="the sizes of the index")
    parser.add_argument("--turns", type=int, default=2_000)
    parser.add_argument("--owners", type=int, default=200)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--rounds", type=int, default=160, help="pieces of work of each side")
    words = sys.argv[1:]
    found = words[next((at for at, word in enumerate(words) if word.startswith("-")), len(words)) :]
    options = parser.parse_args(found)
    if options.full:
        vars(options).update(FULL)
    return options


if __name__ == "__main__":
    main()

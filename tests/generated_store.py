"""A workspace with something of everything that a database can hold, of several owners, and with odd texts."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from promptuary.base.messages import Item, ToolCall
from promptuary.base.principals import LOCAL, Principal
from promptuary.blocking import Promptuary
from promptuary.database.columns import to_column
from promptuary.database.port import Connection
from promptuary.database.transfer import Digest, tables
from promptuary.memory.values import STATUSES
from promptuary.models.chat_model import ToolSpec
from promptuary.search.vectors.store import Vectors
from promptuary.state import StateDatabase
from promptuary.testing.scripted import ScriptedStream
from promptuary.testing.word_embedder import unit_vector
from promptuary.threads.records import ThreadChange
from promptuary.threads.run_values import Tool
from tests.suites.writeback import FIRST, ONE, SECOND, TWO

PEOPLE: Final = (LOCAL, Principal("ada"), Principal("ada", agent="reviewer"), Principal("bob", group="team"))
ODD: Final = (
    "a\0b",
    "lone \ud800 and \udfff",
    "\x10\x101",
    "\ue000\U0010ffff",
    "Ünïcödé 🎈",
    "'; DROP TABLE item; --",
    "",
)
"""Texts that databases store differently, or not at all: NUL, lone surrogates, and what these are escaped with."""
NUMBERS: Final = (None, -0.0, float("inf"), 5e-324, 0.1, -1e300, 3.0)
STATE: Final = Path(".promptuary", "state.db")

_ECHO: Final = Tool(ToolSpec("echo", "Repeats.", {"type": "object"}), lambda given: f"heard {given.get('word')}")


def fill(folder: Path, turns: int = 3) -> None:
    """Let several people use the workspace in ``folder``, whose state is in a file."""
    (folder / "a.md").write_text("We deploy with the blue script.\n")
    with Promptuary.open(folder, exact=True, embedder="none") as workspace:
        for person in PEOPLE:
            _use(workspace.acting_as(person), person, turns)
    state = StateDatabase(folder / STATE)
    for number, person in enumerate(PEOPLE):
        _store(state, person, number)
    state.close()
    for owner in (None, PEOPLE[1].owner):
        vectors = Vectors(folder / STATE, owner)
        vectors.put(
            "words \ud812", {hashlib.sha256(bytes([n])).hexdigest(): unit_vector(n, 1, 2) for n in range(1, 99)}
        )
        vectors.close()


def _use(p: Promptuary, person: Principal, turns: int) -> None:
    whose = f"{person.user} {person.agent}"
    for number in range(turns):
        turn = p.threads.prepare(f"{whose} asks {number} of #a.md and @file:a.md", thread="talk")
        p.threads.finish(turn, f"An answer to {whose}.", cost=0.125)
    script: list[list[str | ToolCall | Exception]] = [
        [ToolCall("c", "echo", json.dumps({"word": whose}))],
        [f"It is {whose}."],
    ]
    p.threads.run("Use the tool.", ScriptedStream(script), [_ECHO], thread="tools")
    p.threads.prepare("left unanswered", thread="open")
    note = p.memory.write(f"{whose} decided to deploy on Fridays.", title=f"Of {whose}", kind="project")
    p.memory.write(id=note.header.id, content="On Mondays.", reason="it changed")
    p.threads.finish(p.threads.prepare(f"What says @memory:{note.header.id}?", thread="talk"), "Nothing.")
    gone = p.memory.write(f"{whose} is gone.", title="Gone", kind="project")
    p.memory.forget(gone.header.id)
    p.experiences.add("task_solution", f"how {whose} builds", "make", tags=["build"])
    p.experiences.track_preference("indentation", f"tabs of {whose}")
    p.sessions.create("plan", roots=["a.md"])


def _store(state: StateDatabase, person: Principal, number: int) -> None:
    """Add what the public interface only makes with a model, and texts that it would not accept."""
    threads = state.threads(person)
    for place, text in enumerate(ODD):
        item = Item(f"{number}-{place}{text}", "user", f"{text} is odd")
        threads.apply(ThreadChange(f"odd {place}", items=[item]))
    state.proposals(person).add(replace(FIRST, reason=ODD[1]))
    state.proposals(person).add(SECOND)
    state.proposals(person).remove(SECOND.id, rejected=True)
    state.writeback_queue(person).add(replace(ONE, text=ODD[0]))
    state.writeback_queue(person).add(replace(TWO, due=None))


def add_odd_rows(state: StateDatabase) -> None:
    """Add rows with odd texts in their keys, odd numbers, and to the tables that nothing else fills."""

    def add(own: Connection) -> None:
        columns = [to_column(text) for text in ODD]
        own.executemany("INSERT INTO brought_note (tenant, path) VALUES (1, ?)", [(text,) for text in columns])
        own.executemany(
            "INSERT INTO note_file (tenant, space, path, reader, stamp, content) VALUES (1, 'agents/x', ?, 9, ?, ?)",
            [(text, 2**63 - 1 - place, bytes([0, 255, place])) for place, text in enumerate(columns)],
        )
        own.executemany(
            "INSERT INTO unforgotten (tenant, owner, note, everywhere) VALUES (1, 0, ?, 1)",
            [(text,) for text in columns],
        )
        own.executemany(
            "INSERT INTO writeback_turn (tenant, owner, turn, place, thread, at, body, due, leased, tries, error) "
            "VALUES (1, 9, ?, ?, ?, '', ?, ?, ?, 0, '')",
            [
                (text, 2**63 - 1 - place, text, text, due, 1e308)
                for place, (text, due) in enumerate(zip(columns, NUMBERS, strict=True))
            ],
        )

    state.database.write(add)


def answers(folder: Path) -> Mapping[str, Any]:
    """Return what the public interface tells everybody, wherever the state of the workspace is."""
    told: dict[str, Any] = {}
    with Promptuary.open(folder, exact=True, embedder="none") as workspace:
        for person in PEOPLE:
            p = workspace.acting_as(person)
            names = [one.id for one in p.threads.list()]
            told[repr(person)] = {
                "threads": repr(p.threads.list()),
                "history": [repr(p.threads.history(thread=name, everything=True)) for name in names],
                "turns": [repr(p.threads.turns(thread=name)) for name in names],
                "replay": repr(p.threads.replay(thread="talk", number=1)),
                "sources": repr(p.threads.audit("a.md")),
                "notes": repr(p.memory.list(statuses=STATUSES)),
                "changes": [repr(p.memory.history(one.id)) for one in p.memory.list()],
                "proposals": repr(p.memory.proposals()),
                "experiences": repr(p.experiences.list()),
                "sessions": repr(p.sessions.list()),
                "feed": repr(p.changes("start", limit=1000).changes),
            }
    return told


def empty_tables(found: Mapping[str, Digest]) -> set[str]:
    """Return the tables without any row."""
    return {table.name for table in tables() if not found[table.name].rows}

"""How many notes there are is kept beside them: whatever is done to notes, it is what counting them would give."""

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from promptuary.base.principals import LOCAL, Principal
from promptuary.blocking import Promptuary
from promptuary.memory.values import AUDIENCES, KINDS, NoteStatus

COUNTED = "SELECT space, reader, kind, status, count(*) FROM note WHERE reader IS NOT NULL GROUP BY 1, 2, 3, 4"
KEPT = "SELECT space, reader, kind, status, count FROM note_count WHERE count <> 0"
AGENT = Path(".promptuary/memory/agents/default")


def both(workspace: Path) -> tuple[Sequence[object], Sequence[object]]:
    with closing(sqlite3.connect(workspace / ".promptuary/state.db")) as database:
        return sorted(database.execute(KEPT).fetchall()), sorted(database.execute(COUNTED).fetchall())


def test_whatever_is_done_to_notes_their_number_is_what_counting_them_gives(workspace: Path) -> None:
    chance = random.Random(7)
    statuses: Sequence[NoteStatus] = ("active", "archived", "frozen")
    for principal in (LOCAL, Principal("ada")):
        with Promptuary.open(workspace, principal=principal, exact=True, embedder="none") as p:
            ids = [p.memory.write(f"Note {n}", kind=chance.choice(KINDS), scope="project").header.id for n in range(8)]
            for number, note in enumerate(ids[:6]):
                p.memory.write(
                    id=note, kind=chance.choice(KINDS), status=chance.choice(statuses), content=f"N {number}"
                )
            p.memory.write(id=ids[6], audience=AUDIENCES[1])
            p.memory.forget(ids[7])
            (workspace / AGENT / "shared/project").mkdir(exist_ok=True, parents=True)
            (workspace / AGENT / f"shared/project/{principal.user}.md").write_text("By hand.")
            p.memory.unadopted()
            kept, counted = both(workspace)
            assert kept == counted
            assert p.memory.list(statuses=statuses).total == len(p.memory.list(statuses=statuses).headers)
    assert len(both(workspace)[1]) > 4

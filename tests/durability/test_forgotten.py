"""After a note is forgotten, no byte of it is in the ledger, the journal, the vectors or the index, nor comes back."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from promptuary.base.principals import LOCAL, Principal
from promptuary.blocking import Promptuary
from promptuary.database.contents import unpack
from promptuary.memory.digest_layer import MemoryDigest
from promptuary.memory.layer import MemoryRecall
from promptuary.memory.recall.digest import read_digest
from promptuary.memory.recall.index import RECIPE, NoteIndex
from promptuary.memory.recall.select import RecallPolicy, Selector
from promptuary.memory.recall.visible import NoteKey
from promptuary.memory.values import Note, NoteChange, NoteStamp
from promptuary.search.chunks.lines import Sizes
from promptuary.search.index.index import DiskIndex
from promptuary.search.kind_index import SearchBackend
from promptuary.search.vectors.store import Vectors
from promptuary.state import StateDatabase
from promptuary.testing.word_embedder import WordEmbedder
from tests.notes import COUNTER, NOW, Shelf, note

NONCES = ("Xq7TitleVbn", "Xq7BodyVbn", "Xq7SummaryVbn", "Xq7TagVbn")
TITLE, BODY, SUMMARY, TAG = NONCES
KEY = note(
    "spare-key",
    f"The spare key lies under the blue pot. {BODY}\n" + "The pot stands in the garden.\n" * 40,
    title=f"Spare key {TITLE}",
    summary=f"where the spare key is, {SUMMARY}",
    tags=(TAG,),
    audience="shared",
    path="shared/reference/spare-key.md",
)
CANTEEN = note("canteen", "The canteen closes at two.", title="Canteen")
ASKED = "Where does the spare key lie, under which pot?"
EVE = Principal("eve")
SPACE = "agents/default"


def test_no_byte_of_a_forgotten_note_is_left(tmp_path: Path) -> None:
    shelf = Shelf(KEY, CANTEEN)
    with opened(tmp_path, shelf, LOCAL) as (promptuary, search):
        recorded(tmp_path, KEY)
        for message in (ASKED, "And when does the canteen close?"):
            promptuary.threads.finish(promptuary.threads.prepare(message), "So it is.")
        search.embed()
        search.mark_changed([NoteKey("project", "canteen")])
        pending = promptuary.threads.prepare(ASKED, thread="pending")
        with opened(tmp_path, shelf, EVE) as (hers, her_search):
            hers.threads.finish(hers.threads.prepare(ASKED), "Yes.")
            shelf.drop("spare-key")
            forget(tmp_path, search)
            her_search.rebuild()  # each principal has an index of notes
        promptuary.threads.finish(pending, "There.")
        assert promptuary.threads.history()[0].content == ASKED

    assert found_in(tmp_path) == []
    for principal in (LOCAL, EVE):
        with opened(tmp_path, shelf, principal) as (promptuary, _):
            replay = promptuary.threads.replay(number=1)
            assert list(replay.forgotten) == ["memory:spare-key"]
            prompt = "\n".join(message["content"] for message in replay.turn.messages)
            assert prompt.count("[forgotten: memory:spare-key]") == 2
            assert "The canteen closes at two" in prompt or "Canteen (memory:canteen)" in prompt
            assert "spare-key" not in "\n".join(m["content"] for m in promptuary.threads.prepare(ASKED).messages[:-3])


def test_the_nonces_are_found_before_the_note_is_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path, Shelf(KEY), LOCAL) as (promptuary, search):
        recorded(tmp_path, KEY)
        promptuary.threads.finish(promptuary.threads.prepare(ASKED), "So it is.")
        search.embed()

    assert {nonce for nonce, _ in found_in(tmp_path)} == set(NONCES)


@pytest.mark.parametrize("step", range(5))
def test_a_step_that_was_not_done_can_be_done_again(tmp_path: Path, step: int) -> None:
    shelf = Shelf(KEY, CANTEEN)
    with opened(tmp_path, shelf, LOCAL) as (promptuary, search):
        recorded(tmp_path, KEY)
        promptuary.threads.finish(promptuary.threads.prepare(ASKED), "So it is.")
        search.embed()
        shelf.drop("spare-key")
        forget(tmp_path, search, steps=step)
    with opened(tmp_path, shelf, LOCAL) as (_, search):
        forget(tmp_path, search)

    assert found_in(tmp_path) == []


def forget(folder: Path, search: NoteIndex, steps: int = 5) -> None:
    """Forget the note as far as ``steps`` say."""
    key, texts = NoteKey("project", "spare-key"), (KEY.header.title, KEY.header.summary, KEY.body)
    with closing(StateDatabase(state_of(folder))) as state, closing(Vectors(state_of(folder))) as vectors:
        forgetting = state.forgetting(LOCAL)
        todo = [
            lambda: vectors.remove(search.hashes(key)),
            search.rebuild,
            lambda: forgetting.redact_note(KEY.header.address, texts),
            lambda: state.notes(SPACE).forget("spare-key", at=NOW, actor="local"),
            forgetting.purge,
        ]
        for one in todo[:steps]:
            one()
        assert forgetting.places(KEY.header.address, texts) == ()


def recorded(folder: Path, one: Note) -> None:
    with closing(StateDatabase(state_of(folder))) as state:
        change = NoteChange(one.header.id, "create", NOW, "local", one.header.rev, one.header.path, text=f"{one}")
        state.notes(SPACE).record([(change, one.header, NoteStamp(1, 2, 3, 4))])


@contextmanager
def opened(folder: Path, shelf: Shelf, principal: Principal) -> Iterator[tuple[Promptuary, NoteIndex]]:
    """Open a workspace with the layers of memory, their index and vectors below ``.promptuary``."""
    visible = shelf.visible()
    with Promptuary.open(folder, exact=True, principal=principal) as first:
        first.threads.prepare("Hello.", thread="first")  # which makes the database
    search = index_at(folder, shelf, principal)
    selector = Selector(lambda query: search.find(query, timeout=30.0), visible, RecallPolicy(), None)
    layers = [MemoryDigest(lambda: read_digest(visible)), MemoryRecall(selector, visible)]
    try:
        with Promptuary.open(folder, exact=True, principal=principal, layers=layers) as promptuary:
            yield promptuary, search
    finally:
        search.close()


def index_at(folder: Path, shelf: Shelf, principal: Principal) -> NoteIndex:
    def open_backend() -> SearchBackend:
        where = folder / ".promptuary" / f"notes-of-{principal.user}"
        where.mkdir(exist_ok=True)
        vectors, embedder = Vectors(state_of(folder)), WordEmbedder()
        return SearchBackend(DiskIndex(where, RECIPE, store=vectors, embedder=embedder), vectors, embedder)

    return NoteIndex(open_backend, shelf.visible(), COUNTER, Sizes())


def state_of(folder: Path) -> Path:
    return folder / ".promptuary" / "state.db"


def found_in(folder: Path) -> list[tuple[str, str]]:
    """Return which nonces stand in which files, packed texts of the database unpacked. Nothing may be open."""
    texts = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(name.endswith("state.db") for name in texts)
    with closing(sqlite3.connect(f"file:{state_of(folder)}?mode=ro", uri=True)) as database:
        for table in ("content", "state", "note_text"):
            rows = database.execute(f"SELECT sha256, packed, body FROM {table}").fetchall()
            texts[table] = "\n".join(unpack(*row) for row in rows).encode()
    return [(nonce, name) for name, data in texts.items() for nonce in NONCES if nonce.lower().encode() in data.lower()]

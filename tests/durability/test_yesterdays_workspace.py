"""A workspace made by the version before principals opens with everything that it had.

The fixture's own README says how it was made. The test copies it and puts the new place where the old one stood, as if
the earlier version had worked here.
"""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.core.json import receipt_json
from promptuary.core.layers import Layer, LayerContext, Reply, Scope
from promptuary.core.messages import Item
from promptuary.core.ports.models import Purpose
from promptuary.core.ports.threads import TurnRecord
from promptuary.core.principals import LOCAL, Principal
from promptuary.core.search import Filters, SearchQuery
from promptuary.models.minilm import MiniLM, available

FIXTURE = Path(__file__).parents[1] / "fixtures" / "workspace_before_principals"
EXPECTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8"))
THREADS = [one["name"] for one in EXPECTED["threads"]]

needs_model = pytest.mark.skipif(not available(), reason="the extra is not installed")


class Tally(Layer):
    """Counts the replies of its scope, as the layer did that the fixture was made with."""

    def __init__(self, scope: Scope) -> None:
        self.id = f"tally_{scope}"
        self.scope = scope
        self.found: Any = None

    async def init(self, context: LayerContext) -> None:
        self.found = context.state

    async def store(self, reply: Reply, context: LayerContext) -> None:
        context.state = {"replies": context.state["replies"] + 1, "last": reply.text[:40]}


@pytest.fixture
def yesterday(tmp_path: Path) -> Path:
    """Return a copy of the workspace, in which every path of the old place is one of the new."""
    root = tmp_path.resolve() / "project"
    shutil.copytree(FIXTURE / "project", root)
    shutil.copytree(FIXTURE / "handbook", root.parent / "handbook")
    shutil.copytree(FIXTURE / "promptuary", root / ".promptuary")
    before, now = str(Path(EXPECTED["made_at"]).parent), str(root.parent)
    with closing(sqlite3.connect(root / ".promptuary" / "index" / "1" / "catalog.db")) as catalog, catalog:
        catalog.execute("UPDATE folder SET path = replace(path, ?, ?)", (before, now))
    with closing(sqlite3.connect(root / ".promptuary" / "state.db")) as state, state:
        state.execute("UPDATE state SET scope_key = replace(scope_key, ?, ?)", (before, now))
    remembered = Path(os.environ["HOME"], ".local", "state", "promptuary", "folders")
    remembered.mkdir(parents=True)
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    text = (FIXTURE / "folders.json").read_text(encoding="utf-8")
    (remembered / f"{name}.json").write_text(text.replace(before, now), encoding="utf-8")
    with opened(root) as promptuary:
        promptuary.adopt()  # it has no owner yet: an archive could hold such a database
    return root


@contextmanager
def opened(
    root: Path, layers: Sequence[Layer] = (), *, principal: Principal = LOCAL, **options: Any
) -> Iterator[Promptuary]:
    settings = EXPECTED["settings"] | {"embedder": "none"} | options
    with Promptuary.open(root, principal=principal, exact=True, layers=layers, **settings) as promptuary:
        yield promptuary


def as_item(one: Item) -> dict[str, Any]:
    return {
        "id": one.id,
        "role": one.role,
        "content": one.content,
        "calls": [[call.id, call.name, call.arguments] for call in one.tool_calls],
        "answers": one.tool_call_id,
        "kind": one.kind,
        "stands_for": list(one.stands_for),
        "turn": one.turn,
        "pinned": one.pinned,
    }


def as_turn(one: TurnRecord) -> dict[str, Any]:
    return {
        "id": one.id,
        "number": one.number,
        "created": one.created,
        "status": one.status,
        "text": one.text,
        "messages": list(one.messages),
        "receipt": receipt_json(one.receipt),
    }


def in_todays_words(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a turn as it was recorded: the fate of an entry is its status, and trust and lines are not known."""
    entries = [
        {"status" if name == "fate" else name: value for name, value in entry.items()} | {"trust": None, "lines": None}
        for entry in turn["receipt"]["entries"]
    ]
    return turn | {"receipt": turn["receipt"] | {"entries": entries}}


def test_its_threads_are_those_of_the_person_on_this_machine(yesterday: Path) -> None:
    with opened(yesterday) as promptuary:
        threads = [
            {"name": one.id, "created": one.created, "updated": one.updated, "turns": one.turns, "items": one.items}
            for one in promptuary.threads.list()
        ]

    assert threads == EXPECTED["threads"]


@pytest.mark.parametrize("thread", THREADS)
def test_every_turn_has_its_prompt_and_its_receipt(yesterday: Path, thread: str) -> None:
    with opened(yesterday) as promptuary:
        turns = [as_turn(one) for one in promptuary.threads.turns(thread=thread)]

    assert turns == [in_todays_words(one) for one in EXPECTED["turns"][thread]]


@pytest.mark.parametrize("thread", THREADS)
def test_the_history_is_there_compacted_and_as_it_was_said(yesterday: Path, thread: str) -> None:
    with opened(yesterday) as promptuary:
        history = [as_item(one) for one in promptuary.threads.history(thread=thread)]
        everything = [one.id for one in promptuary.threads.history(thread=thread, everything=True)]
        stats = promptuary.threads.stats(thread=thread)

    assert history == EXPECTED["history"][thread]
    assert everything == EXPECTED["everything"][thread]
    assert {name: getattr(stats, name) for name in EXPECTED["stats"][thread]} == EXPECTED["stats"][thread]


@pytest.mark.parametrize("thread", THREADS)
def test_what_was_tracked_pinned_and_queued_still_is(yesterday: Path, thread: str) -> None:
    with opened(yesterday) as promptuary:
        view = promptuary.threads.attachments(thread=thread)

    expected = EXPECTED["view"][thread]
    names = expected["tracked"][0]
    assert [{name: getattr(one, name) for name in names} for one in view.tracked] == expected["tracked"]
    assert list(view.queued) == expected["queued"]


def test_a_turn_that_was_pending_is_pending_and_the_next_one_follows_it(yesterday: Path) -> None:
    pending = EXPECTED["pending"]
    with opened(yesterday) as promptuary:
        replay = promptuary.threads.replay(thread=pending["thread"])
        turn = promptuary.threads.prepare("And one for add().", thread=pending["thread"])
        promptuary.threads.finish(turn, "Here it is.")
        statuses = [one.status for one in promptuary.threads.turns(thread=pending["thread"])]

    assert (replay.turn.id, replay.turn.number, replay.turn.status) == (pending["id"], pending["number"], "prepared")
    assert replay.drift == []
    assert turn.number == pending["number"] + 1
    assert "## notes/" in turn.messages[-1]["content"]  # the folder that was queued
    assert statuses == ["finished", "abandoned", "prepared", "finished"]


def test_layers_find_the_states_of_every_scope_and_go_on_from_them(yesterday: Path) -> None:
    layers = [Tally("thread"), Tally("resource"), Tally("global")]
    with opened(yesterday, layers) as promptuary:
        turn = promptuary.threads.prepare("One more?", thread="release")
        receipt = promptuary.threads.finish(turn, "One more.")
    again = [Tally("thread"), Tally("resource"), Tally("global")]
    with opened(yesterday, again) as promptuary:
        promptuary.threads.prepare("Another?", thread="release")

    kept = {one["layer"]: one["value"] for one in EXPECTED["states"] if one["scope_key"] != "thread:stock"}
    assert receipt.failures == ()
    assert {layer.id: layer.found for layer in layers} == kept
    assert {layer.id: layer.found["replies"] for layer in again} == {
        name: value["replies"] + 1 for name, value in kept.items()
    }


@pytest.mark.parametrize("other", [Principal("bob"), Principal(agent="reviewer"), Principal(group="team")], ids=str)
def test_nobody_else_sees_them_and_their_names_are_free(yesterday: Path, other: Principal) -> None:
    with opened(yesterday, principal=other, recall_tokens=0) as promptuary:
        assert list(promptuary.threads.list()) == []
        for thread in THREADS:
            assert list(promptuary.threads.turns(thread=thread)) == []
            assert list(promptuary.threads.history(thread=thread, everything=True)) == []
            attached = promptuary.threads.attachments(thread=thread)
            assert [*attached.tracked, *attached.queued] == []
        turn = promptuary.threads.prepare("Is somebody here?", thread="release")
    with opened(yesterday) as promptuary:
        turns = [as_turn(one) for one in promptuary.threads.turns(thread="release")]

    assert turn.number == 1
    assert turn.messages == [{"role": "user", "content": "Is somebody here?"}]
    assert turns == [in_todays_words(one) for one in EXPECTED["turns"]["release"]]


def test_what_was_indexed_is_found_by_words_and_has_the_same_chunks(yesterday: Path) -> None:
    """The index is rebuilt once, since secrets are masked in it now; these files have none."""
    before = indexed_chunks(yesterday)
    with opened(yesterday) as promptuary:
        for asked in EXPECTED["search"][:1]:
            found = promptuary.search.find(SearchQuery(asked["text"], 3, lexical_only=True))
            assert [(hit.path, [hit.start_line, hit.end_line], hit.text) for hit in found.hits] == [
                (hit["path"], hit["lines"], hit["text"]) for hit in asked["hits"]
            ]
            assert found.notes == ()
        indexed = promptuary.search.status()

    assert (indexed.counts.files, indexed.counts.chunks) == (6, 6)
    assert [(Path(folder.path).name, folder.files) for folder in indexed.folders] == [("project", 5), ("handbook", 1)]
    assert indexed_chunks(yesterday)[1] == before[1]


@needs_model
def test_it_is_searched_by_meaning_and_nothing_is_embedded_again(
    yesterday: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[Purpose] = []
    embed = MiniLM.embed

    def counting(self: MiniLM, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        asked_for.extend([purpose] * len(texts))
        return embed(self, texts, purpose)

    monkeypatch.setattr(MiniLM, "embed", counting)
    before = indexed_chunks(yesterday)[1], vectors(yesterday)
    with opened(yesterday, embedder="minilm") as promptuary:
        promptuary.search.index()
        promptuary.search.embed()
        for asked in EXPECTED["search"]:
            filters = Filters(labels=tuple(asked["owners"]))
            found = promptuary.search.find(SearchQuery(asked["text"], 3, filters, lexical_only=asked["words_alone"]))
            places = [(Path(hit.folder).name, hit.path, [hit.start_line, hit.end_line]) for hit in found.hits]
            # The ranking has changed since; what is found first has not.
            assert places[:1] == [(hit["folder"], hit["path"], hit["lines"]) for hit in asked["hits"]][:1]
            assert (found.mode, found.partially_embedded, found.notes) == (asked["mode"], False, ())
        synced = promptuary.search.index()
        made = promptuary.search.embed()
        indexed = promptuary.search.status()

    assert set(asked_for) == {"query"}
    assert (made, indexed.counts.unembedded, indexed.embedder) == (0, 0, EXPECTED["indexed"]["embedder"])
    assert (synced.added, synced.changed, synced.removed) == (0, 0, 0)
    assert (indexed_chunks(yesterday)[1], vectors(yesterday)) == before


def indexed_chunks(root: Path) -> tuple[str, list[Any]]:
    """Return which generation of the index is used, and its chunks with the numbers that they have in it.

    Of each chunk those columns that every version has had, some under another name: number, file, lines, heading, hash.
    """
    generation = (root / ".promptuary" / "index" / "current").read_text(encoding="utf-8").strip()
    with closing(sqlite3.connect(root / ".promptuary" / "index" / generation / "catalog.db")) as catalog:
        return generation, [row[:6] for row in catalog.execute("SELECT * FROM chunk ORDER BY id")]


def vectors(root: Path) -> list[Any]:
    """Return the vectors by the hashes of their chunks."""
    with closing(sqlite3.connect(root / ".promptuary" / "state.db")) as state:
        return state.execute("SELECT sha256, body FROM vector ORDER BY sha256").fetchall()

"""The page on file memory from which this project grew: its sentences are true here, and its defects are absent.

A docstring tells a sentence of the page, or names a defect (B1 to B11). Larger tests of the same are elsewhere: replay,
audit and isolation in ``tests/properties``, kills in ``tests/durability``; B2, B3, B8, B9 and B11 in
``tests/unit/experiences``.
"""

import inspect
import json
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Item, Message
from promptuary.blocking import Promptuary
from promptuary.search.values import FilesSynced, IndexUpdate, SearchQuery
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.indexes import search_of

PAGE = (Path(__file__).parents[2] / "docs" / "decisions" / "names.md").read_text(encoding="utf-8")
ROWS = dict(
    re.findall(r"^\| `(\w+)\(.*?\)` \| (.*) \|$", PAGE.partition("## The page on file memory")[2], re.MULTILINE)
)
PATIENCE = 20.0
"""Seconds after which waiting is a failure."""
PARTS = [f"## Part {number}\n\n" + f"harbour{number} crane{number} quay{number}.\n" * 30 for number in range(6)]


def opened(path: Path, **options: object) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", **options)  # type: ignore[arg-type]  # settings by name


def replies(number: int) -> Sequence[Message]:
    """Return what an assistant does with a tool, and says."""
    call = {"id": f"c{number}", "name": "read", "arguments": json.dumps({"page": number})}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},  # type: ignore[list-item]  # as programs write it
        {"role": "tool", "content": f"Berth {number} is free. " * 40, "tool_call_id": f"c{number}"},
        {"role": "assistant", "content": f"Berth {number} is free."},
    ]


# Its names


def create(p: Promptuary) -> bool:
    return p.sessions.create("release").thread == "release"


def archive(p: Promptuary) -> bool:
    p.sessions.create("release")
    p.sessions.archive("release")
    with pytest.raises(PromptuaryError, match="archived"):
        p.threads.prepare("Hello", thread="release")
    return True


def find(p: Promptuary) -> bool:
    p.experiences.add("task_solution", "build the docs", "make docs", tags=["docs"])
    return len(p.experiences.find_similar("how to build docs", ["docs"], 1).hits) == 1


def prefer(p: Promptuary) -> bool:
    first = p.experiences.track_preference("indentation", "tabs").confidence
    return first < p.experiences.track_preference("indentation", "tabs").confidence


def use(p: Promptuary) -> bool:
    made = p.experiences.add("task_solution", "build the docs", "make docs")
    return p.experiences.mark_used(made.id).use_count == made.use_count + 1


def decay(p: Promptuary) -> bool:
    made = p.experiences.add("task_solution", "build the docs", "make docs")
    p.experiences.apply_decay(half_life_days=10)
    now = p.experiences.get(made.id)
    return now is not None and now.weight <= made.weight and now.half_life_days == 10


def prune(p: Promptuary) -> bool:
    made = p.experiences.add("task_solution", "build the docs", "make docs")
    p.experiences.feedback(made.id, "stale")
    return [one.id for one in p.experiences.prune_expired(0.5).experiences] == [made.id]


def count(p: Promptuary) -> bool:
    p.threads.finish(p.threads.prepare("Hello"), "Hello.")
    return (p.threads.stats(thread="main").messages, p.experiences.stats().total) == (2, 0)


def compaction(p: Promptuary) -> bool:
    return p.threads.needs_compaction(thread="main") is False


DEEDS: dict[str, Callable[[Promptuary], bool]] = {
    "createMemorySession": create,
    "archiveSession": archive,
    "findSimilarExperiences": find,
    "trackPreference": prefer,
    "markUsed": use,
    "applyDecay": decay,
    "pruneExpired": prune,
    "getMemoryStats": count,
    "needsCompaction": compaction,
}


def test_the_table_of_names_has_a_row_for_each_name_of_the_page() -> None:
    assert ROWS.keys() == DEEDS.keys()


@pytest.mark.parametrize("name", DEEDS)
def test_what_a_row_names_exists_with_its_arguments_and_does_what_the_page_says(workspace: Path, name: str) -> None:
    calls = re.findall(r"`p\.(\w+)\.(\w+)\((.*?)\)", ROWS[name])
    with opened(workspace) as p:
        for part, method, arguments in calls:
            accepted = inspect.signature(getattr(getattr(p, part), method)).parameters
            named = [one.partition("=")[0].strip() for one in arguments.split(",")]
            assert {one for one in named if one not in {"", "id", "…"}} <= set(accepted)

        assert calls
        assert DEEDS[name](p)


# Chunking and auto-sync


def test_files_are_split_into_overlapping_chunks_of_configurable_size(files: Files) -> None:
    """The page: files are split into overlapping chunks of configurable size."""
    root = files({"log.txt": "".join(f"entry {number} of the harbour\n" for number in range(200))})
    found = {}
    for size in (64, 256):
        with search_of(root, chunk_tokens=size, chunk_overlap=16) as service:
            service.index([root], rebuild=True)
            hits = service.find(SearchQuery("harbour", 1_000, per_file=0)).hits
            found[size] = sorted((hit.start_line, hit.end_line) for hit in hits)

    assert len(found[64]) > len(found[256]) > 1
    assert all(first[1] >= second[0] for first, second in zip(found[64], found[64][1:], strict=False))


def test_b4_a_chunk_has_its_path_its_very_lines_and_its_text(files: Files) -> None:
    """The page: each chunk stores path, startLine/endLine, text. B4: every chunk began at line 1."""
    text = "# Port\n\n" + "\n".join(PARTS)
    root = files({"docs/port.md": text})
    with search_of(root) as service:
        service.index([root])
        hit = service.find(SearchQuery("crane4")).hits[0]

    assert hit.path == "docs/port.md"
    assert hit.start_line > 100
    assert "\n".join(text.splitlines()[hit.start_line - 1 : hit.end_line]) == hit.text.rstrip("\n")


def test_b5_unchanged_chunks_are_not_embedded_again(files: Files) -> None:
    """The page: the hash avoids re-indexing unchanged chunks. B5: any edit embedded the whole file again."""
    root, embedder = files({"port.md": "".join(PARTS)}), HashedWords()
    with search_with(root, embedder) as service:
        service.index([root])
        service.embed()
        before = len(embedder.passages)
        (root / "port.md").write_text("".join([*PARTS[:-1], "## Last\n\nThe lighthouse.\n"]))
        service.index([])
        service.embed()

    assert before >= len(PARTS)
    assert len(embedder.passages) - before <= 2


def test_b5_the_last_of_more_than_a_thousand_chunks_is_found_by_meaning(files: Files) -> None:
    """B5: only 1,000 vectors were compared, in no order."""
    root, embedder = files({f"{number}.txt": f"berth{number} quay" for number in range(1_100)}), HashedWords()
    with search_with(root, embedder) as service:
        service.index([root])
        service.embed()
        found = [service.find(SearchQuery(f"berth{number}")).hits[0] for number in (0, 550, 1_099)]

    assert [hit.path for hit in found] == ["0.txt", "550.txt", "1099.txt"]
    assert all(hit.why.cosine is not None for hit in found)


def test_b1_the_next_search_syncs_what_has_changed_though_nobody_started_a_watcher(files: Files) -> None:
    """The page: the next search automatically triggers a sync (autoSynced: true). B1: that was off by default."""
    root = files({"a.md": "The harbour.\n"})
    with opened(root) as p:
        p.search.index(".")
        (root / "b.md").write_text("The lighthouse.\n")
        found = p.search.find("lighthouse")

        assert ([hit.path for hit in found.hits], found.auto_synced) == (["b.md"], True)
        assert not p.search.find("lighthouse").auto_synced


def test_b1_a_watcher_syncs_by_itself_what_changes(files: Files) -> None:
    """The page: it watches, and triggers incremental re-sync when files change. B1: it watched nothing."""
    root = files({"a.md": "The harbour.\n", "same.md": "The quay.\n"})
    watching, synced = threading.Event(), threading.Event()

    def on_update(update: IndexUpdate) -> None:
        watching.set()
        if isinstance(update, FilesSynced) and update.report.changed:
            synced.set()

    with opened(root, watch_debounce=0.05) as p:
        p.search.index(".")
        p.search.watch(on_update)
        assert watching.wait(PATIENCE)
        (root / "a.md").write_text("The lighthouse.\n")
        assert synced.wait(PATIENCE)
        found = p.search.find("lighthouse")

    assert ([hit.path for hit in found.hits], found.auto_synced) == (["a.md"], False)


def test_b6_a_sync_that_ended_halfway_is_completed_by_the_next_search(files: Files) -> None:
    """B6: the hash of a file was stored before its chunks, so what was missing stayed missing."""
    root = files({f"{number}.md": f"The berth{number} is free.\n" for number in range(20)})

    def fails(done: int, _: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    with search_of(root) as service, pytest.raises(KeyboardInterrupt):
        service.index([root], progress=fails)
    with search_of(root) as service:
        service.index([root])
        found = [service.find(SearchQuery(f"berth{number}")).hits[0].path for number in range(20)]

    assert found == [f"{number}.md" for number in range(20)]


def test_b6_to_sync_one_folder_drops_nothing_of_another(files: Files) -> None:
    """B6: paths had no root, so a sync of one folder deleted the rows of the others."""
    root = files({"one/a.md": "The harbour.\n", "two/a.md": "The lighthouse.\n"})
    with search_of(root) as service:
        service.index([root / "one"])
        service.index([root / "two"])
        service.index([root / "one"])
        found = [[hit.text for hit in service.find(SearchQuery(one)).hits] for one in ("harbour", "lighthouse")]

    assert found == [["The harbour."], ["The lighthouse."]]


def test_b7_what_changes_during_a_sync_is_found_after_it(files: Files) -> None:
    """B7: a sync that ended cleared the mark of changes that had come in the meantime."""
    root = files({f"{number}.md": f"The berth{number} is free.\n" for number in range(20)})

    def change(done: int, _: int) -> None:
        if done == 19:
            for number in range(20):
                (root / f"{number}.md").write_text(f"The lighthouse{number} is dark.\n")

    with search_of(root) as service:
        service.index([root], progress=change)
        found = [service.find(SearchQuery(f"lighthouse{number}")).hits[0].path for number in range(20)]

    assert found == [f"{number}.md" for number in range(20)]


# Sessions


def test_a_session_tracks_what_was_loaded_replays_it_names_what_influenced_an_answer_and_is_apart(files: Files) -> None:
    """The page: session replay; auditing which files influenced a response; session isolation."""
    root = files({"one/plan.md": "Dredge the harbour.\n", "two/plan.md": "Paint the lighthouse.\n"})
    with opened(root) as p:
        p.sessions.create("one", roots=["one"])
        p.sessions.create("two", roots=["two"])
        turn = p.threads.prepare("What is the plan? @one/plan.md @two/plan.md", thread="one")
        p.threads.finish(turn, "To dredge it.")
        (root / "one/plan.md").write_text("Close the harbour.\n")

        replay = p.threads.replay(thread="one", number=1)
        assert list(replay.turn.messages) == list(turn.messages)
        assert [(one.path, one.kind) for one in replay.drift] == [("one/plan.md", "changed")]
        assert [(row.thread, row.number) for row in p.threads.audit("one/plan.md").rows] == [("one", 1)]
        assert [row.source for row in p.threads.sources(thread="one", number=1)] == ["file:one/plan.md"]
        assert "lighthouse" not in str(turn.messages)


# Experiences


def test_an_experience_has_the_fields_of_the_page_and_what_is_found_is_put_into_the_prompt(workspace: Path) -> None:
    """The page: intent, solution (arbitrary JSON), successScore, weight, useCount; what is found is injected."""
    with opened(workspace) as p:
        made = p.experiences.add("task_solution", "build the docs", {"run": ["make", "docs"], "tries": 2})
        assert (made.intent, made.solution["tries"]) == ("build the docs", 2)
        assert (made.success_score, made.weight, made.use_count) == (1.0, 1.0, 1)

        turn = p.threads.prepare("How do I build the docs?")
        assert "make" in str([one for one in turn.messages if one["content"] != "How do I build the docs?"])
        p.threads.finish(turn, "With make.")
        used = p.experiences.get(made.id)
        assert used is not None
        assert used.use_count == 2


# Context management


def test_b10_a_conversation_is_compacted_before_the_window_fills_and_nothing_is_lost(workspace: Path) -> None:
    """The page: track token usage, and trigger conversation compaction before the context window fills.

    B10: messages were dropped without a summary, a summary was made anew every turn, calls lost their results.
    """
    with opened(workspace, window=4_000, reply_reserve=500) as p:
        number = 0
        while not p.threads.needs_compaction():
            number += 1
            assert number < 40
            p.threads.finish(p.threads.prepare(f"Is berth {number} free?"), replies(number))
        full = p.threads.stats()
        said = p.threads.history()
        p.threads.finish(p.threads.prepare("And the last one?"), "Yes.")
        first = p.threads.history()
        p.threads.finish(p.threads.prepare("Thanks."), "Welcome.")
        second = p.threads.history()

    assert full.tokens < 4_000
    assert {one.id for one in said} <= {one for item in first for one in (item.id, *item.stands_for)}
    assert summaries(first) == summaries(second) != []
    calls = [call.id for item in first for call in item.tool_calls]
    assert calls == [item.tool_call_id for item in first if item.role == "tool"]


def summaries(items: Sequence[Item]) -> list[tuple[str, str]]:
    return [(one.id, one.content) for one in items if one.kind == "summary"]

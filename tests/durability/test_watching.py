"""However files change, what is found equals what an index made from scratch finds: with a watcher and without one."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from promptuary.config.settings import Settings
from promptuary.search.answer import answer
from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.lines import Sizes
from promptuary.search.service import SearchService
from promptuary.search.values import FilesSynced, IndexUpdate, SearchQuery, WatchModeChanged
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.changes.snapshot import snapshot
from promptuary.workspace.workspace import open_door
from tests.conftest import Figure
from tests.indexes import Place, index_of, search_of

PATIENCE = 20.0
"""Seconds after which waiting is a failure; the goal is 2 after the last event, and what it took is printed."""

PROBES = ["alpha", "beta", "gamma"]

Change = Callable[[Path], None]


def edit(root: Path) -> None:
    (root / "one.md").write_text("alpha edited\n\nbeta\n")


def create(root: Path) -> None:
    (root / "new.md").write_text("gamma created\n")


def rename(root: Path) -> None:
    (root / "two.md").rename(root / "renamed.md")


def delete(root: Path) -> None:
    (root / "three.md").unlink()


def replace_by_rename(root: Path) -> None:
    """Change a file as editors do: write another and put it in its place."""
    (root / ".one.md.swp").write_text("alpha replaced\n")
    (root / ".one.md.swp").replace(root / "one.md")


def nest(root: Path) -> None:
    """Make folders in folders, and files in them at once."""
    for number in range(5):
        deep = root / f"deep{number}/er/and/deeper"
        deep.mkdir(parents=True)
        (deep / "note.md").write_text(f"beta nested {number}\n")


def rename_folder(root: Path) -> None:
    (root / "folder").rename(root / "moved folder")


def remove_folder(root: Path) -> None:
    shutil.rmtree(root / "deep1")


def move_folder_in(root: Path) -> None:
    """Move a folder with files in it from elsewhere: no file of it is touched."""
    outside = root.parent / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub/in.md").write_text("gamma from outside\n")
    outside.rename(root / "from outside")


def ignore(root: Path) -> None:
    (root / ".gitignore").write_text("renamed.md\ndeep2/\n")


def swap(root: Path) -> None:
    (root / "new.md").rename(root / "aside.md")
    (root / "renamed.md").rename(root / "new.md")
    (root / "aside.md").rename(root / "renamed.md")


def rewrite_often(root: Path) -> None:
    for number in range(20):
        (root / "one.md").write_text(f"alpha written {number} times\n")


CHANGES: list[Change] = [
    edit,
    create,
    rename,
    delete,
    replace_by_rename,
    nest,
    rename_folder,
    remove_folder,
    move_folder_in,
    swap,
    ignore,
    rewrite_often,
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "folder/sub").mkdir(parents=True)
    for name in ("one.md", "two.md", "three.md", "folder/four.md", "folder/sub/five.md"):
        (root / name).write_text(f"# {name}\n\nalpha beta {name}\n")
    return root


def from_scratch(root: Path) -> list[set[Place]]:
    """Return what an index finds that is made of the files as they are now."""
    copy = root.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".promptuary"))
    with search_of(copy) as service:
        service.index([copy])
        return held(service)


def on_disk(root: Path) -> list[set[Place]]:
    """Return the same without an index: the chunks of the files as they are now that have each word."""
    sizes, counter = Sizes(256, 32), Counter(DEFAULT_VOCABULARY)
    found: list[set[Place]] = [set() for _ in PROBES]
    door = open_door(root, Settings())
    for path in snapshot(door).files:
        for chunk in chunks(door.read(path).text, path, sizes, counter):
            for place, probe in enumerate(PROBES):
                if probe in chunk.text:
                    found[place].add((path, chunk.start_line, chunk.end_line, chunk.text))
    door.close()
    return found


def held(service: SearchService) -> list[set[Place]]:
    """Return what the index holds, without looking whether it is up to date."""
    asked = [SearchQuery(probe, 100_000, per_file=0, merge_copies=False) for probe in PROBES]
    answered = [answer(one, index_of(service), None) for one in asked]
    return [{(hit.path, hit.start_line, hit.end_line, hit.text) for hit in one.hits} for one in answered]


@contextmanager
def keeping(service: SearchService) -> Iterator[list[IndexUpdate]]:
    updates: list[IndexUpdate] = []
    service.watch(updates.append)
    try:
        yield updates
    finally:
        service.stop()


def wait_for(service: SearchService, expected: list[set[Place]], patience: float = PATIENCE) -> None:
    """Wait until the index holds what is expected; fail if it never does."""
    began = time.monotonic()
    while held(service) != expected:
        assert time.monotonic() - began < patience, [
            one ^ other for one, other in zip(held(service), expected, strict=True)
        ]
        time.sleep(0.02)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_kept_index_comes_to_equal_one_made_from_scratch_after_every_kind_of_change(root: Path) -> None:
    took: list[tuple[float, str]] = []
    with search_of(root) as service:
        service.index([root])
        with keeping(service) as updates:
            wait_for(service, on_disk(root))
            for change in CHANGES:
                change(root)
                done = time.monotonic()
                wait_for(service, on_disk(root))
                took.append((time.monotonic() - done, change.__name__))
        assert held(service) == from_scratch(root)
    longest, what = max(took)
    print(f"{len(took)} kinds of changes; the longest until it was found took {longest:.2f} s: {what}")

    assert [one for one in updates if not isinstance(one, WatchModeChanged | FilesSynced)] == []


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("watched", [False, True], ids=["looked at", "watched"])
def test_many_files_at_once_are_found_and_half_of_them_gone_again(root: Path, figure: Figure, watched: bool) -> None:
    many = figure(300, 10_000)
    with search_of(root) as service:
        service.index([root])
        with keeping(service) if watched else nullcontext():
            there = service.status().counts.files + many
            made = after(MAKE_MANY, root, many, lambda: settled(service, there, watched=watched))
            assert held(service) == on_disk(root)
            removed = after(REMOVE_HALF, root, many, lambda: settled(service, there - many // 2, watched=watched))
            assert held(service) == on_disk(root)
        assert held(service) == from_scratch(root)
    print(f"{many} files at once: found {made:.2f} s after the last was written; half of them gone: {removed:.2f} s")


MAKE_MANY = """
for number in range(many):
    folder = root / f"many{number % 7}"
    folder.mkdir(exist_ok=True)
    (folder / f"{number}.md").write_text(f"gamma number {number}\\n")
"""
REMOVE_HALF = """
for number in range(0, many, 2):
    (root / f"many{number % 7}" / f"{number}.md").unlink()
"""


def after(change: str, root: Path, many: int, wait: Callable[[], None]) -> float:
    """Have another process change files; return how many seconds after its last change the wait was over."""
    program = f"import pathlib, sys\nroot, many = pathlib.Path(sys.argv[1]), int(sys.argv[2])\n{change}"
    subprocess.run([sys.executable, "-c", program, str(root), str(many)], check=True, timeout=300)
    done = time.monotonic()
    wait()
    return time.monotonic() - done


def settled(service: SearchService, files: int, *, watched: bool) -> None:
    """Wait until so many files can be found; who is not watched is looked at by a search."""
    if not watched:
        service.find(SearchQuery("gamma"))
    began = time.monotonic()
    # Cheap, so that the waiting takes nothing from the work: what is held is compared afterwards.
    while service.status().counts.files != files or not index_of(service).is_complete():
        assert time.monotonic() - began < PATIENCE + files / 100
        time.sleep(0.02)


@pytest.mark.torture
def test_without_a_watcher_a_search_equals_an_index_made_from_scratch_after_every_kind_of_change(root: Path) -> None:
    with search_of(root) as service:
        service.index([root])
        for change in CHANGES:
            change(root)
            service.find(SearchQuery("alpha"))
            assert held(service) == on_disk(root), change.__name__
        assert held(service) == from_scratch(root)


@pytest.mark.torture
def test_with_a_watcher_whose_events_have_come_a_search_looks_only_where_they_point(root: Path) -> None:
    with search_of(root, watch_debounce=0.05) as service:
        service.index([root])
        watcher = service.watcher()
        service.refresh()
        for change in CHANGES:
            before = watcher.generation
            change(root)
            assert watcher.wait(before, PATIENCE)
            expected = on_disk(root)
            began = time.monotonic()
            while held(service) != expected:
                assert time.monotonic() - began < PATIENCE, change.__name__
                watcher.wait(watcher.generation, 0.1)
                service.find(SearchQuery("alpha"))


@pytest.mark.torture
@pytest.mark.parametrize("watched", [False, True], ids=["looked at", "watched"])
def test_what_changes_while_a_sync_runs_is_not_lost(root: Path, watched: bool) -> None:
    reading, changed = threading.Event(), threading.Event()

    def slow(done: int, _: int) -> None:
        if done == 1:
            reading.set()
            assert changed.wait(PATIENCE)

    with search_of(root, watch_debounce=0.05) as service:
        service.index([root])
        if watched:
            service.watcher()
            service.refresh()
        sync = threading.Thread(target=lambda: service.index([], rebuild=True, progress=slow), daemon=True)
        sync.start()
        assert reading.wait(PATIENCE)
        for change in CHANGES:
            change(root)
        changed.set()
        sync.join(PATIENCE)
        assert not sync.is_alive()
        service.refresh()
        expected = on_disk(root)
        began = time.monotonic()
        while held(service) != expected:
            assert watched, "without a watcher one look is enough"
            assert time.monotonic() - began < PATIENCE
            time.sleep(0.05)
            service.refresh()
        assert expected == from_scratch(root)


@pytest.mark.torture
def test_a_folder_that_is_indexed_while_others_are_kept_is_kept_too(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.md").write_text("alpha elsewhere\n")
    with search_of(root) as service:
        service.index([root])
        with keeping(service):
            service.index([other])
            (other / "note.md").write_text("gamma elsewhere\n")
            began = time.monotonic()
            while ("note.md", 1, 1, "gamma elsewhere") not in held(service)[2]:
                assert time.monotonic() - began < PATIENCE
                time.sleep(0.02)

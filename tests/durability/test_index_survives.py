"""The index is what the files are, whatever happened to the processes that made it."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from promptuary.search.values import IndexRebuilt, SearchQuery
from tests.conftest import Figure
from tests.durability.indexer import WORDS, change
from tests.indexes import everything, search_of

INDEXER = Path(__file__).with_name("indexer.py")
ROOT = Path(__file__).parents[2]


def fresh(workspace: Path, into: Path) -> object:
    """Return what an index made from scratch of the same files holds."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(workspace, into, ignore=shutil.ignore_patterns(".promptuary"))
    with search_of(into) as service:
        service.index([into])
        return everything(service, *WORDS)


def indexer(workspace: Path, seed: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, str(INDEXER), str(workspace), str(seed)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_an_index_whose_process_was_killed_equals_one_made_from_scratch(tmp_path: Path, figure: Figure) -> None:
    workspace, chance, kills = tmp_path / "work", random.Random(11), figure(6, 200)
    workspace.mkdir()
    change(workspace, chance)
    said = 0
    for kill in range(kills):
        with indexer(workspace, kill) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.25))
            process.kill()
            said += process.stdout.read().count(b"error")
        with search_of(workspace) as service:
            assert everything(service, *WORDS) == fresh(workspace, tmp_path / "copy")
    print(f"{kills} kills in the middle of a sync: the index equals one made from scratch every time")

    assert said == 0


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_bytes_that_change_in_an_index_are_noticed_or_harmless(tmp_path: Path, figure: Figure) -> None:
    workspace, chance, rounds = tmp_path / "work", random.Random(5), figure(12, 500)
    workspace.mkdir()
    for _ in range(10):
        change(workspace, chance)
    expected = fresh(workspace, tmp_path / "copy")
    with search_of(workspace) as service:
        service.index([workspace])
        assert everything(service, *WORDS) == expected
    good = tmp_path / "good"
    shutil.copytree(workspace / ".promptuary", good)
    made_again = 0
    for _ in range(rounds):
        shutil.rmtree(workspace / ".promptuary")
        shutil.copytree(good, workspace / ".promptuary")
        _damage(workspace / ".promptuary/index", chance)
        with search_of(workspace) as service:
            answers = [service.find(SearchQuery(word, 100_000)) for word in WORDS]
            made_again += any(IndexRebuilt() in one.notes for one in answers)
            assert everything(service, *WORDS) == expected
    print(f"{rounds} damaged indexes: every answer right, {made_again} of them made again")

    assert made_again


def _damage(index: Path, chance: random.Random) -> None:
    """Flip bytes of a file, cut it off, or remove it."""
    path = chance.choice(sorted(path for path in index.rglob("*") if path.is_file() and path.stat().st_size))
    data = bytearray(path.read_bytes())
    match chance.randint(0, 3):
        case 0:
            path.unlink()
        case 1:
            path.write_bytes(data[: chance.randrange(len(data))])
        case _:
            for _ in range(chance.choice([1, 1, 20])):
                data[chance.randrange(len(data))] ^= chance.randint(1, 255)
            path.write_bytes(data)


def test_what_lasts_is_not_touched_when_the_index_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("alpha")
    with search_of(tmp_path) as service:
        service.index([tmp_path])
    shutil.rmtree(tmp_path / ".promptuary/index")
    with search_of(tmp_path) as service:
        found = service.find(SearchQuery("alpha"))

        assert [hit.path for hit in found.hits] == ["a.md"]
        assert found.auto_synced


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_two_processes_search_while_a_third_syncs(tmp_path: Path, figure: Figure) -> None:
    workspace, chance = tmp_path / "work", random.Random(3)
    workspace.mkdir()
    for _ in range(5):
        change(workspace, chance)
    with search_of(workspace) as service:
        service.index([workspace])
    searcher = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.indexes import search_of\n"
        "done, until = 0, time.monotonic() + float(sys.argv[2])\n"
        "with search_of(Path(sys.argv[1])) as service:\n"
        "    while time.monotonic() < until:\n"
        "        for hit in service.find('alpha gamma', limit=1000).hits:\n"
        "            assert hit.text, hit\n"
        "        done += 1\n"
        "print(done)\n"
    )
    seconds = figure(4, 60)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    searchers = [
        subprocess.Popen(
            [sys.executable, "-c", searcher, str(workspace), str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        for _ in range(2)
    ]
    with indexer(workspace, 1) as syncing:
        results = [process.communicate() for process in searchers]
        syncing.kill()
        assert syncing.stdout is not None
        said = syncing.stdout.read()
    print(f"{' and '.join(out.decode().strip() for out, _ in results)} searches while files changed and were indexed")

    assert [error for _, error in results] == [b"", b""]
    assert all(int(out) > 0 for out, _ in results)
    # The searchers bring the index up to date too; then the other process is the one that has to come again.
    assert said.replace(b"ready", b"").strip() in {
        b"",
        b"error another process is indexing this workspace; try again when it is done",
    }

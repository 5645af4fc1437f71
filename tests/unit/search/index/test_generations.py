"""The folders of an index: one answers at a time, one process writes, and what lies there cannot lead astray."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import StorageError
from promptuary.search.index.generations import Generations


def test_a_new_one_answers_from_when_it_is_published_on(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    assert generations.current() is None
    first = generations.begin()
    assert generations.current() is None
    generations.publish(first)
    second = generations.begin()
    assert Generations(tmp_path).current() == generations.current() == first
    generations.publish(second)

    assert (first.name, second.name) == ("1", "2")
    assert Generations(tmp_path).current() == generations.current() == second


def test_a_folder_whose_own_name_is_a_number_is_no_generation(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    generations = Generations(tmp_path / "1")
    generations.publish(generations.begin())

    assert generations.current() == tmp_path / "1" / "1"


def test_everything_but_the_one_that_answers_is_swept_away(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    for _ in range(3):
        (generations.begin() / "sub").mkdir()
    (tmp_path / "3/sub/file").write_text("x")
    (tmp_path / "notes").mkdir()
    generations.publish(tmp_path / "2")
    generations.sweep()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "current", "notes"]


def test_what_a_link_leads_to_is_never_swept_away(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    index = tmp_path / "index"
    index.mkdir()
    generations = Generations(index)
    (index / "7").symlink_to(elsewhere)
    (generations.begin() / "link").symlink_to(elsewhere)
    generations.sweep()

    assert (elsewhere / "precious").read_text() == "x"
    assert not (index / "8").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"9\n",
        b"../1",
        b"/etc",
        b"\xff\xfe",
        b"-1",
        b"1/../1",
        "²".encode(),
        "١".encode(),
        b"1" * 30,
        b"1 1",
    ],
)
def test_a_file_that_names_no_generation_means_that_there_is_none(tmp_path: Path, content: bytes) -> None:
    generations = Generations(tmp_path)
    generations.begin()
    (tmp_path / "current").write_bytes(content)

    assert generations.current() is None


def test_a_generation_that_is_a_link_or_a_file_is_none(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    (tmp_path / "1").symlink_to(tmp_path)
    (tmp_path / "2").write_text("")
    for name in ("1", "2"):
        (tmp_path / "current").write_text(name)
        assert generations.current() is None


@pytest.mark.timeout(20)
def test_nothing_is_waited_for_that_lies_in_the_place_of_the_file(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    generations.begin()
    os.mkfifo(tmp_path / "current")
    assert generations.current() is None
    (tmp_path / "current").unlink()
    (tmp_path / "other").write_text("1")
    (tmp_path / "current").symlink_to(tmp_path / "other")
    assert generations.current() is None


@pytest.mark.parametrize("name", ["²", "9" * 200, "one", "1.5", "-3"])
def test_strange_names_beside_the_generations_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    generations = Generations(tmp_path)
    generations.publish(generations.begin())
    generations.sweep()

    assert generations.current() == tmp_path / "1"
    assert (tmp_path / name).is_dir()


def test_one_writes_at_a_time_and_an_end_however_it_comes_lets_the_next_begin(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    with generations.lock() as first, Generations(tmp_path).lock() as second:
        assert (first, second) == (True, False)
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from promptuary.search.index.generations import Generations\n"
        "with Generations(Path(sys.argv[1])).lock() as alone:\n"
        "    print(alone, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        with generations.lock() as mine:
            assert not mine
        process.kill()
    with generations.lock() as mine:
        assert mine
    with pytest.raises(RuntimeError), generations.lock():
        raise RuntimeError
    with generations.lock() as mine:
        assert mine


@pytest.mark.parametrize("step", [Generations.begin, Generations.sweep, lambda made: made.publish(made.folder / "1")])
def test_a_folder_that_vanishes_between_two_steps_of_the_writer_is_reported_with_what_to_do(
    tmp_path: Path, step: Callable[[Generations], object]
) -> None:
    made = Generations(tmp_path / "index")

    with pytest.raises(StorageError, match="if the folder was removed, start again"):
        step(made)

"""The index of vectors finds what comparing all would find, lasts, and says so when its files are not what it wrote."""

import errno
import os
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import IndexDamagedError, PromptuaryError
from promptuary.search.index.port import Similarity
from promptuary.search.index.vectors import index as vector_index
from promptuary.search.index.vectors.index import TurboVectors

pytest.importorskip("turbovec")

SIZE = 16


@pytest.fixture(autouse=True, params=["few", "many"])
def amount(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything twice: as long as the library is not needed, and with the library from the first vector on."""
    if request.param == "many":
        monkeypatch.setattr(vector_index, "_MAX_CHANGES", 0)


with_the_library = pytest.mark.parametrize("amount", ["many"], indirect=True)


def vector(*numbers: float, size: int = SIZE) -> bytes:
    padded = [*numbers, *[0.0] * (size - len(numbers))]
    length = sum(number * number for number in padded) ** 0.5 or 1.0
    return struct.pack(f"<{size}f", *(number / length for number in padded))


def some(seed: int, size: int = SIZE) -> bytes:
    chance = random.Random(f"{seed}")  # a number and its negative would be one seed
    return vector(*(chance.gauss(0, 1) for _ in range(size)), size=size)


def cosine(one: bytes, other: bytes) -> float:
    a, b = (struct.unpack(f"<{len(each) // 4}f", each) for each in (one, other))
    return float(sum(x * y for x, y in zip(a, b, strict=True)))


class Kept(dict[int, bytes]):
    """The exact vectors, where the index asks for them."""

    def __call__(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        return {number: self[number] for number in numbers if number in self}


def opened(folder: Path, kept: Kept, *, writing: bool = True, size: int = SIZE) -> TurboVectors:
    return TurboVectors(folder, size, kept, writing=writing)


def filled(folder: Path, count: int, *, size: int = SIZE) -> tuple[TurboVectors, Kept]:
    kept = Kept({number: some(number, size) for number in range(1, count + 1)})
    index = opened(folder, kept, size=size)
    index.write(kept, ())
    return index, kept


def content(folder: Path) -> list[Path]:
    """Return the files that hold something."""
    return [path for path in sorted(folder.iterdir()) if path.name != "lock"]


def numbers(found: Sequence[tuple[int, object]]) -> list[int]:
    return [number for number, _ in found]


def test_it_is_an_index_of_vectors(tmp_path: Path) -> None:
    index = opened(tmp_path, Kept())

    assert index.search(some(1), 10) == []
    assert index.similarities(some(1), [1, 2]) == {}


def test_reading_an_index_that_was_never_written_finds_nothing_and_makes_nothing(tmp_path: Path) -> None:
    index = opened(tmp_path / "none", Kept(), writing=False)

    assert index.search(some(1), 10, chunks=[1]) == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("size", [8, 16, 50, 384])
def test_the_nearest_are_found_with_their_exact_cosines(tmp_path: Path, size: int) -> None:
    index, kept = filled(tmp_path, 500, size=size)
    query = some(-1, size)
    expected = sorted(((number, cosine(query, each)) for number, each in kept.items()), key=lambda pair: -pair[1])[:20]
    found = index.search(query, 20)

    assert numbers(found) == numbers(expected)
    assert [one.cosine for _, one in found] == pytest.approx([value for _, value in expected], abs=1e-5)


@with_the_library
def test_none_of_the_nearest_is_overlooked_among_a_thousand_that_are_much_alike(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    chance = np.random.default_rng(7)
    topics = chance.standard_normal((5, 384))
    matrix = topics[chance.integers(0, 5, 5_000)] + chance.standard_normal((5_000, 384))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype("<f4")
    kept = Kept({number: row.tobytes() for number, row in enumerate(matrix)})
    index = opened(tmp_path, kept, size=384)
    index.write(kept, ())

    for topic in topics:
        query = (topic + chance.standard_normal(384)).astype("<f4")
        assert numbers(index.search(query.tobytes(), 10)) == np.argsort(-(matrix @ query))[:10].tolist()


def test_more_results_begin_with_the_fewer(tmp_path: Path) -> None:
    index, _ = filled(tmp_path, 700)
    whole = index.search(some(-1), 200)

    assert len(whole) == 200
    assert all(index.search(some(-1), limit) == whole[:limit] for limit in (0, 1, 10, 99, 199))
    assert len(index.search(some(-1), 1_000)) == 700


def test_those_that_are_alike_when_shortened_are_told_apart(tmp_path: Path) -> None:
    chance = random.Random(1)
    kept = Kept({number: vector(1, *(chance.gauss(0, 1e-3) for _ in range(SIZE - 1))) for number in range(300)})
    index = opened(tmp_path, kept)
    index.write(kept, ())
    query = vector(1, 0.5, 0.5)

    assert numbers(index.search(query, 5)) == sorted(kept, key=lambda number: -cosine(query, kept[number]))[:5]


def test_equals_are_sorted_by_number(tmp_path: Path) -> None:
    kept = Kept(dict.fromkeys((9, 3, 7, 1), vector(1)))
    index = opened(tmp_path, kept)
    index.write(kept, ())

    assert numbers(index.search(vector(1, 1), 3)) == [1, 3, 7]


@pytest.mark.parametrize("allowed", [30, 650])
def test_only_the_given_chunks_are_found_and_unknown_ones_do_no_harm(tmp_path: Path, allowed: int) -> None:
    index, kept = filled(tmp_path, 700)
    among = [*range(1, allowed + 1), 10**9, -4]
    query = some(-1)
    expected = sorted(range(1, allowed + 1), key=lambda number: -cosine(query, kept[number]))[:10]

    assert numbers(index.search(query, 10, chunks=among)) == expected
    assert index.search(query, 10, chunks=[]) == []
    assert index.search(query, 10, chunks=[10**9]) == []


def test_a_chunk_whose_vector_is_not_kept_is_not_found(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 20)
    best = index.search(some(-1), 1)[0][0]
    del kept[best]

    assert best not in numbers(index.search(some(-1), 20))
    assert len(index.search(some(-1), 20)) == 19
    assert best not in index.similarities(some(-1), [best, 1])


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(1, 12), st.integers(0, 1_000), max_size=6),
            st.sets(st.integers(0, 14), max_size=6),
        ),
        max_size=8,
    )
)
def test_any_writes_leave_what_they_say_for_whoever_opens_it(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[dict[int, int], set[int]]]
) -> None:
    folder = tmp_path_factory.mktemp("index")
    kept, expected = Kept(), Kept()
    index, reader = opened(folder, kept), opened(folder, kept, writing=False)
    for added, dropped in writes:
        vectors = {number: some(seed) for number, seed in added.items()}
        kept.update(vectors)
        for number in dropped:
            expected.pop(number, None)
        expected.update(vectors)
        index.write(vectors, dropped)
        for each in (index, reader, opened(folder, kept, writing=False)):
            assert sorted(numbers(each.search(some(-1), 100))) == sorted(expected)
            assert len(each) == len(expected)


def test_what_is_written_again_is_found_where_it_is_now(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 600)
    kept[5] = some(-1)
    index.write({5: some(-1)}, ())

    ((number, similarity),) = index.search(some(-1), 1)
    assert number == 5
    assert similarity.cosine == pytest.approx(1.0, abs=1e-5)


def test_the_background_is_the_mean_of_a_sample_taken_again_when_it_changes(tmp_path: Path) -> None:
    east, north, west = vector(1, 0), vector(0, 1), vector(-1, 0)
    kept = Kept({1: east, 2: north, 3: west, **dict.fromkeys(range(4, 1_004), east)})
    sample = [1, *range(4, 1_003)]
    index = TurboVectors(tmp_path, SIZE, kept, writing=True, sample=lambda: tuple(sample))
    index.write(kept, ())

    def near(query: bytes, number: int) -> Similarity:
        return index.similarities(query, [number])[number]

    assert near(east, 1) == pytest.approx((1.0, 0.99, 0.0), abs=0.02)
    assert near(north, 2) == pytest.approx((1.0, 0.0, -0.98), abs=0.02)
    # A few vectors are no background.
    sample[:] = [1]
    assert near(east, 1).usual == pytest.approx(1 / 11, abs=0.01)


def test_a_small_change_does_not_write_the_index_again(tmp_path: Path) -> None:
    index, _ = filled(tmp_path, 600)
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    index.write({1_001: some(1_001)}, [3])

    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == before


@with_the_library
def test_changes_do_not_grow_without_end(tmp_path: Path) -> None:
    size = 384
    index, kept = filled(tmp_path, 10, size=size)
    reader = opened(tmp_path, kept, writing=False, size=size)
    for _ in range(12):
        index.write({number: kept[1 + number % 10] for number in range(100, 300)}, ())
        kept.update({number: kept[1 + number % 10] for number in range(100, 300)})
        assert len(reader) == 210

    assert (tmp_path / "changes").stat().st_size < 2 << 20
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("base-")]) == 1


@pytest.mark.parametrize("amount", ["few"], indirect=True)
def test_few_become_many_without_anybody_noticing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "_MAX_CHANGES", 10_000)
    index, kept = filled(tmp_path, 50)
    reader = opened(tmp_path, kept, writing=False)
    before = reader.search(some(-1), 20)
    assert not list(tmp_path.glob("base-*"))
    kept.update({number: some(number) for number in range(51, 400)})
    index.write({number: kept[number] for number in range(51, 400)}, [1, 2])

    assert len(list(tmp_path.glob("base-*"))) == 1
    assert len(index) == len(reader) == 397
    assert numbers(index.search(kept[7], 1)) == numbers(reader.search(kept[7], 1)) == [7]
    again = [one for one in reader.search(some(-1), 397) if one[0] <= 50]
    assert again[:10] == [one for one in before if one[0] > 2][:10]


def test_emptied_it_finds_nothing(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 5)
    index.write({}, kept)

    assert index.search(some(1), 10) == []
    assert opened(tmp_path, kept, writing=False).search(some(1), 10) == []


def test_an_index_that_is_made_again_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    _, kept = filled(folder, 5)
    reader = opened(folder, kept, writing=False)
    assert len(reader) == 5
    for path in folder.iterdir():
        path.unlink()
    again = opened(folder, kept)
    again.write({1: kept[1]}, ())
    again.write({2: kept[2]}, ())

    assert len(reader) == 2


def test_a_vector_of_another_length_is_refused_and_both_lengths_are_told(tmp_path: Path) -> None:
    index, _ = filled(tmp_path, 5)
    for refused in (lambda: index.write({9: b"1234"}, ()), lambda: index.search(b"1234", 1)):
        with pytest.raises(ValueError, match="4 bytes and not 64"):
            refused()

    assert len(index) == 5


def test_a_number_that_is_not_finite_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 5)
    with pytest.raises(ValueError, match="not finite"):
        index.write({9: struct.pack(f"<{SIZE}f", *[float("nan")] * SIZE)}, [1])

    assert len(index) == len(opened(tmp_path, kept, writing=False)) == 5


def test_one_that_was_opened_to_be_read_does_not_write(tmp_path: Path) -> None:
    with pytest.raises(PromptuaryError, match="read-only"):
        opened(tmp_path, Kept(), writing=False).write({1: some(1)}, ())

    assert list(tmp_path.iterdir()) == []


def test_vectors_of_another_length_than_the_files_hold_are_damage(tmp_path: Path) -> None:
    filled(tmp_path, 5)
    with pytest.raises(IndexDamagedError, match="16 numbers and not 32"):
        len(opened(tmp_path, Kept(), size=32))


def damage_is_told(folder: Path, kept: Kept) -> None:
    for writing in (False, True):
        with pytest.raises(IndexDamagedError, match="damaged"):
            opened(folder, kept, writing=writing).search(some(1), 5)


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 60)
    for number in (100, 101):
        index.write({number: some(number)}, [number - 90])
    chance = random.Random(1)
    for path in content(tmp_path):
        whole = path.read_bytes()
        places = range(len(whole)) if len(whole) < 400 else {*range(60), *chance.sample(range(len(whole)), 150)}
        for place in places:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
            damage_is_told(tmp_path, kept)
        path.write_bytes(whole)

    assert len(opened(tmp_path, kept)) == 60


def test_every_file_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 60)
    index.write({100: some(100)}, ())
    for path in content(tmp_path):
        whole = path.read_bytes()
        for length in {0, 1, 30, 51, len(whole) // 2, len(whole) - 1}:
            path.write_bytes(whole[:length])
            damage_is_told(tmp_path, kept)
        path.write_bytes(whole)


@with_the_library
def test_a_missing_file_and_one_of_something_else_are_noticed(tmp_path: Path) -> None:
    _, kept = filled(tmp_path, 60)
    base = next(path for path in tmp_path.iterdir() if path.name.startswith("base-"))
    whole = base.read_bytes()
    base.unlink()
    damage_is_told(tmp_path, kept)
    base.write_bytes(whole)
    (tmp_path / "changes").write_bytes(b"SQLite format 3\0" * 20)
    damage_is_told(tmp_path, kept)


def test_a_cleared_index_is_empty_for_everybody_and_can_be_filled_again(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 60)
    reader = opened(tmp_path, kept, writing=False)
    assert len(reader) == 60
    index.clear()
    assert (len(index), len(reader), len(opened(tmp_path, kept))) == (0, 0, 0)
    index.write({1: kept[1]}, ())

    assert (len(index), len(reader)) == (1, 1)


@pytest.mark.parametrize("name", ["changes", "base"])
@with_the_library
def test_a_damaged_index_can_be_cleared(tmp_path: Path, name: str) -> None:
    _, kept = filled(tmp_path, 60)
    path = next(path for path in content(tmp_path) if path.name.startswith(name))
    path.write_bytes(b"something else" * 10)
    index = opened(tmp_path, kept)
    index.clear()
    index.write({1: kept[1]}, ())

    assert numbers(opened(tmp_path, kept, writing=False).search(some(1), 5)) == [1]


def test_what_a_killed_writer_left_behind_the_end_does_not_count(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 60)
    with (tmp_path / "changes").open("ab") as file:
        file.write(b"half of a change")
    assert len(opened(tmp_path, kept, writing=False)) == 60
    kept[61] = some(61)
    index.write({61: kept[61]}, ())

    assert numbers(opened(tmp_path, kept).search(kept[61], 1)) == [61]


@with_the_library
def test_a_write_that_fails_is_not_in_memory_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, kept = filled(tmp_path, 10, size=384)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full)
        with pytest.raises(PromptuaryError, match="cannot be written"):
            index.write(dict.fromkeys(range(100, 1000), kept[1]), ())

    assert len(index) == len(opened(tmp_path, kept, size=384)) == 10


def test_threads_may_search_while_one_writes(tmp_path: Path) -> None:
    index, kept = filled(tmp_path, 50)
    reader = opened(tmp_path, kept, writing=False)
    failures: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        try:
            while not stop.is_set():
                for each in (index, reader):
                    assert len(each.search(some(-1), 10, chunks=range(100))) == 10
        except BaseException as error:  # noqa: BLE001  (told below)
            failures.append(error)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    for number in range(200, 260):
        kept[number] = some(number)
        index.write({number: kept[number]}, [number - 1])
    stop.set()
    for looker in lookers:
        looker.join()

    assert failures == []


WRITER = """
import sys, struct, pathlib
from promptuary.search.index.vectors.index import TurboVectors
size, rounds = 384, int(sys.argv[2])
index = TurboVectors(pathlib.Path(sys.argv[1]), size, lambda numbers: {}, writing=True)
one = struct.pack(f"<{size}f", *([1.0] + [0.0] * (size - 1)))
print("ready", flush=True)
for turn in range(rounds):
    index.write({number: one for number in range(turn * 100, turn * 100 + 100)}, ())
    print(turn, flush=True)
"""


def test_readers_never_fail_while_another_process_writes_and_replaces_the_files(tmp_path: Path) -> None:
    one = vector(1, size=384)
    reader = TurboVectors(tmp_path, 384, lambda asked: dict.fromkeys(asked, one), writing=False)
    command = [sys.executable, "-c", WRITER, str(tmp_path), "40"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        last = 0
        while writer.poll() is None:
            found = len(reader)
            assert found >= last
            assert found % 100 == 0
            last = found
    assert writer.returncode == 0
    assert len(reader) == 4_000


def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path), "1000"]
    for rounds in (1, 7, 23):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            acknowledged = [writer.stdout.readline() for _ in range(rounds)][-1]
            writer.kill()
        index = TurboVectors(tmp_path, 384, lambda numbers: {}, writing=True)
        assert len(index) >= 100 * (int(acknowledged) + 1)
        assert len(index) % 100 == 0
        index.write({}, range(100_000))

"""Vectors are made once, kept for good, and never mixed; whatever is missing of them, a search answers."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.models.protocols import Purpose
from promptuary.search.chunks.lines import Sizes
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.index.vectors.index import TurboVectors
from promptuary.search.service import SearchService
from promptuary.search.values import SearchedByWordsOnly, SearchQuery, SearchResult, vector_space_id
from promptuary.search.vectors import embed
from promptuary.search.vectors.store import Vectors
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.indexes import index_of

BATCH = 4
MANY = 2 * BATCH + 2
# Every text has the first word: how near it is decides about its place, and not whether it is found.
QUESTIONS = ["alpha", "alpha number7 text"]


class KilledError(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "BATCH", BATCH)


@pytest.fixture
def many(files: Files) -> Path:
    """Write more texts than two batches hold."""
    return files({f"{number}.md": f"alpha text number{number} of its own" for number in range(MANY)})


@pytest.fixture
def embedder() -> HashedWords:
    return HashedWords()


def answers(service: SearchService) -> list[list[tuple[str, str, float]]]:
    """Return everything that is found, with its cosine: what the vectors are shows in it. Equals have no order."""
    found = [service.find(SearchQuery(words, 1_000, per_file=0)) for words in QUESTIONS]
    assert all(one.mode == "hybrid" for one in found)
    assert all(hit.why.cosine is not None for one in found for hit in one.hits)
    return [sorted((hit.path, hit.text, round(hit.why.cosine or 0.0, 2)) for hit in one.hits) for one in found]


def expected(workspace: Path, embedder: HashedWords) -> list[list[tuple[str, str, float]]]:
    """Return the answers of an index that holds these files and nothing else, with the vectors of this embedder."""
    texts = {path.name: path.read_text() for path in workspace.glob("*.md")}
    return [
        sorted((name, text, round(_cosine(embedder, text, words), 2)) for name, text in texts.items())
        for words in QUESTIONS
    ]


def _cosine(embedder: HashedWords, one: str, other: str) -> float:
    first, second = (np.frombuffer(vector, "<f4") for vector in HashedWords.embed(embedder, [one, other], "query"))
    return float((first * second).sum())


def lacking(service: SearchService) -> int:
    return service.status().counts.unembedded


# Made once


def test_it_can_be_stopped_after_each_batch_and_goes_on_where_it_was(many: Path, embedder: HashedWords) -> None:
    told: list[int] = []

    def once(done: int) -> bool:
        told.append(done)
        return done == 0

    with search_with(many, embedder) as service:
        service.index([many])
        assert lacking(service) == MANY
        assert service.embed(once) == BATCH
        assert (told, lacking(service), len(embedder.passages)) == ([0, BATCH], MANY - BATCH, BATCH)
    with search_with(many, embedder) as service:
        assert service.embed() == MANY - BATCH
        assert (lacking(service), service.embed()) == (0, 0)

    assert len(embedder.passages) == len(set(embedder.passages)) == MANY


def test_files_that_changed_last_are_embedded_first_and_the_ones_that_were_found_before_them(
    files: Files, embedder: HashedWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_WINDOW", 1)
    workspace = files({f"{name}.md": f"{name} text" for name in ("asked", "first", "second", "third")})
    for age, name in enumerate(("third", "second", "first", "asked")):
        os.utime(workspace / f"{name}.md", (1_000_000 - age, 1_000_000 - age))
    with search_with(workspace, embedder) as service:
        service.index([workspace])
        assert [hit.path for hit in service.find(SearchQuery("asked")).hits] == ["asked.md"]
        service.embed()

    assert embedder.passages == ["asked text", "third text", "second text", "first text"]


def test_texts_of_about_the_same_length_share_a_batch(files: Files) -> None:
    batches: list[list[int]] = []

    class Batching(HashedWords):
        def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
            batches.append([len(text) for text in texts])
            return super().embed(texts, purpose)

    lengths = [number * 37 % 2 * 500 + number + 10 for number in range(2 * BATCH)]
    workspace = files({f"{number}.txt": "x" * length for number, length in enumerate(lengths)})
    with search_with(workspace, Batching()) as service:
        service.index([workspace])
        service.embed()

    lengths.sort(reverse=True)
    assert batches == [lengths[:BATCH], lengths[BATCH:]]


def test_generated_text_gets_no_vector_lacks_none_and_is_found_by_its_words(
    files: Files, embedder: HashedWords
) -> None:
    workspace = files({"yarn.lock": "alpha@1.0:\n  resolved: somewhere\n", "notes.md": "alpha text"})
    with search_with(workspace, embedder, hidden=True) as service:
        service.index([workspace])
        assert (service.embed(), lacking(service)) == (2, 0)
        found = service.find(SearchQuery("alpha"))

    assert embedder.passages == ["alpha text"]
    assert {hit.path: hit.why.cosine is None for hit in found.hits} == {"yarn.lock": True, "notes.md": False}
    assert not found.partially_embedded


def test_where_everything_is_generated_nothing_is_embedded_and_a_search_answers_by_words(
    files: Files, embedder: HashedWords
) -> None:
    workspace = files({"yarn.lock": "alpha@1.0:\n", "go.sum": "beta v1\n"})
    with search_with(workspace, embedder, hidden=True) as service:
        service.index([workspace])
        assert (service.embed(), service.embed(), lacking(service)) == (2, 0, 0)
        assert service.find(SearchQuery("alpha")).mode == "lexical"

    assert embedder.passages == []


def test_stored_vectors_come_back_after_a_rebuild_before_anything_is_embedded(
    many: Path, embedder: HashedWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_LOOKED_UP", 2)
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
        (many / "new.md").write_text("alpha new")
        service.index([], rebuild=True)
        # Stopped before the first batch: whatever has a vector now got a stored one.
        service.embed(lambda done: done < MANY)

        assert (lacking(service), len(embedder.passages)) == (1, MANY)
        service.embed()
        assert (lacking(service), embedder.passages[-1]) == (0, "alpha new")


def test_who_is_stopped_at_once_makes_nothing(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])

        assert service.embed(lambda _: False) == 0
        assert embedder.passages == []


def test_a_search_before_all_vectors_are_there_finds_everything_and_says_so(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        none = service.find(SearchQuery("alpha", 1_000))
        service.embed(lambda done: done == 0)
        some = service.find(SearchQuery("alpha", 1_000))
        service.embed()
        every = service.find(SearchQuery("alpha", 1_000))

    assert [(one.mode, one.partially_embedded, len(one.hits)) for one in (none, some, every)] == [
        ("lexical", True, MANY),
        ("hybrid", True, MANY),
        ("hybrid", False, MANY),
    ]
    assert sum(hit.why.cosine is not None for hit in some.hits) == BATCH


def test_the_same_text_in_many_files_is_embedded_once(files: Files, embedder: HashedWords) -> None:
    workspace = files({f"{number}.txt": "alpha, the same everywhere" for number in range(MANY)})
    with search_with(workspace, embedder) as service:
        service.index([workspace])

        assert service.embed() == MANY
        assert len(service.find(SearchQuery("alpha", 1_000, merge_copies=False)).hits) == MANY
    assert len(embedder.passages) == 1


def test_a_moved_or_copied_text_is_not_embedded_again(files: Files, embedder: HashedWords) -> None:
    workspace = files({"a.md": "# One\n\nalpha", "b.txt": "beta"})
    with search_with(workspace, embedder) as service:
        service.index([workspace])
        service.embed()
        assert len(embedder.passages) == 2
        (workspace / "a.md").rename(workspace / "moved.md")
        shutil.copy(workspace / "b.txt", workspace / "copy.txt")
        service.index([])
        service.embed()
        found = service.find(SearchQuery("alpha beta", merge_copies=False))

    assert len(embedder.passages) == 2
    assert {hit.path for hit in found.hits if hit.why.cosine is not None} == {"moved.md", "b.txt", "copy.txt"}
    assert not found.partially_embedded


def test_of_a_changed_file_only_what_is_new_is_embedded(files: Files, embedder: HashedWords) -> None:
    sections = [f"# Part {number}\n\n{f'word{number} ' * 90}\n\n" for number in range(6)]
    workspace = files({"long.md": "".join(sections)})
    with search_with(workspace, embedder) as service:
        service.index([workspace])
        service.embed()
        before = len(embedder.passages)
        (workspace / "long.md").write_text("".join(["# Preface\n\nNew.\n\n", *sections]))
        service.index([])
        service.embed()

    assert before == 6
    assert [text for text in embedder.passages[before:] if "Preface" not in text] == []


@pytest.mark.parametrize("how", ["anew", "removed", "other sizes"])
def test_vectors_outlive_the_index(many: Path, embedder: HashedWords, how: str) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
    if how == "removed":
        shutil.rmtree(many / ".promptuary/index")
    made = len(embedder.passages)
    with search_with(many, embedder, sizes=Sizes(200, 16) if how == "other sizes" else None) as service:
        service.index([], rebuild=how == "anew")
        assert service.find(SearchQuery("alpha")).mode == "lexical"
        assert service.embed() == MANY
        after = answers(service)

    assert len(embedder.passages) == made
    assert after == expected(many, embedder)


def test_who_makes_everything_anew_is_rid_of_vectors_that_nothing_needs(files: Files, embedder: HashedWords) -> None:
    workspace = files({"a.md": "alpha"})
    with search_with(workspace, embedder) as service:
        for text in ("beta", "gamma", "delta"):
            service.index([workspace])
            service.embed()
            (workspace / "a.md").write_text(text)
        service.index([])
        service.embed()
        store = service.backend.store
        assert isinstance(store, Vectors)
        before = store.count(vector_space_id(embedder))
        service.index([], rebuild=True)
        service.embed(lambda _: False)
        service.embed()

        assert (before, store.count(vector_space_id(embedder))) == (4, 1)
        assert service.find(SearchQuery("delta")).mode == "hybrid"


def test_a_search_that_makes_the_index_again_has_its_vectors_at_once(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
        shutil.rmtree(many / ".promptuary/index")
        made = len(embedder.passages)
        found = service.find(SearchQuery("alpha"))

        assert (found.mode, found.partially_embedded, found.auto_synced) == ("hybrid", False, True)
        assert len(embedder.passages) == made


def test_a_text_that_went_and_came_back_has_its_vector_still(files: Files, embedder: HashedWords) -> None:
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    with search_with(workspace, embedder) as service:
        service.index([workspace])
        service.embed()
        (workspace / "a.md").unlink()
        service.index([])
        files({"a.md": "alpha"})
        service.index([])
        service.embed()

        assert service.find(SearchQuery("alpha")).hits[0].why.cosine is not None
    assert len(embedder.passages) == 2


def test_the_vector_of_a_text_that_is_gone_takes_no_place_among_the_nearest(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
        (many / "0.md").unlink()
        (many / "1.md").write_text("alpha changed")
        service.index([])
        own = index_of(service)._now()
        assert own is not None
        assert own.vectors is not None
        left = len(own.vectors)

    assert left == MANY - 2


# Another embedder


@pytest.mark.parametrize("dimensions", [16, 8, 33])
def test_vectors_of_two_embedders_are_never_mixed(many: Path, dimensions: int) -> None:
    first, second = HashedWords("first"), HashedWords("second", dimensions)
    with search_with(many, first) as service:
        service.index([many])
        service.embed()
    with search_with(many, second) as service:
        meanwhile = service.find(SearchQuery("alpha", 1_000))
        assert (meanwhile.mode, meanwhile.partially_embedded, len(meanwhile.hits)) == ("lexical", True, MANY)
        service.embed(lambda done: done == 0)
        partly = service.find(SearchQuery("alpha", 1_000))
        assert (partly.mode, partly.partially_embedded) == ("hybrid", True)
        assert sum(hit.why.cosine is not None for hit in partly.hits) == BATCH
        service.embed()
        after = answers(service)
    assert len(second.passages) == MANY
    assert after == expected(many, second)

    with search_with(many, first) as service:
        assert service.find(SearchQuery("alpha")).mode == "lexical"
        service.embed()
        back = answers(service)
    assert len(first.passages) == MANY
    assert back == expected(many, first)


@pytest.mark.parametrize("dimensions", [16, 8])
def test_files_that_change_before_the_new_embedder_begins_are_indexed_all_the_same(many: Path, dimensions: int) -> None:
    with search_with(many, HashedWords("first")) as service:
        service.index([many])
        service.embed()
    second = HashedWords("second", dimensions)
    with search_with(many, second) as service:
        (many / "0.md").unlink()
        (many / "1.md").write_text("alpha changed")
        found = service.find(SearchQuery("changed"))
        assert ([hit.path for hit in found.hits], found.notes) == (["1.md"], ())
        (many / "2.md").unlink()
        assert service.index([]).removed == 1
        service.embed()

        assert answers(service) == expected(many, second)


def test_a_search_without_an_embedder_leaves_the_vectors_alone(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
    with search_with(many) as service:
        (many / "1.md").write_text("alpha changed")
        found = service.find(SearchQuery("changed"))
        assert (found.mode, found.partially_embedded, service.embed()) == ("lexical", False, 0)
    with search_with(many, embedder) as service:
        assert lacking(service) == 1
        service.embed()
        assert service.find(SearchQuery("changed")).hits[0].why.cosine is not None

    assert len(embedder.passages) == MANY + 1


def test_another_embedder_that_begins_in_the_middle_gets_none_of_the_vectors_of_the_first(many: Path) -> None:
    first, second = HashedWords("first"), HashedWords("second")
    with search_with(many, first) as service, search_with(many, second) as other:
        service.index([many])

        def begin_the_other(done: int) -> bool:
            if done == 0:
                other.embed()
            return done == 0

        service.embed(begin_the_other)
        other.embed()

        assert answers(other) == expected(many, second)
        assert lacking(other) == 0


# What goes wrong


def test_an_embedder_that_fails_costs_a_search_its_meaning_and_nothing_else(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
        embedder.broken = "The service is away; start it."
        without = service.find(SearchQuery("number7"))
        embedder.broken = ""
        again = service.find(SearchQuery("number7"))

    assert (without.mode, [hit.path for hit in without.hits]) == ("lexical", ["7.md"])
    assert without.notes == (SearchedByWordsOnly("The service is away; start it."),)
    assert (again.mode, again.notes) == ("hybrid", ())


def test_an_embedder_that_fails_in_the_middle_keeps_what_it_made(many: Path) -> None:
    class Tiring(HashedWords):
        def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
            if len(self.passages) >= BATCH:
                self.broken = self.broken or "too tired"
            return super().embed(texts, purpose)

    tiring = Tiring()
    with search_with(many, tiring) as service:
        service.index([many])
        with pytest.raises(PromptuaryError, match="too tired"):
            service.embed()
        assert (lacking(service), len(tiring.passages)) == (MANY - BATCH, BATCH)
    rested = HashedWords()
    with search_with(many, rested) as service:
        service.embed()
        assert lacking(service) == 0

    assert len(rested.passages) == MANY - BATCH


STEPS: list[tuple[type, str, int]] = [
    (Vectors, "put", 1),
    (Vectors, "put", 2),
    (TurboVectors, "write", 2),
    (Catalog, "set_embedded", 1),
    (Catalog, "set_embedded", 3),
    (Catalog, "set_meta", 1),
]


@pytest.mark.parametrize(("owner", "step", "which"), STEPS)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_who_is_killed_between_two_steps_of_embedding_is_made_good_for(  # noqa: PLR0917  (fixtures and cases)
    many: Path,
    embedder: HashedWords,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    step: str,
    before: bool,
    which: int,
) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        with killed_at(monkeypatch, owner, step, before=before, which=which):
            service.embed()
    with search_with(many, embedder) as service:
        service.embed()
        assert lacking(service) == 0
        after = answers(service)

    assert after == expected(many, embedder)
    # At most the batch that nobody heard of is made twice.
    assert len(embedder.passages) <= MANY + BATCH


@pytest.mark.parametrize(
    ("owner", "step"),
    [(Catalog, "put"), (Catalog, "drop"), (Catalog, "checkpoint"), (Catalog, "clear_pending"), (TurboVectors, "write")],
)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_who_is_killed_between_two_steps_of_a_sync_is_made_good_for(  # noqa: PLR0917  (fixtures and cases)
    many: Path,
    embedder: HashedWords,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    step: str,
    before: bool,
) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
        (many / "0.md").unlink()
        (many / "1.md").write_text("alpha changed")
        (many / "2.md").rename(many / "moved.md")
        (many / "new.md").write_text("alpha new")
        with killed_at(monkeypatch, owner, step, before=before, which=1):
            service.index([])
    with search_with(many, embedder) as service:
        service.find(SearchQuery("alpha"))
        service.embed()

        assert answers(service) == expected(many, embedder)


class killed_at:  # noqa: N801  (reads as the context manager it is)
    """Ends the block where a step is done for the ``which``-th time, before it or after it, if it is done at all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, step: str, *, before: bool, which: int) -> None:
        self._patch, self._owner, self._step, self._before, self._which = monkeypatch, owner, step, before, which

    def __enter__(self) -> None:
        real: Callable[..., object] = getattr(self._owner, self._step)
        self._real = real
        calls: Iterator[int] = count(1)

        def done(*arguments: object, **named: object) -> object:
            last = next(calls) == self._which
            if last and self._before:
                raise KilledError
            result = real(*arguments, **named)
            if last:
                raise KilledError
            return result

        self._patch.setattr(self._owner, self._step, done)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self._patch.setattr(self._owner, self._step, self._real)
        return kind is KilledError


class Unreachable(HashedWords):
    """Is far away, and cannot even be asked how long its vectors are."""

    @property
    def dimensions(self) -> int:
        raise PromptuaryError("nobody answers")

    @dimensions.setter
    def dimensions(self, _: int) -> None: ...


def test_an_embedder_that_cannot_be_reached_keeps_nobody_from_indexing_and_searching(many: Path) -> None:
    with search_with(many, HashedWords()) as service:
        service.index([many])
        service.embed()
    away = Unreachable()
    away.broken = "nobody answers"
    with search_with(many, away) as service:
        (many / "0.md").unlink()
        (many / "1.md").write_text("alpha changed")
        found = service.find(SearchQuery("changed"))
        assert service.status().counts.files == MANY - 1

    assert ([hit.path for hit in found.hits], found.mode) == (["1.md"], "lexical")
    assert found.notes == (SearchedByWordsOnly("nobody answers"),)


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "removed"])
def test_damaged_vectors_are_made_good_from_those_that_last(many: Path, embedder: HashedWords, damage: str) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed()
    for path in (many / ".promptuary/index").glob("*/vectors/*"):
        spoil(path, damage)
    with search_with(many, embedder) as service:
        found = service.find(SearchQuery("number7"))
        assert [hit.path for hit in found.hits if hit.why.matched] == ["7.md"]
        service.embed()
        assert answers(service) == expected(many, embedder)

    assert len(embedder.passages) == MANY


def spoil(path: Path, damage: str) -> None:
    data = bytearray(path.read_bytes())
    match damage:
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "flipped":
            path.write_bytes(bytes(one ^ 255 for one in data))
        case "emptied":
            path.write_bytes(b"")
        case _:
            path.unlink()


def test_damaged_vectors_that_embedding_meets_first_are_made_good_too(many: Path, embedder: HashedWords) -> None:
    with search_with(many, embedder) as service:
        service.index([many])
        service.embed(lambda done: done == 0)
    for path in (many / ".promptuary/index").glob("*/vectors/*"):
        spoil(path, "flipped")
    with search_with(many, embedder) as service:
        service.embed()
        assert lacking(service) == 0
        found: SearchResult = service.find(SearchQuery("alpha", 1_000))

    assert (found.mode, {hit.why.cosine is not None for hit in found.hits}) == ("hybrid", {True})
    assert len(embedder.passages) == MANY


def test_an_index_made_anew_in_the_middle_gets_no_vectors_of_the_old_one(many: Path, embedder: HashedWords) -> None:
    """Numbers begin again with a new index: those of the old one mean other chunks."""
    with search_with(many, embedder) as service, search_with(many, embedder) as other:
        service.index([many])

        def make_anew(done: int) -> bool:
            if done == 0:
                for number in range(1, MANY):
                    (many / f"{number}.md").unlink()
                other.index([], rebuild=True)
                other.embed()
            return done == 0

        service.embed(make_anew)
        (many / "more.md").write_text("alpha more")
        service.index([])
        assert lacking(service) == 1
        service.embed()

        assert answers(service) == expected(many, embedder)

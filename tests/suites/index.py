"""The contract of every index, as tests: subclass the suite and add its fixtures.

    class TestMyIndex(SearchIndexConformance):
        @pytest.fixture
        def vectors(self):
            return InMemoryVectorStore()

        @pytest.fixture
        def index(self, vectors, tmp_path):
            return MyIndex(tmp_path, store=vectors, embedder=EMBEDDER)

Each test gets a new, empty index. The suite does not know which, nor whether it is persistent: what happens when a
process ends is for the backend's own tests. Scores may differ from index to index; what is found may not.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import isclose
from typing import Final

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.files import Folder, Stamp
from promptuary.search.index.port import IndexWriter, SearchIndex, VectorStore
from promptuary.search.query import parse
from promptuary.search.values import UNREAD, Chunk, FileKind, Filters, IndexedFile, Words, vector_space_id
from promptuary.testing.word_embedder import WordEmbedder

EMBEDDER: Final = WordEmbedder()
"""The embedder that an index under test is made for."""

HERE: Final = Folder("/here")
THERE: Final = Folder("/there", "ada")

STRANGE: Final = ("\ud800", "a\x00b", "😀", "e\u0301", "';--", "\ufeff", "日本語", "[a-z", '"', "AND OR NOT (")
"""Texts that could break an index: lone surrogates, NUL, combining marks, and syntax of other programs."""


class _StoppedError(Exception):
    """Ends a writer in the middle of its work."""


def file(path: str, text: str = "", *, kind: FileKind = "text", date: int = 0, size: int = 1) -> IndexedFile:
    """Return a file with this text."""
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return IndexedFile(path, Stamp(size, 2, 3, 4), sha256, kind, date)


def lines(text: str, *heading: str) -> list[Chunk]:
    """Return each line of ``text`` as a chunk."""
    return [Chunk(number, number, line, heading) for number, line in enumerate(text.split("\n"), 1)]


def put(writer: IndexWriter, path: str, text: str, folder: Folder = HERE, *, kind: FileKind = "text") -> None:
    """Index a file with one chunk for each line."""
    writer.put(folder, file(path, text, kind=kind), text, lines(text))


@contextmanager
def writing(index: SearchIndex, *, rebuild: bool = False) -> Iterator[IndexWriter]:
    """Become the only writer."""
    with index.writing(rebuild=rebuild) as writer:
        assert writer is not None
        yield writer


def filled(index: SearchIndex, **files: str) -> None:
    """Index files by their names."""
    with writing(index) as writer:
        for path, text in files.items():
            put(writer, path, text)


def numbers(index: SearchIndex, query: str, limit: int = 100) -> list[int]:
    """Return the numbers of the chunks that a query finds by words."""
    return [number for number, _ in index.lexical(parse(query), limit)]


def found(index: SearchIndex, query: str, limit: int = 100) -> list[tuple[str, str]]:
    """Return the path and the text of the chunks that a query finds by words, in order of both."""
    hits = index.chunks(numbers(index, query, limit))
    return sorted((one.path, one.chunk.text) for one in hits.values())


def embedded(index: SearchIndex, vectors: VectorStore) -> None:
    """Embed every chunk as a search would."""
    while batch := index.unembedded(100):
        made = dict(zip(batch, EMBEDDER.embed([one.context for one in batch], "passage"), strict=True))
        vectors.put(vector_space_id(EMBEDDER), {one.sha256: vector for one, vector in made.items()})
        index.embed({one.id: vector for one, vector in made.items()})


def embed_query(text: str) -> bytes:
    """Return the vector of a query."""
    return EMBEDDER.embed([text], "query")[0]


class SearchIndexConformance:
    """The contract of a ``SearchIndex``."""

    def test_an_index_that_does_not_exist_reads_as_empty(self, index: SearchIndex) -> None:
        assert not index.exists()
        assert not index.is_current()
        assert (index.counts().files, index.counts().chunks, list(index.folders())) == (0, 0, [])
        assert (dict(index.files(HERE)), list(index.select(Filters(kinds=("text",))))) == ({}, [])
        assert (found(index, "alpha"), list(index.nearest(embed_query("alpha"), 10))) == ([], [])
        assert (index.content(HERE, "a")[0], list(index.unembedded(10)), list(index.hashes())) == ("", [], [])
        assert not index.has_vectors()

    def test_what_is_put_is_found_once_the_writer_has_ended(self, index: SearchIndex) -> None:
        filled(index, a="alpha one\nbeta", b="alpha two")

        assert index.exists()
        assert index.is_current()
        assert index.is_complete()
        assert found(index, "alpha") == [("a", "alpha one"), ("b", "alpha two")]
        assert found(index, "gamma") == []

    def test_what_is_put_is_found_after_a_flush_while_the_writer_goes_on(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        with writing(index) as writer:
            put(writer, "b", "alpha too")
            writer.flush()
            put(writer, "c", "alpha three")
            assert [path for path, _ in found(index, "alpha")] == ["a", "b"]

        assert [path for path, _ in found(index, "alpha")] == ["a", "b", "c"]

    def test_the_revisions_are_the_hashes_of_all_files_of_all_folders(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            assert dict(writer.revisions()) == dict(index.revisions()) == {}
            put(writer, "a", "alpha")
            put(writer, "a", "beta", THERE)
            expected = {("/here", "a"): file("a", "alpha").sha256, ("/there", "a"): file("a", "beta").sha256}
            assert dict(writer.revisions()) == expected

        assert dict(index.revisions()) == expected

    def test_there_is_one_writer_at_a_time(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            put(writer, "a", "alpha")
            with index.writing() as other:
                assert other is None
            with index.writing(rebuild=True) as other:
                assert other is None

        with writing(index) as writer:
            assert not writer.fresh

    def test_a_chunk_comes_back_with_its_file_its_lines_and_its_heading(self, index: SearchIndex) -> None:
        chunk = Chunk(3, 4, "alpha\nbeta", ("Top", "Section"))
        with writing(index) as writer:
            writer.put(THERE, file("a/b.md", kind="markdown", date=7), "x\ny\nalpha\nbeta\nz", [chunk])

        (number,) = numbers(index, "beta")
        hit = index.chunks([number])[number]
        assert (hit.folder, hit.path, hit.kind, hit.date, hit.chunk) == ("/there", "a/b.md", "markdown", 7, chunk)

    def test_a_chunk_comes_back_with_its_own_words_its_names_and_its_date(self, index: SearchIndex) -> None:
        some = Chunk(1, 2, "me: alpha\nyou: beta", ("Top",), "alpha", ("Title", "a \udcff tag"), -9)
        every = Chunk(3, 3, "gamma", (), "gamma", (), 2**40)
        text = f"{some.text}\n{every.text}"
        with writing(index) as writer:
            writer.put(HERE, file("a", text, date=7), text, [some, every])

        hits = index.chunks(numbers(index, "alpha gamma"))
        assert {hit.chunk.start_line: (hit.chunk, hit.date) for hit in hits.values()} == {
            1: (some, -9),
            3: (every, 2**40),
        }
        assert list(index.content(HERE, "a")[1]) == [some, every]

    def test_a_chunk_with_other_names_or_another_date_keeps_its_vector(
        self, index: SearchIndex, vectors: VectorStore
    ) -> None:
        with writing(index) as writer:
            writer.put(HERE, file("a"), "alpha", [Chunk(1, 1, "alpha", names=("one",))])
        embedded(index, vectors)
        (before,) = index.hashes()
        with writing(index) as writer:
            writer.put(HERE, file("a"), "alpha", [Chunk(1, 1, "alpha", names=("two",), date=5)])

        (hit,) = index.chunks(numbers(index, "alpha")).values()
        assert (hit.chunk.names, hit.date, index.counts().chunks) == (("two",), 5, 1)
        assert list(index.hashes()) == [before]
        assert list(vectors.get(vector_space_id(EMBEDDER), [before])) == [before]

    def test_a_chunk_is_found_by_its_heading_and_by_its_path(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            writer.put(HERE, file("guides/zebra.md"), "alpha", lines("alpha", "Okapi"))

        assert found(index, "okapi") == found(index, "zebra") == [("guides/zebra.md", "alpha")]

    def test_a_file_that_is_put_again_is_replaced_as_a_whole(self, index: SearchIndex) -> None:
        filled(index, a="alpha\nbeta")
        filled(index, a="beta\ngamma")

        assert (found(index, "alpha"), found(index, "beta"), found(index, "gamma")) == (
            [],
            [("a", "beta")],
            [("a", "gamma")],
        )
        assert index.counts().chunks == 2

    def test_chunks_that_stay_keep_their_numbers_and_have_their_new_lines(self, index: SearchIndex) -> None:
        filled(index, a="alpha\nbeta")
        before = numbers(index, "beta")
        filled(index, a="new\nother\nbeta")

        assert numbers(index, "beta") == before
        assert index.chunks(before)[before[0]].chunk.start_line == 3

    def test_equal_chunks_of_one_file_are_found_each_on_its_own(self, index: SearchIndex) -> None:
        filled(index, a="alpha\nalpha\nalpha")
        three = numbers(index, "alpha")
        filled(index, a="alpha\nalpha")

        assert len(three) == 3
        assert len(numbers(index, "alpha")) == 2
        assert set(numbers(index, "alpha")) <= set(three)

    def test_the_number_of_a_chunk_that_is_gone_means_nothing_any_more(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        gone = numbers(index, "alpha")
        with writing(index) as writer:
            writer.drop(HERE, ["a"])
            put(writer, "b", "beta")

        assert index.chunks(gone) == {}
        assert index.chunks([*gone, *numbers(index, "beta")]).keys() == set(numbers(index, "beta"))

    def test_a_moved_file_keeps_its_chunks_and_has_its_new_path_alone(self, index: SearchIndex) -> None:
        filled(index, zebra="alpha")
        before = numbers(index, "alpha")
        with writing(index) as writer:
            writer.move(HERE, "zebra", file("okapi", "alpha"))

        assert numbers(index, "alpha") == before
        assert list(index.files(HERE)) == ["okapi"]
        assert (found(index, "okapi"), found(index, "zebra")) == ([("okapi", "alpha")], [])

    def test_a_touched_file_has_its_new_stamp_and_its_old_content(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        with writing(index) as writer:
            writer.touch(HERE, file("a", "alpha", size=99))

        assert index.files(HERE)["a"].stamp.size == 99
        assert found(index, "alpha") == [("a", "alpha")]

    def test_dropped_files_are_gone_and_unknown_paths_are_ignored(self, index: SearchIndex) -> None:
        filled(index, a="alpha", b="alpha")
        with writing(index) as writer:
            writer.drop(HERE, ["a", "nowhere"])

        assert found(index, "alpha") == [("b", "alpha")]
        assert (index.content(HERE, "a")[0], index.counts().chunks) == ("", 1)

    def test_a_dropped_folder_is_gone_with_its_files_and_others_stay(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            put(writer, "a", "alpha")
            put(writer, "a", "alpha", THERE)
            writer.drop_folder(HERE)

        assert list(index.folders()) == [(THERE, 1)]
        assert [one.folder for one in index.chunks(numbers(index, "alpha")).values()] == ["/there"]

    def test_folders_and_files_are_counted_without_those_that_could_not_be_read(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            put(writer, "a", "alpha\nbeta")
            put(writer, "b", "gamma", THERE)
            writer.put(HERE, IndexedFile("c", Stamp(1, 2, 3, 4), UNREAD, "data", 5), "", ())
            assert list(writer.folders()) == [(HERE, 1), (THERE, 1)]

        assert list(index.folders()) == [(HERE, 1), (THERE, 1)]
        assert (index.counts().files, index.counts().chunks) == (2, 3)
        assert index.files(HERE)["c"].sha256 == UNREAD

    def test_a_writer_sees_what_it_wrote(self, index: SearchIndex) -> None:
        def seen(writer: IndexWriter) -> tuple[list[str], int, list[tuple[Folder, int]]]:
            files, others = writer.files_at(HERE, ["a"])
            return sorted(writer.files(HERE)), len(files) + others, list(writer.folders())

        with writing(index) as writer:
            put(writer, "a", "alpha")
            put(writer, "b", "beta")
            assert seen(writer) == (["a", "b"], 2, [(HERE, 2)])
            writer.drop(HERE, ["b"])
            writer.move(HERE, "a", file("c", "alpha"))
            assert seen(writer) == (["c"], 1, [(HERE, 1)])
            writer.drop_folder(HERE)
            assert seen(writer) == ([], 0, [])

    def test_files_at_a_path_are_it_and_those_below_it_and_no_neighbours(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            for path in ("a", "a/b", "a/c/d", "ab", "b"):
                put(writer, path, "alpha")
            some, others = writer.files_at(HERE, ["a"])
            every, none = writer.files_at(HERE, ["a", "ab", "b"])

        assert (sorted(some), others) == (["a", "a/b", "a/c/d"], True)
        assert (len(every), none) == (5, False)

    def test_the_content_of_a_file_comes_back_as_it_was_put(self, index: SearchIndex) -> None:
        text = "one\n\ntwo\r\n\nthree\n"
        chunks = [Chunk(1, 1, "one"), Chunk(3, 5, "two\r\n\nthree", ("Top",))]
        with writing(index) as writer:
            writer.put(HERE, file("a", text), text, chunks)

        back, cut = index.content(HERE, "a")
        assert (back, list(cut)) == (text, chunks)
        assert index.content(HERE, "b")[0] == index.content(THERE, "a")[0] == ""

    def test_filters_select_files_by_folder_kind_label_and_date(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            writer.put(HERE, file("a", kind="code", date=10), "x", lines("x"))
            writer.put(THERE, file("b", kind="markdown", date=20), "x", lines("x"))

        def selected(filters: Filters) -> list[str]:
            return sorted(path for _, _, path in index.select(filters))

        assert selected(Filters()) == ["a", "b"]
        assert selected(Filters(folders=("/there",))) == ["b"]
        assert selected(Filters(kinds=("code", "data"))) == ["a"]
        assert selected(Filters(labels=("ada",))) == ["b"]
        assert selected(Filters(labels=("",))) == ["a"]
        assert selected(Filters(since=20)) == selected(Filters(since=11, until=21)) == ["b"]
        assert selected(Filters(until=20)) == ["a"]
        assert selected(Filters(kinds=("code",), labels=("ada",))) == []

    def test_a_day_finds_its_chunks_and_those_of_files_that_changed_then(self, index: SearchIndex) -> None:
        day = 86_400
        diary = [replace(line, days=days) for line, days in zip(lines("a\nb\nc"), ((7, 9), (8,), ()), strict=True)]
        with writing(index) as writer:
            writer.put(HERE, file("diary", "a\nb\nc", date=8 * day), "a\nb\nc", diary)
            writer.put(HERE, file("plain", "d", date=9 * day + 5), "d", lines("d"))

        def of_days(first: int, until: int, **options: object) -> list[tuple[str, bool]]:
            dated = index.dated(first, until, 10, **options)  # type: ignore[arg-type]
            chunks = index.chunks([found.chunk for found in dated])
            assert all(index.select(Filters())[found.file - 1][2] == chunks[found.chunk].path for found in dated)
            return [(chunks[found.chunk].chunk.text, found.said) for found in dated]

        assert of_days(7, 8) == [("a", True)]
        assert of_days(8, 9) == [("b", True), ("c", False)]
        assert sorted(of_days(9, 10)) == [("a", True), ("d", False)]
        assert of_days(10, 20) == []
        plain = next(number for number, _, path in index.select(Filters()) if path == "plain")
        assert of_days(0, 20, files=[plain]) == [("d", False)]
        assert len(index.dated(0, 20, 2)) == 2
        assert index.content(HERE, "diary")[1] == diary
        assert {index.chunks([number])[number].date // day for number in numbers(index, "a")} == {9}

    def test_a_chunk_with_other_days_is_found_by_these_alone(self, index: SearchIndex) -> None:
        for days in ((7,), (8,)):
            with writing(index) as writer:
                writer.put(HERE, file("diary", "a"), "a", [replace(lines("a")[0], days=days)])
        assert (index.dated(7, 8, 10), len(index.dated(8, 9, 10))) == ([], 1)

        with writing(index) as writer:
            writer.drop(HERE, ["diary"])
        assert index.dated(0, 10, 10) == []

    def test_filters_select_files_by_tag_and_those_below_it(self, index: SearchIndex) -> None:
        tags = {"a": ("work/plans", "urgent"), "b": ("workshop",), "c": ()}
        with writing(index) as writer:
            for path, own in tags.items():
                writer.put(HERE, replace(file(path), tags=own), "x", lines("x"))

        def selected(*wanted: str) -> list[str]:
            return sorted(path for _, _, path in index.select(Filters(tags=wanted)))

        assert selected("work") == selected("#Work/Plans") == selected("work/") == ["a"]
        assert selected("workshop", "urgent") == ["a", "b"]
        assert selected("plans") == selected("w") == []
        assert {path: one.tags for path, one in index.files(HERE).items()} == tags

    def test_only_the_chunks_of_selected_files_are_found(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha", b="alpha", c="alpha")
        embedded(index, vectors)
        wanted = {number for number, _, path in index.select(Filters()) if path in {"a", "c"}}
        by_words = index.lexical(Words(("alpha",)), 10, files=wanted)
        by_meaning = index.nearest(embed_query("alpha"), 10, files=wanted)

        for best in (by_words, by_meaning):
            chunks = index.chunks([number for number, _ in best])
            assert {one.path for one in chunks.values()} == {"a", "c"}
        assert list(index.lexical(Words(("alpha",)), 10, files=())) == []
        assert list(index.nearest(embed_query("alpha"), 10, files=())) == []

    def test_any_path_and_any_text_comes_back_as_it_was(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            for number, text in enumerate(STRANGE):
                path = f"{number}{text}".replace("\x00", "")
                writer.put(HERE, file(path, text), f"{text}\nalpha", lines(f"{text}\nalpha", text))

        for number, text in enumerate(STRANGE):
            path = f"{number}{text}".replace("\x00", "")
            back, cut = index.content(HERE, path)
            assert (back, list(cut)) == (f"{text}\nalpha", lines(f"{text}\nalpha", text))
        assert len(found(index, "alpha")) == len(STRANGE)

    def test_a_chunk_knows_how_many_its_file_has(self, index: SearchIndex) -> None:
        filled(index, long="alpha\nbeta\ngamma", short="alpha")
        traits = index.traits([*numbers(index, "alpha"), 10**9])

        sizes = {index.chunks([one])[one].path: each.siblings for one, each in traits.items()}
        assert sizes == {"long": 3, "short": 1}
        assert [each.conversation for each in traits.values()] == [None, None]
        assert dict(index.traits([])) == {}

    def test_a_chunk_knows_how_many_its_file_has_after_every_change(self, index: SearchIndex) -> None:
        def siblings() -> list[int]:
            return [each.siblings for each in index.traits(numbers(index, "alpha")).values()]

        filled(index, a="alpha\nbeta\ngamma")
        with writing(index) as writer:
            put(writer, "a", "alpha\nbeta\ngamma\ndelta")
        assert siblings() == [4]
        with writing(index) as writer:
            writer.touch(HERE, file("a", "alpha\nbeta\ngamma\ndelta", date=9))
            writer.move(HERE, "a", file("b", "alpha\nbeta\ngamma\ndelta"))
        assert siblings() == [4]
        with writing(index) as writer:
            put(writer, "b", "alpha")
        assert siblings() == [1]

    def test_the_size_is_about_the_number_of_chunks(self, index: SearchIndex) -> None:
        filled(index, a="alpha\nbeta", b="gamma")
        assert index.size() == index.counts().chunks == 3

    def test_a_conversation_is_found_by_what_people_say_in_it(self, index: SearchIndex) -> None:
        chat = [Chunk(1, 1, "alpha", own="alpha\nepsilon"), Chunk(2, 2, "beta"), Chunk(3, 3, "gamma", own="zeta")]
        with writing(index) as writer:
            writer.put(HERE, file("chat", "x"), "alpha\nbeta\ngamma", chat)
            put(writer, "note", "epsilon")
        (first, *_), (second, *_), (third, *_) = (numbers(index, word) for word in ("alpha", "beta", "gamma"))
        traits = index.traits([first, second, third])

        assert [traits[one].conversation for one in (first, second, third)] == [first, first, third]
        assert list(index.spoken(parse("epsilon"), 10)) == [first]
        assert list(index.spoken(parse("zeta"), 10)) == [third]
        assert dict(index.spoken(parse("beta"), 10)) == {}
        with writing(index) as writer:
            writer.drop(HERE, ["chat"])
        assert dict(index.spoken(parse("epsilon"), 10)) == {}

    def test_any_words_can_be_looked_for_in_what_people_say(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            for place, text in enumerate(STRANGE):
                writer.put(HERE, file(f"{place}", text), "alpha", [Chunk(1, 1, "alpha", own=f"{text} delta")])

        for text in STRANGE:
            index.spoken(Words((text,), (text,), (text,)), 10)
        assert len(index.spoken(parse("delta"), 100)) == len(STRANGE)

    def test_while_it_is_rebuilt_the_old_index_answers(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        with writing(index, rebuild=True) as writer:
            assert writer.fresh
            assert (dict(writer.files(HERE)), list(writer.folders())) == ({}, [])
            put(writer, "b", "beta")
            writer.flush()
            assert (found(index, "alpha"), found(index, "beta")) == ([("a", "alpha")], [])

        assert (found(index, "alpha"), found(index, "beta")) == ([], [("b", "beta")])

    def test_a_rebuild_that_fails_leaves_the_old_index(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        with suppress(_StoppedError), writing(index, rebuild=True) as writer:
            put(writer, "b", "beta")
            raise _StoppedError

        assert (found(index, "alpha"), found(index, "beta")) == ([("a", "alpha")], [])

    def test_after_a_writer_that_failed_the_next_one_makes_the_index_complete(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        with suppress(_StoppedError), writing(index) as writer:
            put(writer, "b", "alpha")
            writer.flush()
            put(writer, "c", "alpha")
            writer.drop(HERE, ["a"])
            raise _StoppedError
        filled(index)

        assert index.is_complete()
        assert "b" in index.files(HERE)
        assert sorted(index.files(HERE)) == [path for path, _ in found(index, "alpha")]

    def test_every_chunk_lacks_its_vector_until_it_gets_one(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha\nbeta\ngamma")
        first = index.unembedded(2)
        assert (len(first), index.has_vectors(), index.lacks_vectors()) == (2, False, True)
        assert {one.sha256 for one in first} < set(index.hashes())
        assert {(one.path, one.head) for one in first} == {("a", "alpha\nbeta\ngamma")}
        embedded(index, vectors)

        assert (index.has_vectors(), index.lacks_vectors(), index.counts().unembedded) == (True, False, 0)
        assert (list(index.unembedded(10)), list(index.lacking_vectors(0, 10))) == ([], [])

    def test_files_that_are_asked_for_are_embedded_first_then_those_that_changed_last(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            for name, modified in (("old", 1), ("new", 3), ("middle", 2), ("oldest", 0)):
                stamp = Stamp(5, modified, modified, 1)
                file = IndexedFile(name, stamp, "0" * 63 + "1", "text", 0)
                writer.put(HERE, file, f"{name}\nmore", [Chunk(1, 1, name), Chunk(2, 2, "more")])

        assert [one.path for one in index.unembedded(8)] == [
            *("new", "new", "middle", "middle", "old", "old", "oldest", "oldest")
        ]
        assert [one.path for one in index.unembedded(3, first=["oldest", "\udce9"])] == ["oldest", "oldest", "new"]

    def test_chunks_may_get_their_vectors_in_any_order(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha\nbeta\ngamma\ndelta")
        (one, _), (two, _), (three, _), (four, _) = every = index.lacking_vectors(0, 10)
        known = {number: embed_query("alpha") for number, _ in every}
        vectors.put(vector_space_id(EMBEDDER), {sha256: embed_query("alpha") for _, sha256 in every})

        index.embed({three: known[three]})
        assert [number for number, _ in index.lacking_vectors(0, 10)] == [one, two, four]
        assert [number for number, _ in index.lacking_vectors(one, 1)] == [two]
        index.embed({one: known[one]})
        assert {number for number, _ in index.nearest(embed_query("alpha"), 10)} == {one, three}
        index.embed({four: known[four], two: known[two]})

        assert (index.lacks_vectors(), index.counts().unembedded) == (False, 0)
        filled(index, b="epsilon")
        assert [chunk.context for chunk in index.unembedded(10)] == ["epsilon"]

    def test_a_chunk_that_needs_no_vector_does_not_lack_one(self, index: SearchIndex) -> None:
        filled(index, a="alpha\nbeta")
        every = [number for number, _ in index.lacking_vectors(0, 10)]
        index.embed({}, without=every[:1])
        assert (index.counts().unembedded, [one.id for one in index.unembedded(10)]) == (1, every[1:])
        index.embed({}, without=every)

        assert (index.has_vectors(), index.lacks_vectors(), list(index.unembedded(10))) == (False, False, [])
        assert len(numbers(index, "alpha")) == 1

    def test_the_nearest_chunk_is_the_one_that_says_the_same(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha beta", b="gamma delta", c="epsilon zeta")
        embedded(index, vectors)
        for text in ("alpha beta", "gamma delta", "epsilon zeta"):
            (best, similarity), *_ = index.nearest(embed_query(text), 3)
            assert index.chunks([best])[best].chunk.text == text
            assert isclose(similarity.cosine, 1.0, abs_tol=0.01)

    def test_cosines_are_those_of_the_vectors(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha", b="beta", c="alpha beta")
        embedded(index, vectors)
        query = embed_query("alpha")
        every = dict(index.nearest(query, 10))

        for number, similarity in index.similarities(query, [*every, 10**9]).items():
            exact = _cosine(query, embed_query(index.chunks([number])[number].chunk.text))
            assert isclose(similarity.cosine, exact, abs_tol=0.01)
            assert isclose(every[number].cosine, exact, abs_tol=0.01)

    def test_a_cosine_comes_with_its_background(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, other="gamma", **{f"n{number}": f"alpha common{number % 7}" for number in range(200)})
        embedded(index, vectors)
        usual, unusual = (dict(index.nearest(embed_query(text), 300)) for text in ("alpha", "gamma"))
        average = sum(one.cosine for one in usual.values()) / len(usual)

        # If most chunks are near to a query, its background is high, and they are typical of the index.
        assert all(isclose(one.usual, average, abs_tol=0.1) for one in usual.values())
        assert next(iter(unusual.values())).usual < average / 2
        typical = {index.chunks([number])[number].path: one.typical for number, one in usual.items()}
        assert typical["n0"] > typical["other"]

    def test_a_chunk_without_a_vector_is_found_by_its_words_alone(
        self, index: SearchIndex, vectors: VectorStore
    ) -> None:
        filled(index, a="alpha")
        embedded(index, vectors)
        filled(index, b="alpha too")

        assert len(index.nearest(embed_query("alpha"), 10)) == 1
        assert len(index.similarities(embed_query("alpha"), numbers(index, "alpha"))) == 1
        assert (len(numbers(index, "alpha")), index.lacks_vectors()) == (2, True)

    def test_the_vector_of_a_chunk_that_is_gone_is_not_among_the_nearest(
        self, index: SearchIndex, vectors: VectorStore
    ) -> None:
        filled(index, a="alpha", b="beta")
        embedded(index, vectors)
        with writing(index) as writer:
            writer.drop(HERE, ["a"])
        nearest = [number for number, _ in index.nearest(embed_query("alpha"), 10)]

        assert {one.path for one in index.chunks(nearest).values()} == {"b"}

    def test_a_chunk_that_stays_keeps_its_vector(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha\nbeta")
        embedded(index, vectors)
        filled(index, a="new\nbeta")

        assert [one.context for one in index.unembedded(10)] == ["new"]
        assert len(index.similarities(embed_query("beta"), numbers(index, "beta"))) == 1

    def test_vectors_that_come_after_a_rebuild_are_not_stored(self, index: SearchIndex, vectors: VectorStore) -> None:
        filled(index, a="alpha")
        (old,) = index.unembedded(10)
        with writing(index, rebuild=True) as writer:
            put(writer, "b", "beta")
        vectors.put(vector_space_id(EMBEDDER), {old.sha256: embed_query("alpha")})
        index.embed({old.id: embed_query("alpha")})

        assert (index.has_vectors(), index.lacks_vectors()) == (False, True)

    def test_the_hashes_are_those_of_the_chunks_that_are_there(self, index: SearchIndex) -> None:
        filled(index, a="alpha\nbeta\nalpha")
        filled(index, a="beta")

        assert list(index.hashes()) == [Chunk(1, 1, "beta").sha256]

    def test_any_number_of_threads_may_read_while_one_writes(self, index: SearchIndex) -> None:
        filled(index, a="alpha")

        def read() -> int:
            return sum(len(found(index, "alpha")) >= 1 for _ in range(20))

        readers = [concurrency.begin(read) for _ in range(4)]
        for number in range(10):
            filled(index, **{f"more{number}": "alpha"})
        assert [reader.result() for reader in readers] == [20] * 4
        assert len(found(index, "alpha")) == 11


def _numbers(vector: bytes) -> Sequence[float]:
    return [number for (number,) in struct.iter_unpack("<f", vector)]


def _cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(_numbers(one), _numbers(other), strict=True))

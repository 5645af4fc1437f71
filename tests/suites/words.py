"""What every index must find by words, as tests: subclass the suite beside ``SearchIndexConformance``.

It needs the same fixtures. Scores may differ from index to index; what is found may not.
"""

from promptuary.search.index.port import IndexWriter, SearchIndex
from promptuary.search.query import parse
from promptuary.search.values import Chunk, NoteLink, Words
from tests.suites.index import HERE, STRANGE, THERE, file, filled, found, lines, writing


def near(index: SearchIndex, query: str) -> list[tuple[str, str]]:
    """Return the path and the text of the chunks that a query finds by words, including near spellings."""
    hits = index.chunks([number for number, _ in index.lexical(index.respelled(parse(query)), 100)])
    return sorted((one.path, one.chunk.text) for one in hits.values())


def link(writer: IndexWriter, path: str, *links: NoteLink) -> None:
    """Index a file of one line with these links."""
    text = " ".join(one.text for one in links)
    writer.put(HERE, file(path, text), text, [Chunk(1, 1, text, links=links)])


class WordSearchConformance:
    """What a ``SearchIndex`` finds by words."""

    def test_a_phrase_is_in_every_chunk_that_is_found(self, index: SearchIndex) -> None:
        filled(index, a="the page cache is full", b="a cache for each page", c="page cache pages")

        assert [path for path, _ in found(index, '"page cache"')] == ["a", "c"]
        assert [path for path, _ in found(index, 'full "page cache"')] == ["a", "c"]

    def test_a_file_is_found_by_what_links_call_it(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            writer.put(HERE, file("ops/deploy.md"), "steps\nmore", lines("steps\nmore"))
            link(writer, "home.md", NoteLink("ops/deploy.md", "the release runbook"))
            link(writer, "gone.md", NoteLink("nowhere", "release"))

        assert ("ops/deploy.md", "steps") in found(index, "where is the runbook of the release")
        assert ("ops/deploy.md", "more") not in found(index, "release runbook")
        assert ("ops/deploy.md", "steps") not in found(index, "release")
        assert ("ops/deploy.md", "steps") not in found(index, '"release runbook"')

    def test_what_a_link_calls_a_file_holds_as_long_as_both_are_there(self, index: SearchIndex) -> None:
        def called() -> list[str]:
            return [path for path, text in found(index, "runbook") if text == "steps"]

        with writing(index) as writer:
            link(writer, "home.md", NoteLink("deploy", "Runbook"))
        assert called() == []
        with writing(index) as writer:
            writer.put(HERE, file("deploy.md"), "steps", lines("steps"))
        assert called() == ["deploy.md"]
        with writing(index) as writer:
            writer.move(HERE, "deploy.md", file("ops/Deploy.md"))
        assert called() == ["ops/Deploy.md"]
        with writing(index) as writer:
            writer.move(HERE, "ops/Deploy.md", file("release.md"))
        assert called() == []
        with writing(index) as writer:
            writer.move(HERE, "release.md", file("deploy.md"))
            writer.put(HERE, file("home.md", "x"), "see deploy", lines("see deploy"))
        assert called() == []

    def test_links_come_back_with_the_content_of_a_file(self, index: SearchIndex) -> None:
        links = [NoteLink(text, text) for text in STRANGE]
        with writing(index) as writer:
            link(writer, "home.md", *links)

        (chunk,) = index.content(HERE, "home.md")[1]
        assert list(chunk.links) == links
        for text in STRANGE:
            index.lexical(Words((text,)), 10)

    def test_links_name_files_of_their_own_folder_alone(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            writer.put(THERE, file("deploy.md"), "steps", lines("steps"))
            link(writer, "home.md", NoteLink("deploy", "runbook"))

        assert [path for path, _ in found(index, "runbook")] == ["home.md"]

    def test_a_word_is_found_by_its_beginning_if_that_is_asked_for(self, index: SearchIndex) -> None:
        filled(index, a="microscope", b="telescope")

        assert found(index, "micro*") == [("a", "microscope")]

    def test_case_and_accents_make_no_difference(self, index: SearchIndex) -> None:
        filled(index, a="Crème brûlée")

        assert found(index, "CREME brulee") == [("a", "Crème brûlée")]

    def test_scripts_without_spaces_are_found(self, index: SearchIndex) -> None:
        filled(index, a="東京都に行く", b="京都に行く")

        assert ("a", "東京都に行く") in found(index, "東京")
        assert ("b", "京都に行く") not in found(index, "東京")

    def test_fewer_hits_are_the_first_of_more_and_scores_fall(self, index: SearchIndex) -> None:
        filled(index, **{f"f{number}": f"alpha {'beta ' * (number % 3)}" for number in range(9)})
        every = list(index.lexical(Words(("alpha", "beta")), 100))

        assert len(every) == 9
        assert [score for _, score in every] == sorted((score for _, score in every), reverse=True)
        for limit in range(1, 9):
            assert list(index.lexical(Words(("alpha", "beta")), limit)) == every[:limit]

    def test_any_words_are_valid(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        for text in STRANGE:
            index.lexical(Words((text,)), 10)
            index.lexical(Words((), (text,), (text,)), 10)

    def test_a_word_that_no_chunk_has_finds_one_that_is_spelled_nearly_like_it(self, index: SearchIndex) -> None:
        filled(index, a="how to do a rollback", b="something else")

        assert index.respelled(parse("rolback")).respelled == (("rolback", "rollback"),)
        assert near(index, "rolback") == [("a", "how to do a rollback")]

    def test_a_letter_may_be_missing_or_too_many_or_wrong_or_swapped(self, index: SearchIndex) -> None:
        filled(index, a="a garden")
        for typed in ("gaden", "gardden", "gorden", "gadren", "GARDNE", "arden"):
            assert near(index, typed) == ([("a", "a garden")] if typed != "arden" else []), typed

    def test_a_word_of_eight_letters_may_have_two_mistakes_and_a_shorter_one_may_not(self, index: SearchIndex) -> None:
        filled(index, a="accommodation", b="garden")

        assert near(index, "acomodation") == [("a", "accommodation")]
        assert near(index, "gadn") == near(index, "grdn") == []

    def test_a_word_that_some_chunk_has_is_not_respelled(self, index: SearchIndex) -> None:
        filled(index, a="rollback", b="rolback")

        assert index.respelled(parse("rolback")) == parse("rolback")
        assert near(index, "rolback") == [("b", "rolback")]

    def test_a_word_in_a_heading_or_a_path_is_known(self, index: SearchIndex) -> None:
        with writing(index) as writer:
            writer.put(HERE, file("guides/zebras.md"), "alpha zebra", lines("alpha zebra", "Okapis"))

        assert index.respelled(parse("guides okapis")).respelled == ()

    def test_a_chunk_with_the_word_that_was_meant_is_below_one_with_a_word_that_was_typed(
        self, index: SearchIndex
    ) -> None:
        filled(index, exact="garden alpha", near="rollback alpha")

        hits = index.chunks(numbers := [one for one, _ in index.lexical(index.respelled(parse("garden rolback")), 9)])
        assert [hits[one].path for one in numbers] == ["exact", "near"]

    def test_nothing_is_made_of_letters_typed_at_random_of_numbers_and_of_short_words(self, index: SearchIndex) -> None:
        filled(index, a="the quick brown foxes jump 4711 sha256 fox 東京都 rollback", b="asterisk quarter")
        for typed in ("asdfqwer", "qwertzui", "xxxxxxxxxx", "4712", "sha257", "fax", "京東", "rollbank9"):
            assert near(index, typed) == [], typed

    def test_what_is_quoted_and_beginnings_of_words_are_taken_as_they_are(self, index: SearchIndex) -> None:
        filled(index, a="how to do a rollback")

        assert near(index, '"do a rolback"') == near(index, "rolb*") == []

    def test_what_may_be_a_stop_word_is_not_respelled(self, index: SearchIndex) -> None:
        filled(index, a="tier list")

        assert near(index, "thier") == []

    def test_words_of_another_language_are_not_respelled(self, index: SearchIndex) -> None:
        filled(index, a="the mason has a mission to chase a court and a portal")

        assert near(index, "maison mision chasse cort portail") == []

    def test_parts_of_names_and_words_of_other_alphabets_are_respelled(self, index: SearchIndex) -> None:
        filled(index, a="def switchGateway():", b="Änderung der Datenbank", c="новая библиотека")

        assert near(index, "swichGateway") == [("a", "def switchGateway():")]
        assert near(index, "switch_gatway") == [("a", "def switchGateway():")]
        assert near(index, "Datenbnak") == near(index, "Aenderung Änderng") == [("b", "Änderung der Datenbank")]
        assert near(index, "библеотека") == [("c", "новая библиотека")]

    def test_any_words_can_be_respelled(self, index: SearchIndex) -> None:
        filled(index, a="alpha")
        for text in (*STRANGE, "a" * 500, "ßßßßßß", "ǅǅǅǅǅ", "İİİİİİ", "e\u0301" * 9):
            index.lexical(index.respelled(Words((text,), (text,), (text,))), 10)

    def test_a_conversation_is_found_by_a_word_that_is_spelled_nearly_like_one_that_is_said(
        self, index: SearchIndex
    ) -> None:
        with writing(index) as writer:
            writer.put(HERE, file("chat", "x"), "x garden", [Chunk(1, 1, "x garden", own="my garden")])

        assert list(index.spoken(index.respelled(parse("gardne")), 9)) == [
            one for one, _ in index.lexical(parse("garden"), 9)
        ]

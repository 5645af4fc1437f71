"""What a search finds on a real index: by words alone, and by words and meaning together."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.files import Folder
from promptuary.models.protocols import Purpose
from promptuary.search.answer import POOL, answer
from promptuary.search.chunks.lines import Sizes
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.service import SearchService
from promptuary.search.values import Filters, Hit, SearchQuery, SearchResult
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.indexes import index_of

TEXTS = {
    "notes/deploy.md": "# Deploying\n\nRun the release script, then look at the dashboard.\n\n"
    "## Rollback\n\nPut the last image back.\n",
    "notes/lunch.md": "# Lunch\n\nThe canteen closes at two. The script of the play is in the drawer.\n",
    "notes/2020-05-01.md": "# Release notes\n\nThe release of spring.\n",
    "notes/日本.md": "# 東京\n\n東京都の天気は晴れです。\n\n全文検索エンジンの設定\n",
    "src/config.py": "def loadUserConfig(path):\n    '''Read the file.'''\n    return parse_config_file(path)\n",
    "src/http.py": "class HTTPServer:\n    max_open_files = 10\n",
    "data/settings.toml": "[server]\nconfiguration = 'strict'\n",
    "mixed.txt": "first\r\nsecond line of the release\r\n\x0cthird \u2028 still third\r\n\r\nlast",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the texts above."""
    folder = tmp_path_factory.mktemp("small") / "workspace"
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


@pytest.fixture(scope="module", params=["lexical", "hybrid"])
def service(request: pytest.FixtureRequest, written: Path) -> Iterator[SearchService]:
    """Index the texts above, for both ways of searching."""
    with search_with(written, HashedWords() if request.param == "hybrid" else None) as opened:
        opened.index([written])
        opened.embed()
        yield opened


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write more than both pools hold, much of it alike."""
    workspace = tmp_path_factory.mktemp("large") / "workspace"
    (workspace / "src").mkdir(parents=True)
    for part in range(4):
        sections = (
            f"# Part {part}.{number}\n\nalpha {'beta ' * (number % 3)}word{number % 50} n{number} {'filler ' * 40}\n"
            for number in range(130)
        )
        (workspace / f"part{part}.md").write_text("\n".join(sections))
    (workspace / "src/alpha.py").write_text(
        "\n".join(f"def alpha_{number}():\n    return {number}\n" for number in range(40))
    )
    return workspace


@pytest.fixture(scope="module", params=["lexical", "hybrid"])
def large(request: pytest.FixtureRequest, home: Path) -> Iterator[SearchService]:
    embedder = HashedWords() if request.param == "hybrid" else None
    with search_with(home, embedder, sizes=Sizes(64, 8)) as opened:
        opened.index([home])
        opened.embed()
        assert opened.status().counts.chunks > 450
        yield opened


def paths(found: SearchResult) -> list[str]:
    return [hit.path for hit in found.hits]


def places(hits: list[Hit]) -> list[tuple[str, int, int]]:
    return [(hit.path, hit.start_line, hit.end_line) for hit in hits]


# What is a hit


def test_the_lines_of_every_hit_are_its_text_in_the_file(service: SearchService, written: Path) -> None:
    hits = [hit for words in ("release", "script", "東京", "config", "third") for hit in ask(service, words, 50).hits]
    for hit in hits:
        lines = (written / hit.path).read_bytes().decode().split("\n")
        assert "\n".join(lines[hit.start_line - 1 : hit.end_line]) == hit.text
    assert {hit.path for hit in hits} >= {"mixed.txt", "notes/日本.md", "src/config.py", "notes/deploy.md"}


def ask(service: SearchService, words: str, limit: int = 10, **filters: object) -> SearchResult:
    return service.find(SearchQuery(words, limit, Filters(**filters), per_file=0))  # type: ignore[arg-type]


def test_a_hit_says_which_words_it_has_and_how_near_it_is(service: SearchService) -> None:
    (hit, *_) = ask(service, 'canteen "closes at two" drawe* rollback').hits

    assert hit.path == "notes/lunch.md"
    assert hit.why.matched == ("closes at two", "canteen", "drawe")
    assert hit.why.lexical is not None
    assert (hit.why.cosine is not None) == (service.status().embedder != "")


def test_letters_within_a_word_are_not_the_word(files: Files) -> None:
    workspace = files({"art.md": "The party is at noon.", "b.md": "To rollback, run the releasing script."})
    with search_with(workspace) as opened:
        opened.index([workspace])
        (party,) = opened.find(SearchQuery("art")).hits
        (rollback,) = opened.find(SearchQuery("roll back a release")).hits

    assert (party.path, party.why.matched) == ("art.md", ())
    assert (rollback.path, rollback.why.matched) == ("b.md", ("release",))


@pytest.mark.parametrize(
    ("words", "matched"),
    [
        ("user configs", ("user", "configs")),
        ("Parse_Config_File writer", ("Parse_Config_File",)),
        ("loadUser* serConfig", ("loadUser",)),
        ('"read the  FILE" conf', ("read the  FILE",)),
    ],
)
def test_names_are_told_by_their_parts_and_phrases_by_their_words(
    service: SearchService, words: str, matched: tuple[str, ...]
) -> None:
    (hit, *_) = ask(service, words, paths=("src/config.py",)).hits

    assert set(hit.why.matched) == set(matched)


def test_the_answer_tells_whether_meaning_took_part(service: SearchService) -> None:
    with_vectors = service.status().embedder != ""

    assert ask(service, "canteen").mode == ("hybrid" if with_vectors else "lexical")
    assert service.find(SearchQuery("canteen", lexical_only=True)).mode == "lexical"


def test_by_words_alone_the_embedder_is_not_asked(files: Files) -> None:
    embedder = HashedWords()
    with search_with(files(TEXTS), embedder) as opened:
        opened.index([files({})])
        opened.embed()
        opened.find(SearchQuery("canteen", lexical_only=True))
        assert embedder.questions == []
        opened.find(SearchQuery("canteen"))

    assert embedder.questions == ["canteen"]


class Zoologist(HashedWords):
    """Knows that zebras and giraffes are alike."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        return super().embed([text.replace("zebra", "giraffe") for text in texts], purpose)


def test_what_has_none_of_the_words_is_found_by_meaning_only(files: Files) -> None:
    workspace = files({"a.md": "giraffe", "b.md": "lunch at two"})
    with search_with(workspace, Zoologist()) as opened:
        opened.index([workspace])
        opened.embed()

        assert paths(opened.find(SearchQuery("zebra")))[0] == "a.md"
        assert paths(opened.find(SearchQuery("zebra", lexical_only=True))) == []


@pytest.mark.parametrize("text", ["", "   ", "...", "?!", '""', "*", "\x00", "\ud800", "(", "\n\n"])
def test_a_question_that_asks_for_nothing_finds_nothing(service: SearchService, text: str) -> None:
    assert ask(service, text).hits == ()


def test_no_answers_are_no_answers_and_fewer_are_a_slip(service: SearchService) -> None:
    assert ask(service, "release", 0).hits == ()
    with pytest.raises(ConfigError, match="numbers of hits, from 0 on"):
        ask(service, "release", -1)


# What words mean


def test_a_quoted_phrase_is_in_every_hit(service: SearchService) -> None:
    hits = ask(service, '"release script" dashboard the canteen').hits

    assert [hit.path for hit in hits] == ["notes/deploy.md"]
    assert all("release script" in hit.text for hit in hits)


def test_a_phrase_that_stands_nowhere_finds_nothing_however_near_anything_is(service: SearchService) -> None:
    assert ask(service, '"script release"').hits == []


def test_a_phrase_that_stands_nowhere_is_words_like_the_others_beside_it(service: SearchService) -> None:
    quoted, plain = ask(service, '"script release" canteen'), ask(service, "script release canteen")

    assert quoted.hits
    assert [hit.path for hit in quoted.hits] == [hit.path for hit in plain.hits]


def test_a_star_stands_for_the_rest_of_a_word(service: SearchService) -> None:
    found = service.find(SearchQuery("conf*", 20, lexical_only=True))

    assert set(paths(found)) == {"src/config.py", "data/settings.toml"}


@pytest.mark.parametrize(
    "words",
    ["loadUserConfig", "loaduserconfig", "load user config", "UserConfig", "parse_config_file", "parse config file"],
)
def test_a_name_is_found_whole_and_by_its_parts_however_it_is_written(service: SearchService, words: str) -> None:
    assert best_by_words(service, words) == "src/config.py"


@pytest.mark.parametrize("words", ["HTTPServer", "http server", "max_open_files", "open files"])
def test_abbreviations_and_underscores_end_a_part(service: SearchService, words: str) -> None:
    assert best_by_words(service, words) == "src/http.py"


@pytest.mark.parametrize("words", ["東京", "天気", "東京都", "全文検索", "検索エンジン", '"全文検索"'])
def test_scripts_without_spaces_are_found_by_their_words(service: SearchService, words: str) -> None:
    assert best_by_words(service, words) == "notes/日本.md"


def best_by_words(service: SearchService, words: str) -> str:
    return max(ask(service, words).hits, key=lambda hit: hit.why.lexical or 0.0).path


# Filters


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"paths": ("notes",)}, {"notes/deploy.md", "notes/lunch.md", "notes/2020-05-01.md", "notes/日本.md"}),
        ({"paths": ("notes/*.md", "!notes/lunch.md", "!notes/日本.md")}, {"notes/deploy.md", "notes/2020-05-01.md"}),
        ({"paths": ("src/http.py",)}, {"src/http.py"}),
        ({"paths": ("./src/",)}, {"src/http.py", "src/config.py"}),
        ({"kinds": ("code",)}, {"src/http.py", "src/config.py"}),
        ({"kinds": ("data", "text")}, {"data/settings.toml", "mixed.txt"}),
        ({"until": 1_600_000_000}, {"notes/2020-05-01.md"}),
        ({"labels": ("ada",)}, set()),
        ({"folders": ("/elsewhere",)}, set()),
        ({"kinds": ("code",), "paths": ("notes",)}, set()),
    ],
)
def test_nothing_but_what_passes_the_filters_is_found_by_words_or_by_meaning(
    service: SearchService, filters: dict[str, object], expected: set[str]
) -> None:
    words = "release script config server canteen 東京 open files"
    found = set(paths(ask(service, words, 100, **filters)))

    assert found == expected


def test_the_end_of_a_time_is_not_in_it_and_its_beginning_is(service: SearchService) -> None:
    (hit,) = ask(service, "spring", paths=("notes/2020-05-01.md",)).hits

    assert paths(ask(service, "spring", since=hit.date, until=hit.date + 1)) == [hit.path]
    assert paths(ask(service, "spring", until=hit.date)) == []
    assert hit.path not in paths(ask(service, "spring", since=hit.date + 1))


def test_what_is_of_others_is_not_found_by_meaning_either(files: Files, tmp_path: Path) -> None:
    workspace, other = files({"same.md": "alpha here"}), tmp_path / "other"
    other.mkdir()
    (other / "same.md").write_text("alpha there")
    with search_with(workspace, HashedWords()) as opened:
        opened.index([workspace])
        opened.index([other], label="ada")
        opened.embed()
        ada = ask(opened, "alpha", labels=("ada",))
        everybody = ask(opened, "alpha", labels=("",))
        here = ask(opened, "alpha", folders=(str(workspace),))

    assert [(hit.folder, ada.mode) for hit in ada.hits] == [(str(other), "hybrid")]
    assert [hit.folder for hit in everybody.hits] == [hit.folder for hit in here.hits] == [str(workspace)]


def test_a_filter_that_cannot_be_understood_is_refused_with_a_reason(service: SearchService) -> None:
    with pytest.raises(PromptuaryError, match="path filter"):
        ask(service, "release", paths=("{a,b}" * 20,))


# How many there are


def test_more_answers_begin_with_the_fewer_beyond_the_pool_too(large: SearchService) -> None:
    for words in ("alpha", "alpha beta word7", "alpha filler n12"):
        every = list(ask(large, words, 2_000).hits)
        assert len(every) > 2 * POOL
        assert len(set(places(every))) == len(every)
        for limit in (1, 2, 3, 10, 77, POOL - 1, POOL, POOL + 1, 2 * POOL - 1, 2 * POOL, 2 * POOL + 1, len(every) - 1):
            assert ask(large, words, limit).hits == every[:limit]


def test_more_answers_begin_with_the_fewer_among_those_that_pass_a_filter(large: SearchService) -> None:
    every = ask(large, "alpha beta", 2_000, kinds=("markdown",), paths=("part0.md", "part2.md")).hits

    assert len(every) > POOL
    assert {hit.path for hit in every} == {"part0.md", "part2.md"}
    for limit in (1, 5, POOL - 1, POOL, POOL + 1, len(every) - 1):
        found = ask(large, "alpha beta", limit, kinds=("markdown",), paths=("part0.md", "part2.md"))
        assert found.hits == every[:limit]


@pytest.mark.parametrize("gone", [(0,), (0, 2), (3, 4, 5, 6), (0, 1, 2, 5, 6, 8), tuple(range(9))])
@pytest.mark.parametrize("embedder", [None, HashedWords()])
def test_what_the_full_text_index_has_and_the_catalogue_has_not_is_left_out_and_others_move_up(
    files: Files, embedder: HashedWords | None, gone: tuple[int, ...]
) -> None:
    workspace = files({f"{number}.md": f"alpha {'beta ' * number}" for number in range(9)})
    with search_with(workspace, embedder) as opened:
        opened.index([workspace])
        opened.embed()
        every = answer(SearchQuery("alpha", 9), index_of(opened), embedder).hits
        current = index_of(opened)._generations.current()
        assert current is not None
        catalog = Catalog(current / "catalog.db")
        catalog.drop(Folder(str(workspace)), [every[place].path for place in gone])
        catalog.close()
        left = [hit.path for place, hit in enumerate(every) if place not in gone]

        for limit in range(1, 10):
            found = answer(SearchQuery("alpha", limit), index_of(opened), embedder)
            assert [hit.path for hit in found.hits] == left[:limit]


# Time


DIARY = {
    "2024-01-10.md": "# Diary\n\nThe budget meeting was short.\n",
    "2024-03-05.md": "# Diary\n\nThe budget meeting was long, and the coffee cold.\n",
    "2024-06-20.md": "# Diary\n\nThe budget meeting was cancelled.\n",
    "2024-05-01.md": "# Diary\n\nThe move to the harbour: boxes everywhere.\n",
}


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("the budget meeting in March 2024", "2024-03-05.md"),
        ("the latest budget meeting", "2024-06-20.md"),
        ("what was the first budget meeting", "2024-01-10.md"),
        ("the last budget meeting before March 2024", "2024-01-10.md"),
        ("the budget meeting after the move to the harbour", "2024-06-20.md"),
    ],
)
def test_what_a_question_says_about_time_decides_among_what_answers(files: Files, asked: str, first: str) -> None:
    workspace = files(DIARY)
    with search_with(workspace) as opened:
        opened.index([workspace])
        found = opened.find(SearchQuery(asked))

    assert paths(found)[0] == first


@pytest.mark.parametrize(("relation", "first"), [("after", "2024-06-20.md"), ("before", "2024-01-10.md")])
def test_the_day_of_an_event_is_neither_before_nor_after_it(files: Files, relation: str, first: str) -> None:
    workspace = files({**DIARY, "2024-05-01 evening.md": "# Diary\n\nThe budget meeting, the budget meeting.\n"})
    (workspace / "2024-03-05.md").unlink()
    with search_with(workspace) as opened:
        opened.index([workspace])
        found = opened.find(SearchQuery(f"the budget meeting {relation} the move to the harbour"))
        plain = opened.find(SearchQuery("the budget meeting"))

    assert paths(plain)[0] == "2024-05-01 evening.md"
    assert paths(found)[0] == first


# Chats


def test_a_passage_of_a_chat_is_found_by_what_the_person_said_elsewhere_in_it(files: Files) -> None:
    talk = "user: My sister Petra keeps bees on the roof in Ghent.\nassistant: How nice!\nuser: She sells the honey.\n"
    reply = "assistant: Honey needs labels, jars and a scale. " + "Think of the market and of permits. " * 60 + "\n"
    other = (
        "user: Where can I sell honey?\n" + reply + "user: Thanks, jars it is.\nassistant: Good luck with the honey!\n"
    )
    workspace = files({"a.md": f"# Chat\n\n{talk}{reply}", "b.md": f"# Chat\n\n{other}"})
    with search_with(workspace) as opened:
        opened.index([workspace])
        found = opened.find(SearchQuery("jars and labels for the honey of Petra"))

    assert paths(found)[0] == "a.md"


def test_a_misspelled_word_finds_less_surely_what_it_is_meant_for(service: SearchService) -> None:
    right, wrong = (service.find(SearchQuery(text, lexical_only=True)) for text in ("the canteen", "the cantene"))

    assert paths(right)[0] == paths(wrong)[0] == "notes/lunch.md"
    assert (right.hits[0].why.matched, wrong.hits[0].why.matched) == (("canteen",), ("cantene ~ canteen",))
    assert 0 < wrong.confidence < right.confidence


@pytest.mark.parametrize("text", ["asdfqwer", "hjklö jklö", "qwrt", "xyzzyx plugh", "lalala"])
def test_letters_typed_at_random_find_nothing_by_words(service: SearchService, text: str) -> None:
    found = service.find(SearchQuery(text, lexical_only=True))

    assert (found.hits, found.confidence, found.answers) == ([], 0.0, False)


def test_an_event_and_what_is_asked_about_it_may_be_misspelled(service: SearchService) -> None:
    query = SearchQuery("what about the cantene before the releasse?", lexical_only=True)

    assert paths(service.find(query))[0] == "notes/lunch.md"


def test_by_words_a_short_file_with_one_of_the_words_does_not_outrank_a_long_one_with_all(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "template.md").write_text("# Report\n\nReports are counted.\n")
    guide = [f"# Chapter {number}\n\nPage {number} is about part {number} of the client.\n" for number in range(60)]
    guide[30] = "# Redirects\n\nA redirect is followed when follow_redirects is set: redirects are counted.\n"
    (workspace / "guide.md").write_text("\n".join(guide))
    with search_with(workspace, None) as opened:
        opened.index([workspace])
        found = opened.find("how are redirects counted?")

    assert paths(found) == ["guide.md", "template.md"]


# What is taken for an answer, by words alone


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchService]:
    """Index a manual of many short chapters, and a template that has common words."""
    workspace = tmp_path_factory.mktemp("manual") / "workspace"
    workspace.mkdir()
    things = ["socket", "timer", "cache", "queue", "ledger", "parser", "router", "filter", "mirror", "bucket"]
    deeds = ["opened", "closed", "flushed", "copied", "merged", "locked", "split", "counted"]
    for thing in things:
        chapters = [f"# {thing.title()} {deed}\n\nA {thing} is {deed} by its owner at noon.\n" for deed in deeds]
        (workspace / f"{thing}.md").write_text("\n".join(chapters))
    (workspace / "template.md").write_text("# Report\n\nThanks! Tell us what did not work, and what you use.\n")
    (workspace / "data.md").write_text("# Data\n\nA row of data is kept for a year.\n")
    (workspace / "redirects.md").write_text("# Redirects\n\nA redirect is followed at most twenty times.\n")
    with search_with(workspace, None) as opened:
        opened.index([workspace])
        yield opened


@pytest.mark.parametrize(
    "message",
    [
        "thanks, bye",
        "thanks",
        "that did not work",
        "which database do we use",
        "how do I resize the report",
        "tell me what you want",
        "how are you?",
        "use a table",
    ],
)
def test_by_words_what_shares_a_word_by_chance_is_no_answer(manual: SearchService, message: str) -> None:
    found = manual.find(message)

    assert not found.answers
    assert found.mode == "lexical"


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("when is a socket opened", "socket.md"),
        ("the owner of a locked queue", "queue.md"),
        ("how do redirects work", "redirects.md"),
        ("redirects", "redirects.md"),
        ("Parser split", "parser.md"),
    ],
)
def test_by_words_what_has_the_words_or_the_name_answers(manual: SearchService, question: str, path: str) -> None:
    found = manual.find(question)

    assert found.answers
    assert paths(found)[0] == path


def test_by_words_a_question_without_spaces_is_as_many_words_as_it_has_pairs(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for number in range(30):
        (workspace / f"{number}.md").write_text(f"# 第{number}章\n\n天気は晴れです。\n")
    (workspace / "search.md").write_text("全文検索エンジンの設定を変更します。\n")
    with search_with(workspace, None) as opened:
        opened.index([workspace])
        found = opened.find("検索エンジンの設定")

    assert found.answers
    assert paths(found)[0] == "search.md"

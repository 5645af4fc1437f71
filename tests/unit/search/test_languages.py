"""What a search finds in folders in several languages, with a model that knows one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.search.service import SearchService
from tests.embedders import HashedWords, search_with

TEXTS = {
    "de/schluessel.md": "Der Schlüssel für den Keller hängt neben der Garderobe, weil er sonst immer verloren geht.",
    "de/heizung.md": "Die Heizung wird im Oktober gewartet, und die Rechnung für Mai ist noch nicht da.",
    "de/liste.md": "| Rechnung | Mai | 210 |\n| Rechnung | Juni | 220 |",
    "en/boiler.md": "The boiler is serviced in October, and the contract has the number 4471.",
    "en/key.md": "The key of the shed is with the neighbours, because it would be lost otherwise.",
    "ja/kagi.md": "鍵は隣の人に預けてあります。冷蔵庫の修理は来週です。",
    "src/code.py": "def wartung(kessel):\n    # die Wartung des Kessels\n    return kessel.check() and kessel.ok()\n",
}


class EnglishWords(HashedWords):
    """An embedder that knows English alone."""

    languages = frozenset({"en"})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchService]:
    folder = tmp_path_factory.mktemp("languages") / "workspace"
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with search_with(folder, EnglishWords()) as opened:
        opened.index([folder])
        opened.embed()
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wo hängt der Schlüssel?", "de/schluessel.md"),
        ("Rechnung Mai", "de/liste.md"),
        ("冷蔵庫の修理はいつ", "ja/kagi.md"),
    ],
)
def test_a_question_in_another_language_is_answered_by_its_words(
    service: SearchService, question: str, answer: str
) -> None:
    found = service.find(question)

    assert found.hits[0].path == answer
    assert found.mode == "lexical"
    assert all(hit.why.foreign and hit.why.meaning is None for hit in found.hits)


def test_a_question_that_the_model_knows_is_compared_with_the_passages_that_it_knows(service: SearchService) -> None:
    found = service.find("where is the key of the shed?")

    assert found.mode == "hybrid"
    assert {"en/boiler.md", "en/key.md"} <= {hit.path for hit in found.hits if not hit.why.foreign}
    assert not any(hit.path.startswith("en/") for hit in found.hits if hit.why.foreign)


def test_a_list_and_code_are_in_no_language(service: SearchService) -> None:
    assert service.backend.index.languages() == {"de": 2, "en": 2, "ja": 1}


def test_a_list_below_german_text_is_german(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    rows = "".join(f"| Rechnung {number} | {number * 7} |\n" for number in range(60))
    (folder / "a.md").write_text(f"# Rechnungen\n\n{TEXTS['de/heizung.md']}\n\n## 2026\n\n{rows}", encoding="utf-8")
    with search_with(folder, EnglishWords()) as opened:
        opened.index([folder])

        assert opened.backend.index.languages() == {"de": opened.status().counts.chunks}


def test_the_status_says_which_languages_the_model_does_not_know(service: SearchService) -> None:
    assert service.status().foreign == {"de": 2, "ja": 1}


def test_a_model_that_knows_all_languages_keeps_their_meaning(service: SearchService, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.md").write_text(TEXTS["de/heizung.md"], encoding="utf-8")
    with search_with(folder, HashedWords()) as opened:
        opened.index([folder])
        opened.embed()

        found = opened.find("Wann wird die Heizung gewartet?")

        assert found.mode == "hybrid"
        assert not found.hits[0].why.foreign
        assert opened.status().foreign == {}

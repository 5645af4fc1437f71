"""What a search finds for a question about a day, wherever the day of an entry stands."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.cli.search.hits import reasons
from promptuary.references.kinds.search_hits import recallable
from promptuary.search.dates.question import time_hint
from promptuary.search.service import SearchService
from promptuary.search.values import Filters, SearchQuery, SearchResult
from tests.conftest import git
from tests.embedders import HashedWords, search_with

# The clock of the search is the machine's: an entry is so many days old.
TODAY = datetime.now(UTC).astimezone().date()
HOURS = "Mail until ten, rain all day, and the crane was late again: pipe{}.\n"
ENTRIES = 40

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
ASKED = {
    "en": "what happened on {d} {m} {y}?",
    "de": "Was war am {d}. {m} {y}?",
    "fr": "Que s'est-il passé le {d} {m} {y} ?",
    "es": "¿Qué pasó el {d} de {m} de {y}?",
    "it": "Cosa è successo il {d} {m} {y}?",
    "pt": "O que aconteceu em {d} de {m} de {y}?",
    "nl": "Wat gebeurde er op {d} {m} {y}?",
    "ja": "{y}年{n}月{d}日に何がありましたか",
    "zh": "{y}年{n}月{d}日发生了什么？",
    "numbers": "what happened on {y}-{n:02}-{d:02}?",
}


def asked(language: str, back: int) -> str:
    day = TODAY - timedelta(back)
    month = MONTHS[language].split()[day.month - 1] if language in MONTHS else ""
    return ASKED[language].format(d=day.day, m=month, y=day.year, n=day.month)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a diary of 40 days, each dated in its own way, among notes that share words with the questions."""
    folder = tmp_path_factory.mktemp("days") / "workspace"
    (folder / "log").mkdir(parents=True)
    for back in range(-1, ENTRIES + 1):
        day, hours = TODAY - timedelta(back), HOURS.format(back)
        path, text = [
            (f"log/{day}.md", hours),
            (f"log/entry-{back}.md", f"# {day:%A}, {day.day} {day:%B} {day.year}\n\n{hours}"),
            (f"log/entry-{back}.md", f"---\ndate: {day}\n---\n\n{hours}"),
            (f"log/{day:%Y%m%d}.txt", hours),
        ][back % 4]
        (folder / path).write_text(text, encoding="utf-8")
    for number in range(30):
        (folder / f"note-{number}.md").write_text(
            f"What happened, what was planned on a day in May or in {number}: que s'est-il passé, was war, cosa è.\n"
        )
        os.utime(folder / f"note-{number}.md", (1_500_000_000 + 86_400 * number,) * 2)
    return folder


@pytest.fixture(scope="module")
def by_words(folder: Path) -> Iterator[SearchService]:
    with search_with(folder) as opened:
        opened.index([folder])
        yield opened


@pytest.fixture(scope="module", params=["words", "vectors"])
def service(request: pytest.FixtureRequest, folder: Path, by_words: SearchService) -> Iterator[SearchService]:
    """Search by words alone, and with vectors that say nothing."""
    if request.param == "words":
        yield by_words
        return
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy / "workspace")
    with search_with(copy / "workspace", HashedWords()) as opened:
        opened.index([copy / "workspace"])
        opened.embed()
        yield opened


def back_of(found: SearchResult) -> int:
    """Return how many days ago the first hit is from."""
    return (TODAY - datetime.fromtimestamp(found.hits[0].date, UTC).date()).days


@given(back=st.integers(1, ENTRIES), language=st.sampled_from(sorted(ASKED)))
def test_the_entry_of_a_day_comes_first_in_every_language(service: SearchService, back: int, language: str) -> None:
    found = service.find(asked(language, back))

    assert back_of(found) == back
    assert found.hits[0].why.time == "decides"
    assert found.answers
    assert recallable(found)[0] == found.hits[0]


@pytest.mark.parametrize(
    ("question", "back"),
    [
        ("What did I do yesterday?", 1),
        ("Was habe ich vorgestern gemacht?", 2),
        ("Qu'ai-je fait il y a 11 jours ?", 11),
        ("¿Qué hice hace 3 días?", 3),
        ("Cosa ho fatto 3 giorni fa?", 3),
        ("O que fiz há 3 dias?", 3),
        ("Wat deed ik 3 dagen geleden?", 3),
        ("3日前に何をしましたか", 3),
        ("3天前我做了什么", 3),
        ("show me the entry of two days ago", 2),
    ],
)
def test_a_day_may_be_named_by_how_long_ago_it_was(service: SearchService, question: str, back: int) -> None:
    found = service.find(question)

    assert back_of(found) == back
    assert found.answers


def test_where_nothing_but_the_day_answers_recall_brings_in_that_day_alone(by_words: SearchService) -> None:
    found = by_words.find(SearchQuery("What was on the day before yesterday in May?", per_file=0))

    assert len(found.hits) > 1
    assert [hit.why.time for hit in recallable(found)] == ["decides"]


def test_each_of_a_few_days_comes_first(service: SearchService) -> None:
    found = service.find(f"what happened between {TODAY - timedelta(4)} and {TODAY - timedelta(3)}?")

    assert {hit.why.time for hit in found.hits[:2]} == {"decides"}


@pytest.mark.parametrize(
    "message",
    [
        "have a nice weekend",
        "see you tomorrow",
        "see you on Monday!",
        "bis morgen",
        "bis Montag",
        "à demain",
        "hasta mañana",
        "até amanhã",
        "a domani",
        "tot morgen",
        "また明日",
        "明天见",
        "昨日はありがとう",
        "thanks for your help yesterday",
        "danke für gestern",
        "shall we continue tomorrow?",
        "shall we meet on Monday?",
        "können wir am Montag weitermachen?",
        "machen wir morgen weiter?",
        "how are things today?",
        "I was away last week",
        "that was a long day yesterday",
    ],
)
def test_who_only_mentions_a_day_gets_nothing(by_words: SearchService, message: str) -> None:
    assert recallable(by_words.find(SearchQuery(message, per_file=0))) == []


def test_a_month_only_leans(by_words: SearchService) -> None:
    found = by_words.find(SearchQuery("crane planned happened what day May passé last month", 100))

    assert found.hits[0].path.startswith("note")
    assert {hit.why.time for hit in found.hits} == {"", "leans"}
    assert not by_words.find("what did the others do last month?").answers


def test_a_day_of_which_only_the_next_has_an_entry_is_that_one(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    soon = (TODAY + timedelta(30), TODAY + timedelta(31))
    coming = next(day for day in soon if (day.month, day.day) != (2, 29))
    (work / f"{coming}.md").write_text("Paint the annex.\n")
    (work / "other.md").write_text("What is planned, and on which day of the month?\n")
    named = f"{coming:%B} {coming.day}"
    with search_with(work) as service:
        service.index([work])
        found = service.find(f"what is planned for the house on {named}?")
        assert (found.hits[0].path, found.answers) == (f"{coming}.md", True)

        (work / f"{coming.replace(year=coming.year - 1)}.md").write_text("Paint the chapel.\n")

        assert service.find(f"what was planned on {named}?").hits[0].text == "Paint the chapel."


def test_it_is_explained_that_a_day_decided(by_words: SearchService) -> None:
    day, month, plain = (
        by_words.find(text).hits[0]
        for text in ("what happened yesterday?", "crane last month", "what about the crane?")
    )

    assert "from the time that you name: that decides" in reasons(day.score, day.why)
    assert "from the time that you name" in reasons(month.score, month.why)
    assert not [line for line in reasons(plain.score, plain.why) if "time" in line]


def test_a_question_without_a_day_is_not_touched(by_words: SearchService) -> None:
    found = by_words.find(SearchQuery("crane rain", 100))

    assert not time_hint("crane rain", datetime.now(UTC))
    assert {hit.why.time for hit in found.hits} == {""}


def test_a_filter_and_a_quoted_phrase_hold_for_a_day_too(service: SearchService) -> None:
    only = Filters(paths=("note-*.md",))
    assert all(
        hit.path.startswith("note") for hit in service.find(SearchQuery("what was yesterday?", filters=only)).hits
    )
    assert all("crane" in hit.text for hit in service.find('"the crane was late" yesterday').hits)
    assert service.find('"the crane was late" yesterday').hits[0].why.time == "decides"
    assert [back_of(service.find('"pipe3" yesterday')), len(service.find('"pipe3" yesterday').hits)] == [3, 1]


def test_a_file_that_gets_the_name_of_another_day_is_of_that_day(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "2026-03-01.md").write_text("The crane was late.\n")
    (work / "other.md").write_text("What happened on 2 March 2026, and on 1 March?\n")
    with search_with(work) as service:
        service.index([work])
        assert service.find("what happened on 1 March 2026?").hits[0].path == "2026-03-01.md"

        (work / "2026-03-01.md").rename(work / "2026-03-02.md")

        assert service.find("what happened on 2 March 2026?").hits[0].path == "2026-03-02.md"
        assert "decides" not in {hit.why.time for hit in service.find("what happened on 1 March 2026?").hits}


def test_commits_date_what_says_nothing_itself_and_do_not_make_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    git(work, "init", "-q")
    for number in range(12):
        (work / f"{number}.md").write_text(f"What changed on a day of June: number {number}.\n")
    for seconds in (1_760_000_000, 1_770_000_000):
        git(work, "add", "-A")
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{seconds} +0000")
        git(work, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "x")
        (work / "12.md").write_text("The heron.\n")
    for path in work.glob("*.md"):
        os.utime(path, (1_780_000_000,) * 2)
    with search_with(work) as service:
        service.index([work])
        found = service.find(f"what changed on {datetime.fromtimestamp(1_770_000_000, UTC):%Y-%m-%d}?")

    assert found.hits[0].path == "12.md"
    assert found.hits[0].why.time == "decides"
    assert found.confidence < 1

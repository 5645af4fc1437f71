"""What questions say about time, for somebody who asks on Monday, the 16th of November 2026."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from promptuary.search.dates.question import TimeHint, time_hint

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)


def days(text: str) -> tuple[str, str]:
    """Return the first day that a question means, and the first that it does not."""
    hint = time_hint(text, NOW)
    return tuple(  # type: ignore[return-value]
        "" if one is None else datetime.fromtimestamp(one, UTC).date().isoformat() for one in (hint.since, hint.until)
    )


LAST_WEEK = ("2026-11-09", "2026-11-16")
TWO_WEEKS_AGO = ("2026-10-30", "2026-11-06")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did I say today", ("2026-11-16", "2026-11-17")),
        ("yesterday", ("2026-11-15", "2026-11-16")),
        ("the day before yesterday", ("2026-11-14", "2026-11-15")),
        ("what did I say last week about tea", LAST_WEEK),
        ("this week", ("2026-11-16", "2026-11-23")),
        ("last weekend", ("2026-11-14", "2026-11-16")),
        ("this month", ("2026-11-01", "2026-12-01")),
        ("last month", ("2026-10-01", "2026-11-01")),
        ("last year", ("2025-01-01", "2026-01-01")),
        ("next week", ("2026-11-23", "2026-11-30")),
        ("in March", ("2026-03-01", "2026-04-01")),
        ("in december", ("2025-12-01", "2026-01-01")),
        ("in 2023", ("2023-01-01", "2024-01-01")),
        ("in May 2023", ("2023-05-01", "2023-06-01")),
        ("in Sept 2023", ("2023-09-01", "2023-10-01")),
        ("June 2023", ("2023-06-01", "2023-07-01")),
        ("on 8 May", ("2026-05-08", "2026-05-09")),
        ("on May 8th", ("2026-05-08", "2026-05-09")),
        ("on the 20th of December", ("2025-12-20", "2025-12-21")),
        ("on 2023-05-08", ("2023-05-08", "2023-05-09")),
        ("on 8 May 2023", ("2023-05-08", "2023-05-09")),
        ("on Tuesday", ("2026-11-10", "2026-11-11")),
        ("last Monday", ("2026-11-09", "2026-11-10")),
        ("since Tuesday", ("2026-11-10", "")),
        ("since 8 May 2023", ("2023-05-08", "")),
        ("before June", ("", "2026-06-01")),
        ("after 2023", ("2024-01-01", "")),
        ("until 2024", ("", "2025-01-01")),
        ("between March and May 2023", ("2023-03-01", "2023-06-01")),
        ("from March to May", ("2026-03-01", "2026-06-01")),
        ("two weeks ago", TWO_WEEKS_AGO),
        ("3 days ago", ("2026-11-13", "2026-11-14")),
        ("a couple of months ago", ("2026-09-01", "2026-10-02")),
        ("a year ago", ("2025-05-18", "2026-05-18")),
        ("in the last 3 days", ("2026-11-13", "2026-11-17")),
        ("over the past few weeks", ("2026-10-26", "2026-11-17")),
        ("last summer", ("2026-06-01", "2026-09-01")),
        ("was habe ich gestern gesagt", ("2026-11-15", "2026-11-16")),
        ("letzte Woche", LAST_WEEK),
        ("letzten Monat", ("2026-10-01", "2026-11-01")),
        ("im März 2023", ("2023-03-01", "2023-04-01")),
        ("am 8. Mai", ("2026-05-08", "2026-05-09")),
        ("seit Dienstag", ("2026-11-10", "")),
        ("vor Juni", ("", "2026-06-01")),
        ("vor zwei Wochen", TWO_WEEKS_AGO),
        ("qu'ai-je dit hier", ("2026-11-15", "2026-11-16")),
        ("la semaine dernière", LAST_WEEK),
        ("en août", ("2026-08-01", "2026-09-01")),
        ("le 8 mai", ("2026-05-08", "2026-05-09")),
        ("il y a deux semaines", TWO_WEEKS_AGO),
        ("depuis mardi", ("2026-11-10", "")),
        ("ayer", ("2026-11-15", "2026-11-16")),
        ("la semana pasada", LAST_WEEK),
        ("en marzo de 2023", ("2023-03-01", "2023-04-01")),
        ("el 8 de mayo", ("2026-05-08", "2026-05-09")),
        ("hace dos semanas", TWO_WEEKS_AGO),
        ("antes de junio", ("", "2026-06-01")),
        ("después de mayo de 2023", ("2023-06-01", "")),
        ("ontem", ("2026-11-15", "2026-11-16")),
        ("no mês passado", ("2026-10-01", "2026-11-01")),
        ("em março", ("2026-03-01", "2026-04-01")),
        ("há duas semanas", TWO_WEEKS_AGO),
        ("desde terça", ("2026-11-10", "")),
    ],
)
def test_a_question_may_name_days(text: str, expected: tuple[str, str]) -> None:
    assert days(text) == expected
    assert days(text.upper()) == expected
    assert days(f"Anna and tea {text}, please") == expected


@pytest.mark.parametrize(
    "text",
    [
        "may I march to the set of decimals",
        "hier ist ein Fehler",
        "write it in 2000 words",
        "in set notation",
        "before Marco joined",
        "Office 2019 and ISO 8601",
        "on the 32nd of May",
        "the last line of the file",
        "a week of tea",
        "31 February",
        "",
        "?!",
    ],
)
def test_words_that_only_look_like_a_time_mean_no_days(text: str) -> None:
    assert days(text) == ("", "")


@pytest.mark.parametrize(
    ("text", "order", "rest"),
    [
        ("the latest plan", "newest", "the plan"),
        ("my most recent invoice", "newest", "my invoice"),
        ("when did I last see Anna", "newest", "when did I see Anna"),
        ("what is my last job", "newest", "what is my job"),
        ("what do I currently drink", "newest", "what do I drink"),
        ("wann war ich das letzte Mal dort", "newest", "wann war ich das dort"),
        ("la dernière fois", "newest", "la"),
        ("el plan más reciente", "newest", "el plan"),
        ("o plano mais recente", "newest", "o plano"),
        ("the first time I met Anna", "oldest", "I met Anna"),
        ("when did we first meet", "oldest", "when did we meet"),
        ("das erste Mal", "oldest", "das"),
        ("la primera vez", "oldest", "la"),
        ("the first chapter", None, "the first chapter"),
        ("his last name", "newest", "his name"),
    ],
)
def test_a_question_may_ask_for_the_latest_or_the_first(text: str, order: str | None, rest: str) -> None:
    hint = time_hint(text, NOW)

    assert (hint.order, hint.rest) == (order, rest)


@pytest.mark.parametrize(
    ("text", "relation", "event", "rest"),
    [
        ("where did I live before the move?", "before", "move", "where did I live?"),
        ("who came after the wedding with flowers", "after", "wedding", "who came with flowers"),
        ("what changed since we moved to Berlin", "since", "we moved to Berlin", "what changed"),
        ("Wo wohnte ich vor dem Umzug?", "before", "Umzug", "Wo wohnte ich?"),
        ("avant le mariage", "before", "mariage", ""),
        ("después de la boda", "after", "boda", ""),
        ("depois do casamento", "after", "casamento", ""),
        ("what runs before lunch", None, "", "what runs before lunch"),
        ("a letter from the bank", None, "", "a letter from the bank"),
    ],
)
def test_a_question_may_name_an_event_instead_of_a_day(text: str, relation: str | None, event: str, rest: str) -> None:
    hint = time_hint(text, NOW)

    assert (hint.relation, hint.event, hint.rest) == (relation, event, rest)
    assert (hint.since, hint.until) == (None, None)


def test_the_words_that_mean_a_time_are_not_among_the_rest() -> None:
    hint = time_hint("What did I say in the last two weeks about the latest plan?", NOW)

    assert hint == TimeHint("What did I say about the plan?", hint.since, hint.until, "newest")
    assert hint


def test_a_question_that_says_nothing_about_time_is_its_own_rest() -> None:
    hint = time_hint("How do  I brew tea?", NOW)

    assert hint == TimeHint("How do  I brew tea?")
    assert not hint


def test_two_phrases_mean_the_days_that_they_share_and_else_the_first() -> None:
    assert days("this month, since Tuesday") == ("2026-11-10", "2026-12-01")
    assert days("in March 2023, not yesterday") == ("2023-03-01", "2023-04-01")


def test_days_are_those_of_the_person_who_asks() -> None:
    evening = datetime(2026, 11, 15, 20, tzinfo=timezone(timedelta(hours=-8)))

    assert time_hint("today", evening).since == int(datetime(2026, 11, 15, tzinfo=UTC).timestamp())


def test_a_pasted_text_is_not_read() -> None:
    assert not time_hint("yesterday " + "word " * 60, NOW)
    assert time_hint("yesterday " + "word " * 50, NOW)

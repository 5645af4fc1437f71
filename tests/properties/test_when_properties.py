"""Whatever is asked and whenever: the bounds are in order, and the rest is part of the question."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from promptuary.search.dates.question import time_hint
from promptuary.search.dates.time_words import word_set

WORDS = word_set(
    "in on since before after until between from to and the last this next past 2 two 31 8th 2023 0 999 999999 may "
    "march june 2024-02-30 2023-05-08 tuesday week weeks month year years day ago a couple of few first time latest my "
    "i we move im am vor seit letzte woche märz hier il y hace em março terça feira passada été , . ? - ' ² ٣ "
    "昨日 3日前 9月3日 上周四 から 木曜日 三月 ieri giorni fa dagen geleden op il morgen 3.9. 3/9/2026 "
    "13/9/2026 monday jeudi"
)
QUESTIONS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(sorted(WORDS)), max_size=20).map(" ".join))
NOWS = st.datetimes(datetime(1960, 1, 1), datetime(2200, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


@given(QUESTIONS, NOWS)
def test_bounds_are_in_order_and_the_rest_are_words_of_the_question(text: str, now: datetime) -> None:
    hint = time_hint(text, now)

    assert hint.since is None or hint.until is None or hint.since < hint.until
    assert (hint.relation is None) == (not hint.event)
    assert hint.event in text
    left = iter(text)
    assert all(letter in left for letter in hint.rest if not letter.isspace())


@given(QUESTIONS, NOWS)
def test_a_question_is_read_the_same_each_time_and_its_rest_has_no_time_of_its_own_left_out(
    text: str, now: datetime
) -> None:
    hint = time_hint(text, now)

    assert time_hint(text, now) == hint
    assert hint or hint.rest == text

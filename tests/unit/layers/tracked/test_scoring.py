"""How much a file has to do with a message."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.layers.tracked.scoring import MOST_AT_ONCE, NEUTRAL, RelevanceQuestion, Score, ask_all, judge, parse
from promptuary.testing.scripted import ScriptedModel, ScriptExhausted

BUDGET = "def allocate(total: int) -> None:\n    '''Share tokens among layers.'''\n    tokens = total\n"
INVOICE = "class Invoice:\n    def total(self) -> int:\n        return sum(self.lines)\n"


def score(query: str, path: str, text: str) -> int:
    return judge(RelevanceQuestion(query, path, text)).value


@pytest.mark.parametrize(
    "query",
    [
        "why does allocate give too many tokens",
        "the budget is wrong",
        "How are TOKENS shared?",
        "rename allocate_total to share",
    ],
)
def test_the_file_that_is_spoken_of_ranks_before_one_that_is_not(query: str) -> None:
    assert score(query, "src/budget.py", BUDGET) > score(query, "src/invoice.py", INVOICE)


def test_a_path_says_more_than_a_definition_and_that_more_than_a_mention() -> None:
    query = "something about the budget"
    by_path = score(query, "budget.py", "")
    by_definition = score(query, "a.py", "def budget():\n")
    by_mention = score(query, "a.py", "x = budget\n")

    assert by_path >= by_definition > by_mention > score(query, "a.py", "x = 1\n")


def test_repeating_a_word_helps_only_so_much() -> None:
    once, often = score("budget", "a.py", "budget\n"), score("budget", "a.py", "budget\n" * 5_000)

    assert once < often < score("budget", "budget.py", "")


def test_two_words_found_are_more_than_one() -> None:
    query = "the invoice and its currency"

    assert score(query, "a.py", "invoice currency") > score(query, "a.py", "invoice invoice")


@pytest.mark.parametrize("written", ["parseConfig", "parse_config", "ParseConfig", "PARSE_CONFIG"])
@pytest.mark.parametrize("text", ["parseConfig(x)", "parse_config(x)", "x.PARSE_CONFIG"])
def test_an_identifier_is_found_however_its_words_are_joined(written: str, text: str) -> None:
    assert score(f"what does {written} do", "a.py", text) > score(f"what does {written} do", "a.py", "unrelated()")


def test_a_heading_of_a_document_defines_and_a_comment_does_not() -> None:
    assert score("deployment", "a.md", "# Deployment\n") > score("deployment", "a.py", "# Deployment\n")


def test_a_short_word_is_not_found_inside_others() -> None:
    assert score("port", "a.py", "import important") == score("xy", "a.py", "import important") == 0
    assert score("port", "a.py", "the port is 80") > 0


def test_a_plural_finds_the_singular() -> None:
    assert score("all invoices", "invoice.py", "") > 0


def test_words_of_a_script_without_spaces_are_found() -> None:
    assert score("请修改预算函数", "a.md", "这里是预算") > score("请修改预算函数", "a.md", "今天天气好")


def test_a_message_without_words_judges_nothing() -> None:
    assert judge(RelevanceQuestion("please look at this", "a.py", BUDGET)).value == NEUTRAL
    assert judge(RelevanceQuestion("", "a.py", BUDGET)).value == NEUTRAL


def test_the_reason_names_the_words_that_were_found() -> None:
    question = RelevanceQuestion("does the budget module allocate tokens", "src/budget.py", BUDGET)

    assert judge(question).why == "path: budget; defines: allocate; mentions: token"


@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=2_000))
def test_a_score_is_a_whole_number_of_a_hundred_and_always_the_same(query: str, path: str, text: str) -> None:
    found = judge(RelevanceQuestion(query, path, text))

    assert 0 <= found.value <= 100
    assert found == judge(RelevanceQuestion(query, path, text))


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("75", 75),
        (" 0\n", 0),
        ("100", 100),
        ("75/100", 75),
        ("85.7", 85),
        ("Score: 80", None),
        ("101", None),
        ("1000", None),
        ("-5", None),
        ("", None),
        ("٧٥", None),
    ],
)
def test_only_a_leading_number_up_to_a_hundred_is_understood(answer: str, number: int | None) -> None:
    assert parse(answer) == number


def asked(model: ScriptedModel, count: int = 1, timeout: float = 5.0) -> list[Score]:
    questions = [
        RelevanceQuestion("what is wrong", f"f{number}.py", f"{number}" + "x" * 3_000) for number in range(count)
    ]
    return asyncio.run(ask_all(model, questions, timeout=timeout))


def test_the_model_is_shown_the_query_the_path_and_the_first_two_thousand_characters() -> None:
    model = ScriptedModel(["80"])

    assert asked(model) == [Score(80, "judged by the model")]
    assert model.asked[0].text.endswith("Message:\nwhat is wrong\n\nFile: f0.py\n\nIt begins:\n0" + "x" * 1_999)
    assert model.asked[0].max_tokens <= 16


def test_files_are_judged_at_the_same_time_but_not_all_at_once() -> None:
    model = ScriptedModel(lambda _: "40", delay=0.01)

    assert [one.value for one in asked(model, 30)] == [40] * 30
    assert 1 < model.busiest <= MOST_AT_ONCE


def test_scores_stay_with_their_files() -> None:
    model = ScriptedModel(lambda messages: messages[-1]["content"].partition("begins:\n")[2][0])

    assert [one.value for one in asked(model, 9)] == list(range(9))


def test_a_failure_or_nonsense_costs_only_its_own_file() -> None:
    found = asked(ScriptedModel(["90", RuntimeError("no quota"), "high", "10"]), 4)

    assert [one.value for one in found] == [90, NEUTRAL, NEUTRAL, 10]
    assert "no quota" in found[1].why
    assert "something else than a number" in found[2].why


def test_a_model_that_never_answers_is_given_up_on() -> None:
    found = asked(ScriptedModel(lambda _: "90", delay=float("inf")), 20, timeout=0.02)

    assert {one.value for one in found} == {NEUTRAL}
    assert {one.why for one in found} == {"the model took too long to judge it"}


def test_a_script_that_is_too_short_says_so() -> None:
    with pytest.raises(ScriptExhausted):
        asyncio.run(ScriptedModel([]).complete([], max_tokens=1))

"""What is given is checked: each mistake has an error that names the field, and nothing is stored."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import ConfigError
from promptuary.experiences.drafting import MAX_SOLUTION, check_tags, check_type, draft, preference
from promptuary.experiences.values import Experience

NOW = "2026-01-01T00:00:00.000Z"


def made(type_: Any = "task_solution", intent: Any = "sort a list", solution: Any = None, **fields: Any) -> Experience:
    return draft(type_, intent, solution, fields, now=NOW)  # type: ignore[arg-type]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"type_": "task_solutoin"}, "did you mean task_solution"),
        ({"type_": "Deploy"}, "package.name for one of your own"),
        ({"type_": "acme.deploy now"}, "is not a type of experience"),
        ({"type_": None}, "is not a type of experience"),
        ({"intent": ""}, "intent is empty"),
        ({"intent": " \n\t"}, "intent is empty"),
        ({"intent": 7}, "intent is a text, not int"),
        ({"intent": "x" * 2001}, "intent has 2,001 characters; the most is 2,000"),
        ({"intent": "half \ud83d of it"}, r"half a character \(a lone surrogate\) at position 5"),
        ({"solution": float("nan")}, "solution must be a value that JSON can hold"),
        ({"solution": {"a": [float("inf")]}}, "solution must be a value that JSON can hold"),
        ({"solution": {"a": object()}}, "solution must be a value that JSON can hold"),
        ({"solution": {("a", "b"): 1}}, "solution must be a value that JSON can hold"),
        ({"solution": "x" * MAX_SOLUTION}, "the most is 64,000"),
        ({"solution": ["\udc00"]}, "solution has half a character"),
        ({"solution": {"\udc00": 1}}, "solution has half a character"),
        ({"solution": deep(50)}, "nested deeper than 40"),
        ({"solution": deep(100_000)}, "nested deeper than 40"),
        ({"outcome": "maybe"}, "outcome is success or failure, not 'maybe'"),
        ({"problem": "x" * 4001}, "problem has 4,001 characters"),
        ({"problem": None}, "problem is a text"),
        ({"success_score": 1.5}, "success_score is a number from 0 to 1, not 1.5"),
        ({"success_score": -0.1}, "success_score is a number from 0 to 1"),
        ({"success_score": float("nan")}, "success_score is a number, not nan"),
        ({"success_score": True}, "success_score is a number, not 'True'"),
        ({"success_score": "1"}, "success_score is a number, not '1'"),
        ({"weight": float("inf")}, "weight is a number, not inf"),
        ({"weight": 10**400}, "weight is a number, not inf"),
        ({"confidence": 2}, "confidence is a number from 0 to 1"),
        ({"tags": "docs"}, "tags are a list of texts"),
        ({"tags": [1]}, "a tag is a text, not int"),
        ({"tags": ["x" * 101]}, "a tag has 101 characters"),
        ({"tags": [str(one) for one in range(33)]}, "at most 32 tags"),
        ({"tags": ["\ud800"]}, "half a character"),
        ({"thread": "x" * 501}, "thread has 501 characters"),
    ],
)
def test_what_is_wrong_is_refused_by_name(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made(**given_)


def test_a_solution_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(ConfigError, match="nested deeper than 40"):
        made(solution=ring)


def test_a_new_experience_has_everything_that_was_said() -> None:
    one = made(
        "acme.deploy_plan",
        "  deploy to 東京 ",
        {"steps": [1, 2.5, None, True, "é"]},
        outcome="failure",
        problem="no quota",
        tags=["Deploy", " deploy ", "Tōkyō", ""],
        thread="main",
        turn="turn-1",
        confidence=0.5,
        weight=0.25,
    )

    assert (one.type, one.intent, one.solution) == (
        "acme.deploy_plan",
        "deploy to 東京",
        {"steps": [1, 2.5, None, True, "é"]},
    )
    assert (one.outcome, one.problem, one.tags) == ("failure", "no quota", ("deploy", "tōkyō"))
    assert (one.success_score, one.confidence, one.base_weight, one.weight) == (0.0, 0.5, 0.25, 0.25)
    assert (one.thread, one.turn, one.use_count, one.created_at, one.last_used_at) == ("main", "turn-1", 1, NOW, NOW)
    assert len(one.rev) == 64


def test_a_solution_is_a_copy() -> None:
    given_ = {"steps": ["a"]}
    one = made(solution=given_)
    given_["steps"].append("b")

    assert one.solution == {"steps": ["a"]}


def test_a_type_of_a_plugin_has_the_name_of_its_package() -> None:
    assert [check_type(one) for one in ("tool_chain", "acme.deploy", "a.b_2")] == [
        "tool_chain",
        "acme.deploy",
        "a.b_2",
    ]


def test_a_preference_is_what_somebody_likes_of_something() -> None:
    one = preference("Indentation", "tabs", {}, now=NOW, trust="person")
    same = preference("indentation ", "Tabs!", {}, now=NOW, trust="person")
    other = preference("indentation", "spaces", {}, now=NOW, trust="person")

    assert (one.type, one.intent, one.confidence) == ("user_preference", "Indentation: tabs", 0.4)
    assert one.solution == {"category": "Indentation", "value": "tabs"}
    assert (one.fingerprint, one.topic) == (same.fingerprint, same.topic)
    assert (one.topic, one.fingerprint != other.fingerprint) == (other.topic, True)


def test_preferences_of_two_categories_are_two_whatever_stands_between() -> None:
    one = preference("editor", "theme dark", {}, now=NOW, trust="person")
    other = preference("editor theme", "dark", {}, now=NOW, trust="person")

    assert (one.fingerprint != other.fingerprint, one.topic != other.topic) == (True, True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made(intent="Fix the failing tests!"), made(intent="fix failing tests")),
        (made(intent="please sort a list"), made(intent="Sort   list.")),
        (made(intent="データを移行する"), made(intent="データを移行する。")),
        (
            made("tool_chain", "find todos", {"tools": [{"name": "grep", "arguments": {"q": "TODO"}}]}),
            made("tool_chain", "find todos", {"tools": [{"name": "grep", "arguments": {"q": "FIXME"}}]}),
        ),
        (made(solution="Run make docs"), made(solution="run `make docs`")),
    ],
)
def test_nearly_the_same_is_one(one: Experience, other: Experience) -> None:
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    "other",
    [
        made(intent="do not sort a list"),
        made(solution="sorted()"),
        made(outcome="failure"),
        made("tool_chain"),
        made(intent="sort a dict"),
    ],
)
def test_what_differs_in_a_telling_way_is_two(other: Experience) -> None:
    assert made().fingerprint != other.fingerprint


def test_the_order_of_what_is_wanted_counts() -> None:
    assert made(intent="convert json to yaml").fingerprint != made(intent="convert yaml to json").fingerprint


def test_other_tools_are_another_way() -> None:
    def chain(*names: str) -> Experience:
        return made("tool_chain", "find todos", {"tools": [{"name": one, "arguments": {}} for one in names]})

    assert len({chain("grep").fingerprint, chain("rg").fingerprint, chain("rg", "sed").fingerprint}) == 3


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(intent=st.text(min_size=1, max_size=60), solution=values, tags=st.lists(st.text(max_size=12), max_size=5))
def test_whatever_is_given_is_stored_or_refused_with_a_sentence(intent: str, solution: Any, tags: list[str]) -> None:
    with suppress(ConfigError):
        one = made(intent=intent, solution=solution, tags=tags)
        assert one.intent
        assert check_tags(one.tags) == one.tags

"""What a preference chooses from: the same for what contradicts it, in several languages."""

from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.experiences.learn.from_statements import choice

CONTRARY = [
    ("I prefer tabs over spaces.", "I really prefer spaces to tabs"),
    ("Always use uv instead of pip", "use pip rather than uv, please"),
    ("Ich bevorzuge Tabs statt Leerzeichen", "Ich bevorzuge Leerzeichen gegenüber Tabs."),
    ("Je préfère les tabulations aux espaces", "Je préfère les espaces plutôt que les tabulations"),
    ("Prefiero tabuladores a espacios", "Prefiero espacios en vez de tabuladores"),
    ("我更喜欢用制表符而不是空格", "我更喜欢用空格而不是制表符"),
    ("Always squash commits", "Never squash commits!"),
    ("Bitte verwende immer Tabulatoren.", "Bitte verwende nie Tabulatoren"),
    ("Utilise toujours des tabulations.", "N'utilise jamais des tabulations"),
    ("Usa siempre tabuladores", "Usa nunca tabuladores"),
    ("请始终使用制表符缩进", "请永远不要使用制表符缩进"),
]
NO_CHOICE = [
    "I prefer dark mode",
    "I prefer to go to bed early",
    "I prefer tabs over tabs",
    "My name is Ada",
    "",
    "always",
    "I prefer " + "very " * 50 + "long things over short ones",
]


@pytest.mark.parametrize(("one", "other"), CONTRARY)
def test_what_contradicts_has_the_same_topic_and_another_value(one: str, other: str) -> None:
    first, second = choice(one), choice(other)

    assert first is not None
    assert second is not None
    assert (first.topic == second.topic, first.value == second.value) == (True, False)


@pytest.mark.parametrize("sentence", NO_CHOICE)
def test_what_chooses_nothing_is_no_choice(sentence: str) -> None:
    assert choice(sentence) is None


def test_where_it_counts_is_a_part_of_the_topic() -> None:
    here, there = choice("I prefer uv over pip for scripts"), choice("I prefer pip over uv in containers")

    assert here is not None
    assert there is not None
    assert here.topic != there.topic


def test_a_stated_preference_loses_confidence_when_the_contrary_is_stated(tmp_path: Path) -> None:
    def say(text: str, thread: str) -> None:
        p.threads.finish(p.threads.prepare(text, thread=thread), "Noted.")

    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        say("I prefer tabs over spaces.", "monday")
        say("i prefer tabs to spaces", "tuesday")
        [sure] = p.experiences.list(type="user_preference").experiences
        say("I prefer spaces over tabs.", "wednesday")
        tabs = p.experiences.get(sure.id)
        other = [one for one in p.experiences.list(type="user_preference").experiences if one.id != sure.id]

    assert (sure.use_count, round(sure.confidence, 2)) == (2, 0.52)
    assert tabs is not None
    assert round(tabs.confidence, 2) == 0.26
    assert [(one.intent, one.solution) for one in other] == [
        ("I prefer spaces over tabs.", {"preference": "I prefer spaces over tabs."})
    ]

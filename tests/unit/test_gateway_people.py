"""Who was told something in a chat, and is not told it again for a while."""

from promptuary.gateways.people import SaidLately


def test_something_is_said_once_in_a_while_to_each_person() -> None:
    now = [0.0]
    said = SaidLately(60.0, lambda: now[0])

    assert [said.may_say("ada"), said.may_say("ada"), said.may_say("bob")] == [True, False, True]
    now[0] = 61.0
    assert said.may_say("ada")


def test_a_flood_of_people_is_not_remembered_without_bound() -> None:
    said = SaidLately(60.0, lambda: 0.0, most=100)

    assert all(said.may_say(f"user {number}") for number in range(1000))
    assert len(said._said) == 100
    assert not said.may_say("user 999")


def test_something_is_said_to_few_people_a_minute_and_the_others_are_told_later() -> None:
    now = [0.0]
    said = SaidLately(3600.0, lambda: now[0], a_minute=2)

    assert [said.may_say(user) for user in ("ada", "bob", "cleo", "ada")] == [True, True, False, False]
    now[0] = 61.0
    assert [said.may_say(user) for user in ("ada", "cleo", "dan", "eve")] == [False, True, True, False]

"""Who acts in a chat, what it may refer to, and who was told something and is not told it again for a while."""

import pytest

from promptuary.base.principals import Principal
from promptuary.config.gateways import ChatRules, NamedGateway
from promptuary.gateways.people import RecentMessages, chat_access, find_principal
from promptuary.gateways.port import Inbound
from promptuary.workspace.access import OPEN_KINDS, REMOTE_KINDS

GATEWAY = NamedGateway("bot", "telegram", people={"7": "ada"})


@pytest.mark.parametrize(
    ("message", "principal"),
    [
        (Inbound("42", "1", "42", "hi", direct=True), Principal(user="telegram:42")),
        (Inbound("-5", "1", "42", "hi", direct=False), Principal(user="telegram:42", group="telegram:-5")),
        (Inbound("7", "1", "7", "hi", direct=True), Principal(user="ada")),
        (Inbound("-5", "1", "7", "hi", direct=False), Principal(user="ada", group="telegram:-5")),
    ],
)
def test_a_direct_chat_is_the_persons_own_and_a_group_is_a_group(message: Inbound, principal: Principal) -> None:
    assert find_principal(GATEWAY, message) == principal


def test_a_chat_without_a_workspace_refers_to_no_file_whatever_its_rules_name() -> None:
    assert chat_access(ChatRules()).kinds == OPEN_KINDS
    assert chat_access(ChatRules(kinds=("url", "file", "search"))).kinds == frozenset({"url"})
    assert "file" not in OPEN_KINDS


def test_a_chat_with_a_workspace_refers_to_what_its_rules_name_or_to_all_that_chats_may() -> None:
    assert chat_access(ChatRules(workspace="/w")).kinds == REMOTE_KINDS
    assert chat_access(ChatRules(workspace="/w", kinds=("file",), folders=("docs",))).kinds == frozenset({"file"})
    assert chat_access(ChatRules(workspace="/w", kinds=("file",), folders=("docs",))).folders == ("docs",)


def test_something_is_said_once_in_a_while_to_each_person() -> None:
    now = [0.0]
    said = RecentMessages(60.0, lambda: now[0])

    assert [said.may_say("ada"), said.may_say("ada"), said.may_say("bob")] == [True, False, True]
    now[0] = 61.0
    assert said.may_say("ada")


def test_a_flood_of_people_is_not_remembered_without_bound() -> None:
    said = RecentMessages(60.0, lambda: 0.0, most=100)

    assert all(said.may_say(f"user {number}") for number in range(1000))
    assert len(said._said) == 100
    assert not said.may_say("user 999")


def test_something_is_said_to_few_people_a_minute_and_the_others_are_told_later() -> None:
    now = [0.0]
    said = RecentMessages(3600.0, lambda: now[0], a_minute=2)

    assert [said.may_say(user) for user in ("ada", "bob", "cleo", "ada")] == [True, True, False, False]
    now[0] = 61.0
    assert [said.may_say(user) for user in ("ada", "cleo", "dan", "eve")] == [False, True, True, False]

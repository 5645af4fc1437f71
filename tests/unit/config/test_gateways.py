"""The tables of gateways: what they may say, and how slips in them are answered."""

import pytest

from promptuary.base.errors import ConfigError
from promptuary.config.gateways import named_gateways
from promptuary.gateways.people import find_principal, thread_of
from promptuary.gateways.port import Inbound


def test_a_gateway_is_called_like_its_platform_or_names_it() -> None:
    one, two = named_gateways({"telegram": {"allow": 42}, "team": {"platform": "slack", "keyring": True}}, "gateways")

    assert (one.platform, one.token_env, one.allow) == ("telegram", "TELEGRAM_BOT_TOKEN", ("42",))
    assert (two.platform, two.keyring, two.app_token_env) == ("slack", True, "SLACK_APP_TOKEN")


def test_nobody_may_write_unless_they_are_named_or_everybody_is() -> None:
    tables = {"telegram": {"allow": ["1"], "chats": {"-5": {"allow": ["*"]}, "-6": {}}}}
    (gateway,) = named_gateways(tables, "gateways")
    (closed,) = named_gateways({"telegram": {}}, "gateways")

    assert gateway.allows("1", "1")
    assert not gateway.allows("2", "2")
    assert gateway.allows("-5", "2")
    assert not gateway.allows("-6", "2")
    assert not closed.allows("1", "1")


def test_the_list_of_a_chat_narrows_that_of_the_bot() -> None:
    tables = {"telegram": {"allow": ["1", "2"], "chats": {"-5": {"allow": ["2"]}}}}
    (gateway,) = named_gateways(tables, "gateways")

    assert [gateway.allows("-5", user) for user in ("1", "2", "3")] == [False, True, False]
    assert [gateway.allows("-6", user) for user in ("1", "2", "3")] == [True, True, False]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("telegram", "must be a table of gateways"),
        ({"telegram": "on"}, "must be a table, such as"),
        ({"a b": {}}, "cannot be a name"),
        ({"mine": {}}, 'needs platform = "…", one of: telegram, discord, slack'),
        ({"telegram": {"alow": ["1"]}}, "alow is unknown; did you mean allow?"),
        ({"telegram": {"token": "123:secret"}}, "a token does not belong in a file; set token_env"),
        (
            {"telegram": {"token_env": "123:secret"}},
            "must be the name of an environment variable, not the token itself",
        ),
        ({"telegram": {"kinds": ["file"]}}, "without a workspace"),
        ({"telegram": {"workspace": "/w", "kinds": ["flie"]}}, "did you mean file?"),
        ({"telegram": {"workspace": "/w", "folders": ["../x"]}}, "folders"),
        (
            {"telegram": {"workspace": "work/app"}},
            "workspace must be a full path: write it from / or from ~, as in ~/work/app",
        ),
        ({"telegram": {"chats": {"-5": {"workspace": "./app"}}}}, "chats.-5.workspace must be a full path"),
        ({"telegram": {"rate": 0}}, "rate"),
        ({"telegram": {"keyring": "yes"}}, "keyring must be true or false"),
        ({"telegram": {"people": {"42": ""}}}, "people gives ids a name"),
        ({"telegram": {"chats": {"1": "x"}}}, "chats must be tables"),
        ({"telegram": {"chats": {"1": {"rate": 2}}}}, "rate is unknown"),
        ({"telegram": {"allow": {"1": 2}}}, "allow must be a list"),
    ],
)
def test_a_slip_is_answered_with_what_to_write_and_never_with_a_token(tables: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        named_gateways(tables, "gateways")

    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_two_bots_on_one_platform_have_threads_of_their_own_and_know_a_person_as_one() -> None:
    message = Inbound("42", "1", "42", "hi")
    first, second = named_gateways({"telegram": {}, "second": {"platform": "telegram"}}, "gateways")

    assert thread_of(first, message) != thread_of(second, message)
    assert find_principal(first, message) == find_principal(second, message)

"""``promptuary token``: the secret is printed once and alone; lists show none."""

import json
from contextlib import closing

import pytest

from promptuary.base.clock import now
from promptuary.base.principals import LOCAL, Principal
from promptuary.cli.agents import actions
from promptuary.cli.main import main
from promptuary.server import tokens
from promptuary.server.tokens import Limits, Token, TokenStore
from promptuary.workspace.access import OPEN_KINDS, REMOTE_KINDS, Access
from promptuary.workspace.user_folders import state_folder

WHOLE = Access.limited(REMOTE_KINDS, ("",))


def create(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Token, str]:
    """Create a token, and return what a server finds for the secret that was printed."""
    assert main(["token", "create", *words]) == 0
    secret = capsys.readouterr().out.removesuffix("\n")
    with closing(TokenStore.open()) as store:
        token = store.find(secret)
    assert token is not None
    return token, secret


def test_the_secret_alone_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "create", "laptop"]) == 0
    printed = capsys.readouterr()

    secret = printed.out.removesuffix("\n")
    assert secret.split() == [secret]
    assert secret not in printed.err
    assert "not printed again" in printed.err
    with closing(TokenStore.open()) as store:
        (token,) = store.list()
        assert store.find(secret) == token
    assert (token.name, token.principal, token.access) == ("laptop", LOCAL, WHOLE)
    assert token.scopes == {"proxy"}


def test_every_flag_is_in_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "ci --user ci --agent bot --group team --scope read --scope proxy --model gpt-5-mini --workspace site "
        "--folder docs/ --kind file --host WIKI.example --requests-per-day 5 --tokens-per-day 7 --money-per-day 0.5 "
        "--expires 2999-01-31 --record off --mode own"
    )
    token, _ = create(capsys, *words.split())

    assert token.principal == Principal("ci", "bot", "team")
    assert token.scopes == {"read", "proxy"}
    assert (token.models, token.workspaces) == (("gpt-5-mini",), ("site",))
    assert token.access == Access.limited(frozenset({"file"}), ("docs",), frozenset({"wiki.example"}))
    assert token.limits == Limits(5, 7, 0.5)
    assert (token.expires, token.record, token.mode) == ("2999-01-31T00:00:00.000Z", "off", "own")


@pytest.mark.parametrize(
    ("words", "access"),
    [
        ("", WHOLE),
        ("--agent coder", WHOLE),
        ("--folder docs", Access.limited(REMOTE_KINDS, ("docs",))),
        ("--user ben", Access.limited(OPEN_KINDS)),
        ("--group team", Access.limited(OPEN_KINDS)),
        ("--user ben --folder .", Access.limited(REMOTE_KINDS, ("",))),
        ("--user ben --kind diff", Access.limited(frozenset({"diff"}), ("",))),
        ("--user ben --kind url", Access.limited(frozenset({"url"}))),
        ("--host wiki", Access.limited(OPEN_KINDS, (), frozenset({"wiki"}))),
    ],
)
def test_others_than_you_may_refer_only_to_what_is_named(
    capsys: pytest.CaptureFixture[str], words: str, access: Access
) -> None:
    token, _ = create(capsys, "laptop", *words.split())

    assert token.access == access


@pytest.mark.parametrize(
    "words",
    ["--expires soon", "--expires 2020-01-01", "--expires 2026-99-01", "--user=", "--kind clipboard", "--folder ../up"],
)
def test_a_token_that_could_not_be_used_is_not_created(capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert main(["token", "create", "laptop", *words.split()]) == 2
    printed = capsys.readouterr()

    assert printed.out == ""
    assert main(["token", "list"]) == 1


def test_a_list_shows_use_and_state_and_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    token, secret = create(capsys, "laptop", "--expires", "30d")
    other, _ = create(capsys, "phone")
    with closing(TokenStore.open()) as store:
        store.add_use(token, 3, 1200, 0.5)
    assert main(["token", "revoke", "phone"]) == 0
    capsys.readouterr()

    assert main(["token", "list", "--all"]) == 0
    listed = capsys.readouterr().out
    assert main(["token", "list", "--all", "--json"]) == 0
    text = capsys.readouterr().out
    assert main(["token", "list"]) == 0
    active = capsys.readouterr().out

    first, second = sorted(json.loads(text)["tokens"], key=lambda token: token["name"])
    assert [first["state"], second["state"]] == ["active", "revoked"]
    assert first["today"] == {"requests": 3, "tokens": 1200, "money": 0.5}
    assert first["last_used"] == now()[:10]
    assert "3 requests, 1,200 tokens, 0.50" in listed
    assert secret[-48:] not in listed + text + active
    assert other.id in listed
    assert other.id not in active


def test_without_tokens_a_list_says_how_to_make_one_and_creates_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "list"]) == 1

    assert "promptuary token create" in capsys.readouterr().err
    assert not (state_folder() / "server.db").exists()


def test_a_token_is_revoked_by_its_name_or_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    named, _ = create(capsys, "laptop")
    other, secret = create(capsys, "phone")

    assert main(["token", "revoke", "laptop"]) == 0
    assert main(["token", "revoke", other.id, "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {"revoked": other.id}
    with closing(TokenStore.open()) as store:
        assert store.find(secret) is None
        assert [bool(token.revoked) for token in store.list()] == [True, True]
    assert main(["token", "revoke", named.id]) == 1


def test_a_name_that_two_tokens_have_revokes_neither(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = create(capsys, "laptop")[0], create(capsys, "laptop")[0]

    assert main(["token", "revoke", "laptop"]) == 2

    printed = capsys.readouterr().err
    assert one.id in printed
    assert other.id in printed
    with closing(TokenStore.open()) as store:
        assert not any(token.revoked for token in store.list())


def test_a_name_that_is_nearly_one_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    create(capsys, "laptop")

    assert main(["token", "revoke", "lapto"]) == 1

    assert "did you mean laptop?" in capsys.readouterr().err


def test_the_command_line_offers_the_scopes_that_there_are() -> None:
    assert actions.SCOPES == tokens.SCOPES


def test_a_model_that_nothing_is_known_of_and_a_name_in_use_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "create", "laptop", "--model", "gpt-5-mini", "--model", "gtp-5"]) == 0
    told = capsys.readouterr().err
    assert "no model is called gtp-5 here" in told
    assert "gpt-5-mini" not in told
    assert "told apart" not in told

    assert main(["token", "create", "laptop"]) == 0
    told = capsys.readouterr().err
    with closing(TokenStore.open()) as store:
        ids = [token.id for token in store.list()]
    assert len(ids) == 2
    assert all(each in told for each in ids)
    assert "told apart by their ids" in told
    assert main(["token", "revoke", ids[0]]) == 0
    assert main(["token", "revoke", "laptop"]) == 0
    assert main(["token", "create", "laptop"]) == 0
    assert "told apart" not in capsys.readouterr().err

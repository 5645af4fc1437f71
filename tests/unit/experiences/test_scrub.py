"""No secret is stored: not in a text, an option of a command, a field, the name of a field, nor a tag."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.experiences.drafting import draft
from promptuary.experiences.scrub import scrub, scrub_value

NOW = "2026-01-01T00:00:00.000Z"
KEY = "ghp_" + "a1B2" * 9
HIDDEN = "hunter2secretvalue"


@pytest.mark.parametrize(
    "text",
    [
        f"the password is {HIDDEN}9",
        f"export DB_PASSWORD={HIDDEN}",
        f"mysql --password={HIDDEN} -u root",
        f"mysql --password {HIDDEN}",
        f"tool --api-key '{HIDDEN}'",
        f"curl -H 'Authorization: Bearer {HIDDEN}'",
        f"curl -H 'Authorization: Basic {HIDDEN}'",
        f"curl -u admin:{HIDDEN} https://example.com",
        f"psql postgres://admin:{HIDDEN}@db.example.com/app",
        f"git clone https://x:{HIDDEN}@example.com/a.git",
        f'{{"client_secret": "{HIDDEN}"}}',
        f"Cookie: {HIDDEN}",
        f"X-Auth-Token: {HIDDEN}",
        f"set api_key = {HIDDEN}",
    ],
)
def test_a_secret_is_taken_out_of_a_text(text: str) -> None:
    assert HIDDEN not in scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is stored in the vault",
        "rotate the token every 90 days",
        "export PASSWORD=$VAULT_PASSWORD",
        "use --password-file secrets.txt",
        "https://example.com:8080/path",
        "count the tokens: 1200",
        "fix the tokenizer",
        "author: Ada",
        "データベースを移行する",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    "value",
    [
        {"password": HIDDEN},
        {"apiKey": HIDDEN},
        {"API_KEY": HIDDEN},
        {"db.password": HIDDEN},
        {"headers": {"Authorization": HIDDEN}},
        {"auth": {"user": "ada", "value": [HIDDEN]}},
        {"tools": [{"name": "run", "arguments": {"command": f"login --token {HIDDEN}"}}]},
        [f"PASSWORD={HIDDEN}"],
    ],
)
def test_a_secret_is_taken_out_of_a_value(value: Any) -> None:
    assert HIDDEN not in json.dumps(scrub_value(value))


@pytest.mark.parametrize("number", [4711_0815, 0.4711, -4711])
def test_a_number_in_a_secret_field_is_hidden_as_well(number: float) -> None:
    found = scrub_value({"password": number, "auth": {"codes": [number, {"n": number}]}})

    assert "4711" not in json.dumps(found)
    assert scrub_value({"port": number}) == {"port": number}


def test_what_a_field_says_and_is_no_secret_stays() -> None:
    value = {"max_tokens": 100, "author": "Ada", "password": None, "secret": False, "token": "$TOKEN", "n": [1.5]}

    assert scrub_value(value) == value


def test_secrets_in_names_of_fields_go_and_no_field_is_lost() -> None:
    found = scrub_value({f"{KEY}": 1, f"{KEY[:-1]}C": 2, "plain": 3})

    assert KEY not in json.dumps(found)
    assert sorted(found.values()) == [1, 2, 3]


def test_b9_no_secret_of_raw_arguments_reaches_what_is_stored() -> None:
    """B9: the original stored the arguments of tools as they were."""
    one = draft(
        "tool_chain",
        f"log in with {KEY}",
        {"tools": [{"name": "http", "arguments": {"token": HIDDEN, "url": f"https://a:{HIDDEN}@b.example"}}]},
        {"problem": f"401 for Bearer {HIDDEN}", "tags": [f"token={HIDDEN}", KEY], "outcome": "failure"},
        now=NOW,
    )

    assert KEY not in repr(one)
    assert HIDDEN not in repr(one)


@given(text=st.text(max_size=200))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    assert scrub(scrub(text)) == scrub(text)


@pytest.mark.parametrize("text", [f"Authorization: ba\u017fic {HIDDEN}", f"paſſword={HIDDEN}"])
def test_letters_that_count_as_others_hide_no_secret(text: str) -> None:
    assert HIDDEN not in scrub(text)

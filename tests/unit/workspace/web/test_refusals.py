"""What people are told of a service that refuses."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.workspace.web.refusals import refusal, seconds_to_wait, without_key, words_of

KEY = "sk-very-secret-0123"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no such model", "type": "invalid_request_error", "code": 404}},
        {"type": "error", "error": {"type": "not_found_error", "message": "no such model"}},
        {"error": "no such model"},
        {"message": "no such model"},
        {"detail": "no such model"},
        {"detail": [{"loc": ["body", "model"], "msg": "no such model", "type": "value_error"}]},
        {"errors": [{"message": "no such model"}]},
        [{"error": {"message": "no such model"}}],
        "no such model",
    ],
)
def test_the_words_of_the_service_are_found_in_every_form(body: object) -> None:
    sent = body if isinstance(body, str) else json.dumps(body)

    assert words_of(sent.encode(), "") == "no such model"


def test_a_page_for_browsers_is_not_shown() -> None:
    assert words_of(b"<!DOCTYPE html><html><body>404</body></html>", "") == ""


def test_the_key_is_not_shown_nor_a_word_that_begins_as_it_does() -> None:
    said = words_of(json.dumps({"error": {"message": f"Bad keys {KEY} and sk-very-****0123."}}).encode(), KEY)

    assert said == "Bad keys … and …"


@pytest.mark.parametrize("key", ["x", "no", "none", "ollama"])
def test_what_is_too_short_to_be_a_key_masks_nothing(key: str) -> None:
    """Local servers want any key at all; a letter of it is in every message."""
    said = words_of(
        json.dumps({"error": {"message": f"none of the models of ollama is at ox.example ({key})"}}).encode(), key
    )

    assert said == f"none of the models of ollama is at ox.example ({key})"


@given(st.binary(max_size=300), st.text(min_size=8, max_size=20))
def test_whatever_is_sent_the_words_are_one_short_line_without_the_key(body: bytes, key: str) -> None:
    shown = words_of(body + key.encode("utf-8", "replace") + body, key)

    assert len(shown) <= 300
    assert len(shown.splitlines()) <= 1
    assert key not in without_key(shown, key)


def test_deeply_nested_words_are_read_to_no_end() -> None:
    words_of(b'{"error":' * 7000 + b"1" + b"}" * 7000, "")


@pytest.mark.parametrize(
    ("asked", "seconds"), [("20", 20.0), ("1.5", 1.5), ("", 0.0), ("soon", 0.0), ("-3", 0.0), ("9" * 400, 0.0)]
)
def test_the_wait_is_a_number_of_seconds(asked: str, seconds: float) -> None:
    assert seconds_to_wait({"retry-after": asked}) == seconds


def test_the_wait_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)

    assert 90 < seconds_to_wait({"retry-after": later}) <= 100
    assert seconds_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0


@pytest.mark.parametrize(
    ("status", "has_key", "advice", "sentence"),
    [
        (401, True, "check X", "a.b does not accept the key (HTTP status 401: no); check X."),
        (403, True, "check X", "a.b does not accept the key for this (HTTP status 403: no); check X."),
        (401, False, "set X", "a.b requires a key, and none is configured (HTTP status 401: no); set X."),
        (429, True, "", "a.b is rate limiting (HTTP status 429: no); it asks to wait 9,000 seconds."),
        (404, True, "", "a.b answers with HTTP status 404: no; check the address and the name of the model."),
        (400, True, "", "a.b answers with HTTP status 400: no."),
    ],
)
def test_a_refusal_is_one_sentence_that_says_what_to_do(status: int, has_key: bool, advice: str, sentence: str) -> None:
    assert refusal("a.b", status, "no", wait=9000.0, has_key=has_key, advice=advice) == sentence

"""A request of the API that is sent again, at once or after a restart, is carried out once."""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from promptuary.base.principals import Principal
from tests.server.conftest import Answer, RunningServer, StartServer

TIMES = 8
TURNS = "/api/v1/threads/main/turns"


def post(server: RunningServer, secret: str, path: str, body: object, key: str = "") -> Answer:
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    headers |= {"idempotency-key": key} if key else {}
    return server.ask("POST", path, headers, json.dumps(body).encode())


def at_once(server: RunningServer, secret: str, path: str, body: object, keys: Sequence[str]) -> list[Answer]:
    """Send the same request with each of the keys, all at the same time."""
    with ThreadPoolExecutor(len(keys)) as threads:
        return list(threads.map(lambda key: post(server, secret, path, body, key), keys))


def read(server: RunningServer, secret: str, path: str) -> Any:
    return json.loads(server.ask("GET", path, {"authorization": f"Bearer {secret}"}).body)


def replies(server: RunningServer, secret: str) -> list[str]:
    items = read(server, secret, "/api/v1/threads/main/history")
    return [item["content"] for item in items if item["role"] == "assistant"]


def test_a_turn_is_prepared_and_finished_once_however_often_it_is_asked_for_with_one_key(server: RunningServer) -> None:
    secret = server.create()

    prepared = at_once(server, secret, TURNS, {"text": "hello"}, ["p"] * TIMES)
    number = json.loads(prepared[0].body)["number"]
    finish = f"{TURNS}/{number}/finish"
    finished = at_once(server, secret, finish, {"reply": "good day"}, ["f"] * TIMES)
    later = post(server, secret, finish, {"reply": "good day"}, "f")
    other = post(server, secret, finish, {"reply": "good night"}, "f")

    assert {(answer.status, answer.body) for answer in prepared} == {(200, prepared[0].body)}
    assert {(answer.status, answer.body) for answer in [*finished, later]} == {(200, later.body)}
    assert (other.status, json.loads(other.body)["code"]) == (422, "KEY_REUSED")
    assert len(read(server, secret, TURNS)) == 1
    assert replies(server, secret) == ["good day"]


@pytest.mark.parametrize("keys", [[""] * TIMES, [f"key{number}" for number in range(TIMES)]], ids=["none", "different"])
def test_without_a_common_key_one_of_many_finishes_and_the_others_are_told(
    server: RunningServer, keys: Sequence[str]
) -> None:
    secret = server.create()
    number = json.loads(post(server, secret, TURNS, {"text": "hello"}).body)["number"]

    answers = at_once(server, secret, f"{TURNS}/{number}/finish", {"reply": "good day"}, keys)

    assert Counter(answer.status for answer in answers) == {200: 1, 409: TIMES - 1}
    assert replies(server, secret) == ["good day"]


def test_the_same_key_of_another_principal_is_another_request(server: RunningServer) -> None:
    secrets = [server.create(principal=Principal(user)) for user in ("ada", "bob")]

    answers = [post(server, secret, TURNS, {"text": "hello"}, "p") for secret in secrets]

    assert [answer.status for answer in answers] == [200, 200]
    assert [len(read(server, secret, TURNS)) for secret in secrets] == [1, 1]


def test_after_a_restart_a_request_with_its_key_is_not_carried_out_again(start_server: StartServer) -> None:
    first = start_server()
    secret = first.create()
    number = json.loads(post(first, secret, TURNS, {"text": "hello"}, "p").body)["number"]
    post(first, secret, f"{TURNS}/{number}/finish", {"reply": "good day"}, "f")
    first.stop()
    second = start_server()

    again = [
        post(second, secret, TURNS, {"text": "hello"}, "p"),
        post(second, secret, f"{TURNS}/{number}/finish", {"reply": "good day"}, "f"),
    ]

    assert [(answer.status, json.loads(answer.body)["code"]) for answer in again] == [(409, "BEGUN_BEFORE")] * 2
    assert len(read(second, secret, TURNS)) == 1
    assert replies(second, secret) == ["good day"]


def test_a_request_that_was_refused_may_be_sent_again_with_its_key(server: RunningServer) -> None:
    secret = server.create()
    note = json.loads(post(server, secret, "/api/v1/notes", {"content": "The door is blue."}).body)["header"]
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json", "idempotency-key": "e"}
    path, body = f"/api/v1/notes/{note['id']}", json.dumps({"content": "The door is red."}).encode()

    refused = [server.ask("PATCH", path, headers, body).status for _ in range(2)]
    edited = server.ask("PATCH", path, {**headers, "if-match": f'"{note["rev"]}"'}, body)

    assert refused == [428, 428]
    assert edited.status == 200

"""Nobody gets anything of somebody else's at any address of the API, whatever ids they know.

The rows are those of the table of addresses: a new address whose parameters have no example below fails here.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
import pytest

from promptuary.api.endpoints import ENDPOINTS, Endpoint
from promptuary.api.operations import operations
from promptuary.base.principals import Principal
from promptuary.client import BlockingClient
from tests.conftest import Files
from tests.served import Answer, RunningServer
from tests.server.conftest import StartServer

SECRET: Final = "zanzibar"
"""A word that is in everything of the one, and in nothing of the other."""

EXAMPLES: Final[Mapping[str, Any]] = {
    "text": "hello",
    "item": {"insert": "@a.txt", "label": "a.txt", "kind": "file", "path": "a.txt"},
    "words": "zan",
    "query": "where",
    "message": "what about the island?",
    "number": 1,
    "source": "a.txt",
    "older_than_days": 0,
    "reply": "fine",
    "answer": {"agreed": True},
    "word": "@file:a.txt",
    "path": "a.txt",
    "data": "aGVsbG8=",
    "content": "new",
    "messages": [],
    "arguments": {},
    "type": "task_solution",
    "intent": "anything",
    "category": "editor",
    "value": "vi",
    "feedback": "wrong",
    "min_weight": 1.0,
    "half_life_days": 1.0,
}
"""A value for each parameter that must be given and is no name of something stored."""

STREAMS: Final = frozenset({"run", "events"})


class Owned:
    """Something of every kind, of one principal, by the names of parameters."""

    def __init__(self, p: BlockingClient) -> None:
        thread = f"{SECRET}-talk"
        p.threads.finish(p.threads.prepare(f"the {SECRET} plan, @file:a.txt", thread=thread), f"all of {SECRET}")
        turn = p.threads.prepare(f"more of {SECRET}", thread=thread)
        p.threads.attach("#a.txt", thread=thread)
        note = p.memory.write(f"the {SECRET} note", title=f"{SECRET} title")
        experience = p.experiences.add("task_solution", f"reach {SECRET}", {"by": SECRET})
        p.sessions.create(f"{SECRET}-session")
        self.names: dict[str, str] = {
            "thread": thread,
            "turn": str(turn.number),
            "key": note.header.id,
            "id": note.header.id,
            "experience": experience.id,
            "session": f"{SECRET}-session",
            "proposal": "0123456789ab",
            "run": "a-run",
            "call": "a-call",
            "tool": "search_recall_memories",
        }


def absent(names: Mapping[str, str]) -> dict[str, str]:
    """Return names of nothing, as long as those of something."""
    return {
        "thread": "unheard-of-talk",
        "turn": names["turn"],
        "key": "f" * len(names["key"]),
        "id": "f" * len(names["id"]),
        "experience": "f" * len(names["experience"]),
        "session": "unheard-of-session",
        "proposal": "f" * 12,
        "run": "b-run",
        "call": "b-call",
        "tool": "search_recall_memories",
    }


def named(endpoint: Endpoint, part: str) -> str:
    """Return the name under which ``Owned`` has what a part of a path names."""
    noun = endpoint.call.partition(".")[0]
    return {("key", "experiences"): "experience", ("name", "sessions"): "session", ("name", "memory"): "tool"}.get(
        (part, noun), part
    )


def ask(server: RunningServer, secret: str, endpoint: Endpoint, names: Mapping[str, str]) -> Answer:
    """Send a request that has an example for every parameter that must be given."""
    operation = operations()[f"{endpoint.method} {endpoint.address}"]
    path, sent = endpoint.address, dict[str, Any]()
    for one in operation.parameters:
        if one.place == "path":
            path = path.replace(f"{{{one.name}}}", quote(names[named(endpoint, one.name)], safe=""))
        elif one.name in {"thread", "turn"} and one.place == "query":
            sent[one.name] = names[one.name]
        elif one.default is msgspec.NODEFAULT:
            sent[one.name] = names["session"] if one.name == "name" else EXAMPLES[one.name]
        elif one.name == "thread":
            sent["thread"] = names["thread"]
    headers = {"authorization": f"Bearer {secret}"} | ({"if-match": "*"} if endpoint.needs_match else {})
    if endpoint.method in {"POST", "PATCH"}:
        if endpoint.call == "memory.edit_proposal":
            sent["title"] = "mine"
        return server.ask(
            endpoint.method, path, {**headers, "content-type": "application/json"}, json.dumps(sent).encode()
        )
    return server.ask(endpoint.method, f"{path}?{urlencode(sent)}" if sent else path, headers)


@pytest.fixture
def apart(files: Files, start_server: StartServer) -> tuple[RunningServer, str, str, Owned]:
    """Return a server, the secrets of two principals, and what the first has."""
    files({"a.txt": "the text of a\n"})
    server = start_server()
    ada, bob = (server.create(principal=Principal(name)) for name in ("ada", "bob"))
    with BlockingClient(server.base, token=ada) as p:
        return server, ada, bob, Owned(p)


def everything(server: RunningServer, secret: str, names: Mapping[str, str]) -> dict[str, bytes]:
    """Return all that a principal can read, by its address."""
    reads = [one for one in ENDPOINTS if one.method == "GET" and one.form not in STREAMS]
    found = {one.path: ask(server, secret, one, names) for one in reads}
    return {path: answer.body for path, answer in found.items()}


def test_what_is_somebody_elses_is_as_if_it_were_not_there(apart: tuple[RunningServer, str, str, Owned]) -> None:
    server, ada, bob, owned = apart
    before = everything(server, ada, owned.names)
    # First what only reads: after that, the other has threads of the same names.
    for endpoint in sorted((one for one in ENDPOINTS if one.form != "events"), key=lambda one: one.method != "GET"):
        foreign = ask(server, bob, endpoint, owned.names)
        nothing = ask(server, bob, endpoint, absent(owned.names))

        assert SECRET not in without_names(foreign.body, owned.names).decode(), endpoint
        if endpoint.method == "GET" or foreign.status >= 400:
            assert foreign.status == nothing.status, endpoint
            expected = without_names(nothing.body, absent(owned.names))
            assert without_names(foreign.body, owned.names) == expected, endpoint
    assert everything(server, ada, owned.names) == before


def without_names(body: bytes, names: Mapping[str, str]) -> bytes:
    """Return an answer without the names that the request itself has."""
    for name in ("thread", "session", "key", "experience", "proposal"):
        body = body.replace(names[name].encode(), b"-")
    return body


def test_the_owner_gets_what_others_do_not(apart: tuple[RunningServer, str, str, Owned]) -> None:
    server, ada, bob, owned = apart

    mine, theirs = everything(server, ada, owned.names), everything(server, bob, owned.names)

    told = {path for path, body in mine.items() if SECRET.encode() in body}
    assert {"/threads", "/threads/{thread}/history", "/notes", "/notes/{key}", "/experiences", "/sessions"} <= told
    assert not any(SECRET.encode() in without_names(body, owned.names) for body in theirs.values())


def test_a_token_that_may_only_read_changes_nothing(apart: tuple[RunningServer, str, str, Owned]) -> None:
    server, _, _, owned = apart
    reader = server.create(principal=Principal("ada"), scopes=frozenset({"read"}))
    for endpoint in (one for one in ENDPOINTS if one.scope != "read"):
        assert ask(server, reader, endpoint, owned.names).status == 403, endpoint

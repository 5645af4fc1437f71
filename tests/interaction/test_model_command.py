"""``promptuary model``: fetched from a host on loopback, used by its name, and told what to do where it is missing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.testing.loopback import Loopback, answer
from tests.conftest import Files
from tests.model_host import COMMIT, FILES, publish
from tests.programs import AFTER_CTRL_C, impatient
from tests.waiting import wait_until

NAME = "bge-small-en-v1.5"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        publish(running, "Xenova/bge-small-en-v1.5")
        yield running


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the person's data folder, which is in no workspace."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def environment(server: Loopback, data: Path) -> dict[str, str]:
    return os.environ | {"XDG_DATA_HOME": str(data), "PROMPTUARY_MODEL_URL": server.url("")}


def run(workspace: Path, environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "promptuary", *words],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_model_is_fetched_shown_used_and_removed(files: Files, environment: dict[str, str]) -> None:
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    missing = run(workspace, environment, "index", "--embedder", NAME)
    assert (missing.returncode, f"run `promptuary model add {NAME}`" in missing.stderr) == (2, True)

    added = run(workspace, environment, "model", "add", NAME)
    assert added.returncode == 0, added.stderr
    assert added.stdout.splitlines()[-1] == f'use it with embedder = "{NAME}" in your configuration'
    shown = run(workspace, environment, "model", "show", NAME)
    assert shown.returncode == 0
    assert f"revision: {COMMIT}" in shown.stdout
    known = run(workspace, environment, "model", "list", "--catalogue").stdout
    assert "bot-brain==0.8.0" in known
    assert "not measured" in known
    listed = {
        one["name"]: one for one in json.loads(run(workspace, environment, "model", "list", "--json").stdout)["models"]
    }
    assert (listed[NAME]["installed"], listed[NAME]["kind"], listed["gte-small"]["installed"]) == (
        True,
        "embedder",
        False,
    )

    indexed = run(workspace, environment, "index", "--embedder", NAME)
    assert indexed.returncode == 0, indexed.stderr
    found = run(workspace, environment, "search", "--json", "--embedder", NAME, "alpha")
    assert (json.loads(found.stdout)["mode"], json.loads(found.stdout)["hits"][0]["path"]) == ("hybrid", "a.md")

    assert run(workspace, environment, "model", "remove", NAME).returncode == 0
    assert run(workspace, environment, "model", "remove", NAME).returncode == 1
    assert run(workspace, environment, "model", "show", NAME).returncode == 1


def test_a_model_is_tried_before_anything_is_embedded_again(files: Files, environment: dict[str, str]) -> None:
    text = "# Rules for room {}\n\nWe lock it at nine and air it every day but Sunday.\n"
    workspace = files({f"{number}.md": text.format(number) for number in range(12)})
    by_words = {**environment, "PROMPTUARY_EMBEDDER": "none"}
    run(workspace, by_words, "model", "add", NAME)
    nothing = run(workspace, by_words, "model", "try", NAME)
    assert (nothing.returncode, "nothing is indexed yet" in nothing.stderr) == (2, True)

    run(workspace, by_words, "index")
    tried = run(workspace, by_words, "model", "try", NAME, "--json")
    assert tried.returncode == 0, tried.stderr
    trial = json.loads(tried.stdout)
    assert (trial["questions"], trial["passages"], trial["beside"]) == ({"heading": 12}, 12, "")
    assert trial["gain"]["low"] <= trial["gain"]["mean"] <= trial["gain"]["high"]
    assert trial["switch"] == f"promptuary config set embedder {NAME} && promptuary index"
    told = run(workspace, by_words, "model", "try", NAME).stdout
    assert "12 questions (12 from headings) about 12 passages" in told
    assert f"to switch: {trial['switch']}" in told


def test_a_file_that_was_changed_is_not_used(files: Files, environment: dict[str, str], data: Path) -> None:
    workspace = files({"a.md": "alpha"})
    run(workspace, environment, "model", "add", NAME)
    (weights,) = data.rglob("model_quantized.onnx")
    weights.write_bytes(FILES["onnx/model.onnx"])

    used = run(workspace, environment, "index", "--embedder", NAME)
    assert used.returncode == 2
    assert f"is not the file that was fetched; run `promptuary model remove {NAME}`" in used.stderr
    shown = run(workspace, environment, "model", "show", NAME)
    assert (shown.returncode, "changed" in shown.stdout) == (1, True)


def test_ctrl_c_keeps_what_has_arrived(files: Files, server: Loopback, environment: dict[str, str], data: Path) -> None:
    weights = FILES["onnx/model_quantized.onnx"]
    place = f"/cdn/Xenova/bge-small-en-v1.5/resolve/{COMMIT}/onnx/model_quantized.onnx"
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(weights)}\r\n\r\n".encode()
    whole = server.routes[place]
    server.routes[place] = lambda: [head + weights[:200], 30.0]
    workspace = files({})
    process = subprocess.Popen(
        [*impatient(AFTER_CTRL_C), "model", "add", NAME],
        cwd=workspace,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    partial = data / "promptuary/models/.fetching" / f"{NAME}@{COMMIT[:12]}/onnx/model_quantized.onnx.part"
    wait_until(lambda: (partial.exists() and partial.stat().st_size >= 200) or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert f"stopped: promptuary model add {NAME} continues from here" in said
    assert partial.read_bytes() == weights[:200]
    server.routes[place] = whole
    assert run(workspace, environment, "model", "add", NAME).returncode == 0
    assert any("Range: bytes=200-" in request for request in server.requests)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model", "add"), "needs a name: promptuary model list shows them"),
        (("model", "list", "x"), "model list takes no name"),
        (("model", "add", "nothing"), "no model is called 'nothing'"),
        (("model", "show", "../x"), "no model is called '../x'"),
        (("model", "add", "gte-small", "--catalogue"), "--catalogue goes with promptuary model list"),
        (("model", "add", "gte-small", "--from", "gone"), "gone does not exist; name a folder with the model"),
    ],
)
def test_mistakes_are_told_with_what_to_do(
    files: Files, environment: dict[str, str], words: tuple[str, ...], said: str
) -> None:
    done = run(files({}), environment, *words)

    assert done.returncode == 2
    assert said in done.stderr


def test_a_workspace_cannot_name_the_host(files: Files, server: Loopback, environment: dict[str, str]) -> None:
    workspace = files({"promptuary.toml": f'model_url = "{server.url("")}"\n'})
    server.routes["*"] = answer("no", status=404)
    del environment["PROMPTUARY_MODEL_URL"]
    shown = run(workspace, environment, "config", "--json")

    assert json.loads(shown.stdout)["settings"]["model_url"]["value"] == "https://huggingface.co"

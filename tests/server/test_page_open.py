"""``promptuary open`` with a program in the place of the browser."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.cli.main import main
from promptuary.workspace.programs.agents.serving import announced
from promptuary.workspace.programs.agents.token import store_token
from tests.conftest import Files
from tests.server.conftest import StartServer
from tests.waiting import wait_until

_BROWSER = """#!{python}
import http.cookiejar, json, os, re, sys, urllib.request
from html import unescape
file = sys.argv[1].removeprefix("file://")
link = unescape(re.search(r"url=([^\\"]+)", open(file).read())[1])
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
signed_in = browser.open(link, timeout=30).read().decode()
following = link.partition("/sign-in")[0] + re.search(r"url=([^\\"]+)", signed_in)[1]
page = browser.open(following, timeout=30).read().decode()
again = urllib.request.build_opener()
try:
    second = again.open(link, timeout=30).status
except urllib.error.HTTPError as error:
    second = error.code
found = {{"arguments": sys.argv[1:], "mode": os.stat(file).st_mode, "link": link, "page": page, "second": second}}
with open({found!r} + ".new", "w") as written:
    json.dump(found, written)
os.rename({found!r} + ".new", {found!r})
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, object]]:
    """Put a program in the place of the browser, and return what it has seen as soon as it has seen it."""
    program, found = tmp_path / "browser", tmp_path / "seen.json"
    program.write_text(_BROWSER.format(python=sys.executable, found=str(found)))
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")

    def read() -> dict[str, object]:
        wait_until(found.exists)
        told: dict[str, object] = json.loads(found.read_bytes())
        return told

    return read


def check(told: dict[str, object]) -> None:
    link, mode = told["link"], told["mode"]
    assert isinstance(link, str)
    assert isinstance(mode, int)
    code = link.partition("code=")[2].partition("&")[0]
    assert len(code) > 20
    assert code not in str(told["arguments"])
    assert stat.S_IMODE(mode) == 0o600
    assert "No turn yet" in str(told["page"])
    assert told["second"] == 401  # a link signs in once


def test_open_serves_the_workspace_and_signs_the_browser_in_by_a_file_that_nobody_else_can_read(
    workspace: Path, files: Files, seen: Callable[[], dict[str, object]]
) -> None:
    files({"a.txt": "the text of a\n"})
    command = [sys.executable, "-m", "promptuary", "open", "--port", "0", "-w", str(workspace)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=dict(os.environ)) as process:
        try:
            check(seen())
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
    assert b"the page opens in your browser, signed in" in said


def test_open_goes_to_the_server_that_serves_the_workspace_already(
    workspace: Path,
    files: Files,
    start_server: StartServer,
    seen: Callable[[], dict[str, object]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    files({"a.txt": "the text of a\n"})
    server = start_server()
    store_token("serve", server.create())
    with announced(server.port, {"app": workspace.resolve()}):
        assert main(["open", "-w", str(workspace)]) == 0
        told = seen()

    check(told)
    assert str(told["link"]).startswith(server.base)
    assert "signed in" in capsys.readouterr().err

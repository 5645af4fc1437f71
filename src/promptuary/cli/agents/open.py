"""``promptuary open``: the web page of a workspace, in the browser, signed in."""

import argparse
import http.client
import os
import sys
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.cli.agents import serve
from promptuary.cli.common import workspace_folder
from promptuary.workspace.programs.agents.serving import Serving, list_serving
from promptuary.workspace.programs.browser import open_in_browser

_SECONDS: Final = 2.0
_LOCAL: Final[dict[str, Any]] = {
    "words": [],
    "host": "127.0.0.1",
    "tls_cert": None,
    "tls_key": None,
    "behind_proxy": None,
    "allowed_host": None,
    "log_format": "off",
}
"""The options of ``promptuary serve`` that this command has not."""


def main(options: argparse.Namespace) -> int:
    """Open the page at the server that serves this workspace, or serve it until Ctrl-C."""
    serve.check_extra()
    folder = Path(os.path.realpath(workspace_folder(options)))
    found = next((one for one in list_serving() if folder in one.folders.values() and _answers(one)), None)
    if found is None:
        return serve.run(argparse.Namespace(**_LOCAL, **vars(options)), _show_aside)
    from promptuary.server.tokens import TokenStore  # noqa: PLC0415  (as in serve)

    with closing(TokenStore.open()) as store:
        link = serve.sign_in_link(store, found.base, next(name for name, at in found.folders.items() if at == folder))
    if link is None:
        raise PromptuaryError(f"sign in at {found.base} with a token: promptuary token create NAME makes one")
    show(link)
    return serve.DONE


def _show_aside(link: str) -> None:
    # Some browsers return when their window is closed: the server must answer them meanwhile.
    concurrency.start_daemon(partial(show, link), name="browser")


def show(link: str) -> None:
    """Open the browser, or print the link where there is none."""
    if open_in_browser(link):
        print("promptuary: the page opens in your browser, signed in", file=sys.stderr, flush=True)
    else:
        print(f"promptuary: open within five minutes, once: {one_line(link)}", file=sys.stderr, flush=True)


def _answers(server: Serving) -> bool:
    """Return whether a server is there. Nothing secret is sent to it: it may be another by now."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_SECONDS)
    with suppress(OSError, http.client.HTTPException), closing(connection):
        connection.request("GET", "/healthz")
        return connection.getresponse().read(10) == b"ok\n"
    return False

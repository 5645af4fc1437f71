"""A real server in a thread of its own, for a workspace, with tokens."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from promptuary.server.serve import Newcomers, Options
from promptuary.server.tokens import TokenStore
from tests.conftest import Files
from tests.served import Answer, RunningServer, running
from tests.server.upstream import Upstream

if TYPE_CHECKING:
    from tests.server.clients import Clients

__all__ = ["Answer", "RunningServer", "StartServer"]

StartServer = Callable[..., RunningServer]


@pytest.fixture
def start_server(workspace: Path) -> Iterator[StartServer]:
    """Start servers: ``start_server()`` for ``workspace`` as ``app``, or with ``folders`` and other ``Options``."""
    with ExitStack() as stack:

        def start(folders: Mapping[str, Path] | None = None, newcomers: Newcomers | None = None, **more: Any) -> Any:
            options = Options(**{"folders": folders or {"app": workspace}, "log": "off"} | more)
            return stack.enter_context(running(TokenStore.open(), options, newcomers))

        yield start


@pytest.fixture
def server(start_server: StartServer) -> RunningServer:
    """Return a server of the workspace ``app``."""
    return start_server()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as service:
        yield service


@pytest.fixture
def proxied(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, files: Files, start_server: StartServer
) -> RunningServer:
    """Return a server whose services are ``upstream``, with the server's keys for them."""
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.openai_url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-server")
    files({"a.txt": "the text of a\n", "style.md": "# Style\nshort words\n"})
    return start_server()


@pytest.fixture
def clients(proxied: RunningServer) -> Iterator["Clients"]:
    """Return the official clients, with a token that may do everything."""
    from tests.server.clients import Clients

    made = Clients(proxied, proxied.create())
    yield made
    made.close()

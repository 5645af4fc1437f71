"""A workspace at a server, for commands with ``--server``, and the token with which it is asked."""

import argparse
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.text import one_line
from promptuary.cli.flags import SETTING_FLAGS
from promptuary.client import BlockingClient
from promptuary.server.client_settings import VARIABLE, is_remote
from promptuary.workspace.programs.agents.token import stored_token, token_file

_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{20,200}")
_OF_A_REQUEST: Final = frozenset({"answer_model", "server"})
"""Settings that a request can carry; every other one is the server's own."""


def connect(
    url: str, options: argparse.Namespace, given: Collection[str], allow_hosts: Collection[str]
) -> BlockingClient:
    """Return the workspace at ``url``; ``--workspace`` names it if several are served there.

    ``given`` are the settings of the command line. Raises ``ConfigError`` if there are any, since they are the
    server's.
    """
    for name in sorted(set(given) - _OF_A_REQUEST):
        flag = SETTING_FLAGS[name][0] if getattr(options, name, None) is not None else f"--set {name}"
        raise ConfigError(f"{flag} cannot be combined with a server, which has its own settings")
    token, _ = find_token(url)
    return BlockingClient(url, token=token, workspace=options.workspace or "", allow_hosts=allow_hosts)


def find_token(url: str) -> tuple[str, Path | None]:
    """Return the token for a server, and the file that contains it; ``None`` if it is from the environment.

    The token in the file may do everything on this machine's server: no other machine may learn it.
    """
    if given := os.environ.get(VARIABLE, "").strip():
        if not _SECRET.fullmatch(given):
            raise PromptuaryError(f"{VARIABLE} in the environment is not a token such as promptuary token create makes")
        return given, None
    if is_remote(url):
        raise PromptuaryError(
            f"{one_line(url)[:200]} needs a token of its own: create one there, promptuary token create NAME, and pass "
            f"it in the environment: {VARIABLE}=pt_… promptuary …"
        )
    token, place = stored_token("serve"), token_file("serve")
    if token is None:
        raise PromptuaryError(f"{place} has no token: start promptuary serve once, which makes it, or set {VARIABLE}")
    return token, place

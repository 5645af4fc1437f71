"""``promptuary mcp``: serves clients of the Model Context Protocol, over standard streams or HTTP on loopback."""

import argparse
import logging
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.extras import check_mcp
from promptuary.base.text import one_line
from promptuary.cli.common import collect_again, given_settings, name_flags, workspace_folder
from promptuary.config.settings import SettingsOptions, load
from promptuary.mcp.description import choose_tools
from promptuary.mcp.transports.early import EarlyAnswers
from promptuary.mcp.transports.standard_streams import StandardStreams
from promptuary.workspace.programs.agents.sockets import discard_output, listening_port, own_streams
from promptuary.workspace.programs.agents.token import own_token, token_file

DONE = 0
_TOKEN = "mcp"  # noqa: S105  (the name of a file, not a secret)


def main(options: argparse.Namespace) -> int:
    """Serve until the client disconnects, or Ctrl-C; or show the servers that the person configured."""
    if options.words:
        from promptuary.cli.agents.mcp_servers import show  # noqa: PLC0415  (a server that starts has no use for it)

        return show(options)
    check_mcp()
    given: Any = given_settings(options)
    settings: SettingsOptions = given
    folders, offered = _folders(options), _offered(options)
    try:
        load(folders[0], settings)  # reports wrong settings now, not to a client
    except ConfigError as error:
        raise name_flags(error, options) from error
    logging.basicConfig(
        level=logging.DEBUG if options.debug else logging.ERROR if options.quiet else logging.WARNING,
        stream=sys.stderr,
        format="promptuary: %(message)s",
    )
    signal.signal(signal.SIGTERM, _end)
    if options.http is None:
        if sys.stdin is None:
            raise PromptuaryError(_NOBODY)
        if sys.stdin.isatty():
            print(f"promptuary: {_NOBODY}", file=sys.stderr)
        given_in, given_out = own_streams()
        streams = StandardStreams(given_in, given_out, None if options.resources else EarlyAnswers(offered["tools"]))
        from promptuary.mcp.transports import stdio  # noqa: PLC0415  (the package of the protocol is an extra, and heavy)

        collect_again()
        try:
            stdio.run(streams, folders, settings, chosen=_is_chosen(options), **offered)
        finally:
            discard_output(given_out)
        return DONE
    return _over_http(options, folders, settings)


_NOBODY = "no client is connected; an MCP client starts this. promptuary install writes it into its settings"


def _over_http(options: argparse.Namespace, folders: list[Path], settings: SettingsOptions) -> int:
    token, is_new = own_token(_TOKEN)
    try:
        listening = listening_port(options.http)
    except OSError as error:
        raise PromptuaryError(f"port {options.http} cannot be used ({error.strerror}); choose another one") from error
    port = listening.getsockname()[1]
    if not options.quiet:
        print(f"promptuary: http://127.0.0.1:{port}/mcp", file=sys.stderr)
        made = "a token was created; clients send it" if is_new else "clients send the token"
        print(f"promptuary: {made} as 'Authorization: Bearer …': {token_file(_TOKEN)}", file=sys.stderr)
    from promptuary.mcp.transports import http  # noqa: PLC0415  (the package of the protocol is an extra, and heavy)

    collect_again()
    http.run(listening, token, folders, settings, chosen=_is_chosen(options), **_offered(options))
    return DONE


def _folders(options: argparse.Namespace) -> list[Path]:
    """Return the folders that clients may use: the workspace, and those that the person adds."""
    start = workspace_folder(options)
    wrong = [one for one in options.root or () if not Path(one).is_dir()]
    if wrong:
        raise ConfigError(f"--root {one_line(wrong[0])} is not a folder")
    return [Path(os.path.realpath(one)) for one in (start, *(options.root or ()))]


def _offered(options: argparse.Namespace) -> dict[str, Any]:
    names = [name.strip() for name in (options.tools or "").split(",") if name.strip()]
    return {"resources": options.resources, "tools": choose_tools(names, with_hooks=options.with_hooks)}


def _is_chosen(options: argparse.Namespace) -> bool:
    """Return whether the person named the folder of the server, and did not only start it somewhere."""
    return options.workspace is not None


def _end(_: int, __: FrameType | None) -> None:
    """End as with Ctrl-C: workspaces are closed, and learning is finished."""
    raise KeyboardInterrupt

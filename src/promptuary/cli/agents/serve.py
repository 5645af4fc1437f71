"""``promptuary serve``: a proxy for chat clients that adds the references and the memory of workspaces."""

import argparse
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from promptuary.base.errors import ConfigError, PromptuaryError, how_to_install
from promptuary.base.text import one_line
from promptuary.cli.common import collect_again, given_settings, name_flags, workspace_folder
from promptuary.config.settings import SettingsOptions, load
from promptuary.server.client_settings import VARIABLE, is_remote, settings_for, workspace_name
from promptuary.workspace.programs.agents.serving import announced
from promptuary.workspace.programs.agents.sockets import listening_port
from promptuary.workspace.programs.agents.token import store_token, stored_token, token_file

DONE = 0
_PACKAGES = ("httptools", "jinja2", "markdown_it", "nh3", "uvicorn", "uvloop")
_TOKEN = "serve"  # noqa: S105  (the name of a file, not a secret)
_HOME = "{} is your home folder, or contains it: messages may refer to every file there; serve a project: NAME=DIR"


def main(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or print the settings of a client."""
    if options.print_config:
        return _print_config(options)
    return run(options, None if options.quiet else _print_link)


def run(options: argparse.Namespace, show: Callable[[str], None] | None) -> int:
    """Serve until Ctrl-C; ``show`` is given a link that signs in to the page, if this machine alone can reach it."""
    check_extra()
    from promptuary.server import serve  # noqa: PLC0415  (its packages are an extra, and heavy)
    from promptuary.server.guard import is_loopback, read_networks  # noqa: PLC0415
    from promptuary.server.tokens import TokenStore  # noqa: PLC0415

    host = "127.0.0.1" if options.host == "localhost" else options.host
    read_networks(options.behind_proxy or ())
    if bool(options.tls_cert) != bool(options.tls_key):
        raise ConfigError("--tls-cert and --tls-key belong together: give both")
    if not is_loopback(host) and not options.tls_cert and not options.behind_proxy:
        raise ConfigError(
            f"--host {one_line(host)[:80]} can be reached from other machines, and tokens would travel unencrypted: "
            "add --tls-cert FILE --tls-key FILE, or --behind-proxy ADDRESS for a proxy that has TLS"
        )
    folders = _folders(options)
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111  (no error for a user without a home)
    for folder in folders.values():
        if home.is_relative_to(folder) and not options.quiet:
            print(f"promptuary: warning: {_HOME.format(one_line(str(folder)))}", file=sys.stderr)
    given: Any = given_settings(options)
    settings: SettingsOptions = given
    try:
        for folder in folders.values():
            load(folder, settings)  # reports wrong settings now, not to a client
    except ConfigError as error:
        raise name_flags(error, options) from error
    logging.basicConfig(
        level=logging.DEBUG if options.debug else logging.ERROR if options.quiet else logging.WARNING,
        stream=sys.stderr,
        format="promptuary: %(message)s",
    )
    try:
        listening = listening_port(options.port, host, backlog=serve.MAX_CONNECTIONS)
    except OSError as error:
        raise PromptuaryError(
            f"port {options.port} of {one_line(host)[:80]} cannot be used ({error.strerror}): choose another, --port N"
        ) from error
    store = TokenStore.open()
    sentence = _own_token(store) if is_loopback(host) else "promptuary token create makes tokens"
    if not options.quiet:
        _introduce(listening.getsockname()[1], host, folders, sentence, tls=bool(options.tls_cert))
    port = listening.getsockname()[1]
    is_open = is_loopback(host) and not options.tls_cert and not options.behind_proxy
    link = sign_in_link(store, _base_url(host, port, tls=False), next(iter(folders))) if is_open else None
    if link is not None and show is not None:
        show(link)
    collect_again()
    signal.signal(signal.SIGTERM, _end)
    chosen = serve.Options(
        folders=folders,
        host=host,
        names=tuple(options.allowed_host or ()),
        proxies=tuple(options.behind_proxy or ()),
        certificate=options.tls_cert or "",
        key=options.tls_key or "",
        log="off" if options.quiet else options.log_format,
        settings=settings,
    )
    with listening, suppress(KeyboardInterrupt), announced(port, folders if is_open else {}):
        serve.run(listening, store, chosen)  # until it is asked to end, and everything is closed
    return DONE


def sign_in_link(store: Any, base: str, name: str) -> str | None:
    """Return a link that signs in once to the page of a workspace; ``None`` if this person has no token here."""
    stored = stored_token(_TOKEN)
    token = None if stored is None else store.find(stored)
    return None if token is None else f"{base}/sign-in?code={store.invite(token.id)}&next=/w/{name}/turns"


def _print_link(link: str) -> None:
    print(f"promptuary: the page (this link signs in once, within five minutes): {link}", file=sys.stderr, flush=True)


def check_extra() -> None:
    """Raise ``PromptuaryError`` if the packages of the server are not installed."""
    if any(importlib.util.find_spec(name) is None for name in _PACKAGES):
        raise PromptuaryError(f"promptuary serve needs the 'serve' extra: {how_to_install('serve')}")


def _folders(options: argparse.Namespace) -> dict[str, Path]:
    """Return the folders of the workspaces by name. Raises ``ConfigError`` for a wrong name or a missing folder."""
    from promptuary.server.routes import is_workspace_name  # noqa: PLC0415  (as above)

    if not options.words:
        folder = Path(os.path.realpath(workspace_folder(options)))
        return {workspace_name(folder): folder}
    if options.workspace is not None:
        raise ConfigError("name the workspaces as NAME=DIR, or one with --workspace DIR, not both")
    folders: dict[str, Path] = {}
    for word in options.words:
        name, equals, given = word.partition("=")
        # Not every shell expands ~ after the =.
        folder = Path(os.path.realpath(os.path.expanduser(given if equals else name)))  # noqa: PTH111
        name = name if equals else workspace_name(folder)
        if not is_workspace_name(name):
            raise ConfigError(f"{one_line(name)[:80]!r} cannot be in an address: use letters, digits, . _ and -")
        if not folder.is_dir() or (equals and not given):
            raise ConfigError(f"{one_line(word)[:200]} is not a folder; workspaces are given as NAME=DIR")
        if name in folders:
            raise ConfigError(f"two workspaces are called {name}: give one of them another name, as NAME=DIR")
        folders[name] = folder
    return folders


def _own_token(store: Any) -> str:
    """Create the token of the person at this machine, unless there is one, and return a sentence about it."""
    from promptuary.server.tokens import SCOPES, Token  # noqa: PLC0415  (as above)

    path = token_file(_TOKEN)
    stored = stored_token(_TOKEN)
    if stored is None:
        made, secret = store.create(Token("", "the person at this machine", scopes=frozenset(SCOPES)))
        if store_token(_TOKEN, secret):
            return f"a token was created; clients send it as 'Authorization: Bearer …': {path}"
        store.revoke(made.id)  # another server was faster
    elif store.find(stored) is None:
        return f"the token in {path} is not valid any more; remove that file, and the next start creates another"
    return f"clients send the token as 'Authorization: Bearer …': {path}"


def _print_config(options: argparse.Namespace) -> int:
    base = _base_url(options.host, options.port, tls=bool(options.tls_cert))
    # The token in the file may do everything on this machine's server: it is for clients on this machine only.
    is_elsewhere = is_remote(base)
    is_given = is_elsewhere or os.environ.get(VARIABLE, "").strip()
    place = None if is_given or stored_token(_TOKEN) is None else token_file(_TOKEN)
    notes = ["promptuary token create NAME, on the machine of the server, makes a token"] if is_elsewhere else []
    folders = _folders(options) if len(options.words) > 1 else {}
    if folders:
        here = Path(os.path.realpath(Path.cwd()))
        name = next((name for name, folder in folders.items() if folder == here), next(iter(folders)))
        others = ", ".join(f"{base}/w/{other}" for other in folders if other != name)
        notes.append(f"this is the address of the workspace {name}; the others have their own: {others}")
        base = f"{base}/w/{name}"
    given = settings_for(options.print_config, base, place, own_key=not options.server_key)
    notes = [*given.notes, *notes]
    if not options.quiet:
        print(f"promptuary: for {given.file}:", file=sys.stderr, flush=True)
    print(given.text, flush=True)
    if not options.quiet:
        print(*(f"promptuary: {note}" for note in notes), sep="\n", end="\n" * bool(notes), file=sys.stderr)
    return DONE


def _base_url(host: str, port: int, *, tls: bool) -> str:
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _introduce(port: int, host: str, folders: dict[str, Path], sentence: str, *, tls: bool) -> None:
    base = _base_url(host, port, tls=tls)
    print(f"promptuary: {base}", file=sys.stderr)
    for name, folder in folders.items():
        print(f"promptuary: {base}/w/{name}  {one_line(str(folder))}", file=sys.stderr)
    print(f"promptuary: {sentence}", file=sys.stderr)
    print("promptuary: settings of a client: promptuary serve --print-config claude-code", file=sys.stderr, flush=True)


def _end(_: int, __: FrameType | None) -> None:
    """End as with Ctrl-C."""
    raise KeyboardInterrupt

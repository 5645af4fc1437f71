"""``promptuary mcp ACTION``: the MCP servers that the person configured, and those in a ``.mcp.json`` to import."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.text import beginning, counted, one_line
from promptuary.cli.common import confirm, given_settings, name_flags, workspace_folder
from promptuary.config.edit import settings_file
from promptuary.config.settings import Settings, load
from promptuary.config.tool_servers import NamedServer, servers_of_json, toml_table
from promptuary.context.receipt_entries import cost_of_tool
from promptuary.tokens.counting import Counter
from promptuary.tool_servers.servers import ToolServers
from promptuary.workspace.data_folder.tool_consents import forget_consents, read_consents
from promptuary.workspace.programs.agents.config_files import config_text

DONE: Final = 0
NOT_ALL: Final = 1
_ACTIONS: Final = {"list": 0, "test": 1, "tools": 1, "resources": 1, "import": 1, "forget": 1}
"""The actions, and how many words may follow each."""
_NAMED: Final = frozenset({"tools", "resources", "forget"})
_FILE: Final = ".mcp.json"
_MOST_ABOUT: Final = 100


def show(options: argparse.Namespace) -> int:
    """Do what the words of the command say."""
    action, *names = options.words
    if action not in _ACTIONS:
        raise PromptuaryError(f"{one_line(action)[:60]} is not an action; use {', '.join(_ACTIONS)}")
    if len(names) > _ACTIONS[action] or (action in _NAMED and not names):
        raise PromptuaryError(f"promptuary mcp {action} takes {'the name of a server' if action in _NAMED else 'less'}")
    given: Any = given_settings(options)
    folder = workspace_folder(options)
    try:
        settings = load(folder, given)
    except ConfigError as error:
        raise name_flags(error, options) from error
    name = names[0] if names else ""
    if action == "import":
        return _import(folder, settings, Path(name) if name else folder / _FILE, options)
    with closing(ToolServers(settings.mcp, Path(os.path.realpath(folder)), settings.allow_hosts)) as servers:
        match action:
            case "list":
                return _list(settings.mcp, folder)
            case "test":
                return _test(servers, [name] if name else list(servers.names))
            case "tools":
                return _tools(servers, name, Counter(settings.effective_vocabulary))
            case "resources":
                return _resources(servers, name)
            case _:
                server = servers.named(name).name
                print(f"{counted(forget_consents(f'{server}__'), 'consent')} forgotten")
                return DONE


def _list(servers: Sequence[NamedServer], folder: Path) -> int:
    for one in servers:
        print(f"{one.name}: {one_line(one.target)}")
        offered = ", ".join(map(one_line, one.tools)) or "none"
        print(f"  tools: {offered}; @{one.name}:{'VALUE calls ' + one.reference if one.reference else 'URI'}")
        if unset := [name for name in one.variables if not os.environ.get(name)]:
            print(f"  not set here: {', '.join(unset)}")
    if not servers:
        print("no server is configured: write [mcp.NAME] with a command or a url into your configuration", end="")
        print(f", or look at those of {_FILE}: promptuary mcp import" if (folder / _FILE).is_file() else "")
    return DONE


def _test(servers: ToolServers, names: Sequence[str]) -> int:
    failed = 0
    for name in names:
        servers.named(name)
    for name in names:
        began = time.monotonic()
        try:
            tools, resources = servers.listing(name), servers.listing(name, resources=True)
        except PromptuaryError as error:
            failed += 1
            print(one_line(f"{name}: {error}"))
            continue
        found = f"{counted(len(tools.tools), 'tool')}, {counted(len(resources.resources), 'resource')}"
        print(f"{name}: {found} in {time.monotonic() - began:.1f} s")
        for reason in (*tools.left_out, *resources.left_out):
            print(f"  not used: {one_line(reason)}")
    if not names:
        print("no server is configured; write [mcp.NAME] into your configuration")
    return NOT_ALL if failed else DONE


def _tools(servers: ToolServers, name: str, counter: Counter) -> int:
    listing, agreed = servers.listing(name), read_consents()
    for one in listing.tools:
        kept = agreed.get(one.spec.name)
        asked = "asks" if kept is None else "always" if kept == one.digest else "asks, since it has changed"
        print(f"{one.spec.name} ({asked}, {counted(cost_of_tool(one.spec, counter), 'token')})")
        print(f"  {beginning(one_line(' '.join(one.spec.description.split())), _MOST_ABOUT)}")
    for reason in listing.left_out:
        print(f"not used: {one_line(reason)}")
    return DONE


def _resources(servers: ToolServers, name: str) -> int:
    for one in servers.listing(name, resources=True).resources:
        print(f"@{name}:{one_line(one.uri)}  {one.name}".rstrip())
    return DONE


def _import(folder: Path, settings: Settings, file: Path, options: argparse.Namespace) -> int:
    """Show the servers of a file of other clients, and add them to the person's configuration after a look."""
    shown = one_line(str(file))
    text = config_text(file)
    if text is None:
        raise PromptuaryError(f"there is no {shown}; name the file: promptuary mcp import FILE")
    known = {one.name for one in settings.mcp}
    found = servers_of_json(text, shown)
    new = [one for one in found if one.name not in known]
    for one in found:
        _show_server(one, is_known=one.name in known)
    if not new:
        print("there is nothing to import", file=sys.stderr)
        return NOT_ALL
    own = settings_file(folder, here=False)
    print(
        f"Each of them is started, or called, by your turns from then on, with your rights. {shown} may be a", end=" "
    )
    print("stranger's: import only what you know.")
    if not confirm(f"Add {', '.join(one.name for one in new)} to {own.path}?", options):
        print("nothing was imported; --yes imports without asking", file=sys.stderr)
        return NOT_ALL
    before = own.text()
    above = f"{before.rstrip()}\n\n" if before and before.strip() else ""
    after = above + "\n".join(map(toml_table, new))
    own.check(after)
    own.write(before, after)
    print(f"added to {own.path}; promptuary mcp test tries them", file=sys.stderr)
    return DONE


def _show_server(server: NamedServer, *, is_known: bool) -> None:
    print(f"{server.name}{' (you have one of this name; it stays)' if is_known else ''}")
    if server.url:
        print(f"  calls {one_line(server.url)}")
    else:
        print(f"  starts {one_line(server.command)}")
        for argument in server.args:
            print(f"    {one_line(argument)}")
    if server.cwd:
        print(f"  in {one_line(server.cwd)}")
    for title, pairs in (("variable", server.env), ("header", server.headers)):
        for name, value in pairs.items():
            print(f"  {title} {one_line(name)} = {one_line(value)}")
    if server.variables:
        print(f"  gets from your environment: {', '.join(server.variables)}")

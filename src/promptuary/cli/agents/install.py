"""``promptuary install``: writes the MCP server and the hooks into the settings of an agent, or removes them."""

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.extras import check_mcp
from promptuary.base.text import one_line
from promptuary.cli.at_server import find_token
from promptuary.cli.common import confirm, print_json, workspace_folder
from promptuary.config.named_models import key_variables
from promptuary.config.settings import load
from promptuary.hooks.install.clients import SettingsFile, settings_files
from promptuary.hooks.install.hook_commands import NAME
from promptuary.hooks.install.installing import SettingsChange, UndoneFile, planned, planned_undo, undo, write
from promptuary.mcp.description import OFFERED
from promptuary.server.client_settings import (
    DEFAULT_URL,
    HEADER,
    VARIABLE,
    settings_files_for,
    start_notes,
    workspace_name,
)
from promptuary.workspace.programs.agents.config_files import config_text, list_noted_files

DONE, NOTHING = 0, 1
_FOLDERS = frozenset({"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"})
_OF_PROXY = ("--server-key", "--everywhere", "--url", "--name")
_TOKEN = re.compile(rf'({HEADER}: )[^"\n]+')
_PREFIXES = {"claude-code": "mcp__promptuary__", "gemini": "mcp_promptuary_"}


def main(options: argparse.Namespace) -> int:
    """Write the settings, or undo the change."""
    plan = _proxy_plan(options) if options.proxy else _plan(options)
    return _undo(options, plan) if options.undo else _install(options, plan)


class _Plan(Struct, frozen=True):
    """What is to be written: the files, the name of the record that undoes it, and what to say afterwards."""

    files: Sequence[SettingsFile]
    record: str
    notes: Sequence[str] = ()


def _plan(options: argparse.Namespace) -> _Plan:
    given = [flag for flag in _OF_PROXY if getattr(options, flag[2:].replace("-", "_"))]
    if given or options.agent in {"opencode", "continue"}:
        raise PromptuaryError(f"{given[0] if given else options.agent} needs --proxy")
    variables, keys = needed_variables(options.workspace)
    files = settings_files(options.agent, own_command(), hooks=not options.no_hooks, variables=variables, keys=keys)
    return _Plan(files, options.agent)


def _proxy_plan(options: argparse.Namespace) -> _Plan:
    if options.no_hooks:
        raise PromptuaryError("--no-hooks is not for --proxy, which writes none")
    client, own_key = options.agent, not options.server_key
    # A project with links to it has one record.
    project = None if options.everywhere else workspace_folder(options).resolve()
    if project == Path.home().resolve():
        raise PromptuaryError("this is your home folder; --everywhere writes your own settings, for every project")
    url = options.url or DEFAULT_URL
    # To take settings out, no token is needed, and there may be none any more.
    token, place = ("", None) if options.undo else find_token(url)
    record = f"{client}.proxy"
    if project is not None:
        url = f"{url.rstrip('/')}/w/{options.name or workspace_name(project)}"
        record += f".{hashlib.sha256(os.fsencode(project)).hexdigest()[:16]}"
    files = settings_files_for(client, url, place, token, own_key=own_key, project=project)
    for file in files:
        # Whoever wrote the repository may have chosen where a link leads, and a token must not go there.
        if project is not None and file.path.is_relative_to(project) and file.path.resolve() != file.path:
            raise PromptuaryError(f"{one_line(str(file.path))} is a link, or in one; remove the link first")
    if client == "codex" and project is not None and not options.undo and not options.force:
        _check_profile(files[0], record)
    return _Plan(files, record, start_notes(client, url, place, own_key=own_key))


def _check_profile(file: SettingsFile, record: str) -> None:
    """Raise ``PromptuaryError`` if a profile of Codex, which has one folder for all of them, is another folder's."""
    text = config_text(file.path) or ""
    first, *_ = str(file.entries[0].value).splitlines()
    is_own = any(noted.path == file.path for noted in list_noted_files(record))
    if text.startswith(f"{first}\n") and not is_own:
        raise PromptuaryError(
            f"{one_line(str(file.path))} was written for another folder of this name: choose another for this one, "
            "--name NAME, and serve it as NAME=DIR; --force writes the file all the same"
        )


def own_command() -> list[str]:
    """Return the command that starts this program from anywhere: editors often have another search path."""
    started = Path(sys.argv[0])
    if started.name == "promptuary" and os.access(started, os.X_OK):
        return [str(started.absolute())]
    beside = Path(sys.executable).with_name("promptuary")
    return [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "promptuary"]


def needed_variables(workspace: str | None) -> tuple[list[str], list[str]]:
    """Return the names of the environment variables that a server needs here: for settings and folders, and of keys."""
    variables = [name for name in sorted(os.environ) if name in _FOLDERS or name.startswith("PROMPTUARY_")]
    variables = [name for name in variables if name != VARIABLE]  # it is for clients of promptuary serve
    keys: list[str] = []
    with suppress(PromptuaryError):  # reported by the commands that need it
        keys = key_variables(load(Path(workspace or Path.cwd()), {}).models)
    return variables, [name for name in keys if os.environ.get(name) and name not in variables]


def _install(options: argparse.Namespace, plan: _Plan) -> int:
    if not options.proxy:
        check_mcp()  # otherwise the agent could not start the server
    found = planned(plan.record, plan.files, force=options.force)
    changes = [one for one in found if one.after != one.before]
    if not options.json:
        _print([_diff(one) for one in changes])
    may = bool(changes) and not options.dry_run and confirm("Write this?", options)
    if may:
        write(plan.record, changes)
    refused = "" if may or not changes or options.dry_run else "nothing was written; --yes writes it without asking"
    left = [f"{one_line(str(one.path))}: {one_line(why)}" for one in found for why in one.left]
    if options.json:
        shown = [{"path": str(one.path), "diff": _diff(one)} for one in changes]
        error = {"error": refused} if refused else {}
        print_json({"agent": options.agent, "written": may, "files": shown, "left": left, **error})
    else:
        for sentence in left:
            print(f"promptuary: {sentence}", file=sys.stderr)
        _tell_written(options, plan, is_needed=bool(changes), is_written=may)
    return _ended(refused)


def _tell_written(options: argparse.Namespace, plan: _Plan, *, is_needed: bool, is_written: bool) -> None:
    if not is_needed:
        print(f"promptuary is in the settings of {options.agent} already", file=sys.stderr)
    elif is_written and options.proxy:
        again = " ".join(["--proxy", *(["--everywhere"] if options.everywhere else []), "--undo"])
        _say(options, f"written; start {options.agent} again. promptuary install {options.agent} {again} undoes it")
        for note in plan.notes:
            _say(options, note)
    elif is_written:
        _say(options, f"written; start {options.agent} again. promptuary install {options.agent} --undo undoes it")
        if options.agent == "codex" and not options.no_hooks:
            _say(options, "codex asks whether it may run the hooks: /hooks shows them")
        if line := allowing_line(options.agent):
            _say(options, f"tools that only read run without a question with this line of yours: {line}")


def allowing_line(agent: str) -> str:
    """Return the line for a person's settings that lets the reading tools run without a question; empty if unknown.

    It is the person's to write. Codex asks only about the one that may fetch a page.
    """
    prefix = _PREFIXES.get(agent, "")
    names = json.dumps([f"{prefix}{name}" for name, tool in OFFERED.items() if tool.reads_only])
    match agent:
        case "claude-code":
            return f'"permissions": {{"allow": {names}}}'
        case "gemini":
            return f'"tools": {{"allowed": {names}}}'
        case "codex":
            return f'tools.expand_references.approval_mode = "approve" (in [mcp_servers.{NAME}])'
        case _:
            return ""


def _ended(refused: str) -> int:
    """Print why nothing was done, if so, and return the exit code."""
    if refused:
        print(f"promptuary: {refused}", file=sys.stderr)
    return NOTHING if refused else DONE


def _undo(options: argparse.Namespace, plan: _Plan) -> int:
    if options.no_hooks:
        raise PromptuaryError(
            f"--undo removes everything that was written; to remove only the hooks: "
            f"promptuary install {options.agent} --no-hooks"
        )
    steps = planned_undo(plan.record, plan.files, force=options.force)
    changes = [one.change for one in steps if one.change.after != one.change.before]
    if not options.json:
        _print([_diff(one, undoing=True) for one in changes])
    may = not options.dry_run and (not changes or confirm("Undo it?", options))
    done = undo(plan.record, steps) if may else steps
    refused = "" if may or not changes or options.dry_run else "nothing was undone; --yes undoes it without asking"
    if options.json:
        # A refused plan must not be reported as done.
        hows = ["left" if refused and one.change in changes else one.how for one in done]
        shown = [
            {
                "path": str(one.change.path),
                "done": how,
                "reason": one.reason,
                "diff": _diff(one.change, undoing=True),
            }
            for one, how in zip(done, hows, strict=True)
        ]
        error = {"error": refused} if refused else {}
        print_json({"agent": options.agent, "undone": may, "files": shown, **error})
    else:
        _tell_undone(options, done, is_needed=bool(changes), is_undone=may)
    return max(_ended(refused), NOTHING if any(one.reasons for one in done) else DONE)


def _tell_undone(options: argparse.Namespace, done: Sequence[UndoneFile], *, is_needed: bool, is_undone: bool) -> None:
    for one in done:
        path = one_line(str(one.change.path))
        if is_undone and one.how in {"as it was", "taken out"}:
            _say(options, f"{path}: {one.how}")
        for why in map(one_line, one.reasons):
            print(f"promptuary: {why if path in why else f'{path}: {why}'}", file=sys.stderr)
    if not is_needed and not any(one.reasons for one in done):
        print(f"promptuary is not in the settings of {options.agent}", file=sys.stderr)


def _diff(change: SettingsChange, *, undoing: bool = False) -> str:
    """Return a change as a patch, without a token of ours."""
    return _TOKEN.sub(r"\1…", change.diff(undoing=undoing))


def _print(patches: Sequence[str]) -> None:
    for one in patches:
        print("\n".join(one_line(line) if not line.isprintable() else line for line in one.split("\n")))


def _say(options: argparse.Namespace, sentence: str) -> None:
    if not options.quiet:
        print(sentence, file=sys.stderr)

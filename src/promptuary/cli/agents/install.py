"""``promptuary install``: writes the MCP server and the hooks into the settings of an agent, or takes them out."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from promptuary.cli.common import confirmed, print_json
from promptuary.core.json import install_json, undone_json
from promptuary.core.text import one_line
from promptuary.hooks.install.clients import SettingsFile, settings_files
from promptuary.hooks.install.installing import SettingsChange, planned, planned_undo, undo, write

DONE, NOTHING = 0, 1


def main(options: argparse.Namespace) -> int:
    """Write the settings, or undo that."""
    files = settings_files(options.agent, own_command(), hooks=not options.no_hooks)
    return _undo(options, files) if options.undo else _install(options, files)


def own_command() -> list[str]:
    """Return the command that starts this program from anywhere: editors often have another search path."""
    started = Path(sys.argv[0])
    if started.name == "promptuary" and os.access(started, os.X_OK):
        return [str(started.absolute())]
    beside = Path(sys.executable).with_name("promptuary")
    return [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "promptuary"]


def _install(options: argparse.Namespace, files: Sequence[SettingsFile]) -> int:
    changes = planned(files)
    if changes and not options.json:
        _print(changes)
    may = bool(changes) and not options.dry_run and confirmed("Write this?", options)
    if may:
        write(options.agent, changes)
    if options.json:
        print_json(install_json(options.agent, [(str(one.path), one.diff) for one in changes], written=may))
    elif not changes:
        print(f"promptuary is in the settings of {options.agent} already", file=sys.stderr)
    elif may:
        _say(options, f"written; start {options.agent} again. promptuary install {options.agent} --undo undoes it")
        if options.agent == "codex":
            _say(options, "codex asks whether it may run the hooks: /hooks shows them")
    elif not options.dry_run:
        print("promptuary: nothing was written; --yes writes it without asking", file=sys.stderr)
    return DONE if may or not changes or options.dry_run else NOTHING


def _undo(options: argparse.Namespace, files: Sequence[SettingsFile]) -> int:
    changes = planned_undo(options.agent, files)
    if not options.json:
        _print(changes)
    may = not options.dry_run and (not changes or confirmed("Undo it?", options))
    done = undo(options.agent, files) if may else []
    left = [one for one in done if one.how == "left"]
    if options.json:
        print_json(undone_json(options.agent, [(str(one.path), one.how, one.reason) for one in done]))
        return NOTHING if left or (changes and not may and not options.dry_run) else DONE
    for one in done:
        if one.how != "not there":
            _say(options, f"{one_line(str(one.path))}: {one.how}{f' ({one_line(one.reason)})' if one.reason else ''}")
    if not changes and not left:
        print(f"promptuary is not in the settings of {options.agent}", file=sys.stderr)
    elif not may and not options.dry_run:
        print("promptuary: nothing was undone; --yes undoes it without asking", file=sys.stderr)
    return NOTHING if left or (changes and not may and not options.dry_run) else DONE


def _print(changes: Sequence[SettingsChange]) -> None:
    for one in changes:
        print("\n".join(one_line(line) if not line.isprintable() else line for line in one.diff.split("\n")))


def _say(options: argparse.Namespace, sentence: str) -> None:
    if not options.quiet:
        print(sentence, file=sys.stderr)

"""``promptuary config``: prints the settings and where each one comes from, and changes files of settings."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.table import Column, table
from promptuary.base.text import one_line
from promptuary.cli.common import open_workspace, print_json, workspace_folder
from promptuary.cli.memory.printing import say, say_kept
from promptuary.cli.terminal import bold_header, is_terminal
from promptuary.config.edit import SettingsFile, settings_file
from promptuary.config.named_models import NamedModel
from promptuary.config.settings import SETTINGS, Settings, check_setting, load, setting_help
from promptuary.config.static_layers import StaticLayer
from promptuary.workspace.programs.editor import edit_copy

DONE: Final = 0
_WORDS: Final = {None: "", "get": "NAME", "set": "NAME VALUE", "edit": "", "path": ""}
_NEW_FILE: Final = "# Settings of Promptuary: promptuary config lists them, promptuary config get NAME explains one.\n"


def main(options: argparse.Namespace) -> int:
    """Print every setting, or one, or change a file of settings."""
    action, wanted = options.action, _WORDS[options.action].split()
    # A list has many values.
    if len(options.words) != len(wanted) and not (action == "set" and len(options.words) > len(wanted)):
        raise PromptuaryError(f"usage: promptuary config {' '.join(filter(None, [action, *wanted]))}")
    match action:
        case "get":
            return _get(options.words[0], options)
        case "set":
            return _set(*options.words, options=options)
        case "edit":
            return _edit(options)
        case "path":
            return _path(options)
        case _:
            return _list(options)


def _list(options: argparse.Namespace) -> int:
    with open_workspace(options) as promptuary:
        settings, workspace = promptuary.settings, str(promptuary.path)
    shown = {name: (_value(settings, name), _origin(settings, name)) for name in SETTINGS}
    shown |= {f"models.{model.name}": (_model(model), settings.origin("models")) for model in settings.models}
    shown |= {f"layers.static.{layer.name}": (layer.file, _static_origin(layer)) for layer in settings.static_layers}
    if options.json:
        print_json(settings_json(workspace, shown, settings.warnings))
    else:
        rows = [(name, one_line(_text(value)), origin) for name, (value, origin) in shown.items()]
        print(f"workspace: {one_line(workspace)}\n")
        print(bold_header(table((Column("setting"), Column("value"), Column("from")), rows), sys.stdout))
    return DONE


def _get(given: str, options: argparse.Namespace) -> int:
    name = check_setting(given, given)
    with open_workspace(options) as promptuary:
        value, origin = _value(promptuary.settings, name), _origin(promptuary.settings, name)
    if options.json:
        print_json({"name": name, "value": value, "origin": origin, "help": setting_help(name)})
    else:
        print(one_line(_text(value)))
        say(f"{name}: {setting_help(name)}; from {origin}", quiet=options.quiet)
    return DONE


def _set(name: str, *values: str, options: argparse.Namespace) -> int:
    name = check_setting(name, name)
    if len(values) > 1 and not isinstance(SETTINGS[name], tuple):
        raise PromptuaryError(f"{name} has one value; quote it if it has spaces: promptuary config set {name} VALUE")
    workspace = workspace_folder(options)
    file = settings_file(workspace, here=options.here)
    value = file.set(name, values if len(values) > 1 else values[0])
    if options.json:
        print_json({"name": name, "value": value, "file": str(file.path)})
    else:
        print(f"{name} = {one_line(_text(value))} in {one_line(str(file.path))}")
    try:
        origin = load(workspace).origin(name)
    except ConfigError:  # a variable is wrong, which the next command tells
        origin = file.origin
    if origin != file.origin:
        say(f"note: {origin} sets {name}, too, and wins here", quiet=options.quiet)
    return DONE


def _edit(options: argparse.Namespace) -> int:
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise PromptuaryError("config edit needs a terminal; use promptuary config set NAME VALUE")
    file = settings_file(workspace_folder(options), here=options.here)
    before = file.text()
    try:
        with edit_copy((_NEW_FILE if before is None else before).encode(), file.path.name) as written:
            after = _decoded(written, file)
            file.check(after)
            if after not in {before, _NEW_FILE}:
                file.write(before, after)
    except PromptuaryError as error:
        say_kept(error)
        raise
    changed = after not in {before, _NEW_FILE}
    if options.json:
        print_json({"file": str(file.path), "changed": changed})
    else:
        print(f"{'wrote' if changed else 'nothing has changed in'} {one_line(str(file.path))}")
    return DONE


def _decoded(written: bytes, file: SettingsFile) -> str:
    try:
        return written.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file.path} is not UTF-8 text; save it as UTF-8") from error


def _path(options: argparse.Namespace) -> int:
    file = settings_file(workspace_folder(options), here=options.here)
    exists = file.text() is not None
    if options.json:
        print_json({"file": str(file.path), "exists": exists})
    else:
        print(one_line(str(file.path)))
        if not exists:
            say("it does not exist yet; promptuary config set NAME VALUE creates it", quiet=options.quiet)
    return DONE


def settings_json(workspace: str, settings: Mapping[str, tuple[object, str]], notes: Sequence[str]) -> dict[str, Any]:
    """Return what ``--json`` prints. ``settings`` has the value and the origin of each setting."""
    return {
        "workspace": workspace,
        "settings": {name: {"value": value, "origin": origin} for name, (value, origin) in settings.items()},
        "notes": list(notes),
    }


def _value(settings: Settings, name: str) -> Any:
    return getattr(settings, f"effective_{name}" if name in {"window", "vocabulary"} else name)


def _model(model: NamedModel) -> str:
    return "scripted" if model.scripted else f"{model.model} at {model.base_url}"


def _static_origin(layer: StaticLayer) -> str:
    return "the workspace" if layer.of_workspace else "your configuration"


def _origin(settings: Settings, name: str) -> str:
    origin = settings.origin(name)
    return "flag" if origin == "option" else origin


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

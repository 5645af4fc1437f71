"""``promptuary config``: prints the settings and where each one comes from."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from promptuary.base.table import Column, table
from promptuary.base.text import one_line
from promptuary.cli.common import opened, print_json
from promptuary.cli.terminal import headed
from promptuary.config.named_models import NamedModel
from promptuary.config.settings import SETTINGS, Settings
from promptuary.config.static_layers import StaticLayer


def main(options: argparse.Namespace) -> int:
    """Print every setting with its value and its origin."""
    with opened(options) as promptuary:
        settings, workspace = promptuary.settings, str(promptuary.path)
    shown = {name: (_value(settings, name), _origin(settings, name)) for name in SETTINGS}
    shown |= {f"models.{one.name}": (_model(one), settings.origin("models")) for one in settings.models}
    shown |= {f"layers.static.{one.name}": (one.file, _static_origin(one)) for one in settings.static_layers}
    if options.json:
        print_json(settings_json(workspace, shown, settings.notes))
    else:
        rows = [(name, one_line(_text(value)), origin) for name, (value, origin) in shown.items()]
        print(f"workspace: {one_line(workspace)}\n")
        print(headed(table((Column("setting"), Column("value"), Column("from")), rows), sys.stdout))
    return 0


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

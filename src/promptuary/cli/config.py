"""``promptuary config``: the settings that hold in this workspace."""

import argparse
import json
import sys
from dataclasses import asdict

from promptuary.cli.common import opened, prepare_streams
from promptuary.core.table import Column, table
from promptuary.core.text import one_line


def main(options: argparse.Namespace) -> int:
    """Print every setting with its value."""
    prepare_streams()
    with opened(options) as promptuary:
        settings = asdict(promptuary.settings)
        settings["window"] = promptuary.settings.effective_window
        settings["vocabulary"] = promptuary.settings.effective_vocabulary
        values = {"workspace": str(promptuary.path), **settings}
    if options.json:
        json.dump(values, sys.stdout, ensure_ascii=False, indent=2)
        print()
    else:
        rows = [(name, one_line(_shown(value))) for name, value in values.items()]
        print(table((Column("setting"), Column("value")), rows))
    return 0


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

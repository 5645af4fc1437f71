"""``promptuary session``: limits what threads may see and audits their turns; the modules below run the actions."""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import opened, print_new_notes
from promptuary.cli.sessions import looking_back, making, reading, removing
from promptuary.core.errors import SourceError, UnknownExperienceError, UnknownNoteError, UnknownSessionError
from promptuary.core.text import one_line

NOTHING: Final = 1

_ACTIONS: Final[Mapping[str, Callable[[Promptuary, argparse.Namespace], int]]] = {
    "create": making.create,
    "list": reading.list_sessions,
    "show": reading.show,
    "refresh": making.refresh,
    "archive": making.archive,
    "restore": making.restore,
    "rm": removing.remove,
    "audit": looking_back.audit,
    "replay": looking_back.replay,
    "prune": removing.prune,
    "forget": removing.forget,
}


def main(options: argparse.Namespace) -> int:
    """Run one action on sessions."""
    looking_back.take(options)
    with opened(options) as promptuary:
        try:
            code = _ACTIONS[options.action](promptuary, options)
        except SourceError as error:
            print(f"promptuary: {one_line(error.reason)}", file=sys.stderr)
            code = NOTHING
        except (UnknownSessionError, UnknownNoteError, UnknownExperienceError) as error:
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
            code = NOTHING
        print_new_notes(promptuary, options)
    return code

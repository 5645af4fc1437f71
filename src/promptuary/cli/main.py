"""``promptuary``: reads the arguments and starts one command.

Nothing heavy is imported here: each command is a module of its own, loaded when it is asked for.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from promptuary._version import __version__
from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line

DONE, NOT_ALL, WRONG_USAGE = 0, 1, 2
INTERRUPTED = 130

_DESCRIPTION = """\
Write a message with references in it; Promptuary fetches exactly what they point at,
safely, fits it into the model's window, and shows what went in, what was cut and why.

  @file:src/app.py  @file:src/app.py:10-50  @file:src/app.py#main  @folder:src
  @glob:src/**/*.py  @diff  @staged  @status  @git:5  @git:main..HEAD
  @commit:abc123  @symbol:Class.method  @url:https://...  #docs/style.md
"""


def run() -> None:
    """Start the program: what the ``promptuary`` script calls."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return WRONG_USAGE
    try:
        code = _start(options)
        sys.stdout.flush()
    except PromptuaryError as error:
        print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
        return WRONG_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has had enough. Point stdout at nothing, so that the interpreter's own flush is silent too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _start(options: argparse.Namespace) -> int:
    command = importlib.import_module(f"promptuary.cli.{options.command}")
    code: int = command.main(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="promptuary", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"promptuary {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_expand(commands)
    _add_complete(commands)
    _add_config(commands)
    return parser


Commands = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _add_expand(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    expand = commands.add_parser(
        "expand",
        help="show what would be sent: the message with everything it points at",
        description="Print the message with everything it points at; the token table goes to stderr. "
        "Exit code 1 if a reference could not be included or nothing fits.",
    )
    expand.add_argument("text", nargs="+", metavar="TEXT", help="the message; - reads it from standard input")
    _add_common(expand)
    expand.add_argument("--quiet", "-q", action="store_true", help="no table on stderr")
    window = expand.add_argument_group("how much may go in")
    window.add_argument("--window", metavar="TOKENS", help="the model's window (128000, 200k)")
    window.add_argument("--model", metavar="NAME", help="take window and vocabulary from a model's name")
    window.add_argument("--vocabulary", metavar="NAME", help="count with this vocabulary (o200k_base, cl100k_base ...)")
    window.add_argument("--warn", dest="warn_share", metavar="SHARE", help="warn above this part of the window (25%%)")
    window.add_argument("--limit", dest="limit_share", metavar="SHARE", help="never inject more than this part (50%%)")
    doors = expand.add_argument_group("what may be read")
    doors.add_argument(
        "--allow-host",
        dest="allow_hosts",
        action="append",
        metavar="HOST",
        help="fetch from this host even if its address is private (repeat for more)",
    )
    doors.add_argument(
        "--allow-extension",
        dest="allowed_extensions",
        action="append",
        metavar=".EXT",
        help="read files with this extension too",
    )
    doors.add_argument(
        "--allow-sensitive",
        dest="allow_sensitive",
        action="append",
        metavar="NAME",
        help="read this file although its name says that it holds secrets",
    )
    doors.add_argument("--max-file-size", metavar="SIZE", help="read files up to this size (1MB)")
    doors.add_argument("--follow-symlinks", action="store_const", const=True, help="follow links that stay inside")
    doors.add_argument("--timeout", metavar="SECONDS", help="give up on a reference after this long (30)")


def _add_complete(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    complete = commands.add_parser(
        "complete",
        help="show what the @ and # menus would offer at the end of a text",
        description="Print one offer a line: what to insert, then what it is.",
    )
    complete.add_argument("text", nargs="+", metavar="TEXT", help="the text up to the cursor; - reads standard input")
    _add_common(complete)
    complete.add_argument("--max", type=int, default=20, metavar="N", help="how many offers at most (20)")


def _add_config(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    config = commands.add_parser("config", help="show the settings that hold here", description="Print every setting.")
    _add_common(config)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        "-w",
        metavar="DIR",
        help="the folder that paths start from (default: the "
        "nearest parent with .promptuary, .git or promptuary.toml, else the current folder)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--debug", action="store_true", help="log what happens, with traces")

"""``promptuary``: runs one command.

Imports little: each command is a module of its own and is imported when it runs. A new command is a row of ``COMMANDS``
in ``arguments`` and a module of its name, in the folder of its family if it has one, with a function ``main(options)``
that returns the exit code.
"""

import argparse
import atexit
import importlib
import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from promptuary.cli.arguments import make_parser
from promptuary.core.errors import PromptuaryError
from promptuary.core.text import one_line

DONE, NOT_ALL, WRONG_USAGE = 0, 1, 2
INTERRUPTED = 130

# What argparse takes for a word although it begins with a dash.
_DASHED_WORD = re.compile(r"-|-\d+|-\d*\.\d+|-.* .*", re.DOTALL)


def run() -> None:
    """Run the program and exit: the entry point of the ``promptuary`` script."""
    code = main()
    _flush_streams()
    if "onnxruntime" in sys.modules and _may_exit_at_once():
        # Unloading this library takes longer than a search.
        atexit._run_exitfuncs()  # noqa: SLF001  (as the interpreter would do now)
        _flush_streams()
        os._exit(code)
    sys.exit(code)


def _may_exit_at_once() -> bool:
    """Return whether nothing of others is left to run at exit: no plug-in, no thread, no profiler."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    watched = bool(sys.gettrace() or sys.getprofile() or any(tools))
    others = [one for one in threading.enumerate() if not one.daemon and not one.name.startswith("promptuary-")]
    return not watched and "promptuary.plugins" not in sys.modules and others == [threading.main_thread()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    _prepare_streams()
    options = argparse.Namespace(debug=False)
    try:
        options = _parsed(sys.argv[1:] if arguments is None else arguments)
        code = _start(options)
        sys.stdout.flush()
    except SystemExit as stop:
        return _ended(stop)
    except PromptuaryError as error:
        return _failed(str(error), WRONG_USAGE, debug=options.debug)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it, as `head` does.
        _flush_streams()
        return DONE
    except OSError as error:
        return _failed(_sentence(error), NOT_ALL, debug=options.debug)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Words of a command may come before, between and after flags; after ``--`` all are words."""
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    parser = make_parser(given[0] if given else None)
    options, others = parser.parse_known_args(given[:end])
    unknown = [one for one in others if one.startswith("-") and not _DASHED_WORD.fullmatch(one)]
    words = [*others, *given[end + 1 :]]
    takes = next((name for name in ("text", "words") if hasattr(options, name)), None)
    if unknown or (words and takes is None):
        parser.error(f"unrecognized arguments: {' '.join(unknown or words)}")
    if takes is not None:
        setattr(options, takes, [*getattr(options, takes), *words])
    return options


def _start(options: argparse.Namespace) -> int:
    if options.command is None:
        make_parser().print_help(sys.stderr)
        return WRONG_USAGE
    if sys.stdout is None:
        raise PromptuaryError("standard output is closed, so nothing can be printed")
    if options.command == "search" and not options.lexical:
        importlib.import_module("promptuary.wiring.preload").begin(options.workspace or os.curdir)
    # A turn of a thread needs a database and layers; a plain expansion does not import them.
    in_thread = options.command == "expand" and (options.thread is not None or options.form is not None)
    module = "promptuary.cli.threads.expand_in_thread" if in_thread else options.module
    code: int = importlib.import_module(module).main(options)
    return code


def _prepare_streams() -> None:
    """Let output be UTF-8 on every terminal, and replace what cannot be encoded."""
    if sys.stderr is None:
        # Otherwise print(file=None) would write to standard output.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  (light, and never closed)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _ended(stop: SystemExit) -> int:
    """Return the exit code after argparse printed help or an error."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return _failed(_sentence(error), NOT_ALL, debug=False)
    return stop.code if isinstance(stop.code, int) else DONE


def _failed(sentence: str, code: int, *, debug: bool) -> int:
    """Print what went wrong, if standard error is open, and return ``code``."""
    with suppress(OSError):
        if debug:
            import traceback  # noqa: PLC0415  (rarely needed)

            traceback.print_exc()
        print(f"promptuary: {one_line(sentence)}", file=sys.stderr)
    _flush_streams()
    return code


def _sentence(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename is not None else ""
    return f"{error.strerror or error}{where}"


def _flush_streams() -> None:
    """Flush the streams. A broken one is redirected to the null device, so that the flush at exit is silent, too."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

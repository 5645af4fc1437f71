"""``promptuary``: runs one command.

Imports as little as possible: each command is a module that is imported when it runs. To add a command, add a row to
``COMMANDS`` in ``command_table`` and a module of its name with a function ``main(options)`` that returns the exit code,
or a function of its name in the module of its family.
"""

import argparse
import atexit
import errno
import gc
import importlib
import io
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from promptuary.base.errors import NO_THREADS, PromptuaryError, shortage
from promptuary.base.text import one_line
from promptuary.cli.command_table import COMMANDS, flags_of, make_parser, overview
from promptuary.cli.old_spellings import OLD_COMMANDS, OLD_FLAGS
from promptuary.cli.parsing import Asked, chosen_parser, did_you_mean, in_order, is_flag
from promptuary.hooks.flags import of_hook

DONE, NOT_ALL, WRONG_USAGE = 0, 1, 2
INTERRUPTED = 130
UNREAD = 141
"""The reader closed the pipe early: the exit code that shells report for SIGPIPE."""


def run() -> None:
    """Run the program and exit: the entry point of the ``promptuary`` script."""
    # A command creates many long-lived objects at its start and few cycles, so frequent collections waste time.
    gc.set_threshold(50_000, 20, 50)
    _outlive_readers()
    try:
        code = main()
    except KeyboardInterrupt:  # a second one, while the first was being handled
        code = INTERRUPTED
    if code == INTERRUPTED:
        import signal  # noqa: PLC0415  (1 ms)

        # It is ending already: another Ctrl-C, in the middle of that, would end it as a crash.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    _flush_streams()
    if _may_exit_at_once():
        # Finalising the interpreter and unloading libraries takes longer than many commands.
        atexit._run_exitfuncs()  # noqa: SLF001  (the interpreter would call this now)
        _flush_streams()
        os._exit(code)
    sys.exit(code)


def _may_exit_at_once() -> bool:
    """Return whether no foreign code must run at exit: no plug-in, no thread, no profiler."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    watched = bool(sys.gettrace() or sys.getprofile() or any(tools))
    others = [one for one in threading.enumerate() if not one.daemon and not one.name.startswith("promptuary-")]
    return not watched and "promptuary.plugins" not in sys.modules and others == [threading.main_thread()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    _prepare_streams()
    given = sys.argv[1:] if arguments is None else arguments
    if (of_agent := of_hook(given)) is not None:
        # A hook parses its own arguments: an exit code of argparse would block the agent that started it.
        hook = importlib.import_module("promptuary.cli.agents.hook")
        code: int = hook.main(argparse.Namespace(arguments=of_agent))
        return code
    options = argparse.Namespace(debug=False)
    try:
        options = _parsed(given)
        code = _start(options)
        sys.stdout.flush()
    except SystemExit as stop:
        return _ended(stop)
    except PromptuaryError as error:
        return _failed(str(error), WRONG_USAGE, debug=options.debug)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Raised only for commands that stop when their reader is gone, see _Output.
        _flush_streams()
        return DONE if options.command == "watch" else UNREAD
    except OSError as error:
        return _failed(_sentence(error), NOT_ALL, debug=options.debug)
    except MemoryError:
        return _failed(shortage(errno.ENOMEM), NOT_ALL, debug=options.debug)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        return _failed(NO_THREADS, NOT_ALL, debug=options.debug)
    except ImportError as error:
        # The loader reports a lack of memory in words only.
        if "failed to map" not in str(error) and "cannot allocate" not in str(error):
            raise
        return _failed(shortage(errno.ENOMEM), NOT_ALL, debug=options.debug)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Flags may stand before, between and after words; after ``--`` everything is a word."""
    given = list(arguments)
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    if given and given[0].startswith("-") and given[0] not in {"-h", "--help", "--help-all", "--version"}:
        given = in_order(make_parser(), given)
    _refuse_old(given)
    if given and not given[0].startswith("-") and given[0] not in (names := [one.name for one in COMMANDS]):
        advice = did_you_mean(given[0], names) or "; run promptuary --help for a list of commands"
        raise PromptuaryError(f"{given[0][:60]!r} is not a command{advice}")
    every_flag = "--help-all" in given
    given = ["--help" if one == "--help-all" else one for one in given] if every_flag else given
    end = given.index("--") if "--" in given else len(given)
    words_only = not any(one.startswith(("--", "-h")) for one in given[1:end])
    command, action = [*given, "", ""][:2]
    shows_help = not {"-h", "--help"}.isdisjoint(given[:end])
    parser = make_parser(Asked(command, action, words_only=words_only, shows_help=shows_help, every_flag=every_flag))
    of_command = bool(given) and not given[0].startswith("-")
    before, of_prompt = without_arguments(given[:end], parser)
    _refuse_old_flags(command, before, parser)
    options, others = parser.parse_known_args(in_order(parser, before) if of_command else before)
    options.of_prompt = of_prompt
    unknown = [one for one in others if is_flag(one)]
    words = [*others, *given[end + 1 :]]
    takes = next((name for name in ("text", "words") if hasattr(options, name)), None)
    if unknown and options.command is None and unknown[0].partition("=")[0] in flags_of(parser):
        parser.error(f"{unknown[0]} needs a command; run promptuary --help for a list of commands")
    if unknown or (words and takes is None):
        chosen = chosen_parser(parser, options)
        advice = did_you_mean(unknown[0].partition("=")[0], flags_of(chosen)) if unknown else ""
        if words and not unknown and hasattr(options, "thread"):
            advice = "; use --thread NAME for the thread"
        chosen.error(f"unrecognized arguments: {' '.join(unknown or words)}{advice}")
    if takes is not None:
        setattr(options, takes, [*getattr(options, takes), *words])
    return options


def without_arguments(given: Sequence[str], parser: argparse.ArgumentParser) -> tuple[Sequence[str], Sequence[str]]:
    """Return the command line without the arguments of the prompt that it names, and these: flags of no command."""
    if given[:1] != ["ask"] or not any(one.startswith(("-p", "--prompt")) for one in given):
        return given, ()
    known = set(flags_of(parser))
    own: list[str] = []
    others: list[str] = []
    rest = iter(given)
    for one in rest:
        name, equals, _ = one.partition("=")
        if not one.startswith("--") or not is_flag(one) or name in known:
            own.append(one)
        else:
            others += [one, *(value for value in [None if equals else next(rest, None)] if value is not None)]
    return own, others


def _refuse_old(given: Sequence[str]) -> None:
    """Raise ``PromptuaryError`` for a command of an earlier version, which names the present one."""
    words = [word for word in given if not is_flag(word)]
    for old in (" ".join(words[:2]), *words[:1]):
        if old in OLD_COMMANDS:
            raise PromptuaryError(f"promptuary {old} is now: promptuary {OLD_COMMANDS[old]}")


def _refuse_old_flags(command: str, given: Sequence[str], parser: argparse.ArgumentParser) -> None:
    """Raise ``PromptuaryError`` for a flag of an earlier version, whose value argparse would take for a word."""
    known = set(flags_of(parser))
    for old in (word.partition("=")[0] for word in given if word.startswith("--") and is_flag(word)):
        if old in known:
            continue
        if old == "--server":
            raise PromptuaryError(f"unrecognized arguments: --server; promptuary {command} works where the files are")
        from promptuary.config.settings import SETTINGS  # noqa: PLC0415  (only for mistakes)

        name = old.removeprefix("--no-").removeprefix("--").replace("-", "_")
        of_setting = f"--set {name}={'no' if old.startswith('--no-') else 'VALUE'}" if name in SETTINGS else ""
        if now := OLD_FLAGS.get(f"{command} {old}") or OLD_FLAGS.get(old) or of_setting:
            raise PromptuaryError(f"unrecognized arguments: {old}; it is now: {now}")


def _start(options: argparse.Namespace) -> int:
    if options.command is None:
        print(overview(), file=sys.stderr)
        return WRONG_USAGE
    if sys.stdout is None:
        raise PromptuaryError("standard output is closed")
    if options.command == "search" and not options.lexical and options.server is None:
        importlib.import_module("promptuary.search.preload").begin(options.workspace or os.curdir)
    # If the reader of an answer is gone, stop the request, because its tokens cost money.
    streams = options.command == "ask" and not options.json
    _Output.is_endless = streams or options.command == "watch"
    code: int = getattr(importlib.import_module(options.module), options.function)(options)
    return code


class _Output(io.FileIO):
    """A stream that discards output after its reader has closed the pipe.

    The command continues its work and ends with its usual exit code. A command that would run on forever
    (``is_endless``) gets a ``BrokenPipeError`` instead.
    """

    is_endless = False

    _unreported = b""
    """Bytes that were written before Ctrl-C interrupted the call; the buffer does not know, and passes them again."""

    def write(self, data: Any, /) -> int:
        """Write, or discard the data if the reader is gone."""
        unreported, self._unreported = self._unreported, b""
        if unreported and bytes(data[: len(unreported)]) == unreported:
            return len(unreported)
        count: list[int] = []
        try:
            # Writes and stores the count in one C call, which Ctrl-C cannot interrupt in the middle.
            count.extend(map(super().write, (data,)))
        except BrokenPipeError:
            if _Output.is_endless:
                raise
            return len(data)
        except KeyboardInterrupt:
            self._unreported = bytes(data[: sum(count)])
            raise
        return count[0]


def _outlive_readers() -> None:
    """Let standard output and standard error survive a closed pipe, unless they are a terminal."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not stream.isatty():
            raw = io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False))
            setattr(sys, name, io.TextIOWrapper(raw, encoding="utf-8", line_buffering=name == "stderr"))


def _prepare_streams() -> None:
    """Encode output as UTF-8 everywhere, and replace what cannot be encoded."""
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
    """Print the error, if standard error is open, and return ``code``."""
    with suppress(OSError):
        if debug:
            import traceback  # noqa: PLC0415  (rarely needed)

            traceback.print_exc()
        from promptuary.cli.terminal import in_style  # noqa: PLC0415  (rarely needed)

        print(f"{in_style('promptuary:', 'red', sys.stderr)} {one_line(sentence)}", file=sys.stderr)
    _flush_streams()
    return code


def _sentence(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename is not None else ""
    return shortage(error.errno) or f"{error.strerror or error}{where}"


def _flush_streams() -> None:
    """Flush the streams. A broken one is redirected to the null device, so that the flush at exit is silent too."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

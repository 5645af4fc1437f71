"""Functions that the commands share: read the text, open the workspace with flags as settings, print JSON."""

import argparse
import gc
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct, to_builtins

from promptuary.base.errors import ConfigError, PromptuaryError, SourceError
from promptuary.base.text import is_unicode, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.flags import SETTING_FLAGS
from promptuary.config.settings import SETTINGS, Settings, check_setting, find_workspace, load
from promptuary.config.values import cut

_COLLECT = (700, 10, 10)
"""The interpreter's default: short commands collect garbage rarely, which a long-running process cannot."""
_OPTION = re.compile(r"^option (\w+)")


def message(options: argparse.Namespace, *, kept: bool = False) -> str:
    """Return the text of the command line, or standard input if it is ``-`` or missing.

    ``kept`` says that the text will be stored. Raises ``PromptuaryError`` if a text to be stored is not UTF-8, and if
    the text is missing and standard input is a terminal.
    """
    if options.text and options.text != ["-"]:
        text = " ".join(options.text)
        if kept and not is_unicode(text):
            raise PromptuaryError("the text is not valid UTF-8; convert it first")
        return text
    if not options.text and sys.stdin is not None and sys.stdin.isatty():
        raise PromptuaryError("no text given; pass it as an argument or pipe it to stdin")
    data = standard_input()
    try:
        return data.decode("utf-8", "strict" if kept else "replace")
    except UnicodeDecodeError as error:
        raise PromptuaryError("standard input is not valid UTF-8; convert it first") from error


def standard_input() -> bytes:
    """Return all of standard input. Raises ``PromptuaryError`` if it is closed."""
    if sys.stdin is None:
        raise PromptuaryError("standard input is closed; pass the text as an argument")
    data: bytes | None = sys.stdin.buffer.read()
    return data or b""


class _Facade(Protocol):
    """The synchronous or asynchronous facade."""

    @property
    def settings(self) -> Settings: ...


Facade = TypeVar("Facade", bound=_Facade)


def open_workspace(options: argparse.Namespace) -> Promptuary:
    """Open the workspace with the flags as settings, and print the notes on the settings.

    A command that has ``--server`` opens that at the server that it names or, unless a folder is named, that of the
    person's configuration. Raises ``ConfigError`` with the name of the invalid flag.
    """
    server = getattr(options, "server", "none")
    if server not in {None, "none"}:
        settings = load(find_workspace(Path.cwd())[0])
        return _open_at_server(server, settings, options)
    promptuary = open_with(Promptuary.open, options)
    configured = promptuary.settings.server
    if server == "none" or configured in {"", "none"} or options.workspace is not None:
        return promptuary
    promptuary.close()
    return _open_at_server(configured, promptuary.settings, options)


def _open_at_server(url: str, settings: Settings, options: argparse.Namespace) -> Promptuary:
    from promptuary.cli.at_server import connect  # noqa: PLC0415  (most commands have no server)

    _set_up_logging(debug=options.debug)
    return connect(url, options, given_settings(options), settings.allow_hosts)


def open_with(open_: Callable[..., Facade], options: argparse.Namespace, *, counting: bool = True) -> Facade:
    """Open the workspace with ``open_``, and print its notes; without ``counting``, omit those on token counting."""
    _set_up_logging(debug=options.debug)
    named = _named_workspace(options) is not None
    given = given_settings(options)
    try:
        promptuary = open_(options.workspace if named else ".", exact=named, current_folder=current_folder(), **given)
    except ConfigError as error:
        raise name_flags(error, options) from error
    if not options.quiet:
        settings = promptuary.settings
        for note in settings.warnings:
            if counting or note not in settings.counting_notes:
                print(f"note: {note}", file=sys.stderr)
    return promptuary


def _named_workspace(options: argparse.Namespace) -> str | None:
    named: str | None = options.workspace
    if named is not None and not (named and Path(named).is_dir()):
        raise ConfigError(f"--workspace {named} is not a folder")
    return named


def workspace_folder(options: argparse.Namespace) -> Path:
    """Return the workspace without opening it: the named one, else the nearest from the current folder upwards."""
    named = _named_workspace(options)
    return Path(named) if named is not None else find_workspace(Path.cwd())[0]


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given: by ``--set NAME=VALUE``, and by flags, which win.

    Raises ``ConfigError`` for a name that is not a setting; the values are checked when the settings are loaded.
    """
    given: dict[str, Any] = {}
    for typed in options.set or ():
        written, equals, value = typed.partition("=")
        name = check_setting(written.strip(), f"--set {cut(written)}") if equals else ""
        if not name:
            raise ConfigError(f"--set takes NAME=VALUE, not {cut(typed)!r}")
        # A list may be given piece by piece.
        given[name] = f"{given[name]},{value}" if name in given and isinstance(SETTINGS[name], tuple) else value
    flags = {name: getattr(options, name, None) for name in SETTING_FLAGS}
    return given | {name: value for name, value in flags.items() if value is not None}


def name_flags(error: ConfigError, options: argparse.Namespace) -> ConfigError:
    """Return an error about a setting with the flag that gave it."""

    def flag(option: re.Match[str]) -> str:
        name = option[1]
        is_flag = getattr(options, name, None) is not None
        return SETTING_FLAGS[name][0] if is_flag and name in SETTING_FLAGS else f"--set {name}"

    return ConfigError(_OPTION.sub(flag, str(error)))


def _set_up_logging(*, debug: bool) -> None:
    """Log to standard error with ``--debug``, else nowhere, unless the caller has installed handlers."""
    if debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    elif not logging.root.handlers:
        # Without a handler, logging prints warnings.
        logging.root.addHandler(logging.NullHandler())


def collect_again() -> None:
    """Collect garbage as the interpreter does, but not among imported objects: those stay."""
    gc.freeze()
    gc.set_threshold(*_COLLECT)


def current_folder() -> Path | None:
    """Return the current folder as the shell spells it; ``None`` if it does not exist any more."""
    try:
        real, spelled = Path.cwd(), Path(os.environ.get("PWD", ""))
        return spelled if spelled.is_absolute() and spelled.samefile(real) else real
    except OSError:
        return None


def copy_text(promptuary: Promptuary, rendered: object, options: argparse.Namespace) -> bool:
    """Copy a text, or another value as JSON, to the clipboard and report it; return whether that succeeded."""
    import json  # noqa: PLC0415  (most output is text)

    text = rendered if isinstance(rendered, str) else json.dumps(rendered, ensure_ascii=False, indent=2)
    try:
        promptuary.copy(text)
    except SourceError as error:
        print(f"promptuary: cannot copy: {error.reason}", file=sys.stderr)
        return False
    if not options.quiet:
        print(f"copied {len(text):,} characters to the clipboard", file=sys.stderr)
    return True


def print_new_notes(promptuary: Promptuary, options: argparse.Namespace) -> None:
    """Print the notes that were added after the workspace was opened."""
    if not options.quiet:
        for note in promptuary.notes[len(promptuary.settings.warnings) :]:
            print(f"note: {one_line(note)}", file=sys.stderr)


def can_ask() -> bool:
    """Return whether there is a terminal at which a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, options: argparse.Namespace) -> bool:
    """Return whether the person confirms: by ``--yes``, or by an answer at a terminal; without a terminal, no."""
    return options.yes or agrees(question)


def agrees(question: str) -> bool:
    """Return whether the person answers yes at a terminal; without a terminal, no."""
    return can_ask() and ask(f"{question} [y/N]") in {"y", "yes"}


def ask(question: str) -> str:
    """Return what the person answers at the terminal, in lower case."""
    import termios  # noqa: PLC0415  (few commands ask)

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before the question does not answer it
    print(f"{one_line(question)} ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower()


def print_json(value: Mapping[str, object] | Struct) -> None:
    """Print an object as JSON, so that every answer may get more fields. On a terminal, only ASCII is printed."""
    print_rendered(value)


def print_rendered(value: object) -> None:
    """Print what a provider takes, which may be a list. On a terminal, non-ASCII characters are escaped."""
    import json  # noqa: PLC0415  (most output is text)

    json.dump(to_builtins(value), sys.stdout, ensure_ascii=sys.stdout.isatty(), indent=2)
    print()


def print_json_line(value: object) -> None:
    """Print ``value`` as one line of JSON, and flush."""
    import json  # noqa: PLC0415  (most output is text)

    print(json.dumps(to_builtins(value), ensure_ascii=sys.stdout.isatty()), flush=True)

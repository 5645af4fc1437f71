"""Starts a chat: the only module here that others import. It reports what is missing before it opens anything."""

import asyncio
import sys
import termios
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from promptuary.base.errors import PromptuaryError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptuary.chat.prompt.any_prompt import AnyPrompt
    from promptuary.engine import Promptuary


def start(
    opened: "Callable[[], Promptuary]", *, thread: str, tools: bool, max_requests: int, may_write: bool, quiet: bool
) -> None:
    """Run a chat at the terminal until the person leaves."""
    from promptuary.chat.chat import Chat  # noqa: PLC0415  (other commands start without them)
    from promptuary.chat.options import ChatOptions  # noqa: PLC0415
    from promptuary.chat.terminal import Terminal, is_dumb  # noqa: PLC0415

    prompt_of = _line_prompt() if is_dumb() else _full_prompt()
    options = ChatOptions(thread, tools=tools, max_requests=max_requests, may_write=may_write, quiet=quiet)

    async def talk() -> None:
        async with opened() as p:
            await Chat(p, options, prompt=prompt_of(p), terminal=Terminal()).run()

    with nullcontext() if is_dumb() else _without_echo(), suppress(asyncio.CancelledError):
        asyncio.run(talk())  # cancelled when the terminal is gone, or on a signal to terminate


def _line_prompt() -> "Callable[[Promptuary], AnyPrompt]":
    from promptuary.chat.prompt.line_prompt import LinePrompt  # noqa: PLC0415  (few terminals need it)

    return LinePrompt


def _full_prompt() -> "Callable[[Promptuary], AnyPrompt]":
    try:
        from promptuary.chat.prompt.menu_prompt import MenuPrompt  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"prompt_toolkit", "rich"}:
            raise
        raise PromptuaryError(f"The chat needs the 'chat' extra: {how_to_install('chat')}") from error
    return MenuPrompt


@contextmanager
def _without_echo() -> "Iterator[None]":
    """Turn off the terminal's echo and line editing: what is typed while an answer arrives waits for the next prompt.

    Otherwise Enter would be a new line there, and Ctrl-D would be lost. Ctrl-C still interrupts, and discards nothing.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    quiet = list(before)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    quiet[3] |= termios.NOFLSH
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

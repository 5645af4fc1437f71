"""Calls the tools that a model asks for. Every failure becomes a result for the model, and never an exception."""

import asyncio
import inspect
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.base.text import one_line, valid_unicode
from promptuary.models.json_answers import mismatch
from promptuary.threads.run_values import CallEnded, Confirm, Tool

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

_LONGEST_ID: Final = 64
_LONGEST_NAME: Final = 128
_LONGEST_ARGUMENTS: Final = 1_000_000
_LETTERS: Final = 6
"""The characters of a result that are kept for each token of the window: more can never fit."""
_NOT_ASKED: Final = "refused: this tool writes, and the person cannot be asked here"
_NOT_AGREED: Final = "refused: the person has not agreed to this tool, and cannot be asked here"
_DECLINED: Final = "refused: the person declined this call"


class _RefusedError(Exception):
    """A call that is not made; the message is the result for the model."""


class Toolbox:
    """The tools of one run, by name. ``confirm`` asks the person before a tool that writes is called."""

    def __init__(self, tools: Sequence[Tool], confirm: Confirm | None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) < len(tools):
            twice = next(name for name, count in Counter(tool.name for tool in tools).items() if count > 1)
            raise ConfigError(f"two tools are called {twice!r}; a model could not tell them apart")
        self._confirm = confirm
        self._ids: set[str] = set()

    def with_unique_id(self, call: ToolCall) -> ToolCall:
        """Return ``call`` with an id that is unique in the run: some services restart their ids in each answer."""
        plain = "".join(letter for letter in call.id if letter.isalnum() or letter in "_-")[:_LONGEST_ID] or "call"
        name, number = plain, 1
        while name in self._ids:
            number += 1
            name = f"{plain}-{number}"
        self._ids.add(name)
        return replace(call, id=name, name=one_line(call.name)[:_LONGEST_NAME])

    async def call(self, call: ToolCall, *, most: int) -> CallEnded:
        """Make a call and return its result; ``most`` is the size of the window in tokens, which no result exceeds."""
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return CallEnded(call, f"there is no tool {call.name!r}; there is {known}", is_error=True)
        try:
            given = _arguments(call, tool)
            if tool.writes:
                await self._check_consent(call, tool)
            said: object = await _limited(_result(tool.call, given), tool.timeout)
        except _RefusedError as refused:
            return CallEnded(call, str(refused), is_error=True)
        except TimeoutError:
            return CallEnded(call, f"failed: no result within {tool.timeout:g} seconds", is_error=True)
        except PromptuaryError as error:
            return CallEnded(call, _bounded(f"failed: {error}", most), is_error=True)
        except Exception as error:
            # The text of an unknown error may reveal anything about this machine; it is only logged.
            logger.exception("the tool %s failed", one_line(call.name))
            return CallEnded(call, f"failed: {type(error).__name__}", is_error=True)
        return CallEnded(call, _bounded(said if isinstance(said, str) else _as_text(said), most))

    async def _check_consent(self, call: ToolCall, tool: Tool) -> None:
        if tool.consent is not None and await concurrency.run(tool.consent.is_given):
            return
        if self._confirm is None:
            raise _RefusedError(_NOT_ASKED if tool.consent is None else _NOT_AGREED)
        if not await _result(self._confirm, call):
            raise _RefusedError(_DECLINED)


async def _result(function: Callable[[Any], Result | Awaitable[Result]], given: object) -> Result:
    """Return what ``function`` returns: called on the loop if it is a coroutine function, else in a thread."""
    if inspect.iscoroutinefunction(function):
        made: Result | Awaitable[Result] = function(given)
    else:
        made = await concurrency.run(lambda: function(given))
    if isinstance(made, Awaitable):
        return await made
    return made


async def _limited(work: Awaitable[object], seconds: float) -> object:
    async with asyncio.timeout(seconds):
        return await work


def _arguments(call: ToolCall, tool: Tool) -> Mapping[str, Any]:
    if len(call.arguments) > _LONGEST_ARGUMENTS:
        raise _RefusedError("the arguments are too long")
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"the arguments are not JSON ({one_line(str(error))[:80]}); call it again") from None
    if not isinstance(given, dict):
        raise _RefusedError("the arguments are not an object; call it again with one")
    try:
        problem = mismatch(given, tool.spec.parameters, "the object of arguments")
    except Exception:  # noqa: BLE001  (a schema with features that we do not check: the tool checks them)
        problem = ""
    if problem:
        raise _RefusedError(f"{problem}; call it again")
    return given


def _as_text(said: object) -> str:
    """Return a result that is not a string as text: as JSON, if possible."""
    try:
        return json.dumps(said, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(said)


def _bounded(text: str, window: int) -> str:
    text, most = valid_unicode(text), max(window * _LETTERS, 1000)
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut here: {len(text) - most:,} characters more]"

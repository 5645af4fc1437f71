"""The menus of the prompt: ``/`` for commands, ``@`` and ``#`` for references, with hints that are filled in later.

All access to files runs in threads of the library; the menu shows what is known, and fills up.
"""

import asyncio
import re
import shlex
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples

from promptuary.base.references import Completion as Menu
from promptuary.base.references import MenuItem
from promptuary.base.text import one_line
from promptuary.commands.parsing import Choice, choices
from promptuary.commands.prompts import prompt_choices
from promptuary.prompts.values import NamedPrompt

ROWS: Final = 12
PAUSE: Final = 0.1
"""Seconds without a key before files are measured, and between two updates of the shown hints."""
_TAKES_PATHS: Final = ("/context add ", "/context drop ", "/context pin ", "/context unpin ")
_NAMED: Final = re.compile(r"\s*/(thread|model) +([^\n]*)")
_LABEL: Final = 60


class Completes(Protocol):
    """What the menus need from the facade."""

    async def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, hints: bool = True) -> Menu:
        """Return the menu at the end of ``text``; without ``hints``, no file is read for it."""
        ...

    async def hint(self, item: MenuItem) -> str: ...


class Hints:
    """The hints of rows: files are measured when the person stops typing, and several hints are drawn at once."""

    def __init__(
        self, measure: Callable[[MenuItem], Awaitable[str]], changed: Callable[[], object], *, pause: float = PAUSE
    ) -> None:
        self._measure, self._changed, self._pause = measure, changed, pause
        self._known: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    def of(self, item: MenuItem) -> str:
        """Return the hint of a row, as far as it is known."""
        return item.hint or self._known.get(item.path, "")

    def want(self, items: Sequence[MenuItem]) -> None:
        """Measure the rows of this menu, and stop measuring those of the previous one."""
        self.close()
        missing = [item for item in items if item.path and not self.of(item)]
        if missing:
            self._task = asyncio.ensure_future(self._fill(missing))

    def close(self) -> None:
        """Stop measuring."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def forget(self) -> None:
        """Drop what was measured: files change."""
        self._known.clear()

    async def _fill(self, items: Sequence[MenuItem]) -> None:
        await asyncio.sleep(self._pause)
        shown = time.monotonic()
        for item in items:
            self._known[item.path] = await self._measure(item)
            if time.monotonic() - shown > self._pause:
                self._changed()
                shown = time.monotonic()
        self._changed()


class ChatCompleter(Completer):
    """Completes the text before the cursor.

    ``scanning`` is called while the workspace is still being listed, so that the menu can be requested again.
    ``names`` returns what can follow a command that takes a name, such as ``thread``, and ``prompts`` the prompts.
    """

    def __init__(
        self,
        source: Completes,
        allowed: frozenset[str],
        hints: Hints,
        scanning: Callable[[], object] = lambda: None,
        names: Callable[[str], Awaitable[Sequence[str]]] | None = None,
        *,
        prompts: Callable[[], Awaitable[Sequence[NamedPrompt]]] | None = None,
    ) -> None:
        self._source, self._allowed, self._hints, self._scanning = source, allowed, hints, scanning
        self._names, self._prompts = names, prompts

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return nothing: the asynchronous method does the work."""
        del document, complete_event
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the rows of the menu."""
        del complete_event
        text = document.text_before_cursor
        if text.lstrip().startswith("/"):
            for choice in choices(text, self._allowed):
                yield _row_of_choice(choice, text)
            if self._names is not None and (named := _NAMED.fullmatch(text)) and named[1] in self._allowed:
                for name in await self._names(named[1]):
                    if named[2].lower() in name.lower():
                        yield Completion(name, -len(named[2]), display=one_line(name))
                return
            if self._prompts is not None:
                for choice in prompt_choices(text, await self._prompts()):
                    yield _row_of_choice(choice, text)
        path = path_being_typed(text)
        typed = text if path is None else f"@file:{path}"
        if path is None and not may_refer(text):
            return
        menu = await self._source.complete(typed, limit=ROWS, timeout=0.0, hints=False)
        self._hints.want(menu.items)
        for item in menu.items:
            yield self._row(item, menu.start - len(text) if path is None else -len(path), plain=path is not None)
        if menu.scanning:
            self._scanning()

    def _row(self, item: MenuItem, start: int, *, plain: bool) -> Completion:
        text = shlex.quote(item.path) if plain and item.path else item.insert
        return Completion(text, start, display=_label(item), display_meta=lambda: one_line(self._hints.of(item)))


def may_refer(text: str) -> bool:
    """Return whether ``text`` can end with a reference: for most keys, the workspace need not be searched."""
    line = text[text.rfind("\n") + 1 :]
    return "@" in line or "#" in line or "[[" in line


def path_being_typed(text: str) -> str | None:
    """Return the partly typed path at the end of a command that takes paths; else ``None``."""
    bare = text.lstrip()
    if not bare.startswith(_TAKES_PATHS) or "\n" in bare:
        return None
    word = bare.rsplit(" ", 1)[1]
    return None if word.startswith(("@", "#")) else word


def _row_of_choice(choice: Choice, text: str) -> Completion:
    return Completion(choice.text, choice.start - len(text), display=choice.text, display_meta=choice.meaning)


def _label(item: MenuItem) -> StyleAndTextTuples:
    """Return the label with the matching letters highlighted."""
    label, matches = one_line(item.label), set(item.matches)
    if len(label) != len(item.label):
        matches = set()
    if len(label) > _LABEL:
        cut = len(label) - _LABEL
        label, matches = f"…{label[cut:]}", {place - cut + 1 for place in matches if place >= cut}
    return [("class:match" if place in matches else "", char) for place, char in enumerate(label)]

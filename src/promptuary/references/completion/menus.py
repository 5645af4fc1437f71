"""The ``@``, ``#`` and ``[[`` menus of one principal, and what else is asked while somebody types."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from promptuary.references.completion.menu import ResourceLine
from promptuary.references.completion.sources import Completer
from promptuary.tokens import counting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.app import App
    from promptuary.base.references import Completion, MenuItem
    from promptuary.references.completion.menu import NoteLine

_FIND_TIMEOUT: Final = 10.0


class Menus:
    """The menus of one principal."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._completers: dict[bool, Completer] = {}

    def complete(
        self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False, hints: bool = True
    ) -> Completion:
        """Return what the menus offer at the end of ``text``; without ``hints``, no file is read."""
        return self._completer(ignored=ignored).complete(text, limit=limit, timeout=timeout, hints=hints)

    def hint(self, item: MenuItem) -> str:
        """Return the hint of a row of a menu."""
        return self._completer().hint(item)

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first."""
        menu = self.complete(f'@file:"{words}', limit=limit, timeout=_FIND_TIMEOUT)
        return [item.path for item in menu.items]

    def warm_up(self) -> None:
        """Load what counting and completing messages needs, and start listing the files."""
        counting.load(self._app.settings.effective_vocabulary)
        self.complete("@", hints=False)

    def _completer(self, *, ignored: bool = False) -> Completer:
        completer = self._completers.get(ignored)
        if completer is None:
            servers = self._app.tool_servers
            listed = {name: partial(self._resources, name) for name in servers.names} if servers is not None else None
            completer = Completer(
                self._app.workspace, self._app.counter, ignored=ignored, notes=self._notes, servers=listed
            )
            self._completers[ignored] = completer
        return completer

    def _resources(self, server: str) -> Sequence[ResourceLine]:
        found = self._app.tool_servers.resources(server) if self._app.tool_servers is not None else ()
        return [ResourceLine(one.uri, one.name) for one in found]

    def _notes(self) -> Sequence[NoteLine]:
        return self._app.mentions.offered()

"""The composition root: puts settings, the workspace, the counter and the kinds of references together.

Everything a surface (command line, chat, server) may ask for is a method of ``Promptuary``.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from promptuary import background
from promptuary.config import Settings, find_workspace, load
from promptuary.core.expansion import Expansion
from promptuary.references.completer import Completer
from promptuary.references.desk import Desk
from promptuary.references.expand import Limits, expand
from promptuary.references.kinds import KINDS
from promptuary.references.menu import Completion, Item
from promptuary.tokens import Counter
from promptuary.workspace.door import Workspace, open_workspace
from promptuary.workspace.fetch import FetchPolicy
from promptuary.workspace.policy import ReadPolicy

__all__ = ["Completion", "Item", "Promptuary"]


class Promptuary:
    """A workspace with everything that can be done in it.

    ```python
    async with Promptuary.open(".", window=128_000) as promptuary:
        expansion = await promptuary.expand("Review @file:src/app.py:10-50 against @diff")
        expansion.messages  # ready for any chat API
    ```
    """

    def __init__(self, workspace: Workspace, settings: Settings) -> None:
        self.settings = settings
        self._workspace = workspace
        self._counter = Counter(settings.effective_vocabulary)
        self._completer: Completer | None = None

    @classmethod
    def open(cls, path: str | Path = ".", *, exact: bool = False, **options: Any) -> Self:
        """Open the workspace that ``path`` lies in (``exact``: ``path`` itself); ``options`` are settings by name."""
        folder = Path(path) if exact else find_workspace(Path(path))
        settings = load(folder, options)
        return cls(_opened(folder, settings), settings)

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._workspace.root.path

    async def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at; ``pasted`` marks spans that are not looked into."""
        return await background.run(lambda: self._expand(text, pasted))

    def _expand(self, text: str, pasted: Sequence[tuple[int, int]]) -> Expansion:
        window = self.settings.effective_window
        limits = Limits(
            window=window,
            warn_at=int(window * self.settings.warn_share),
            limit=int(window * self.settings.limit_share),
            timeout=self.settings.timeout,
        )
        with self._workspace.visit() as visit:
            expansion = expand(text, Desk(visit, self._counter), KINDS, limits, pasted=pasted)
        self._workspace.usage.record(expansion.named)
        return expansion

    async def complete(self, text: str, *, limit: int = 20, patience: float = 0.0) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``.

        The listing of the workspace grows in the background; ``patience`` is how many seconds a first answer may
        wait for it.
        """
        if self._completer is None:
            self._completer = Completer(self._workspace, self._counter, patience=patience)
        completer = self._completer
        return await background.run(lambda: completer.complete(text, limit=limit))

    async def close(self) -> None:
        """Let go of the workspace."""
        self._workspace.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _opened(folder: Path, settings: Settings) -> Workspace:
    extensions = {
        one if one.startswith((".", "*")) else f".{one}" for one in map(str.lower, settings.allowed_extensions)
    }
    policy = ReadPolicy(
        max_bytes=settings.max_file_size,
        also=frozenset(extensions),
        allow_sensitive=frozenset(settings.allow_sensitive),
    )
    fetching = FetchPolicy(
        allow_hosts=frozenset(host.lower() for host in settings.allow_hosts), deadline=settings.fetch_timeout
    )
    return open_workspace(folder, policy, fetching, follow_symlinks=settings.follow_symlinks)

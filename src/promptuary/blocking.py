"""``Promptuary`` without ``async``: the same methods, which return when they are done."""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from promptuary import engine
from promptuary.config import Settings
from promptuary.core.expansion import Expansion
from promptuary.engine import Completion

__all__ = ["Promptuary"]

Result = TypeVar("Result")


class Promptuary:
    """See ``promptuary.Promptuary``. Not for use inside a running event loop: use the asynchronous one there."""

    def __init__(self, inner: engine.Promptuary) -> None:
        self._inner = inner
        self._runner = asyncio.Runner()

    @classmethod
    def open(cls, path: str | Path = ".", *, exact: bool = False, **options: Any) -> Self:
        """Open the workspace that ``path`` lies in; ``options`` are settings by name."""
        return cls(engine.Promptuary.open(path, exact=exact, **options))

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._inner.path

    @property
    def settings(self) -> Settings:
        """The settings that hold."""
        return self._inner.settings

    def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at."""
        return self._run(self._inner.expand(text, pasted=pasted))

    def complete(self, text: str, *, limit: int = 20, patience: float = 0.0) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``."""
        return self._run(self._inner.complete(text, limit=limit, patience=patience))

    def close(self) -> None:
        """Let go of the workspace."""
        self._run(self._inner.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(work)

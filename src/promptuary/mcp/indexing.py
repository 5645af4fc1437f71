"""Indexes a workspace before it is first searched, and reports how far that is."""

import threading
from collections.abc import Callable
from typing import Final

from promptuary.core.errors import PromptuaryError
from promptuary.core.text import counted
from promptuary.engine import Promptuary
from promptuary.mcp.folders import is_wide

Report = Callable[[int, int, str], None]
"""Called with how much is done, of how much, and what is done; from any thread."""

_MOST_FILES: Final = 50_000


async def indexed(workspace: Promptuary, report: Report, stopped: threading.Event) -> list[str]:
    """Index all of a workspace if nothing of it is indexed yet; return what there is to say about that."""
    if (await workspace.search.status()).folders:
        return []
    if is_wide(workspace.path):
        raise PromptuaryError("nothing is indexed, and the workspace contains a home folder; run promptuary index")

    def progress(done: int, total: int) -> None:
        if stopped.is_set():
            raise PromptuaryError("the client gave up the call; what was indexed so far is kept")
        if total > _MOST_FILES:
            raise PromptuaryError(f"the workspace has {total:,} files; index what is wanted of it: promptuary index")
        report(done, total, "indexing")

    synced = await workspace.search.index([workspace.path], progress=progress)
    return [f"the workspace was indexed first: {counted(synced.added, 'file')}"]

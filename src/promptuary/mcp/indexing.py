"""Indexes a workspace before its first search, and reports the progress."""

import threading
from collections.abc import Callable
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import counted
from promptuary.engine import Promptuary
from promptuary.mcp.folders import is_wide

Report = Callable[[int, int, str], None]
"""Called with the amount done, the total, and a description; from any thread."""

_MOST_FILES: Final = 50_000


async def indexed(workspace: Promptuary, report: Report, stopped: threading.Event) -> list[str]:
    """Index a whole workspace if nothing in it is indexed yet; return sentences about that."""
    if (await workspace.search.status()).folders:
        return []
    if is_wide(workspace.path):
        raise PromptuaryError("nothing is indexed, and the workspace contains a home folder; run promptuary index")

    def progress(done: int, total: int) -> None:
        if stopped.is_set():
            raise PromptuaryError("the client cancelled the call; the files that were indexed so far stay indexed")
        if total > _MOST_FILES:
            raise PromptuaryError(f"the workspace has {total:,} files; index only what you need: promptuary index")
        report(done, total, "indexing")

    synced = await workspace.search.index([workspace.path], progress=progress)
    return [f"the workspace was indexed first: {counted(synced.added, 'file')}"]

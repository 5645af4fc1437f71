"""Answers hooks of coding agents while a server runs: its workspace is open, and a hook would have to open it.

Hooks are the person's own, who runs the server: they act as that person, with their notes, whomever it serves besides.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.hooks.agents import AGENTS, PLACES
from promptuary.hooks.answers import HookAnswers
from promptuary.workspace.programs.agents.sockets import LocalSocket, frame, frame_length, peer_is_own

logger = logging.getLogger(__name__)

_HEAD: Final = 4
_READ_SECONDS: Final = 2.0
_MAX_AT_ONCE: Final = 16


class HookServer:
    """Answers the hooks of one workspace, which it opens on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: tuple[Promptuary, HookAnswers] | None = None
        self._lock = asyncio.Lock()
        self._places = asyncio.Semaphore(_MAX_AT_ONCE)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one question, and hang up."""
        try:
            async with self._places:
                if not peer_is_own(writer.get_extra_info("socket")):
                    return
                async with asyncio.timeout(_READ_SECONDS):
                    length = frame_length(await reader.readexactly(_HEAD))
                    question = json.loads(await reader.readexactly(length))
                writer.write(frame(await self._answer(question)))
                await writer.drain()
        except (OSError, ValueError, TimeoutError, EOFError, RecursionError) as error:
            logger.debug("a hook was not answered: %s", error)
        finally:
            with suppress(OSError):
                writer.close()
                await writer.wait_closed()

    async def _answer(self, question: Any) -> dict[str, Any]:
        agent = AGENTS.get(question["agent"]) if isinstance(question, dict) else None
        told = question.get("told") if agent else None
        if agent is None or not isinstance(told, dict) or question.get("when") not in PLACES:
            return _error("this is not a question of a hook")
        try:
            answers = await self._answers()
            folder, exact = str(told.get("cwd", "")), question.get("exact") is True
            if not await concurrency.run(lambda: answers.is_of(folder, exact=exact)):
                return _error("another workspace")
            return {"context": await concurrency.run(lambda: answers.answer(agent, question["when"], told))}
        except PromptuaryError as error:
            return _error(str(error))
        except Exception:  # the outermost loop: one hook must not end the server
            logger.exception("a hook failed")
            return _error("failed")

    async def _answers(self) -> HookAnswers:
        async with self._lock:
            if self._opened is None:
                workspace = await concurrency.run(lambda: Promptuary.open(self._folder, exact=True))
                self._opened = (workspace, HookAnswers(workspace))
            return self._opened[1]

    async def close(self) -> None:
        if self._opened is not None:
            opened = self._opened[0]
            await concurrency.run(opened.close)


def _error(sentence: str) -> dict[str, Any]:
    return {"error": sentence}


@asynccontextmanager
async def serve_hooks(folders: Iterable[Path]) -> AsyncIterator[None]:
    """Answer hooks about the folders of a server while the block runs."""
    listening: list[tuple[Any, asyncio.Server, HookServer]] = []
    for folder in folders:
        try:
            local = await concurrency.run(lambda folder=folder: LocalSocket(folder))  # type: ignore[misc]
        except OSError as error:
            logger.warning("hooks cannot ask this server: no socket for them (%s)", error.strerror or error)
            continue
        server = HookServer(folder)
        listening.append((local, await asyncio.start_unix_server(server.serve, sock=local.socket), server))
    try:
        yield
    finally:
        for local, sockets, server in listening:
            sockets.close()
            local.close()
            await server.close()

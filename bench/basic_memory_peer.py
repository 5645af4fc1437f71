"""The jobs of ``bench.memory`` done with ``basic-memory``: take over a folder of notes, search them, write one.

It is run by a Python that has ``basic-memory`` and not Promptuary, with ``HOME`` set to a folder whose ``basic-memory``
has the notes; the questions come as JSON on its standard input, and the seconds that each job took go out as JSON.
Search is by words: what embeds is off, as it is on the other side.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

WRITES = 30


async def main() -> None:
    from basic_memory import db
    from basic_memory.config import ConfigManager
    from basic_memory.mcp.tools import search_notes, write_note
    from basic_memory.repository import ProjectRepository
    from basic_memory.services.initialization import reconcile_projects_with_config
    from basic_memory.sync.sync_service import get_sync_service
    from loguru import logger

    logger.remove()  # it logs every step
    asked: list[str] = json.load(sys.stdin)
    config: Any = ConfigManager().config
    began = time.perf_counter()
    await reconcile_projects_with_config(config)
    _, sessions = await db.get_or_create_db(db_path=config.database_path, db_type=db.DatabaseType.FILESYSTEM)
    for project in await ProjectRepository(sessions).get_active_projects():
        service = await get_sync_service(project)
        await service.sync(Path(project.path), project_name=project.name, force_full=True, sync_embeddings=False)
    taken: dict[str, list[float]] = {"taken over": [time.perf_counter() - began], "search": [], "write": []}
    await search_notes(query=asked[0], page_size=5, search_type="text")  # the first one opens what is needed
    for question in asked:
        began = time.perf_counter()
        await search_notes(query=question, page_size=5, search_type="text")
        taken["search"].append(time.perf_counter() - began)
    text = "Deploys happen on Thursdays, after the tests. " * 8
    for number in range(WRITES):
        began = time.perf_counter()
        await write_note(title=f"Deploys {number}", content=f"{number} {text}", directory="bench")
        taken["write"].append(time.perf_counter() - began)
    print(json.dumps(taken))


if __name__ == "__main__":
    asyncio.run(main())

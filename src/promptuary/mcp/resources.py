"""The resources that a client can read by URI: files, notes and sessions.

A resource that does not exist, may not be read, or belongs to somebody else gets the same answer.
"""

import json
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from promptuary.base.blocks import Detail
from promptuary.base.errors import PromptuaryError
from promptuary.base.references import format_reference
from promptuary.base.text import one_line
from promptuary.engine import Promptuary
from promptuary.mcp.client import Client
from promptuary.mcp.workspaces import UsableWorkspaces
from promptuary.present.sessions import session_report_json

_LOCALHOST: Final = "localhost/"
_MAX_URI: Final = 4_096
_MAX_LISTED: Final = 50


class NoResourceError(Exception):
    """There is nothing to read at this URI, for whatever reason."""


class Readable(NamedTuple):
    """The content at a URI."""

    text: str
    mime_type: str


class ListedResource(NamedTuple):
    uri: str
    name: str
    description: str
    mime_type: str


async def read(uri: str, workspaces: UsableWorkspaces, client: Client) -> Readable:
    """Return the content at a URI. Raises ``NoResourceError`` if there is none that this client may read."""
    scheme, colon, rest = uri.partition("://")
    scheme = scheme.lower()
    if scheme == "file" and rest[: len(_LOCALHOST)].lower() == _LOCALHOST:
        rest = rest[len(_LOCALHOST) - 1 :]  # the same machine
    try:
        name = unquote(rest, errors="strict")
    except UnicodeDecodeError as error:
        raise NoResourceError from error
    if not colon or not name or len(uri) > _MAX_URI or not name.isprintable():
        raise NoResourceError
    match scheme:
        case "file":
            async with workspaces.around(name, client) as (workspace, inside):
                return await _file(inside, workspace)
        case "memory":
            async with workspaces.use(client) as workspace:
                return await _note(name.lstrip("/"), workspace)
        case "session":
            async with workspaces.use(client) as workspace:
                return await _session(name.strip("/"), workspace)
        case _:
            raise NoResourceError


async def _file(path: str, workspace: Promptuary) -> Readable:
    if not path:
        raise NoResourceError
    try:
        expansion = await workspace.expand(format_reference("file", path))
    except (PromptuaryError, ValueError) as error:
        raise NoResourceError from error
    if len(expansion.outcomes) != 1 or len(expansion.blocks) != 1 or expansion.outcomes[0].code:
        raise NoResourceError
    (block,) = expansion.blocks
    start, end = block.body
    # A part of a file comes with a line that says which part it is.
    return Readable(block.text[start:end] if block.detail is Detail.FULL else block.text, "text/plain")


async def _note(key: str, workspace: Promptuary) -> Readable:
    for argument in ("relative_path", "memory_id"):
        # The tool puts text that others wrote inside a boundary.
        answer = await workspace.memory.call_tool("search_recall_memories", {argument: key})
        if "content" in answer:
            return Readable(f"# {answer['title']}\n\n{answer['content']}", "text/markdown")
    raise NoResourceError


async def _session(name: str, workspace: Promptuary) -> Readable:
    try:
        report = await workspace.sessions.show(name)
    except PromptuaryError as error:
        raise NoResourceError from error
    return Readable(json.dumps(session_report_json(report), ensure_ascii=False), "application/json")


async def list_resources(workspace: Promptuary) -> list[ListedResource]:
    """Return the newest notes and sessions. There are too many files to list: completion finds them."""
    notes = await workspace.memory.list(limit=_MAX_LISTED)
    sessions = await workspace.sessions.list()
    return [
        *(
            ListedResource(
                f"memory://{quote(note.path)}", one_line(note.title), one_line(note.summary)[:200], "text/markdown"
            )
            for note in notes
        ),
        *(
            ListedResource(
                f"session://{quote(session.name, safe='')}", one_line(session.name), "a session", "application/json"
            )
            for session in sessions[:_MAX_LISTED]
        ),
    ]

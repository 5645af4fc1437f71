"""The built-in tools that a model may call in a run: files that the person's policy allows, and the durable memory.

Their results are inside a boundary that they cannot forge, like attachments of a message.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

from promptuary import concurrency
from promptuary.config.settings import Settings
from promptuary.core.blocks import Block, Source
from promptuary.core.budget import TokenCounter
from promptuary.core.errors import PromptuaryError
from promptuary.core.messages import Message
from promptuary.core.ports.chat import ToolSpec
from promptuary.core.references import Reference
from promptuary.core.runs import Tool
from promptuary.core.search import Search, SearchQuery, SearchResult
from promptuary.core.sessions import Sight
from promptuary.memory.doors.tools import SEARCH_TOOL, tool_schemas
from promptuary.memory.writeback.snapshot import WRITE_TOOL
from promptuary.references import kinds
from promptuary.references.fit import RankedSource, fit
from promptuary.references.locate import located
from promptuary.references.resolve import resolve
from promptuary.references.resolve_context import ResolveContext
from promptuary.threads.prepared import Turn
from promptuary.threads.running.run import in_run
from promptuary.workspace.workspace import Workspace

READ_TOOL: Final = "read_file"
FILES_TOOL: Final = "search_files"
_SHARE: Final = 4
"""The most that the result of a tool takes, as a part of the window."""
_MOST_LINE: Final = 10_000_000
_LONGEST_QUERY: Final = 2000
_LINE: Final = {"type": "integer", "minimum": 1, "maximum": _MOST_LINE}
_READ: Final = ToolSpec(
    READ_TOOL,
    "Read a file of the workspace, or some of its lines. What is too long is shortened; then read parts of it.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path from the top of the workspace."},
            "first_line": {**_LINE, "description": "The first line to read; leave out for the whole file."},
            "last_line": {**_LINE, "description": "The last line to read."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)
_SEARCH: Final = ToolSpec(
    FILES_TOOL,
    "Search the indexed files by words and meaning. Returns passages with their paths and lines.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What you want to know, in words."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


class CallTool(Protocol):
    """Calls a tool of memory."""

    def __call__(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        turn: Turn | None,
        messages: Sequence[Message] | None,
    ) -> dict[str, object]:
        """Return its result, in ``turn`` after ``messages``."""
        ...


class Own(Struct, frozen=True):
    """The dependencies of the tools."""

    workspace: Workspace
    counter: TokenCounter
    settings: Settings
    find: Search
    find_within: Callable[[SearchQuery, Sight], SearchResult]
    call_memory: CallTool
    accept: Callable[[str], str]
    """Carries out a proposal, and returns the id of the note."""


def own_tools(own: Own, sight: Callable[[], Sight | None]) -> Sequence[Tool]:
    """Return the tools of a thread; ``sight`` is what its session may see now, if it has one."""
    by_name = {one["name"]: one for one in tool_schemas("mcp")}
    search, write = (
        ToolSpec(name, by_name[name]["description"], by_name[name]["inputSchema"]) for name in (SEARCH_TOOL, WRITE_TOOL)
    )
    return (
        Tool(_READ, lambda given: _read(own, sight(), given)),
        Tool(_SEARCH, lambda given: _found(own, sight(), given)),
        Tool(search, _memory(own, SEARCH_TOOL)),
        Tool(write, _memory(own, WRITE_TOOL), writes=True),
    )


def _read(own: Own, sight: Sight | None, given: Mapping[str, Any]) -> str:
    first, last = given.get("first_line"), given.get("last_line")
    suffix = f":{first or 1}-{last or ''}" if first or last else ""
    return _resolved(own, sight, "file", given["path"], suffix)


def _found(own: Own, sight: Sight | None, given: Mapping[str, Any]) -> str:
    return _resolved(own, sight, "search", given["query"][:_LONGEST_QUERY], "")


def _resolved(own: Own, sight: Sight | None, kind: str, value: str, suffix: str) -> str:
    """Return what a reference would attach, in as much detail as fits."""
    find = own.find if sight is None else lambda query: own.find_within(query, sight)
    with own.workspace.within(sight).visit() as visit:
        context = ResolveContext(visit, own.counter, find)
        # Never parsed from text: what a model writes could otherwise refer to something other than a file.
        meant = Reference("", "@", kind, value, 0, 0, suffix=suffix, quoted=True, rooted=True)
        reference = located(meant, context.workspace)
        (resolution,) = resolve([reference], context, kinds.KINDS, timeout=own.settings.timeout)
        if resolution.error is not None:
            raise PromptuaryError(f"{resolution.error.code}: {resolution.error.reason}")
        return _shown(resolution.sources, own)


def _shown(sources: Sequence[Source], own: Own) -> str:
    limit = own.settings.effective_window // _SHARE
    blocks = fit([RankedSource(one) for one in sources], limit, own.counter)
    shown = [block.text for block in blocks if isinstance(block, Block)]
    return "\n\n".join(shown) or "there is no room for it"


def _memory(own: Own, name: str) -> Callable[[Mapping[str, Any]], Any]:
    async def call(given: Mapping[str, Any]) -> str:
        so_far = in_run.get()
        turn, said = (so_far.turn, so_far.messages) if so_far else (None, None)
        answer = await concurrency.run(lambda: _remembered(own, name, given, turn, said))
        if "error" in answer:
            raise PromptuaryError(str(answer["error"]))
        return json.dumps(answer, ensure_ascii=False)

    return call


def _remembered(
    own: Own, name: str, given: Mapping[str, Any], turn: Turn | None, said: Sequence[Message] | None
) -> Mapping[str, object]:
    """Return the result of a memory tool. In a run, the person was asked first, so a proposal is carried out."""
    answer = own.call_memory(name, given, turn, said)
    if turn is None or "proposal" not in answer:
        return answer
    return {"written": True, "memory_id": own.accept(str(answer["proposal"]))}

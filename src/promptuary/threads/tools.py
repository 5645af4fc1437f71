"""The tools that a model may call in a run: files that the person's policy allows, durable memory, other servers.

Their results are inside a boundary that they cannot forge, like attachments of a message.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptuary.base import concurrency
from promptuary.base.blocks import Block
from promptuary.base.errors import PromptuaryError
from promptuary.base.references import Reference
from promptuary.memory.tool_texts import answer_text
from promptuary.models.chat_model import ToolSpec
from promptuary.references import kinds
from promptuary.references.expand import RankedSource, fit
from promptuary.references.locate import located
from promptuary.references.resolve import resolve
from promptuary.references.resolve_context import ResolveContext
from promptuary.threads.run import in_run
from promptuary.threads.run_values import Tool
from promptuary.threads.server_tools import RESULT_SHARE, ServerTools
from promptuary.tools import READ_FILE, SEARCH_FILES, SEARCH_NOTES, TOOLS, WRITE_NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptuary.app import App
    from promptuary.base.messages import Message
    from promptuary.threads.prepared import Turn

_MAX_QUERY: Final = 2000


class ThreadTools:
    """The tools that a model may call in a thread, or in a run that is not recorded."""

    def __init__(self, app: App, thread: str | None) -> None:
        self._app, self._thread = app, thread

    def all(self) -> Sequence[Tool]:
        """Return the tools."""
        servers = self._app.tool_servers
        return (
            Tool(_spec(READ_FILE), self._read),
            Tool(_spec(SEARCH_FILES, "query"), self._search),
            Tool(_spec(SEARCH_NOTES), partial(self._call_memory, SEARCH_NOTES)),
            Tool(_spec(WRITE_NOTE), partial(self._call_memory, WRITE_NOTE), writes=True),
            *(ServerTools(self._app, servers).all() if servers is not None else ()),
        )

    def _read(self, given: Mapping[str, Any]) -> str:
        first, last = given.get("first_line"), given.get("last_line")
        suffix = f":{first or 1}-{last or ''}" if first or last else ""
        return self._resolve("file", given["path"], suffix)

    def _search(self, given: Mapping[str, Any]) -> str:
        return self._resolve("search", given["query"][:_MAX_QUERY], "")

    def _resolve(self, kind: str, value: str, suffix: str) -> str:
        """Return what a reference would attach, in as much detail as fits, as far as the session may see it now."""
        app = self._app
        access = app.workspace.access if self._thread is None else app.access(self._thread, app.state(create=False))
        with app.workspace.within(access).visit() as visit:
            context = ResolveContext(visit, app.counter, lambda query: app.find(query, access=access))
            # Never parsed from text: what a model writes could otherwise refer to something other than a file.
            meant = Reference("", "@", kind, value, 0, 0, suffix=suffix, quoted=True, rooted=True)
            reference = located(meant, context.workspace)
            (resolution,) = resolve([reference], context, kinds.KINDS, timeout=app.settings.timeout)
            if resolution.error is not None:
                raise PromptuaryError(f"{resolution.error.code}: {resolution.error.reason}")
            limit = app.settings.effective_window // RESULT_SHARE
            blocks = fit([RankedSource(source) for source in resolution.sources], limit, app.counter)
            shown = [block.text for block in blocks if isinstance(block, Block)]
            return "\n\n".join(shown) or "there is no room for it"

    async def _call_memory(self, name: str, given: Mapping[str, Any]) -> str:
        so_far = in_run.get()
        turn, said = (so_far.turn, so_far.messages) if so_far else (None, None)
        answer = await concurrency.run(lambda: self._call_in_turn(name, given, turn, said))
        if "error" in answer:
            raise PromptuaryError(str(answer["error"]))
        return answer_text(answer)

    def _call_in_turn(
        self, name: str, given: Mapping[str, Any], turn: Turn | None, said: Sequence[Message] | None
    ) -> Mapping[str, object]:
        """Return the result of a memory tool. In a run, the person was asked first, so a proposal is carried out."""
        answer = self._app.note_tools.call(name, given, turn, said)
        if turn is None or "proposal" not in answer:
            return answer
        note = self._app.proposals(create=True).accept(str(answer["proposal"]))
        return {"written": True, "memory_id": note.header.id}


def _spec(name: str, *arguments: str) -> ToolSpec:
    tool = TOOLS[name]
    return ToolSpec(name, tool.description, tool.schema(*arguments))

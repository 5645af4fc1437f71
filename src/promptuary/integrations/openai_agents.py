"""Promptuary in agents of the OpenAI Agents SDK: an input filter, hooks that record, and a session over a thread.

    with Promptuary.open(".") as p:
        session = PromptuarySession(p, thread="review")
        agent = Agent("reviewer", tools=session.tools())
        print(Runner.run_sync(agent, "Review @diff", **session.options()).final_output)

The three belong together, so ``options`` returns them together, new for each run. An agent that another agent uses as a
tool inherits the filter: its input is a model's text, and passes unchanged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.base.messages import Message, as_message
from promptuary.integrations.conversation import Conversation, persons_words, tool_result
from promptuary.integrations.formats.openai_items import ItemFields, as_ours, content_parts, item_groups, items_of

try:
    from agents import Agent, FunctionTool, RunConfig, RunContextWrapper, RunHooks
    from agents.run_config import CallModelData, ModelInputData
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(f"This needs the extra openai-agents: {how_to_install('openai-agents')}.") from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import Tool
    from agents.items import ModelResponse, TResponseInputItem
    from agents.memory import SessionSettings

    from promptuary import Turn
    from promptuary.blocking import Promptuary

_HOOKS: Final = "Give Runner.run all options of the session: Runner.run(agent, text, **session.options())."


class SessionRunOptions(TypedDict):
    """The arguments for the methods of the runner."""

    run_config: RunConfig
    hooks: RunHooks[Any]
    session: _RunSession


class _RunSession:
    """A thread as a session of a runner. The hooks record turns: items that a runner adds are not added again."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation, self.session_id = conversation, conversation.thread
        self.session_settings: SessionSettings | None = None
        self._taken_back: list[TResponseInputItem] = []

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history of the thread, the last ``limit`` items of it."""
        threads = self._conversation.promptuary.threads
        history = await concurrency.run(lambda: threads.history(thread=self.session_id))
        items = cast("list[TResponseInputItem]", [item for one in history for item in items_of(as_message(one))])
        items += self._taken_back
        return items if limit is None else items[len(items) - min(limit, len(items)) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Do nothing: the turn is already recorded."""

    async def pop_item(self) -> TResponseInputItem | None:
        """Return nothing: a run that fails leaves nothing in the history."""
        return None

    async def clear_session(self) -> None:
        """Remove the thread for good."""
        threads = self._conversation.promptuary.threads
        self._taken_back = []
        if self.session_id in {one.id for one in await concurrency.run(threads.list)}:
            await concurrency.run(lambda: threads.remove(thread=self.session_id))


class PromptuarySession(_RunSession):
    """A thread as a session. Runs with its ``options`` are turns of the thread."""

    def __init__(
        self, promptuary: Promptuary, thread: str = "main", *, on_turn: Callable[[Turn], None] | None = None
    ) -> None:
        super().__init__(Conversation(promptuary, thread, on_turn=on_turn))

    def options(self, run_config: RunConfig | None = None) -> SessionRunOptions:
        """Return the options of one run; ``run_config`` has its other settings."""
        run = _Run(self._conversation)
        return {
            "run_config": replace(run_config or RunConfig(), call_model_input_filter=run.filter),
            "hooks": run,
            "session": _RunSession(self._conversation),
        }

    def tools(self) -> list[Tool]:
        """Return the tools for notes."""
        return [
            FunctionTool(one["name"], one["description"], one["inputSchema"], self._tool, strict_json_schema=False)
            for one in self._conversation.tools()
        ]

    async def _tool(self, context: ToolContext[Any], arguments: str) -> str:
        return await concurrency.run(lambda: self._conversation.call_tool(context.tool_name, arguments))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Begin the thread with a conversation from elsewhere. Raises ``PromptuaryError`` if it has already begun.

        A runner that was given the session without its other options gets the same error.
        """
        said = [as_ours(one) for one in item_groups(cast("list[ItemFields]", items))]
        if said and (
            said[-1]["role"] != "assistant" or not await concurrency.run(lambda: self._conversation.begin(said))
        ):
            raise PromptuaryError(_HOOKS)

    async def pop_item(self) -> TResponseInputItem | None:
        """Return the last item, and take back its whole turn; the next calls return the other items of that turn.

        Raises ``PromptuaryError`` if the last turn cannot be taken back.
        """
        if not self._taken_back:
            before = await self.get_items()
            if before:
                await concurrency.run(lambda: self._conversation.promptuary.threads.undo(thread=self.session_id))
                self._taken_back = before[len(await self.get_items()) :]
        return self._taken_back.pop() if self._taken_back else None


class _Run(RunHooks[Any]):
    """One run: its agents, what the person said, and what was said since the last request."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._agents: list[Agent[Any]] = []
        self._text, self._said, self._hooked = "", list[Message](), False

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the prompt of the turn, which replaces the runner's."""
        if self._text and not self._hooked:
            raise PromptuaryError(_HOOKS)
        if not self._agents:  # a run that resumes after an approval starts no agent
            self._agents.append(data.agent)
        groups = item_groups(cast("list[ItemFields]", data.model_data.input))
        own = [one for one in groups if one[0].get("role") in {"system", "developer"}]
        groups = [one for one in groups if one not in own]
        said = [as_ours(one) for one in groups]
        place = next((at for at in reversed(range(len(said))) if said[at]["role"] == "user"), None)
        if place is None or not any(one is data.agent for one in self._agents):
            return data.model_data
        start, text = persons_words(said, place)
        if self._text not in {"", text}:  # the agent is a tool of itself
            return data.model_data
        self._text, self._said = text, said[place + 1 :]
        request = await concurrency.run(lambda: self._conversation.request(text, said[place + 1 :], said[:start]))
        sent = [item for one in request.messages[:-1] for item in items_of(one)]
        asked = [part for one in groups[start : place + 1] for part in content_parts(one[0].get("content"))]
        media = [part for part in asked if part.get("type") != "input_text"]
        words = request.messages[-1]["content"]
        sent.append({"role": "user", "content": [{"type": "input_text", "text": words}, *media] if media else words})
        for one in request.loop:
            sent += groups[place + 1 + one] if isinstance(one, int) else items_of(one)
        told = [data.model_data.instructions, *(as_ours(one)["content"] for one in own), request.system]
        instructions = "\n\n".join(one for one in told if one)
        return ModelInputData(input=cast("list[TResponseInputItem]", sent), instructions=instructions or None)

    async def on_agent_start(self, context: RunContextWrapper[Any], agent: Agent[Any]) -> None:
        self._agents.append(agent)

    async def on_llm_start(
        self, context: RunContextWrapper[Any], agent: Agent[Any], system_prompt: str | None, input_items: list[Any]
    ) -> None:
        self._hooked = True

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        items = cast("list[ItemFields]", response.to_input_items())
        self._said += [as_ours(one) for one in item_groups(items)]

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object) -> None:
        if isinstance(context, ToolContext):
            self._said.append(tool_result(context.tool_call_id, str(result)))

    async def on_agent_end(self, context: RunContextWrapper[Any], agent: Agent[Any], output: Any) -> None:
        await concurrency.run(lambda: self._conversation.finish(self._text, self._said))

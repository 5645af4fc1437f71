"""Promptuary in agents of pydantic-ai: a capability that prepares and records turns, and a toolset for notes.

    with Promptuary.open(".") as p:
        agent = Agent("openai:gpt-5", capabilities=[PromptuaryCapability(p, thread="review")])
        print(agent.run_sync("Review @diff").output)

The prompt is ours; the messages of the run do not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptuary.base import concurrency
from promptuary.base.errors import how_to_install
from promptuary.integrations.conversation import Conversation

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import SystemPromptPart
    from pydantic_ai.tools import Tool
    from pydantic_ai.toolsets import FunctionToolset

    from promptuary.integrations.formats.pydantic_ai_messages import as_ours, persons_place, pieces_of, sent_messages
except ImportError as error:
    raise ImportError(f"This needs the extra pydantic-ai: {how_to_install('pydantic-ai')}.") from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_ai import RunContext
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

    from promptuary import Turn
    from promptuary.blocking import Promptuary


class PromptuaryCapability(AbstractCapability[Any]):
    """Every run of the agent is a turn of ``thread``. ``tools`` offers the tools for notes to the model."""

    def __init__(
        self,
        promptuary: Promptuary,
        thread: str = "main",
        *,
        tools: bool = True,
        on_turn: Callable[[Turn], None] | None = None,
    ) -> None:
        super().__init__()
        self.id = f"promptuary-{thread}"
        self._made_of = (promptuary, thread, tools, on_turn)
        self._conversation, self._tools = Conversation(promptuary, thread, on_turn=on_turn), tools

    async def for_run(self, ctx: RunContext[Any]) -> PromptuaryCapability:
        """Return a separate instance for a run: concurrent runs are independent."""
        promptuary, thread, tools, on_turn = self._made_of
        return PromptuaryCapability(promptuary, thread, tools=tools, on_turn=on_turn)

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the tools for notes."""
        return _toolset(self._conversation) if self._tools else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Replace the messages to send by the prompt of the turn."""
        pieces = list(pieces_of(request_context.messages))
        place = persons_place(pieces, ctx.prompt)
        if place is None:  # nobody said anything
            return request_context
        said, earlier = [as_ours(one) for one in pieces[place + 1 :]], [as_ours(one) for one in pieces[:place]]
        text = as_ours(pieces[place])["content"]
        request = await concurrency.run(lambda: self._conversation.request(text, said, earlier))
        own = [p for m in request_context.messages for p in m.parts if isinstance(p, SystemPromptPart)]
        return replace(request_context, messages=sent_messages(request, pieces, place, own))

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record what was said."""
        pieces = list(pieces_of(result.all_messages()))
        place = persons_place(pieces, ctx.prompt)
        if place is None:
            return result
        text, said = as_ours(pieces[place])["content"], [as_ours(one) for one in pieces[place + 1 :]]
        await concurrency.run(lambda: self._conversation.finish(text, said))
        return result


def promptuary_toolset(promptuary: Promptuary) -> FunctionToolset[Any]:
    """Return only the tools for notes, for agents without the capability.

    Text that a model writes with them is labelled as external, since it is unknown what the model has read.
    """
    return _toolset(Conversation(promptuary))


def _toolset(conversation: Conversation) -> FunctionToolset[Any]:
    def function(name: str) -> Callable[..., Any]:
        async def call(**arguments: object) -> str:
            return await concurrency.run(lambda: conversation.call_tool(name, arguments))

        return call

    return FunctionToolset(
        [
            Tool.from_schema(function(one["name"]), one["name"], one["description"], one["inputSchema"])
            for one in conversation.tools()
        ]
    )

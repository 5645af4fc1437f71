"""Promptuary in agents of LangChain and LangGraph: a middleware that prepares and records turns.

    with Promptuary.open(".") as p:
        agent = create_agent("openai:gpt-5", middleware=[PromptuaryMiddleware(p)])
        agent.invoke({"messages": [("user", "Review @diff")]}, {"configurable": {"thread_id": "review"}})

The thread is the ``thread_id`` of the configuration, unless one is given. The prompt is ours; the messages in the
state of the framework do not change. The store is in ``langgraph_store``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired

from promptuary.base import concurrency
from promptuary.base.errors import how_to_install
from promptuary.integrations.conversation import Conversation, checked_facade, persons_words

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.config import get_config

    from promptuary.integrations.formats.langchain_messages import as_ours, joined_system, sent_messages
except ImportError as error:
    raise ImportError(f"This needs the extra langchain: {how_to_install('langchain')}.") from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from langchain.agents.middleware import ModelRequest, ModelResponse, ToolCallRequest
    from langchain_core.messages import BaseMessage
    from langgraph.types import Command

    from promptuary import Turn
    from promptuary.blocking import Promptuary

logger = logging.getLogger(__name__)

_MOST_THREADS: Final = 256
"""How many threads a middleware remembers; for any other it reads the ledger."""


class PromptuaryState(AgentState[Any]):
    """The state of an agent, and which of its messages the run answers."""

    promptuary_message: NotRequired[Annotated[str, PrivateStateAttr]]


class PromptuaryMiddleware(AgentMiddleware[PromptuaryState, Any, Any]):
    """Every run of the agent is a turn of a thread. ``tools`` offers the tools for notes to the model."""

    state_schema = PromptuaryState

    def __init__(
        self,
        promptuary: Promptuary,
        thread: str | None = None,
        *,
        tools: bool = True,
        on_turn: Callable[[Turn], None] | None = None,
    ) -> None:
        super().__init__()
        self._promptuary, self._thread, self._on_turn = checked_facade(promptuary), thread, on_turn
        self._conversations: dict[str, Conversation] = {}
        offered = Conversation(promptuary, "main" if thread is None else thread).tools() if tools else []
        self.tools = [
            StructuredTool.from_function(
                _unreached, name=one["name"], description=one["description"], args_schema=one["inputSchema"]
            )
            for one in offered
        ]

    def before_agent(self, state: PromptuaryState, runtime: Any) -> dict[str, Any] | None:
        """Record which message is the person's: the last one, before a tool or another middleware adds any."""
        every = [one for one in state["messages"] if isinstance(one, HumanMessage)]
        humans = [one for one in every if "lc_source" not in one.additional_kwargs]  # summaries of the framework
        return {"promptuary_message": humans[-1].id} if humans else None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Send the prompt of the turn."""
        return handler(self._prepared(request, self._conversation()))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Send the prompt of the turn."""
        conversation = self._conversation()
        return await handler(await concurrency.run(lambda: self._prepared(request, conversation)))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Call a tool for notes."""
        return self._called(request, self._conversation()) if self._is_ours(request) else handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Call a tool for notes."""
        conversation = self._conversation()
        if self._is_ours(request):
            return await concurrency.run(lambda: self._called(request, conversation))
        return await handler(request)

    def after_agent(self, state: PromptuaryState, runtime: Any) -> None:
        """Record what was said."""
        said = [one for one in state["messages"] if not isinstance(one, SystemMessage)]
        if (place := _persons(state, said)) is not None:
            every = [as_ours(one) for one in said]
            self._conversation().finish(persons_words(every, place)[1], every[place + 1 :])

    def _conversation(self) -> Conversation:
        configured = get_config().get("configurable", {}).get("thread_id", "")
        thread = self._thread or ("main" if configured in (None, "") else str(configured))
        known = self._conversations.pop(thread, None) or Conversation(self._promptuary, thread, on_turn=self._on_turn)
        self._conversations[thread] = known
        while len(self._conversations) > _MOST_THREADS:
            self._conversations.pop(next(iter(self._conversations)), None)
        return known

    def _prepared(self, request: ModelRequest[Any], conversation: Conversation) -> ModelRequest[Any]:
        given = [one for one in request.messages if not isinstance(one, SystemMessage)]
        if (place := _persons(request.state, given)) is None:
            return request
        every = [as_ours(one) for one in given]
        start, text = persons_words(every, place)
        made = conversation.request(text, every[place + 1 :], every[:start])
        own = [*([request.system_message] if request.system_message else [])]
        own += [one for one in request.messages if isinstance(one, SystemMessage)]
        return request.override(
            system_message=joined_system(own, made.system), messages=sent_messages(made, given, start, place)
        )

    def _is_ours(self, request: ToolCallRequest) -> bool:
        return request.tool_call["name"] in {one.name for one in self.tools}

    def _called(self, request: ToolCallRequest, conversation: Conversation) -> ToolMessage:
        call = request.tool_call
        return ToolMessage(
            conversation.call_tool(call["name"], call["args"]), tool_call_id=call["id"] or "", name=call["name"]
        )


def _unreached(**_: object) -> str:
    raise AssertionError("the middleware answers these calls")


def _persons(state: Any, messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the person's message; ``None`` if there is none, or another middleware has removed it."""
    key = state.get("promptuary_message")
    place = next((at for at, one in enumerate(messages) if one.id == key), None) if key else None
    if key and place is None:
        logger.warning("the person's message is not in the state any more: this request is sent as it is")
    return place

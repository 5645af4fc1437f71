"""Turns of a thread with the tool runner of Anthropic's client.

with Promptuary.open(".") as p:
    message = run_turn(p, Anthropic(), "Review @diff", model="claude-sonnet-5-5", max_tokens=4096)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from promptuary.base.errors import PromptuaryError
from promptuary.integrations.conversation import checked_facade, checked_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anthropic import Anthropic
    from anthropic.types.beta.parsed_beta_message import ParsedBetaMessage

    from promptuary.blocking import Promptuary

logger = logging.getLogger(__name__)


def run_turn(
    promptuary: Promptuary,
    client: Anthropic,
    text: str,
    *,
    thread: str = "main",
    tools: Sequence[Any] = (),
    **options: Any,
) -> ParsedBetaMessage[Any]:
    """Run one turn of a thread with the tool runner of the client, and return the model's last message.

    ``options`` are those of a request: the model, the most tokens of its answer, and so on. If an answer cannot be
    recorded, a warning is logged.
    """
    turn = checked_facade(promptuary).threads.prepare(text, thread=checked_thread(thread))
    if turn.receipt.blocked:
        promptuary.threads.abandon(turn)
        raise PromptuaryError("; ".join(turn.receipt.warnings))
    # Each request is complete: the conversation is stored here, not by the service.
    runner = client.beta.messages.tool_runner(tools=list(tools), thread=False, **turn.render("anthropic"), **options)
    said: list[Any] = []
    message: ParsedBetaMessage[Any]
    for message in runner:
        said += [message, *([result] if (result := runner.generate_tool_call_response()) else [])]
    try:
        promptuary.threads.finish(turn, said)
    except PromptuaryError as error:
        logger.warning("the answer in thread %r was not recorded: %s", thread, error)
    return message

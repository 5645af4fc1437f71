"""Learns notes from turns of other programs, as ``finish`` does from Promptuary's own."""

from collections.abc import Sequence

from promptuary.context.replies import reply_items
from promptuary.core.errors import PromptuaryError
from promptuary.core.ids import new_id
from promptuary.core.messages import Item, Message
from promptuary.core.receipts import Receipt
from promptuary.core.threads import FinishedTurn
from promptuary.core.writeback import Proposal
from promptuary.memory.writeback.proposals import Proposals
from promptuary.memory.writeback.runner import Writeback
from promptuary.storage.state import StateDatabase


def learnt_elsewhere(
    state: StateDatabase,
    writeback: Writeback,
    proposals: Proposals,
    messages: Sequence[Message],
    *,
    thread: str,
    timeout: float,
) -> list[Proposal]:
    """Learn notes from a turn of another program; return the proposals from it so far."""
    finished = finished_elsewhere(messages, thread)
    before = {one.id for one in proposals.all()}
    with state.transaction():
        writeback.record(finished)
    writeback.drain(timeout)
    return [one for one in proposals.all() if one.id not in before]


def finished_elsewhere(messages: Sequence[Message], thread: str) -> FinishedTurn:
    """Return a turn of another program in the form of a finished turn; it begins with what the person said.

    Its prompts are unknown. If it has results of tools, the model has read text from outside.
    """
    first = messages[0] if messages else None
    if first is None or first.get("role") != "user" or not isinstance(first.get("content"), str):
        raise PromptuaryError("the messages of a turn begin with that of the person: role user, and content as text")
    name = new_id("turn")
    asked = Item(new_id("item"), "user", first["content"], turn=name)
    receipt = Receipt(name, thread, window=0, reserve=0, tokens=0)
    return FinishedTurn(name, thread, [asked, *reply_items(messages[1:], name)], receipt)

"""Runs a past turn again with another window or another model, or previews the next turn. Nothing is recorded.

What was sent is sent again unchanged. For another window the message is prepared again, with the history as it was
before the turn, in a temporary store that is dropped after the call; layers start with their current states.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Omitted
from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Item, Message
from promptuary.base.references import Pasted
from promptuary.layers.layer import LayerState
from promptuary.layers.runner import state_key
from promptuary.models.chat_model import ToolSpec
from promptuary.models.protocols import ChatModel
from promptuary.threads.attachments import documents_key, queue_key
from promptuary.threads.ledger_values import history_before
from promptuary.threads.options import ThreadOptions
from promptuary.threads.prepared import Turn
from promptuary.threads.records import ThreadChange, TurnRecord
from promptuary.threads.store.store import ThreadStore
from promptuary.threads.turn import Thread
from promptuary.threads.values import Replay, Rerun


async def rerun(
    replay: Replay,
    store: ThreadStore,
    *,
    rehearsal: ThreadOptions | None,
    model: ChatModel | None,
) -> Rerun:
    """Run the turn of ``replay`` again: prepared again if ``rehearsal`` is given, answered if ``model`` is."""
    past, prepared = replay.turn, None
    if rehearsal is not None and "." in past.id:
        raise PromptuaryError(
            f"turn {past.number} continued after tool calls, which are not made again; "
            "run the turn that it started with, or leave out the window to send it as it was"
        )
    if rehearsal is not None:
        prepared = await _prepared(past, store, rehearsal)
    messages = past.messages if prepared is None else prepared.messages
    answer = None if model is None else await _answer(model, messages, past.receipt.reserve)
    receipt = None if prepared is None else prepared.receipt
    return Rerun(past, tuple(messages), receipt, answer, replay.drift)


async def previewed(
    text: str,
    thread: str,
    store: ThreadStore,
    options: ThreadOptions,
    *,
    pasted: Pasted,
    tools: Sequence[ToolSpec],
    left_out: Sequence[Omitted],
    prompt: str,
) -> Turn:
    """Return the next turn of a thread in ``store`` as it would be, prepared with the store of ``options``."""

    def standing() -> ThreadChange:
        items = [replace(item, stands_for=()) for item in store.history(thread)]
        queued = [state for state in store.states([queue_key(thread), documents_key(thread)]) if state is not None]
        return ThreadChange(thread, items=items, states=[*_states(thread, store, options), *queued])

    change = await concurrency.run(standing)
    await concurrency.run(lambda: options.store.apply(change))
    return await Thread(thread, options).prepare(text, pasted, tools, prompt, left_out)


async def _prepared(past: TurnRecord, store: ThreadStore, options: ThreadOptions) -> Turn:
    items, states = await concurrency.run(lambda: (_history(past, store), _states(past.thread, store, options)))
    change = ThreadChange(past.thread, items=items, states=states)
    await concurrency.run(lambda: options.store.apply(change))
    return await Thread(past.thread, options).prepare(past.text)


def _history(past: TurnRecord, store: ThreadStore) -> list[Item]:
    said = store.said(past.thread)
    speaking = {item.turn for item in said}
    later = (store.turn(past.thread, number) for number in range(past.number, store.last_number(past.thread) + 1))
    first = next((turn.id for turn in later if turn is not None and turn.id in speaking), None)
    standing = history_before(said, first)
    return [replace(item, stands_for=()) for item in standing]


def _states(thread: str, store: ThreadStore, options: ThreadOptions) -> Sequence[LayerState]:
    keys = [key for layer in options.layers if (key := state_key(layer, thread, options.resource)) is not None]
    return [state for state in store.states(keys) if state is not None]


async def _answer(model: ChatModel, messages: Sequence[Message], reserve: int) -> str:
    try:
        return await model.complete(messages, max_tokens=max(reserve, 1))
    except PromptuaryError:
        raise
    except Exception as error:  # a third-party model may raise anything
        raise PromptuaryError(f"the model did not answer: {type(error).__name__}: {error}") from error

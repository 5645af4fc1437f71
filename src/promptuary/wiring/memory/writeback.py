"""What a turn has of memory: the layers that recall notes, and what learns from the turn when it is finished."""

from collections.abc import Callable, Sequence

from promptuary.config.settings import Settings
from promptuary.core.ids import new_id
from promptuary.core.layers import Layer
from promptuary.core.messages import Item, Message
from promptuary.core.ports.threads import StateDatabase, ThreadStore
from promptuary.core.principals import Principal
from promptuary.layers.memory_digest import MemoryDigest
from promptuary.layers.memory_recall import MemoryRecall
from promptuary.layers.per_thread import PerThread
from promptuary.memory.memory import Memory
from promptuary.memory.recall.digest import remembered
from promptuary.memory.recall.select import Selector
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.writeback.prompts import Prompts
from promptuary.memory.writeback.proposals import Proposals
from promptuary.memory.writeback.runner import Writeback, foreign_turns
from promptuary.memory.writeback.snapshot import TurnSnapshot, snapshot
from promptuary.threads.turn import Turn, asked_item
from promptuary.wiring.memory.notes import now, recall_policy
from promptuary.wiring.models import chat_model


def memory_layers(settings: Settings, memory: Callable[[str], Memory]) -> Sequence[Layer]:
    """Return the layers of memory: the digest, and the notes that a message needs. ``memory`` is that of a thread."""
    if not settings.memory_tokens:
        return []
    policy = recall_policy(settings)
    model = chat_model(settings, settings.recall_model) if settings.recall_model else None

    def digest(thread: str) -> Layer:
        own = memory(thread)
        return MemoryDigest(lambda: remembered(own.refreshed()))

    def recall(thread: str) -> Layer:
        own = memory(thread)
        return MemoryRecall(Selector(own.search_now, own.visible, policy, model), own.visible)

    if "{thread}" in settings.memory_folder:
        return [PerThread(digest), PerThread(recall)]
    return [digest("main"), recall("main")]


def open_proposals(state: StateDatabase, principal: Principal, memory: Callable[[str], Memory]) -> Proposals:
    """Return the proposals that wait for ``principal``. ``memory`` is that of a thread."""
    return Proposals(state.proposals(principal), memory, has_secret=has_secret)


def open_writeback(
    state: StateDatabase, settings: Settings, principal: Principal, memory: Callable[[str], Memory]
) -> Writeback:
    """Return what learns from the finished turns of ``principal``. ``memory`` is that of a thread."""
    main = memory("main")
    if "{thread}" not in settings.memory_folder:
        return _writeback(state, settings, principal, lambda _: main)
    return _writeback(state, settings, principal, memory)


def _writeback(
    state: StateDatabase, settings: Settings, principal: Principal, memory: Callable[[str], Memory]
) -> Writeback:
    return Writeback(
        state.writeback_queue(principal),
        open_proposals(state, principal, memory),
        memory,
        model=chat_model(settings, settings.writeback_model) if settings.writeback_model else None,
        threads=state.threads(principal),
        has_secret=has_secret,
        prompts=Prompts(qa=settings.writeback_qa_prompt, profile=settings.writeback_profile_prompt),
        soft_drain=settings.writeback_wait_policy == "soft_drain",
    )


def turn_so_far(turn: Turn, threads: ThreadStore, messages: Sequence[Message]) -> TurnSnapshot:
    """Return what was said in a turn that is not finished: ``messages`` followed its prompt."""
    said = [Item(new_id("item"), one["role"], one.get("content") or "", turn=turn.id) for one in messages]
    history = [*threads.history(turn.thread), asked_item(turn), *said]
    foreign = foreign_turns(threads, turn.thread)
    return snapshot(turn.id, turn.thread, now(), history, turn.receipt, foreign_turns=foreign)

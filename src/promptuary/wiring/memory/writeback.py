"""Memory in a turn: the layers that recall notes, and the writeback after the turn."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from promptuary.config.settings import Settings
from promptuary.context.replies import said_items
from promptuary.core.clock import now_in_seconds
from promptuary.core.layers import Layer
from promptuary.core.messages import Message
from promptuary.core.ports.models import ChatModel
from promptuary.core.principals import Principal
from promptuary.experiences.learning.learner import ExperienceLearner
from promptuary.experiences.learning.told import PURPOSE, SCHEMA, question, told
from promptuary.layers.memory_digest import MemoryDigest
from promptuary.layers.memory_recall import MemoryRecall
from promptuary.layers.per_thread import PerThread
from promptuary.memory.memory import Memory
from promptuary.memory.recall.digest import remembered
from promptuary.memory.recall.select import Selector
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.writeback.prompts import Prompts
from promptuary.memory.writeback.proposals import NoteWriter, Proposals
from promptuary.memory.writeback.runner import TurnReader, Writeback, answered, foreign_turns
from promptuary.memory.writeback.snapshot import OwnFile, TurnSnapshot, snapshot
from promptuary.models.from_settings import chat_model
from promptuary.storage.state import StateDatabase
from promptuary.storage.threads.store import ThreadStore
from promptuary.threads.prepared import Turn, asked_item
from promptuary.tokens import Counter
from promptuary.wiring.memory.notes import recall_policy
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.core.sessions import Sight
    from promptuary.sessions.memory import PinnedMemory

_FILE: Final = "file:"
_MODEL_SECONDS: Final = 120.0

MemoryWithin = Callable[[str, "Sight | None"], "Memory | PinnedMemory"]
"""Returns the memory of a thread; a ``PinnedMemory`` if it has a session."""


def memory_layers(settings: Settings, memory: MemoryWithin) -> Sequence[Layer]:
    """Return the layers of memory: the digest, and the notes that a message needs. ``memory`` is that of a thread."""
    if not settings.memory_tokens:
        return []
    policy = recall_policy(settings)
    model = chat_model(settings, settings.recall_model) if settings.recall_model else None

    def digest(thread: str, sight: "Sight | None") -> Layer:
        own = memory(thread, sight)
        return MemoryDigest(lambda: remembered(own.refreshed()), waiting=own.visible.waiting)

    def recall(thread: str, sight: "Sight | None") -> Layer:
        own = memory(thread, sight)
        return MemoryRecall(Selector(own.search_now, own.visible, policy, model), own.visible)

    apart = "{thread}" in settings.memory_folder
    return [PerThread(digest, apart=apart), PerThread(recall, apart=apart)]


def open_proposals(state: StateDatabase, principal: Principal, memory: Callable[[str], Memory]) -> Proposals:
    """Return the proposals that wait for ``principal``. ``memory`` is that of a thread."""
    return Proposals(state.proposals(principal), memory, has_secret=has_secret)


def open_writeback(
    workspace: Workspace,
    state: StateDatabase,
    settings: Settings,
    principal: Principal,
    memory: Callable[[str], Memory],
    *,
    pinned: Callable[[str], "PinnedMemory | None"],
    learner: Callable[[], ExperienceLearner],
) -> Writeback:
    """Return the writeback of ``principal``. ``memory`` returns the memory of a thread.

    ``pinned`` returns that of the session of a thread, if it has one. If there is a model, it also extracts lessons
    from the conversation for ``learner``.
    """
    main = memory("main")
    apart = "{thread}" in settings.memory_folder

    def of_thread(thread: str) -> NoteWriter:
        return pinned(thread) or (memory(thread) if apart else main)

    wanted = settings.experiences and settings.experience_model
    readers = {PURPOSE: _reader(chat_model(settings, settings.experience_model), learner)} if wanted else {}
    return Writeback(
        state.writeback_queue(principal),
        open_proposals(state, principal, memory),
        of_thread,
        model=chat_model(settings, settings.writeback_model) if settings.writeback_model else None,
        threads=state.threads(principal),
        has_secret=has_secret,
        own_file=own_file(workspace),
        prompts=Prompts(qa=settings.writeback_qa_prompt, profile=settings.writeback_profile_prompt),
        readers=readers,
        soft_drain=settings.writeback_wait_policy == "soft_drain",
    )


def _reader(model: ChatModel, learner: Callable[[], ExperienceLearner]) -> TurnReader:
    def read(one: TurnSnapshot) -> None:
        answer = answered(model, question(one), SCHEMA, timeout=_MODEL_SECONDS)
        learner().store(told(answer, one), one.thread, one.turn)

    return read


def own_file(workspace: Workspace) -> OwnFile:
    """Return a function that decides whether only the person can have written a file."""
    return lambda address: workspace.is_persons(address.removeprefix(_FILE))


def turn_so_far(turn: Turn, threads: ThreadStore, messages: Sequence[Message], workspace: Workspace) -> TurnSnapshot:
    """Return a snapshot of a turn that is not finished: ``messages`` followed its prompt."""
    history = [*threads.history(turn.thread), asked_item(turn), *said_items(messages, turn.id)]
    foreign = foreign_turns(threads, turn.thread)
    own = own_file(workspace)
    return snapshot(turn.id, turn.thread, now_in_seconds(), history, turn.receipt, foreign_turns=foreign, own_file=own)


def tool_answer(
    memory: "Memory | PinnedMemory",
    proposals: Callable[[], Proposals],
    counter: Counter,
    name: str,
    arguments: Mapping[str, object] | str,
    *,
    said: TurnSnapshot | None = None,
) -> dict[str, object]:
    """Return the result of a tool of memory, after what was ``said`` in a turn.

    ``proposals`` is called if the person has to approve what is written.
    """
    from promptuary.memory.doors.tools import MemoryTools  # noqa: PLC0415  (only agents need it)

    return MemoryTools(memory, proposals, counter).call(name, arguments, said)

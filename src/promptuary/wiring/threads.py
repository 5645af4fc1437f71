"""Opens the threads of a workspace: the store, the layers and the options of a turn. Imported when a thread is used.

A plain expansion needs none of this: no database is created in a workspace before somebody starts a thread in it.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from promptuary.config.settings import Settings
from promptuary.context.assemble import Room
from promptuary.context.history import CachingCounter, CompactionPolicy
from promptuary.context.replies import reply_items
from promptuary.core.budget import TokenCounter
from promptuary.core.clock import now
from promptuary.core.errors import PromptuaryError
from promptuary.core.expansion import Expansion
from promptuary.core.experiences import Experience
from promptuary.core.ids import new_id
from promptuary.core.layers import Layer, check
from promptuary.core.messages import Item, Message
from promptuary.core.ports.models import ChatModel
from promptuary.core.principals import Principal
from promptuary.core.receipts import Receipt
from promptuary.core.search import Search
from promptuary.experiences.experiences import Experiences
from promptuary.experiences.learning.learner import ExperienceLearner
from promptuary.experiences.search import ExperienceQuery
from promptuary.layers.experience import ExperienceRecall
from promptuary.layers.recall import SearchWithin, SemanticRecall
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.memory.memory import Memory
from promptuary.memory.writeback.runner import foreign_turns
from promptuary.memory.writeback.snapshot import held_foreign_text
from promptuary.models.from_settings import chat_model
from promptuary.plugins import installed_layers
from promptuary.references.kinds.image import images_again
from promptuary.storage.state import StateDatabase
from promptuary.storage.threads.store import ThreadStore
from promptuary.threads.options import ExpandRequest, Learner, SightOf, ThreadOptions
from promptuary.threads.prepared import Turn, asked_item
from promptuary.threads.running.run import run_model
from promptuary.threads.threads import Past, Threads
from promptuary.wiring.layers import OnNote, instructions, standing_files, tracked_files
from promptuary.wiring.memory.sources import lookups, note_address
from promptuary.wiring.memory.writeback import own_file
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import Workspace

_ExpandWithin = Callable[[ExpandRequest, int], Expansion]
"""Expands a message for a window, in tokens."""


def open_threads(
    workspace: Workspace,
    settings: Settings,
    counter: TokenCounter,
    expand: _ExpandWithin,
    search: Search,
    *,
    database: StateDatabase,
    principal: Principal,
    layers: Sequence[Layer] = (),
    memory_layers: Sequence[Layer] = (),
    model: ChatModel | None = None,
    learners: Sequence[Learner] = (),
    experiences: Callable[[], Experiences],
    memory: Callable[[str], Memory],
    sight: SightOf = lambda _: None,
    search_within: SearchWithin | None = None,
    on_note: OnNote = lambda _: None,
) -> Threads:
    """Return the threads of ``principal`` in ``database``. ``layers`` are added to those of the workspace.

    One with the id of a built-in layer replaces it. ``on_note`` is called with what was ignored of the settings.
    ``memory`` returns the durable memory of a thread. ``expand`` gets the window for which a message is expanded.
    """
    files = _tracking(workspace, settings, layers, model, on_note)
    recall = [_recall(workspace, search, search_within, settings.recall_tokens)] if settings.recall_tokens else []
    given = {layer.id for layer in layers}
    shown = [_experience(experiences, settings)] if settings.experiences and settings.experience_tokens else []
    standing = [instructions(workspace, settings), *standing_files(workspace, settings)]
    ours = [*standing, files, *recall, *memory_layers, *shown, *installed_layers()]
    every = [*(layer for layer in ours if layer.id not in given), *layers]
    check(every)
    window = settings.effective_window
    options = ThreadOptions(
        principal=principal,
        store=database.threads(principal),
        layers=every,
        counter=CachingCounter(counter),
        room=_room(settings, window),
        limit=settings.limit_in(window),
        policy=compaction_policy(settings),
        model=model or _summarising(settings),
        expand=lambda request: expand(request, window),
        resource=str(workspace.root.path),
        transaction=database.transaction,
        learners=learners,
        sight=sight,
        images=lambda items, seen: images_again(items, workspace.within(seen), settings.counted_model),
    )
    past = Past(
        workspace,
        lookups(workspace, counter, memory, experiences, timeout=settings.timeout),
        lambda key: note_address(memory("main"), key),
        lambda window: _rehearsal(_sized(options, settings, window, expand)),
        lambda name: chat_model(settings, name),
        lambda model: run_model(settings, model),
        lambda window: _sized(options, settings, window, expand),
        memory_by_thread="{thread}" in settings.memory_folder,
    )
    return Threads(options, files, database, past)


def _summarising(settings: Settings) -> ChatModel | None:
    return chat_model(settings, settings.summary_model) if settings.summary_model else None


def _tracking(
    workspace: Workspace, settings: Settings, layers: Sequence[Layer], model: ChatModel | None, on_note: OnNote
) -> TrackedFiles:
    """Return the layer of tracked files: the given one, bound to this workspace, else the built-in one."""
    for layer in layers:
        if isinstance(layer, TrackedFiles) and layer.id == TrackedFiles.id:
            layer.bind(workspace)
            return layer
    return tracked_files(workspace, settings, model, on_note)


def _rehearsal(options: ThreadOptions) -> ThreadOptions:
    """Return ``options`` with a store in memory."""
    scratch = StateDatabase()
    return replace(
        options,
        store=scratch.threads(options.principal),
        transaction=scratch.transaction,
        learners=(),
        rehearsed=True,
    )


def _sized(options: ThreadOptions, settings: Settings, window: int, expand: _ExpandWithin) -> ThreadOptions:
    """Return ``options`` for another window."""
    room = _room(settings, window)
    return replace(options, room=room, limit=settings.limit_in(window), expand=lambda request: expand(request, window))


def _room(settings: Settings, window: int) -> Room:
    return Room(window, min(settings.reply_reserve, window // 2), settings.history_share)


def compaction_policy(settings: Settings) -> CompactionPolicy:
    """Return the compaction policy of ``settings``."""
    return CompactionPolicy(
        threshold=settings.compact_share,
        goal=settings.effective_compact_goal,
        keep_last=settings.compact_keep,
        shorten_over=settings.shorten_over,
        shorten_to=settings.effective_shorten_to,
        summary_tokens=settings.summary_tokens,
        summary_least=settings.summary_least,
        transcript_tokens=settings.summary_input,
        model_seconds=settings.summary_timeout,
    )


def _recall(workspace: Workspace, search: Search, within: SearchWithin | None, tokens: int) -> Layer:
    home = workspace.root.path
    return SemanticRecall(search, lambda: bool(IndexedFoldersFile(home).all()), str(home), most=tokens, within=within)


def _experience(experiences: Callable[[], Experiences], settings: Settings) -> Layer:
    return ExperienceRecall(
        lambda words, limit: experiences().similar_now(ExperienceQuery(words, limit=limit)),
        lambda ids: experiences().some(ids),
        now,
        most=settings.experience_tokens,
    )


def open_learner(
    experiences: Experiences, settings: Settings, threads: ThreadStore, workspace: Workspace
) -> ExperienceLearner:
    """Return the learner for ``experiences``; ``threads`` records which of their turns held foreign text."""
    own = own_file(workspace)

    def foreign(thread: str, history: Sequence[Item], receipt: Receipt | None) -> bool:
        earlier = foreign_turns(threads, thread) if thread else ()
        return held_foreign_text(history, receipt, foreign_turns=earlier, own_file=own)

    return ExperienceLearner(experiences, held_foreign_text=foreign, reads_words=not settings.experience_model)


def recorded_turn(
    learner: ExperienceLearner, turn: Turn, messages: Sequence[Message], threads: ThreadStore
) -> Sequence[Experience]:
    """Store the lessons of a turn in which ``messages`` followed the prompt."""
    history = [*threads.history(turn.thread), asked_item(turn), *reply_items(messages, turn.id)]
    return learner.record_now(turn.id, turn.thread, history, turn.receipt)


def recorded_messages(learner: ExperienceLearner, messages: Sequence[Message]) -> Sequence[Experience]:
    """Store the lessons of a conversation of another program, which begins with a message of the person."""
    first = messages[0] if messages else None
    is_said = isinstance(first, Mapping) and first.get("role") == "user" and isinstance(first.get("content"), str)
    if first is None or not is_said:
        raise PromptuaryError("the messages of a turn begin with that of the person: role user, and content as text")
    name = new_id("turn")
    asked = Item(new_id("item"), "user", first["content"], turn=name)
    return learner.record_now(name, "", [asked, *reply_items(messages[1:], name)], None)

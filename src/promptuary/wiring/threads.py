"""Opens the threads of a workspace: the store, the layers and the options of a turn. Loaded when a thread is used.

A plain expansion needs none of this: no database is created in a workspace before somebody starts a thread in it.
"""

from collections.abc import Sequence

from promptuary.config.settings import Settings
from promptuary.context.assemble import Room
from promptuary.context.history import CachingCounter, CompactionPolicy
from promptuary.core.budget import TokenCounter
from promptuary.core.layers import Layer, check
from promptuary.core.ports.models import ChatModel
from promptuary.core.ports.threads import StateDatabase
from promptuary.core.principals import Principal
from promptuary.core.search import Search
from promptuary.layers.instructions.layer import Instructions
from promptuary.layers.recall import SemanticRecall
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.plugins import installed_layers
from promptuary.threads.threads import Threads
from promptuary.threads.turn import Expand, Learner, ThreadOptions
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import Workspace


def open_threads(
    workspace: Workspace,
    settings: Settings,
    counter: TokenCounter,
    expand: Expand,
    search: Search,
    *,
    database: StateDatabase,
    principal: Principal,
    layers: Sequence[Layer] = (),
    memory_layers: Sequence[Layer] = (),
    model: ChatModel | None = None,
    learner: Learner | None = None,
) -> Threads:
    """Return the threads of ``principal`` in ``database``. ``layers`` are added to those of the workspace.

    One with the id of a layer of ours takes its place.
    """
    files = TrackedFiles(workspace, scoring_model=model)
    recall = [_recall(workspace, search, settings.recall_tokens)] if settings.recall_tokens else []
    given = {layer.id for layer in layers}
    ours = [Instructions(workspace), files, *recall, *memory_layers, *installed_layers()]
    every = [*(layer for layer in ours if layer.id not in given), *layers]
    check(every)
    window = settings.effective_window
    options = ThreadOptions(
        principal=principal,
        store=database.threads(principal),
        layers=every,
        counter=CachingCounter(counter),
        room=Room(window, min(settings.reply_reserve, window // 2), settings.history_share),
        limit=int(window * settings.limit_share),
        policy=compaction_policy(settings),
        model=model,
        expand=expand,
        resource=str(workspace.root.path),
        transaction=database.transaction,
        learner=learner,
    )
    return Threads(options, files, workspace, database)


def compaction_policy(settings: Settings) -> CompactionPolicy:
    """Return when and how far ``settings`` want a history to be compacted."""
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


def _recall(workspace: Workspace, search: Search, tokens: int) -> Layer:
    home = workspace.root.path
    return SemanticRecall(search, lambda: bool(IndexedFoldersFile(home).all()), str(home), most=tokens)

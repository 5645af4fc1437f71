"""The options of a principal's threads: their store, layers and room, and what expands and learns."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Source
from promptuary.base.budget import TokenCounter
from promptuary.base.clock import now
from promptuary.base.messages import Item, WireImage
from promptuary.base.principals import Principal
from promptuary.config.settings import Settings
from promptuary.context.assemble import Room
from promptuary.context.history import CachingCounter, CompactionPolicy
from promptuary.database.binding import BoundDatabase
from promptuary.layers.layer import Layer
from promptuary.models.from_settings import chat_model
from promptuary.models.protocols import ChatModel
from promptuary.references.expansion import Expansion
from promptuary.references.kinds.image import images_again
from promptuary.references.message import ParsedMessage
from promptuary.threads.store.history_cache import Histories
from promptuary.threads.store.store import ThreadStore
from promptuary.workspace.access import Access

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.memory.writeback.learning import Learning
    from promptuary.state import StateDatabase


class Waiting(Struct, frozen=True):
    """What is queued for the next message of a thread: references, and documents that were sent with it."""

    also: str = ""
    brought: Sequence[Source] = ()

    @property
    def any(self) -> bool:
        return bool(self.also or self.brought)


class ExpandRequest(Struct, frozen=True):
    """A message to expand within ``limit`` tokens, and the references queued for it.

    ``said`` is the message as the person typed it, which layers may have changed. ``access`` is what the thread may
    see.
    """

    message: ParsedMessage
    said: str
    also: str
    limit: int
    thread: str
    access: Access = Access()
    rehearsed: bool = False
    """Whether nothing may be written: the message was sent before."""
    brought: Sequence[Source] = ()
    """Documents that were sent with the message."""


Expand = Callable[[ExpandRequest], Expansion]
"""Expands a message, and writes the notes that it asks for. Blocks."""


AccessOf = Callable[[str], Access]
"""Returns what a thread may see. Called in every turn. Blocks."""


ImagesAgain = Callable[[Sequence[Item], Access], Mapping[str, tuple[WireImage, ...]]]
"""Returns the images that the messages of a history show again, by message id. Blocks."""


class ThreadOptions(Struct, frozen=True):
    """The options that all threads of a principal in one workspace share."""

    principal: Principal
    store: ThreadStore
    layers: Sequence[Layer]
    counter: TokenCounter
    room: Room
    limit: int
    policy: CompactionPolicy
    model: ChatModel | None
    expand: Expand
    resource: str
    transaction: Callable[[], AbstractContextManager[None]] = nullcontext
    learning: "Learning | None" = None
    access: AccessOf = lambda _: Access()
    images: ImagesAgain = lambda _items, _access: {}
    rehearsed: bool = False
    """Whether turns are only rehearsed: nothing that their messages ask for is written."""


def thread_options(app: "App", state: "StateDatabase", layers: Sequence[Layer]) -> ThreadOptions:
    """Return the options of the threads of the principal in ``state``."""
    settings, window = app.settings, app.settings.effective_window
    return ThreadOptions(
        principal=app.principal,
        store=state.threads(app.principal),
        layers=layers,
        counter=CachingCounter(app.counter),
        room=_room(settings, window),
        limit=settings.limit_in(window),
        policy=compaction_policy(settings),
        model=app.chat_model or (chat_model(settings, settings.summary_model) if settings.summary_model else None),
        expand=lambda request: app.messages.of_turn(request, window),
        resource=str(app.path),
        transaction=state.transaction,
        learning=app.learning() if state.persistent else None,
        access=lambda thread: app.access(thread, state),
        images=lambda items, access: images_again(items, app.workspace.within(access), settings.counted_model),
    )


def sized(app: "App", options: ThreadOptions, window: int) -> ThreadOptions:
    """Return ``options`` for another window."""
    return replace(
        options,
        room=_room(app.settings, window),
        limit=app.settings.limit_in(window),
        expand=lambda request: app.messages.of_turn(request, window),
    )


def rehearsed(options: ThreadOptions) -> ThreadOptions:
    """Return ``options`` with a new store in memory: nothing is recorded, learnt or written."""
    scratch = BoundDatabase(None)
    return replace(
        options,
        store=ThreadStore(scratch, options.principal, histories=Histories(), clock=now),
        transaction=scratch.transaction,
        learning=None,
        rehearsed=True,
    )


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

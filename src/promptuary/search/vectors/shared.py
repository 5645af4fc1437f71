"""The embedder that all indexes share: a turn asks several of them the same question, which is embedded once."""

import os
import threading
from collections.abc import Sequence
from typing import Final
from weakref import WeakValueDictionary

from promptuary.base.concurrency import Task
from promptuary.config.settings import Settings
from promptuary.models.embedders import embedder_for
from promptuary.models.languages import Known, known_languages
from promptuary.models.protocols import Embedder, Purpose, Scale
from promptuary.workspace.user_folders import cache_folder

_MAX_QUESTIONS: Final = 8
"""How many questions are remembered: those of the turns that are prepared at the same time."""


def shared_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder of the settings: the same one for all indexes that are open."""
    named = settings.embedder, settings.embed_url, settings.embed_model, settings.embed_key, *settings.allow_hosts
    key = str(cache_folder()), *named
    if (shared := _SHARED.get(key)) is not None:
        return shared
    embedder = embedder_for(settings)
    return None if embedder is None else _SHARED.setdefault(key, SharedEmbedder(embedder))


class SharedEmbedder:
    """An embedder that embeds each of the last questions once, for whoever asks for it, in any thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._questions: dict[str, Task[bytes]] = {}

    @property
    def id(self) -> str:
        return self._embedder.id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def scale(self) -> Scale | None:
        """Its scale, if it knows that."""
        scale = getattr(self._embedder, "scale", None)
        return scale if isinstance(scale, Scale) else None

    @property
    def languages(self) -> Known:
        """The languages that it knows."""
        return known_languages(self._embedder)

    def prepare(self) -> None:
        self._embedder.prepare()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return one vector per text, in order."""
        if purpose == "query" and len(texts) == 1:
            return [self._question(texts[0])]
        return self._embedder.embed(texts, purpose)

    def _question(self, text: str) -> bytes:
        with self._lock:
            known = self._questions.get(text)
            task = known or Task(lambda: self._embedder.embed([text], "query")[0])
            self._questions[text] = task
            for oldest in [*self._questions][:-_MAX_QUESTIONS]:
                del self._questions[oldest]
        if known is None:
            # In this thread: it was begun for this.
            task.execute()
            task.end()
        try:
            return task.result()
        except BaseException:
            with self._lock:  # whoever asks next tries again
                self._questions.pop(text, None)
            raise


_SHARED: Final[WeakValueDictionary[tuple[str, ...], SharedEmbedder]] = WeakValueDictionary()
os.register_at_fork(after_in_child=_SHARED.clear)  # libraries of models do not survive a fork

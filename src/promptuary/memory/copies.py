"""Removes the copies of a forgotten note: in the ledger, in indexes, in experiences and in the input history."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from promptuary.base import durable
from promptuary.base.errors import NoteFileError, PromptuaryError
from promptuary.database.columns import to_text
from promptuary.memory.forget import finish
from promptuary.memory.memory import Memory
from promptuary.memory.places import MemoryPlace
from promptuary.memory.redaction import holds, passages
from promptuary.memory.values import Place
from promptuary.references.input_history import drop_lines, lines
from promptuary.search.indexes import drop_note_indexes
from promptuary.workspace.data_folder.private_folder import private_folder

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase

logger = logging.getLogger(__name__)

_LOCK: Final = "forgetting.lock"


class CopyEraser:
    """Removes the copies of notes of the memory at ``place``. ``ledger`` removes those in stored prompts."""

    def __init__(self, app: "App", place: MemoryPlace, state: "StateDatabase") -> None:
        self._app, self._place, self._state = app, place, state
        self.ledger = state.forgetting(place.principal)

    def drop_other_indexes(self) -> None:
        """Remove the indexes of notes of other principals: each is rebuilt when it is next used."""
        drop_note_indexes(self._app, keep=self._place.space)

    def drop_indexes(self) -> None:
        """Remove the indexes of notes of all principals."""
        drop_note_indexes(self._app)

    @contextmanager
    def alone(self, patience: float) -> Iterator[None]:
        """Wait until no other process forgets anything here. Raises ``LockTimeoutError`` after ``patience`` seconds."""
        with ExitStack() as held:
            try:
                lock = private_folder(self._app.path, "index") / _LOCK
                held.enter_context(durable.locked(lock, timeout=patience))
            except OSError as error:
                raise NoteFileError(f"nothing can be forgotten now ({error.strerror}); check the disk") from error
            yield

    def said(self, thread: str) -> Sequence[str]:
        """Return what the person said in a thread."""
        said = self._state.threads(self._place.principal).said(thread)
        return [item.words for item in said if item.role == "user"]

    def elsewhere(self, texts: Sequence[str], *, remove: bool = False) -> Sequence[Place]:
        """Return the experiences and typed lines that say the same as one of these texts; ``remove`` removes them."""
        wanted = passages(texts)
        if not wanted.by_word:
            return ()
        experiences, root, principal = self._app.experiences_in(self._state), self._app.path, self._place.principal
        every = (
            (experience.id, f"{experience.intent}\n{experience.problem}\n{to_text(experience.solution)}")
            for experience in experiences.list().experiences
        )
        found = [Place("experience", key) for key, text in every if holds(text, wanted)]
        if any(holds(line, wanted) for line in lines(root, principal)):
            found.append(Place("typed", "in chats"))
        if remove:
            for place in found:
                if place.kind == "experience":
                    experiences.forget(place.name)
                else:
                    drop_lines(root, principal, lambda line: holds(line, wanted))
        return found


def finish_forgetting(memory: Memory, eraser: CopyEraser) -> None:
    """Finish forgetting what an earlier process began to forget, or what was forgotten in another workspace.

    If the disk fails again, the notes can still be opened, and ``doctor`` reports the problem.
    """
    try:
        finish(memory, eraser)
    except PromptuaryError as error:
        logger.warning("a note is not forgotten whole yet: %s", error)
    # The copies of notes that follow the person and were forgotten in another workspace.
    forgotten = [
        note for notebook in memory.notebooks() if notebook.scope == "user" for note in notebook.journal.forgotten()
    ]
    if sum(eraser.ledger.redact_note(f"memory:{note}") for note in forgotten):
        eraser.drop_indexes()
        eraser.ledger.purge()

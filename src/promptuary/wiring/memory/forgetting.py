"""Forgets a note outside the notes: in the ledger of the workspace, and in the indexes of its principals."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from promptuary import durable
from promptuary.core.errors import NoteFileError, PromptuaryError, UnknownNoteError
from promptuary.core.notes import ForgetReport, Place
from promptuary.memory.forget import Oblivion, finish, forget
from promptuary.memory.memory import Memory
from promptuary.search.indexes import drop_note_indexes
from promptuary.storage.redaction import holds, passages
from promptuary.storage.state import StateDatabase
from promptuary.storage.values import to_text
from promptuary.wiring.answering.being_typed import drop_lines, lines
from promptuary.wiring.memory.notes import MemoryPlace, index_name
from promptuary.workspace.disk.own.private_folder import private_folder
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.experiences.experiences import Experiences

logger = logging.getLogger(__name__)

_LOCK: Final = "forgetting.lock"


def beside_notes(
    workspace: Workspace, place: MemoryPlace, state: StateDatabase, experiences: "Callable[[], Experiences]"
) -> Oblivion:
    """Return what removes the copies of a note. ``experiences`` returns those of the principal."""
    own = index_name(place)
    return Oblivion(
        state.forgetting(place.principal),
        lambda: drop_note_indexes(workspace, but=own),
        lambda patience: _alone(workspace, patience),
        lambda thread: [one.words for one in state.threads(place.principal).said(thread) if one.role == "user"],
        lambda texts: _elsewhere(workspace, place, experiences(), texts),
        lambda texts: _elsewhere(workspace, place, experiences(), texts, remove=True),
    )


def beside_each(
    workspace: Workspace,
    memories: Mapping[str, tuple[MemoryPlace, Memory]],
    state: StateDatabase,
    experiences: "Callable[[], Experiences]",
) -> Mapping[str, tuple[Memory, Oblivion]]:
    """Return the memories of a principal by thread, each with what removes copies of its notes."""
    every = memories.items()
    return {thread: (memory, beside_notes(workspace, place, state, experiences)) for thread, (place, memory) in every}


def _elsewhere(
    workspace: Workspace, place: MemoryPlace, experiences: "Experiences", texts: Sequence[str], *, remove: bool = False
) -> Sequence[Place]:
    """Return the experiences and typed lines that say the same as one of these texts, and remove them if told to."""
    wanted = passages(texts)
    if not wanted.by_word:
        return ()
    every = (
        (one.id, f"{one.intent}\n{one.problem}\n{to_text(one.solution)}") for one in experiences.list().experiences
    )
    found = [Place("experience", key) for key, text in every if holds(text, wanted)]
    if any(holds(line, wanted) for line in lines(workspace.root.path, place.principal)):
        found.append(Place("typed", "in chats"))
    if remove:
        for one in found:
            if one.kind == "experience":
                experiences.forget(one.name)
            else:
                drop_lines(workspace.root.path, place.principal, lambda line: holds(line, wanted))
    return found


@contextmanager
def _alone(workspace: Workspace, patience: float) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(durable.locked(private_folder(workspace.root.path, "index") / _LOCK, timeout=patience))
        except OSError as error:
            raise NoteFileError(f"nothing can be forgotten now ({error.strerror}); check the disk") from error
        yield


def forget_first(
    every: Iterable[tuple[Memory, Oblivion]], key: str, *, everywhere: bool, dry_run: bool
) -> ForgetReport:
    """Forget a note in the first memory that has it. Raises ``UnknownNoteError`` if there is none."""
    unknown: list[UnknownNoteError] = []
    for memory, beside in every:
        try:
            return forget(memory, key, beside, everywhere=everywhere, dry_run=dry_run)
        except UnknownNoteError as error:
            unknown.append(error)
    raise unknown[0]


def forget_the_rest(workspace: Workspace, memory: Memory, beside: Oblivion) -> None:
    """Finish forgetting what an earlier process began to forget, or what was forgotten in another workspace.

    If the disk fails again, the notes can still be opened, and ``doctor`` reports the problem.
    """
    try:
        finish(memory, beside)
    except PromptuaryError as error:
        logger.warning("a note is not forgotten whole yet: %s", error)
    _forget_copies(workspace, memory, beside)


def _forget_copies(workspace: Workspace, memory: Memory, beside: Oblivion) -> None:
    """Forget the copies of notes that follow the person and were forgotten in another workspace."""
    forgotten = [note for one in memory.notebooks() if one.scope == "user" for note in one.journal.forgotten()]
    if sum(beside.ledger.redact_note(f"memory:{note}") for note in forgotten):
        drop_note_indexes(workspace)
        beside.ledger.purge()

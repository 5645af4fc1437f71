"""Looks up the current state of sources, to which the ledger is compared: notes, lists of notes, references."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from promptuary.core.budget import TokenCounter
from promptuary.core.errors import PromptuaryError, SourceError
from promptuary.core.references import Reference
from promptuary.core.threads import DriftKind
from promptuary.experiences.experiences import Experiences
from promptuary.layers.memory_digest import MemoryDigest
from promptuary.memory.memory import Memory
from promptuary.memory.recall.digest import digest, remembered
from promptuary.references.kinds import KINDS
from promptuary.references.resolve import resolve
from promptuary.references.resolve_context import ResolveContext
from promptuary.threads.past.sources_now import Lookups
from promptuary.workspace.workspace import Workspace


def lookups(
    workspace: Workspace,
    counter: TokenCounter,
    memory: Callable[[str], Memory],
    experiences: Callable[[], Experiences],
    *,
    timeout: float,
) -> Lookups:
    """Return the lookups for sources that are not files. ``memory`` returns the memory of a thread."""

    def revision(reference: Reference) -> str:
        with workspace.visit() as visit:
            (found,) = resolve([reference], ResolveContext(visit, counter), KINDS, timeout=timeout)
        if found.error is not None:
            raise SourceError(found.error.code, found.error.reason)
        return found.sources[0].revision

    def digests(thread: str) -> Mapping[str, str]:
        made = digest(remembered(memory(thread).refreshed()), MemoryDigest.most, counter)
        return {block.source.key.partition(":")[2]: block.source.revision for block in (made.blocks if made else ())}

    return Lookups(
        revision,
        lambda note, rev, thread: note_drift(memory(thread), note, rev),
        digests,
        lambda one, rev: experience_drift(experiences(), one, rev),
    )


def experience_drift(experiences: Experiences, experience: str, revision: str) -> DriftKind | None:
    """Return how an experience differs from a revision of it."""
    found = experiences.some([experience]).get(experience)
    if found is None:
        return "gone"
    return None if found.rev == revision else "changed"


def note_drift(memory: Memory, note: str, revision: str) -> DriftKind | None:
    """Return how a note differs from a revision of it."""
    found = memory.exact(f"memory:{note}")
    if found is None:
        changes = [change for notebook in memory.notebooks() for change in notebook.view.changes(note)]
        return "forgotten" if any(change.kind == "forget" for change in changes) else "gone"
    if found.header.status == "archived":
        return "archived"
    return None if found.header.rev == revision else "changed"


def note_address(memory: Memory, key: str) -> str | None:
    """Return the address of the note that ``key`` names by its id, the beginning of it, or its path."""
    with suppress(PromptuaryError):
        found = memory.get(key)
        return None if found is None else found.header.address
    return None

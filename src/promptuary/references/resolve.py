"""From references to sources: concurrently, each with its deadline, each failing alone."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, SourceError
from promptuary.core.references import Reference
from promptuary.references.desk import Desk
from promptuary.references.selection import readings
from promptuary.references.workers import Workers
from promptuary.workspace.door import Workspace

if TYPE_CHECKING:
    from promptuary.references.kinds import Kind

logger = logging.getLogger(__name__)

CONCURRENCY = 8


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of one reference: its sources, or why there are none."""

    reference: Reference
    sources: tuple[Source, ...] = ()
    error: SourceError | None = None


def settle(references: Iterable[Reference], workspace: Workspace) -> list[Reference]:
    """Return the references that count: named kinds as they are, bare paths as the file or folder they name."""
    settled = (_settled(one, workspace) if one.bare else one for one in references)
    return [one for one in settled if one is not None]


def _settled(reference: Reference, workspace: Workspace) -> Reference | None:
    for reading in readings(reference):
        kind = workspace.kind_of(reading.path)
        if kind == "folder" and reference.sigil == "@":
            return replace(reference, kind="folder")
        if kind in {"file", "other"}:
            return replace(reference, kind="file")
    # A path with folders and a known ending after a "#" is meant: better a clear answer than silence.
    path = reference.value.partition("#")[0]
    meant = reference.sigil == "#" and "/" in path and "." in path.rsplit("/", 1)[-1]
    if meant and workspace.policy.refusal(path) is None:
        return replace(reference, kind="file")
    return None


async def resolve(
    references: Sequence[Reference], desk: Desk, kinds: "Mapping[str, Kind]", *, timeout: float
) -> list[Resolution]:
    """Return what each reference leads to, in order."""
    workers = Workers(min(CONCURRENCY, len(references)))
    places = asyncio.Semaphore(CONCURRENCY)

    async def one(reference: Reference) -> Resolution:
        async with places:
            return await _resolve_one(reference, desk, kinds[reference.kind], workers, timeout)

    try:
        return list(await asyncio.gather(*map(one, references)))
    finally:
        workers.close()


async def _resolve_one(reference: Reference, desk: Desk, kind: "Kind", workers: Workers, timeout: float) -> Resolution:
    try:
        return Resolution(reference, tuple(await workers.call(lambda: kind(reference, desk), timeout)))
    except SourceError as error:
        return Resolution(reference, error=error)
    except TimeoutError:
        reason = f"it took longer than {timeout:g} s; ask for less, or allow more with --timeout"
        return Resolution(reference, error=SourceError(Code.TIMEOUT, reason))
    except Exception:  # a defect of one kind must not lose the message; it is logged with its trace
        logger.exception("resolving a %s reference failed", reference.kind)
        reason = "this is a defect of Promptuary; run again with --debug and report what it prints"
        return Resolution(reference, error=SourceError(Code.INTERNAL, reason))

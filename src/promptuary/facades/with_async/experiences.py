"""``Promptuary.experiences`` with ``async``; ``without_async.experiences`` is the same without."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack

from promptuary import concurrency
from promptuary.core.fading import HALF_LIFE, PRUNE_BELOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptuary.core.blocks import Block
    from promptuary.core.experiences import (
        Experience,
        ExperienceFields,
        ExperienceList,
        ExperienceOutcome,
        ExperienceResult,
        ExperienceStats,
        Feedback,
        PruneReport,
    )
    from promptuary.core.layers import Json
    from promptuary.core.messages import Message
    from promptuary.core.notes import NoteTrust
    from promptuary.experiences.experiences import Experiences
    from promptuary.threads.prepared import Turn
    from promptuary.wiring.core import Core

Result = TypeVar("Result")


class AsyncExperiences:
    """The experience store of the principal: ``Promptuary.experiences``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def add(
        self,
        type: str,  # noqa: A002  (what it is called everywhere else)
        intent: str,
        solution: Json = None,
        *,
        trust: NoteTrust = "person",
        **fields: Unpack[ExperienceFields],
    ) -> Experience:
        """Store what worked or what went wrong; an equal experience is reinforced. Secrets are removed.

        ``type`` is tool_chain, user_preference, task_solution, error_recovery, or ``package.name`` for a plug-in's own.
        ``trust`` says whose words it holds: external ones are not shown in a turn before somebody confirms them.
        """
        return await self._run(lambda one: one.add(type, intent, solution, trust=trust, **fields), create=True)

    async def record(self, messages: Sequence[Message], *, turn: Turn | None = None) -> Sequence[Experience]:
        """Store and return the lessons of the tool calls in ``messages``. ``finish`` does this automatically.

        ``messages`` follow the prompt of ``turn``; without one they are a conversation of another program and begin
        with what the person said.
        """
        return await concurrency.run(lambda: self._core.record(messages, turn))

    async def track_preference(self, category: str, value: str, **fields: Unpack[ExperienceFields]) -> Experience:
        """Store that ``value`` is preferred for ``category``: it gains confidence each time, other values lose it."""
        return await self._run(lambda one: one.track_preference(category, value, **fields), create=True)

    async def get(self, key: str) -> Experience | None:
        """Return an experience by its id or the beginning of its id; ``None`` if there is none."""
        return await self._run(lambda one: one.get(key))

    async def list(
        self,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        tags: Sequence[str] = (),
        outcome: ExperienceOutcome | None = None,
        min_weight: float = 0.0,
        offset: int = 0,
        limit: int | None = None,
    ) -> ExperienceList:
        """Return experiences that have all of ``tags``, the most recently used first.

        ``min_weight`` is the least strength, between 0 and 1; ``offset`` leaves out the first.
        """
        return await self._run(
            lambda one: one.list(
                type=type, tags=tags, outcome=outcome, min_weight=min_weight, offset=offset, limit=limit
            )
        )

    async def find_similar(
        self,
        query: str,
        tags: Sequence[str] = (),
        limit: int = 10,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        outcome: ExperienceOutcome | None = None,
        strict_tags: bool = False,
        lexical_only: bool = False,
    ) -> ExperienceResult:
        """Return the experiences that resemble ``query``, by words and meaning, mainly ordered by relevance.

        Strength, success and shared ``tags`` add to the score. With ``strict_tags``, every hit shares a tag.
        """
        return await self._run(
            lambda one: one.find_similar(
                query, tags, limit, type=type, outcome=outcome, strict_tags=strict_tags, lexical_only=lexical_only
            )
        )

    async def for_message(self, message: str, *, lexical_only: bool = False) -> Sequence[Block]:
        """Return what a turn with ``message`` would show, selected by the same rules; empty if nothing is relevant."""
        return await self._run(lambda one: one.for_message(message, lexical_only=lexical_only))

    async def mark_used(self, key: str) -> Experience:
        """Count a use: it resets the strength of an experience to its base weight."""
        return await self._run(lambda one: one.mark_used(key))

    async def feedback(self, key: str, feedback: Feedback) -> Experience:
        """Record that an experience helped, is wrong, or is stale."""
        return await self._run(lambda one: one.feedback(key, feedback))

    async def apply_decay(self, half_life_days: float = HALF_LIFE) -> int:
        """Store the current weights of all experiences; return how many changed. Safe to repeat at any interval."""
        return await self._run(lambda one: one.apply_decay(half_life_days))

    async def prune_expired(self, min_weight: float = PRUNE_BELOW, *, dry_run: bool = False) -> PruneReport:
        """Remove experiences whose strength is below ``min_weight``; ``dry_run`` only reports them."""
        return await self._run(lambda one: one.prune_expired(min_weight, dry_run=dry_run))

    async def forget(self, key: str) -> Experience:
        """Erase an experience completely, and return what it was."""
        return await self._run(lambda one: one.forget(key))

    async def stats(self) -> ExperienceStats:
        """Return counts of the experiences, by type and outcome."""
        return await self._run(lambda one: one.stats())

    async def _run(self, work: Callable[[Experiences], Result], *, create: bool = False) -> Result:
        return await concurrency.run(lambda: work(self._core.experiences(create=create)))

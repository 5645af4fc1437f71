"""``Experiences``: the experience store of one principal, as ``Promptuary.experiences`` offers it.

Values are validated and scrubbed before they reach the store. Every method may be called from any thread.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from msgspec.structs import replace

from promptuary.base.blocks import Block
from promptuary.base.budget import TokenCounter
from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, PromptuaryError, UnknownExperienceError
from promptuary.base.values import Json
from promptuary.experiences.decay import HALF_LIFE, PRUNE_BELOW
from promptuary.experiences.drafting import (
    check_days,
    check_feedback,
    check_outcome,
    check_share,
    check_tags,
    check_type,
    draft,
    preference,
)
from promptuary.experiences.experience_blocks import experience_block
from promptuary.experiences.index import ExperienceIndex
from promptuary.experiences.search import ExperienceQuery
from promptuary.experiences.selection import MAX_FOUND, select
from promptuary.experiences.store import Change, ExperienceStore
from promptuary.experiences.values import (
    Experience,
    ExperienceFields,
    ExperienceFilter,
    ExperienceList,
    ExperienceOutcome,
    ExperienceResult,
    ExperienceStats,
    Feedback,
    PruneReport,
    decay,
    judge,
    strength,
    use,
)
from promptuary.memory.values import NoteTrust
from promptuary.search.query import unquoted
from promptuary.search.records import LONG_PATIENCE

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase
    from promptuary.threads.store.forgetting import Forgetting

_EVERY: Final = ExperienceFilter()
_NAMED: Final = 5
_BATCH: Final = 500
"""How many experiences are changed per transaction when all are changed."""


class Experiences:
    """The experiences of one principal in ``store``, which notifies ``search`` of changes.

    ``ledger`` removes forgotten experiences from stored prompts. ``clock`` returns the time, ISO 8601 in UTC.
    ``counter`` counts the tokens of blocks.
    """

    def __init__(
        self,
        store: ExperienceStore,
        search: ExperienceIndex,
        ledger: "Forgetting",
        *,
        clock: Callable[[], str],
        counter: TokenCounter,
    ) -> None:
        self._store, self._search, self._ledger, self._clock = store, search, ledger, clock
        self._counter = counter

    @classmethod
    def open(cls, app: "App", state: "StateDatabase") -> "Experiences":
        """Return the experiences of the principal in ``state``. The index is not created before there is one."""
        search: ExperienceIndex

        def changed(ids: Collection[str]) -> None:
            search.mark_changed(ids)

        store = state.experiences(app.principal, changed)
        search = ExperienceIndex.open(app, store)
        return cls(store, search, state.forgetting(app.principal), clock=now, counter=app.counter)

    def add(
        self,
        type: str,  # noqa: A002  (what it is called everywhere else)
        intent: str,
        solution: Json = None,
        *,
        trust: NoteTrust = "person",
        **fields: Unpack[ExperienceFields],
    ) -> Experience:
        """Store an experience without secrets and return it as stored; an equal one is reinforced instead.

        Joins an open transaction of the database. Raises ``ConfigError`` if a value is invalid.
        """
        return self._store.add(draft(type, intent, solution, fields, now=self._clock(), trust=trust))

    def track_preference(
        self,
        category: str,
        value: str,
        *,
        said: str = "",
        trust: NoteTrust = "person",
        **fields: Unpack[ExperienceFields],
    ) -> Experience:
        """Store that ``value`` is preferred for ``category``; other values lose confidence.

        ``said`` is the sentence that stated it, if there is one.
        """
        return self._store.add(preference(category, value, fields, said=said, now=self._clock(), trust=trust))

    def get(self, key: str) -> Experience | None:
        """Return an experience by its id or the beginning of its id; ``None`` if there is none."""
        found = self._store.get(key)
        if found is not None or not key:
            return found
        ids = self._store.beginning(key, _NAMED)
        if len(ids) > 1:
            raise ConfigError(f"{key[:80]!r} is the beginning of {', '.join(ids)}; name one of them")
        return self._store.get(ids[0]) if ids else None

    def list(
        self,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        tags: Sequence[str] = (),
        outcome: ExperienceOutcome | None = None,
        min_weight: float = 0.0,
        offset: int = 0,
        limit: int | None = None,
    ) -> ExperienceList:
        """Return experiences that have all of ``tags``, the most recently used first."""
        if offset < 0:
            raise PromptuaryError(f"offset is how many to leave out, 0 or more, not {offset!r}")
        wanted = ExperienceFilter(
            [check_type(type)] if type else (),
            [check_outcome(outcome)] if outcome else (),
            check_tags(tags),
            limit,
        )
        least, now = check_share("min_weight", min_weight), self._clock()
        if not offset and not least:
            return ExperienceList(self._store.list(wanted), self._store.count(wanted))
        every = [
            experience
            for experience in self._store.list(replace(wanted, limit=None))
            if strength(experience, now) >= least
        ]
        return ExperienceList(every[offset:][: None if limit is None else max(0, limit)], len(every))

    def find_similar(
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

        Strength, success and shared ``tags`` add to the score; with ``strict_tags``, every result shares a tag.
        Experiences weaker than ``PRUNE_BELOW`` are not found.
        """
        if not isinstance(query, str):
            raise ConfigError(f"query is a text, not {query.__class__.__name__}")
        if not lexical_only:
            self._search.embed_few()
        asked = ExperienceQuery(
            query,
            check_tags(tags),
            limit,
            [check_type(type)] if type else (),
            [check_outcome(outcome)] if outcome else (),
            strict_tags,
            lexical_only,
        )
        return self._search.find(asked, timeout=LONG_PATIENCE)

    def similar_now(self, query: ExperienceQuery) -> ExperienceResult:
        """Return the same for a turn, without waiting for embeddings."""
        return self._search.find(query)

    def some(self, ids: Collection[str]) -> Mapping[str, Experience]:
        """Return the experiences with these ids; unknown ids are skipped."""
        return self._store.some(ids)

    def for_message(self, message: str, *, lexical_only: bool = False) -> Sequence[Block]:
        """Return what a turn with ``message`` is shown, as blocks; empty if nothing is relevant."""
        found = self.find_similar(unquoted(message), limit=MAX_FOUND, lexical_only=lexical_only)
        return [experience_block(hit.experience, self._counter, self._clock()) for hit in select(found).shown]

    def mark_used(self, key: str) -> Experience:
        """Count a use: it resets the strength of an experience to its base weight."""
        return self._change(key, partial(use, now=self._clock()))

    def mark_all_used(self, ids: Sequence[str]) -> None:
        """Count a use of each of these; missing ones are ignored."""
        if ids:
            self._store.change(ids, partial(use, now=self._clock()))

    def feedback(self, key: str, feedback: Feedback) -> Experience:
        """Record that an experience helped, is wrong, or is stale."""
        said = check_feedback(feedback)
        return self._change(key, partial(judge, feedback=said, now=self._clock()))

    def apply_decay(self, half_life_days: float = HALF_LIFE) -> int:
        """Store the current weights, which halve in ``half_life_days`` without use; return how many changed.

        Applied daily or once, the result is the same.
        """
        days, now = check_days("half_life_days", half_life_days), self._clock()
        ids = list(self._store.revisions(now, 0.0))
        # In batches, so that others can write in between: what a kill leaves undone is done next time.
        batches = (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))
        change = partial(decay, now=now, half_life_days=days)
        return sum(len(self._store.change(batch, change)) for batch in batches)

    def prune_expired(self, min_weight: float = PRUNE_BELOW, *, dry_run: bool = False) -> PruneReport:
        """Remove experiences whose strength is below ``min_weight``; ``dry_run`` only reports them."""
        least, now = check_share("min_weight", min_weight), self._clock()
        strong = self._store.revisions(now, least)
        weak = self._store.some([revision for revision in self._store.revisions(now, 0.0) if revision not in strong])
        if not dry_run and weak:
            self._store.remove(weak)
        return PruneReport(least, list(weak.values()), done=not dry_run)

    def forget(self, key: str) -> Experience:
        """Erase an experience completely, and return what it was."""
        found = self._require(key)
        hashes = self._search.hashes(found.id)
        # Before it is removed: only the index knows the hashes, and after a kill it follows the store.
        self._search.remove_vectors(hashes)
        self._store.remove([found.id])
        self._ledger.redact_note(found.address, [found.intent, found.problem])
        self._store.purge()
        # Last: it fails while another process writes the index, and that process drops what is gone from the store.
        self._search.forget(hashes)
        return found

    def stats(self) -> ExperienceStats:
        """Return how many experiences there are, and of what kind."""
        every, now = self._store.list(_EVERY), self._clock()
        return ExperienceStats(
            len(every),
            dict(sorted(Counter(experience.type for experience in every).items())),
            dict(sorted(Counter(experience.outcome for experience in every).items())),
            sum(strength(experience, now) < PRUNE_BELOW for experience in every),
            sum(experience.use_count for experience in every),
        )

    def strength(self, experience: Experience) -> float:
        return strength(experience, self._clock())

    def settle(self) -> None:
        """Wait until everything that was added is indexed."""
        self._search.settle()

    def close(self) -> None:
        """Index pending additions, and close the index."""
        self._search.close()

    def _require(self, key: str) -> Experience:
        found = self.get(key)
        if found is None:
            raise UnknownExperienceError(
                f"there is no experience {key[:80]!r}; `promptuary experience list` shows them"
            )
        return found

    def _change(self, key: str, change: Change) -> Experience:
        known = self._require(key)
        changed = self._store.change([known.id], change)
        if self.strength(known) < PRUNE_BELOW:
            self._search.mark_changed([known.id])  # it may be strong enough to be found again
        return changed[0] if changed else known

"""The contract of every queue of turns and store of proposals: subclass, and add a ``queue`` or ``proposals`` fixture.

class TestMyQueue(NoteQueueConformance):
    @pytest.fixture
    def queue(self):
        ...     # an empty one
"""

from functools import partial
from typing import Final

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.memory.values import NoteDraft
from promptuary.memory.writeback.store import NoteQueue, ProposalStore
from promptuary.memory.writeback.values import Proposal, QueuedTurn

ONE: Final = QueuedTurn("turn-1", "main", "2026-01-02T03:04:05+00:00", '{"said": "ä \\ud83d\\ude00 \\u0000"}', due=10.0)
TWO: Final = QueuedTurn("turn-2", "other", "2026-01-02T03:04:06+00:00", "two", due=20.0)


class NoteQueueConformance:
    """The contract of a ``NoteQueue``."""

    def test_a_turn_that_is_given_back_can_be_taken_at_once(self, queue: NoteQueue) -> None:
        queue.add(QueuedTurn("one", "main", "now", "text", due=1.0))
        assert queue.take(2.0, lease=100.0) is not None
        assert queue.take(3.0, lease=100.0) is None

        queue.release("one")
        again = queue.take(3.0, lease=100.0)
        assert again is not None
        assert (again.id, again.tries) == ("one", 0)

    def test_what_is_added_waits_as_it_is_the_oldest_first(self, queue: NoteQueue) -> None:
        assert [queue.add(TWO), queue.add(ONE)] == [True, True]
        assert list(queue.waiting()) == [TWO, ONE]

    def test_turns_of_a_thread_wait_under_its_new_name(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        queue.add(TWO)
        queue.rename_thread(ONE.thread, "new")

        assert list(queue.waiting()) == [replace(ONE, thread="new"), TWO]

    def test_a_turn_is_added_once(self, queue: NoteQueue) -> None:
        assert [queue.add(ONE), queue.add(replace(ONE, text="another"))] == [True, False]
        assert list(queue.waiting()) == [ONE]

    def test_the_turn_that_has_been_due_longest_is_taken_first(self, queue: NoteQueue) -> None:
        queue.add(TWO)
        queue.add(ONE)

        assert [queue.take(30.0, lease=60.0), queue.take(30.0, lease=60.0)] == [ONE, TWO]

    def test_a_turn_is_taken_when_it_is_due_and_not_before(self, queue: NoteQueue) -> None:
        queue.add(ONE)

        assert [queue.take(9.9, lease=1.0), queue.take(10.0, lease=1.0)] == [None, ONE]

    def test_nobody_else_gets_a_turn_that_was_taken_until_its_lease_ends(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        queue.take(10.0, lease=5.0)

        assert [queue.take(14.9, lease=5.0), queue.take(15.0, lease=5.0)] == [None, ONE]

    def test_whoever_took_too_long_changes_nothing_of_what_another_has(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        late = queue.take(10.0, lease=5.0)
        now = queue.take(20.0, lease=5.0)
        assert late is not None
        assert now is not None

        assert not queue.done(ONE.id, lease=late.lease)
        assert not queue.failed(ONE.id, error="late", due=None, lease=late.lease)
        assert not queue.release(ONE.id, lease=late.lease)
        assert list(queue.waiting()) == [ONE]
        assert queue.take(24.0, lease=5.0) is None
        assert queue.done(ONE.id, lease=now.lease)
        assert not queue.done(ONE.id, lease=now.lease)
        assert list(queue.waiting()) == []

    def test_a_lease_ends_with_a_failure_or_when_it_is_given_back(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        first = queue.take(10.0, lease=5.0)
        assert first is not None
        assert queue.release(ONE.id, lease=first.lease)
        second = queue.take(11.0, lease=5.0)
        assert second is not None
        assert queue.failed(ONE.id, error="busy", due=12.0, lease=second.lease)
        assert queue.take(12.0, lease=5.0) == replace(ONE, due=12.0, tries=1, error="busy")

    def test_what_is_done_is_gone(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        queue.add(TWO)
        queue.done(ONE.id)
        queue.done("never-there")

        assert list(queue.waiting()) == [TWO]

    def test_what_failed_is_due_again_later_and_counts_its_tries(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        queue.take(10.0, lease=600.0)
        queue.failed(ONE.id, error="busy", due=50.0)

        assert queue.take(49.0, lease=1.0) is None
        assert queue.take(50.0, lease=1.0) == replace(ONE, due=50.0, tries=1, error="busy")

    def test_what_failed_for_good_is_kept_and_not_taken(self, queue: NoteQueue) -> None:
        queue.add(ONE)
        queue.failed(ONE.id, error="busy", due=None)

        assert queue.take(1e12, lease=1.0) is None
        assert list(queue.waiting()) == [replace(ONE, due=None, tries=1, error="busy")]

    def test_turns_of_one_thread_do_not_displace_one_another_nor_those_of_others(self, queue: NoteQueue) -> None:
        """W10: no snapshot is dropped because another one arrived."""
        turns = [QueuedTurn(f"turn-{number}", f"thread-{number % 3}", "", "x", due=0.0) for number in range(12)]
        for one in turns:
            queue.add(one)

        assert list(queue.waiting()) == turns

    def test_several_threads_never_take_the_same_turn(self, queue: NoteQueue) -> None:
        for number in range(12):
            queue.add(QueuedTurn(f"turn-{number}", "main", "", "x", due=0.0))
        tasks = [concurrency.begin(partial(queue.take, 1.0, lease=60.0)) for _ in range(12)]
        taken = [one.id for task in tasks if (one := task.result())]

        assert sorted(taken) == sorted({f"turn-{number}" for number in range(12)})


_DRAFT: Final = NoteDraft(
    "Use tabs\n\nä 😀",
    title="Tabs",
    id="0123456789ab",
    kind="feedback",
    audience="shared",
    scope="project",
    tags=("style", "tabs"),
    source="writeback",
    source_ref="thread:main",
    valid_from="2026-01-02",
    supersedes="ba9876543210",
    confidence=0.5,
    trust="external",
)
FIRST: Final = Proposal("p1", "write", "2026-01-02", "writeback", _DRAFT, "f1", rev="r", reason="why", evidence="said")
SECOND: Final = Proposal("p2", "archive", "2026-01-03", "extract", NoteDraft(id="0123456789ab"), "f2")


class ProposalStoreConformance:
    """The contract of a ``ProposalStore``."""

    def test_what_is_added_waits_as_it_is_the_oldest_first(self, proposals: ProposalStore) -> None:
        assert [proposals.add(FIRST), proposals.add(SECOND)] == [True, True]
        assert list(proposals.all()) == [FIRST, SECOND]
        assert proposals.get("p1") == FIRST
        assert proposals.get("p3") is None

    def test_what_would_do_the_same_is_not_added_again(self, proposals: ProposalStore) -> None:
        proposals.add(FIRST)

        assert not proposals.add(replace(SECOND, fingerprint="f1"))
        assert list(proposals.all()) == [FIRST]

    def test_what_was_rejected_is_not_added_again(self, proposals: ProposalStore) -> None:
        proposals.add(FIRST)

        assert proposals.remove("p1", rejected=True)
        assert not proposals.add(replace(FIRST, id="p9"))
        assert list(proposals.all()) == []

    def test_what_was_accepted_may_be_proposed_again(self, proposals: ProposalStore) -> None:
        proposals.add(FIRST)
        proposals.remove("p1", rejected=False)

        assert proposals.add(FIRST)

    def test_a_proposal_is_replaced_in_its_place(self, proposals: ProposalStore) -> None:
        proposals.add(FIRST)
        proposals.add(SECOND)
        edited = replace(FIRST, draft=replace(_DRAFT, content="Use spaces"), fingerprint="f3")

        assert proposals.replace(edited)
        assert list(proposals.all()) == [edited, SECOND]
        assert not proposals.replace(replace(FIRST, id="p9"))

    def test_what_is_not_there_cannot_be_removed(self, proposals: ProposalStore) -> None:
        assert not proposals.remove("p1", rejected=True)

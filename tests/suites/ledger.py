"""What every store of threads must record about the sources of its turns: subclass ``LedgerConformance``.

It needs the fixtures of ``ThreadStoreConformance``: ``database``, new and empty, and ``store``, the threads of the
local person in it.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from promptuary.base.blocks import Attachment, Detail
from promptuary.base.messages import Item, Message, Replacement
from promptuary.base.principals import Principal
from promptuary.context.receipt import EntryStatus, Receipt, ReceiptEntry
from promptuary.layers.layer import LayerState, StateKey
from promptuary.state import StateDatabase
from promptuary.threads.ledger_values import Origin, Pruned, SourceUse, Way
from promptuary.threads.records import ThreadChange, TurnRecord
from promptuary.threads.store.store import ThreadStore


def entry(source: str, status: EntryStatus = "in", *, layer: str = "references", revision: str = "r1") -> ReceiptEntry:
    """Return the entry of a source in a receipt."""
    return ReceiptEntry(layer, source, status, source=source, revision=revision, lines=(1, 3))


def with_file(name: str, source: str, *, turn: str = "", revision: str = "r1") -> Item:
    """Return a message to which a file was attached."""
    text = f"{name} shows {source}"
    attached = Attachment(source, source, revision, Detail.FULL, (1, 3), 0, len(text))
    return Item(name, "user", text, attachments=(attached,), words_start=len(text), turn=turn)


def turn_of(
    number: int, *entries: ReceiptEntry, history: Sequence[Item] = (), thread: str = "t", status: str = "prepared"
) -> TurnRecord:
    """Return a turn whose prompt has ``history`` before its message."""
    name = f"{thread}-{number}"
    messages: list[Message] = [{"role": item.role, "content": item.content} for item in history]
    messages.append({"role": "user", "content": f"message {number}"})
    receipt = Receipt(name, thread, 1000, 100, 10 * number, entries=entries)
    turn = TurnRecord(
        name, thread, number, f"2026-01-{number:02}T12:00:00Z", "prepared", f"message {number}", messages, receipt
    )
    return replace(turn, status=status)


def origin(source: str, how: Way = "direct", *, layer: str = "references", revision: str = "r1") -> Origin:
    """Return how a source got into a prompt."""
    return Origin(source, how, layer, revision, (1, 3))


def brief(uses: Sequence[SourceUse]) -> list[tuple[str, int, str, Way]]:
    """Return where sources were used, and how."""
    return [(use.thread, use.number, use.origin.source, use.origin.how) for use in uses]


class LedgerConformance:
    """The promises of the ledger about sources."""

    def test_a_turn_is_found_by_every_source_in_its_prompt_and_by_none_that_was_left_out(
        self, store: ThreadStore
    ) -> None:
        store.apply(
            ThreadChange(
                "t",
                turn=turn_of(
                    1,
                    entry("file:a.py"),
                    entry("file:b.py", "degraded", layer="file_reference"),
                    entry("file:c.py", "out"),
                    entry("history", layer="history"),
                    entry("message", layer="message"),
                ),
            )
        )

        found = [origin("file:a.py"), origin("file:b.py", layer="file_reference")]
        assert [use.origin for use in store.sources("t", 1)] == found
        assert store.uses(["file:b.py"]) == (SourceUse("t", 1, "2026-01-01T12:00:00Z", "prepared", found[1]),)
        assert brief(store.uses(["file:b.py", "file:a.py"])) == [
            ("t", 1, "file:a.py", "direct"),
            ("t", 1, "file:b.py", "direct"),
        ]
        assert [store.uses([one]) for one in ("file:c.py", "history", "message", "a.py")] == [()] * 4
        assert (store.sources("t", 2), store.sources("other", 1)) == ((), ())

    def test_what_was_attached_to_an_earlier_message_influences_every_turn_that_still_has_it(
        self, store: ThreadStore
    ) -> None:
        first, second = with_file("i1", "file:a.py"), with_file("i2", "file:b.py")
        store.apply(ThreadChange("t", turn=turn_of(1, entry("file:a.py")), items=[first]))
        store.apply(ThreadChange("t", turn=turn_of(2, history=[first]), items=[second]))
        store.apply(ThreadChange("t", turn=turn_of(3, history=[second])))
        store.apply(ThreadChange("t", turn=turn_of(4, history=[first, second])))

        assert brief(store.uses(["file:a.py"])) == [
            ("t", 4, "file:a.py", "history"),
            ("t", 2, "file:a.py", "history"),
            ("t", 1, "file:a.py", "direct"),
        ]
        assert brief(store.sources("t", 4)) == [
            ("t", 4, "file:a.py", "history"),
            ("t", 4, "file:b.py", "history"),
        ]
        assert brief(store.uses(["file:b.py"])) == [
            ("t", 4, "file:b.py", "history"),
            ("t", 3, "file:b.py", "history"),
        ]

    def test_a_summary_still_carries_the_sources_of_what_it_replaced(self, store: ThreadStore) -> None:
        items = [with_file("i1", "file:a.py"), with_file("i2", "file:b.py")]
        store.apply(ThreadChange("t", turn=turn_of(1), items=items))
        summary = Item("s", "user", "what was said", kind="summary", stands_for=("i1", "i2"))
        change = ThreadChange(
            "t", turn=turn_of(2, history=[summary]), replacements=[Replacement(("i1", "i2"), summary)]
        )
        store.apply(change)
        again = Item("z", "user", "shorter still", kind="summary", stands_for=("s", "i1", "i2"))
        store.apply(ThreadChange("t", turn=turn_of(3, history=[again]), replacements=[Replacement(("s",), again)]))

        assert brief(store.sources("t", 2)) == [
            ("t", 2, "file:a.py", "summary"),
            ("t", 2, "file:b.py", "summary"),
        ]
        assert brief(store.uses(["file:a.py"])) == [("t", 3, "file:a.py", "summary"), ("t", 2, "file:a.py", "summary")]

    def test_a_message_that_was_cut_shows_its_attachment_itself(self, store: ThreadStore) -> None:
        whole = with_file("i1", "file:a.py")
        store.apply(ThreadChange("t", turn=turn_of(1), items=[whole]))
        cut = replace(whole, id="i2", content="cut", stands_for=("i1",))
        store.apply(ThreadChange("t", turn=turn_of(2, history=[cut]), replacements=[Replacement(("i1",), cut)]))

        assert brief(store.uses(["file:a.py"])) == [("t", 2, "file:a.py", "history")]

    def test_uses_are_given_newest_first_up_to_a_limit_and_of_finished_turns_alone_if_asked(
        self, store: ThreadStore
    ) -> None:
        carrying = with_file("i1", "file:a.py")
        store.apply(ThreadChange("t", turn=turn_of(1, entry("file:a.py")), items=[carrying]))
        for number in (2, 3, 4):
            status = "finished" if number == 3 else "abandoned"
            store.apply(ThreadChange("t", turn=turn_of(number, entry("file:a.py"), history=[carrying], status=status)))
        store.apply(ThreadChange("u", turn=turn_of(9, entry("file:a.py"), thread="u", status="finished")))

        every = brief(store.uses(["file:a.py"]))
        assert [number for _, number, _, _ in every] == [9, 4, 4, 3, 3, 2, 2, 1]
        assert [brief(store.uses(["file:a.py"], limit=count)) for count in (1, 3, 8)] == [every[:1], every[:3], every]
        finished = brief(store.uses(["file:a.py"], finished_only=True))
        assert finished == [
            ("u", 9, "file:a.py", "direct"),
            ("t", 3, "file:a.py", "direct"),
            ("t", 3, "file:a.py", "history"),
        ]

    def test_what_becomes_of_a_turn_changes_its_status_and_not_what_it_was_based_on(self, store: ThreadStore) -> None:
        carrying = with_file("i1", "file:a.py")
        store.apply(ThreadChange("t", turn=turn_of(1), items=[carrying]))
        turn = turn_of(2, entry("file:b.py"), history=[carrying])
        store.apply(ThreadChange("t", turn=turn))
        before = store.sources("t", 2)
        store.apply(ThreadChange("t", turn=replace(turn, status="finished"), items=[with_file("i2", "file:b.py")]))

        assert store.sources("t", 2) == tuple(replace(use, status="finished") for use in before)
        changed = replace(turn, receipt=replace(turn.receipt, entries=[entry("file:c.py")]))
        store.apply(ThreadChange("t", turn=changed))
        assert brief(store.sources("t", 2)) == [("t", 2, "file:a.py", "history"), ("t", 2, "file:c.py", "direct")]

    def test_the_sources_that_were_used_can_be_listed(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", turn=turn_of(1, entry("file:a.py"), entry("url:https://example.org/\ud800"))))
        store.apply(ThreadChange("t", turn=turn_of(2, entry("memory:abcd"), entry("file:a.py"))))

        assert list(store.addresses()) == ["memory:abcd", "url:https://example.org/\ud800", "file:a.py"]
        assert list(store.addresses(1)) == ["memory:abcd"]

    def test_sources_belong_to_one_owner(self, database: StateDatabase, store: ThreadStore) -> None:
        theirs = database.threads(Principal("ada"))
        item = with_file("i1", "file:a.py")
        theirs.apply(ThreadChange("t", turn=turn_of(1, entry("file:a.py")), items=[item]))
        mine = replace(turn_of(1, entry("file:b.py"), history=[item]), id="mine")
        store.apply(ThreadChange("t", turn=mine))

        assert (store.uses(["file:a.py"]), store.addresses(), len(store.sources("t", 1))) == ((), ("file:b.py",), 1)
        assert (theirs.uses(["file:b.py"]), theirs.addresses(), len(theirs.sources("t", 1))) == ((), ("file:a.py",), 1)

    def test_a_forgotten_note_is_still_named_but_nothing_of_it_is_told(
        self, database: StateDatabase, store: ThreadStore
    ) -> None:
        note = "memory:4f1cabcd"
        item = with_file("i1", note)
        store.apply(ThreadChange("t", turn=turn_of(1, entry(note)), items=[item]))
        store.apply(ThreadChange("t", turn=turn_of(2, entry("file:a.py"), history=[item])))
        database.forgetting(Principal("local")).redact_note(note)

        told = [use.origin for use in store.uses([note])]
        assert told == [Origin(note, how, "references", "", None) for how in ("history", "direct")]
        assert store.uses(["file:a.py"])[0].origin == origin("file:a.py")

    def test_old_turns_go_and_a_thread_in_use_keeps_its_history_and_its_numbers(self, store: ThreadStore) -> None:
        early, late = with_file("i1", "file:a.py", turn="t-1"), with_file("i2", "file:b.py", turn="t-2")
        store.apply(ThreadChange("t", turn=turn_of(1, entry("file:a.py")), items=[early]))
        store.apply(ThreadChange("t", turn=turn_of(2, entry("file:b.py"), history=[early]), items=[late]))
        summary = Item("s", "user", "in short", kind="summary", stands_for=("i1",))
        last = turn_of(3, entry("file:c.py"), history=[summary, late])
        store.apply(ThreadChange("t", turn=last, replacements=[Replacement(("i1",), summary)]))
        before = (store.history("t"), store.turn("t", 3), 3)
        tried = store.prune("2026-01-03T00:00:00", dry_run=True)
        assert (len(store.turns("t")), len(store.said("t"))) == (3, 3)
        done = store.prune("2026-01-03T00:00:00")

        assert (done.threads, done.turns, done.messages, done) == (0, 2, 1, tried)
        assert done.bytes > 0
        assert [turn.number for turn in store.turns("t")] == [3]
        assert (store.history("t"), store.turn("t", 3), store.last_number("t")) == before
        assert [item.id for item in store.said("t")] == ["i2", "s"]
        assert brief(store.uses(["file:a.py", "file:b.py"])) == [
            ("t", 3, "file:a.py", "summary"),
            ("t", 3, "file:b.py", "history"),
        ]
        assert store.prune("2026-01-03T00:00:00") == Pruned()
        assert (store.prune("2026-02-01T00:00:00").turns, store.last_number("t")) == (1, 3)

    def test_a_thread_that_nobody_used_since_goes_as_a_whole_and_others_stay(
        self, database: StateDatabase, store: ThreadStore
    ) -> None:
        theirs = database.threads(Principal("ada"))
        state = LayerState(StateKey("diary", "thread", "t"), 1, "secret")
        for number, one in enumerate((store, theirs)):
            turn = replace(turn_of(1, entry("file:a.py")), id=f"turn of {number}")
            item = with_file(f"item of {number}", "file:a.py")
            one.apply(ThreadChange("t", turn=turn, items=[item], states=[state]))
            one.apply(ThreadChange("other", turn=replace(turn_of(1, thread="other"), id=f"other of {number}")))
        done = store.prune("9999-01-01T00:00:00", thread="t")

        assert (done.threads, done.turns, done.messages) == (1, 1, 1)
        assert [one.id for one in store.threads()] == ["other"]
        assert (store.history("t"), store.states([state.key]), store.addresses()) == ((), (None,), ())
        assert ([one.id for one in theirs.threads()], theirs.states([state.key])) == (["other", "t"], (state,))
        assert theirs.turn("t", 1) is not None
        assert brief(theirs.uses(["file:a.py"])) == [("t", 1, "file:a.py", "direct")]

    def test_threads_are_listed_by_what_they_take(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("small", turn=turn_of(1, thread="small"), items=[Item("i1", "user", "short")]))
        long = "a very long text, of which no part says the same: " + " ".join(map(str, range(4_000)))
        store.apply(ThreadChange("large", items=[Item("i2", "user", long)]))

        assert [(one.thread, one.turns, one.messages) for one in store.sizes()] == [("large", 0, 1), ("small", 1, 1)]
        assert all(one.bytes > 0 for one in store.sizes())

"""The contract of every database of threads: subclass ``ThreadStoreConformance`` and add a ``database`` fixture.

    class TestMyDatabase(ThreadStoreConformance):
        @pytest.fixture
        def database(self, tmp_path):
            ...

        @pytest.fixture
        def store(self, database):
            return database.threads(LOCAL)

Each test gets a new, empty database. The suite does not know which, nor whether it is persistent: what happens when a
process ends is for the backend's own tests.
"""

from contextlib import suppress
from functools import partial
from typing import Final

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Attachment, Detail
from promptuary.base.errors import ConflictError, PromptuaryError, ThreadBusyError
from promptuary.base.messages import Item, ItemKind, Message, Replacement, ToolCall
from promptuary.base.principals import LOCAL, Principal
from promptuary.base.values import Json
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.layers.layer import Failure, HookRun, LayerState, StateKey
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, Totals, TurnRecord
from promptuary.threads.store.store import ThreadStore

STRANGE: Final = ("", "\x00", "a\x00b", "\ud800", "\ud83d\ude00", "😀", "é", "e\u0301", "\u2028\r\n", "';--", "\ufeff")
"""Texts that stores have lost: empty, NUL, lone and paired surrogates, composed and combining characters."""

VALUES: Final[tuple[Json, ...]] = (
    None,
    True,
    0,
    -1.5,
    10**30,
    "",
    "\ud83d\ude00",
    [],
    {},
    {"": [None, {"a": [1, "ü"]}]},
    "x" * 1_000_000,
)
"""Values that JSON can hold."""


def said(
    name: str, text: str = "", *, pinned: bool = False, kind: ItemKind = "message", stands_for: tuple[str, ...] = ()
) -> Item:
    """Return a message of a person."""
    return Item(name, "user", text or f"the text of {name}", pinned=pinned, kind=kind, stands_for=stands_for)


def turned(number: int, thread: str = "t", *, name: str = "", text: str = "hello") -> TurnRecord:
    """Return a turn with a prompt and a receipt that use every field."""
    called: Message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "look", "arguments": '{"a": 1}'}],
    }
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "stand straight"},
        called,
        {"role": "tool", "content": "seen", "tool_call_id": "c1", "is_error": False},
        {"role": "user", "content": text},
    )
    name = name or f"{thread}-{number}"
    entry = ReceiptEntry("history", "a", "degraded", 3, 0.25, "s", "r", Detail.OUTLINE, 0.5, "too long")
    receipt = Receipt(
        *(name, thread, 1000, 100, 42),
        entries=(entry, ReceiptEntry("message", "b", "in")),
        hooks=(HookRun("history", "recall", 1.5),),
        failures=(Failure("notes", "store", "TIMEOUT", "late"),),
        warnings=("careful",),
        blocked=True,
    )
    return TurnRecord(name, thread, number, "2026-01-02T03:04:05Z", "prepared", text, messages, receipt, LOCAL.user)


def stored(layer: str, name: str, version: int, value: Json) -> LayerState:
    """Return the state of a layer in the thread ``name``."""
    return LayerState(StateKey(layer, "thread", name), version, value)


def state_of(store: ThreadStore, layer: str, name: str) -> LayerState | None:
    """Return what is stored for a layer in the thread ``name``."""
    return store.states([StateKey(layer, "thread", name)])[0]


def names(store: ThreadStore, thread: str = "t") -> list[str]:
    """Return the ids of the items in the history."""
    return [item.id for item in store.history(thread)]


def refused(store: ThreadStore, change: ThreadChange) -> bool:
    """Return whether ``change`` is a conflict."""
    try:
        store.apply(change)
    except ConflictError:
        return True
    return False


PRINCIPALS: Final = (
    (LOCAL, Principal("ada")),
    (Principal("ada"), Principal("ada", agent="reviewer")),
    (Principal("ada"), Principal("ada", group="ada")),
    (Principal("x", "y"), Principal("x,y", "y")),
    (Principal("ada", group="one"), Principal("ada", group="two")),
    (Principal("ada", "a", group="one"), Principal("ada", "b", group="one")),
)
"""Pairs that must be separated: by user, by agent, by group."""


class ThreadStoreConformance:
    """The contract of ``ThreadStore``, one test for each sentence."""

    def test_nothing_is_there_before_anything_was_written(self, store: ThreadStore) -> None:
        assert (store.history("t"), store.items(["a"]), store.turns("t"), store.threads()) == ((), (), (), ())
        assert (store.turn("t"), store.turn("t", 1), state_of(store, "l", "s")) == (None, None, None)

    def test_an_empty_change_makes_the_thread(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t"))

        (line,) = store.threads()
        assert (line.id, line.turns, line.items, line.created) == ("t", 0, 0, line.updated)
        assert line.created

    def test_items_come_back_as_they_were_in_the_order_of_appending(self, store: ThreadStore) -> None:
        calls = (ToolCall("c1", "look", "{}"), ToolCall("c2", "look", '{"deep": true}'))
        items = [
            said("z"),
            Item("y", "assistant", "", calls, turn="t-1"),
            Item("x", "tool", "seen", tool_call_id="c1", pinned=True),
            Item("v", "tool", "not seen", tool_call_id="c2", is_error=True),
            Item("u", "tool", "seen", tool_call_id="c3", is_error=False),
            Item("w", "user", "so far", kind="summary", stands_for=("v", "u")),
        ]
        store.apply(ThreadChange("t", items=items[:2]))
        store.apply(ThreadChange("other", items=[said("o")]))
        store.apply(ThreadChange("t", items=items[2:]))

        assert store.history("t") == tuple(items)
        assert store.items(["w", "o", "nobody", "z", "w"]) == (items[5], said("o"), items[0], items[5])

    def test_what_was_attached_comes_back_with_its_item(self, store: ThreadStore) -> None:
        one = Attachment("file:a\ud800.py", "a.py:1-9", "f" * 64, Detail.EXCERPT, (1, 9), 20, 60)
        item = Item("a", "user", "x" * 99, attachments=(one, replace(one, lines=None, end=20)), words_start=80)
        store.apply(ThreadChange("t", items=[item, replace(item, id="b", attachments=())]))

        assert store.history("t") == store.items(["a", "b"]) == (item, replace(item, id="b", attachments=()))

    def test_a_summary_takes_the_place_of_the_first_that_it_replaces(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said(one) for one in "abcdef"]))
        summary = said("s", kind="summary", stands_for=("b", "c", "e"))
        store.apply(
            ThreadChange(
                "t",
                items=[said("g")],
                replacements=[
                    Replacement(
                        (
                            "e",
                            "c",
                            "b",
                        ),
                        summary,
                    )
                ],
            )
        )

        assert names(store) == ["a", "s", "d", "f", "g"]
        assert store.items(["c", "s", "e"]) == (said("c"), summary, said("e"))
        store.apply(ThreadChange("t", items=[said("h")]))
        assert names(store) == ["a", "s", "d", "f", "g", "h"]

    def test_a_summary_can_itself_be_replaced(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said(one) for one in "abcd"]))
        store.apply(
            ThreadChange(
                "t",
                replacements=[
                    Replacement(
                        (
                            "b",
                            "c",
                        ),
                        said("s", stands_for=("b", "c")),
                    )
                ],
            )
        )
        store.apply(
            ThreadChange(
                "t",
                replacements=[
                    Replacement(
                        (
                            "a",
                            "s",
                        ),
                        said("r", stands_for=("a", "s")),
                    )
                ],
            )
        )
        store.apply(
            ThreadChange(
                "t",
                replacements=[
                    Replacement(
                        (
                            "r",
                            "d",
                        ),
                        said("q", stands_for=("r", "d")),
                    )
                ],
            )
        )
        store.apply(ThreadChange("t", items=[said("e")]))

        assert names(store) == ["q", "e"]
        assert [item.id for item in store.items(list("abcdsrq"))] == list("abcdsrq")

    def test_what_is_removed_leaves_the_history_and_stays_in_the_ledger(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a"), said("b"), said("c", pinned=True)]))
        store.apply(ThreadChange("t", pinned=[("c", False)], removed=["b", "c", "b"]))

        assert names(store) == ["a"]
        assert [item.id for item in store.said("t")] == ["a", "b", "c"]
        store.apply(ThreadChange("t", items=[said("d")]))
        assert names(store) == ["a", "d"]

    def test_what_is_pinned_or_not_in_the_history_cannot_be_removed(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a"), said("b", pinned=True)]))

        assert refused(store, ThreadChange("t", removed=["a", "b"]))
        assert refused(store, ThreadChange("t", removed=["a", "z"]))
        assert refused(store, ThreadChange("u", removed=["a"]))
        assert names(store) == ["a", "b"]

    def test_several_replacements_are_made_at_once_and_an_id_named_twice_counts_once(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said(one) for one in "abcd"]))
        short = [Replacement(("a", "a"), said("A", stands_for=("a",))), Replacement(("d", "c"), said("C"))]
        store.apply(ThreadChange("t", replacements=short))

        assert names(store) == ["A", "b", "C"]
        assert store.threads()[0].items == 3
        store.apply(ThreadChange("t", items=[said("e")], replacements=[Replacement(("A", "b", "C", "e"), said("s"))]))
        assert names(store) == ["s"]

    def test_what_is_pinned_or_gone_or_elsewhere_is_not_replaced(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a"), said("b", pinned=True), said("c")]))
        store.apply(ThreadChange("other", items=[said("o")]))
        store.apply(ThreadChange("t", replacements=[Replacement(("a",), said("A"))]))

        for wrong in ("a", "b", "o", "nobody"):
            assert refused(
                store,
                ThreadChange(
                    "t",
                    replacements=[
                        Replacement(
                            (
                                "c",
                                wrong,
                            ),
                            said("s"),
                        )
                    ],
                ),
            )
        assert refused(store, ThreadChange("t", pinned=[("c", True)], replacements=[Replacement(("c",), said("s"))]))
        assert names(store) == ["A", "b", "c"]
        store.apply(ThreadChange("t", pinned=[("b", False)], replacements=[Replacement(("b",), said("B"))]))
        assert names(store) == ["A", "B", "c"]

    def test_pins_are_set_and_taken_away(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a"), said("b", pinned=True)], pinned=[("a", True), ("b", False)]))
        assert [item.pinned for item in store.history("t")] == [True, False]

        store.apply(ThreadChange("t", replacements=[Replacement(("b",), said("B"))]))
        store.apply(ThreadChange("t", pinned=[("a", False), ("b", True)]))
        assert [item.pinned for item in store.items(["a", "b"])] == [False, True]
        store.apply(ThreadChange("other"))
        assert refused(store, ThreadChange("other", pinned=[("a", True)]))
        assert refused(store, ThreadChange("t", pinned=[("nobody", True)]))

    def test_an_id_belongs_to_one_item_for_ever(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a"), said("b")]))
        store.apply(ThreadChange("t", replacements=[Replacement(("a",), said("A"))]))

        assert refused(store, ThreadChange("t", items=[said("a")]))
        assert refused(store, ThreadChange("other", items=[said("b")]))
        assert refused(store, ThreadChange("t", items=[said("c"), said("c")]))
        assert refused(store, ThreadChange("t", replacements=[Replacement(("b",), said("b"))]))
        assert names(store) == ["A", "b"]

    def test_the_number_of_the_last_turn_is_known_without_reading_it(self, store: ThreadStore) -> None:
        assert store.last_number("t") == 0
        store.apply(ThreadChange("t", turn=turned(1)))
        store.apply(ThreadChange("t", turn=turned(4)))
        store.apply(ThreadChange("other", turn=turned(9, "other")))

        assert store.last_number("t") == 4

    def test_the_totals_of_a_thread_add_up_its_turns_and_its_messages(self, store: ThreadStore) -> None:
        assert store.totals("t") == Totals()
        store.apply(ThreadChange("t", turn=turned(1)))
        assert store.totals("t") == Totals(turns=1, tokens=42, recent=(42,))
        answered = replace(turned(1), status="finished", reply_tokens=5, cost=0.25)
        store.apply(ThreadChange("t", turn=answered, items=[said("a"), said("b")]))
        store.apply(ThreadChange("t", turn=replace(turned(2), status="finished", reply_tokens=6, cost=0)))
        store.apply(ThreadChange("other", turn=turned(1, "other")))
        summary = said("s", kind="summary", stands_for=("a", "b"))
        store.apply(ThreadChange("t", replacements=[Replacement(("a", "b"), summary)], turn=turned(3)))

        assert store.turn("t", 1) == answered
        assert store.totals("t") == Totals(3, 2, 2, 3 * 42, 11, 0.25, (42, 42, 42))
        assert store.totals("nothing") == Totals()

    def test_a_turn_comes_back_as_it_was_with_its_prompt_and_its_receipt(self, store: ThreadStore) -> None:
        first, second = turned(1), turned(2, text="and then?")
        store.apply(ThreadChange("t", turn=first))
        store.apply(ThreadChange("t", turn=second))

        assert store.turns("t") == (first, second)
        assert (store.turn("t"), store.turn("t", 1), store.turn("t", 3)) == (second, first, None)
        assert (store.turn("t", 0), store.turn("other", 1)) == (None, None)
        assert store.threads()[0].turns == 2

    def test_a_turn_of_the_same_id_is_changed_but_for_what_was_sent(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", turn=turned(1)))
        other = replace(turned(1), status="finished", receipt=Receipt("t-1", "t", 9, 8, 7))
        better = replace(other, created="later", text="better", messages=())
        store.apply(ThreadChange("t", turn=better, items=[said("a")]))

        assert store.turns("t") == (other,)

    def test_only_a_prepared_turn_of_the_thread_is_continued(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", turn=turned(1)))
        store.apply(ThreadChange("other", turn=turned(1, "other")))
        store.apply(ThreadChange("t", turn=turned(2), continued="t-1"))

        assert store.turns("t") == (replace(turned(1), status="continued"), turned(2))
        for gone in ("t-1", "other-1", "unknown"):
            assert refused(store, ThreadChange("t", turn=turned(3), items=[said("a")], continued=gone))
        assert (store.last_number("t"), names(store)) == (2, [])
        assert store.totals("t").turns == 1

    def test_a_number_is_given_once(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", turn=turned(1)))
        store.apply(ThreadChange("t", turn=turned(3)))

        late = ThreadChange("t", turn=turned(1, name="late"), items=[said("a")], states=[stored("l", "s", 1, 1)])
        assert refused(store, late)
        assert (names(store), state_of(store, "l", "s"), store.turn("t")) == ([], None, turned(3))
        store.apply(ThreadChange("t", turn=turned(2, name="late"), items=[said("a")]))
        assert [turn.number for turn in store.turns("t")] == [1, 2, 3]
        assert refused(store, ThreadChange("t", turn=turned(4, name="late")))
        assert refused(store, ThreadChange("other", turn=turned(1, "other", name="late")))

    def test_what_was_given_can_be_changed_without_changing_what_is_kept(self, store: ThreadStore) -> None:
        value: Json = {"a": [1]}
        turn = turned(1)
        given = replace(turn, messages=list(turn.messages))
        store.apply(ThreadChange("t", turn=given, states=[stored("l", "s", 1, value)]))
        value["a"].append(2)
        given.messages[3]["content"] = "changed"
        for kept in store.turns("t"):
            kept.messages[3]["content"] = "changed"

        assert store.turn("t") == turned(1)
        assert state_of(store, "l", "s") == stored("l", "s", 1, {"a": [1]})

    def test_a_state_is_kept_by_layer_and_scope_with_its_version(self, store: ThreadStore) -> None:
        one, two, three = stored("l", "s", 1, "one"), stored("l", "r", 2, "two"), stored("m", "s", 3, "three")
        store.apply(ThreadChange("t", states=[one, two, three]))
        assert store.states([one.key, two.key, three.key]) == (one, two, three)

        store.apply(ThreadChange("other", states=[replace(one, version=7, value=None)]))
        assert state_of(store, "l", "s") == stored("l", "s", 7, None)
        assert store.states([two.key, three.key]) == (two, three)

    def test_states_are_read_together_in_the_order_asked_for(self, store: ThreadStore) -> None:
        one, two = stored("l", "s", 1, {"a": [1]}), stored("m", "s", 3, None)
        store.apply(ThreadChange("t", states=[one, two]))
        keys = [StateKey(layer, "thread", name) for layer, name in ("ms", "lr", "ls", "ms")]

        assert store.states(keys) == (two, None, one, two)
        assert store.states([]) == ()
        for found in store.states(keys):
            if found and found.value:
                found.value["a"].append(2)
        assert store.states(keys) == (two, None, one, two)

    def test_any_json_is_a_state_and_nothing_else_is(self, store: ThreadStore) -> None:
        for value in VALUES:
            store.apply(ThreadChange("t", states=[stored("l", "s", 1, value)]))
            assert state_of(store, "l", "s") == stored("l", "s", 1, value)
        store.apply(ThreadChange("t", states=[stored("l", "s", 1, ("a", {1: True}))]))
        assert state_of(store, "l", "s") == stored("l", "s", 1, ["a", {"1": True}])
        try:
            store.apply(ThreadChange("t", items=[said("a")], states=[stored("notes", "s", 1, {1, 2})]))
        except PromptuaryError as error:
            assert "notes" in str(error)  # noqa: PT017 - without pytest
        assert (names(store), state_of(store, "notes", "s")) == ([], None)

    def test_any_text_comes_back_as_it_was(self, store: ThreadStore) -> None:
        for number, text in enumerate([*STRANGE, "long ü " * 150_000], 1):
            short = text[:20]
            item = Item(
                f"i{short}", "user", text, (ToolCall(short, short, text),), short, stands_for=(short,), turn=short
            )
            turn = turned(1, f"t{short}", name=f"u{short}", text=text)
            state = stored(f"l{short}", short, number, text)
            store.apply(ThreadChange(turn.thread, turn=turn, items=[item], states=[state]))

            assert store.history(turn.thread) == store.items([item.id]) == (item,)
            assert store.turn(turn.thread) == turn
            assert store.states([state.key]) == (state,)
            assert store.threads()[0].id == turn.thread
        assert len(store.threads()) == len(STRANGE) + 1

    def test_threads_are_sorted_by_their_last_use(self, store: ThreadStore) -> None:
        for thread in ("a", "b", "c", "a"):
            store.apply(ThreadChange(thread, items=[said(f"{thread}{len(store.history(thread))}")]))
        assert [(line.id, line.items) for line in store.threads()] == [("a", 2), ("c", 1), ("b", 1)]

        assert refused(store, ThreadChange("b", items=[said("a0")]))
        assert refused(store, ThreadChange("new", items=[said("a0")]))
        assert [line.id for line in store.threads()] == ["a", "c", "b"]

    def test_a_thread_gets_another_name_with_all_that_it_has(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a"), said("b")], states=[stored("files", "t", 2, ["x"])]))
        store.apply(ThreadChange("t", turned(1), replacements=[Replacement(("a",), said("s", stands_for=("a",)))]))
        store.apply(ThreadChange("u", states=[stored("files", "u", 2, ["y"])]))
        store.rename("t", "v")

        assert [one.id for one in store.threads()] == ["u", "v"]
        assert (names(store, "t"), names(store, "v")) == ([], ["s", "b"])
        assert [one.id for one in store.said("v")] == ["a", "b", "s"]
        assert [(one.thread, one.receipt.thread, one.number) for one in store.turns("v")] == [("v", "v", 1)]
        assert (state_of(store, "files", "t"), state_of(store, "files", "v")) == (None, stored("files", "v", 2, ["x"]))
        store.apply(ThreadChange("v", items=[said("c")]))
        assert names(store, "v") == ["s", "b", "c"]
        store.apply(ThreadChange("t", items=[said("d")]))
        assert names(store, "t") == ["d"]

    def test_a_name_that_is_taken_and_a_thread_that_is_not_there_are_refused(self, store: ThreadStore) -> None:
        store.apply(ThreadChange("t", items=[said("a")]))
        store.apply(ThreadChange("u", items=[said("b")]))
        for before, after in (("t", "u"), ("t", "t"), ("x", "y"), ("x", "t")):
            try:
                store.rename(before, after)
            except ConflictError:
                continue
            raise AssertionError(f"{before} became {after}")
        assert (names(store, "t"), names(store, "u")) == (["a"], ["b"])

    def test_nobody_renames_the_threads_of_somebody_else(self, database: StateDatabase) -> None:
        mine, theirs = database.threads(LOCAL), database.threads(Principal("eve"))
        for store in (mine, theirs):
            store.apply(ThreadChange("t", states=[stored("files", "t", 1, ["x"])]))
        mine.rename("t", "v")

        assert ([one.id for one in mine.threads()], [one.id for one in theirs.threads()]) == (["v"], ["t"])
        assert state_of(theirs, "files", "t") == stored("files", "t", 1, ["x"])
        assert state_of(theirs, "files", "v") is None

    def test_many_threads_of_the_process_may_write_at_once(self, store: ThreadStore) -> None:
        def write(name: str) -> None:
            for number in range(1, 6):
                store.apply(ThreadChange(name, turn=turned(number, name), items=[said(f"{name}{number}")]))
                store.apply(ThreadChange("all", items=[said(f"all {name}{number}")]))

        for writer in [concurrency.begin(partial(write, name)) for name in "abcd"]:
            writer.result()

        assert [names(store, name) for name in "abcd"] == [[f"{name}{n}" for n in range(1, 6)] for name in "abcd"]
        together = names(store, "all")
        assert [[one for one in together if f" {name}" in one] for name in "abcd"] == [
            [f"all {name}{number}" for number in range(1, 6)] for name in "abcd"
        ]

    # Principals

    def test_two_principals_have_different_threads_of_one_name(self, database: StateDatabase) -> None:
        for number, (principal, other) in enumerate(PRINCIPALS):
            mine, theirs = database.threads(principal), database.threads(other)
            name = f"thread {number}"
            mine.apply(ThreadChange(name, turn=turned(1, name), items=[said(f"mine {number}")]))

            assert (theirs.history(name), theirs.turns(name)) == ((), ())
            assert (theirs.turn(name), theirs.turn(name, 1), theirs.last_number(name)) == (None, None, 0)
            assert theirs.items([f"mine {number}"]) == ()
            assert name not in [line.id for line in theirs.threads()]
            theirs.apply(ThreadChange(name, turn=turned(1, name, name=f"theirs {number}")))
            assert [turn.id for turn in theirs.turns(name)] == [f"theirs {number}"]
            assert [turn.id for turn in mine.turns(name)] == [f"{name}-1"]
            assert [(line.turns, line.items) for line in mine.threads() if line.id == name] == [(1, 1)]

    def test_nobody_changes_the_items_of_somebody_else(self, database: StateDatabase) -> None:
        mine, theirs = database.threads(LOCAL), database.threads(Principal("ada"))
        mine.apply(ThreadChange("t", turn=turned(1), items=[said("a")]))

        assert refused(theirs, ThreadChange("t", pinned=[("a", True)]))
        assert refused(theirs, ThreadChange("t", replacements=[Replacement(("a",), said("b"))]))
        assert refused(theirs, ThreadChange("t", continued="t-1"))
        # An id is unique within its owner: theirs is another turn.
        theirs.apply(ThreadChange("t", turn=replace(turned(1), status="abandoned"), items=[said("a", "theirs")]))
        assert (mine.history("t"), mine.turns("t")) == ((said("a"),), (turned(1),))
        assert theirs.history("t") == (said("a", "theirs"),)

    def test_private_states_belong_to_the_owner_and_others_to_everybody(self, database: StateDatabase) -> None:
        mine, theirs = database.threads(LOCAL), database.threads(Principal("ada"))
        keys = [
            StateKey("l", "thread", "t"),
            StateKey("l", "user"),
            StateKey("l", "resource", "r"),
            StateKey("l", "global"),
        ]
        mine.apply(ThreadChange("t", states=[LayerState(key, 1, key.scope) for key in keys]))

        assert [state and state.value for state in theirs.states(keys)] == [None, None, "resource", "global"]
        theirs.apply(ThreadChange("t", states=[LayerState(key, 1, "theirs") for key in keys]))
        assert [state and state.value for state in mine.states(keys)] == ["thread", "user", "theirs", "theirs"]

    def test_a_turn_records_who_acted_and_never_who_is_claimed_to_have(self, database: StateDatabase) -> None:
        ada, bob = (database.threads(Principal(user, group="team")) for user in ("ada", "bob"))
        ada.apply(ThreadChange("t", turn=replace(turned(1), user="bob")))
        bob.apply(ThreadChange("t", turn=turned(2)))
        bob.apply(ThreadChange("t", turn=replace(turned(1), status="finished")))

        assert [(turn.number, turn.user, turn.status) for turn in ada.turns("t")] == [
            (1, "ada", "finished"),
            (2, "bob", "prepared"),
        ]
        assert ada.turns("t") == bob.turns("t")

    # Transactions

    def test_what_is_written_in_a_transaction_is_seen_together_at_its_end(self, database: StateDatabase) -> None:
        mine, theirs = database.threads(LOCAL), database.threads(Principal("ada"))
        with database.transaction():
            mine.apply(ThreadChange("t", items=[said("a")]))
            theirs.apply(ThreadChange("t", items=[said("b")]))
            assert (names(mine), names(theirs)) == ([], [])

        assert (names(mine), names(theirs)) == (["a"], ["b"])

    def test_a_transaction_that_fails_leaves_nothing(self, database: StateDatabase) -> None:
        mine = database.threads(LOCAL)
        with suppress(ZeroDivisionError), database.transaction():
            mine.apply(ThreadChange("t", turn=turned(1), items=[said("a", "a long text " * 99)]))
            raise ZeroDivisionError
        assert (mine.threads(), names(mine)) == ((), [])
        mine.apply(ThreadChange("t", turn=turned(1), items=[said("a", "a long text " * 99)]))
        assert names(mine) == ["a"]

    def test_a_conflict_inside_a_transaction_takes_back_only_its_own_change(self, database: StateDatabase) -> None:
        mine = database.threads(LOCAL)
        with database.transaction():
            mine.apply(ThreadChange("t", items=[said("a")]))
            assert refused(mine, ThreadChange("t", items=[said("b"), said("a")]))

        assert names(mine) == ["a"]

    def test_one_model_at_a_time_answers_in_a_thread(self, database: StateDatabase) -> None:
        other = Principal("somebody else")
        for _ in range(2):
            with database.answering(LOCAL, "t"), database.answering(LOCAL, "u"), database.answering(other, "t"):
                again = database.answering(LOCAL, "t")
                with suppress(ThreadBusyError):
                    again.__enter__()
                    raise AssertionError("two hold the same thread")

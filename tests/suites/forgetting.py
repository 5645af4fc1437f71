"""The contract of forgetting in every database: subclass ``ForgettingConformance`` and add a ``database`` fixture.

class TestMyForgetting(ForgettingConformance):
    @pytest.fixture
    def database(self):
        ...     # an empty one

What happens to free pages and logs is for the backend's own tests.
"""

import json
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from promptuary.base.blocks import Attachment, Detail
from promptuary.base.messages import Item, Message, Replacement, ToolCall
from promptuary.base.principals import LOCAL, Principal
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.layers.layer import HookRun, LayerState, StateKey
from promptuary.memory.values import NoteDraft, Place
from promptuary.memory.writeback.values import Proposal, QueuedTurn
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord
from promptuary.threads.store.forgetting import Forgetting
from promptuary.threads.store.store import ThreadStore

EVE: Final = Principal("eve")
NOTE: Final = "memory:4f1c00aa11bb"
MARK: Final = f"[forgotten: {NOTE}]"
TITLE: Final = "Where the key is"
BODY: Final = "The spare key lies under the blue pot.\nAsk Ada before you take it from there."
TEXTS: Final = (TITLE, BODY)

BLOCK: Final = f"## {TITLE}\n{NOTE}; saved 3 days ago\n\n```\n{BODY}\n```"
OTHER: Final = f"## Another\nmemory:4f1c00aa11bc; saved today\n\n````\n```\n## {TITLE}\n{NOTE}; x\n```\nstays\n````"
RECALLED: Final = f"# Recalled from memory\n\nNotes: context.\n\n{BLOCK}\n\n{OTHER}"
DIGEST: Final = (
    f"# Memory\n\n## Notes\n\n```\nPinned:\n- {TITLE}: of the house ({NOTE}, shared)\n- Stays (memory:4f1c)\n```"
)
ASKED: Final = BLOCK.replace(NOTE, f"@{NOTE} (39 tokens); {NOTE}")
"""The block as a reference attaches it."""
ATTACHED: Final = f"# Attached context\n\n{ASKED}\n\n## b.txt\nfile\n\n```\nbody\n```\n\n# Message\n\nSee {NOTE} and b"


def turn_with(*contents: str, number: int = 1, thread: str = "t", owner: str = "") -> TurnRecord:
    """Return a prepared turn whose prompt has these messages, and a receipt that names the note."""
    messages: list[Message] = [{"role": "developer", "content": one} for one in contents]
    entries = (
        ReceiptEntry("memory_recall", TITLE, "in", 9, 0.5, NOTE, "ab12", Detail.FULL, 0.7, "words key", lines=(1, 2)),
        ReceiptEntry("message", "the message", "in"),
    )
    name = f"{owner}{thread}-{number}"
    receipt = Receipt(name, thread, 100, 10, 5, entries, warnings=(f"a secret was masked in {TITLE}",))
    return TurnRecord(name, thread, number, "2026-01-02T03:04:05Z", "prepared", "hello", messages, receipt)


def said(name: str, content: str, turn: str = "", **more: tuple[ToolCall, ...]) -> Item:
    """Return a message of a person in a turn."""
    return Item(name, "user", content, turn=turn, **more)  # type: ignore[arg-type]


def prompt_of(store: ThreadStore, number: int = 1, thread: str = "t") -> tuple[str, ...]:
    """Return the contents of a stored prompt."""
    turn = store.turn(thread, number)
    return () if turn is None else tuple(message["content"] for message in turn.messages)


class ForgettingConformance:
    """The contract of ``Forgetting``."""

    def test_a_mark_stands_in_the_place_of_a_block_in_the_prompts_of_everybody(self, database: StateDatabase) -> None:
        for principal in (LOCAL, EVE):
            turn = turn_with(RECALLED, "unchanged", owner=principal.user)
            database.threads(principal).apply(ThreadChange("t", turn=turn))

        assert database.forgetting(LOCAL).redact_note(NOTE, TEXTS) > 0

        left = f"# Recalled from memory\n\nNotes: context.\n\n{MARK}\n\n{OTHER}"
        for principal in (LOCAL, EVE):
            store = database.threads(principal)
            assert prompt_of(store) == (left, "unchanged")
            assert store.turns("t")[0].forgotten == (NOTE,)

    def test_a_mark_stands_in_the_place_of_a_line_that_lists_it(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        store.apply(ThreadChange("t", turn=turn_with(DIGEST)))
        database.forgetting(LOCAL).redact_note(NOTE)

        assert prompt_of(store) == (f"# Memory\n\n## Notes\n\n```\nPinned:\n- {MARK}\n- Stays (memory:4f1c)\n```",)

    def test_a_receipt_keeps_its_entry_and_tells_nothing_of_the_note(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        turn = turn_with("x")
        store.apply(ThreadChange("t", turn=turn))
        database.forgetting(LOCAL).redact_note(NOTE, TEXTS)

        found = store.turns("t")[0]
        entry = ReceiptEntry("memory_recall", MARK, "in", 9, 0.5, NOTE, "", Detail.FULL, None, "forgotten")
        assert found.forgotten == (NOTE,)
        assert found.receipt == replace(
            turn.receipt, entries=(entry, turn.receipt.entries[1]), warnings=(f"a secret was masked in {MARK}",)
        )

    def test_turns_without_the_note_stay_as_they_are(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        other = replace(turn_with("memory:4f1c00aa11bbcc is another"), receipt=Receipt("t-1", "t", 100, 10, 5))
        store.apply(ThreadChange("t", turn=other, items=[said("i", f"I know {NOTE}: {BODY}")]))
        before = (store.turns("t"), store.history("t"))

        assert database.forgetting(LOCAL).redact_note(NOTE, TEXTS) == 0
        assert (store.turns("t"), store.history("t")) == before

    def test_what_was_attached_to_a_message_is_taken_out_and_all_else_keeps_its_place(
        self, database: StateDatabase
    ) -> None:
        store = database.threads(LOCAL)
        store.apply(ThreadChange("t", items=[said("first", "hello"), _attached()]))
        store.history("t")
        database.forgetting(LOCAL).redact_note(NOTE, TEXTS)

        first, item = store.history("t")
        left = f"# Attached context\n\n{MARK}\n\n## b.txt\nfile\n\n```\nbody\n```\n\n# Message\n\nSee {NOTE} and b"
        note, file = item.attachments
        assert (first.content, item.content, item.words) == ("hello", left, f"See {NOTE} and b")
        assert (note.source, note.label, note.revision, note.start - note.end) == (NOTE, MARK, "", 0)
        assert item.content[file.start : file.end] == "body"

    def test_a_turn_that_is_finished_later_does_not_bring_it_back(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        turn = turn_with(f"# Recalled\n\n{BLOCK}", ATTACHED)
        store.apply(ThreadChange("t", turn=turn))
        database.forgetting(LOCAL).redact_note(NOTE, TEXTS)
        told = replace(turn.receipt, hooks=(HookRun("memory_recall", "store", 1.0),))
        finished = replace(turn, status="finished", receipt=told)
        store.apply(ThreadChange("t", turn=finished, items=[replace(_attached(), turn="t-1")]))

        found = store.turns("t")[0]
        assert (found.status, found.forgotten) == ("finished", (NOTE,))
        everything = f"{found.messages} {found.receipt} {store.history('t')}"
        assert not [text for text in (TITLE, *BODY.split("\n")) if text in everything]
        assert store.history("t")[0].words == f"See {NOTE} and b"

    def test_states_of_layers_are_cleaned(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        key = StateKey("notes", "thread", "t")
        store.apply(ThreadChange("t", states=[LayerState(key, 1, {"seen": [f"so: {BODY}", 7]})]))
        database.forgetting(EVE).redact_note(NOTE, TEXTS)

        assert store.states([key]) == (LayerState(key, 1, {"seen": [f"so: {MARK}", 7]}),)

    def test_what_a_state_says_of_an_attachment_is_cleaned_however_short(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        key = StateKey("pending", "thread", "t")
        other = ["memory:4f1c00aa11bc", "tea", "ab12", "full"]
        value = {"attachments": [[NOTE, "tea", "ab12", "full", [], 9, 12], other], "thread": "tea"}
        store.apply(ThreadChange("t", states=[LayerState(key, 1, value)]))
        database.forgetting(LOCAL).redact_note(NOTE, ("tea", "hot"))

        left = {"attachments": [[NOTE, MARK, "ab12", "full", [], 9, 12], other], "thread": "tea"}
        assert store.states([key]) == (LayerState(key, 1, left),)

    def test_what_is_forgotten_is_not_found_again(self, database: StateDatabase) -> None:
        database.threads(LOCAL).apply(ThreadChange("t", turn=turn_with(RECALLED), items=[_attached()]))
        self.forget(database.forgetting(LOCAL))
        before = database.threads(LOCAL).turns("t")

        assert self.forget(database.forgetting(LOCAL)) == 0
        assert database.threads(LOCAL).turns("t") == before

    def forget(self, forgetting: Forgetting) -> int:
        """Forget the note with all steps, and return how many texts were changed."""
        changed = forgetting.redact_note(NOTE, TEXTS)
        forgetting.purge()
        return changed

    def test_what_was_begun_is_known_until_it_is_ended_and_to_its_owner_alone(self, database: StateDatabase) -> None:
        forgetting, other = database.forgetting(LOCAL), database.forgetting(EVE)
        assert forgetting.unfinished() == {}
        forgetting.begin("n1", everywhere=True)
        forgetting.begin("n1", everywhere=False)
        forgetting.begin("n2", everywhere=False)
        assert database.forgetting(LOCAL).unfinished() == {"n1": True, "n2": False}
        other.end("n1")
        assert other.unfinished() == {}
        forgetting.end("n1")
        assert forgetting.unfinished() == {"n2": False}

    def test_a_note_is_forgotten_after_a_file_in_the_same_message(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        store.apply(ThreadChange("t", turn=turn_with(ATTACHED), items=[_attached()]))
        database.forgetting(LOCAL).redact_source("file:b.txt")
        database.forgetting(LOCAL).redact_note(NOTE, TEXTS)

        everything = f"{store.turns('t')} {store.history('t')}"
        assert not [text for text in (TITLE, *BODY.split("\n")) if text in everything]
        assert set(store.turns("t")[0].forgotten) == {NOTE, "file:b.txt"}
        assert store.history("t")[0].words == f"See {NOTE} and b"

    def test_a_file_is_taken_out_for_its_owner_alone(self, database: StateDatabase) -> None:
        blocks = "## pages/[id].ts:1-2\nfile\n\n```\n## x\n```\n\n## pages/[id].tsx\nfile\n\n```\nstays\n```"
        sent = f"# Attached context\n\n{blocks}\n\n# Message\n\nSee pages/[id].ts:1-2"
        for principal in (LOCAL, EVE):
            turn = turn_with(sent, "unchanged", owner=principal.user)
            item = Item(f"{principal.user}i1", "user", sent, turn=turn.id)
            database.threads(principal).apply(ThreadChange("t", turn=turn, items=[item]))
        theirs = _everything(database, EVE)
        left = sent.replace("## pages/[id].ts:1-2\nfile\n\n```\n## x\n```", "[forgotten: file:pages/[id].ts]")

        assert database.forgetting(LOCAL).redact_source("file:pages/[id].ts")
        own = database.threads(LOCAL)
        assert prompt_of(own) == (left, "unchanged")
        assert [item.content for item in own.history("t")] == [left]
        assert own.turns("t")[0].forgotten == ("file:pages/[id].ts",)
        assert _everything(database, EVE) == theirs
        assert not database.forgetting(LOCAL).redact_source("file:pages/[id].ts")

    def test_two_notes_are_forgotten_one_after_the_other(self, database: StateDatabase) -> None:
        store = database.threads(LOCAL)
        store.apply(ThreadChange("t", turn=turn_with(RECALLED)))
        database.forgetting(LOCAL).redact_note(NOTE, TEXTS)
        database.forgetting(LOCAL).redact_note("memory:4f1c00aa11bc")

        marks = f"{MARK}\n\n[forgotten: memory:4f1c00aa11bc]"
        assert prompt_of(store) == (f"# Recalled from memory\n\nNotes: context.\n\n{marks}",)
        assert set(store.turns("t")[0].forgotten) == {NOTE, "memory:4f1c00aa11bc"}

    def test_places_are_where_the_owner_said_it(self, database: StateDatabase) -> None:
        said_everywhere(database, LOCAL)
        said_everywhere(database, EVE)

        assert sorted(database.forgetting(LOCAL).places(NOTE, TEXTS)) == _PLACES
        assert sorted(database.forgetting(EVE).places(NOTE, TEXTS)) == _PLACES
        assert database.forgetting(Principal("adam")).places(NOTE, TEXTS) == ()
        others = ("the blu", "spare key li", "is elsewhere, and nobody knows")
        assert database.forgetting(LOCAL).places("memory:another", others) == ()

    def test_a_block_of_the_note_itself_is_no_such_place(self, database: StateDatabase) -> None:
        receipt = Receipt("t-1", "t", 100, 10, 5)
        database.threads(LOCAL).apply(ThreadChange("t", turn=replace(turn_with(f"# M\n\n{BLOCK}"), receipt=receipt)))

        assert database.forgetting(LOCAL).places(NOTE, TEXTS) == ()

    def test_places_of_the_owner_are_redacted_and_nobody_elses(self, database: StateDatabase) -> None:
        said_everywhere(database, LOCAL)
        said_everywhere(database, EVE)
        theirs = _everything(database, EVE)
        assert _copies(_everything(database, LOCAL))

        assert database.forgetting(LOCAL).redact_places(NOTE, TEXTS) == len(_PLACES)
        assert not _copies(_everything(database, LOCAL))
        assert _everything(database, EVE) == theirs
        assert database.forgetting(LOCAL).places(NOTE, TEXTS) == ()
        assert database.forgetting(LOCAL).redact_places(NOTE, TEXTS) == 0

    def test_around_what_is_redacted_all_stays(self, database: StateDatabase) -> None:
        said_everywhere(database, LOCAL)
        store = database.threads(LOCAL)
        database.forgetting(LOCAL).redact_places(NOTE, TEXTS)

        summary, call, last = store.history("t")
        assert (summary.content, last.content) == (f"In short: {MARK} And so on.", "unrelated")
        assert json.loads(call.tool_calls[0].arguments) == {"content": f'"{MARK}"', "kind": "user"}
        assert store.items(["i1"])[0].content == f"Remember: {MARK} Yes?"
        assert [turn.forgotten for turn in store.turns("t")] == [(NOTE,), ()]
        assert prompt_of(store) == (f"Remember: {MARK} Yes?", "x")

    def test_the_same_words_can_be_said_again(self, database: StateDatabase) -> None:
        said_everywhere(database, LOCAL)
        store = database.threads(LOCAL)
        database.forgetting(LOCAL).redact_places(NOTE, TEXTS)
        store.apply(ThreadChange("t", turn=turn_with(_WORDS, number=3), items=[said("again", _WORDS)]))

        assert store.history("t")[-1].content == _WORDS
        assert prompt_of(store, 3) == (_WORDS,)


_WORDS: Final = "Remember: The spare key  lies under\nthe blue pot. Yes?"
_SNAPSHOT: Final = json.dumps({"said": [["person", f"Ä {BODY}"]]})
_PLACES: Final = [
    Place("proposal", "p1"),
    Place("proposal", "p2"),
    Place("queue", "t", 1),
    Place("summary", "t", 0),
    Place("thread", "t", 1),
    Place("thread", "t", 2),
]


def _attached() -> Item:
    note, body = ATTACHED.index(BODY), ATTACHED.index("body\n```")
    attachments = (
        Attachment(NOTE, TITLE, "ab12", Detail.FULL, (1, 2), note, note + len(BODY)),
        Attachment("file:b.txt", "b.txt", "cd34", Detail.FULL, None, body, body + len("body")),
    )
    return Item("i", "user", ATTACHED, attachments=attachments, words_start=ATTACHED.index("See "))


def said_everywhere(database: StateDatabase, principal: Principal) -> None:
    """Repeat the text of the note in a thread, a summary, a tool call, a queued turn and two proposals."""
    store, who = database.threads(principal), "" if principal == LOCAL else principal.user
    first = replace(turn_with(_WORDS, "x", owner=who), receipt=Receipt("t-1", "t", 100, 10, 5))
    second = replace(turn_with("y", number=2, owner=who), receipt=Receipt("t-2", "t", 100, 10, 5))
    call = ToolCall("c", "write_memory", json.dumps({"content": f'"{BODY}"', "kind": "user"}))
    items = [
        said(f"{who}i1", _WORDS, first.id),
        said(f"{who}i2", "", second.id, tool_calls=(call,)),
        said(f"{who}i3", "unrelated"),
    ]
    store.apply(ThreadChange("t", turn=first))
    store.apply(ThreadChange("t", turn=replace(first, status="finished"), items=items))
    store.apply(ThreadChange("t", turn=second))
    summary = Item(f"{who}s", "assistant", f"In short: {BODY} And so on.", kind="summary", stands_for=(f"{who}i1",))
    store.apply(ThreadChange("t", replacements=[Replacement((f"{who}i1",), summary)]))
    database.writeback_queue(principal).add(QueuedTurn(first.id, "t", "2026-01-02", _SNAPSHOT))
    database.writeback_queue(principal).add(QueuedTurn(second.id, "t", "2026-01-02", "nothing of it"))
    for one in (
        Proposal("p1", "write", "2026-01-02", "extract", NoteDraft(content=BODY), "f1"),
        Proposal("p2", "archive", "2026-01-02", "writeback", NoteDraft(id=NOTE.removeprefix("memory:")), "f2"),
        Proposal("p3", "write", "2026-01-02", "extract", NoteDraft(content="Use tabs."), "f3"),
    ):
        database.proposals(principal).add(one)


def _everything(database: StateDatabase, principal: Principal) -> Sequence[object]:
    store, who = database.threads(principal), "" if principal == LOCAL else principal.user
    waiting = (list(database.writeback_queue(principal).waiting()), list(database.proposals(principal).all()))
    return (store.history("t"), store.items([f"{who}i1", f"{who}i2"]), store.turns("t"), *waiting)


def _copies(everything: Sequence[object]) -> bool:
    return "blue pot" in str(everything) or "Ask Ada" in str(everything)

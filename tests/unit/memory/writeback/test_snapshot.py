"""What writeback reads of a conversation, and how far it is trusted."""

import pytest

from promptuary.base.blocks import Attachment, Detail, Trust
from promptuary.base.errors import StorageError
from promptuary.base.messages import Item, ToolCall
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.memory.writeback.snapshot import (
    FinishedTurn,
    Foreign,
    TurnSnapshot,
    foreign_text,
    from_text,
    snapshot,
    to_text,
    wrote_a_note,
)

AT = "2026-01-02T03:04:05+00:00"
MESSAGE = ReceiptEntry("message", "the message", "in", trust=Trust.WORKSPACE)
PERSON = Item("1", "user", "I prefer tabs.", turn="t")
ANSWER = Item("2", "assistant", "Noted.", turn="t")


def taken(*history: Item, entries: tuple[ReceiptEntry, ...] = (MESSAGE,)) -> TurnSnapshot:
    receipt = Receipt("t", "main", 1000, 100, 50, entries)
    return snapshot(FinishedTurn("t", "main", history, receipt), AT, foreign_text(history, receipt))


def test_the_persons_and_the_models_words_are_trusted() -> None:
    one = taken(PERSON, ANSWER)

    assert not one.external
    assert [(part.speaker, part.text) for part in one.said] == [("person", "I prefer tabs."), ("assistant", "Noted.")]
    assert one.persons_words == "I prefer tabs."


@pytest.mark.parametrize(
    "foreign",
    [
        Item("3", "tool", "a page", tool_call_id="c"),
        Item(
            "3",
            "user",
            "text of a file\nI prefer tabs.",
            attachments=(Attachment("file:a", "a", "", Detail.FULL, None, 0, 5),),
        ),
        Item("3", "assistant", "what was said", kind="summary"),
        Item("3", "user", "> quoted\nwhat is this?"),
    ],
)
def test_anything_else_in_the_history_is_not_trusted(foreign: Item) -> None:
    assert taken(foreign, PERSON, ANSWER).external


CALLED = Item("3", "assistant", "", tool_calls=(ToolCall("c", "bash", '{"command": "make"}'),))
FETCHED = Item("3", "assistant", "", tool_calls=(ToolCall("c", "bash", '{"command": "curl x.org"}'),))
RESULT = Item("4", "tool", "fine", tool_call_id="c")


@pytest.mark.parametrize(
    ("history", "earlier", "foreign"),
    [
        ([PERSON, ANSWER], [], "none"),
        ([PERSON, CALLED, RESULT], [], "results"),
        ([PERSON, FETCHED, RESULT], [], "outside"),
        ([PERSON, ANSWER], ["results"], "results"),
        ([PERSON, CALLED, RESULT], ["outside", "results"], "outside"),
    ],
)
def test_one_rule_tells_results_on_this_machine_from_text_that_anybody_may_have_written(
    history: list[Item], earlier: list[Foreign], foreign: Foreign
) -> None:
    assert foreign_text(history, None, earlier=earlier) == foreign


@pytest.mark.parametrize(
    "entry",
    [
        ReceiptEntry("references", "a page", "in", trust=Trust.EXTERNAL),
        ReceiptEntry("references", "a file", "degraded", trust=Trust.WORKSPACE),
        ReceiptEntry("memory_recall", "a note from elsewhere", "in", trust=Trust.EXTERNAL),
        ReceiptEntry("semantic_recall", "a passage", "in", trust=Trust.WORKSPACE),
        ReceiptEntry("somebodys_plugin", "what it says", "in", trust=Trust.WORKSPACE),
    ],
)
def test_anything_else_in_the_prompt_is_not_trusted(entry: ReceiptEntry) -> None:
    assert taken(PERSON, ANSWER, entries=(MESSAGE, entry)).external


def test_what_did_not_get_into_the_prompt_does_not_count() -> None:
    out = ReceiptEntry("references", "a page", "out", trust=Trust.EXTERNAL)

    assert not taken(PERSON, ANSWER, entries=(MESSAGE, out)).external


def test_attached_text_is_left_out_of_what_was_said() -> None:
    attached = Attachment("file:a", "a", "", Detail.FULL, None, 0, 15)
    one = taken(Item("1", "user", "text of a file\nSum it up.", attachments=(attached,), words_start=15))

    assert [part.text for part in one.said] == ["Sum it up."]


def test_the_last_messages_are_kept_and_long_ones_shortened() -> None:
    history = [Item(str(number), "user", f"message {number}") for number in range(30)]
    assert [part.text for part in taken(*history).said] == [f"message {number}" for number in range(12, 30)]

    long = taken(*(Item(str(number), "user", "x" * 9_000) for number in range(18)), Item("t", "tool", "y" * 9_000))
    assert sum(len(part.text) for part in long.said) <= 12_000
    assert len(long.said[-1].text) <= 400


def test_a_secret_is_masked_before_it_is_kept() -> None:
    one = taken(Item("1", "user", "my key is ghp_" + "aB3" * 12))

    assert "aB3aB3" not in to_text(one)


def test_an_explicit_write_is_seen_in_the_turn() -> None:
    call = Item("2", "assistant", "", tool_calls=(ToolCall("c", "write_memory", "{}"),))

    assert wrote_a_note([PERSON, call])
    assert not wrote_a_note([PERSON, ANSWER])


def test_a_snapshot_survives_the_queue_as_it_is() -> None:
    one = taken(Item("3", "tool", "ä \ud800 😀"), PERSON)

    assert from_text(to_text(one)) == one


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"said": 3}', "nonsense"])
def test_what_is_no_snapshot_is_an_error(text: str) -> None:
    with pytest.raises(StorageError):
        from_text(text)


def test_a_snapshot_that_does_not_say_that_it_is_clean_is_not() -> None:
    assert from_text('{"turn": "", "thread": "", "at": "", "said": [], "external": null}').external

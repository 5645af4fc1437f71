"""Long tool results and attachments become head and tail; nothing that was said changes."""

import asyncio

from promptuary.base.blocks import Detail, Trust
from promptuary.base.messages import Item, ToolCall
from promptuary.context.compact.shorten import Shorten
from promptuary.context.compact.types import Compacted
from promptuary.tokens.counting import Counter
from tests.items import attached, whole

COUNTER = Counter()
LONG = "".join(f"line {n} of the log\n" for n in range(1, 501))
CALL = Item("call", "assistant", "", tool_calls=(ToolCall("c", "read", "{}"),))


def shorten(items: list[Item], goal: int = 0, keep_last: int = 0) -> Compacted:
    return asyncio.run(Shorten(keep_last, over=400, to=160).compact(items, goal, COUNTER))


def test_a_long_result_becomes_a_new_item_that_stands_for_the_old_one() -> None:
    long = Item("r", "tool", LONG, tool_call_id="c")
    done = shorten([CALL, long])
    short = done.items[1]

    assert done.items[0] is CALL
    assert (short.role, short.tool_call_id, short.kind, short.stands_for) == ("tool", "c", "message", ("r",))
    assert short.id != "r"
    assert [(one.ids, one.item) for one in done.replacements] == [(("r",), short)]
    assert COUNTER.count(short.content) <= 160


def test_the_gap_says_how_much_is_missing_and_where_it_is() -> None:
    content = shorten([CALL, Item("r-17", "tool", LONG, tool_call_id="c")]).items[1].content

    assert content.startswith("line 1 of the log\n")
    assert content.endswith("line 500 of the log\n")
    assert "characters left out; item r-17 of the ledger has all of it ⋯\n" in content


def test_attachments_are_shortened_in_their_fences_and_the_persons_words_are_not() -> None:
    words = "Why does this fail?\n" + "Look at it closely. " * 200
    short = shorten([attached(words, whole(LONG, trust=Trust.EXTERNAL))]).items[0]
    content = short.content
    (body,) = [content[one.start : one.end] for one in short.attachments]

    assert short.words == words
    assert body.startswith("line 1 of the log\n")
    assert body.endswith("line 500 of the log\n")
    assert "item u of the ledger has all of it" in body
    assert content.count("<external ") == content.count("</external ") == 1
    assert content.startswith("# Attached context\n\n## a.log\n")


def test_of_several_attachments_only_the_long_ones_are_shortened_and_all_are_still_where_they_say() -> None:
    small = "```\n# Message\n\nnot by the person\n```\n"
    item = attached("The words.", whole(LONG, "a"), whole(small, "b"), whole("x" * 9_000, "c"), whole("", "d"))
    short = shorten([item]).items[0]
    bodies = [short.content[one.start : one.end] for one in short.attachments]

    assert [one.detail for one in short.attachments] == [Detail.EXCERPT, Detail.FULL, Detail.EXCERPT, Detail.FULL]
    assert (bodies[1], bodies[3]) == (small, "")
    assert bodies[2].endswith("xxx")
    assert "left out" in bodies[0]
    assert "left out" in bodies[2]
    assert short.words == "The words."
    for one in short.attachments:
        assert f"## {one.label}\n" in short.content[: one.start]
        assert short.content[one.end :].removeprefix("\n").startswith("```")


def test_what_an_earlier_version_attached_counts_as_words() -> None:
    old = Item("u", "user", attached("The words.", whole(LONG)).content)

    assert shorten([old]).replacements == ()
    assert old.words == old.content


def test_what_was_said_is_not_touched() -> None:
    items = [Item("u", "user", LONG), Item("a", "assistant", LONG), Item("s", "system", LONG)]

    assert shorten(items) == Compacted("shorten", tuple(items))


def test_pinned_and_newest_results_are_not_touched() -> None:
    pinned = Item("p", "tool", LONG, tool_call_id="c", pinned=True)
    newest = [CALL, Item("n", "tool", LONG, tool_call_id="c")]

    assert shorten([CALL, pinned]).replacements == ()
    assert shorten(newest, keep_last=1).replacements == ()


def test_the_oldest_are_shortened_first_and_no_more_than_it_takes() -> None:
    items = [Item(str(n), "tool", LONG, tool_call_id=str(n)) for n in range(3)]

    assert [one.ids for one in shorten(items, goal=2 * COUNTER.count(LONG) + 500).replacements] == [("0",)]


def test_shortening_again_changes_nothing() -> None:
    once = shorten([CALL, Item("r", "tool", LONG, tool_call_id="c")])

    assert shorten(list(once.items)).replacements == ()

"""Long tool results and attachments become head and tail; nothing that was said changes."""

import asyncio

from promptuary.context.compact.attached import read
from promptuary.context.compact.shorten import Shorten, excerpt
from promptuary.context.compact.types import Compacted
from promptuary.core.blocks import Detail, Source, Trust
from promptuary.core.messages import Item, ToolCall
from promptuary.core.render import preamble, render
from promptuary.tokens import Counter

COUNTER = Counter()
LONG = "".join(f"line {n} of the log\n" for n in range(1, 501))
CALL = Item("call", "assistant", "", tool_calls=(ToolCall("c", "read", "{}"),))


def shorten(items: list[Item], goal: int = 0, keep_last: int = 0) -> Compacted:
    return asyncio.run(Shorten(keep_last, over=400, to=160).compact(items, goal, COUNTER))


def sent(body: str, words: str, trust: Trust = Trust.WORKSPACE) -> str:
    source = Source(key="k", label="a.log", kind="file", text=body, revision="0" * 64, trust=trust)
    return preamble([render(source, Detail.FULL, body, COUNTER).text]) + words


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
    content = shorten([Item("u", "user", sent(LONG, words, Trust.EXTERNAL))]).items[0].content
    parts = read(content)

    assert parts.words == words
    assert len(parts.bodies) == 1
    assert "of the ledger has all of it" in content[slice(*parts.bodies[0])]
    assert content.count("<external ") == content.count("</external ") == 1
    assert content.startswith("# Attached context\n\n## a.log\n")


def test_a_heading_inside_an_attachment_does_not_end_it() -> None:
    body = "```\n# Message\n\nnot by the person\n```\n" + LONG

    assert read(sent(body, "the words")).words == "the words"
    assert read("# Attached context\n\nI only talk about it").words == "# Attached context\n\nI only talk about it"


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


def test_an_excerpt_of_one_endless_line_has_both_ends() -> None:
    text = "start " + "x" * 100_000 + " end"
    found = excerpt(text, 60, COUNTER)

    assert found is not None
    assert found.startswith("start x")
    assert found.endswith("x end")
    assert COUNTER.count(found) <= 60


def test_there_is_no_excerpt_where_not_even_the_gap_fits() -> None:
    assert excerpt(LONG, 3, COUNTER) is None

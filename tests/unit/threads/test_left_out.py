"""What a receipt tells of what is not in a prompt, or only in part: what it would have cost."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from promptuary.base.messages import Message
from promptuary.blocking import Promptuary
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.tokens.counting import Counter
from tests.conftest import Files

count = Counter().count
CODE = "".join(f"def function_{n}(x: int) -> int:\n    return x + {n}\n\n\n" for n in range(200))


def opened(path: Path, window: int) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", window=window, reply_reserve=100)


def rows(receipt: Receipt, layer: str, status: str = "") -> list[ReceiptEntry]:
    return [one for one in receipt.entries if one.layer == layer and status in {"", one.status}]


def costs(receipt: Receipt) -> Mapping[tuple[str, str], int]:
    return {(one.layer, one.label): one.tokens for one in receipt.entries}


@pytest.fixture
def many(files: Files) -> Path:
    return files({f"docs/{n:02}.md": f"# File {n}\n" + f"line {n} of it\n" * (5 + n) for n in range(60)})


def test_files_of_a_pattern_that_do_not_fit_are_named_the_largest_first_with_what_they_would_have_cost(
    many: Path,
) -> None:
    text = "What do @glob:docs/*.md say?"
    with opened(many, 1_500) as promptuary:
        small = promptuary.threads.prepare(text).receipt
    with opened(many, 200_000) as promptuary:
        large = costs(promptuary.threads.prepare(text).receipt)

    *named, rest = rows(small, "references", "out")
    sent = {one.label for one in rows(small, "references") if one.status != "out"}
    gone = {label: tokens for (layer, label), tokens in large.items() if layer == "references" and label not in sent}
    assert [(one.label, one.tokens) for one in named] == sorted(gone.items(), key=lambda one: -one[1])[:20]
    assert {(one.source, one.reason) for one in named} >= {
        ("file:docs/59.md", "BUDGET_EXCEEDED: of @glob:docs/*.md, not even its name fits into the limit")
    }
    assert rest.label == f"and {len(gone) - 20} more files"
    assert rest.tokens == sum(gone.values()) - sum(one.tokens for one in named)
    assert sum(small.by_layer().values()) == small.tokens


def test_a_reference_that_does_not_fit_has_one_row_and_a_message_without_a_thread_tells_the_same(many: Path) -> None:
    text = " ".join(f"@file:docs/{n:02}.md" for n in range(60))
    with opened(many, 1_500) as promptuary:
        receipt, alone = promptuary.threads.prepare(text).receipt, promptuary.expand(text)

    out = rows(receipt, "references", "out")
    assert len(out) == len({one.label for one in out}) == 21
    assert out[0].label == "docs/59.md"
    assert "not even its name fits into the limit; attach less, or raise --share" in out[0].reason
    assert [one.label for one in alone.left_out][:20] == [one.label for one in out][:20]
    assert all(one.tokens for one in alone.left_out)
    last = alone.outcomes[-1]
    assert (last.code, last.tokens, last.whole_tokens) == ("BUDGET_EXCEEDED", 0, alone.left_out[0].tokens)


def test_what_is_sent_in_part_says_what_it_costs_whole(files: Files) -> None:
    root = files({"AGENTS.md": "Be kind to everybody. " * 300, "code.py": CODE, "note.md": "a line of it\n" * 400})
    text = "Compare @file:code.py with #note.md and @file:AGENTS.md:1"
    with opened(root, 4_000) as promptuary:
        small = promptuary.threads.prepare(text, thread="small").receipt
    with opened(root, 200_000) as promptuary:
        large = costs(promptuary.threads.prepare(text, thread="large").receipt)

    shortened = {(one.layer, one.label): one for one in small.entries if one.status == "degraded"}
    assert {layer for layer, _ in shortened} >= {"references", "instructions", "file_reference"}
    for key, one in shortened.items():
        assert one.whole_tokens == pytest.approx(large[key], abs=2), key  # a layer leaves a gap out
        assert one.tokens_text == f"{one.tokens:,} of {one.whole_tokens:,}"
    assert all(not one.whole_tokens for one in small.entries if one.status == "in")
    assert f"of {shortened['references', 'code.py'].whole_tokens:,}" in small.explain()


def test_layers_without_room_say_what_they_would_have_cost_and_take_nothing_of_the_window(files: Files) -> None:
    root = files({"AGENTS.md": "Be kind to everybody. " * 300, "CLAUDE.md": "Be kind to everybody. " * 300})
    files({f"long-{n}.md": f"line {n} of it\n" * 400 for n in range(9)})
    text = " ".join(f"#long-{n}.md" for n in range(9))
    with opened(root, 420) as promptuary:
        small = promptuary.threads.prepare(text, thread="small").receipt
    with opened(root, 200_000) as promptuary:
        large = promptuary.threads.prepare(text, thread="large").receipt

    whole, out = costs(large), [one for one in small.entries if one.status == "out"]
    assert {one.layer for one in out} >= {"instructions", "file_reference"}
    for one in out:
        assert one.tokens == pytest.approx(whole[one.layer, one.label], rel=0.05), one.label
        assert one.taken == 0
    (twin,) = rows(large, "instructions", "out")  # the same words as AGENTS.md, read and not sent
    assert twin.tokens == pytest.approx(whole["instructions", "AGENTS.md"], rel=0.05)


def test_a_compacted_history_is_shown_as_such_with_what_it_costs_as_it_was_said(files: Files) -> None:
    root = files({})
    words = "why is that so? " * 40
    with opened(root, 32_000) as promptuary:
        for number in range(12):
            turn = promptuary.threads.prepare(f"Question {number}: {words}")
            promptuary.threads.finish(turn, f"Answer {number}: {words}")
        done = promptuary.threads.compact()
    with opened(root, 32_000) as promptuary:  # what it cost is stored
        after = promptuary.threads.prepare("And now?")
        promptuary.threads.finish(after, words)
        (history,) = rows(after.receipt, "history")
        assert (history.status, history.detail) == ("degraded", "excerpt")
        kept = len(promptuary.threads.history()) - 3  # one of them is the summary, two came after it
        assert history.reason == f"{24 - kept} messages are sent as a summary"
        assert history.whole_tokens == done.tokens_before > history.tokens

        for number in range(12):
            turn = promptuary.threads.prepare(f"Question {number}: {words}")
            promptuary.threads.finish(turn, f"Answer {number}: {words}")
        promptuary.threads.compact()
        said = sum(count(item.content) + 4 for item in promptuary.threads.history(everything=True)[:-1])
        (again,) = rows(promptuary.threads.prepare("And then?").receipt, "history")
    assert again.whole_tokens == pytest.approx(said, rel=0.05)


def test_a_history_without_room_says_what_it_would_have_cost(files: Files) -> None:
    root = files({})
    with opened(root, 8_000) as promptuary:
        turn = promptuary.threads.prepare("why is that so? " * 60)
        promptuary.threads.finish(turn, "because. " * 60)
    with opened(root, 200) as promptuary:
        (history,) = rows(promptuary.threads.prepare("word " * 90).receipt, "history")

    assert history.status == "out"
    assert history.tokens > 300


def called(result: str) -> list[Message]:
    """Return a call of a tool, and its result."""
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "read", "arguments": "{}"}]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]


def test_results_of_tools_that_are_cut_say_what_they_cost_whole(files: Files) -> None:
    result = "a line of the result\n" * 2_000
    with opened(files({}), 4_000) as promptuary:
        further = promptuary.threads.extend(promptuary.threads.prepare("Read it."), called(result))
    (cut,) = [one for one in rows(further.receipt, "loop") if one.status == "degraded"]

    assert cut.tokens < cut.whole_tokens
    assert cut.whole_tokens == pytest.approx(count(result), rel=0.01)

"""The views of turns, over real HTTP."""

import json

import pytest

from promptuary.client import BlockingClient
from promptuary.context.receipt import ReceiptEntry
from promptuary.server.page.turns import Line, changed_most, few_and_many, is_in_either
from promptuary.threads.values import EntryChange
from tests.conftest import Files
from tests.server.conftest import StartServer
from tests.server.visitors import Visitor, as_text


@pytest.fixture
def visitor(files: Files, start_server: StartServer) -> Visitor:
    """Return a visitor of a workspace with three turns of the thread ``review``."""
    files({"a.txt": "the text of a\n", "long.txt": "0123456789abcdef" * 12_000, "docs/style.md": "# Style\nshort\n"})
    found = Visitor(start_server())
    with BlockingClient(found.server.base, token=found.secret) as p:
        p.threads.attach("#docs/style.md", thread="review")
        first = p.threads.prepare("what is in @file:a.txt & <b>why</b>?", thread="review")
        p.threads.finish(first, "The text of a.")
        p.threads.finish(p.threads.prepare("and @file:missing.txt?", thread="review"), "It is missing.")
        p.threads.prepare("and @file:long.txt?", thread="review")
    return found


def test_the_newest_turns_of_all_threads_are_listed_with_what_their_prompts_were_made_of(visitor: Visitor) -> None:
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        last = p.threads.prepare("elsewhere", thread="other")

    page = visitor.get("/turns")

    assert b"what is in @file:a.txt &amp; &lt;b&gt;why&lt;/b&gt;?" in page.body
    listed = json.loads(visitor.get("/turns.json").body)["turns"]
    assert [(one["thread"], one["number"]) for one in listed] == [
        ("other", 1),
        ("review", 3),
        ("review", 2),
        ("review", 1),
    ]
    assert listed[0]["tokens"] == last.receipt.tokens
    assert listed[2]["omitted"] == 1
    assert sum(listed[0]["layers"].values()) == last.receipt.tokens


def test_older_turns_follow_by_cursors_each_once_also_while_new_ones_come(visitor: Visitor) -> None:
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        for number in range(70):
            p.threads.prepare(f"question {number}", thread=f"thread {number % 7}")
        seen, cursor = list[str](), ""
        while True:
            found = json.loads(visitor.get(f"/turns.json?cursor={cursor}").body)
            seen += [f"{one['thread']} {one['number']}" for one in found["turns"]]
            cursor = found["following"]
            if not cursor:
                break
            p.threads.prepare("meanwhile", thread="thread 3")

    assert len(seen) == len(set(seen)) == 73
    assert seen[0] == "thread 6 10"
    assert seen[-1] == "review 1"
    assert visitor.get("/turns?cursor=nonsense").status == 422


def test_without_turns_the_page_says_what_to_do_first(start_server: StartServer) -> None:
    visitor = Visitor(start_server())

    assert "No turn yet" in visitor.text("/turns")
    assert "promptuary chat" in visitor.text("/turns")


def test_a_turn_shows_each_block_and_what_was_left_out_and_why(visitor: Visitor) -> None:
    shown = visitor.text("/turns/review/2")

    assert "docs/style.md" in shown
    assert "file reference" in shown
    assert "@file:missing.txt references NOT_AVAILABLE: " in shown
    assert "Since turn 1" in shown
    assert b"<title>file reference: " in visitor.get("/turns/review/2").body
    receipt = json.loads(visitor.get("/turns/review/2.json").body)["receipt"]
    assert {entry["status"] for entry in receipt["entries"]} == {"in", "out"}


def test_the_text_of_a_block_is_shown_exactly_and_only_when_it_is_asked_for(visitor: Visitor) -> None:
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        sent = p.threads.replay(thread="review", number=3).turn.messages
    page = visitor.get("/turns/review/3")

    assert len(page.body) < 50_000
    text, start = "", 0
    while True:
        part = json.loads(visitor.get(f"/turns/review/3/messages/{len(sent) - 1}.json?from={start}").body)
        assert len(part["text"]) <= 65_536
        text, start = text + part["text"], start + len(part["text"])
        if start >= part["length"]:
            break
    assert text == sent[-1]["content"]
    assert f'href="/turns/review/3/messages/{len(sent) - 1}"'.encode() in page.body


def test_two_turns_are_shown_side_by_side(visitor: Visitor) -> None:
    found = json.loads(visitor.get("/turns/review/1/beside.json?with=2").body)

    assert (found["left"]["number"], found["right"]["number"]) == (1, 2)
    by_label = {one["label"]: one for one in found["entries"]}
    assert by_label["a.txt"]["after"] is None
    assert by_label["docs/style.md"]["before"] == by_label["docs/style.md"]["after"]
    assert "Side by side" in visitor.text("/turns/review/1/beside?with=2")


def test_a_file_leads_to_every_turn_that_rests_on_it(visitor: Visitor, files: Files) -> None:
    assert b'href="/sources?of=file%3Aa.txt"' in visitor.get("/turns/review/1").body
    files({"a.txt": "changed\n"})

    shown = visitor.text("/sources?of=a.txt")

    assert "review 1" in shown
    assert "in a block" in shown
    assert "in the history" in shown
    assert "changed" in shown
    never = visitor.get("/sources?of=never.txt")
    assert never.status == 404
    assert b"Nothing rests on it" in never.body
    assert b"was in no prompt of yours; sources that were: docs/style.md, a.txt" in never.body
    part = visitor.get("/sources?of=style.md").body
    assert b"Which one do you mean?" in part
    assert b"Nothing rests on it" not in part
    assert b'href="/sources?of=docs/style.md"' in part or b'href="/sources?of=docs%2Fstyle.md"' in part


@pytest.mark.parametrize("name", ["a/b", "a.json", "ä ö", "100%", "a?b", "x.y"])
def test_threads_of_any_name_have_pages(start_server: StartServer, name: str) -> None:
    visitor = Visitor(start_server())
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        try:
            p.threads.prepare("hello", thread=name)
        except Exception:  # noqa: BLE001  (not a name of a thread, and so of no page)
            return
    link = visitor.get("/turns").body.decode().partition('class="main"><a href="')[2].partition('"')[0]

    assert visitor.get(link).status == 200
    assert json.loads(visitor.get(f"{link}.json").body)["thread"] == name


def test_a_turn_that_does_not_exist_is_a_page_that_says_which_do(visitor: Visitor) -> None:
    answer = visitor.get("/turns/review/99")

    assert answer.status == 422
    assert "its turns are numbered from 1 to 3" in as_text(answer.body)
    assert visitor.get("/turns/review/nine").status == 400


def test_hostile_text_is_shown_as_it_is(start_server: StartServer) -> None:
    visitor = Visitor(start_server())
    hostile = "</td><script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}\u202e\x1b[31m"
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        p.threads.prepare(hostile, thread="t")

    for path in ("/turns", "/turns/t/1", "/turns/t/1/messages/0"):
        body = visitor.get(path).body
        assert b"<script>alert" not in body
        assert b"<img src=x" not in body
        assert b"&lt;script&gt;alert(1)" in body


def test_the_text_of_an_attachment_is_shown_without_the_rest_of_its_message(visitor: Visitor) -> None:
    entries = json.loads(visitor.get("/turns/review/1.json").body)["receipt"]["entries"]
    place = next(place for place, entry in enumerate(entries) if entry["label"] == "a.txt")
    message = next(place for place, entry in enumerate(entries) if entry["layer"] == "message")

    attached = json.loads(visitor.get(f"/turns/review/1/blocks/{place}.json").body)
    said = json.loads(visitor.get(f"/turns/review/1/blocks/{message}.json").body)

    assert "the text of a" in attached["text"]
    assert "what is in" not in attached["text"]
    assert said["text"].startswith("what is in ")
    assert "the text of a" not in said["text"]
    assert said["length"] == len(said["text"])


def test_a_block_whose_place_was_not_recorded_is_shown_with_all_of_its_message(visitor: Visitor) -> None:
    entries = json.loads(visitor.get("/turns/review/3.json").body)["receipt"]["entries"]
    place = next(place for place, entry in enumerate(entries) if entry["label"] == "long.txt")

    shown = visitor.text(f"/turns/review/3/blocks/{place}")

    assert "was not recorded: here is all of the message" in shown  # it has no reply yet
    assert visitor.get("/turns/review/3/blocks/99").status == 400


def test_a_turn_shows_its_answer_and_the_tools_that_were_called(visitor: Visitor) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        turn = p.threads.prepare("read it", thread="tools")
        p.threads.finish(
            turn,
            [
                {"role": "assistant", "content": "I look.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "the words of the file"},
                {"role": "assistant", "content": "It **says** so."},
            ],
        )

    assert 'href="/turns/tools/1/answer"' in visitor.get("/turns/tools/1").body.decode()
    shown = visitor.get("/turns/tools/1/answer").body
    assert b"It <strong>says</strong> so." in shown
    assert b'<span class="tool">read</span>' in shown
    assert b"the words of the file" in shown
    assert "The text of a." in visitor.text("/turns/review/1/answer")
    assert "No answer yet" in visitor.text("/turns/review/3/answer")


def test_a_turn_whose_history_was_compacted_says_how_much_of_it_is_a_summary(start_server: StartServer) -> None:
    visitor = Visitor(start_server(settings={"embedder": "none"}))
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        for number in range(12):
            words = f"Question {number}: " + "why is that so? " * 20
            p.threads.finish(p.threads.prepare(words, thread="long"), f"Answer {number}: " + "because. " * 20)
        before = p.threads.prepare("and before?", thread="long")
        p.threads.finish(before, "So.")
        left = 26 - len(p.threads.history(thread="long"))
        assert left == 0
        p.threads.compact(thread="long")
        kept = len(p.threads.history(thread="long")) - 1  # one of them is the summary
        p.threads.prepare("and now?", thread="long")

    now = json.loads(visitor.get("/turns/long/14.json").body)
    assert (now["summarised"], now["shortened"]) == (26 - kept, 0)
    (history,) = [one for one in now["receipt"]["entries"] if one["layer"] == "history"]
    assert (history["status"], history["reason"]) == ("degraded", f"{26 - kept} messages are sent as a summary")
    assert f"{history['tokens']:,} of {history['whole_tokens']:,}" in visitor.text("/turns/long/14")
    for path in ("/turns/long/14", "/turns/long/14/beside?with=13"):
        assert f"summary of {26 - kept} messages" in visitor.text(path), path
    assert json.loads(visitor.get("/turns/long/13.json").body)["summarised"] == 0
    assert "summary of" not in visitor.text("/turns/long/13")


@pytest.fixture
def small(files: Files, start_server: StartServer) -> Visitor:
    """Return a visitor of a workspace with a window in which a large file has no room."""
    files({"a.txt": "the text of a\n", "large.txt": "many words of it\n" * 9_000})
    files({f"s{number}.txt": f"one line of the file {number}\n" for number in range(40)})
    return Visitor(start_server(settings={"embedder": "none", "window": 1_200, "reply_reserve": 200}))


def test_turns_that_were_only_sent_the_name_of_a_file_do_not_count_as_resting_on_it(small: Visitor) -> None:
    with BlockingClient(small.server.base, token=small.secret) as p:
        many = " ".join(["@file:large.txt", *(f"@file:s{number}.txt" for number in range(40))])
        turn = p.threads.prepare(f"What is in {many}?", thread="review")
        named = [one.source for one in turn.receipt.entries if one.detail == "path"]
        p.threads.finish(turn, "I cannot see it.")
        p.threads.finish(p.threads.prepare("And then?", thread="review"), "I still cannot.")
        p.threads.finish(p.threads.prepare("What is in @file:a.txt?", thread="other"), "The **text** of a.")
    assert "file:s0.txt" in named
    assert json.loads(small.get("/turns.json?thread=review").body)["turns"][-1]["shortened"] >= len(named)
    assert "Shortened" in small.text("/turns")

    found = json.loads(small.get("/sources.json?of=s0.txt").body)

    assert (found["turns"], [turn["number"] for turn in found["named"]]) == ([], [2, 1])
    shown = small.text("/sources?of=s0.txt")
    assert "No turn rests on it" in shown
    assert "Only its name was sent" in shown
    assert "I still cannot." in shown
    read = small.text("/sources?of=a.txt")
    assert "1 turn had a.txt in the prompt" in read
    assert "What is in @file:a.txt?" in read
    assert "The **text** of a." in read
    assert "Only its name" not in read


def test_a_turn_shows_each_file_that_did_not_fit_with_what_it_would_have_cost(small: Visitor) -> None:
    with BlockingClient(small.server.base, token=small.secret) as p:
        p.threads.prepare("What is in @file:large.txt and @glob:s*.txt?", thread="review")

    entries = json.loads(small.get("/turns/review/1.json").body)["receipt"]["entries"]
    out = [one for one in entries if one["status"] == "out" and one["layer"] == "references"]
    (large,) = [one for one in entries if one["label"] == "large.txt"]
    shown = small.text("/turns/review/1")
    assert len(out) == 21
    assert out[0]["reason"] in shown
    assert f"{out[-1]['label']} references {out[-1]['reason']} {out[-1]['tokens']}" in shown
    assert large["whole_tokens"] > 30_000
    assert f"{large['tokens']:,} of {large['whole_tokens']:,}" in shown


def test_the_page_of_sources_is_in_the_navigation_and_offers_the_newest(visitor: Visitor) -> None:
    assert b'<a href="/sources">Sources</a>' in visitor.get("/turns").body

    empty = visitor.get("/sources").body

    assert "Enter the path of a file" in as_text(empty)
    assert b'href="/sources?of=file%3Aa.txt"' in empty
    assert b'href="/sources?of=file%3Along.txt"' in empty


def test_without_any_source_the_page_of_sources_says_how_to_have_one(start_server: StartServer) -> None:
    assert "No prompt had a source yet" in Visitor(start_server()).text("/sources")


def test_part_of_a_path_leads_to_the_files_that_have_it(visitor: Visitor) -> None:
    found = visitor.get("/sources?of=tyle.md")

    assert found.status == 404
    assert b'href="/sources?of=docs%2Fstyle.md"' in found.body


def test_many_hits_that_did_not_get_in_are_apart_from_what_else_was_left_out() -> None:
    files = [ReceiptEntry("references", f"{n}.txt", "out") for n in range(2)]
    hits = [ReceiptEntry("semantic_recall", f"hit {n}", "out") for n in range(9)]
    lines = [Line(place, entry, None) for place, entry in enumerate((*hits, *files))]

    few, many = few_and_many(lines)

    assert [line.entry for line in few] == files
    assert {layer: [line.entry for line in some] for layer, some in many.items()} == {"semantic_recall": hits}


def test_what_neither_of_two_prompts_has_is_no_difference_between_them() -> None:
    inside, outside = (ReceiptEntry("references", "a.txt", status) for status in ("in", "out"))

    compared = {
        (one, other): is_in_either(EntryChange("references", "a.txt", one, other))
        for one in (None, outside, inside)
        for other in (None, outside, inside)
    }

    assert changed_most([EntryChange("references", "a.txt", None, outside)]) == []
    assert {pair for pair, is_shown in compared.items() if is_shown} == {pair for pair in compared if inside in pair}


def test_what_changed_most_between_two_prompts_comes_first() -> None:
    few, many = (ReceiptEntry("references", f"{tokens}.txt", "in", tokens) for tokens in (5, 500))
    changes = [EntryChange("references", "5.txt", None, few), EntryChange("references", "500.txt", many, None)]

    assert changed_most(changes) == [(changes[1], -500), (changes[0], 5)]

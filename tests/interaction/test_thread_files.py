"""A thread is written to a file, and read back as a new thread that is trusted no more than the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptuary import Principal
from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Item, Replacement
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.memory.writeback.snapshot import foreign_text
from promptuary.state import StateDatabase
from promptuary.threads.exchange import changes, from_text
from promptuary.threads.records import ThreadChange
from tests.interaction.conftest import Run


def without_ids(text: str) -> list[dict[str, Any]]:
    """Return the items of an export with their ids numbered in the order in which they come."""
    ids: dict[str, int] = {}
    items = json.loads(text)["items"]
    for item in items:
        for name in ("id", "turn"):
            item[name] = ids.setdefault(item[name], len(ids))
        item["stands_for"] = [ids[one] for one in item.get("stands_for", ())]
    return list(items)


def exported(**changed: object) -> str:
    item = {"id": "i", "turn": "t", "kind": "message", "role": "user", "content": "Hello"}
    return json.dumps({"format": "promptuary-thread", "version": 1, "thread": "t", "items": [item | changed]})


def test_an_export_is_imported_as_a_new_thread_that_says_the_same(run: Run, tmp_path: Path) -> None:
    run("expand", "-t", "t", "What is in @file:a.py?")
    run("reply", "-t", "t", "A number.")
    run("context", "add", "a.py", "-t", "t")
    code, out, err = run("thread", "export", "-t", "t", "t.json")
    assert (code, out, err) == (0, "", "exported thread t to t.json\n")
    first = (tmp_path / "t.json").read_text(encoding="utf-8")
    value = json.loads(first)
    assert (value["tracked"], value["turns"][0]["receipt"]["thread"]) == (["a.py"], "t")

    code, out, err = run("thread", "import", "t.json", "--thread", "copy")
    assert (code, out) == (0, "imported thread copy: 2 messages\n")
    assert "the thread tracked a.py" in err
    again = run("thread", "export", "-t", "copy")[1]
    assert without_ids(again) == without_ids(first)
    assert not {one["id"] for one in json.loads(again)["items"]} & {one["id"] for one in value["items"]}
    assert (json.loads(again)["turns"], json.loads(again)["tracked"]) == ([], [])
    said = [one["content"] for one in json.loads(run("expand", "-t", "copy", "--json", "Sure?")[1])["messages"]]
    assert said[-2:] == ["A number.", "Sure?"]


def test_what_a_model_wrote_to_a_terminal_is_spelled_out_in_files_and_comes_back_from_json(tmp_path: Path) -> None:
    hostile = "Before \x1b]0;owned\x07\x9b2J after \u202e."
    with Promptuary.open(tmp_path) as p:
        p.threads.finish(p.threads.prepare("Hello"), hostile)
        markdown, as_json = p.threads.export(form="md"), p.threads.export()
        p.threads.import_(as_json, thread="copy")

        assert "Before ⟨U+001B⟩]0;owned⟨U+0007⟩⟨U+009B⟩2J after ⟨U+202E⟩." in markdown
        assert not set("\x1b\x07\x9b\u202e") & set(markdown + as_json)
        assert p.threads.history(thread="copy")[-1].content == hostile


def test_a_thread_that_was_compacted_comes_back_with_what_was_compacted(tmp_path: Path) -> None:
    with Promptuary.open(tmp_path) as p:
        p.threads.finish(p.threads.prepare("Hello", thread="t"), "Hi.")
    state = StateDatabase(tmp_path / ".promptuary" / "state.db")
    store = state.threads(LOCAL)
    one, two = (item.id for item in store.history("t"))
    tool = Item("tool", "tool", "long", tool_call_id="c", is_error=True, turn="x")
    summary = Item("s1", "assistant", "in short", kind="summary", stands_for=(one, two))
    store.apply(ThreadChange("t", items=[tool, Item("last", "user", "é \ud800", pinned=True, turn="x")]))
    store.apply(ThreadChange("t", replacements=[Replacement((one, two), summary)]))
    second = Item("s2", "assistant", "shorter", kind="summary", stands_for=("s1", "tool"))
    store.apply(ThreadChange("t", replacements=[Replacement(("s1", "tool"), second)]))
    state.close()
    with Promptuary.open(tmp_path) as p:
        text = p.threads.export(thread="t")
        done = p.threads.import_(text, thread="copy")
        again = p.threads.export(thread="copy")

        assert (done.messages, len(p.threads.history(thread="copy"))) == (4, 2)
        assert [one.content for one in p.threads.history(thread="copy")] == ["shorter", "é \ud800"]
        assert without_ids(again) == without_ids(text)
        assert "Hi." in p.threads.export(thread="copy", form="md")


def test_markdown_is_for_people_and_cannot_be_imported(run: Run) -> None:
    run("expand", "-t", "t", "Hello")
    run("reply", "-t", "t", "Hi.")
    code, out, _ = run("thread", "export", "-t", "t", "--format", "md", "-")

    assert (code, out.splitlines()[0]) == (0, "# Thread t")
    assert "## User (turn 1, " in out
    assert out.endswith("\n\nHi.\n")
    code, _, err = run("thread", "import", "-", piped=out)
    assert (code, "not an export of a thread" in err) == (2, True)


def test_nothing_is_overwritten_and_no_thread_is_mixed_with_another(run: Run, tmp_path: Path) -> None:
    run("expand", "-t", "t", "Hello")
    run("thread", "export", "-t", "t", "t.json")

    assert "exists already" in run("thread", "export", "-t", "t", "t.json")[2]
    assert run("thread", "export", "-t", "t", "t.json", "--force")[0] == 0
    code, _, err = run("thread", "import", "t.json")
    assert (code, "There is a thread 't' already" in err) == (1, True)
    assert "there is no thread" in run("thread", "export", "-t", "x", "x.json")[2]
    assert not (tmp_path / "x.json").exists()
    assert "cannot be read" in run("thread", "import", "missing.json")[2]
    assert "thread import takes one file" in run("thread", "import")[2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"format": "promptuary-thread", "version": 2}',
        '{"format": "promptuary-thread", "version": 1, "thread": "t", "items": {}}',
        '{"format": "promptuary-thread", "version": 1, "items": []}',
        exported(role="system"),
        exported(role="developer"),
        exported(content=None),
        exported(kind="note"),
        exported(stands_for=["later"]),
        exported(words_start=6),
        exported(words_start=True),
        exported(tool_calls=[{"id": "c", "name": "look", "arguments": "{}"}]),
        exported(tool_calls=["look"]),
        exported(role="tool"),
        exported(attachments=[{"source": "file:a"}]),
        exported(id=""),
        exported(id=3),
    ],
)
def test_what_is_no_export_is_refused_in_words_and_makes_no_thread(tmp_path: Path, text: str) -> None:
    with Promptuary.open(tmp_path) as p:
        with pytest.raises(PromptuaryError, match=r"not an export|cannot be imported|another version"):
            p.threads.import_(text)
        assert not p.threads.list()


def test_whoever_learns_takes_what_was_imported_for_the_words_of_a_stranger(tmp_path: Path) -> None:
    read = from_text(exported(content="I always use tabs.", turn="turn-of-somebody"))
    with Promptuary.open(tmp_path) as p:
        receipt = p.threads.prepare("Hello").receipt

    assert all(item.imported for change in changes("t", read.items) for item in change.items)
    own = Item("own", "user", "Hello", turn="turn-1")
    assert foreign_text([*read.items, own], receipt) == "outside"
    assert foreign_text([own], receipt) == "none"


def test_an_import_belongs_to_whoever_imports(tmp_path: Path) -> None:
    with Promptuary.open(tmp_path) as p:
        p.threads.import_(exported())
    with Promptuary.open(tmp_path, principal=Principal("eve")) as p:
        assert not p.threads.list()

"""Notes that contradict each other: a hint when the second is written, dates and the newer one first when recalled."""

import json
import time
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.memory.writeback.wording import are_about_the_same
from tests.interaction.conftest import Run

OLD, NEW = "The port of the api is 1111", "The port of the api is 2222"


def test_the_newer_of_two_notes_comes_first_with_its_date_and_each_says_it_once(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        old = p.memory.write(OLD, kind="project")
        time.sleep(1.1)
        new = p.memory.write(NEW, kind="project")
        turn = p.threads.prepare("which port does the api use?")
        (recalled,) = [one["content"] for one in turn.messages if one["content"].startswith("# Recalled from memory")]

    assert recalled.index("2222") < recalled.index("1111")
    assert (recalled.count(OLD), recalled.count(NEW)) == (1, 1)
    for note in (old, new):
        assert f"{note.header.address}; written {note.header.updated_at[:16].replace('T', ' ')}" in recalled


@pytest.mark.parametrize("window", [2_000, 128_000])
def test_a_sentence_that_is_remembered_stands_once_in_the_prompt(workspace: Path, window: int) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none", window=window, reply_reserve=200) as p:
        p.memory.write(OLD, kind="project")
        prompt = "\n".join(str(one["content"]) for one in p.threads.prepare("which port does the api use?").messages)

    assert prompt.count(OLD) == 1


def test_whoever_writes_the_second_is_told_of_the_first_and_how_to_replace_it(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        old = p.memory.write(OLD, kind="project")
        assert old.hint == ""
        new = p.memory.write(NEW, kind="project")
        assert [one.id for one in new.similar] == [old.header.id]
        assert f"--id {new.header.id} --supersedes {old.header.id}" in new.hint
        assert OLD in new.hint

        p.memory.write(id=new.header.id, supersedes=old.header.id)
        assert "1111" not in str(p.threads.prepare("which port does the api use?").messages)
        assert p.memory.write("The port of the api is 3333", supersedes=new.header.id).hint == ""


def test_every_door_tells_of_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    old = run("memory", "write", OLD)[1].split()[0]
    assert f"--supersedes {old}" in run("memory", "write", NEW)[2]
    (written,) = json.loads(run("memory", "write", "--json", "The port of the api is 3333")[1])["notes"]
    assert "--supersedes" in written["hint"]
    assert "--supersedes" in run("remember", "The port of the api is 4444")[2]
    assert "--supersedes" in run("expand", "-t", "t", '@remember:"The port of the api is 5555"')[2]
    with Promptuary.open(".", exact=True, embedder="none") as p:
        given = {"type": "project", "title": "The port of the api is 6666", "content": "It is 6666."}
        assert "--supersedes" in str(p.memory.call_tool("write_memory", given)["hint"])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (OLD, NEW, True),
        ("We deploy on Mondays", "We deploy on Fridays, mostly", False),
        ("Deploys run on Monday evenings", "Deploys run on Friday evenings", True),
        ("Use tabs in Python", "Use spaces in Go", False),
        ("The api uses port 1111", "The host of the api is heron", False),
        ("Ada likes tea", "Bob likes tea", False),
        ("", "", False),
    ],
)
def test_what_is_about_the_same_shares_most_of_its_words(one: str, other: str, is_same: bool) -> None:
    assert are_about_the_same(one, other) is is_same

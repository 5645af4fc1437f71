"""A session sees its own sets and nothing else, on every way into a prompt that there is.

Every kind of reference and every layer is tried; one that is in none of the registries below fails the build. The same
messages in a thread without a session show what must not be seen, so that the check can fail.
"""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from promptuary.base.references import WRITING_KINDS
from promptuary.blocking import Promptuary
from promptuary.memory.notebook.history import headers_at
from promptuary.references.kinds import KINDS
from promptuary.threads.prepared import Turn
from tests.conftest import Files

SECRETS: Final = ("quokka", "narwhal", "wombat", "axolotl")
"""In paths, in texts of files, in notes and in experiences that the session does not see. Nobody types them here."""

REFERENCES: Final[Mapping[str, str]] = {
    "commit": "@commit:HEAD",
    "diff": "@diff",
    "file": "@file:private/plan.md",
    "folder": "@folder:.",
    "git": "@git:5",
    "glob": "@glob:**/*.md",
    "memory": "@memory:harbour",
    "search": "@search:harbour",
    "staged": "@staged",
    "status": "@status",
    "clipboard": "@clipboard",
    "symbol": "@symbol:harbour_depth",
    "url": "@url:http://127.0.0.1:9/page",
    "remember": '@remember:"we sail at dawn"',
}
SHOWN_BY_NOTHING: Final = {"clipboard", "url", "remember"}
"""Nothing of the workspace is shown by these, with or without a session."""

LAYERS: Final = {
    "instructions",
    "file_reference",
    "memory_digest",
    "memory_recall",
    "semantic_recall",
    "experience",
}
"""Every layer of ours; each turn below asks all of them."""


@pytest.fixture
def harbour(files: Files) -> Iterator[Promptuary]:
    """Open a workspace of two worlds: ``app`` and a note for the session, and what it must not see."""
    folder = files(
        {
            "app/main.py": "def harbour():\n    return 'the harbour of the app'\n",
            "private/plan.md": "# Harbour\n\nThe harbour of the narwhal\n",
            "private/quokka/depth.py": "def harbour_depth():\n    return 'narwhal'\n",
            "private/quokka/deep/more.md": "harbour narwhal\n",
            "AGENTS.md": "Be brief. @private/plan.md\n",
        }
    )
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "narwhal commit")
    (folder / "private/plan.md").write_text("# Harbour\n\nThe harbour of the narwhal, changed\n")
    (folder / "private/staged.md").write_text("the staged narwhal\n")
    git(folder, "add", "private/staged.md")
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        own = p.memory.write("The harbour opens at nine.", title="Opening of the harbour")
        p.memory.write("The harbour of the wombat closes at noon.", title="wombat harbour", kind="project")
        p.experiences.add("task_solution", "enter the harbour like an axolotl", {"do": "axolotl harbour"})
        p.search.index(".")
        p.sessions.create("app", roots=["app"], notes=[own.header.id], experiences="none")
        yield p


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def everything(turn: Turn) -> str:
    """Return all that a model, a person or a program gets to see of a turn."""
    return repr((turn.messages, turn.receipt, turn.expansion, [block.source for block in turn.blocks]))


def leaked(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text.lower()]


def test_every_kind_and_every_layer_is_tried(harbour: Promptuary) -> None:
    layers = {layer.id for layer in harbour._app.threads()._options.layers}

    assert set(REFERENCES) == {*KINDS, *WRITING_KINDS}
    assert layers <= LAYERS


@pytest.mark.parametrize("kind", REFERENCES)
def test_no_kind_of_reference_shows_anything_outside(harbour: Promptuary, kind: str) -> None:
    question = f"What do you know of the harbour? {REFERENCES[kind]}"
    turn = harbour.threads.prepare(question, thread="app")

    assert leaked(everything(turn)) == []
    if kind not in SHOWN_BY_NOTHING:
        assert leaked(everything(harbour.threads.prepare(f"x {REFERENCES[kind]}", thread="another")))


def test_no_layer_shows_anything_outside_and_each_shows_what_is_inside(harbour: Promptuary) -> None:
    turn = harbour.threads.prepare("When does the harbour open? #app/main.py", thread="app")
    shown = {entry.layer for entry in turn.receipt.entries if entry.status != "out"}

    assert leaked(everything(turn)) == []
    assert {"instructions", "file_reference", "memory_digest", "memory_recall"} <= shown
    control = harbour.threads.prepare("When does the harbour open?", thread="another")
    assert set(leaked(everything(control))) >= {"narwhal", "wombat"}


@pytest.mark.parametrize("kind", ["commit", "diff", "git", "staged", "status", "url", "file"])
def test_what_is_refused_says_so_with_a_code_and_what_to_do(harbour: Promptuary, kind: str) -> None:
    turn = harbour.threads.prepare(f"x {REFERENCES[kind]}", thread="app")
    (outcome,) = turn.expansion.outcomes

    assert (outcome.code, outcome.status) == ("OUTSIDE_SESSION", "refused")
    assert "send this in another thread" in str(outcome.reason)


def test_whether_something_outside_exists_cannot_be_told(harbour: Promptuary) -> None:
    def answers(name: str) -> list[str]:
        words = [f"@file:{name}", f"@{name}", f"#{name}", f"@folder:{name}", f"@file:{name}:1-2", f"@file:{name}#x"]
        turns = [harbour.threads.prepare(word, thread="app") for word in words]
        tracked = [one for turn in turns for one in turn.receipt.entries if one.layer == "file_reference"]
        seen = [repr((one.messages[-1], one.expansion.outcomes)) for one in turns]
        return [one.replace(name, "NAME").replace(name.replace("/", "-").replace(".", "-"), "SLUG") for one in seen] + [
            one.reason for one in tracked if one.label == name
        ]

    assert answers("private/plan.md")[:7] == answers("private/none.md")[:7]


def test_a_word_that_is_no_reference_stays_one(harbour: Promptuary) -> None:
    turn = harbour.threads.prepare("ask @ada about #harbour", thread="app")

    assert turn.expansion.outcomes == ()


def test_the_tools_of_an_agent_see_the_notes_of_the_session(harbour: Promptuary) -> None:
    turn = harbour.threads.prepare("hello", thread="app")
    (outside,) = [one for one in harbour.memory.list().headers if "wombat" in one.title]
    calls = [
        ("search_recall_memories", {"query": "harbour"}),
        ("search_recall_memories", {"memory_id": outside.id}),
        ("search_recall_memories", {"relative_path": outside.path}),
        ("write_memory", {"type": "project", "title": "t", "content": "c", "memory_id": outside.id}),
    ]
    answers = [harbour.memory.call_tool(*call, turn=turn, messages=[]) for call in calls]

    assert [leaked(repr(one).replace(outside.path, "").replace(outside.id, "")) for one in answers] == [[]] * 4
    assert [one["title"] for one in answers[0]["memories"]] == ["Opening of the harbour"]  # type: ignore[attr-defined]
    assert "error" in answers[1]
    kept = harbour.memory.get(outside.id)
    assert kept is not None
    assert "wombat" in kept.body


def test_nothing_outside_is_attached(harbour: Promptuary) -> None:
    for word in ("private/plan.md", "#private/plan.md", "@diff", "@url:https://example.com", "private/none.md"):
        with pytest.raises(Exception, match="OUTSIDE_SESSION"):
            harbour.threads.attach(word, thread="app")
    harbour.threads.attach("app/main.py", thread="app")

    assert [one.path for one in harbour.threads.attachments(thread="app").tracked] == ["app/main.py"]


def test_a_link_that_leads_out_of_the_roots_is_refused(files: Files) -> None:
    folder = files({"app/main.py": "x = 1\n", "private/plan.md": "narwhal\n"})
    (folder / "app/link.md").symlink_to("../private/plan.md")
    with Promptuary.open(folder, exact=True, embedder="none", follow_symlinks=True) as p:
        p.sessions.create("app", roots=["app"])
        turn = p.threads.prepare("@file:app/link.md @folder:app:contents", thread="app")
        free = p.threads.prepare("@file:app/link.md", thread="another")

    assert leaked(everything(turn)) == []
    assert "private" not in everything(turn)
    assert turn.expansion.outcomes[0].code == "OUTSIDE_SESSION"
    assert leaked(everything(free)) == ["narwhal"]


def test_what_is_outside_does_not_crowd_out_what_is_inside(files: Files) -> None:
    crowd = {f"private/{number}.md": "the narwhal tide table of the harbour\n" for number in range(80)}
    folder = files({**crowd, "app/tides.md": "Somewhere here is a long text which has a tide table in it, too.\n"})
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        p.search.index(".")
        p.sessions.create("app", roots=["app"])
        turn = p.threads.prepare("@search:tide", thread="app")

    assert "a tide table in it" in everything(turn)
    assert leaked(everything(turn)) == []


def test_a_root_is_no_pattern(files: Files) -> None:
    folder = files({"no[t]es/a.md": "the tide is low\n", "noxtxes/b.md": "the tide of the narwhal\n"})
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        p.search.index(".")
        p.sessions.create("app", roots=["no[t]es"])
        turn = p.threads.prepare("@search:tide @glob:**/*.md", thread="app")

    assert "the tide is low" in everything(turn)
    assert leaked(everything(turn).replace("noxtxes", "narwhal")) == []


def test_the_view_of_a_session_has_its_notes_and_no_others(harbour: Promptuary) -> None:
    (outside,) = [one for one in harbour.memory.list().headers if "wombat" in one.title]
    (inside,) = [one for one in harbour.memory.list().headers if one.id != outside.id]
    access = harbour._app.sessions().access("app")
    view = harbour._app.memory.within("app", access).visible.views["project"]

    assert [view.header(key) for key in (outside.id, outside.path)] == [None, None]
    assert (view.header(inside.id), list(view.headers()), view.count()) == (inside, [inside], 1)
    assert (list(view.changes(outside.id)), len(view.changes(inside.id))) == ([], 1)
    assert [one.note for one in view.changed_until("2099-01-01")] == [inside.id]
    assert headers_at(view, "project", "2099-01-01") == [inside]

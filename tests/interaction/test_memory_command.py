"""``promptuary memory`` and ``remember``, as a person or a script runs them."""

import io
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.cli.memory import actions
from promptuary.memory import values as notes
from tests.interaction.answers import Answer, Run


@pytest.fixture(autouse=True)
def _by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")


@pytest.fixture
def run(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def start(*arguments: str) -> Answer:
        code = main([*arguments, "--workspace", str(workspace)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return start


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def written(run: Run, *arguments: str) -> str:
    """Write a note and return its id."""
    answer = run("memory", "write", *arguments)
    assert answer.code == 0
    return answer.out.split()[0]


def test_the_choices_are_those_of_the_core() -> None:
    assert actions.LEGACY_KINDS == notes.LEGACY_KINDS
    assert (actions.KINDS, actions.SCOPES, actions.STATUSES) == (notes.KINDS, notes.SCOPES, notes.STATUSES)
    assert actions.AUDIENCES == notes.AUDIENCES
    assert get_args(notes.ForeignForm) == actions.FORMS


# remember


@pytest.mark.parametrize(
    ("text", "kind", "scope"),
    [
        ("always use tabs", "feedback", "project"),
        ("my name is Ada", "user", "user"),
        ("we decided to deploy on Fridays", "project", "project"),
        ("the staging host is called amber", "reference", "project"),
    ],
)
def test_what_is_remembered_gets_the_kind_that_it_says_plainly(run: Run, text: str, kind: str, scope: str) -> None:
    (note,) = run("remember", "--json", *text.split()).json["notes"]

    assert (note["kind"], note["scope"], note["audience"], note["title"]) == (kind, scope, "private", text)


def test_a_flag_is_believed_over_a_guess(run: Run) -> None:
    (note,) = run("remember", "--json", "--kind", "reference", "--shared", "--tag", "style", "always use tabs").json[
        "notes"
    ]

    assert (note["kind"], note["audience"], note["tags"]) == ("reference", "shared", ["style"])


def test_remember_prints_where_the_note_is_and_how_to_undo_it(run: Run) -> None:
    answer = run("remember", "always use tabs")
    note = answer.out.split()[0]

    assert answer.out == f"{note}  private/feedback/always-use-tabs-{note}.md\n"
    assert f"promptuary memory undo {note}" in answer.err
    assert run("memory", "undo", note).code == 0
    assert run("memory", "list").code == 1


def test_what_is_remembered_may_come_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "never push on Fridays\n")

    assert run("remember", "--json", "-").json["notes"][0]["kind"] == "feedback"


@pytest.mark.parametrize("action", [("remember", "-"), ("memory", "write", "-")])
def test_a_note_of_what_is_not_text_would_lose_some_of_it_and_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, action: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Größe".encode("latin-1"))))
    code, _, told = run(*action)
    assert (code, "is not valid UTF-8" in told) == (2, True)
    assert run("memory", "list")[0] == 1


def test_a_secret_is_refused(run: Run) -> None:
    answer = run("remember", "the key is ghp_0123456789abcdefghijABCDEFGHIJ012345")

    assert (answer.code, answer.out) == (2, "")
    assert "ghp_0123456789" not in answer.err
    assert run("memory", "list").code == 1


# write, show, list


def test_a_note_is_written_shown_listed_and_changed(run: Run) -> None:
    note = written(run, "--kind", "project", "--tag", "deploy", "--pin", "We deploy on Fridays.")
    shown = run("memory", "show", note[:4]).out
    assert shown.startswith(f"We deploy on Fridays.\nid: {note} (project, private, in this project, active, pinned)\n")
    assert shown.endswith("\n\nWe deploy on Fridays.\n")

    changed = run("memory", "write", "--id", note[:5], "--title", "Deploy window", "--unpin", "--json").json["notes"][0]
    assert (changed["id"], changed["title"], changed["pinned"]) == (note, "Deploy window", False)
    assert changed["body"].strip() == "We deploy on Fridays."

    listed = run("memory", "list")
    assert listed.out.splitlines()[0].split() == ["id", "kind", "audience", "scope", "updated", "title"]
    assert listed.out.splitlines()[1].endswith("Deploy window")


def test_show_raw_prints_the_file_byte_for_byte(run: Run, workspace: Path) -> None:
    answer = run("memory", "write", "One line.\n\nAnother – with a dash.")
    note, path = answer.out.split()
    file = workspace / ".promptuary" / "memory" / "agents" / "default" / path

    assert run("memory", "show", "--raw", note).out.encode() == file.read_bytes()


def test_a_text_comes_from_standard_input_and_without_one_a_note_keeps_its_text(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "Piped text.\n")
    note = written(run, "--title", "Piped", "-")
    piped(monkeypatch, "")
    changed = run("memory", "write", "--id", note, "--tag", "a", "--json").json["notes"][0]
    piped(monkeypatch, "Other text.\n")
    again = run("memory", "write", "--id", note, "--json", "-").json["notes"][0]

    assert (changed["body"].strip(), changed["tags"]) == ("Piped text.", ["a"])
    assert again["body"].strip() == "Other text."


def test_a_note_that_changed_meanwhile_is_printed_and_not_overwritten(run: Run) -> None:
    note = written(run, "First.")
    (before,) = run("memory", "show", note, "--json").json["notes"]
    run("memory", "write", "--id", note, "Second.")

    late = run("memory", "write", "--id", note, "--if-rev", before["rev"], "Third.")
    assert late.code == 1
    assert "\n\nSecond.\n" in late.out
    assert "changed meanwhile" in late.err
    as_json = run("memory", "write", "--id", note, "--if-rev", before["rev"], "Third.", "--json")
    assert as_json.code == 1
    assert as_json.json["current"]["body"].strip() == "Second."

    now = as_json.json["current"]["rev"]
    assert run("memory", "write", "--id", note, "--if-rev", now[:12], "Third.").code == 0


def test_lists_are_filtered_and_cut_and_say_so(run: Run) -> None:
    for number in range(3):
        written(run, "--kind", "feedback", f"Rule {number}.")
    written(run, "--kind", "project", "--shared", "--tag", "deploy", "We deploy on Fridays.")
    archived = written(run, "Old news.")
    run("memory", "archive", archived)

    assert len(run("memory", "list", "--kind", "feedback", "--json").json["notes"]) == 3
    assert [one["title"] for one in run("memory", "list", "--audience", "shared", "--json").json["notes"]] == [
        "We deploy on Fridays."
    ]
    assert run("memory", "list", "--status", "archived", "--json").json["total"] == 1
    assert run("memory", "list", "--status", "all", "--json").json["total"] == 5
    assert run("memory", "list", "--limit", "2").err == "2 of 4 notes; --limit N shows more\n"
    assert run("memory", "list", "--tag", "nothing") == (1, "", "no note matches the filters; relax them\n")
    assert run("memory", "list", "--as-of", "2000-01-01").code == 1
    assert run("memory", "list", "--as-of", "2099-01-01", "--json").json["total"] == 4


def test_an_empty_memory_says_what_to_do(run: Run, workspace: Path) -> None:
    assert run("memory", "list") == (1, "", "no notes yet: promptuary remember TEXT writes one\n")
    assert run("memory", "list", "--json").json == {"total": 0, "complete": True, "notes": []}
    assert run("memory", "proposals").code == 1
    assert run("memory", "search", "deploy").err == "no notes yet: promptuary remember TEXT writes one\n"
    assert list(workspace.iterdir()) == []


def test_a_search_that_finds_no_note_says_what_to_try(run: Run) -> None:
    written(run, "We deploy on Fridays.")

    found = run("memory", "search", "--tag", "none", "deploy")
    assert (found.code, "use other words, or run promptuary memory list" in found.err) == (1, True)


@pytest.mark.parametrize("action", ["show", "history", "diff", "undo", "archive", "archive --undo"])
def test_a_name_that_no_note_has_gets_the_titles_that_are_near(run: Run, action: str) -> None:
    note = written(run, "--title", "Deploy window", "We deploy on Fridays.")
    near = run("memory", *action.split(), "deploy windw")
    far = run("memory", *action.split(), "zzzz")

    assert (near.code, near.out, far.code) == (1, "", 1)
    assert f"is it {note} (Deploy window)?" in near.err
    assert "`promptuary memory list` shows which there are" in far.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show"], "needs the id of a note"),
        (["history", "a", "b"], "takes one note at a time"),
        (["write", "--if-rev", "abc", "text"], "--if-rev and --unpin need --id"),
        (["write", "--id", "abcd"], "nothing to change"),
        (["write", "--valid-from", "soon", "text"], "valid_from is a day"),
        (["write", " "], "a note needs content"),
        (["list", "--as-of", "soon"], "is not a time"),
        (["list", "--as-of", "2026-01-01", "--status", "all"], "leave out --status"),
        (["list", "word"], "unrecognized arguments"),
        (["adopt", "abcd", "--all"], "ids or --all"),
        (["accept"], "needs the id of a proposal, or --all"),
        (["accept", "abcd", "--all"], "ids or --all"),
        (["search", " "], "no search words given"),
        (["wriet"], "invalid choice"),
        (["list", "--memory-folder", "{usr}"], "knows {user} and {thread}, not '{usr}'"),
    ],
)
def test_a_slip_is_told_with_exit_code_2(run: Run, arguments: list[str], told: str) -> None:
    answer = run("memory", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_flags_may_stand_before_the_action(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--workspace", str(workspace), "--json", "write", "A note."]) == 0
    assert json.loads(capsys.readouterr().out)["notes"][0]["title"] == "A note."
    assert main(["memory", "-w", str(workspace), "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 1


# search


def test_a_question_finds_notes_and_tells_why(run: Run) -> None:
    note = written(run, "--kind", "project", "We deploy on Fridays, never before noon.")
    written(run, "--kind", "feedback", "Use tabs.")
    answer = run("memory", "search", "--explain", "when do we deploy?")
    value = run("memory", "search", "--json", "deploy").json

    assert answer.out.startswith("1. We deploy on Fridays")
    assert note in answer.out
    assert "why: score" in answer.out
    assert [(hit["id"], "why" in hit) for hit in value["hits"]] == [(note, False)]
    assert run("memory", "search", "--kind", "feedback", "deploy").code == 1
    assert run("memory", "search", "--as-of", "2000-01-01", "deploy").code == 1
    assert run("memory", "search", "--as-of", "2099-01-01", "deploy").code == 0


# history, diff, undo, archive, restore


def test_every_change_is_in_the_history_and_can_be_undone(run: Run) -> None:
    note = written(run, "First.")
    run("memory", "write", "--id", note, "Second.", "--reason", "I changed my mind")
    history = run("memory", "history", note)
    first, second = run("memory", "history", note, "--json").json["changes"]

    assert history.out.splitlines()[0].split() == ["change", "when", "what", "by", "why"]
    assert history.out.splitlines()[2].endswith("I changed my mind")
    assert "-First.\n+Second.\n" in run("memory", "diff", note).out
    assert "+First.\n" in run("memory", "diff", note, "--change", str(first["number"])).out
    assert "+Second." in run("memory", "diff", note, "--json").json["patch"]
    run("memory", "undo", note)
    assert run("memory", "show", note, "--json").json["notes"][0]["body"].strip() == "First."
    run("memory", "undo", note, "--change", str(second["number"]))
    assert run("memory", "show", note, "--json").json["notes"][0]["body"].strip() == "Second."
    assert run("memory", "undo", note, "--change", "999").code == 2


def test_a_short_note_that_was_attached_is_forgotten_with_its_title(run: Run, workspace: Path) -> None:
    note = written(run, "Xq tea", "--title", "Xq pot", "--kind", "project")
    run("expand", "--thread", "done", f"see @memory:{note}")
    run("reply", "--thread", "done", "Fine.")
    run("expand", "--thread", "open", f"see @memory:{note} again")
    forgotten = run("memory", "forget", note, "--yes")

    assert forgotten.code == 0
    assert "also said" not in forgotten.err
    replays = [run("thread", "replay", "-t", name).out for name in ("done", "open")]
    assert [one.count(f"[forgotten: memory:{note}]") for one in replays] == [2, 2]
    # Whole words: two letters alone stand in the random bytes of a database every now and then.
    contents = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    assert [path for path, content in contents.items() if b"Xq tea" in content or b"Xq pot" in content] == []


def test_the_notes_of_a_thread_are_reached_where_each_has_its_own(run: Run) -> None:
    apart = ("--memory-folder", "{thread}")
    run("expand", "--thread", "Tides", *apart, '@remember:"the table lies in drawer nine"')

    assert "each thread has its own" in run("memory", "list", *apart).err
    listed = run("memory", "list", *apart, "--thread", "Tides", "--json").json
    (note,) = listed["notes"]
    assert note["title"] == "the table lies in drawer nine"
    assert run("memory", "write", "--id", note["id"], "in drawer ten", *apart, "-t", "Tides").code == 0
    assert (
        run("memory", "show", note["id"], *apart, "-t", "Tides", "--json").json["notes"][0]["body"].strip()
        == "in drawer ten"
    )
    assert run("memory", "show", note["id"], *apart).code == 1
    assert "undoes it" in run("remember", "the boat is red", *apart, "-t", "Tides").err
    assert len(run("memory", "list", *apart, "-t", "Tides", "--json").json["notes"]) == 2
    refused = run("memory", "list", "--thread", "Tides")
    assert (refused.code, "all threads share their notes" in refused.err) == (2, True)
    assert run("memory", "list", *apart, "--thread", "a/b").code == 2


def test_undo_goes_back_change_by_change_and_says_how_to_return(run: Run) -> None:
    def body() -> str:
        return str(run("memory", "show", note, "--json").json["notes"][0]["body"]).strip()

    note = written(run, "First.")
    run("memory", "write", "--id", note, "Second.")
    run("memory", "write", "--id", note, "Third.")
    last = run("memory", "history", note, "--json").json["changes"][-1]["number"]

    assert f"undo {note} --change {last} redoes it" in run("memory", "undo", note).err
    assert body() == "Second."
    run("memory", "undo", note)
    assert body() == "First."
    run("memory", "undo", note)
    assert run("memory", "show", note, "--json").json["notes"][0]["status"] == "archived"
    run("memory", "undo", note, "--change", str(last))
    assert body() == "Third."
    run("memory", "write", "--id", note, "Fourth.")
    run("memory", "undo", note)
    run("memory", "undo", note)
    assert body() == "Second."


def test_a_note_that_is_not_true_now_is_marked_in_the_list(run: Run) -> None:
    old = written(run, "We use Postgres.", "--title", "Database")
    new = written(run, "We use MySQL.", "--title", "Database", "--supersedes", old)
    later = written(run, "We use Oracle.", "--title", "Database", "--valid-from", "2999-01-01")
    rows = {line.split()[0]: line for line in run("memory", "list").out.splitlines()}

    assert rows[old].endswith("(expired) Database")
    assert rows[later].endswith("(not valid yet) Database")
    assert rows[new].endswith("  Database")
    assert run("memory", "diff", old[:4], "--json").json["note"] == old


def test_who_forgets_a_note_that_is_not_there_is_told_that_before_anything_else(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "")
    answer = run("memory", "forget", "abcd1234")
    assert (answer.code, "there is no note 'abcd1234'" in answer.err) == (1, True)


def test_a_note_whose_file_is_gone_can_be_had_back(run: Run, workspace: Path) -> None:
    answer = run("memory", "write", "Precious.")
    note, path = answer.out.split()
    (workspace / ".promptuary" / "memory" / "agents" / "default" / path).unlink()
    for name in (note, note[:4]):
        gone = run("memory", "show", name)
        assert gone.code == 1
        assert f"promptuary memory undo {note} restores it" in gone.err
    assert run("memory", "undo", note[:4]).code == 0
    assert run("memory", "show", note, "--json").json["notes"][0]["body"].strip() == "Precious."


def test_several_notes_are_archived_and_one_that_is_not_there_stops_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = written(run, "One."), written(run, "Two.")
    answer = run("memory", "archive", one, "zzzz", two, "--reason", "old")
    piped(monkeypatch, f"{one}\n{two}\n")
    restored = run("memory", "archive", "--undo", "-", "--json")

    assert (answer.code, [line.split()[0] for line in answer.out.splitlines()]) == (1, [one, two])
    assert "there is no note 'zzzz'" in answer.err
    assert [note["status"] for note in restored.json["notes"]] == ["active", "active"]


# adopt


def test_what_came_with_a_clone_is_listed_with_the_reason_and_adopted(run: Run, repository: Path) -> None:
    folder = repository / ".promptuary" / "memory" / "agents" / "default" / "shared" / "project"
    folder.mkdir(parents=True)
    (folder / "deploy.md").write_text("---\nid: cafe0123beef\ntitle: Deploy\n---\nOn Fridays.\n")
    subprocess.run(["git", "add", "-f", "."], cwd=repository, check=True)
    listed = run("memory", "adopt")

    assert listed.code == 0
    assert "cafe0123beef  shared/project/deploy.md  not written here; models see it as external text" in listed.out
    assert run("memory", "show", "cafe0123beef", "--json").json["notes"][0]["external"] is True
    assert run("memory", "adopt", "nothing").code == 2
    assert run("memory", "adopt", "cafe").out == "cafe0123beef  shared/project/deploy.md\n"
    assert run("memory", "show", "cafe0123beef", "--json").json["notes"][0]["external"] is False
    assert run("memory", "adopt") == (0, "", "nothing to adopt\n")


# forget


def test_a_note_is_forgotten_after_the_places_were_shown(run: Run, workspace: Path) -> None:
    answer = run("memory", "write", "The launch code word is marzipan tomorrow.")
    note, path = answer.out.split()
    propose(workspace, "The launch code word is marzipan tomorrow.")
    dry = run("memory", "forget", note[:4], "--dry-run")
    refused = run("memory", "forget", note)

    assert (dry.code, dry.out) == (0, f"{note}  {path}\n")
    assert "would be forgotten" in dry.err
    assert "the same text is in thread main, turn 1" in dry.err
    assert "--everywhere removes them too" in dry.err
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert run("memory", "show", note).code == 0
    (report,) = run("memory", "forget", note, "--yes", "--everywhere", "--json").json["notes"]
    assert (report["note"], report["done"], report["redacted"]) == (note, True, True)
    assert run("memory", "show", note).code == 1
    stored = [file.read_bytes() for file in (workspace / ".promptuary").rglob("*") if file.is_file()]
    assert not any(b"marzipan" in data for data in stored)


@pytest.mark.parametrize(("said", "forgotten"), [(b"n\n", False), (b"y\n", True), (b"\x04", False)])
def test_on_a_terminal_one_is_asked_before_a_note_is_forgotten(
    run: Run, workspace: Path, said: bytes, forgotten: bool
) -> None:
    note = written(run, "First.")
    shown = on_a_terminal(["memory", "forget", note, "--workspace", str(workspace)], said=said)

    assert f"Forget {note} permanently?" in shown
    assert ("was not removed" in shown) is not forgotten
    assert run("memory", "show", note).code == int(forgotten)


# proposals


def propose(workspace: Path, *said: str) -> None:
    """Say something in a thread; what it states outright is proposed."""
    with Promptuary.open(workspace, exact=True) as promptuary:
        for text in said:
            promptuary.threads.finish(promptuary.threads.prepare(text), "All right.")


def test_what_was_stated_in_a_thread_waits_to_be_accepted_or_rejected(run: Run, workspace: Path) -> None:
    propose(workspace, "Always use tabs here.", "We decided to deploy on Fridays.", "Never use wildcard imports.")
    table = run("memory", "proposals")
    first, second, third = run("memory", "proposals", "--json").json["proposals"]

    assert table.out.splitlines()[0].split() == ["id", "would", "why", "note"]
    assert "write a feedback note" in table.out.splitlines()[1]
    assert table.out.splitlines()[1].endswith("Always use tabs here.")
    accepted = run("memory", "accept", first["id"][:6], "--title", "Tabs", "--json").json["notes"][0]
    assert (accepted["title"], accepted["body"].strip()) == ("Tabs", "Always use tabs here.")
    assert run("memory", "reject", second["id"]).err == "rejected 1 proposal\n"
    assert run("memory", "accept", second["id"]).code == 2
    assert run("memory", "accept", "--all").out.split()[1].startswith("private/feedback/never-use-wildcard")
    assert run("memory", "accept", "--all").code == 1
    assert third["note"]["content"] == "Never use wildcard imports."


def test_a_proposal_is_edited_before_it_is_accepted(run: Run, workspace: Path, tmp_path: Path) -> None:
    propose(workspace, "Always use tabs here.")
    (waiting,) = run("memory", "proposals", "--json").json["proposals"]
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/tabs/spaces/ "$1"\n')
    editor.chmod(0o755)
    arguments = ["memory", "edit", waiting["id"][:6], "--workspace", str(workspace)]
    shown = on_a_terminal(arguments, VISUAL=str(editor))
    no_terminal = run("memory", "edit", waiting["id"])
    edited = run("memory", "edit", waiting["id"], "--title", "Indentation", "--kind", "project", "--json").json

    assert "Always use spaces here." in shown
    assert "still pending" in shown
    assert (no_terminal.code, "--content TEXT" in no_terminal.err) == (2, True)
    assert (edited["id"], edited["note"]["title"]) == (waiting["id"], "Indentation")
    assert not run("memory", "list", "--json").json["notes"]
    accepted = run("memory", "accept", waiting["id"], "--json").json["notes"][0]
    assert (accepted["kind"], accepted["title"], accepted["body"].strip()) == (
        "project",
        "Indentation",
        "Always use spaces here.",
    )


def test_options_of_a_proposal_are_not_for_notes(run: Run) -> None:
    note = written(run, "First.")
    told = run("memory", "edit", note, "--content", "Second.")

    assert (told.code, f"promptuary memory write --id {note} to change a note" in told.err) == (2, True)


# import and export


CLAUDE = """\
---
name: Deploy window
description: When to deploy
type: project
---
Deploy on Fridays.
"""


def test_a_memory_of_another_program_is_imported_once(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- [Deploy](deploy.md) - when to deploy\n")
    (folder / "deploy.md").write_text(CLAUDE)
    (folder / "outside.md").symlink_to(tmp_path / "elsewhere.md")
    dry = run("memory", "import", str(folder), "--dry-run")
    first = run("memory", "import", str(folder), "--json")
    again = run("memory", "import", str(folder))

    assert dry.code == first.code == again.code == 0
    assert "Claude Code: would import 1 note, 0 already known, 2 skipped" in dry.err
    (note,) = first.json["imported"]
    assert (note["title"], note["kind"], note["trust"], note["source"]) == (
        "Deploy window",
        "project",
        "agent",
        "import",
    )
    assert first.json["skipped"]["outside.md"] == "it is a link or not a regular file, and is not followed"
    assert again.out == ""
    assert "imported 0 notes, 1 already known" in again.err


def test_a_form_can_be_chosen_and_one_file_imported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deploy.md").write_text(CLAUDE)
    report = run("memory", "import", str(tmp_path / "deploy.md"), "--form", "claude-code", "--json").json

    assert (report["form"], report["imported"][0]["summary"]) == ("claude-code", "When to deploy")


def test_an_export_is_never_written_over_anything(run: Run, tmp_path: Path) -> None:
    written(run, "We deploy on Fridays.")
    first = run("memory", "export", str(tmp_path / "out"))
    again = run("memory", "export", str(tmp_path / "out"))

    assert (first.code, again.code) == (0, 2)
    assert "exported 1 note to" in first.err
    assert "1 of them private" in first.err
    assert "is not empty" in again.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["import"], "takes one folder or file"),
        (["import", "nowhere"], "is not there"),
        (["export", "a", "b"], "takes one folder"),
        (["export", "no/such/folder"], "could not be exported"),
        (["import", "x", "--form", "word"], "invalid choice"),
    ],
)
def test_slips_with_places_are_told(run: Run, arguments: list[str], told: str) -> None:
    answer = run("memory", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_an_export_needs_a_folder_and_is_not_printed(run: Run, workspace: Path) -> None:
    written(run, "First.")
    told = run("memory", "export", "-")

    assert (told.code, told.out) == (2, "")
    assert "name a folder" in told.err
    assert not (workspace / "-").exists()


# a terminal


def test_a_note_is_edited_in_the_persons_editor(run: Run, workspace: Path, tmp_path: Path) -> None:
    note = written(run, "First.")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/First/Second/ "$1"\n')
    editor.chmod(0o755)
    arguments = ["memory", "edit", note[:4], "--reason", "a slip", "--workspace", str(workspace)]
    shown = on_a_terminal(arguments, VISUAL=str(editor))
    again = on_a_terminal(arguments, VISUAL="true")

    assert f"{note}  private/reference/first-{note}.md" in shown
    assert "nothing was changed" in again
    assert run("memory", "show", note, "--json").json["notes"][0]["body"].strip() == "Second."
    assert run("memory", "history", note, "--json").json["changes"][-1]["reason"] == "a slip"


def test_what_was_written_in_an_editor_is_kept_if_the_note_changed_meanwhile(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    note = written(run, "First.")
    editor = tmp_path / "editor"
    change = f"{sys.executable} -m promptuary memory write --id {note} Meanwhile. --workspace {workspace}"
    editor.write_text(f'#!/bin/sh\nsed -i s/First/Mine/ "$1"\n{change} >/dev/null 2>&1\n')
    editor.chmod(0o755)
    shown = on_a_terminal(["memory", "edit", note, "--workspace", str(workspace)], EDITOR=str(editor), VISUAL="")
    (kept,) = [Path(line.rpartition(" ")[2]) for line in shown.splitlines() if line.startswith("what you wrote is")]

    assert "changed meanwhile" in shown
    assert "Mine." in kept.read_text()
    shutil.rmtree(kept.parent)
    assert run("memory", "show", note, "--json").json["notes"][0]["body"].strip() == "Meanwhile."


def test_without_a_terminal_or_an_editor_that_works_nothing_is_edited(run: Run, workspace: Path) -> None:
    note = written(run, "First.")
    told = run("memory", "edit", note)
    failed = on_a_terminal(["memory", "edit", note, "--workspace", str(workspace)], VISUAL="false")
    missing = on_a_terminal(["memory", "edit", note, "--workspace", str(workspace)], VISUAL="no-such-editor")

    assert (told.code, f"use promptuary memory write --id {note} TEXT" in told.err) == (2, True)
    assert "ended with the code 1" in failed
    assert "could not be started" in missing
    assert len(run("memory", "history", note, "--json").json["changes"]) == 1


@pytest.mark.parametrize(
    "typed", ["{path}", "{file}", "{stem}", "We never deploy on Fridays", "we NEVER deploy on fridays"]
)
def test_a_note_is_shown_by_its_file_or_its_title(run: Run, typed: str) -> None:
    note = written(run, "We never deploy on Fridays")
    path = run("memory", "show", note, "--json").json["notes"][0]["path"]
    file = path.rsplit("/", 1)[-1]
    found = run("memory", "show", typed.format(path=path, file=file, stem=file.removesuffix(".md")))

    assert (found.code, f"id: {note} " in found.out) == (0, True)


def test_of_two_notes_with_one_title_the_ids_are_named(run: Run) -> None:
    ids = [
        run("memory", "write", "--title", "Deploying", text, "--json").json["notes"][0]["id"]
        for text in ("Never.", "On Mondays.")
    ]
    told = run("memory", "show", "Deploying")

    assert told.code != 0
    assert all(one in told.err for one in ids)


def test_a_patch_has_colours_on_a_terminal_and_none_elsewhere(run: Run, workspace: Path) -> None:
    note = written(run, "First.")
    run("memory", "write", "--id", note, "Second \x1b[31mred.")
    shown = on_a_terminal(["memory", "diff", note, "--workspace", str(workspace)])

    assert "\x1b[32m+Second ⟨U+001B⟩[31mred.\x1b[0m" in shown
    assert "\x1b[32m" not in run("memory", "diff", note).out


def on_a_terminal(arguments: list[str], *, said: bytes = b"", **environment: str) -> str:
    """Run the program on a terminal on which somebody types, and return what it shows."""
    ours, theirs = pty.openpty()
    variables = {"TERM": "xterm", **os.environ, **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "promptuary", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    ) as started:
        os.close(theirs)
        shown, typed = b"", not said
        try:
            while part := os.read(ours, 65_536):
                shown += part
                if not typed and b"[y/N] " in shown:
                    os.write(ours, said)
                    typed = True
        except OSError:  # the other end is closed
            pass
        started.wait()
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")

"""Notes of other memories are read as their programs write them."""

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.memory.transfer.formats import FORMS, ForeignNote, form_of, read_memory
from promptuary.memory.transfer.transfer import export_files, import_memory
from promptuary.memory.values import Note, NoteDraft, NoteHeader

XPERT = """\
---
id: 7b0c7f0e-6f0e-4b51-9a39-0c6d8f9f1a11
scopeType: xpert
audience: user
ownerUserId: u-1
kind: profile
semanticKind: user
status: active
title: Likes tabs
summary: Likes tabs
createdAt: 2026-01-02T03:04:05.000Z
updatedAt: 2026-02-03T04:05:06.000Z
source: writeback
tags: [style]
---
# Likes tabs

## Profile

Ada wants tabs everywhere.

## Context

Said twice.
"""
CLAUDE = """\
---
name: Deploy window
description: When to deploy
type: project
---
Deploy on Fridays.
"""


def test_the_program_is_recognised_by_its_files() -> None:
    assert form_of({".xpert/memory/xperts/x1/private/user/a.md": ""}) == "xpert"
    assert form_of({"private/user/likes-tabs-4f1c09a2b3d4.md": ""}) == "promptuary"
    assert form_of({"memories/MEMORY.md": "", "memories/raw_memories.md": ""}) == "codex"
    assert form_of({"MEMORY.md": "", "deploy.md": ""}) == "claude-code"
    assert form_of({"a.md": "---\ntitle: A\npermalink: notes/a\n---\nText\n"}) == "basic-memory"
    assert form_of({"a.md": "# A\n"}) == "markdown"


def test_a_note_of_xpert_keeps_its_kind_dates_and_tags_and_loses_the_headings_that_were_put_above_it() -> None:
    found = read_memory({".xpert/memory/xperts/x1/private/user/likes-tabs-7b0c.md": XPERT})

    (note,) = found.notes
    assert (found.form, note.owner) == ("xpert", "u-1")
    assert note.draft.content == "Ada wants tabs everywhere.\n\n## Context\n\nSaid twice."
    assert (note.draft.kind, note.draft.title, note.draft.tags) == ("user", "Likes tabs", ("style",))
    assert note.draft.created_at == "2026-01-02T03:04:05Z"
    assert note.draft.source_ref == "xpert:7b0c7f0e-6f0e-4b51-9a39-0c6d8f9f1a11"
    assert note.draft.trust == "agent"
    assert note.draft.audience is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_claude_code_may_name_the_type_below_metadata(newline: str) -> None:
    lines = ["---", "name: tests", "metadata:", "  node_type: memory", "  type: feedback", "---", "No mocks.", ""]
    (note,) = read_memory({"tests.md": newline.join(lines)}, "claude-code").notes

    assert (note.draft.kind, note.draft.title, note.draft.content) == ("feedback", "tests", "No mocks.")


def test_claude_code_lists_files_that_are_notes_of_their_own() -> None:
    page = "# Memory\n- [Deploy](deploy.md) - when to deploy\n\n## Taste\n\nShort answers.\n"
    found = read_memory({"MEMORY.md": page, "deploy.md": CLAUDE})

    by_title = {note.draft.title: note.draft for note in found.notes}
    assert by_title["Deploy window"].content == "Deploy on Fridays."
    assert by_title["Deploy window"].summary == "When to deploy"
    assert by_title["Deploy window"].kind == "project"
    assert by_title["Taste"].content == "Short answers."
    assert all(note.draft.trust == "agent" for note in found.notes)


def test_each_task_group_of_codex_is_a_note_and_its_logs_are_none() -> None:
    page = "# Task Group: build\n\nUse make.\n\n# User preferences\n\nBe brief.\n"
    found = read_memory({"MEMORY.md": page, "raw_memories.md": "# x\ny", "rollout_summaries/a.md": "# z\nw"})

    assert [(one.draft.title, one.draft.kind) for one in found.notes] == [
        ("Task Group: build", None),
        ("User preferences", "feedback"),
    ]
    assert set(found.skipped or {}) == {"raw_memories.md", "rollout_summaries/a.md"}


def test_basic_memory_and_plain_markdown_are_read_whole() -> None:
    basic = "---\ntitle: Coffee\ntype: note\npermalink: drinks/coffee\ntags:\n- drinks\n---\n# Coffee\n- [fact] hot\n"
    (note,) = read_memory({"drinks/coffee.md": basic}).notes
    (plain,) = read_memory({"notes/tea.md": "# Tea\n\nGreen.\n"}).notes

    assert (note.draft.title, note.draft.tags, note.draft.source_ref) == (
        "Coffee",
        ("drinks",),
        "basic-memory:drinks/coffee",
    )
    assert note.draft.content == "# Coffee\n- [fact] hot"
    assert (plain.draft.title, plain.draft.content) == ("Tea", "# Tea\n\nGreen.")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["", "\x00", "---\n", "---\n&a : *a\n---\n", "# " * 5000, "\ud800", "---\nid: x\n"])
def test_no_file_stops_the_others(form: str, text: str) -> None:
    files = {"xperts/x/private/user/bad.md": text, "xperts/x/private/user/good.md": "# Good\n\nGood text.\n"}
    found = read_memory(files, form)  # type: ignore[arg-type]

    assert any("Good text." in (note.draft.content or "") for note in found.notes)


def header(name: str, source: str = "") -> NoteHeader:
    return NoteHeader(name, f"private/user/{name}.md", "project", "private", "user", name, "0", source_ref=source)


def test_an_import_that_is_repeated_writes_nothing() -> None:
    memory = read_memory({"tea.md": "# Tea\n\nGreen.\n"})
    written: list[NoteDraft] = []

    def write(note: ForeignNote) -> NoteHeader:
        written.append(note.draft)
        return header("new1", note.draft.source_ref or "")

    first = import_memory(memory, write, [])
    again = import_memory(memory, write, first.imported)

    assert (len(first.imported), first.known, len(again.imported), again.known) == (1, 0, 0, 1)
    assert len(written) == 1


def test_a_refused_note_is_named_and_the_others_are_imported() -> None:
    memory = read_memory({"a.md": "# A\n\nkey\n", "b.md": "# B\n\nfine\n"})

    def write(note: ForeignNote) -> NoteHeader:
        if "key" in (note.draft.content or ""):
            raise PromptuaryError("it has a secret")
        return header("new2")

    report = import_memory(memory, write, [])

    assert len(report.imported) == 1
    assert report.skipped == {"a.md": "it has a secret"}


def test_private_notes_of_several_people_are_not_mixed() -> None:
    other = XPERT.replace("u-1", "u-2").replace("7b0c7f0e", "8b0c7f0e")
    memory = read_memory({"xperts/x/private/user/a.md": XPERT, "xperts/x/private/user/b.md": other})

    with pytest.raises(PromptuaryError, match="u-1, u-2"):
        import_memory(memory, lambda _: header("n"), [])
    assert len(import_memory(memory, lambda _: header("n"), [], owner="u-2").imported) == 1
    with pytest.raises(PromptuaryError, match="belongs to 'u-9'"):
        import_memory(memory, lambda _: header("n"), [], owner="u-9")


def test_an_export_has_every_note_byte_for_byte_below_its_scope() -> None:
    note = Note(header("likes"), "x", "---\nid: likes\n---\nx\n")

    assert export_files([note]) == {"project/private/user/likes.md": note.text.encode()}

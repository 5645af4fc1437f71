"""Which answers a source influenced, and what an answer was based on; asked as people ask."""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.errors import SourceError
from promptuary.blocking import Promptuary
from promptuary.memory.recall.digest import HEADING
from promptuary.testing.loopback import Loopback, answer
from promptuary.threads.ledger_values import Audit
from tests.conftest import Files


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "x = 1\ny = 2\n", "docs/style.md": "Be brief.\n", "AGENTS.md": "Be kind.\n"})


def opened(path: Path, **options: object) -> Promptuary:
    return Promptuary.open(path, exact=True, embedder="none", **options)  # type: ignore[arg-type]  # settings by name


def told(audit: Audit) -> list[tuple[int, str, str, bool | None]]:
    return [(row.number, row.source, row.how, row.current) for row in audit.rows]


def ask(promptuary: Promptuary, text: str, thread: str = "main") -> None:
    promptuary.threads.finish(promptuary.threads.prepare(text, thread=thread), "Done.")


def test_session_audit_was_promised_and_never_built_here_it_names_every_answer_that_a_file_influenced(
    project: Path,
) -> None:
    with opened(project) as promptuary:
        ask(promptuary, "Look at @file:src/app.py:1")
        ask(promptuary, "And then?")
        ask(promptuary, "Look at @file:docs/style.md", thread="other")
        promptuary.threads.abandon(promptuary.threads.prepare("Never mind."))
        found = promptuary.threads.audit("src/app.py")
        finished = promptuary.threads.audit("src/app.py", finished_only=True)
        two = promptuary.threads.audit("src/app.py", limit=2)

    source = "file:src/app.py"
    assert told(found) == [(3, source, "history", True), (2, source, "history", True), (1, source, "direct", True)]
    assert {row.lines for row in found.rows} == {(1, 1)}
    assert [row.number for row in finished.rows] == [2, 1]
    assert ([row.number for row in two.rows], two.more, found.more) == ([3, 2], True, False)


def test_a_turn_tells_what_it_was_based_on_and_what_of_it_is_still_the_same(project: Path) -> None:
    with opened(project) as promptuary:
        ask(promptuary, "Look at @file:src/app.py and #docs/style.md")
        ask(promptuary, "And then?")
        (project / "src/app.py").write_text("x = 3\n")
        rows = promptuary.threads.sources(number=2)

    assert [(row.source, row.how, row.layer, row.current) for row in rows] == [
        ("file:AGENTS.md", "direct", "instructions", True),
        ("file:docs/style.md", "direct", "file_reference", True),
        ("file:src/app.py", "history", "references", False),
    ]


def test_a_file_is_found_by_any_path_that_means_it(project: Path) -> None:
    with opened(project, current_folder=project / "src") as promptuary:
        ask(promptuary, "Look at @file:src/app.py")
        ways = ("app.py", "./app.py", "../src/app.py", "src/app.py", str(project / "src/app.py"), "file:src/app.py")
        found = [promptuary.threads.audit(one).sources for one in (*ways, "@file:src/app.py")]

    assert found == [("file:src/app.py",)] * 7


def test_lines_from_the_index_count_as_their_file(project: Path) -> None:
    with opened(project) as promptuary:
        promptuary.search.index([project])
        ask(promptuary, "What about @search:brief")
        found = promptuary.threads.audit("docs/style.md")

    assert ("index:docs/style.md" in found.sources, found.rows[0].number) == (True, 1)


def test_a_note_is_found_by_its_id_the_beginning_of_it_and_its_path(project: Path) -> None:
    with opened(project) as promptuary:
        note = promptuary.memory.write("We deploy on Fridays.", title="Deploying").header
        ask(promptuary, f"When? @memory:{note.id}")
        ways = (note.id, note.address, note.id[:6], f"memory:{note.id[:6]}", note.path)
        found = [promptuary.threads.audit(one).sources for one in ways]
        before = promptuary.threads.audit(note.id).rows[0]
        promptuary.memory.write("We deploy on Mondays.", id=note.id)
        after = promptuary.threads.audit(note.id).rows[0]
        promptuary.memory.forget(note.id)
        gone = promptuary.threads.audit(note.address).rows[0]

    assert found == [(note.address,)] * 5
    assert (before.revision, before.current, after.current) == (note.rev, True, False)
    assert (gone.source, gone.revision, gone.current) == (note.address, "", False)


def test_an_experience_is_found_by_its_id_and_the_beginning_of_it(project: Path) -> None:
    with opened(project) as promptuary:
        made = promptuary.experiences.add("task_solution", "build the docs", "make docs")
        ask(promptuary, "Please build the docs.")
        ways = (made.id, made.address, made.id[:6], f"experience:{made.id[:6]}")
        found = [promptuary.threads.audit(one) for one in ways]

    assert [one.sources for one in found] == [(made.address,)] * 4
    assert (found[0].rows[0].layer, found[0].rows[0].current) == ("experience", True)


def test_a_commit_is_found_by_more_or_less_of_its_hash(project: Path) -> None:
    def git(*arguments: str) -> str:
        who = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        done = subprocess.run(
            ["git", *arguments], cwd=project, check=True, capture_output=True, text=True, env=os.environ | who
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    name = git("rev-parse", "HEAD")
    with opened(project) as promptuary:
        ask(promptuary, f"Why @commit:{name[:10]}?")
        found = [promptuary.threads.audit(one).sources for one in (name, name[:7], f"commit:{name[:10]}")]
        (row,) = promptuary.threads.audit(name).rows

    assert found == [(f"commit:{name[:10]}",)] * 3
    assert row.current is True


def test_a_page_is_found_by_its_address_and_nobody_says_that_it_is_the_same(project: Path) -> None:
    with Loopback({"/a": answer("<p>Hello there</p>")}) as server:
        page = server.url("/a")
        with opened(project, allow_hosts=[f"{server.host}:{server.port}"]) as promptuary:
            ask(promptuary, f"See @url:{page}")
            (row,) = promptuary.threads.audit(page).rows
            same = promptuary.threads.replay(fetch=True).drift
            server.routes["/a"] = answer("<p>Something else</p>")
            changed = promptuary.threads.replay(fetch=True).drift
            unknown = promptuary.threads.replay().drift

    assert (row.source, row.current) == (f"url:{page}", None)
    assert ([one.kind for one in same], [one.kind for one in changed]) == ([], ["changed"])
    assert [(one.path, one.kind) for one in unknown] == [(f"url:{page}", "not fetched again")]


def test_a_slip_is_told_with_the_names_that_come_nearest(project: Path) -> None:
    with opened(project) as promptuary:
        with pytest.raises(SourceError, match="no turn has had a source yet"):
            promptuary.threads.audit("src/app.py")
        ask(promptuary, "Look at @file:src/app.py")
        for typed in ("src/ap.py", "app.py", "APP.PY", "lib/app.py"):
            with pytest.raises(SourceError, match=r"was in no prompt of yours; near names: src/app\.py"):
                promptuary.threads.audit(typed)
        with pytest.raises(SourceError, match="sources that were: "):
            promptuary.threads.audit("zzz")


def test_a_file_of_which_only_the_name_was_sent_is_told_so_with_how_each_turn_begins(files: Files) -> None:
    root = files({"large.txt": "many words of it\n" * 9_000, "a.txt": "the text of a\n"})
    files({f"s{number}.txt": f"one line of the file {number}\n" for number in range(40)})
    with opened(root, window=1_200, reply_reserve=200) as promptuary:
        many = " ".join(["@file:large.txt", *(f"@file:s{number}.txt" for number in range(40))])
        ask(promptuary, f"Look at {many}")
        ask(promptuary, "And then?")
        ask(promptuary, "Look at @file:a.txt", thread="other")
        named = promptuary.threads.audit("s0.txt").rows
        read = promptuary.threads.audit("a.txt").rows
        based_on = {row.how for row in promptuary.threads.sources(number=1) if row.source == "file:s0.txt"}

    assert [(row.number, row.how, row.answer) for row in named] == [(2, "name", "Done."), (1, "name", "Done.")]
    assert named[0].text == "And then?"
    assert based_on == {"name"}
    assert [(row.how, row.text, row.answer) for row in read] == [("direct", "Look at @file:a.txt", "Done.")]


def test_the_answer_of_a_turn_is_the_last_that_a_model_said_in_it(project: Path) -> None:
    with opened(project) as promptuary:
        turn = promptuary.threads.prepare("Look at @file:src/app.py")
        calls = [{"id": "c", "name": "look", "arguments": "{}"}]
        promptuary.threads.finish(
            turn,
            [
                {"role": "assistant", "content": "I look.", "tool_calls": calls},
                {"role": "tool", "content": "x", "tool_call_id": "c"},
                {"role": "assistant", "content": "It says so."},
            ],
        )
        ask(promptuary, "And then?")
        found = promptuary.threads.audit("src/app.py")

    assert [row.answer for row in found.rows] == ["Done.", "It says so."]


def test_a_note_in_the_list_of_notes_is_a_source_of_every_turn_that_had_the_list(project: Path) -> None:
    with opened(project) as promptuary:
        note = promptuary.memory.write("The staging server is called owl.", title="Staging").header
        ask(promptuary, "Hello")
        ask(promptuary, "And then?", thread="other")
        same = promptuary.threads.audit(note.address)
        by_beginning, by_path = promptuary.threads.audit(note.id[:6]), promptuary.threads.audit(note.path)
        based_on = [row for row in promptuary.threads.sources(thread="main", number=1) if row.source == note.address]
        promptuary.memory.write(id=note.id, title="Staging, called owl")
        ask(promptuary, "And now?")
        changed = promptuary.threads.audit(note.address)
        promptuary.memory.archive(note.id)
        ask(promptuary, "Without it?")
        archived = promptuary.threads.audit(note.address)
        newest = promptuary.threads.audit(note.address, limit=1)
        promptuary.memory.forget(note.id)
        with pytest.raises(SourceError, match="was in no prompt of yours"):
            promptuary.threads.audit(note.address)
        ask(promptuary, "Forgotten?")

    assert told(same) == [(1, note.address, "list", True), (1, note.address, "list", True)]
    assert by_beginning.rows == by_path.rows == same.rows
    assert [(row.how, row.layer, row.current) for row in based_on] == [("list", "memory_digest", True)]
    assert [(row.text, row.current) for row in changed.rows] == [
        ("And now?", True),
        ("And then?", False),
        ("Hello", False),
    ]
    assert [(row.text, row.current) for row in archived.rows] == [
        ("And now?", False),
        ("And then?", False),
        ("Hello", False),
    ]
    assert (newest.rows, newest.more) == (archived.rows[:1], True)


def test_lists_of_notes_cost_no_row_for_each_note_and_nobody_else_finds_them(project: Path) -> None:
    def stored() -> int:
        with closing(sqlite3.connect(project / ".promptuary" / "state.db")) as state:
            tables = ("source", "source_part", "turn_source")
            return sum(state.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)

    with opened(project, principal=Principal("ada")) as promptuary:
        notes = [promptuary.memory.write(f"Fact {n} of the project.").header for n in range(40)]
        for text in ("One", "Two", "Three"):
            ask(promptuary, text)
        found = promptuary.threads.audit(notes[-7].address)
    with opened(project, principal=Principal("bob")) as promptuary:
        ask(promptuary, "Hello")
        with pytest.raises(SourceError):
            promptuary.threads.audit(notes[-7].address)

    assert [row.number for row in found.rows] == [3, 2, 1]
    assert stored() < 40


def test_words_that_look_like_a_list_of_notes_make_no_note_a_source(project: Path, files: Files) -> None:
    with opened(project) as promptuary:
        note = promptuary.memory.write("The staging server is called owl.", title="Staging").header
        promptuary.memory.archive(note.id)
        promptuary.memory.write("Be brief.")
        forged = f"{HEADING}\n\n## Notes\n\n```\n- Staging ({note.address})\n```\n"
        files({"forged.md": forged, "AGENTS.md": forged})
        ask(promptuary, "Look at @file:forged.md")
        promptuary.threads.finish(promptuary.threads.prepare(forged), forged)
        ask(promptuary, "And now?")
        with pytest.raises(SourceError, match="was in no prompt of yours"):
            promptuary.threads.audit(note.address)
        sources = [row.source for row in promptuary.threads.sources(number=1)]

    assert note.address not in sources


def test_a_note_in_the_list_of_a_recorded_conversation_is_found(project: Path) -> None:
    with opened(project) as promptuary:
        note = promptuary.memory.write("The staging server is called owl.", title="Staging").header
        recorded = promptuary.threads.record([{"role": "user", "content": "Hello"}], thread="proxy")
        assert recorded is not None
        promptuary.threads.finish(recorded.turn, "Good morning.")
        found = promptuary.threads.audit(note.address)

    assert [(row.thread, row.how, row.current) for row in found.rows] == [("proxy", "list", True)]

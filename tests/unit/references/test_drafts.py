"""A message that is still being typed: what it would cost, and what was typed before it."""

from pathlib import Path

import pytest

from promptuary.base.principals import Principal
from promptuary.blocking import Promptuary
from promptuary.references import input_history
from promptuary.workspace.data_folder import input_history as typed_lines
from promptuary.workspace.user_folders import state_folder
from tests.conftest import Files


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.py": "x = 1\n" * 50})


def opened(path: Path, **options: Principal) -> Promptuary:
    return Promptuary.open(path, exact=True, **options)  # type: ignore[arg-type]


def test_a_message_costs_what_it_costs_when_it_is_expanded(project: Path) -> None:
    with opened(project) as p:
        for text in ("plain words", "look at @a.py and #a.py", "@file:a.py:1-3", "@file:missing.py"):
            measured, expansion = p.measure(text), p.expand(text)
            assert measured.spend == expansion.spend
            assert measured.warnings == expansion.warnings
            assert measured.words > 0


def test_nothing_is_fetched_written_or_recorded(project: Path) -> None:
    with opened(project) as p:
        measured = p.measure('@url:http://127.0.0.1:9/ @remember:"we deploy" @a.py @clipboard')

        assert measured.uncounted == ("@url:http://127.0.0.1:9/", '@remember:"we deploy"', "@clipboard")
        assert measured.spend.injected == p.measure("@a.py").spend.injected
        assert p.memory.list().total == 0
    assert not (state_folder() / "usage").exists()
    assert not (project / ".promptuary").exists()


def test_what_waits_for_the_next_message_of_a_thread_counts_and_a_page_is_named(project: Path) -> None:
    with opened(project) as p:
        for word in ("@folder:.", "@url:http://127.0.0.1:9/"):
            p.threads.attach(word, thread="t")
        p.threads.attach_document("plan.txt", b"We begin on Monday.", thread="t")

        measured = p.measure("see @a.py", thread="t")

        assert [name for name, tokens in measured.waiting if tokens] == ["@folder:.", "plan.txt"]
        assert measured.uncounted == ("@url:http://127.0.0.1:9/",)
        assert measured.spend.injected > p.measure("see @a.py").spend.injected
        p.threads.detach("@url:http://127.0.0.1:9/", thread="t")
        turn = p.threads.prepare("see @a.py", thread="t")
        assert turn.expansion.spend.injected == measured.spend.injected  # as the meter said
        assert p.measure("", thread="t").waiting == ()


def test_what_is_pasted_is_not_looked_into(project: Path) -> None:
    with opened(project) as p:
        assert p.measure("see @a.py", pasted=["@a.py"]).spend.injected == 0


def test_what_was_typed_is_there_the_next_time(project: Path) -> None:
    with opened(project) as p:
        for line in ("one", "two", "two", "  ", "three\nlines"):
            p.keep_typed(line)
    with opened(project) as p:
        assert list(p.typed()) == ["one", "two", "three\nlines"]
    (file,) = (state_folder() / "typed").glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_line_that_writes_a_note_is_not_kept_and_an_earlier_one_goes(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(project) as p:
        with monkeypatch.context() as earlier:  # an earlier version kept it
            earlier.setattr(input_history, "writes_a_note", lambda _: False)
            p.keep_typed("/memory write We deploy on Mondays.")
        for line in (
            "/memory forget my PIN",
            "/Memory  remember my PIN",
            'note @remember:"my PIN"',
            "/memory forget ID yes",
            "remember @this",
        ):
            p.keep_typed(line)
        assert list(p.typed()) == ["/memory forget ID yes", "remember @this"]
    (file,) = (state_folder() / "typed").glob("*.json")
    assert "Mondays" not in file.read_text()
    assert "PIN" not in file.read_text()


def test_nobody_sees_what_somebody_else_typed(project: Path) -> None:
    with opened(project) as p:
        p.keep_typed("mine")
    for other in (Principal("ada"), Principal(agent="reviewer"), Principal(group="team")):
        with opened(project, principal=other) as p:
            assert list(p.typed()) == []


def test_what_is_kept_has_a_bound(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_lines, "MAX_LINES", 3)
    with opened(project) as p:
        for number in range(5):
            p.keep_typed(f"line {number}")
        p.keep_typed("x" * 100_000)
        assert list(p.typed()) == ["line 2", "line 3", "line 4"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_no_error(project: Path, content: bytes) -> None:
    with opened(project) as p:
        p.keep_typed("one")
        (file,) = (state_folder() / "typed").glob("*.json")
        file.write_bytes(content)
        assert list(p.typed()) == []
        p.keep_typed("two")
        assert list(p.typed()) == ["two"]


def test_purging_a_workspace_removes_what_was_typed_in_it(project: Path) -> None:
    with opened(project) as p:
        p.keep_typed("one")
        p.purge()
        assert list(p.typed()) == []

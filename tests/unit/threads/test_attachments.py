"""What is in view of a thread is managed by hand with the same words as in a message."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.blocking import Promptuary
from promptuary.threads.records import ThreadChange
from tests.conftest import Files
from tests.stores import FileStore, thread_state


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "x = 1\ny = 2\n", "my notes.md": "remember\n", 'we"ird.md': "odd\n", ".env": "T=1\n"})


@pytest.fixture
def promptuary(project: Path) -> Iterator[Promptuary]:
    with Promptuary.open(project, exact=True) as opened:
        yield opened


def tracked(promptuary: Promptuary) -> list[str]:
    return [line.path for line in promptuary.threads.attachments().tracked]


WAYS = ["src/app.py", "#src/app.py", "@src/app.py", "@file:src/app.py", "./src/app.py", '#"src/app.py"']


@pytest.mark.parametrize(("word", "again"), list(zip(WAYS, WAYS[1:] + WAYS[:1], strict=True)))
def test_a_file_is_added_pinned_and_dropped_by_any_of_its_spellings(
    promptuary: Promptuary, word: str, again: str
) -> None:
    promptuary.threads.attach(word)
    assert tracked(promptuary) == ["src/app.py"]
    promptuary.threads.pin(again)
    assert [line.pinned for line in promptuary.threads.attachments().tracked] == [True]
    promptuary.threads.pin(again, on=False)
    assert [line.pinned for line in promptuary.threads.attachments().tracked] == [False]
    promptuary.threads.attach(again)
    assert tracked(promptuary) == ["src/app.py"]
    promptuary.threads.detach(again)
    assert tracked(promptuary) == []


@pytest.mark.parametrize("path", ["my notes.md", 'we"ird.md', "src/app.py:1"])
def test_a_path_is_taken_as_it_stands(promptuary: Promptuary, path: str) -> None:
    promptuary.threads.attach(path)
    assert tracked(promptuary) == [path]
    assert promptuary.threads.attachments().tracked[0].tokens > 0
    promptuary.threads.detach(path)
    assert tracked(promptuary) == []


def test_a_reference_that_is_no_path_is_queued_once_and_can_be_taken_off(promptuary: Promptuary) -> None:
    for word in ("@diff", "@status", "@diff", "@folder:src"):
        promptuary.threads.attach(word)
    assert list(promptuary.threads.attachments().queued) == ["@diff", "@status", "@folder:src"]
    promptuary.threads.detach("@status")
    assert list(promptuary.threads.attachments().queued) == ["@diff", "@folder:src"]
    promptuary.threads.detach_all()
    assert list(promptuary.threads.attachments().queued) == []


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("missing.py", Code.NOT_FOUND),
        (".env", Code.SENSITIVE_PATH),
        ("@nobody", Code.NOT_FOUND),
        ("../secret", Code.PATH_TRAVERSAL),
        ("/etc/passwd", Code.ABSOLUTE_PATH),
        ("src", Code.NOT_A_FILE),
        ("src/app.py:90-99", Code.BAD_RANGE),
        ("@diff @status", Code.NOT_FOUND),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_reason_and_changes_nothing(
    promptuary: Promptuary, word: str, code: Code
) -> None:
    promptuary.threads.attach("src/app.py")
    with pytest.raises(SourceError) as error:
        promptuary.threads.attach(word)

    assert error.value.code is code
    assert tracked(promptuary) == ["src/app.py"]
    assert list(promptuary.threads.attachments().queued) == []


@pytest.mark.parametrize("word", ["src/other.py", "@diff", "#x", "", "@"])
def test_what_is_not_in_view_cannot_be_dropped_or_pinned(promptuary: Promptuary, word: str) -> None:
    promptuary.threads.attach("src/app.py")
    with pytest.raises(SourceError, match="is not tracked"):
        promptuary.threads.detach(word)
    with pytest.raises(SourceError, match="is not tracked"):
        promptuary.threads.pin(word)


def test_what_another_version_kept_is_refused_left_alone_and_can_be_cleared(project: Path) -> None:
    with Promptuary.open(project, exact=True) as promptuary:
        promptuary.threads.attach("src/app.py")
    newer = thread_state("file_reference", "main", 99, {"shape": "unknown"})
    with closing(FileStore(project / ".promptuary" / "state.db")) as store:
        store.apply(ThreadChange("main", states=[newer]))
    with Promptuary.open(project, exact=True) as promptuary:
        for change in (promptuary.threads.attach, promptuary.threads.detach, promptuary.threads.pin):
            with pytest.raises(
                SourceError, match=r"stored by another version of Promptuary \(format 99\); upgrade it, or clear"
            ):
                change("src/app.py")
        promptuary.threads.detach_all()
        promptuary.threads.attach("src/app.py")

        assert tracked(promptuary) == ["src/app.py"]
        assert promptuary.threads.prepare("Hi").receipt.failures == ()


def test_what_is_added_while_a_turn_is_under_way_stays(promptuary: Promptuary) -> None:
    turn = promptuary.threads.prepare("Hi")
    promptuary.threads.attach("src/app.py")
    promptuary.threads.attach("@folder:src")
    promptuary.threads.finish(turn, "Hello.")

    assert tracked(promptuary) == ["src/app.py"]
    assert list(promptuary.threads.attachments().queued) == ["@folder:src"]
    assert "x = 1" in promptuary.threads.prepare("And?").messages[0]["content"]


def test_each_thread_has_its_own_view(promptuary: Promptuary) -> None:
    promptuary.threads.attach("src/app.py", thread="a")

    assert tracked(promptuary) == []
    assert [line.path for line in promptuary.threads.attachments(thread="a").tracked] == ["src/app.py"]

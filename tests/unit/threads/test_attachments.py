"""What is in view of a thread is managed by hand with the same words as in a message."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.core.errors import Code, SourceError
from promptuary.core.ports.threads import Change, KeptState
from promptuary.storage.sqlite.threads import EmbeddedStore
from tests.conftest import Files


@pytest.fixture
def project(files: Files) -> Path:
    return files({"src/app.py": "x = 1\ny = 2\n", "my notes.md": "remember\n", 'we"ird.md': "odd\n", ".env": "T=1\n"})


@pytest.fixture
def promptuary(project: Path) -> Iterator[Promptuary]:
    with Promptuary.open(project, exact=True) as opened:
        yield opened


def tracked(promptuary: Promptuary) -> list[str]:
    return [line.path for line in promptuary.view().tracked]


WAYS = ["src/app.py", "#src/app.py", "@src/app.py", "@file:src/app.py", "./src/app.py", '#"src/app.py"']


@pytest.mark.parametrize(("word", "again"), list(zip(WAYS, WAYS[1:] + WAYS[:1], strict=True)))
def test_a_file_is_added_pinned_and_dropped_by_any_of_its_spellings(
    promptuary: Promptuary, word: str, again: str
) -> None:
    promptuary.add(word)
    assert tracked(promptuary) == ["src/app.py"]
    promptuary.pin(again)
    assert [line.pinned for line in promptuary.view().tracked] == [True]
    promptuary.pin(again, on=False)
    assert [line.pinned for line in promptuary.view().tracked] == [False]
    promptuary.add(again)
    assert tracked(promptuary) == ["src/app.py"]
    promptuary.drop(again)
    assert tracked(promptuary) == []


@pytest.mark.parametrize("path", ["my notes.md", 'we"ird.md', "src/app.py:1"])
def test_a_path_is_taken_as_it_stands(promptuary: Promptuary, path: str) -> None:
    promptuary.add(path)
    assert tracked(promptuary) == [path]
    assert promptuary.view().tracked[0].tokens > 0
    promptuary.drop(path)
    assert tracked(promptuary) == []


def test_a_reference_that_is_no_path_is_queued_once_and_can_be_taken_off(promptuary: Promptuary) -> None:
    for word in ("@diff", "@status", "@diff", "@folder:src"):
        promptuary.add(word)
    assert list(promptuary.view().queued) == ["@diff", "@status", "@folder:src"]
    promptuary.drop("@status")
    assert list(promptuary.view().queued) == ["@diff", "@folder:src"]
    promptuary.clear()
    assert list(promptuary.view().queued) == []


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
    promptuary.add("src/app.py")
    with pytest.raises(SourceError) as error:
        promptuary.add(word)

    assert error.value.code is code
    assert tracked(promptuary) == ["src/app.py"]
    assert list(promptuary.view().queued) == []


@pytest.mark.parametrize("word", ["src/other.py", "@diff", "#x", "", "@"])
def test_what_is_not_in_view_cannot_be_dropped_or_pinned(promptuary: Promptuary, word: str) -> None:
    promptuary.add("src/app.py")
    with pytest.raises(SourceError, match="is not tracked"):
        promptuary.drop(word)
    with pytest.raises(SourceError, match="is not tracked"):
        promptuary.pin(word)


def test_what_another_version_kept_is_refused_left_alone_and_can_be_cleared(project: Path) -> None:
    with Promptuary.open(project, exact=True) as promptuary:
        promptuary.add("src/app.py")
    newer = KeptState("file_reference", "thread:main", 99, {"shape": "unknown"})
    with closing(EmbeddedStore(project / ".promptuary" / "state.db")) as store:
        store.apply(Change("main", states=[newer]))
    with Promptuary.open(project, exact=True) as promptuary:
        for change in (promptuary.add, promptuary.drop, promptuary.pin):
            with pytest.raises(SourceError, match=r"kept by another version \(99\); update, or clear it"):
                change("src/app.py")
        promptuary.clear()
        promptuary.add("src/app.py")

        assert tracked(promptuary) == ["src/app.py"]
        assert promptuary.prepare("Hi").receipt.failures == []


def test_what_is_added_while_a_turn_is_under_way_stays(promptuary: Promptuary) -> None:
    turn = promptuary.prepare("Hi")
    promptuary.add("src/app.py")
    promptuary.add("@folder:src")
    promptuary.finish(turn, "Hello.")

    assert tracked(promptuary) == ["src/app.py"]
    assert list(promptuary.view().queued) == ["@folder:src"]
    assert "x = 1" in promptuary.prepare("And?").messages[0]["content"]


def test_each_thread_has_its_own_view(promptuary: Promptuary) -> None:
    promptuary.add("src/app.py", thread="a")

    assert tracked(promptuary) == []
    assert [line.path for line in promptuary.view(thread="a").tracked] == ["src/app.py"]

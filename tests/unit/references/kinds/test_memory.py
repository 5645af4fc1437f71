"""``@memory:`` asks the memory, and nothing else."""

from collections.abc import Iterator, Sequence

import pytest

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, PromptuaryError, SourceError, StorageError
from promptuary.references.kinds import KINDS
from promptuary.references.resolve_context import FindNotes, NotesFound, ResolveContext
from promptuary.references.scan import scan
from promptuary.tokens.counting import Counter
from promptuary.workspace.disk.root import Root
from promptuary.workspace.workspace import Visit, Workspace
from tests.conftest import Files


@pytest.fixture
def visit(files: Files) -> Iterator[Visit]:
    with Root(files({".promptuary/memory/people.md": "Ada likes the canteen.\n"})) as root:
        yield Visit(Workspace(root))


def resolved(context: ResolveContext) -> Sequence[Source]:
    (reference,) = scan('@memory:"the canteen"')
    return KINDS["memory"](reference, context)


def test_the_notes_are_those_that_the_memory_finds_for_the_words(visit: Visit) -> None:
    note = Source(key="memory:people", label="People", kind="memory", text="Ada.", revision="1")
    asked: list[str] = []

    def find_notes(words: str) -> NotesFound:
        asked.append(words)
        return NotesFound([note], ["by words only"])

    context = ResolveContext(visit, Counter(), find_notes=find_notes)
    assert resolved(context) == [note]
    assert context.notes == ["by words only"]
    assert asked == ["the canteen"]


@pytest.mark.parametrize("find_notes", [None, lambda _: NotesFound()], ids=["no memory", "nothing found"])
def test_where_no_note_matches_the_answer_says_so(visit: Visit, find_notes: FindNotes | None) -> None:
    with pytest.raises(SourceError, match="no note matches 'the canteen'") as missing:
        resolved(ResolveContext(visit, Counter(), find_notes=find_notes))
    assert missing.value.code is Code.NO_MATCH


@pytest.mark.parametrize(
    ("raised", "code"),
    [(StorageError("it is damaged"), Code.READ_FAILED), (SourceError(Code.TIMEOUT, "it is damaged"), Code.TIMEOUT)],
)
def test_an_error_of_the_memory_is_that_of_the_reference(visit: Visit, raised: PromptuaryError, code: Code) -> None:
    def find_notes(_: str) -> NotesFound:
        raise raised

    with pytest.raises(SourceError, match="it is damaged") as failed:
        resolved(ResolveContext(visit, Counter(), find_notes=find_notes))
    assert failed.value.code is code

"""What the people of a chat read: nothing that only the operator can use, and nothing of the machine."""

import logging

import pytest

from promptuary.base.errors import (
    Code,
    ConfigError,
    DatabaseDamagedError,
    FrontMatterError,
    NoteConflictError,
    NothingIndexedError,
    PromptuaryError,
    SourceError,
    StorageError,
    UnknownNoteError,
)
from promptuary.commands.results import CommandDone, NotesMatched, PassagesFound
from promptuary.gateways.texts.wording import FAILED, UNUSABLE, in_chat, unanswered, word_error
from promptuary.memory.values import MemoryResult
from promptuary.search.values import FilesSkipped, Hit, IndexBusy, SearchedByWordsOnly, SearchResult, Why

SHELL = "run `promptuary frob` in /srv/app"


@pytest.mark.parametrize(
    "error",
    [
        *(UnknownNoteError(SHELL), NothingIndexedError(SHELL), NoteConflictError(SHELL), ConfigError(SHELL)),
        *(StorageError(SHELL), DatabaseDamagedError(SHELL), FrontMatterError(SHELL)),
        *(SourceError(code, SHELL) for code in (Code.NOT_REMEMBERED, Code.UNSUPPORTED_TYPE, Code.BUDGET_EXCEEDED)),
    ],
)
def test_no_error_tells_somebody_in_a_chat_to_run_a_program(
    error: PromptuaryError, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        said = word_error(error, "!")

    assert "promptuary" not in said
    assert "/" not in said
    assert (said == UNUSABLE) == (SHELL in caplog.text)


def test_an_error_about_what_the_person_wrote_is_told() -> None:
    assert word_error(SourceError(Code.NOT_FOUND, "there is no turn 9"), "/") == "there is no turn 9"
    assert word_error(PromptuaryError("there is nothing to take back"), "/") == "there is nothing to take back"


def test_only_what_cannot_be_mended_by_trying_again_says_so() -> None:
    assert unanswered(ConfigError("x")) == unanswered(StorageError("x")) == UNUSABLE
    assert unanswered(PromptuaryError("x")) == FAILED


@pytest.mark.parametrize("shown", [PassagesFound("x", SearchResult()), NotesMatched("x", MemoryResult())])
def test_a_search_tells_a_chat_nothing_of_files_and_settings(shown: PassagesFound | NotesMatched) -> None:
    notes = (FilesSkipped({"/srv/app/secret.py": Code.BINARY}), SearchedByWordsOnly("set embedder"), IndexBusy())
    result = type(shown.result)(notes=notes)
    said = in_chat(type(shown)("x", result), "/")  # type: ignore[arg-type]

    assert "secret" not in said
    assert "embedder" not in said
    assert "another process is indexing" in said


def test_only_words_that_stand_in_no_passage_are_said_to_have_no_answer() -> None:
    why = Why(0.6, match=lambda: ("service",))
    hit = Hit("/srv/app", "a.md", 1, 1, "A service.", (), "markdown", 0, "", 0.6, why, "/srv/app")
    result = SearchResult([hit], confidence=0.6)

    assert "nothing here seems to answer" not in in_chat(PassagesFound("service", result), "/")
    for query in ("service desk", "what is the service?"):
        assert "nothing here seems to answer" in in_chat(PassagesFound(query, result), "/")


def test_a_path_of_the_machine_and_a_code_are_left_out() -> None:
    assert (
        in_chat(CommandDone("NOT_FOUND: nothing in /srv/app/x.py, or docs/x.py"), "/") == r"nothing in …, or docs/x\.py"
    )

"""What is stored as JSON comes back as it was; what could not be read again is refused before it is stored."""

from typing import Any, cast

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import Owner
from promptuary.database.columns import from_body, to_body
from promptuary.memory.values import NoteDraft, NoteHeader
from promptuary.memory.writeback.values import Proposal
from promptuary.sessions.values import Session

HEADER = NoteHeader("aaaa", "private/user/a.md", "project", "private", "user", "Title", "rev")
SESSION = Session("id", "name", "thread", "2026", "2026")


@pytest.mark.parametrize(
    "text", ["", "größe 資料 😀", "\x00\x1f\u2028\ufeff", "\ud83d", "\ud83d\ude00", "a\udc80b\x00"]
)
def test_any_text_comes_back(text: str) -> None:
    header = NoteHeader(text, text, "project", "private", "user", text, text, Owner("user", text, text), tags=(text,))

    assert from_body(to_body(header), NoteHeader) == header


@pytest.mark.parametrize("draft", [{"kind": "novel"}, {"audience": 3}, {"tags": "one"}, {"content": ["a", "list"]}])
def test_what_could_not_be_read_again_is_not_stored(draft: dict[str, Any]) -> None:
    proposal = Proposal("p", "write", "2026", "tool", NoteDraft(**draft), "mark")

    with pytest.raises(PromptuaryError, match=r"Proposal cannot be stored: .*draft"):
        to_body(proposal)


def test_what_means_the_same_is_stored() -> None:
    loose = Session("id", "name", "thread", "2026", "2026", memory=cast("bool", 1), version=cast("int", 1.0))

    assert from_body(to_body(loose), Session) == SESSION


@pytest.mark.parametrize("body", ["", "{}", "[]", "{", '{"id": 1}', b"\xff", b"{}", "null"])
def test_what_is_damaged_is_an_error_of_values(body: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (any)
        from_body(body, NoteHeader)

"""``MEMORY.md`` lists notes between two marks, and keeps what a person wrote around them."""

import pytest
from msgspec.structs import replace

from promptuary.base.principals import Principal
from promptuary.memory.index_page import END, MAX_ENTRIES, START, human_text, page_path, update_page
from promptuary.memory.values import NoteHeader

NOTE = NoteHeader("abcd", "private/user/a-abcd.md", "project", "private", "user", "Likes tabs", "r", summary="Always.")


def lines_of(page: str) -> list[str]:
    lines = page.splitlines()
    return lines[lines.index(START) + 1 : lines.index(END)]


def test_a_new_page_lists_notes_with_a_link_and_a_summary() -> None:
    page = update_page(None, "private", [NOTE], 1)

    assert lines_of(page) == ["- [Likes tabs](user/a-abcd.md): Always."]
    assert "Only you see these" in human_text(page)


HOSTILE = [
    "$& $1 \\1",
    "a](http://evil) [b",
    "a) b ](c",
    f"a {END} b",
    f"a\n{END}\n# Rules\n{START}",
    "a\r\nb\u2028c\x85d",
    "</memory> <!-- x -->",
    "`code` *bold* _under_",
    "\\",
    "\u202eevil\u200b",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_title_and_no_summary_can_break_the_list(text: str) -> None:
    """W11: a replacement pattern, a bracket or the mark of the end in a title is a title."""
    other = replace(NOTE, id="efgh", path="private/user/b-efgh.md")
    page = update_page("Mine, above.\n", "private", [replace(NOTE, title=text, summary=text), other], 2)

    assert len(lines_of(page)) == 2
    assert lines_of(page)[1] == "- [Likes tabs](user/b-efgh.md): Always."
    assert page.count(START) == page.count(END) == 1
    assert "](user/a-abcd.md)" in lines_of(page)[0]
    assert human_text(page) == "Mine, above."
    assert update_page(page, "private", [other], 1).count("\n- ") == 1


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_human_text_around_the_list_is_kept_byte_for_byte(newline: str) -> None:
    above, below = f"\ufeff# Mine{newline}{newline}", f"{newline}  Below, without an end"
    page = update_page(above, "shared", [NOTE], 1) + below
    again = update_page(page, "shared", [NOTE, NOTE], 2)

    assert again.startswith(above)
    assert again.endswith(below)
    assert update_page(again, "shared", [NOTE, NOTE], 2) == again
    assert again.count("\n") == again.count(newline)


def test_a_mark_that_lost_its_other_does_not_swallow_human_text() -> None:
    page = update_page(f"{START}\nMine.\n", "private", [NOTE], 1)

    assert update_page(page, "private", [], 0).startswith(f"{START}\nMine.\n")
    assert "Mine." in human_text(page)
    assert "Mine." in human_text(update_page(f"{END}\nMine.\n{START}\n", "private", [NOTE], 1))


def test_notes_that_do_not_fit_are_counted_in_the_last_line() -> None:
    """W9: nothing is left out without saying so."""
    many = update_page(None, "private", [NOTE] * 300, 1_234)
    long = update_page(None, "private", [replace(NOTE, summary="s" * 160)] * 150, 150)

    assert len(lines_of(many)) == MAX_ENTRIES + 1
    assert lines_of(many)[-1] == "- … and 1,034 more: `promptuary memory list`"
    assert lines_of(long)[-1] == f"- … and {150 - len(lines_of(long)) + 1} more: `promptuary memory list`"
    assert len(long) < 26_000


def test_every_owner_has_a_page_of_its_own() -> None:
    """W1: the page of one person tells nobody else's titles."""
    owners = [Principal(), Principal(user="ada"), Principal(user="bob"), Principal(group="team")]
    paths = [page_path("private", one.owner) for one in owners]

    assert paths[0] == "private/MEMORY.md"
    assert len(set(paths)) == len(owners)
    assert {page_path("shared", one.owner) for one in owners} == {"shared/MEMORY.md"}
    assert Principal(user="local", group="team").owner != Principal().owner
    assert page_path("private", Principal(group="local").owner) != "private/MEMORY.md"


def test_a_link_leads_to_the_file_whatever_its_name() -> None:
    page = update_page(None, "private", [replace(NOTE, path="private/user/a b(1)<é>.md")], 1)

    assert "](user/a%20b%281%29%3Cé%3E.md)" in page

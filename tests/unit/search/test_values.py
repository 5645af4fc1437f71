"""The values of search: filters that can match, places that references take, and notes for people and programs."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import Code, ConfigError
from promptuary.base.references import LineRange
from promptuary.present.search import note_json
from promptuary.references.scan import scan
from promptuary.references.selection import FilePart, Selection, interpretations
from promptuary.search.values import (
    FilesSkipped,
    FilesUnparsed,
    Filters,
    FolderHeld,
    Hit,
    IgnoreRulesCut,
    IndexBusy,
    IndexRebuilt,
    SearchedByWordsOnly,
    SearchNote,
    SearchQuery,
    SyncReport,
    Why,
    note_text,
)


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"kinds": ("cod",)}, "'cod' is not a kind of file; use markdown, code, text, data"),
        ({"paths": "src"}, r"paths of a search are a tuple of strings: paths=\('src',\)"),
        ({"kinds": "code"}, r"kinds=\('code',\)"),
        ({"since": 10**20}, "since and until of a search are seconds since 1970"),
        ({"until": -(10**20)}, "since and until of a search are seconds since 1970"),
    ],
)
def test_a_filter_that_could_never_match_is_refused(filters: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Filters(**filters)


def hit(path: str, *, folder: str = "/work", workspace: str = "/work", lines: tuple[int, int] = (10, 20)) -> Hit:
    return Hit(folder, path, *lines, "text", (), "text", 0, "ab" * 32, 1.0, Why(), workspace)


@pytest.mark.parametrize("numbers", [{"limit": -1}, {"limit": 10**20}, {"per_file": -1}, {"per_file": 10**20}])
def test_a_number_of_hits_that_nobody_can_return_is_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="limit and per_file of a search are numbers of hits, from 0 on"):
        SearchQuery("hello", **numbers)


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (hit("src/a.py"), "src/a.py:10-20"),
        (hit("a.py", folder="/work/src"), "src/a.py:10-20"),
        (hit("work/a.py", folder="/", workspace="/work"), "a.py:10-20"),
        (hit("a.py", folder="/", workspace="/"), "a.py:10-20"),
        (hit("my notes/a b.md"), '"my notes/a b.md":10-20'),
        (hit("a:10.md"), '"a:10.md":10-20'),
        (hit('say "hi".md'), "'say \"hi\".md':10-20"),
        (hit("a.py", folder="/workshop"), "/workshop/a.py:10-20"),
        (hit("a b.py", folder="/elsewhere"), '"/elsewhere/a b.py":10-20'),
        (hit("a.py", workspace=""), "/work/a.py:10-20"),
    ],
)
def test_the_place_of_a_hit_is_what_a_reference_takes_or_an_absolute_path_outside(found: Hit, place: str) -> None:
    assert found.place == place


NAMES = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="/\n\r"), min_size=1, max_size=12
).filter(lambda name: name not in {".", ".."})


@given(st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.integers(1, 10**6), st.integers(0, 10**3))
def test_the_place_of_any_file_is_read_back_as_that_file_and_those_lines(path: str, start: int, more: int) -> None:
    place = hit(path, lines=(start, start + more)).place
    (reference,) = scan(f"see @file:{place} please")

    assert reference.raw == f"@file:{place}"
    assert FilePart(path, Selection((LineRange(start, start + more),))) in list(interpretations(reference))


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (IndexBusy(), "another process is indexing; the latest changes are not in the index yet"),
        (IndexBusy(here=True), "not everything was searched: it is still being indexed; try again soon"),
        (IndexRebuilt(), "the index was damaged and has been rebuilt; nothing was lost"),
        (SearchedByWordsOnly("the service is away"), "searched by words only: the service is away"),
        (FolderHeld("/a", "missing"), "/a is missing; its entries in the index were kept"),
        (FolderHeld("/a", "empty"), "/a has no files left; its entries in the index were kept"),
        (FolderHeld("/a", "unreadable", inside="b"), "/a/b cannot be listed; its entries in the index were kept"),
        (
            FolderHeld("/a", "unreadable", detail="/a cannot be listed (Permission denied); make sure you may."),
            "/a cannot be listed (Permission denied); make sure you may; its entries in the index were kept",
        ),
        (FilesUnparsed(("/a", "/b")), "indexed by paragraphs, since parsing takes too long: /a, /b"),
        (
            FilesUnparsed(tuple("/abcdefg")),
            "indexed by paragraphs, since parsing takes too long: /, a, b, c, d and 3 more",
        ),
        (
            IgnoreRulesCut(("/a/.gitignore",)),
            "too many rules to apply all, so files that they should hide may be indexed: /a/.gitignore",
        ),
        (FilesSkipped({"/a/b": Code.BINARY}), "skipped /a/b (BINARY)"),
        (
            FilesSkipped({"/a/conversations.json": Code.FILE_TOO_LARGE}),
            "skipped /a/conversations.json (FILE_TOO_LARGE); raise max_file_size to index large ones",
        ),
        (
            FilesSkipped({f"/{number}": Code.BINARY for number in range(1_006)}),
            (
                "skipped /0 (BINARY), /1 (BINARY), /2 (BINARY), /3 (BINARY), /4 (BINARY) and 1,001 more "
                "(promptuary index --rebuild --json lists all)"
            ),
        ),
    ],
)
def test_every_note_is_a_sentence_for_a_person_and_has_a_code_for_a_program(note: SearchNote, text: str) -> None:
    value = note_json(note)

    assert note_text(note) == value["text"] == text
    assert re.fullmatch("[A-Z_]+", value["code"])


def test_reports_add_up() -> None:
    one = SyncReport(1, 2, 3, 4, 5, {"/a": Code.BINARY}, (FolderHeld("/x", "missing"),), cut_rules=("/c",))
    other = SyncReport(10, 20, 30, 40, 50, {"/b": Code.NOT_FOUND}, (FolderHeld("/y", "empty"),), rebuilt=True)

    assert one + other == SyncReport(
        *(11, 22, 33, 44, 55),
        {"/a": Code.BINARY, "/b": Code.NOT_FOUND},
        (FolderHeld("/x", "missing"), FolderHeld("/y", "empty")),
        rebuilt=True,
        cut_rules=("/c",),
    )
    assert one + SyncReport() == SyncReport() + one == one


def test_notes_that_every_sync_would_repeat_can_be_left_out() -> None:
    skipped = {"/a": Code.BINARY, "/b": Code.FILE_TOO_LARGE, "/c": Code.PERMISSION_DENIED}
    report = SyncReport(skipped=skipped, held=(FolderHeld("/x", "missing"),), rebuilt=True)

    assert report.notes() == (IndexRebuilt(), FolderHeld("/x", "missing"), FilesSkipped(skipped))
    assert report.notes(recurring=False)[-1] == FilesSkipped({"/a": Code.BINARY})
    assert SyncReport(skipped={"/b": Code.FILE_TOO_LARGE}).notes(recurring=False) == ()
    assert SyncReport(cut_rules=("/a/.ignore",)).notes(recurring=False) == ()

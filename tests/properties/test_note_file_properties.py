"""Whatever a file holds: parsing it keeps every byte, and changing a key changes the lines of that key alone."""

from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.base.errors import FrontMatterError
from promptuary.base.front_matter import _Field, _Scanner, parse
from promptuary.memory.index_page import human_text, update_page
from promptuary.memory.note_file import Ownership, as_bytes, as_text, read_note, rewrite, write_new
from promptuary.memory.values import KINDS

KEYS = ["id", "title", "tags", "summary", "x", "y z", "status"]
TEXT = st.text(max_size=30)
SCALARS = st.sampled_from(
    ["a", "'b'", '"c\\n"', "d # e", "[f, 'g']", "[]", "", "\n  - h\n  - i", "|\n  j\n  k", "l\n  m"]
)
NOISE = st.sampled_from(["# comment", "", "   ", "  # indented comment"])
NEWLINES = st.sampled_from(["\n", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return notes as people write them: some keys in some order, comments and blank lines between them."""
    lines = []
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True)):
        lines += draw(st.lists(NOISE, max_size=2))
        lines.append(f"{key}: {draw(SCALARS)}")
    lines += draw(st.lists(NOISE, max_size=2))
    text = "\n".join(["---", *lines, "---", draw(TEXT)])
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\r", "").replace("\n", draw(NEWLINES))


ANYTHING = st.one_of(
    documents(), st.text(), st.text("-\n:[]{}\"'#&*!|> \tab\\").map(lambda text: f"---\n{text}\n---\n")
)
VALUES = st.dictionaries(st.sampled_from(KEYS[:-2]), st.one_of(st.none(), TEXT, st.lists(TEXT, max_size=3)), max_size=4)


@given(ANYTHING)
def test_parsing_keeps_every_character(text: str) -> None:
    document = parse(text)

    assert document.text == text
    assert bool(document.problem) <= (not document.fields)


@given(st.binary())
@example(b"---\nid: \xff\n---\n")
def test_a_file_of_any_bytes_is_a_note(data: bytes) -> None:
    note = read_note(data, "private/user/a.md", Ownership("project"))

    assert as_bytes(note.text) == data
    assert note.header.kind in KINDS
    note.body.encode()
    note.header.title.encode()


@given(ANYTHING, VALUES)
@example("---\nid: a\n\n  # c\n---\n", {"id": "b"})
@example("---\nid:\n- a\n---\n", {"id": ["b"]})
@example("---\nid: |\n  a\n\n---", {"x": "b"})
def test_a_change_changes_the_lines_of_its_keys_alone(text: str, changes: dict[str, str | list[str] | None]) -> None:
    before = parse(text)
    try:
        after = before.with_values(changes)
    except FrontMatterError:
        return

    for key, value in changes.items():
        stored = tuple(value) if isinstance(value, list) else value
        assert after.has(key, stored)
    if before.problem:
        assert after.text.endswith(text.removeprefix("\ufeff"))
        return
    assert after.body.endswith(before.body)
    assert {key: one.value for key, one in after.fields.items() if key not in changes} == {
        key: one.value for key, one in before.fields.items() if key not in changes
    }
    changed = {
        key for key, value in changes.items() if not before.has(key, tuple(value) if isinstance(value, list) else value)
    }
    untouched = [
        line
        for number, line in enumerate(before.lines)
        if not any(
            before.fields[key].first <= number < before.fields[key].end for key in changed if key in before.fields
        )
    ]
    remaining = iter(after.lines)
    assert all(line in remaining for line in untouched)


@given(ANYTHING, st.text(max_size=60))
def test_another_body_is_read_as_it_was_written(text: str, content: str) -> None:
    try:
        data = rewrite(text, {"id": "abcd"}, content)
    except FrontMatterError:
        return
    wanted = read_note(write_new(content, {"id": "abcd"}), "private/user/a.md", Ownership("project")).body

    assert read_note(data, "private/user/a.md", Ownership("project")).body == wanted
    assert rewrite(as_text(data), {"id": "abcd"}, content) == data


@given(st.text(), st.text(), st.text())
@example("\r", "", "")
def test_the_list_of_notes_keeps_human_text_and_is_stable(page: str, title: str, summary: str) -> None:
    note = read_note(
        write_new("a", {"id": "abcd", "title": title[:50], "summary": summary[:50]}),
        "private/user/a.md",
        Ownership("user"),
    )
    once = update_page(page, "private", [note.header], 1)

    assert once.startswith(page)
    assert human_text(once) == page.removeprefix("\ufeff").strip()
    assert update_page(once, "private", [note.header], 1) == once
    assert human_text(update_page(once, "private", [], 0)) == human_text(once)


class Thorough(_Scanner):
    """A scanner that thinks about every line."""

    def _after_plain_lines(self, found: dict[str, _Field]) -> int:
        return self._meaningful()


PIECES = st.sampled_from([*"ab19:#\"'\\-[|_\xa0\x0c", " ", "key: ", "\n", "\n ", "\n#"])


@given(st.lists(st.tuples(st.sampled_from(["a", "b_c", "d-e"]), st.lists(PIECES, max_size=8).map("".join)), max_size=4))
def test_a_line_that_needs_no_thought_is_read_like_any_other(lines: list[tuple[str, str]]) -> None:
    text = "".join(["---\n", *(f"{key}: {value}\n" for key, value in lines), "---\n"])

    assert read_by(_Scanner(text.splitlines(keepends=True))) == read_by(Thorough(text.splitlines(keepends=True)))


def read_by(scanner: _Scanner) -> object:
    try:
        return scanner.fields()
    except FrontMatterError as error:
        return str(error)

"""A definition comes before its callers."""

from pathlib import Path

import pytest

from promptuary.search.index.port import IndexedChunk
from promptuary.search.outline.named import NameInCode, defining, names_in
from promptuary.search.ranking import Ranked, definitions_first
from promptuary.search.values import Chunk
from tests.conftest import Files
from tests.embedders import search_with

CALLERS = {
    f"app/caller{number}.py": f"from app.store import load_rows, RowStore\n\n\ndef use{number}():\n"
    f"    rows = load_rows(load_rows, 'load_rows')\n    return RowStore.fetch(rows) or load_rows\n"
    for number in range(12)
}
STORE = (
    "LIMIT_OF_ROWS = 10\n\n\n" + "# about nothing\n" * 40 + "\n\ndef load_rows(path):\n    return open(path).read()\n"
    "\n\nclass RowStore:\n    def fetch(self, rows):\n        return rows\n"
)
OTHER = "class Other:\n    def fetch(self, rows):\n        return rows * 2\n"
GUIDE = "# Rows\n\nCall load_rows with the path; load_rows reads it. See RowStore and LIMIT_OF_ROWS.\n"


@pytest.fixture
def project(files: Files) -> Path:
    return files(
        {
            **CALLERS,
            "app/store.py": STORE,
            "app/other.py": OTHER,
            "docs/guide.md": GUIDE,
            "app/limit.py": "x = LIMIT_OF_ROWS\n",
        }
    )


@pytest.mark.parametrize(
    ("query", "path", "line"),
    [
        ("load_rows", "app/store.py", "def load_rows"),
        ("RowStore", "app/store.py", "class RowStore"),
        ("RowStore.fetch", "app/store.py", "def fetch(self, rows):\n        return rows"),
        ("Other.fetch", "app/other.py", "return rows * 2"),
        ("LIMIT_OF_ROWS", "app/store.py", "LIMIT_OF_ROWS = 10"),
    ],
)
def test_a_name_alone_finds_its_definition_first(project: Path, query: str, path: str, line: str) -> None:
    with search_with(project) as search:
        search.index([project])
        hits = search.find(query).hits

    assert (hits[0].path, line in hits[0].text) == (path, True)
    assert [one.score for one in hits] == sorted((one.score for one in hits), reverse=True)


def test_among_other_words_it_stands_before_the_code_that_uses_it(project: Path) -> None:
    with search_with(project) as search:
        search.index([project])
        hits = search.find("which path does load_rows take", limit=10).hits

    code = [one.path for one in hits if one.path.endswith(".py")]
    assert code[0] == "app/store.py"


def test_in_a_pasted_report_the_names_of_other_things_put_nothing_first(files: Files) -> None:
    report = (
        "socket.error is not wrapped: a connection that the peer resets while the content streams in chunks raises "
        "through iterators, adapters and sessions; expected is our own exception for broken decoding of payloads"
    )
    adapter = f"def stream(chunks):\n    # {report}\n    return list(chunks)\n"
    fake = "class socket:\n    class error(Exception):\n        pass\n"
    project = files({"src/fake.py": fake, "src/adapter.py": adapter} | CALLERS)
    with search_with(project) as search:
        search.index([project])
        hits = search.find(report).hits

    assert hits[0].path == "src/adapter.py"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("load_rows", [NameInCode("load_rows")]),
        ("retry", [NameInCode("retry")]),
        ("how do we retry", []),
        ("where is Point::new called", [NameInCode("new", "Point")]),
        ("app.store.load_rows and parseUrl and third_name", [NameInCode("load_rows", "store"), NameInCode("parseUrl")]),
        ("", []),
        ("a" * 500, []),
    ],
)
def test_which_names_a_query_has(query: str, names: list[NameInCode]) -> None:
    assert names_in(query) == names


@pytest.mark.parametrize(
    ("text", "heading", "found"),
    [
        ("pub(crate) async fn send(a: u8) {", (), True),
        ("func (c *Client) send() error {", (), True),
        ("export default function send() {", (), True),
        ("#define send 3", (), True),
        ("send: Final = 3", (), True),
        ("int send(void) {", ("send",), True),
        ("send(1)", (), False),
        ("if send == 3:", (), False),
        ("def sender():", (), False),
        ("    send = 3", (), False),
    ],
)
def test_which_lines_define_a_name(text: str, heading: tuple[str, ...], found: bool) -> None:
    chunk = Chunk(1, 1, text, heading, "0" * 64)
    assert bool(defining({7: IndexedChunk("/a", "a.c", "code", 0, chunk)}, NameInCode("send"))) is found
    assert not defining({7: IndexedChunk("/a", "a.md", "markdown", 0, chunk)}, NameInCode("send"))


def test_what_answers_better_than_all_uses_keeps_its_place() -> None:
    ranked = [Ranked(number, 1.0 - number / 10, 1.0, None, None, 0.0, 1.0) for number in range(5)]

    def order(found: set[int], mentioning: set[int] | None) -> list[int]:
        return [one.chunk for one in definitions_first(ranked, found, mentioning)]

    assert order({3}, {1, 2}) == [0, 3, 1, 2, 4]
    assert order({0}, {1, 2}) == [0, 1, 2, 3, 4]
    assert order({3}, None) == [3, 0, 1, 2, 4]
    assert order(set(), None) == [0, 1, 2, 3, 4]

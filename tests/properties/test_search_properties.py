"""Any text is a question, and more answers begin with the fewer."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.search.answer import answer
from promptuary.search.chunks.lines import Sizes
from promptuary.search.service import SearchService
from promptuary.search.values import FILE_KINDS, Filters, Hit, SearchQuery
from tests.embedders import HashedWords, search_with
from tests.indexes import index_of

WORDS = ["alpha", "beta", "gamma", "releaseScript", "max_open_files", "東京都", "straße", "naïve", "the", "config"]
PIECES = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(codec=None), max_size=20),
    st.sampled_from([*WORDS, '"', "'", "*", "(", ")", "[", "]", "{", "}", "^", "~", ":", "\\", "/", "-", "+", "!"]),
    st.sampled_from(
        ["AND", "OR", "NOT", "\0", "\ud800", "\udfff", "\n", " ", "«", "」", "“", "alpha*", '"alpha beta"']
    ),
)
TEXTS = st.lists(PIECES, max_size=20).map(" ".join) | st.text(st.characters(codec=None), max_size=200)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched") / "workspace"
    (folder / "src").mkdir(parents=True)
    for number in range(30):
        words = " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 12))
        (folder / f"note{number}.md").write_text(f"# {words}\n\n{words}\n\n## {number}\n\n{words} {number}\n" * 4)
    (folder / "src/app.py").write_text("def releaseScript():\n    max_open_files = 'alpha'\n")
    return folder


@pytest.fixture(scope="module", params=["lexical", "hybrid"])
def service(request: pytest.FixtureRequest, workspace: Path) -> Iterator[SearchService]:
    embedder = HashedWords() if request.param == "hybrid" else None
    with search_with(workspace, embedder, sizes=Sizes(32, 4)) as opened:
        opened.index([workspace])
        opened.embed()
        yield opened


def found(
    service: SearchService, text: str, limit: int, filters: Filters | None = None, *, per_file: int = 0
) -> list[Hit]:
    """Search without looking at the files, which do not change here."""
    query = SearchQuery(text, limit, filters or Filters(), per_file=per_file)
    return list(answer(query, index_of(service), service.backend.embedder).hits)


@given(text=TEXTS)
@example(text='"')
@example(text='" alpha "beta')
@example(text="alpha:beta AND (")
@example(text="\ud83d alpha \ude00")
@example(text="*" * 200)
def test_any_text_is_a_question_and_every_answer_is_lines_of_a_file(
    service: SearchService, workspace: Path, text: str
) -> None:
    hits = found(service, text, 25)

    assert len(hits) <= 25
    assert len({(hit.path, hit.start_line, hit.end_line) for hit in hits}) == len(hits)
    for hit in hits:
        lines = (workspace / hit.path).read_text(encoding="utf-8").split("\n")
        assert "\n".join(lines[hit.start_line - 1 : hit.end_line]) == hit.text


@given(
    text=TEXTS | st.sampled_from(WORDS), fewer=st.integers(1, 60), more=st.integers(0, 400), per_file=st.integers(0, 3)
)
def test_more_answers_begin_with_the_fewer(
    service: SearchService, text: str, fewer: int, more: int, per_file: int
) -> None:
    every = found(service, text, fewer + more, per_file=per_file)

    assert every[:fewer] == found(service, text, fewer, per_file=per_file)
    assert not per_file or max(Counter(hit.path for hit in every).values(), default=0) <= per_file


@given(
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    kinds=st.lists(st.sampled_from(FILE_KINDS), max_size=2).map(tuple),
    paths=st.lists(st.sampled_from(["src", "note1*", "!note11.md", "**/*.py", "note2.md"]), max_size=2).map(tuple),
)
def test_a_filter_never_brings_anything_new_and_holds_for_every_hit(
    service: SearchService, text: str, kinds: tuple[str, ...], paths: tuple[str, ...]
) -> None:
    filters = Filters(kinds=kinds, paths=paths)  # type: ignore[arg-type]
    allowed = found(service, text, 1_000, filters)

    if kinds:
        assert {hit.kind for hit in allowed} <= set(kinds)
    if paths == ("src",):
        assert {hit.path for hit in allowed} <= {"src/app.py"}
    if paths == ("!note11.md",):
        assert "note11.md" not in {hit.path for hit in allowed}
    assert len({(hit.path, hit.start_line, hit.end_line) for hit in allowed}) == len(allowed)


@given(st.lists(st.sampled_from(WORDS[:5]), min_size=1, max_size=3).map(" ".join))
def test_a_quoted_phrase_stands_in_every_answer_if_it_stands_in_any(service: SearchService, phrase: str) -> None:
    somewhere = bool(found(service, f'"{phrase}"', 1))
    for hit in found(service, f'"{phrase}" gamma alpha', 100) if somewhere else ():
        told = " ".join(re.findall(r"\w+", f"{hit.text}\n{' '.join(hit.heading)}\n{hit.path}"))
        assert phrase in told

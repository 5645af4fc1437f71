"""A process that searches again: what it does not do twice, and that it notices what changed all the same."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from promptuary.search.service import SearchService
from promptuary.search.values import SearchQuery
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.waiting import wait_until

MANY = 500
_recorders: list[list[str]] = []


def _record(event: str, details: tuple[object, ...]) -> None:
    if event in {"open", "os.scandir", "os.listdir", "sqlite3.connect"}:
        for opened in _recorders:
            opened.append(str(details[0]))


sys.addaudithook(_record)


@contextmanager
def opening() -> Iterator[list[str]]:
    """Collect what any thread opens or lists."""
    opened: list[str] = []
    _recorders.append(opened)
    try:
        yield opened
    finally:
        _recorders.remove(opened)


def opened_by(service: SearchService, words: str) -> list[str]:
    with opening() as opened:
        service.find(words)
    return opened


def paths(service: SearchService, words: str) -> list[str]:
    return sorted(hit.path for hit in service.find(SearchQuery(words, 1_000)).hits)


@pytest.fixture
def vault(files: Files) -> Path:
    return files({f"{number}.md": f"The gateway of pier {number} is open.\n" for number in range(20)})


@pytest.mark.parametrize("embedder", [None, HashedWords()])
def test_a_search_opens_nothing_that_was_open_before(vault: Path, embedder: HashedWords | None) -> None:
    with search_with(vault, embedder) as service:
        service.index([vault])
        service.embed()
        service.watcher()
        assert opened_by(service, "gateway")
        # The watcher is sure of the folder from some moment on.
        wait_until(lambda: not opened_by(service, "pier"))

        assert opened_by(service, "which gateway is open?") == []
        assert opened_by(service, "pier 7") == []


@pytest.mark.parametrize("embedder", [None, HashedWords()])
def test_what_another_process_changed_is_noticed(vault: Path, embedder: HashedWords | None) -> None:
    with search_with(vault, embedder) as service, search_with(vault, embedder) as other:
        service.index([vault])
        service.embed()
        service.watcher()
        service.find("gateway")

        for number, rebuild in enumerate((False, True, True)):
            (vault / f"new{number}.md").write_text(f"The turnstile {number}.\n")
            other.index(rebuild=rebuild)
            other.embed()
            found = service.find("turnstile")
            assert {hit.path for hit in found.hits} >= {f"new{one}.md" for one in range(number + 1)}
            assert not found.partially_embedded


def test_who_searches_many_files_again_does_not_look_at_them_each_time(files: Files) -> None:
    vault = files({f"{number}.md": f"The gateway of pier {number} is open.\n" for number in range(MANY)})
    with search_with(vault, None) as service:
        service.index([vault])
        wait_until(lambda: not opened_by(service, "gateway"))

        (vault / "7.md").write_text("The turnstile in the east.\n")
        assert paths(service, "turnstile") == ["7.md"]
        (vault / "late").mkdir()
        (vault / "late" / "late.md").write_text("The turnstile in the west.\n")
        wait_until(lambda: paths(service, "turnstile") == ["7.md", "late/late.md"])
        (vault / "7.md").unlink()
        assert paths(service, "turnstile") == ["late/late.md"]


def test_few_files_are_looked_at_by_every_search(vault: Path) -> None:
    with search_with(vault, None) as service:
        service.index([vault])

        assert all(opened_by(service, "gateway") for _ in range(4))

"""What is indexed is what is on disk, however it got there."""

import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from promptuary.base.errors import Code, ConfigError, PromptuaryError, SourceError
from promptuary.blocking import Promptuary
from promptuary.search.index.fulltext.index import TantivyIndex
from promptuary.search.service import SearchService
from promptuary.search.values import Filters, FolderHeld, IndexBusy, SearchQuery, SearchResult, SyncReport, Words
from promptuary.workspace.changes import mounts
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files
from tests.indexes import index_of, let_stamps_age, places, search_of
from tests.waiting import wait_until

NOTES = {
    "notes/deploy.md": "# Deploying\n\nRun the release script.\n\n## Rollback\n\nPut the last image back.\n",
    "notes/lunch.md": "# Lunch\n\nThe canteen closes at two.\n",
    "src/app.py": "def release_script():\n    '''Release everything.'''\n    return 1\n",
}


def found(workspace: Path, words: str, **filters: tuple[str, ...]) -> list[str]:
    with search_of(workspace) as service:
        return [hit.path for hit in service.find(SearchQuery(words, filters=Filters(**filters))).hits]  # type: ignore[arg-type]


def held_by(report: SyncReport | IndexBusy) -> Sequence[FolderHeld]:
    return report.held if isinstance(report, SyncReport) else ()


@pytest.fixture
def indexed(files: Files) -> Path:
    workspace = files(NOTES)
    with search_of(workspace) as service:
        report = service.index([workspace])
        assert report.added == 3
    return workspace


def test_what_is_indexed_is_found_with_its_lines(indexed: Path) -> None:
    with search_of(indexed) as service:
        (hit, *_) = service.find(SearchQuery("put the last image back")).hits

    lines = (indexed / hit.path).read_text().split("\n")
    assert hit.path == "notes/deploy.md"
    assert "\n".join(lines[hit.start_line - 1 : hit.end_line]) == hit.text
    assert hit.heading[0] == "Deploying"


def test_without_an_index_a_search_says_how_to_make_one(files: Files) -> None:
    with search_of(files({"a.md": "alpha"})) as service, pytest.raises(PromptuaryError, match="promptuary index"):
        service.find(SearchQuery("alpha"))


def test_a_search_sees_what_changed_a_moment_ago_and_says_so(indexed: Path) -> None:
    with search_of(indexed) as service:
        assert not service.find(SearchQuery("canteen")).auto_synced
        (indexed / "notes/lunch.md").write_text("# Lunch\n\nThe kitchen is new.\n")
        after = service.find(SearchQuery("kitchen"))

        assert after.auto_synced
        assert [hit.path for hit in after.hits] == ["notes/lunch.md"]
        assert not service.find(SearchQuery("canteen")).hits


def test_with_a_watcher_a_search_does_not_wait_until_events_have_been_gathered(indexed: Path) -> None:
    with search_of(indexed, watch_debounce=60) as service:
        watcher = service.watcher()
        assert watcher.wait(1, 30)  # begun, and looked at the folder: from now on only events tell of a change
        service.refresh()
        (indexed / "notes/lunch.md").write_text("# Lunch\n\nThe kitchen is new.\n")
        after = list[SearchResult]()

        def is_found() -> bool:
            after.append(service.find(SearchQuery("kitchen")))
            return bool(after[-1].hits)

        # The system tells of it within a moment: long before events would have been gathered.
        wait_until(is_found)

    assert after[-1].auto_synced
    assert [hit.path for hit in after[-1].hits] == ["notes/lunch.md"]


def test_with_a_watcher_files_that_are_ignored_from_now_on_are_no_longer_found(indexed: Path) -> None:
    with search_of(indexed, watch_debounce=0.01) as service:
        assert service.watcher().wait(1, 30)
        service.refresh()
        (indexed / ".gitignore").write_text("lunch.md\n")

        wait_until(lambda: not service.find(SearchQuery("canteen")).hits)


def test_with_a_watcher_what_could_not_be_examined_is_examined_again_without_an_event(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut(*_: object) -> NoReturn:
        raise SourceError(Code.READ_FAILED, "it cannot be listed")

    with search_of(indexed, watch_debounce=0.01) as service:
        assert service.watcher().wait(1, 30)
        service.refresh()
        with monkeypatch.context() as broken:
            broken.setattr(Workspace, "folder", shut)
            (indexed / "notes/lunch.md").unlink()
            wait_until(lambda: [one.reason for one in held_by(service.refresh())] == ["unreadable"])
            assert service.find(SearchQuery("canteen")).hits

        assert service.find(SearchQuery("canteen")).hits == []


def test_where_changes_are_not_told_of_a_search_looks_whatever_is_watched(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "remote_type", lambda *_: "nfs")
    with search_of(indexed) as service:
        assert service.watcher().wait(1, 30)  # begun, and looked: the next look is seconds away
        service.refresh()
        (indexed / "notes/lunch.md").write_text("# Lunch\n\nThe kitchen is new.\n")

        assert [hit.path for hit in service.find(SearchQuery("kitchen")).hits] == ["notes/lunch.md"]


@pytest.mark.parametrize("watched", [True, False])
def test_an_index_that_is_removed_while_it_is_used_is_made_again(indexed: Path, watched: bool) -> None:
    with search_of(indexed) as service:
        if watched:
            service.watcher()
            service.refresh()
        for word in ("canteen", "rollback"):
            shutil.rmtree(indexed / ".promptuary/index")
            assert service.find(SearchQuery(word)).hits


def test_a_search_does_not_wait_for_a_long_sync_in_the_same_process(indexed: Path, files: Files) -> None:
    files({f"more/{number}.md": "zebra" for number in range(3)})
    reading, searched = threading.Event(), threading.Event()

    def slow(*_: int) -> None:
        reading.set()
        searched.wait(30)

    with search_of(indexed) as service:
        working = threading.Thread(target=lambda: service.index([], progress=slow))
        working.start()
        assert reading.wait(30)
        meanwhile = service.find(SearchQuery("canteen"))
        searched.set()
        working.join()

        assert [hit.path for hit in meanwhile.hits] == ["notes/lunch.md"]
        assert meanwhile.notes == (IndexBusy(here=True),)
        assert len(service.find(SearchQuery("zebra", merge_copies=False)).hits) == 3


def test_files_that_are_too_large_are_named_by_every_sync_and_by_no_search(files: Files) -> None:
    workspace = files({"a.md": "alpha", "big.md": "alpha " * 300_000})
    with search_of(workspace) as service:
        large = {f"{workspace}/big.md": Code.FILE_TOO_LARGE}
        assert service.index([workspace]).skipped == service.index([]).skipped == large
        (workspace / "a.md").write_text("omega")
        after = service.find(SearchQuery("omega"))

    assert (after.auto_synced, after.notes) == (True, ())


def test_a_change_that_keeps_size_and_times_is_seen(indexed: Path) -> None:
    """Two changes within one tick of the clock, and a tool that puts the time of the last change back."""
    path = indexed / "notes/lunch.md"
    with search_of(indexed) as service:
        for word in ("canteen", "kitchen", "cookery", "chicken"):
            before = path.stat()
            path.write_text(f"# Lunch\n\nThe {word} closes at two.\n")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert [hit.path for hit in service.find(SearchQuery(word)).hits] == ["notes/lunch.md"]


def test_a_renamed_file_is_moved_and_not_read_anew(indexed: Path) -> None:
    (indexed / "notes/lunch.md").rename(indexed / "notes/food.md")
    with search_of(indexed) as service:
        report = service.index([])
        hits = service.find(SearchQuery("canteen")).hits

    assert (report.moved, report.added, report.removed) == (1, 0, 0)
    assert [hit.path for hit in hits] == ["notes/food.md"]


def test_a_file_replaced_by_renaming_another_over_it_has_the_others_content(indexed: Path) -> None:
    (indexed / "notes/lunch.md").rename(indexed / "notes/deploy.md")

    assert found(indexed, "canteen") == ["notes/deploy.md"]
    assert found(indexed, "rollback") == []


def test_a_renamed_folder_is_moved_with_everything_in_it(indexed: Path) -> None:
    (indexed / "notes").rename(indexed / "diary")
    with search_of(indexed) as service:
        report = service.index([])

    assert (report.moved, report.removed) == (2, 0)
    assert found(indexed, "canteen") == ["diary/lunch.md"]


def test_a_deleted_file_is_found_no_more(indexed: Path) -> None:
    (indexed / "notes/lunch.md").unlink()

    assert found(indexed, "canteen") == []


def test_an_unchanged_chunk_of_a_changed_file_keeps_its_place_in_the_index(files: Files) -> None:
    sections = [f"# Part {number}\n\n" + f"word{number} " * 90 + "\n\n" for number in range(6)]
    workspace = files({"long.md": "".join(sections)})
    with search_of(workspace) as service:
        service.index([workspace])
        before = _numbers(service, "part")
        (workspace / "long.md").write_text("".join(["# Preface\n\nNew.\n\n", *sections]))
        service.index([])
        after = _numbers(service, "part")

    assert len(before) == 6
    assert after == before
    assert {line for _, line, _, _ in _places(workspace, "word3")} == {len("".join(sections[:3]).split("\n")) + 4}


def _numbers(service: SearchService, word: str) -> set[int]:
    return {number for number, _ in index_of(service).lexical(Words((word,)), 1_000)}


def _places(workspace: Path, words: str) -> set[tuple[str, int, int, str]]:
    with search_of(workspace) as service:
        return places(service, words)


@pytest.mark.parametrize("how", ["away", "emptied"])
@pytest.mark.parametrize("why", ["asked for", "cut otherwise"])
def test_an_index_that_is_made_anew_keeps_what_it_had_of_a_folder_that_is_away(
    files: Files, tmp_path: Path, how: str, why: str
) -> None:
    workspace, vault = files({"here.md": "zebra here"}), tmp_path / "vault"
    (vault / "deep").mkdir(parents=True)
    (vault / "deep/note.md").write_text("# One\n\nzebra there\n\n## Two\n\nokapi\n")
    with search_of(workspace) as service:
        service.index([workspace, vault])
        before = places(service, "zebra") | places(service, "okapi")
    vault.rename(tmp_path / "elsewhere")
    if how == "emptied":
        vault.mkdir()
    with search_of(workspace, chunk_tokens=None if why == "asked for" else 64) as service:
        report = service.index([], rebuild=True) if why == "asked for" else SyncReport()
        held = [*report.held, *service.find(SearchQuery("zebra")).notes]
        assert places(service, "zebra") | places(service, "okapi") == before
        assert FolderHeld(str(vault), "missing" if how == "away" else "empty") in held
        assert service.index([], rebuild=True, prune=True).held == ()
        assert {path for path, *_ in places(service, "zebra")} == {"here.md"}


def test_a_folder_that_vanished_deletes_nothing_and_the_person_is_told(files: Files, tmp_path: Path) -> None:
    workspace, vault = files({"a.md": "alpha"}), tmp_path / "vault"
    vault.mkdir()
    (vault / "note.md").write_text("zebra crossing")
    with search_of(workspace) as service:
        service.index([vault])
        vault.rename(tmp_path / "away")
        gone = service.find(SearchQuery("zebra"))
        report = service.index([])
        (tmp_path / "away").rename(vault)
        back = service.find(SearchQuery("zebra"))

    assert [hit.path for hit in gone.hits] == ["note.md"]
    assert gone.notes == report.held == (FolderHeld(str(vault), "missing"),)
    assert report.removed == 0
    assert [hit.path for hit in back.hits] == ["note.md"]
    assert back.notes == ()


def test_an_emptied_folder_deletes_nothing_until_that_is_asked_for(indexed: Path) -> None:
    for path in ("notes", "src"):
        shutil.rmtree(indexed / path)
    with search_of(indexed) as service:
        held = service.find(SearchQuery("canteen"))
        report = service.index([])
        pruned = service.index([], prune=True)

        assert [hit.path for hit in held.hits] == ["notes/lunch.md"]
        assert held.notes == (FolderHeld(str(indexed), "empty"),)
        assert (report.removed, pruned.removed) == (0, 3)
        assert service.find(SearchQuery("canteen")).hits == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_may_not_be_listed_any_more_keeps_its_files(indexed: Path) -> None:
    (indexed / "notes").chmod(0)
    try:
        assert found(indexed, "canteen") == ["notes/lunch.md"]
    finally:
        (indexed / "notes").chmod(0o755)


def test_two_folders_stand_side_by_side(files: Files, tmp_path: Path) -> None:
    workspace = files({"same.md": "alpha here"})
    other = tmp_path / "other"
    other.mkdir()
    (other / "same.md").write_text("alpha there")
    with search_of(workspace) as service:
        service.index([workspace])
        service.index([other], label="ada")
        both = service.find(SearchQuery("alpha")).hits
        (other / "same.md").write_text("alpha again")
        one = service.find(SearchQuery("alpha", filters=Filters(labels=("ada",)))).hits
        service.remove(str(other))
        left = service.find(SearchQuery("alpha")).hits

    assert {hit.folder for hit in both} == {str(workspace), str(other)}
    assert [(hit.folder, hit.text) for hit in one] == [(str(other), "alpha again")]
    assert [hit.folder for hit in left] == [str(workspace)]


def test_a_folder_inside_an_indexed_one_needs_no_place_of_its_own(indexed: Path) -> None:
    with search_of(indexed) as service:
        service.index([indexed / "notes"])

        assert [folder.path for folder in service.status().folders] == [str(indexed)]


def test_a_folder_around_an_indexed_one_takes_its_place(files: Files) -> None:
    workspace = files(NOTES)
    with search_of(workspace) as service:
        service.index([workspace / "notes"])
        service.index([workspace])

        assert [(folder.path, folder.files) for folder in service.status().folders] == [(str(workspace), 3)]
        assert [hit.path for hit in service.find(SearchQuery("canteen")).hits] == ["notes/lunch.md"]


def test_secrets_ignored_files_and_binaries_are_not_indexed(files: Files) -> None:
    workspace = files(
        {
            "a.md": "alpha ordinary",
            ".env": "alpha=secret",
            "id_rsa": "alpha key",
            ".gitignore": "build/\n",
            "build/out.md": "alpha built",
            "blob.txt": b"alpha\x00\x01\x02",
            "big.md": "alpha " * 300_000,
        }
    )
    with search_of(workspace) as service:
        service.index([workspace])

        assert [hit.path for hit in service.find(SearchQuery("alpha", 100)).hits] == ["a.md"]


def test_a_file_that_cannot_be_read_is_not_opened_again_before_it_changes(files: Files) -> None:
    workspace = files({"a.md": "alpha", "blob.txt": b"\x00\x01"})
    let_stamps_age(workspace)  # one that is too fresh is looked at twice
    with search_of(workspace) as service:
        first = service.index([workspace])
        again = service.index([])
        (workspace / "blob.txt").write_text("alpha at last")
        after = service.find(SearchQuery("last")).hits

    assert first.skipped == {f"{workspace}/blob.txt": Code.BINARY}
    assert not again.skipped
    assert [hit.path for hit in after] == ["blob.txt"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kinds": ("code",)}, {"src/app.py"}),
        ({"kinds": ("markdown",)}, {"notes/deploy.md"}),
        ({"paths": ("src",)}, {"src/app.py"}),
        ({"paths": ("**/*.md",)}, {"notes/deploy.md"}),
        ({"paths": ("!notes/**",)}, {"src/app.py"}),
        ({"labels": ("nobody",)}, set()),
        ({}, {"src/app.py", "notes/deploy.md"}),
    ],
)
def test_filters_say_what_may_be_found(indexed: Path, filters: dict[str, tuple[str, ...]], expected: set[str]) -> None:
    assert set(found(indexed, "release script", **filters)) == expected


def test_a_date_of_its_own_goes_before_the_last_change(files: Files) -> None:
    workspace = files({"2020-05-01.md": "alpha old", "new.md": "alpha new"})
    with search_of(workspace) as service:
        service.index([workspace])
        old = service.find(SearchQuery("alpha", filters=Filters(until=1_600_000_000))).hits
        new = service.find(SearchQuery("alpha", filters=Filters(since=1_600_000_000))).hits

    assert [hit.path for hit in old] == ["2020-05-01.md"]
    assert [hit.path for hit in new] == ["new.md"]


def test_another_size_of_chunks_makes_the_index_anew(files: Files) -> None:
    workspace = files({"long.md": "\n\n".join(f"alpha paragraph {number} of many words" for number in range(100))})
    with search_of(workspace) as service:
        service.index([workspace])
        few = service.status().counts.chunks
    with search_of(workspace, chunk_tokens=64, chunk_overlap=8) as service:
        assert service.find(SearchQuery("alpha")).auto_synced
        assert service.status().counts.chunks > 2 * few


@pytest.mark.usefixtures("impatient")
def test_while_another_process_indexes_a_search_answers_with_what_there_is(indexed: Path) -> None:
    with search_of(indexed) as service, search_of(indexed) as other, index_of(other).writing() as alone:
        assert alone
        (indexed / "new.md").write_text("canteen number two")
        answer = service.find(SearchQuery("canteen"))

        assert [hit.path for hit in answer.hits] == ["notes/lunch.md"]
        assert not answer.auto_synced
        assert answer.notes == (IndexBusy(),)
        with pytest.raises(PromptuaryError, match="another process"):
            service.index([])
    assert sorted(found(indexed, "canteen")) == ["new.md", "notes/lunch.md"]


def test_what_a_killed_writer_did_not_make_findable_is_found_by_the_next_search(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = files(NOTES)
    let_stamps_age(workspace)  # so that nothing about the files themselves asks for another look
    with monkeypatch.context() as patched, search_of(workspace) as service:
        patched.setattr(TantivyIndex, "commit", _killed)
        with pytest.raises(KeyboardInterrupt):
            service.index([workspace])

    assert found(workspace, "canteen") == ["notes/lunch.md"]


def _killed(_: TantivyIndex) -> None:
    raise KeyboardInterrupt


def test_a_relative_folder_counts_from_the_current_folder_and_else_from_the_workspace(
    files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = files({"notes/a.md": "a\n", "sub/notes/b.md": "b\n", "sub/c.md": "c\n", "docs/d.md": "d\n"})
    monkeypatch.chdir(tmp_path)

    def indexed(*paths: str, current_folder: Path | None = None) -> list[str]:
        with Promptuary.open(project, embedder="none", current_folder=current_folder) as promptuary:
            promptuary.search.index(paths)
            folders = [folder.path.removeprefix(f"{project}/") for folder in promptuary.search.status().folders]
            for path in paths:
                promptuary.search.remove(path)
            assert promptuary.search.status().folders == ()
        return folders

    assert indexed("notes") == ["notes"]
    assert indexed("notes", "docs", current_folder=project / "sub") == ["sub/notes", "docs"]
    assert indexed("../docs", current_folder=project / "sub") == ["docs"]
    with pytest.raises(ConfigError, match=f"{project}/nowhere does not exist"):
        indexed("nowhere")

"""The contract of every store of notes: one suite for files, one for journals. Subclass it and add its fixture.

    class TestMyFiles(NoteFilesConformance):
        @pytest.fixture
        def files(self, tmp_path):
            ...

    class TestMyJournal(NoteJournalConformance):
        @pytest.fixture
        def journal(self, tmp_path):
            ...

Each test gets new, empty ones. What is specific to a disk or a database is for the backend's own tests.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import LockTimeoutError, NoteFileError, PromptuaryError
from promptuary.base.principals import LOCAL, Owner, Principal
from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import AnyNoteFiles
from promptuary.memory.values import Audience, ChangeKind, NoteChange, NoteFilter, NoteHeader, NoteStamp, NoteView

ONE: Final = "private/user/likes-tabs-0123456789ab.md"
OTHER: Final = "shared/project/uses-git-ba9876543210.md"

BAD_PATHS: Final = (
    "",
    "/",
    "private",
    "private/",
    "private/user",
    "private/user/",
    "private//a.md",
    "/private/user/a.md",
    "private/user/../a.md",
    "private/../shared/user/a.md",
    "../private/user/a.md",
    "private/user/..",
    "private/user/.hidden.md",
    "private/user/.promptuary-0123.tmp",
    "private/user/deep/a.md",
    "private/secrets/a.md",
    "public/user/a.md",
    "private/a.md",
    "private/MEMORY.txt",
    "private/MEMORY-xyz.md",
    "private/user/a.txt",
    "private/user/a\x00.md",
    "private/user/\ud800.md",
    "private/user/" + "a" * 300 + ".md",
    "private\\user\\a.md",
)
"""Paths that no note can have."""

ADA: Final = Principal("ada").owner
BEN: Final = Principal("ben").owner
TEAM: Final = Principal("ada", group="team").owner
ALL: Final = NoteFilter(statuses=())


def raised(function: Callable[[], object], kind: type[PromptuaryError]) -> bool:
    """Return whether ``function`` raises an error of this kind."""
    try:
        function()
    except kind:
        return True
    return False


class NoteFilesConformance:
    """The contract of ``NoteFiles``."""

    def test_a_new_folder_has_nothing(self, files: AnyNoteFiles) -> None:
        assert dict(files.list()) == {}
        assert dict(files.skipped()) == {}
        assert files.read(ONE) is None
        assert files.stamp(ONE) is None
        assert not files.replace(ONE, b"new", expected=b"")
        assert not files.remove(ONE)
        assert files.list() == {}

    def test_a_file_is_created_once_and_comes_back_byte_for_byte(self, files: AnyNoteFiles) -> None:
        content = b"\xef\xbb\xbf---\r\nid: x\r\n---\n\xff\x00 text"

        assert files.create(ONE, content)
        assert files.read(ONE) == content
        assert not files.create(ONE, b"other")
        assert files.read(ONE) == content

    def test_nothing_is_left_behind_or_open_to_others(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"text")
        files.replace(ONE, b"more", expected=b"text")
        assert files.is_own(ONE)
        assert not files.is_own(OTHER)
        assert files.leftovers() == 0
        files.protect()
        assert list(files.exposed()) == []

    def test_a_file_may_be_empty(self, files: AnyNoteFiles) -> None:
        assert files.create(ONE, b"")
        assert files.read(ONE) == b""
        assert files.replace(ONE, b"more", expected=b"")

    def test_every_file_is_listed_with_its_stamp(self, files: AnyNoteFiles) -> None:
        paths = [
            ONE,
            OTHER,
            "private/MEMORY.md",
            "shared/MEMORY-0a1b2c3d.md",
            "private/qa/ü 漢.md",
            "shared/profile/a.MD",
        ]
        for path in paths:
            files.create(path, path.encode())

        found = files.list()

        assert set(found) == set(paths)
        assert all(found[path] == files.stamp(path) and found[path].size == len(path.encode()) for path in paths)

    def test_a_stamp_differs_after_every_change(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"same")
        stamps = [files.stamp(ONE)]
        for before, after in [(b"same", b"emas"), (b"emas", b"same")]:
            assert files.replace(ONE, after, expected=before)
            stamps.append(files.stamp(ONE))
        files.remove(ONE)
        files.create(ONE, b"same")
        stamps.append(files.stamp(ONE))

        assert len(set(stamps)) == len(stamps)
        assert files.list()[ONE] == stamps[-1]

    def test_a_file_is_replaced_if_it_is_what_was_expected_and_else_left_alone(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"first")

        assert not files.replace(ONE, b"third", expected=b"second")
        assert files.read(ONE) == b"first"
        assert files.replace(ONE, b"second", expected=b"first")
        assert files.read(ONE) == b"second"
        assert list(files.list()) == [ONE]

    def test_a_file_is_removed_once(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"text")

        assert files.remove(ONE)
        assert not files.remove(ONE)
        assert files.read(ONE) is None
        assert files.create(ONE, b"text")

    def test_a_path_that_is_not_that_of_a_note_is_refused_by_every_method(self, files: AnyNoteFiles) -> None:
        calls: Sequence[Callable[[str], object]] = (
            files.read,
            files.stamp,
            files.remove,
            lambda path: files.create(path, b""),
            lambda path: files.move(path, ONE),
            lambda path: files.move(ONE, path),
            lambda path: files.replace(path, b"", expected=b""),
        )
        taken = [path for path in BAD_PATHS for call in calls if not raised(partial(call, path), NoteFileError)]

        assert taken == []
        assert files.list() == {}

    def test_what_is_larger_than_a_note_may_be_is_not_written(self, files: AnyNoteFiles) -> None:
        largest = b"x" * (1 << 20)
        assert files.create(ONE, largest)

        assert raised(lambda: files.create(OTHER, largest + b"x"), NoteFileError)
        assert raised(lambda: files.replace(ONE, largest + b"x", expected=largest), NoteFileError)
        assert files.read(ONE) == largest
        assert files.read(OTHER) is None

    def test_of_many_writers_with_the_lock_nobody_loses_anything(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"")

        def append(number: int) -> None:
            with files.lock():
                before = files.read(ONE) or b""
                assert files.replace(ONE, before + f"{number}\n".encode(), expected=before)

        concurrency.run_each(append, range(40), threads=8, name="writers")

        assert sorted(map(int, (files.read(ONE) or b"").split())) == list(range(40))

    def test_of_many_writers_without_the_lock_one_at_a_time_wins(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"first")

        won = concurrency.run_each(
            lambda number: files.replace(ONE, str(number).encode(), expected=b"first"), range(8), threads=8, name="race"
        )

        assert sum(won) == 1
        assert files.read(ONE) == str(won.index(True)).encode()

    def test_cleaning_up_leaves_notes_alone(self, files: AnyNoteFiles) -> None:
        files.create(ONE, b"text")
        with files.lock():
            assert files.clean() == 0
        assert files.read(ONE) == b"text"


class FoldersConformance(NoteFilesConformance):
    """The same for files on a disk, which others may reach."""

    def test_a_file_that_others_may_write_is_not_the_persons_own(self, files: NoteFiles, tmp_path: Path) -> None:
        files.create(ONE, b"text")
        (path,) = tmp_path.rglob(ONE.rpartition("/")[2])
        path.chmod(0o646)
        assert not files.is_own(ONE)
        path.chmod(0o644)
        assert files.is_own(ONE)
        path.with_suffix(".copy").hardlink_to(path)
        assert not files.is_own(ONE)

    def test_a_removal_is_on_the_disk_when_it_returns(self, files: NoteFiles, monkeypatch: pytest.MonkeyPatch) -> None:
        files.create(ONE, b"text")
        seen, real_unlink = list[str](), os.unlink

        def unlink(name: str, **options: Any) -> None:
            seen.append("unlink")
            real_unlink(name, **options)

        monkeypatch.setattr(os, "unlink", unlink)
        monkeypatch.setattr(os, "fsync", lambda _: seen.append("fsync"))

        assert files.remove(ONE)
        assert seen == ["unlink", "fsync"]

    def test_the_lock_excludes_others_until_it_ends(self, files: NoteFiles) -> None:
        def entered() -> None:
            with files.lock(0.01):
                pass

        with files.lock():
            assert raised(entered, LockTimeoutError)
            assert concurrency.begin(lambda: raised(entered, LockTimeoutError)).result()
        entered()
        with suppress(ZeroDivisionError), files.lock():
            raise ZeroDivisionError
        entered()


def rev(text: str) -> str:
    """Return the revision of a file with this text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def noted(
    note: str, owner: Owner | None = ADA, audience: Audience = "private", text: str = "text", **more: Any
) -> NoteHeader:
    """Return the header of a note."""
    path = more.pop("path", f"{audience}/project/{note}.md")
    values: dict[str, Any] = {"scope": "project", "kind": "project", "title": f"Title of {note}"} | more
    return NoteHeader(id=note, path=path, audience=audience, rev=rev(text), owner=owner, **values)


def stamped(number: int = 1) -> NoteStamp:
    """Return a stamp."""
    return NoteStamp(number, 10**18 + number, 10**18 + number, 2**40 + number)


def changed(header: NoteHeader, text: str | None = "text", kind: ChangeKind = "create", **more: str) -> NoteChange:
    """Return a change after which a note has this header."""
    values: dict[str, Any] = {"at": "2026-01-02T03:04:05.000Z", "actor": "ada/default", "reason": "why"} | more
    after = "" if text is None else rev(text)
    return NoteChange(note=header.id, kind=kind, rev=after, path=header.path, text=text, **values)


def write(
    journal: NoteJournal, header: NoteHeader, text: str = "text", kind: ChangeKind = "create", **more: str
) -> int:
    """Record a change after which a note has this header, and return its number."""
    header = replace(header, rev=rev(text))
    return journal.record([(changed(header, text, kind, **more), header, stamped(len(text)))])[0]


def ids(headers: Sequence[NoteHeader]) -> list[str]:
    """Return the ids of notes."""
    return [one.id for one in headers]


def everything(view: NoteView) -> tuple[object, ...]:
    """Return everything that a view returns."""
    names = ("aaaa", "bbbb", "cccc", "dddd")
    return (
        view.headers(ALL),
        view.count(ALL),
        [view.header(one) for one in names],
        [tuple(view.changes(one)) for one in names],
        tuple(view.changed_until("9999")),
    )


class NoteJournalConformance:
    """The contract of ``NoteJournal`` and ``NoteView``."""

    def test_a_new_journal_has_nothing(self, journal: NoteJournal) -> None:
        assert everything(journal.view(ADA)) == ((), 0, [None] * 4, [()] * 4, ())
        assert dict(journal.files()) == {}
        assert journal.owner_of("aaaa") is None
        assert tuple(journal.owners()) == ()
        assert tuple(journal.unadopted()) == ()
        assert not journal.is_recorded("aaaa", rev("text"))
        assert journal.forget("aaaa", at="now", actor="ada") == 0
        assert tuple(journal.view(ADA).changes("aaaa")) == ()

    def test_a_note_comes_back_with_every_field(self, journal: NoteJournal) -> None:
        header = noted(
            "aaaa",
            kind="feedback",
            scope="user",
            title="Ünïcode \ud800 \x00 | ' \" ]",
            status="frozen",
            summary="line\nbreak",
            tags=("a", "b\nc", '"d"', "", "é"),
            created_at="2026-01-01T00:00:00Z",
            created_by="ada/default",
            updated_at="2026-02-01T00:00:00Z",
            updated_by="ben/default",
            source="writeback",
            source_ref="thread:t#3",
            valid_from="2026-01-01",
            valid_until="2027-01-01",
            supersedes="bbbb",
            pinned=True,
            confidence=0.25,
            trust="external",
            external=True,
            fingerprint="f1",
            problem="a key twice",
        )
        write(journal, header)

        assert journal.view(ADA).header("aaaa") == replace(header, rev=rev("text"))
        assert journal.view(ADA).header(header.path) == journal.view(ADA).header("aaaa")
        assert list(journal.view(ADA).headers(ALL)) == [journal.view(ADA).header("aaaa")]

    def test_a_file_that_is_known_says_what_it_was(self, journal: NoteJournal) -> None:
        header = noted("aaaa")
        write(journal, header, "words")

        (known,) = journal.files().values()

        assert known == journal.known("aaaa") == journal.known(header.path)
        assert journal.known("bbbb") is None
        assert (known.path, known.note, known.rev, known.recorded) == (header.path, "aaaa", rev("words"), True)
        assert known.stamp == stamped(5)

    def test_changes_count_up_and_come_back_in_order(self, journal: NoteJournal) -> None:
        header = noted("aaaa")
        first = write(journal, header, "one")
        other = write(journal, noted("bbbb"))
        second = write(journal, header, "two \ud800\r\n", "update", before=rev("one"), reason="")

        found = journal.view(ADA).changes("aaaa")

        assert first < other < second
        assert [one.number for one in found] == [first, second]
        assert [one.text for one in found] == ["one", "two \ud800\r\n"]
        expected = changed(header, "two \ud800\r\n", "update", before=rev("one"), reason="")
        assert found[1] == replace(expected, number=second)

    def test_changes_are_recorded_all_or_none(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa"))
        bad = noted("aaaa", BEN)
        good = noted("bbbb")

        assert raised(
            lambda: journal.record([(changed(good), good, stamped()), (changed(bad), bad, stamped())]), PromptuaryError
        )
        assert journal.view(ADA).header("bbbb") is None
        assert journal.owner_of("bbbb") is None
        assert tuple(journal.view(ADA).changes("bbbb")) == ()

    def test_an_id_belongs_to_whom_it_was_recorded_for_first_and_never_to_another(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", None, "shared"))
        assert journal.owner_of("aaaa") is None
        write(journal, noted("aaaa", ADA, "shared"), kind="adopt")
        assert raised(lambda: write(journal, noted("aaaa", BEN, "shared")), PromptuaryError)
        write(journal, noted("aaaa", None, "shared"), "later", "update")

        assert journal.owner_of("aaaa") == ADA
        assert tuple(journal.owners()) == (ADA,)
        header = journal.view(BEN).header("aaaa")
        assert header is not None
        assert header.owner == ADA

    def test_a_private_note_is_for_its_owner_alone_and_a_shared_one_for_everybody(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", ADA))
        write(journal, noted("bbbb", BEN))
        write(journal, noted("cccc", BEN, "shared"))
        write(journal, noted("dddd", TEAM))

        assert set(ids(journal.view(ADA).headers())) == {"aaaa", "cccc"}
        assert set(ids(journal.view(BEN).headers())) == {"bbbb", "cccc"}
        assert set(ids(journal.view(TEAM).headers())) == {"cccc", "dddd"}
        assert ids(journal.view(LOCAL.owner).headers()) == ["cccc"]
        assert [journal.view(one).count() for one in (ADA, BEN, TEAM, LOCAL.owner)] == [2, 2, 2, 1]

    def test_nothing_tells_a_stranger_that_there_is_a_private_note(self, journal: NoteJournal) -> None:
        before = everything(journal.view(BEN))
        header = noted("aaaa", ADA)
        write(journal, header)
        write(journal, header, "two", "update")
        journal.record([(changed(header, None, "delete"), None, None)])
        write(journal, noted("bbbb", ADA, pinned=True, tags=("t",)))
        write(journal, noted("cccc", TEAM))

        assert everything(journal.view(BEN)) == before
        assert journal.view(BEN).header(header.path) is None
        assert journal.view(BEN).count(NoteFilter(tags=("t",))) == 0

    def test_what_a_note_was_while_it_was_private_is_not_shared_with_it(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", ADA), "my secret", at="2026-01-01")
        shared = noted("aaaa", ADA, "shared")
        write(journal, shared, "for all", "update", at="2026-01-02")

        assert [one.text for one in journal.view(ADA).changes("aaaa")] == ["my secret", "for all"]
        assert [one.text for one in journal.view(BEN).changes("aaaa")] == ["for all"]
        assert tuple(journal.view(BEN).changed_until("2026-01-01")) == ()
        assert list(journal.files()) == [shared.path]

    def test_a_note_that_is_made_private_again_takes_its_past_with_it(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", ADA, "shared"), "for all")
        write(journal, noted("aaaa", ADA), "for me", "update")

        assert tuple(journal.view(BEN).changes("aaaa")) == tuple(journal.view(BEN).changed_until("9999")) == ()
        assert len(journal.view(ADA).changes("aaaa")) == 2

    def test_the_history_of_a_file_that_is_gone_stays_with_those_who_saw_it(self, journal: NoteJournal) -> None:
        for header in (noted("aaaa", ADA), noted("bbbb", ADA, "shared")):
            write(journal, header)
            journal.record([(changed(header, None, "delete", actor="hand"), None, None)])

        assert journal.view(ADA).count(ALL) == 0
        assert dict(journal.files()) == {}
        assert [one.kind for one in journal.view(ADA).changes("aaaa")] == ["create", "delete"]
        assert [one.text for one in journal.view(ADA).changes("aaaa")] == ["text", None]
        assert tuple(journal.view(BEN).changes("aaaa")) == ()
        assert [one.kind for one in journal.view(BEN).changes("bbbb")] == ["create", "delete"]
        assert journal.owner_of("aaaa") == ADA

    def test_pinned_notes_are_first_then_the_ones_updated_last(self, journal: NoteJournal) -> None:
        for number, (note, pinned) in enumerate([("aaaa", False), ("bbbb", True), ("cccc", False), ("dddd", True)]):
            audience: Audience = "shared" if number % 2 else "private"
            write(journal, noted(note, ADA, audience, pinned=pinned, updated_at=f"2026-01-0{number + 1}"))
        write(journal, noted("eeee", ADA, updated_at="2026-01-03", path="private/project/a-before-c.md"))

        assert ids(journal.view(ADA).headers()) == ["dddd", "bbbb", "eeee", "cccc", "aaaa"]
        assert ids(journal.view(ADA).headers(NoteFilter(limit=3))) == ["dddd", "bbbb", "eeee"]
        assert ids(journal.view(ADA).headers(NoteFilter(limit=0))) == []
        assert journal.view(ADA).count(NoteFilter(limit=3)) == 5

    def test_notes_are_chosen_by_audience_kind_status_and_tags(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", kind="user", tags=("x", "y"), fingerprint="same"))
        write(journal, noted("bbbb", kind="feedback", tags=("xy", "x")))
        write(journal, noted("cccc", audience="shared", kind="user", status="archived", fingerprint="same"))
        write(journal, noted("dddd", audience="shared", status="frozen", tags=('"x"',)))
        chosen = {
            NoteFilter(): {"aaaa", "bbbb"},
            ALL: {"aaaa", "bbbb", "cccc", "dddd"},
            NoteFilter(statuses=("archived", "frozen")): {"cccc", "dddd"},
            NoteFilter(audiences=("shared",), statuses=()): {"cccc", "dddd"},
            NoteFilter(kinds=("user",), statuses=()): {"aaaa", "cccc"},
            NoteFilter(kinds=("user", "feedback")): {"aaaa", "bbbb"},
            NoteFilter(tags=("x",)): {"aaaa", "bbbb"},
            NoteFilter(tags=("x", "y")): {"aaaa"},
            NoteFilter(tags=('"x"',), statuses=()): {"dddd"},
            NoteFilter(tags=("z",)): set[str](),
            NoteFilter(fingerprint="same"): {"aaaa"},
            NoteFilter(fingerprint="same", statuses=()): {"aaaa", "cccc"},
            NoteFilter(fingerprint="sam", statuses=()): set[str](),
            NoteFilter(kinds=("use",)): set[str](),
        }
        view = journal.view(ADA)

        assert {wanted: set(ids(view.headers(wanted))) for wanted in chosen} == chosen
        assert {wanted: view.count(wanted) for wanted in chosen} == {one: len(found) for one, found in chosen.items()}
        assert len(view.headers(NoteFilter(tags=("x",), limit=1))) == 1

    def test_a_note_is_at_one_path(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", path="private/user/old.md"))
        write(journal, noted("aaaa", path="private/user/new.md"), "moved", "edit")

        assert list(journal.files()) == ["private/user/new.md"]
        assert journal.view(ADA).header("private/user/old.md") is None
        assert journal.view(ADA).count() == 1

    def test_what_was_observed_has_no_history(self, journal: NoteJournal) -> None:
        header = noted("aaaa", None, "shared", external=True)
        journal.observe([(header, stamped(), True)])

        assert journal.view(BEN).header("aaaa") == header
        assert tuple(journal.view(BEN).changes("aaaa")) == ()
        assert not journal.files()[header.path].recorded
        assert not journal.is_recorded("aaaa", header.rev)
        assert ids(journal.unadopted()) == ["aaaa"]

    def test_an_unadopted_private_note_is_visible_to_nobody_until_it_is_adopted(self, journal: NoteJournal) -> None:
        header = noted("aaaa", ADA)
        journal.observe([(header, stamped(), False)])

        assert [journal.view(one).count(ALL) for one in (ADA, BEN, LOCAL.owner)] == [0, 0, 0]
        assert journal.view(ADA).header("aaaa") is journal.view(ADA).header(header.path) is None
        assert list(journal.unadopted()) == [replace(header, owner=None)]
        assert list(journal.files()) == [header.path]
        assert tuple(journal.owners()) == ()

        write(journal, header, kind="adopt")
        assert ids(journal.view(ADA).headers()) == ["aaaa"]
        assert tuple(journal.unadopted()) == ()

    def test_a_header_that_claims_an_owner_gives_nobody_anything(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa", ADA))
        journal.observe([(noted("aaaa", BEN, text="forged"), stamped(2), True), (noted("bbbb", BEN), stamped(), True)])

        assert tuple(journal.view(BEN).headers(ALL)) == ()
        assert ids(journal.view(ADA).headers()) == ["aaaa"]
        assert ids(journal.unadopted()) == ["bbbb"]

    def test_a_second_file_of_an_id_does_not_replace_the_first(self, journal: NoteJournal) -> None:
        first, second = noted("aaaa"), noted("aaaa", path="private/user/copy.md")
        write(journal, first)
        journal.observe([(second, stamped(), False)])

        assert journal.view(ADA).header("aaaa") == first
        assert set(journal.files()) == {first.path, second.path}
        assert [one.path for one in journal.unadopted()] == [second.path]
        assert journal.known("aaaa") == journal.files()[first.path]
        assert journal.known(second.path) == journal.files()[second.path]
        write(journal, first, "more", "update")
        assert set(journal.files()) == {first.path, second.path}

    def test_a_new_stamp_is_observed_and_the_content_stays_recorded(self, journal: NoteJournal) -> None:
        header = noted("aaaa")
        write(journal, header)
        journal.observe([(header, stamped(77), True)])

        assert journal.files()[header.path].stamp == stamped(77)
        assert journal.files()[header.path].recorded
        assert journal.view(ADA).header("aaaa") == header
        journal.observe([(replace(header, rev=rev("foreign")), stamped(78), True)])
        assert not journal.files()[header.path].recorded

    def test_what_is_gone_is_not_known_any_more(self, journal: NoteJournal) -> None:
        header = noted("aaaa", None, "shared")
        journal.observe([(header, stamped(), True)])
        journal.observe([], [header.path, "shared/user/never.md"])

        assert dict(journal.files()) == {}
        assert journal.view(ADA).count(ALL) == 0

    def test_a_content_is_recorded_for_the_note_that_had_it(self, journal: NoteJournal) -> None:
        write(journal, noted("aaaa"), "one")
        write(journal, noted("aaaa"), "two", "edit")
        write(journal, noted("bbbb"), "three")

        assert journal.is_recorded("aaaa", rev("one"))
        assert journal.is_recorded("aaaa", rev("two"))
        assert not journal.is_recorded("aaaa", rev("three"))
        assert not journal.is_recorded("bbbb", rev("one"))

    def test_what_was_known_at_a_time(self, journal: NoteJournal) -> None:
        mine, shared = noted("aaaa"), noted("bbbb", BEN, "shared")
        write(journal, mine, "first", at="2026-01-01T00:00:00Z")
        write(journal, shared, "ours", at="2026-01-02T00:00:00Z")
        write(journal, mine, "second", "update", at="2026-01-03T00:00:00Z")
        journal.record([(changed(shared, None, "delete", at="2026-01-04T00:00:00Z"), None, None)])
        write(journal, noted("cccc", BEN), "his", at="2026-01-01T00:00:00Z")

        def known(at: str) -> dict[str, str | None]:
            return {one.note: one.text for one in journal.view(ADA).changed_until(at)}

        assert known("2025") == {}
        assert known("2026-01-01T00:00:00Z") == {"aaaa": "first"}
        assert known("2026-01-02T12:00:00Z") == {"aaaa": "first", "bbbb": "ours"}
        assert known("2026-01-03T00:00:00Z") == {"aaaa": "second", "bbbb": "ours"}
        assert known("2027") == {"aaaa": "second", "bbbb": None}

    def test_of_what_is_forgotten_only_that_it_was_remains(self, journal: NoteJournal) -> None:
        header = noted("aaaa", title="Title")
        write(journal, header, "one", at="2026-01-01")
        write(journal, header, "two", "update", at="2026-01-02")
        write(journal, noted("bbbb"), "one", at="2026-01-01")

        assert journal.forget("aaaa", at="2026-02-01", actor="ada/default") == 2
        (left,) = journal.view(ADA).changes("aaaa")
        assert replace(left, number=0) == NoteChange("aaaa", "forget", "2026-02-01", "ada/default", "", "")
        assert journal.view(ADA).header("aaaa") is None
        assert not journal.is_recorded("aaaa", rev("one"))
        assert journal.owner_of("aaaa") == ADA
        assert tuple(journal.forgotten()) == ("aaaa",)
        assert [one.note for one in journal.view(ADA).changed_until("2026-01-03")] == ["bbbb"]
        assert [one.text for one in journal.view(ADA).changes("bbbb")] == ["one"]
        assert tuple(journal.view(BEN).changes("aaaa")) == ()
        assert journal.forget("aaaa", at="2026-02-02", actor="ada/default") == 0
        assert len(journal.view(ADA).changes("aaaa")) == 1

    def test_what_was_only_observed_can_be_forgotten(self, journal: NoteJournal) -> None:
        journal.observe([(noted("aaaa", None, "shared"), stamped(), True), (noted("bbbb"), stamped(), False)])

        assert journal.forget("aaaa", at="now", actor="ada") == journal.forget("bbbb", at="now", actor="ada") == 0
        assert dict(journal.files()) == {}

    def test_numbers_count_up_after_forgetting_too(self, journal: NoteJournal) -> None:
        before = write(journal, noted("aaaa"))
        journal.forget("aaaa", at="now", actor="ada")

        assert write(journal, noted("bbbb")) > before + 1

    def test_many_threads_write_and_read_at_once(self, journal: NoteJournal) -> None:
        def work(number: int) -> int:
            journal.view(ADA).headers()
            return write(journal, noted(f"note{number}"))

        numbers = concurrency.run_each(work, range(24), threads=8, name="writers")

        assert len(set(numbers)) == 24
        assert journal.view(ADA).count() == 24

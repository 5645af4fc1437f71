"""A file is a note whatever stands in it, and a change of a note leaves the rest of its file alone."""

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import Principal
from promptuary.memory.note_file import (
    MAX_NOTE,
    Ownership,
    as_bytes,
    as_text,
    claimed_id,
    fingerprint,
    id_of_path,
    normal_time,
    owner_label,
    read_note,
    rewrite,
    write_new,
)
from promptuary.memory.values import Note

PATH = "private/user/likes-tabs-abcd.md"


def read(text: str | bytes, path: str = PATH, **given: object) -> Note:
    data = text if isinstance(text, bytes) else text.encode()
    return read_note(data, path, Ownership("project", **given))  # type: ignore[arg-type]


def test_a_new_note_is_read_as_it_was_written() -> None:
    data = write_new(
        "Uses tabs.\n\nAlways.",
        {
            "id": "abcd",
            "kind": "user",
            "title": "Likes: tabs",
            "tags": ["a", "b, c"],
            "pinned": True,
            "created_at": "2026-01-02T03:04:05Z",
            "confidence": 0.5,
            "trust": "agent",
            "source": "tool",
        },
    )
    note = read(data)

    assert note.body == "Uses tabs.\n\nAlways."
    found = note.header
    assert (found.id, found.kind, found.title, found.tags) == ("abcd", "user", "Likes: tabs", ("a", "b, c"))
    assert (found.pinned, found.confidence, found.trust, found.source) == (True, 0.5, "agent", "tool")
    assert found.created_at == found.updated_at == "2026-01-02T03:04:05Z"


def test_a_file_that_a_person_made_is_a_note() -> None:
    """W15: dates that nobody wrote are unknown; W12: headings of a person are text."""
    note = read("# My rules\n\n## First\n\nUse tabs.\n\n## Context\n\nAll of it.\n", "shared/feedback/rules.md")

    assert note.header.id == id_of_path("shared/feedback/rules.md")
    assert (note.header.title, note.header.kind, note.header.audience) == ("My rules", "feedback", "shared")
    assert (note.header.created_at, note.header.updated_at, note.header.status) == ("", "", "active")
    assert note.body == "# My rules\n\n## First\n\nUse tabs.\n\n## Context\n\nAll of it."


def test_a_file_without_a_heading_is_called_as_its_name() -> None:
    assert read("Text.", "private/qa/how-we_deploy.md").header.title == "how we deploy"


@pytest.mark.parametrize("folder", ["profile", "qa"])
def test_folders_of_older_memories_are_read(folder: str) -> None:
    assert read("Text.", f"private/{folder}/a.md").header.kind == {"profile": "user", "qa": "reference"}[folder]


def test_the_keys_of_the_seed_are_read_and_written_where_they_are() -> None:
    text = (
        "---\nid: 0b9f6c1e-1111-4222-8333-944445555666\nkind: qa\nsemanticKind: project\nownerUserId: ada\n"
        "createdAt: 2026-01-02T03:04:05.678Z\nupdatedAt: '2026-01-03T00:00:00+02:00'\ncreatedBy: u1\n"
        "sourceRef: conversation:7\nstatus: frozen\ntags: [a]\n---\n\n# T\n"
    )
    found = read(text).header

    assert (found.kind, found.status, found.created_by, found.source_ref) == (
        "project",
        "frozen",
        "u1",
        "conversation:7",
    )
    assert (found.created_at, found.updated_at) == ("2026-01-02T03:04:05Z", "2026-01-02T22:00:00Z")
    changed = rewrite(text, {"kind": "user", "updated_at": "2026-02-01T00:00:00Z"}).decode()
    assert changed == text.replace("semanticKind: project", "semanticKind: user").replace(
        "updatedAt: '2026-01-03T00:00:00+02:00'", "updatedAt: 2026-02-01T00:00:00Z"
    )


def test_the_folder_decides_the_audience_and_others_the_owner() -> None:
    """W2: what a file says of its owner and audience decides nothing."""
    claims = "---\naudience: shared\nowner: bob\ntrust: person\n---\nText.\n"
    ada = Principal(user="ada").owner

    assert read(claims).header.audience == "private"
    assert read(claims).header.owner is None
    assert read(claims, owner=ada).header.owner == ada
    assert read(claims, external=True).header.trust == "external"


@pytest.mark.parametrize("identifier", ["../../etc/passwd", "a/b/c/d", "", "abc", "[a, b, c, d]", "'a b c d'"])
def test_an_id_that_is_none_is_not_believed(identifier: str) -> None:
    """W5: an id with slashes or dots never becomes a path."""
    assert claimed_id(f"---\nid: {identifier}\n---\n".encode(), PATH) == id_of_path(PATH)


def test_values_that_are_none_have_their_defaults() -> None:
    values = "status: gone\nsource: x\ntrust: god\nconfidence: nan\npinned: maybe\ncreated_at: soon\nsupersedes: ../a"
    found = read(f"---\n{values}\n---\n").header

    assert (found.status, found.source, found.trust, found.confidence) == ("active", "manual", "person", 1.0)
    assert (found.pinned, found.created_at, found.supersedes) == (False, "", "")


def test_front_matter_that_cannot_be_read_is_a_problem_of_the_note_alone() -> None:
    note = read("---\nid: abcd\nowner: ada\nowner: bob\n---\n\n# Title\n\nText.\n")

    assert "twice" in note.header.problem
    assert note.header.id == id_of_path(PATH)
    assert (note.header.title, note.body) == ("Title", "# Title\n\nText.")


def test_bytes_that_are_no_text_survive_a_rewrite() -> None:
    data = b"---\ntitle: caf\xe9\n---\n\xff\xfe text\r\n"
    note = read(data)

    assert note.header.problem == "it is not UTF-8"
    assert note.header.title.encode()  # can be shown
    assert note.body.encode()
    assert as_bytes(as_text(data)) == data
    assert rewrite(note.text, {"status": "archived"}) == data.replace(b"\n---\n", b"\nstatus: archived\n---\n", 1)


def test_another_body_has_the_line_endings_of_the_file() -> None:
    data = rewrite("\ufeff---\r\nid: abcd\r\n---\r\nold\r\n", {}, "new\nlines")

    assert data.decode() == "\ufeff---\r\nid: abcd\r\n---\r\n\r\nnew\r\nlines\r\n"
    assert rewrite(data.decode(), {}, "new\nlines") == data


def test_a_text_that_looks_like_front_matter_stays_text() -> None:
    note = read(write_new("---\nowner: bob\n---\nText.", {"id": "abcd"}))

    assert note.body == "---\nowner: bob\n---\nText."
    assert read(rewrite("Old.", {"id": "abcd"}, "---\nowner: bob\n---")).body == "---\nowner: bob\n---"


def test_a_note_has_a_largest_size() -> None:
    with pytest.raises(PromptuaryError, match="write less"):
        write_new("a" * MAX_NOTE, {"id": "abcd"})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("Use tabs.", "Use tabs."), ("use   TABS", "use\n tabs!"), True),
        (("Use tabs", "Use tabs."), ("Indentation", "Use tabs."), False),
        (("Ada's birthday", "12 May"), ("Bob's birthday", "12 May"), False),
        (("a", "Use tabs"), ("a", "Use spaces"), False),
        (("ﬁle", "ﬁle names"), ("file", "file names"), True),
    ],
)
def test_notes_that_say_the_same_have_the_same_fingerprint(
    one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) is same
    assert fingerprint("title", " \n") == ""


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-02", "2026-01-02"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.9+02:00", "2026-01-02T01:04:05Z"),
        ("2026-01-02 03:04", "2026-01-02T03:04:00Z"),
        ("0001-01-01T00:00:00+10:00", ""),
        ("yesterday", ""),
    ],
)
def test_times_are_in_utc_and_days_stay_days(text: str, time: str) -> None:
    assert normal_time(text) == time


def test_an_owner_is_named_for_people() -> None:
    assert owner_label(Principal(user="ada").owner) == "ada"
    assert owner_label(Principal(group="team").owner) == "group:team"

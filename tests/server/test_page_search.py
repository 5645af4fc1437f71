"""Search on the page, and a file at its line: over real HTTP."""

import json
from typing import Any

import pytest

from promptuary.client import BlockingClient
from promptuary.server.page.files import shown_lines
from tests.conftest import Files
from tests.server.conftest import StartServer
from tests.server.visitors import Visitor, as_text


@pytest.fixture
def visitor(files: Files, start_server: StartServer) -> Visitor:
    files(
        {
            "docs/deploy.md": "# Deploying\n\nIntroduction.\n\n## Rollback\n\nThe heron runs make rollback.\n",
            "src/app.py": "def other() -> None:\n    pass\n\n\ndef heron() -> None:\n    pass\n",
            "long.txt": "".join(f"line {n}\n" for n in range(1, 1001)),
        }
    )
    found = Visitor(start_server(settings={"embedder": "none"}))
    with BlockingClient(found.server.base, token=found.secret) as p:
        p.search.index(["."])
        p.memory.write("The heron is grey.", title="About the heron", kind="project", tags=["birds"])
        p.experiences.add("task_solution", "feed the heron", "throw a fish", tags=["birds"])
    return found


SECRET = "ghp_" + "Zk3vQ9xW2mT7rB5nL8cJ4dF6hS1gA0eYpUoI"


def found(visitor: Visitor, query: str) -> dict[str, Any]:
    groups = json.loads(visitor.get(f"/search.json?{query}").body)["groups"]
    return {group["noun"]: group["hits"] for group in groups}


def test_one_field_finds_files_notes_and_experiences_with_the_reasons(visitor: Visitor) -> None:
    page = visitor.get("/search?q=heron")

    assert page.status == 200, page.body
    assert b'href="/file?path=docs%2Fdeploy.md&amp;lines=' in page.body
    assert b"About the heron" in page.body
    assert b"feed the heron" in page.body
    hits = found(visitor, "q=heron")
    assert {noun: len(each) for noun, each in hits.items()} == {"files": 2, "notes": 1, "experiences": 1}
    for each in hits.values():
        assert each[0]["matched"] == ["heron"]
        assert each[0]["by_words"] == 1


def test_a_hit_opens_the_file_at_the_line_with_the_word(visitor: Visitor) -> None:
    hit = found(visitor, "q=heron&in=files&kind=code")["files"][0]

    assert (hit["name"], hit["line"]) == ("src/app.py", 5)
    page = visitor.get(f"/file?path=src%2Fapp.py&lines={hit['first_line']}-{hit['last_line']}").body.decode()
    assert '<span id="L5" class="l marked">' in page


@pytest.mark.parametrize(
    ("query", "nouns"),
    [
        ("q=heron&in=notes", {"notes"}),
        ("q=heron&kind=markdown", {"files"}),
        ("q=heron&folder=src", {"files"}),
        ("q=heron&tag=birds", {"notes", "experiences"}),
        ("q=heron&kind=task_solution", {"experiences"}),
        ("q=heron&until=2001-01-01", set()),
        ("q=heron&since=2001-01-01", {"files", "notes", "experiences"}),
    ],
)
def test_filters_leave_only_what_was_asked_for(visitor: Visitor, query: str, nouns: set[str]) -> None:
    assert {noun for noun, hits in found(visitor, query).items() if hits} == nouns


def test_in_a_folder_only_its_files_are_found(visitor: Visitor) -> None:
    assert [hit["name"] for hit in found(visitor, "q=heron&folder=src")["files"]] == ["src/app.py"]


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("q=x&since=yesterday", "must be a day such as 2026-01-31"),
        ("q=x&in=turns", "in must be files, notes, experiences"),
        ("q=x&kind=bird", "is not a kind of what is searched"),
        ("q=x&in=notes&folder=src", "only files have a folder"),
    ],
)
def test_a_filter_that_makes_no_sense_says_what_would(visitor: Visitor, query: str, advice: str) -> None:
    page = visitor.get(f"/search?{query}")

    assert page.status == 400
    assert advice in as_text(page.body)


def test_without_an_index_the_page_says_how_to_make_one_and_searches_the_rest(start_server: StartServer) -> None:
    visitor = Visitor(start_server())
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        p.memory.write("The heron is grey.", title="About the heron")

    assert "promptuary index" in visitor.text("/search")
    assert "About the heron" in visitor.text("/search?q=heron")
    assert "nothing is indexed yet" in visitor.text("/search?q=heron")


def test_what_was_found_is_shown_as_it_is(files: Files, start_server: StartServer) -> None:
    files({"<b>.md": "heron <script>alert(1)</script> \u202egnal\n"})
    visitor = Visitor(start_server())
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        p.search.index(["."])

    for page in (visitor.get("/search?q=heron"), visitor.get("/file?path=%3Cb%3E.md")):
        assert page.status == 200, page.body
        assert b"<script>alert" not in page.body
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.body.decode()
        assert "⟨U+202E⟩gnal" in page.body.decode()
        assert b"<b>.md" not in page.body


def test_no_answer_says_where_on_the_machine_the_workspace_is(visitor: Visitor) -> None:
    root = str(visitor.server.application.workspaces.folders["app"])

    for address in ("/search?q=heron", "/search.json?q=heron", "/file.json?path=long.txt", "/file?path=gone.txt"):
        assert root.encode() not in visitor.get(address).body


def test_a_long_file_comes_in_parts(visitor: Visitor) -> None:
    first = json.loads(visitor.get("/file.json?path=long.txt").body)
    assert (first["first_line"], len(first["lines"]), first["total"]) == (1, 400, 1000)

    middle = visitor.get("/file?path=long.txt&lines=700")
    text = as_text(middle.body)
    assert "line 660" in text
    assert "line 659" not in text
    assert "Earlier lines" in text
    assert "from=1060" not in middle.body.decode()
    later = visitor.get("/file?path=long.txt&from=801")
    assert "line 1000" in as_text(later.body)
    assert "Later lines" not in as_text(later.body)


def test_long_lines_are_cut_and_a_page_of_them_ends_early() -> None:
    lines = shown_lines(["x" * 3_000] * 400, 1)

    assert lines[0].cut == 1_000
    assert sum(len(line.text) for line in lines) <= 200_000


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", ".promptuary/state.db", ".env", "gone.txt", ""])
def test_the_file_view_reads_only_what_a_message_could_attach(visitor: Visitor, path: str, files: Files) -> None:
    files({".env": "PASSWORD=hunter2\n"})

    page = visitor.get(f"/file?path={path}")

    assert page.status == 422
    assert b"hunter2" not in page.body
    assert b"root:" not in page.body


def test_a_token_for_one_folder_sees_no_other_file_and_not_that_there_is_one(visitor: Visitor) -> None:
    guest = Visitor(visitor.server, kinds=frozenset({"file", "search"}), folders=("docs",))
    without_files = Visitor(visitor.server, kinds=frozenset({"search"}), folders=("docs",))

    assert guest.get("/file?path=docs%2Fdeploy.md").status == 200
    hidden, absent = guest.get("/file?path=src%2Fapp.py"), guest.get("/file?path=src%2Fnone.py")
    assert (hidden.status, hidden.body) == (absent.status, absent.body)
    assert "src/app.py" not in guest.text("/search?q=heron")
    assert "docs/deploy.md" in guest.text("/search?q=heron")
    assert [hit["name"] for hit in found(guest, "q=heron&folder=**/*.md")["files"]] == ["docs/deploy.md"]
    assert found(guest, "q=heron&folder=src")["files"] == []
    assert without_files.get("/file?path=docs%2Fdeploy.md").status == 422


def test_secrets_in_a_file_are_masked_as_in_a_message(visitor: Visitor, files: Files) -> None:
    files({"notes.txt": f"the key is {SECRET}\n"})

    assert SECRET not in visitor.text("/file?path=notes.txt")
    assert "the key is" in visitor.text("/file?path=notes.txt")


def test_where_meaning_is_compared_both_orders_stand_beside_the_hits(start_server: StartServer) -> None:
    visitor = Visitor(start_server())
    with BlockingClient(visitor.server.base, token=visitor.secret) as p:
        p.memory.write("The heron eats fish.", title="Food")
        p.memory.write("A grey bird that stands in water and hunts.", title="Bird")

    page = visitor.text("/search?q=what+does+the+heron+eat&in=notes")

    assert "By words" in page
    assert "By meaning" in page
    hits = found(visitor, "q=what+does+the+heron+eat")["notes"]
    assert [hit["by_meaning"] for hit in hits if hit["title"] == "Food"] == [1]
    assert all(hit["cosine"] is not None for hit in hits)

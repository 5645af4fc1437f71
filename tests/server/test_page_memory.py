"""The views of memory, over real HTTP: read, changed, proposed, forgotten."""

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING

import pytest

from promptuary.base.clock import now_in_seconds
from promptuary.client import BlockingClient
from promptuary.memory.values import Note
from tests.conftest import Files
from tests.server.browser import chromium, go_to, needs_chromium, page_of, press, type_into
from tests.server.conftest import RunningServer, StartServer
from tests.server.visitors import Visitor, as_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OLD, NEW = "The port of the api is 1111", "The port of the api is 2222"


class Owner(Visitor):
    """A visitor, with the client of the same token as ``p``."""

    p: BlockingClient

    def post(self, path: str, **fields: str) -> "tuple[int, str]":
        """Send a form, and return its status with the text of the page, or the address it leads to."""
        answer = self.send(path, None, form_token=self.form_token("/memory"), **fields)
        return answer.status, answer.headers.get("location") or as_text(answer.body)

    def json(self, path: str) -> object:
        """Return the value of a page."""
        return json.loads(self.get(path).body)

    def titles(self, query: str = "") -> list[str]:
        """Return the titles of the notes on a page."""
        found: dict[str, list[dict[str, str]]] = json.loads(self.get(f"/memory.json{query}").body)
        return [header["title"] for header in found["notes"]]

    def fields(self, path: str) -> dict[str, str]:
        """Return what is in the form of a page, as a browser sends it."""
        page = self.get(path).body.decode()
        inputs = re.findall(r'<input[^>]*name="([^"]+)"[^>]*?(?: value="([^"]*)")?[^>]*>', page)
        selects = re.findall(r'<select[^>]*name="([^"]+)".*?<option selected>([^<]*)<', page, re.DOTALL)
        texts = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL)
        given = {name: unescape(value) for name, value in [*inputs, *selects, *texts] if name != "pinned"}
        return {name: value for name, value in given.items() if name != "form_token"}


@pytest.fixture
def owner(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    visitor = Owner(start_server())
    with BlockingClient(visitor.server.base, token=visitor.secret) as visitor.p:
        yield visitor


def at(note: Note, below: str = "") -> str:
    return f"/memory/notes/{note.header.id}{below}"


# Browsing


def test_without_notes_the_page_says_what_to_do_first(owner: Owner) -> None:
    assert "Nothing is remembered yet" in owner.text("/memory")
    assert "promptuary remember" in owner.text("/memory")
    assert "Nothing waits for you" in owner.text("/memory/proposals")
    assert "Nothing to look at" in owner.text("/memory/review")


def test_notes_are_browsed_by_kind_audience_trust_writer_and_age(owner: Owner) -> None:
    write = owner.p.memory.write
    write("Use tabs", kind="feedback")
    write("The staging server is heron", kind="reference", audience="shared")
    write("The build takes four minutes", kind="project", trust="agent")
    owner.p.memory.archive(write("The mascot is an otter", kind="project").header.id)

    assert len(owner.titles()) == 3
    assert owner.titles("?kind=feedback") == ["Use tabs"]
    assert owner.titles("?audience=shared") == ["The staging server is heron"]
    assert owner.titles("?trust=agent") == ["The build takes four minutes"]
    assert owner.titles("?status=archived") == ["The mascot is an otter"]
    assert len(owner.titles("?by=local/default")) == 3
    assert owner.titles("?by=somebody/else") == []
    assert len(owner.titles("?age=day")) == 3
    assert owner.titles("?age=-year") == []
    assert "No note matches" in owner.text("/memory?age=-year")
    assert owner.get("/memory?kind=opinion").status == 400


def test_a_list_of_many_notes_comes_in_pages_without_gaps(owner: Owner) -> None:
    written = {owner.p.memory.write(f"fact number {number} is {number * 7}").header.title for number in range(120)}
    path, seen = "/memory?kind=reference", list[str]()
    while path:
        page = owner.get(path)
        seen += re.findall(r'class="main"><a[^>]*>([^<]*)<', page.body.decode())
        following = re.search(r'class="more"><a class="button" href="([^"]*)"', page.body.decode())
        path = unescape(following[1]) if following else ""

    assert len(seen) == len(written)
    assert set(seen) == written


def test_a_search_shows_what_matches_and_where(owner: Owner) -> None:
    owner.p.memory.write("We release on Mondays, after the tests.", title="Releases", kind="project")
    owner.p.memory.write("Use tabs in Makefiles", kind="feedback")

    assert owner.titles("?q=when+do+we+release") == ["Releases"]
    assert "We release on Mondays" in owner.text("/memory?q=release")
    assert owner.titles("?q=release&kind=feedback") == []


def test_what_was_known_on_a_date_is_shown_as_it_was_then(owner: Owner) -> None:
    note = owner.p.memory.write("We release on Mondays", title="Releases")
    before = owner.p.memory.history(note.header.id)[0].at
    while now_in_seconds() == before:  # times of notes are seconds
        time.sleep(0.05)
    owner.p.memory.write("We release on Tuesdays", id=note.header.id)

    page = owner.get(f"/memory?as_of={before}").body.decode()

    (link,) = re.findall(rf'href="({at(note)}\?rev=[0-9a-f]+)"', page)
    assert "We release on Mondays" in owner.text(link)
    assert "An earlier text" in owner.text(link)
    assert owner.titles("?as_of=2020-01-01") == []


# Reading and changing


def test_a_note_is_shown_with_where_it_came_from_and_the_answers_that_rest_on_it(owner: Owner) -> None:
    note = owner.p.memory.write("# Releases\n\nWe release on **Mondays**.", title="Releases", tags=["ci"])
    owner.p.threads.finish(owner.p.threads.prepare("when do we release?", thread="plan"), "On Mondays.")

    page = owner.get(at(note)).body.decode()

    assert "We release on <strong>Mondays</strong>." in page
    assert page.count("Releases</h") == 0  # the heading that repeats the title is left out
    assert 'href="/turns/plan/1"' in page
    assert note.header.path in page
    shown = json.loads(owner.get(f"{at(note)}.json").body)
    assert (shown["note"]["header"]["id"], shown["answers"]["rows"][0]["thread"]) == (note.header.id, "plan")


def test_a_note_shows_the_answers_whose_prompts_had_it_in_the_list_of_notes(owner: Owner) -> None:
    note = owner.p.memory.write("The staging server is called owl.", title="Staging")
    assert "No prompt has contained it yet" in owner.text(at(note))

    owner.p.threads.finish(owner.p.threads.prepare("Hello there", thread="talk"), "Good morning.")

    shown = owner.text(at(note))
    assert "Hello there" in shown
    assert "in the list of notes" in shown
    assert "only its line was sent" in shown
    assert "as it is now" not in shown
    assert "No prompt has contained it yet" not in shown
    found = json.loads(owner.get(f"/sources.json?of={note.header.address}").body)
    assert [[way["how"] for way in turn["ways"]] for turn in found["turns"]] == [["list"]]


def test_hostile_text_of_a_note_is_shown_as_it_is(owner: Owner) -> None:
    evil = "<script>alert(1)</script> <img src=x onerror=alert(1)> [go](javascript:alert(1)) ![i](https://evil.test/)"
    note = owner.p.memory.write(evil, title='"><script>alert(2)</script>', tags=["<b>x</b>"], summary="<i>s</i>")

    for path in (
        at(note),
        at(note, "/edit"),
        at(note, "/history"),
        at(note, "/forget"),
        at(note, "/forget/places"),
        "/memory",
        "/memory/review",
    ):
        page = owner.get(path).body.decode()
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path
        assert 'href="javascript' not in page, path
        assert "<b>x" not in page, path
        assert "<i>s" not in page, path
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in owner.get(at(note)).body.decode()


def test_a_note_is_edited_in_a_form_and_only_what_was_changed_changes(owner: Owner) -> None:
    note = owner.p.memory.write("Use tabs", kind="feedback", tags=["style"], pinned=True)
    fields = owner.fields(at(note, "/edit"))
    assert (fields["title"], fields["tags"], fields["content"]) == ("Use tabs", "style", "Use tabs")

    status, where = owner.post(
        at(note, "/edit"), **fields | {"content": "Use tabs\r\nin Makefiles", "pinned": "1", "reason": "more exact"}
    )

    assert (status, where) == (303, at(note))
    after = owner.p.memory.get(note.header.id)
    assert after is not None
    assert after.body.strip() == "Use tabs\nin Makefiles"
    assert (after.header.kind, after.header.tags) == ("feedback", ("style",))
    assert after.header.pinned
    assert owner.p.memory.history(note.header.id)[-1].reason == "more exact"


def test_a_form_that_only_previews_writes_nothing(owner: Owner) -> None:
    note = owner.p.memory.write("Use tabs")
    fields = owner.fields(at(note, "/edit"))

    fields |= {"content": "Use **spaces**", "do": "preview"}
    answer = owner.send(at(note, "/edit"), None, form_token=owner.form_token("/memory"), **fields)

    assert b"Use <strong>spaces</strong>" in answer.body
    assert b"Use **spaces**</textarea>" in answer.body
    assert owner.p.memory.get(note.header.id) == note


def test_in_a_conflict_both_texts_are_shown_and_saving_again_is_deliberate(owner: Owner) -> None:
    note = owner.p.memory.write("We release on Mondays\n\nafter CI", title="Releases")
    mine = owner.fields(at(note, "/edit")) | {"content": "We release on Fridays\n\nafter CI", "tags": "mine"}
    owner.p.memory.write("We release on Tuesdays\n\nafter CI", id=note.header.id)

    answer = owner.send(at(note, "/edit"), None, form_token=owner.form_token("/memory"), **mine)

    assert answer.status == 409
    page = answer.body.decode()
    assert "We release on Fridays\n\nafter CI</textarea>" in page
    assert 'value="mine"' in page
    assert "<mark>We release on Tuesdays</mark>" in page
    assert "<mark>after CI</mark>" not in page
    current = owner.p.memory.get(note.header.id)
    assert current is not None
    assert "Tuesdays" in current.body
    assert owner.post(at(note, "/edit"), **mine | {"rev": current.header.rev})[0] == 303
    assert "Fridays" in str(owner.p.memory.get(note.header.id))


def test_a_title_that_was_not_typed_follows_the_text_after_a_conflict_too(owner: Owner) -> None:
    note = owner.p.memory.remember("The office closes at six.")
    mine = owner.fields(at(note, "/edit")) | {"content": "The office closes at five."}
    owner.p.memory.write("The office closes at six, in summer.", id=note.header.id)
    assert owner.post(at(note, "/edit"), **mine)[0] == 409
    theirs = owner.p.memory.get(note.header.id)
    assert theirs is not None

    assert owner.post(at(note, "/edit"), **mine | {"rev": theirs.header.rev})[0] == 303
    saved = owner.p.memory.get(note.header.id)
    assert saved is not None
    assert saved.header.title == "The office closes at five."


def test_a_form_without_the_revision_that_was_read_overwrites_nothing(owner: Owner) -> None:
    note = owner.p.memory.write("Use tabs")

    assert owner.post(at(note, "/edit"), content="Use spaces", kind="feedback", audience="private")[0] == 409
    assert owner.p.memory.get(note.header.id) == note


def test_what_was_typed_is_kept_when_it_cannot_be_saved_or_the_note_is_gone(owner: Owner) -> None:
    note = owner.p.memory.write("Use tabs")
    fields = owner.fields(at(note, "/edit"))
    key = f"sk-ant-api03-{'aB3' * 30}-AA"

    refused = owner.post(at(note, "/edit"), **fields | {"content": f"the key is {key}"})
    assert refused[0] == 422
    assert f"the key is {key}" in refused[1]
    empty = owner.post("/memory/new", content=" ", title="kept")
    assert (empty[0], "a note needs content" in empty[1].lower()) == (422, True)
    owner.p.memory.forget(note.header.id)
    gone = owner.post(at(note, "/edit"), **fields | {"content": "typed for an hour"})
    assert gone[0] == 404
    assert "typed for an hour" in gone[1]
    assert "save it as a new note" in gone[1]


def test_a_new_note_is_written(owner: Owner) -> None:
    fields = {"content": "We deploy from main", "kind": "project", "audience": "shared", "tags": "a, b"}
    status, where = owner.post("/memory/new", **fields)

    assert status == 303
    written = owner.p.memory.get(where.rpartition("/")[2])
    assert written is not None
    header = written.header
    assert (header.title, header.kind, header.audience, header.tags) == (
        "We deploy from main",
        "project",
        "shared",
        ("a", "b"),
    )


def test_history_shows_each_change_and_any_text_can_come_back(owner: Owner) -> None:
    note = owner.p.memory.write("We release on Mondays", title="Releases")
    owner.p.memory.write("We release on Tuesdays", id=note.header.id, reason="moved by a day")
    first = owner.p.memory.history(note.header.id)[0].number

    page = owner.get(at(note, "/history")).body.decode()
    assert "<del>-We release on Mondays</del>" in page
    assert "<ins>+We release on Tuesdays</ins>" in page
    assert "moved by a day" in page
    assert "<ins>+We release on Mondays</ins>" in owner.get(at(note, f"/history?number={first}")).body.decode()

    assert owner.post(at(note, "/undo"))[0] == 303
    assert "Mondays" in str(owner.p.memory.get(note.header.id))
    assert owner.post(at(note, "/undo"), number=str(first))[0] == 303
    assert owner.post(at(note, "/archive"))[0] == 303
    assert owner.titles() == []
    assert "Restore" in owner.text(at(note))
    assert owner.post(at(note, "/restore"))[0] == 303
    assert owner.titles() == ["Releases"]


# Forgetting


def test_forgetting_shows_the_places_it_reaches_and_must_be_confirmed_by_typing(owner: Owner) -> None:
    note = owner.p.memory.write("the vault is under the old oak tree", title="the vault is under the old oak tree")
    owner.p.threads.finish(
        owner.p.threads.prepare("remember: the vault is under the old oak tree", thread="garden"), "Yes."
    )

    assert f'hx-get="{at(note, "/forget/places")}"' in owner.get(at(note, "/forget")).body.decode()
    assert "garden" in owner.text(at(note, "/forget/places"))
    assert owner.post(at(note, "/forget"), confirm="yes")[0] == 422
    assert owner.p.memory.get(note.header.id) is not None
    assert owner.post(at(note, "/forget"))[0] == 422

    status, said = owner.post(at(note, "/forget"), confirm=note.header.id, everywhere="1")

    assert status == 200
    assert "The note is gone" in said
    assert owner.p.memory.get(note.header.id) is None
    assert "oak" not in str(owner.p.threads.history(thread="garden"))
    assert owner.get(at(note)).status == 404


# Proposals


def propose(owner: Owner, text: str) -> str:
    """Have something proposed, and return the id of the proposal."""
    owner.p.threads.finish(owner.p.threads.prepare(text, thread="talk"), "Fine.")
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for proposal in owner.p.memory.proposals():
            if (proposal.draft.content or "") == text:
                return proposal.id
    raise AssertionError(f"nothing was proposed for {text!r}")


def test_a_proposal_is_accepted_edited_or_rejected_with_forms(owner: Owner) -> None:
    postgres, tabs = propose(owner, "We decided to use Postgres."), propose(owner, "I prefer tabs over spaces.")
    page = owner.text("/memory/proposals")
    assert "We decided to use Postgres." in page
    assert "talk" in page

    edit = f"/memory/proposals/{postgres}"
    fields = owner.fields(edit) | {"content": "We decided to use Postgres 17."}
    assert owner.post(edit, **fields | {"do": "preview"})[0] == 200
    assert owner.post(edit, **fields | {"content": " ", "do": "save"})[0] == 422
    assert owner.post(edit, **fields | {"do": "save"})[0] == 303
    status, where = owner.post(f"{edit}/accept")
    assert status == 303
    assert "Accepted: We decided to use Postgres" in owner.text(where)
    assert any("Postgres 17" in str(owner.p.memory.get(header.id)) for header in owner.p.memory.list())

    assert owner.post(f"/memory/proposals/{tabs}/reject")[0] == 303
    assert owner.p.memory.proposals() == []
    assert owner.post(f"/memory/proposals/{tabs}/accept")[0] == 404


# What deserves a look


def test_notes_about_the_same_are_shown_side_by_side_and_one_can_replace_the_other(owner: Owner) -> None:
    old, new = owner.p.memory.write(OLD, kind="project"), owner.p.memory.write(NEW, kind="project")
    owner.p.memory.write("Use tabs in Makefiles", kind="feedback")

    pairs = json.loads(owner.get("/memory/review.json").body)
    assert [{pair["newer"]["id"], pair["older"]["id"]} for pair in pairs] == [{old.header.id, new.header.id}]
    assert "May contradict" in owner.text(at(new))

    assert owner.post(at(new, "/replace"), old=old.header.id, back="1") == (303, "/memory/review")

    ended = owner.p.memory.get(old.header.id)
    assert ended is not None
    assert ended.header.valid_until != ""
    assert json.loads(owner.get("/memory/review.json").body) == []


# Who may


def test_a_visitor_who_may_only_read_is_offered_no_changes(server: RunningServer) -> None:
    owner, reader = Visitor(server), Visitor(server, scopes=frozenset({"read"}))
    with BlockingClient(server.base, token=owner.secret) as p:
        note = p.memory.write("Use tabs")

    for path in ("/memory", at(note), at(note, "/history"), at(note, "/forget"), "/memory/review"):
        page = reader.get(path).body.decode()
        assert page.count('method="post"') == 1, path  # to sign out
        assert "/edit" not in page, path
    assert reader.send(at(note, "/archive"), form_token=reader.form_token("/memory")).status == 403


def test_a_form_comes_from_a_page_that_sends_no_referrer(owner: Owner) -> None:
    """Browsers say ``Origin: null`` then, and that the form is of the same origin."""
    token = owner.form_token("/memory")
    null = {"origin": "null"}

    assert owner.send("/memory/new", null, form_token=token, content="Use tabs").status == 303
    elsewhere = null | {"sec-fetch-site": "cross-site"}
    assert owner.send("/memory/new", elsewhere, form_token=token, content="Use spaces").status == 403
    assert owner.titles() == ["Use tabs"]


# In a browser, by keyboard alone


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as started:
        yield started


@needs_chromium
def test_by_keyboard_a_conflict_is_seen_and_resolved(browser: "Browser", owner: Owner) -> None:
    note = owner.p.memory.write("We release on Mondays", title="Releases")
    with page_of(browser, owner.server.base, owner.cookie) as page:
        page.goto(at(note))
        press(page, "text=Edit")
        type_into(page, "#content", "We release on **Fridays**")
        press(page, "button[value=preview]")
        page.wait_for_selector("#preview strong")
        assert page.input_value("#content") == "We release on **Fridays**"
        with page.expect_response(re.compile("/live")):  # events come from here on
            page.reload()
        type_into(page, "#content", "We release on **Fridays**")
        owner.p.memory.write("We release on Tuesdays", id=note.header.id)
        page.wait_for_selector("#changed .problem")
        assert page.input_value("#content") == "We release on **Fridays**"
        press(page, "button[value=save]")
        page.wait_for_selector(".theirs mark")
        assert page.input_value("#content") == "We release on **Fridays**"
        press(page, "button[value=save]")
        page.wait_for_selector("article strong")
        assert page.inner_text("article") == "We release on Fridays"


@needs_chromium
def test_by_keyboard_a_proposal_that_appears_is_accepted_and_a_note_that_appears_forgotten(
    browser: "Browser", owner: Owner
) -> None:
    with page_of(browser, owner.server.base, owner.cookie) as page:
        page.goto("/memory/proposals")
        page.wait_for_selector(".empty")
        proposal = propose(owner, "We decided to use Postgres.")
        go_to(page, f"#proposal-{proposal}")  # which appears without a reload
        page.keyboard.press("a")
        page.wait_for_selector("text=Accepted")
        assert owner.p.memory.proposals() == []

        page.goto("/memory")
        owner.p.memory.write("Use tabs in Makefiles", kind="feedback")
        press(page, "text=Use tabs in Makefiles")
        press(page, "text=Forget …")
        page.wait_for_selector("text=found nowhere else")
        type_into(page, "#confirm", "Use tabs in Makefiles")
        press(page, "text=Forget for good")
        page.wait_for_selector("text=The note is gone")
    assert owner.titles("?kind=feedback") == []


@needs_chromium
def test_the_keys_of_proposals_work_only_where_the_focus_is(browser: "Browser", owner: Owner) -> None:
    proposals = [propose(owner, text) for text in ("We decided to use Postgres.", "I prefer tabs over spaces.")]
    with page_of(browser, owner.server.base, owner.cookie) as page:
        page.goto("/memory/proposals")
        page.focus("nav[aria-label=Memory] a")
        page.keyboard.press("a")
        page.focus(f"#proposal-{proposals[0]}")
        page.keyboard.press("j")
        page.keyboard.press("r")
        page.wait_for_selector("text=Rejected")
        assert [proposal.id for proposal in owner.p.memory.proposals()] == proposals[:1]
        page.keyboard.press("e")  # the first has the focus
        page.wait_for_selector("#content")
        page.keyboard.press("a")
        assert page.input_value("#content") != "We decided to use Postgres."
    assert len(owner.p.memory.proposals()) == 1


def test_the_edit_of_a_proposal_that_is_gone_becomes_a_new_note(owner: Owner) -> None:
    proposal = propose(owner, "We decided to use Postgres.")
    path = f"/memory/proposals/{proposal}"
    fields = owner.fields(path) | {"content": "We decided to use Postgres 17 because of Ada."}
    owner.p.memory.reject(proposal)

    status, said = owner.post(path, **fields, do="accept")

    assert status == 404
    assert "Nothing of what you wrote is lost" in said
    assert "Postgres 17 because of Ada" in said


def test_a_note_counts_no_answer_that_was_only_sent_its_name(start_server: StartServer, files: Files) -> None:
    files({f"s{number}.txt": f"one line of the file {number}\n" for number in range(40)})
    owner = Owner(
        start_server(settings={"embedder": "none", "window": 1_200, "reply_reserve": 200, "recall_tokens": 0})
    )
    many = " ".join(f"@file:s{number}.txt" for number in range(12))
    with BlockingClient(owner.server.base, token=owner.secret) as p:
        note = p.memory.write("One line of a note. " * 60, title="The note")
        newer = (f"Ada likes tea {number} times a day, {'and coffee once, ' * 6}but no milk." for number in range(30))
        short = [p.memory.write(text) for text in newer][-1]  # they leave no room for it in the list of notes
        p.threads.finish(p.threads.prepare(f"What say {many} or @memory:{note.header.id}?", thread="t"), "Nothing.")
        p.threads.finish(p.threads.prepare(f"What says @memory:{short.header.id}?", thread="u"), "Tea.")

    assert "No prompt has contained it yet" in owner.text(at(note))
    assert "Only its name was sent" in owner.text(f"/sources?of={note.header.address}")
    assert "What says @memory" in owner.text(at(short))

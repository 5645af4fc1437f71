"""Nobody sees anything of somebody else's on any page, whatever names they know.

The rows are those of the table of pages: a new page whose parameters have no example below fails here.
"""

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import pytest

from promptuary.base.principals import Principal
from promptuary.client import BlockingClient
from promptuary.server.page.pages import PAGES
from promptuary.server.page.view import Page, address
from tests.conftest import Files
from tests.served import Answer, RunningServer
from tests.server.conftest import StartServer
from tests.server.test_api_ownership import SECRET, Owned, absent
from tests.server.visitors import Visitor

NAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "/turns": {"thread": "thread"},
    "/turns/{thread}/{number}/beside": {"with_thread": "thread", "with": "turn"},
    "/sources": {"of": "source"},
    "/file": {"path": "source"},
    "/search": {"q": "thread"},
}
"""What a page is asked with besides the parts of its path, by the names that ``Owned`` has for it."""

FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "/memory/new": {"content": "something new"},
    "/memory/notes/{key}/edit": {"content": "other words", "kind": "project", "audience": "private"},
    "/memory/notes/{key}/undo": {},
    "/memory/notes/{key}/archive": {},
    "/memory/notes/{key}/restore": {},
    "/memory/notes/{key}/replace": {"old": "eeeeeeeeeeee"},
    "/memory/notes/{key}/forget": {"confirm": f"{SECRET} title"},
    "/memory/proposals/{proposal}": {"content": "other words"},
    "/memory/proposals/{proposal}/accept": {},
    "/memory/proposals/{proposal}/reject": {},
    "/threads/{thread}/run": {"text": "hello"},
    "/threads/{thread}/measure": {"text": "hello"},
    "/complete": {"text": "@a"},
    "/runs/{run}/calls/{call}": {"agreed": "yes"},
    "/experiences/{experience}/feedback": {"feedback": "helped"},
    "/experiences/{experience}/used": {},
    "/experiences/{experience}/forget": {},
    "/sessions": {"name": ""},
    "/sessions/{session}/archive": {},
    "/sessions/{session}/restore": {},
    "/sessions/{session}/refresh": {},
    "/status/index": {},
    "/status/check": {},
    "/status/tokens": {"name": ""},  # refused: a secret would differ each time
    "/status/tokens/{token}/revoke": {},
    "/status/settings": {"name": "recall_tokens", "value": "100"},
}
"""The fields of each form, besides its token."""

SHARED: Final = frozenset({"/status", "/status/tokens", "/status/settings"})
"""Pages of what belongs to nobody: the index of the workspace, and for ``admin`` the server and the settings."""


def ask(visitor: Visitor, page: Page, names: Mapping[str, str], twin: str = "") -> Answer:
    """Load a page or send a form, with an example for everything that it needs."""
    path = page.path
    names = {**names, "source": "a.txt"}
    for part in [one.partition("}")[0] for one in path.split("{")[1:]]:
        path = path.replace(f"{{{part}}}", address("", names[PARTS.get(part, part)])[1:])
    if page.method == "POST":
        return visitor.send(path, None, form_token=visitor.form_token(), **FORMS[page.path])
    query = {name: names[known] for name, known in NAMED.get(page.path, {}).items()}
    return visitor.get(f"{path}{twin}" + (f"?{urlencode(query)}" if query else ""))


PARTS: Final[Mapping[str, str]] = {"number": "turn", "message": "turn", "block": "turn", "token": "id"}
"""What a part of a path is called in ``Owned``, if not as in the path."""


@pytest.fixture
def apart(files: Files, start_server: StartServer) -> tuple[RunningServer, Visitor, Visitor, Owned]:
    """Return a server, two people who are signed in, and what the first has."""
    files({"a.txt": "the text of a\n"})
    server = start_server()
    ada, bob = (Visitor(server, Principal(name)) for name in ("ada", "bob"))
    with BlockingClient(server.base, token=ada.secret) as p:
        return server, ada, bob, Owned(p)


def without_names(body: bytes, names: Mapping[str, str]) -> bytes:
    """Return an answer without the names that the request itself has, and the token of the session."""
    for name in names.values():
        for form in {name, quote(name, safe=""), address("", name)[1:]}:
            body = body.replace(form.encode(), b"-")
    return body


def test_what_is_somebody_elses_is_as_if_it_were_not_there(
    apart: tuple[RunningServer, Visitor, Visitor, Owned],
) -> None:
    _, ada, bob, owned = apart
    own = {name: value for name, value in owned.names.items() if len(value) > 3}
    known, unknown = owned.names, absent(owned.names) | {"turn": owned.names["turn"]}
    before = everything(ada, known)

    for page in sorted(PAGES, key=is_form):
        if is_form(page) and page.path in {"/status/index", "/status/settings"}:
            continue  # they name nobody, and change what everybody finds
        for twin in ("", ".json") if page.method == "GET" else ("",):
            foreign, nothing = (ask_until_complete(bob, page, names, twin) for names in (known, unknown))
            # What the visitor sent is shown to be sent again.
            typed = {name: value for name, value in FORMS.get(page.path, {}).items() if SECRET in value}
            assert SECRET not in without_names(foreign.body, own | typed).decode(), page
            assert foreign.status == nothing.status, page
            others = {name: unknown[name] for name in own}
            assert without_names(foreign.body, own) == without_names(nothing.body, others), page
    assert everything(ada, known) == before


def ask_until_complete(visitor: Visitor, page: Page, names: Mapping[str, str], twin: str) -> Answer:
    """Ask, and again while a menu says that the files are still being read."""
    answer = ask(visitor, page, names, twin)
    for _ in range(2_000):
        if page.path != "/complete" or b"listing files" not in answer.body:
            break
        answer = ask(visitor, page, names, twin)
    return answer


def is_form(page: Page) -> bool:
    return page.method == "POST"


def everything(visitor: Visitor, names: Mapping[str, str]) -> dict[str, object]:
    """Return the value of every page that somebody can read, by its address."""
    return {
        page.path: ask(visitor, page, names, ".json").body
        for page in PAGES
        if page.method == "GET" and page.path not in SHARED
    }


def test_the_owner_sees_what_others_do_not(apart: tuple[RunningServer, Visitor, Visitor, Owned]) -> None:
    _, ada, bob, _ = apart

    assert SECRET in json.dumps(json.loads(ada.get("/turns.json").body))
    assert SECRET in ada.text("/turns")
    assert SECRET not in bob.text("/turns")


def test_every_page_needs_a_session_or_a_token_and_its_scope(
    apart: tuple[RunningServer, Visitor, Visitor, Owned],
) -> None:
    server, *_ = apart
    stranger = Visitor(server, signed_in=False)
    reader = Visitor(server, scopes=frozenset({"read"}))
    proxy = Visitor(server, scopes=frozenset({"proxy"}))
    for page in PAGES:
        path = page.path.replace("{", "").replace("}", "")
        if page.method == "POST":
            assert stranger.send(path).status == 401, page
            assert reader.send(path, form_token="x").status == 403, page
        else:
            assert stranger.get(path).status == stranger.get(f"{path}.json").status == 401, page
            assert proxy.get(path).status == 403, page

"""Every view of the page with something to show, by construction: the addresses are made from the table of pages.

What a page is asked with besides the parts of its path is in the tests of ownership; a view that is added later is
here as soon as it has an example there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from promptuary.base.clock import now
from promptuary.base.principals import LOCAL
from promptuary.client import BlockingClient
from promptuary.memory.values import NoteDraft
from promptuary.memory.writeback.values import Proposal
from promptuary.server.page.pages import PAGES
from promptuary.server.page.view import address
from promptuary.state import StateDatabase
from tests.server.test_page_ownership import NAMED

VIEWS: Final = tuple(page for page in PAGES if page.method == "GET")
OTHER_PAGES: Final = ("/sign-in", "/nothing")
"""Pages that are no views: to sign in, and an error."""


def addresses(names: Mapping[str, str]) -> Iterator[str]:
    """Yield the addresses of every view, with what it can be asked for."""
    for page in VIEWS:
        query = {name: names[known] for name, known in NAMED.get(page.path, {}).items()}
        yield filled(page.path, names) + (f"?{urlencode(query)}" if query else "")


def bare_addresses(names: Mapping[str, str]) -> Iterator[str]:
    """Yield the addresses of the views that can be asked for something, without that, and of other pages."""
    yield from (filled(page.path, names) for page in VIEWS if page.path in NAMED and page.path != "/file")
    yield from OTHER_PAGES


def filled(path: str, names: Mapping[str, str]) -> str:
    """Return the path of a page with an example for each of its parts."""
    other = {"message": "item"} if path.startswith("/threads/") else {"message": "place"}
    return re.sub(r"\{(\w+)\}", lambda part: address("", names[other.get(part[1], part[1])])[1:], path)


def forms(names: Mapping[str, str], payload: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what is sent by forms whose answers are pages of their own, or show what was typed."""
    note, proposal = "/memory/notes/{key}", "/memory/proposals/{proposal}"
    for path, fields in (
        (f"{note}/edit", {"content": payload, "title": payload, "opened": "x", "rev": "0" * 64}),  # a conflict
        (f"{note}/edit", {"content": payload, "do": "preview"}),
        ("/memory/new", {"content": " ", "title": payload, "reason": payload}),
        (proposal, {"content": payload, "title": payload, "do": "preview"}),
        (f"{note}/forget", {"confirm": f"not {payload}"}),
        ("/sessions", {"name": " ", "roots": payload}),
        ("/status/tokens", {"name": payload, "user": payload, "money": payload}),
        ("/status/tokens/{token}/revoke", {}),
        ("/status/settings", {"name": "recall_tokens", "value": payload}),
        ("/threads/{thread}/run", {"text": " ", "model": payload}),  # shown to be sent again
        (f"{note}/forget", {"confirm": names["key"]}),
    ):
        yield filled(path, names), fields


def printable(payload: str) -> str:
    """Return a payload as a name, in which nothing can be that cannot be printed."""
    return "".join(filter(str.isprintable, payload))[:150]


def tool_loop(payload: str) -> Sequence[Mapping[str, Any]]:
    """Return what a model and a tool say that are made of a payload."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}
    return [
        {"role": "assistant", "content": payload, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": payload},
        {"role": "assistant", "content": f"The answer: {payload}"},
    ]


def fill(p: BlockingClient, workspace: Path, payload: str, file: str) -> dict[str, str]:
    """Store a payload wherever a text of somebody else can be: in texts, names, titles, results; return the names."""
    number = file.partition(" ")[0]
    thread = f"talk {number} {printable(payload)}"
    p.threads.finish(p.threads.prepare(f"before {payload}", thread=thread), payload)
    turn = p.threads.prepare(f"{payload} @file:{file!r}", thread=thread)
    p.threads.finish(turn, tool_loop(payload))
    p.threads.prepare(f"again {payload}", thread=thread)
    note = p.memory.write(f"# {payload}\n\n{payload}", title=payload, summary=payload, tags=["plain"])
    experience = p.experiences.add("task_solution", f"do {payload}", {"by": payload})  # no intent is blank
    session = f"session {number} {printable(payload)}"
    p.sessions.create(session)
    proposal = f"proposal {number}"
    with closing(StateDatabase(workspace / ".promptuary" / "state.db")) as state:
        draft = NoteDraft(content=payload, title=payload, tags=(payload,), source_ref=f"thread:{payload}")
        new = Proposal(proposal, "write", now(), "extract", draft, proposal, reason=payload, evidence=f"> {payload}")
        state.proposals(LOCAL).add(new)
    blocks = [place for place, entry in enumerate(turn.receipt.entries) if entry.layer in {"references", "message"}]
    return {
        "thread": thread,
        "turn": str(turn.number),
        "number": str(turn.number),
        "block": str(blocks[-1]),
        "place": str(len(turn.messages) - 1),
        "item": next(item.id for item in p.threads.history(thread=thread) if item.role == "tool"),
        "key": note.header.id,
        "experience": experience.id,
        "session": session,
        "source": file,
        "proposal": proposal,
    }

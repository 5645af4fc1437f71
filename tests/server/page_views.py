"""Every view of the page with something to show, by construction: the addresses are made from the table of pages.

What a page is asked with besides the parts of its path is in the tests of ownership; a view that is added later is
here as soon as it has an example there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from promptuary.client import BlockingClient
from promptuary.server.page.pages import PAGES
from promptuary.server.page.view import Page, address
from tests.server.test_page_ownership import NAMED, PARTS
from tests.server.visitors import Visitor

VIEWS: Final = tuple(page for page in PAGES if page.method == "GET")


def addresses(visitor: Visitor, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the addresses of every view: with what it can be asked for and, if it needs nothing, without."""
    for page in VIEWS:
        path = filled(page, names)
        query = {name: names[known] for name, known in NAMED.get(page.path, {}).items()}
        if not query or visitor.get(path).status == 200:
            yield path
        if query:
            yield f"{path}?{urlencode(query)}"


def filled(page: Page, names: Mapping[str, str]) -> str:
    """Return the path of a page with an example for each of its parts."""
    path = page.path
    for part in [one.partition("}")[0] for one in path.split("{")[1:]]:
        path = path.replace(f"{{{part}}}", address("", names[PARTS.get(part, part)])[1:])
    return path


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


def fill(p: BlockingClient, payload: str, file: str) -> dict[str, str]:
    """Store a payload wherever a text of somebody else can be: in texts, names, titles, results; return the names."""
    number = file.partition(" ")[0]
    thread = f"talk {number} {printable(payload)}"
    p.threads.finish(p.threads.prepare(f"before {payload}", thread=thread), payload)
    turn = p.threads.prepare(f"{payload} @file:{file!r}", thread=thread)
    p.threads.finish(turn, tool_loop(payload))
    pending = p.threads.prepare(f"again {payload}", thread=thread)
    note = p.memory.write(f"# {payload}\n\n{payload}", title=payload, summary=payload, tags=["plain"])
    experience = p.experiences.add("task_solution", f"do {payload}", {"by": payload})  # no intent is blank
    session = f"session {number} {printable(payload)}"
    p.sessions.create(session)
    return {
        "thread": thread,
        "turn": str(turn.number),
        "number": str(turn.number),
        "pending": str(pending.number),
        "key": note.header.id,
        "id": note.header.id,
        "note": note.header.id,
        "experience": experience.id,
        "session": session,
        "name": session,
        "query": payload,
        "q": payload,
        "text": payload,
        "source": file,
        "file": file,
        "path": file,
        "proposal": "0123456789ab",
        "run": "a-run",
        "call": "a-call",
        "tool": "search_recall_memories",
    }

"""The table of the API: each method of ``Promptuary`` that can be called over HTTP, and its address.

A new row is served, described in the OpenAPI document, called by the client, and tested with the tokens of others.
Parts of a path in braces are parameters of the method; the others are in the query of a GET request, else in the body.
``{turn}`` is the number of a turn, and with ``{thread}`` before it the ``Turn`` of the method.
"""

from typing import Final, Literal

from msgspec import Struct

PREFIX: Final = "/api/v1"
"""Where the API begins. The number changes only when something that works would stop to: docs/api.md says what."""

Scope = Literal["read", "write", "proxy"]
"""What a token needs: to read what is stored, to change it, or to have a model answer."""

Form = Literal["value", "run", "events"]
"""What is answered: a value of the method, the events of a run, or the events of everything that changes."""


class Endpoint(Struct, frozen=True):
    """An address of the API. ``call`` is the method, with its noun: "threads.prepare"; without one, of ``Promptuary``.

    ``page`` names the field of the answer that is a list, "" if it is one itself: it comes in pages. ``without`` are
    parameters that make no sense over HTTP. ``needs_match``: If-Match is needed, and is the parameter ``if_rev``.
    ``summary`` is for methods that only the server has.
    """

    method: str
    path: str
    scope: Scope
    call: str
    page: str | None = None
    without: tuple[str, ...] = ()
    needs_match: bool = False
    form: Form = "value"
    summary: str = ""

    @property
    def address(self) -> str:
        """The path as a whole."""
        return f"{PREFIX}{self.path}"


def _read(path: str, call: str, page: str | None = None, without: tuple[str, ...] = ()) -> Endpoint:
    return Endpoint("GET", path, "read", call, page, without)


def _ask(path: str, call: str, without: tuple[str, ...] = ()) -> Endpoint:
    """Return what only reads, and is asked with a text that is too long for an address."""
    return Endpoint("POST", path, "read", call, None, without)


def _write(path: str, call: str, without: tuple[str, ...] = (), method: str = "POST") -> Endpoint:
    return Endpoint(method, path, "write", call, None, without)


ENDPOINTS: Final = (
    _read("/status", "status"),
    _ask("/expand", "expand"),
    _ask("/measure", "measure"),
    _ask("/complete", "complete"),
    _ask("/hint", "hint"),
    _read("/files", "find_files"),
    _read("/lines", "read_lines"),
    _read("/changes", "changes"),
    Endpoint("GET", "/events", "read", "events", form="events", summary="What changes, as it happens."),
    # Threads
    _read("/threads", "threads.list", ""),
    _write("/threads/import", "threads.import_"),
    _write("/threads/prune", "threads.prune"),
    _write("/threads/forget", "threads.forget"),
    _write("/threads/{thread}", "threads.remove", method="DELETE"),
    _write("/threads/{thread}/rename", "threads.rename"),
    _read("/turns", "threads.recent"),
    _read("/threads/{thread}/turns", "threads.turns", ""),
    _write("/threads/{thread}/turns", "threads.prepare"),
    _read("/threads/{thread}/pending", "threads.pending"),
    _write("/threads/{thread}/turns/{turn}/extend", "threads.extend"),
    _write("/threads/{thread}/turns/{turn}/finish", "threads.finish"),
    _write("/threads/{thread}/turns/{turn}/abandon", "threads.abandon"),
    _write("/threads/{thread}/undo", "threads.undo"),
    _write("/threads/{thread}/compact", "threads.compact"),
    _read("/threads/{thread}/history", "threads.history", ""),
    _read("/threads/{thread}/seen", "threads.seen"),
    _read("/threads/{thread}/sent", "threads.sent"),
    _read("/threads/{thread}/replay", "threads.replay"),
    Endpoint("POST", "/threads/{thread}/rerun", "proxy", "threads.rerun"),
    _read("/threads/{thread}/sources", "threads.sources", ""),
    _read("/threads/{thread}/totals", "threads.totals"),
    _read("/threads/{thread}/stats", "threads.stats"),
    _read("/threads/{thread}/export", "threads.export", without=("file", "force")),
    _read("/threads/{thread}/attachments", "threads.attachments"),
    _write("/threads/{thread}/attach", "threads.attach"),
    _write("/threads/{thread}/attach-document", "threads.attach_document"),
    _write("/threads/{thread}/detach", "threads.detach"),
    _write("/threads/{thread}/detach-all", "threads.detach_all"),
    _write("/threads/{thread}/pin", "threads.pin"),
    _read("/audit", "threads.audit", "rows"),
    _ask("/preview", "threads.preview", ("tools",)),
    _read("/tools", "threads.tools"),
    Endpoint("POST", "/runs", "proxy", "threads.run", without=("tools", "on_event", "confirm"), form="run"),
    Endpoint("POST", "/runs/{run}/calls/{call}", "proxy", "answer_call"),
    # Search
    _ask("/search", "search.find"),
    _read("/search/status", "search.status"),
    _write("/search/index", "search.index", ("progress", "label", "rebuild", "prune")),
    # Memory
    _read("/notes", "memory.list", "headers"),
    _write("/notes", "memory.write", ("if_rev", "id")),
    _write("/remember", "memory.remember", ("id",)),
    _ask("/notes/search", "memory.find"),
    _read("/notes/{key}", "memory.get"),
    Endpoint("PATCH", "/notes/{id}", "write", "memory.write", None, ("if_rev",), needs_match=True),
    _read("/notes/{key}/history", "memory.history", ""),
    _read("/notes/{key}/diff", "memory.diff"),
    _write("/notes/{key}/undo", "memory.undo"),
    _write("/notes/{key}/archive", "memory.archive"),
    _write("/notes/{key}/restore", "memory.restore"),
    _write("/notes/{key}/forget", "memory.forget"),
    _write("/learn", "memory.learn"),
    _read("/proposals", "memory.proposals", ""),
    _write("/proposals/{proposal}", "memory.edit_proposal", method="PATCH"),
    _write("/proposals/{proposal}/accept", "memory.accept"),
    _write("/proposals/{proposal}/reject", "memory.reject"),
    _read("/note-tools", "memory.tools"),
    _write("/note-tools/{name}", "memory.call_tool"),
    # Experiences
    _read("/experiences", "experiences.list", "experiences", ("offset",)),
    _write("/experiences", "experiences.add"),
    _write("/experiences/record", "experiences.record"),
    _write("/experiences/preferences", "experiences.track_preference"),
    _write("/experiences/decay", "experiences.apply_decay"),
    _write("/experiences/prune", "experiences.prune_expired"),
    _ask("/experiences/search", "experiences.find_similar"),
    _ask("/experiences/for-message", "experiences.for_message"),
    _read("/experiences/stats", "experiences.stats"),
    _read("/experiences/{key}", "experiences.get"),
    _write("/experiences/{key}/used", "experiences.mark_used"),
    _write("/experiences/{key}/feedback", "experiences.feedback"),
    _write("/experiences/{key}", "experiences.forget", method="DELETE"),
    # Sessions
    _read("/sessions", "sessions.list", ""),
    _write("/sessions", "sessions.create"),
    _read("/sessions/{name}", "sessions.show"),
    _write("/sessions/{name}/refresh", "sessions.refresh"),
    _write("/sessions/{name}/archive", "sessions.archive"),
    _write("/sessions/{name}/restore", "sessions.restore"),
    _write("/sessions/{name}", "sessions.remove", method="DELETE"),
)

"""The tools with which an agent reads and writes notes.

The model proposes and code decides, by the same rules as writeback: an agent may write a private note, or change one
that an agent wrote. A write that would change a person's note, be shared, or say something about the person in words
other than theirs becomes a proposal, and the result tells the model that the person is asked. Text that may stem from
elsewhere keeps that label. Invalid input from a model never raises: the result names the mistake.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, assert_never

from msgspec.structs import replace

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import PromptuaryError
from promptuary.context.replies import said_items
from promptuary.memory.recall.digest import is_external
from promptuary.memory.recall.freshness import freshness
from promptuary.memory.recall.note_blocks import note_source
from promptuary.memory.secret_texts import without_secrets
from promptuary.memory.values import Note, NoteDraft, NoteHeader, NoteHit, new_note_id, plain_arguments
from promptuary.memory.writeback.decisions import Archive, Decision, Drop, Propose, Write, dispose, find_known
from promptuary.memory.writeback.learning import turn_so_far
from promptuary.memory.writeback.snapshot import TurnSnapshot, snapshot
from promptuary.models.json_answers import wrong_arguments
from promptuary.references.render import answer_block
from promptuary.search.values import note_text
from promptuary.tools import SEARCH_NOTES, TOOLS, WRITE_NOTE, ToolForm, note_tools

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.base.messages import Message
    from promptuary.memory.pinned import TurnMemory
    from promptuary.threads.prepared import Turn

_MAX_HITS: Final = 8
_MAX_HIT: Final = 400
"""Characters of the matching lines of a note that are returned; its id returns all of it."""


class ToolContext(NamedTuple):
    """What a tool works with: the notes that it may see, and the turn in which it is called, if that is known.

    Otherwise it is unknown what the model has read, so what it writes is labelled as text from elsewhere.
    """

    app: "App"
    memory: "TurnMemory"
    turn: TurnSnapshot | None

    @property
    def now(self) -> str:
        """The time now."""
        return self.memory.visible.clock()


class NoteTools:
    """The tools of one principal. Every method blocks."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def schemas(self, form: ToolForm) -> Sequence[Mapping[str, object]]:
        """Return the tools in a provider's format."""
        return note_tools(form)

    def call(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        turn: "Turn | None",
        messages: "Sequence[Message] | None",
    ) -> dict[str, object]:
        """Return the result of a tool, in ``turn`` after ``messages``."""
        context = self._context(turn, messages)
        try:
            given = _arguments(name, arguments)
            answer = _search(context, given) if name == SEARCH_NOTES else _write(context, given)
        except PromptuaryError as error:
            return {"error": str(error)}
        if turn is not None and turn.thread and "written" in answer:  # an unrecorded turn is not learnt from
            self._app.note_learner().skip(turn.id)
        return answer

    def _context(self, turn: "Turn | None", messages: "Sequence[Message] | None") -> ToolContext:
        app = self._app
        if turn is None:
            return ToolContext(app, app.memory.of(), None)
        said = None if messages is None else _turn_so_far(app, turn, messages)
        access = app.access(turn.thread, app.state(create=False))
        return ToolContext(app, app.memory.within(turn.thread, access), said)


def _search(context: ToolContext, given: Mapping[str, Any]) -> dict[str, object]:
    wanted = {key: value for key in ("query", "memory_id", "relative_path") if (value := given.get(key))}
    if len(wanted) != 1:
        return {"error": "give exactly one of query, memory_id and relative_path"}
    if "query" in wanted:
        found = context.memory.find(wanted["query"], limit=_MAX_HITS)
        said = {"notes": list(map(note_text, found.notes))} if found.notes else {}
        return {"answers": found.answers, "memories": [_hit(context, hit) for hit in found.hits], **said}
    (key,) = wanted.values()
    note = context.memory.exact(key)
    if note is None:
        return {"error": f"there is no note {key[:80]!r}; search by query for its id"}
    return _header(note.header, context.now) | {"content": _content(context, note)}


def _hit(context: ToolContext, hit: NoteHit) -> dict[str, object]:
    """Return a note that was found, with its matching lines."""
    text = hit.text.strip()
    shown = text if len(text) <= _MAX_HIT else f"{text[:_MAX_HIT].rstrip()} …"
    lines = _content(context, Note(hit.header, shown, shown))
    return _header(hit.header, context.now) | {"text": lines}


def _content(context: ToolContext, note: Note) -> str:
    if not is_external(note.header):
        return without_secrets(note.body)
    # Somebody else's text is inside a boundary that it cannot forge.
    source = note_source(note, context.now)
    return answer_block(replace(source, facts=(note.header.kind, *source.facts)))


def _write(context: ToolContext, given: Mapping[str, Any]) -> dict[str, object]:
    content, why = given["content"].strip(), (given.get("context") or "").strip()
    draft = NoteDraft(
        content=f"{content}\n\nContext: {why}" if why else content,
        title=" ".join(given["title"].split()),
        kind=given["type"],
        audience=given.get("audience"),
        tags=given.get("tags"),
        source="tool",
        trust="agent",
    )
    decision = Decision("upsert", draft, id=given.get("memory_id") or "")
    turn = context.turn or TurnSnapshot("", "", context.now, (), "outside")
    about = find_known(decision, context.memory.exact, context.memory.similar, context.memory.history)
    # Whether the text comes from elsewhere decides its label here, not whether it is written.
    outcome = dispose(decision, replace(turn, foreign="none"), about, new_id=new_note_id())
    match outcome:
        case Write(wanted, rev, _, reason):
            trusted = wanted if not turn.external else replace(wanted, trust="external")
            note = context.memory.put(trusted, if_rev=rev or None, reason=reason or f"by the tool {WRITE_NOTE}")
            hint = {"hint": note.hint} if note.hint else {}
            return _header(note.header, context.now) | {"written": True, **hint}
        case Propose(proposal):
            context.app.proposals(create=True).add(proposal)
            return {"written": False, "proposal": proposal.id, "why": f"The person is asked. {proposal.reason}"}
        case Drop(reason, same):
            # A note that already says it is not an error.
            return {"written": False, **({"why": reason, "memory_id": same} if same else {"error": reason})}
        case Archive():
            raise AssertionError("the tool archives nothing")
        case _:
            assert_never(outcome)


def _turn_so_far(app: "App", turn: "Turn", messages: "Sequence[Message]") -> TurnSnapshot:
    finished, foreign = turn_so_far(app, turn, said_items(messages, turn.id))
    return snapshot(finished, now_in_seconds(), foreign)


def _arguments(name: str, arguments: Mapping[str, object] | str) -> Mapping[str, Any]:
    """Return arguments that fit the schema of a tool. Raises ``PromptuaryError``, which says what does not."""
    if name not in {SEARCH_NOTES, WRITE_NOTE}:
        raise PromptuaryError(f"there is no tool {name[:80]!r}; there are {SEARCH_NOTES} and {WRITE_NOTE}")
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        raise PromptuaryError("the arguments are not JSON") from error
    if not isinstance(given, Mapping):
        raise PromptuaryError("the arguments are not an object")
    named = plain_arguments(given)
    if problem := wrong_arguments(name, named, TOOLS[name].schema()):
        raise PromptuaryError(problem)
    return named


def _header(header: NoteHeader, now: str) -> dict[str, object]:
    old = freshness(header, now)
    return {
        "memory_id": header.id,
        "relative_path": header.path,
        "audience": header.audience,
        "type": header.kind,
        "title": header.title,
        "summary": header.summary,
        "tags": list(header.tags),
        "updated_at": header.updated_at,
        "trust": "external" if is_external(header) else header.trust,
        **({"freshness": old} if old else {}),
    }

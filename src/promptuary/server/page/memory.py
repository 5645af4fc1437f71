"""Memory: the notes, what is proposed to be remembered, and what deserves a look."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher, unified_diff
from typing import Any, Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from promptuary.api.problems import problem_of
from promptuary.base.errors import ConfigError, NoteConflictError, PromptuaryError, SourceError, UnknownNoteError
from promptuary.memory.alike import AlikeNotes, find_alike
from promptuary.memory.note_file import Ownership, as_bytes, read_note
from promptuary.memory.values import (
    AUDIENCES,
    KINDS,
    STATUSES,
    ForgetReport,
    Note,
    NoteChange,
    NoteHeader,
    NoteHit,
    NoteTrust,
)
from promptuary.memory.writeback.values import Proposal
from promptuary.search.values import IndexBusy
from promptuary.server.errors import Refusal
from promptuary.server.page.view import Asked, Page, Redirect, View
from promptuary.threads.ledger_values import Audit

_AT_ONCE: Final = 50
_MAX_ANSWERS: Final = 20
_MAX_ALIKE: Final = 500
"""How many of the newest notes are compared with each other, and with one that is shown."""
_MAX_PAIRS: Final = 50
_MAX_LINES: Final = 2_000
"""The most lines of a text in which changed ones are marked."""
_AGES: Final[Mapping[str, tuple[str, int]]] = {
    "day": ("changed in the last day", 1),
    "week": ("changed in the last 7 days", 7),
    "month": ("changed in the last 30 days", 30),
    "-quarter": ("not changed for 90 days", 90),
    "-year": ("not changed for a year", 365),
}
"""What each age is called, and its days; a minus stands before those of older notes."""
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "kind": KINDS,
    "audience": AUDIENCES,
    "trust": get_args(NoteTrust),
    "status": STATUSES,
    "age": tuple(_AGES),
}
_FILTERS: Final = ("q", *_CHOICES, "by", "as_of")


class FoundNotes(Struct, frozen=True):
    """A page of notes: how many there are in all, and the cursor of the page after it. A search has ``hits``, too."""

    notes: Sequence[NoteHeader]
    total: int
    following: str = ""
    hits: Sequence[NoteHit] = ()
    complete: bool = True


class ShownNote(Struct, frozen=True):
    """A note, the turns that it influenced, and older or newer ones about the same."""

    note: Note
    answers: Audit | None = None
    alike: Sequence[NoteHeader] = ()


class NoteHistory(Struct, frozen=True):
    """The changes of a note, the newest first, and one of them as a patch."""

    changes: Sequence[NoteChange]
    number: int
    diff: str


class ShownProposal(Struct, frozen=True):
    """A proposal, the note that it would change, and how, as a patch."""

    proposal: Proposal
    note: NoteHeader | None = None
    diff: str = ""


class Typed(Struct, frozen=True):
    """What is in the form of a note."""

    content: str = ""
    title: str = ""
    kind: str = ""
    audience: str = ""
    tags: str = ""
    summary: str = ""
    valid_from: str = ""
    valid_until: str = ""
    pinned: str = ""
    reason: str = ""
    rev: str = ""
    opened: str = ""
    """The title when the form was opened: whoever does not change it means whatever title the note has by then."""


# Browsing and searching


async def browse(asked: Asked) -> View:
    """Show the notes that match the filters, or those that a search finds."""
    wanted = {name: value for name in _FILTERS if (value := asked.query.get(name, "").strip())}
    for name, choices in _CHOICES.items():
        if wanted.get(name, choices[0]) not in choices:
            raise ConfigError(f"{name} is one of {', '.join(choices)}, not {wanted[name][:40]!r}")
    selection: Any = {"kinds": _given(wanted, "kind"), "audiences": _given(wanted, "audience")}
    memory, cursor = asked.workspace.memory, asked.query.get("cursor", "")
    newest = (await memory.list(limit=_MAX_ALIKE)).headers
    if "q" in wanted:
        result = await memory.find(wanted["q"], limit=_AT_ONCE, as_of=wanted.get("as_of"), **selection)
        notes = _matching([hit.header for hit in result.hits], wanted)
        hits = [hit for hit in result.hits if hit.header in notes]
        found = FoundNotes(notes, len(notes), hits=hits, complete=not any(map(_is_unread, result.notes)))
    else:
        found = await _list(asked, wanted, selection, cursor)
    counts = {kind: (await memory.list(limit=0, kinds=[kind])).total for kind in KINDS}
    more = {
        **await _frame(asked),
        "wanted": wanted,
        "counts": counts,
        "actors": sorted({name for header in newest for name in (header.created_by, header.updated_by) if name}),
        "choices": _CHOICES,
        "ages": {age: words for age, (words, _) in _AGES.items()},
        "is_first": not cursor,
    }
    return View("memory/browse.html", found, more)


async def _list(asked: Asked, wanted: Mapping[str, str], selection: Any, cursor: str) -> FoundNotes:
    narrow = any(name in wanted for name in ("trust", "by", "age"))
    if "as_of" not in wanted:
        selection["statuses"] = _given(wanted, "status")
    limit = None if narrow or cursor else _AT_ONCE + 1
    listed = await asked.workspace.memory.list(limit=limit, as_of=wanted.get("as_of"), **selection)
    matching = _matching(listed.headers, wanted)
    total = len(matching) if narrow else listed.total
    rest = _after(matching, cursor) if cursor else matching
    shown = rest[:_AT_ONCE]
    following = _cursor(shown[-1]) if len(rest) > _AT_ONCE else ""
    return FoundNotes(shown, total, following, complete=listed.complete)


def _is_unread(note: object) -> bool:
    """Return whether what a search says is that not every note could be searched."""
    return isinstance(note, IndexBusy)


def _given(wanted: Mapping[str, str], name: str) -> Sequence[str]:
    return [wanted[name]] if name in wanted else []


def _matching(headers: Sequence[NoteHeader], wanted: Mapping[str, str]) -> list[NoteHeader]:
    """Return the notes that are as wanted in what the memory itself has no filter for."""
    chosen = list(headers)
    if trust := wanted.get("trust"):
        chosen = [header for header in chosen if header.trust == trust]
    if by := wanted.get("by"):
        chosen = [header for header in chosen if by in (header.created_by, header.updated_by)]
    if age := wanted.get("age"):
        bound = datetime.now(UTC) - timedelta(days=_AGES[age][1])
        at, is_older = bound.isoformat(timespec="seconds").replace("+00:00", "Z"), age.startswith("-")
        chosen = [header for header in chosen if (_last_change(header) < at) == is_older]
    return chosen


def _last_change(header: NoteHeader) -> str:
    return header.updated_at or header.created_at


def _cursor(header: NoteHeader) -> str:
    return f"{header.pinned:d} {_last_change(header)} {header.id}"


def _after(headers: Sequence[NoteHeader], cursor: str) -> Sequence[NoteHeader]:
    """Return the notes after one of an earlier page, or after its place if it was changed meanwhile."""
    parts = cursor.split(" ")
    if len(parts) != 3:
        raise ConfigError("this address of a page of notes is incomplete; begin with the first page")
    for place, header in enumerate(headers):
        if _cursor(header) == cursor:
            return headers[place + 1 :]
    return [header for header in headers if (f"{header.pinned:d}", _last_change(header)) < (parts[0], parts[1])]


async def _frame(asked: Asked) -> dict[str, Any]:
    """Return what every page of memory shows: how many proposals wait, and whether its visitor may change anything."""
    waiting = len(await asked.workspace.memory.proposals())
    return {"waiting": waiting, "may_write": "write" in asked.token.scopes}


# One note


async def show(asked: Asked) -> View:
    """Show a note, or with ``rev`` an earlier text of it."""
    if rev := asked.query.get("rev", ""):
        return await _show_past(asked, rev)
    note = await _note(asked)
    newest = (await asked.workspace.memory.list(limit=_MAX_ALIKE)).headers
    others = [header for header in newest if header.id != note.header.id]
    pairs = find_alike([note.header, *others]) if note.header.status == "active" else []
    alike = [
        pair.older if pair.newer.id == note.header.id else pair.newer
        for pair in pairs
        if note.header.id in {pair.newer.id, pair.older.id}
    ]
    shown = ShownNote(note, await _answers(asked, note.header), alike)
    return View("memory/note.html", shown, {**await _frame(asked), "body": _without_title(note), "past": None})


async def _show_past(asked: Asked, rev: str) -> View:
    changes = await asked.workspace.memory.history(asked.parts["key"])
    past = next((change for change in reversed(changes) if change.rev == rev and change.text is not None), None)
    if past is None or past.text is None:
        raise UnknownNoteError("the note has no such text; its history shows which there were")
    note = read_note(as_bytes(past.text), past.path, Ownership("project", id=past.note, trust=past.trust))
    more = {**await _frame(asked), "body": _without_title(note), "past": past}
    return View("memory/note.html", ShownNote(note), more)


async def _note(asked: Asked) -> Note:
    note = await asked.workspace.memory.get(asked.parts["key"])
    if note is None:
        raise UnknownNoteError("there is no such note: it was forgotten or removed, or its address is wrong")
    return note


async def _answers(asked: Asked, header: NoteHeader) -> Audit | None:
    try:
        found = await asked.workspace.threads.audit(header.address, limit=_MAX_ANSWERS)
    except SourceError:
        return None
    return replace(found, rows=tuple(row for row in found.rows if row.how != "name"))


def _without_title(note: Note) -> str:
    """Return the text of a note without a heading that repeats its title."""
    first, _, rest = note.body.lstrip().partition("\n")
    return rest if first.startswith("#") and first.strip("# ").strip() == note.header.title else note.body


async def show_history(asked: Asked) -> View:
    """Show the changes of a note, and one of them in full: the last, or ``number``."""
    memory, key = asked.workspace.memory, asked.parts["key"]
    changes = [change for change in reversed(await memory.history(key)) if change.kind != "forget"]
    if not changes:
        raise UnknownNoteError("nothing of this note is left: it was forgotten")
    given = asked.query.get("number", "")
    number = asked.number("number", given) if given else changes[0].number
    value = NoteHistory(changes, number, await memory.diff(key, number=number))
    note = await memory.get(key)
    more = {**await _frame(asked), "key": changes[0].note, "note": note, "title": _title(note, changes)}
    return View("memory/history.html", value, more)


def _title(note: Note | None, changes: Sequence[NoteChange]) -> str:
    """Return the title of a note, also of one whose file is gone."""
    if note is not None:
        return note.header.title
    text, path = next(((change.text, change.path) for change in changes if change.text is not None), ("", ""))
    return read_note(as_bytes(text or ""), path, Ownership("project")).header.title


async def undo(asked: Asked) -> Redirect:
    """Undo the last change of a note, or restore it as of the change ``number``."""
    given = asked.form.get("number", "")
    number = asked.number("number", given) if given else None
    note = await asked.workspace.memory.undo(asked.parts["key"], number=number)
    return _to(asked, note)


async def archive(asked: Asked) -> Redirect:
    """Archive a note."""
    return _to(asked, await asked.workspace.memory.archive(asked.parts["key"]))


async def restore(asked: Asked) -> Redirect:
    """Restore an archived note."""
    return _to(asked, await asked.workspace.memory.restore(asked.parts["key"]))


async def replace_older(asked: Asked) -> Redirect:
    """Say that a note replaces another, which is true no longer."""
    old = asked.form.get("old", "")
    if not old:
        raise ConfigError("say which note is replaced")
    note = await asked.workspace.memory.write(id=asked.parts["key"], supersedes=old)
    return Redirect(asked.url("/memory/review")) if asked.form.get("back") else _to(asked, note)


def _to(asked: Asked, note: Note) -> Redirect:
    return Redirect(asked.url("/memory/notes", note.header.id))


# Writing


async def ask_new(asked: Asked) -> View:
    """Show the form of a new note."""
    return await _form(asked, None, Typed(content=asked.query.get("content", ""), kind="project", audience="private"))


async def write_new(asked: Asked) -> View | Redirect:
    """Write a new note."""
    return await _save(asked, None, _typed(asked.form))


async def ask_changes(asked: Asked) -> View:
    """Show the form of a note."""
    note = await _note(asked)
    return await _form(asked, note, _stored(note), since=asked.query.get("since", ""))


async def change(asked: Asked) -> View | Redirect:
    """Change a note. Whatever goes wrong, nothing that was typed is lost."""
    typed = _typed(asked.form)
    note = await asked.workspace.memory.get(asked.parts["key"])
    if note is None:
        gone = "This note was removed meanwhile. Nothing of what you wrote is lost: save it as a new note."
        return await _form(asked, None, typed, problem=gone, status=404)
    return await _save(asked, note, typed)


async def _save(asked: Asked, note: Note | None, typed: Typed) -> View | Redirect:
    if asked.form.get("do") == "preview":
        return await _form(asked, note, typed, preview=True)
    write = asked.workspace.memory.write
    try:
        if note is None:
            saved = await write(typed.content, reason=typed.reason, **_changes(typed, None))
        else:
            given = _changes(typed, note.header)
            saved = await write(typed.content, id=note.header.id, if_rev=typed.rev, reason=typed.reason, **given)
    except NoteConflictError as error:
        current: Note | None = error.current or note
        known = replace(typed, rev=current.header.rev if current else "")
        return await _form(asked, current, known, conflict=current is not None, status=409)
    except PromptuaryError as error:
        problem = problem_of(error)
        return await _form(asked, note, typed, problem=asked.hide(problem.detail), status=problem.status)
    return _to(asked, saved)


def _typed(form: Mapping[str, str]) -> Typed:
    """Return what was typed; browsers send the line ends of Windows."""
    given = {name: form.get(name, "").replace("\r\n", "\n") for name in Typed.__struct_fields__}
    return Typed(**given)


def _stored(note: Note) -> Typed:
    header = note.header
    return Typed(
        content=note.body.strip("\n"),
        title=header.title,
        kind=header.kind,
        audience=header.audience,
        tags=", ".join(header.tags),
        summary=header.summary,
        valid_from=header.valid_from,
        valid_until=header.valid_until,
        pinned="1" if header.pinned else "",
        rev=header.rev,
        opened=header.title,
    )


def _changes(typed: Typed, header: NoteHeader | None) -> Any:
    """Return the fields that differ from a note: one that is not given stays, and follows the text where it did."""
    given: dict[str, Any] = {
        name: getattr(typed, name).strip()
        for name in ("title", "kind", "audience", "summary", "valid_from", "valid_until")
    }
    given |= {"tags": _tags(typed), "pinned": bool(typed.pinned)}
    if header is None:
        return {name: value for name, value in given.items() if value}
    is_same = {name for name, value in given.items() if value == getattr(header, name)}
    is_same |= {"title"} if given["title"] == typed.opened else set()
    kept = {"title", "kind", "audience"}
    return {name: value for name, value in given.items() if name not in is_same and (value or name not in kept)}


def _tags(typed: Typed) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, typed.tags.split(","))))


async def _form(asked: Asked, note: Note | None, typed: Typed, *, status: int = 200, **about: Any) -> View:
    state: dict[str, Any] = {"problem": "", "conflict": False, "preview": False, "since": ""} | about
    more = {
        **await _frame(asked),
        **state,
        "note": note,
        "typed": typed,
        "theirs": _marked_lines(note.body.strip("\n"), typed.content) if note and state["conflict"] else (),
        "kinds": KINDS,
        "audiences": AUDIENCES,
    }
    return View("memory/edit.html", {"note": note, "typed": typed, **state}, more, status)


def _marked_lines(text: str, other: str) -> Sequence[tuple[str, bool]]:
    """Return the lines of a text, and whether each differs from another text."""
    lines, others = text.splitlines(), other.splitlines()
    if max(len(lines), len(others)) > _MAX_LINES:
        return [(line, False) for line in lines]
    same = {
        block.a + at for block in SequenceMatcher(None, lines, others).get_matching_blocks() for at in range(block.size)
    }
    return [(line, place not in same) for place, line in enumerate(lines)]


# Forgetting


async def ask_forget(asked: Asked) -> View:
    """Ask whether a note is to be forgotten."""
    return await _ask_forget(asked, await _note(asked), "")


async def _ask_forget(asked: Asked, note: Note, problem: str, status: int = 200) -> View:
    return View("memory/forget.html", note.header, {**await _frame(asked), "problem": problem}, status)


async def show_reach(asked: Asked) -> View:
    """Show what forgetting a note would reach: everything that was ever said is searched, so this has its own page."""
    note = await _note(asked)
    report = await asked.workspace.memory.forget(note.header.id, dry_run=True)
    return View("memory/reach.html", report, {"note": note.header, "places": _grouped(report)})


async def forget(asked: Asked) -> View:
    """Forget a note for good, if its title or id was typed."""
    note = await _note(asked)
    typed = " ".join(asked.form.get("confirm", "").split())
    if typed not in {note.header.id, " ".join(note.header.title.split())}:
        return await _ask_forget(asked, note, "What you typed is neither the title nor the id of this note.", 422)
    report = await asked.workspace.memory.forget(note.header.id, everywhere=bool(asked.form.get("everywhere")))
    return View("memory/forgotten.html", report, {**await _frame(asked), "places": _grouped(report)})


def _grouped(report: ForgetReport) -> Mapping[tuple[str, str], Sequence[int]]:
    """Return the places where the words of a note also are, with the turns of each thread."""
    found: dict[tuple[str, str], list[int]] = {}
    for place in report.places:
        found.setdefault((place.kind, place.name), []).append(place.turn)
    return found


# Proposals


async def show_proposals(asked: Asked) -> View:
    """Show what is proposed to be remembered."""
    return await _show_proposals(asked)


async def _show_proposals(asked: Asked, problems: Mapping[str, str] = {}, status: int = 200) -> View:
    memory = asked.workspace.memory
    every = await memory.proposals()
    shown = [await _with_note(asked, proposal) for proposal in every[:_AT_ONCE]]
    done = asked.query.get("accepted", "")
    more = {
        **await _frame(asked),
        "total": len(every),
        "problems": problems,
        "accepted": await memory.get(done) if done else None,
        "is_rejected": "rejected" in asked.query,
    }
    return View("memory/proposals.html", shown, more, status)


async def _with_note(asked: Asked, proposal: Proposal) -> ShownProposal:
    note = await asked.workspace.memory.get(proposal.draft.id) if proposal.draft.id else None
    if note is None:
        return ShownProposal(proposal)
    if proposal.action == "archive" or proposal.draft.content is None:
        return ShownProposal(proposal, note.header)
    old, new = (text.strip("\n").splitlines() for text in (note.body, proposal.draft.content))
    diff = "\n".join(unified_diff(old, new, lineterm="", n=2))
    return ShownProposal(proposal, note.header, diff)


async def accept(asked: Asked) -> View | Redirect:
    """Accept a proposal."""
    proposal = await _proposal(asked)
    try:
        note = await asked.workspace.memory.accept(proposal.id)
    except NoteConflictError:
        told = (
            "The note has changed since this was proposed. Below is the difference to what it says now: "
            "edit the note itself if some of it is still missing, then reject this."
        )
        return await _show_proposals(asked, {proposal.id: told}, 409)
    return Redirect(asked.url("/memory/proposals", accepted=note.header.id))


async def reject(asked: Asked) -> Redirect:
    """Reject a proposal."""
    await asked.workspace.memory.reject((await _proposal(asked)).id)
    return Redirect(asked.url("/memory/proposals", rejected=1))


async def ask_proposal(asked: Asked) -> View:
    """Show the form of a proposal."""
    proposal = await _proposal(asked)
    draft = proposal.draft
    typed = Typed(
        content=draft.content or "",
        title=draft.title or "",
        kind=draft.kind or "",
        audience=draft.audience or "",
        tags=", ".join(draft.tags or ()),
    )
    return await _proposal_form(asked, proposal, typed)


async def edit_proposal(asked: Asked) -> View | Redirect:
    """Change what a proposal would write, and accept it if asked to."""
    typed, memory = _typed(asked.form), asked.workspace.memory
    try:
        proposal = await _proposal(asked)
    except Refusal:
        gone = "This was accepted or rejected meanwhile. Nothing of what you wrote is lost: save it as a new note."
        return await _form(asked, None, typed, problem=gone, status=404)
    do = asked.form.get("do")
    if do == "preview":
        return await _proposal_form(asked, proposal, typed, preview=True)
    given = _changes(typed, None)
    fields: Any = {name: given[name] for name in ("title", "kind", "audience") if name in given}
    try:
        edited = await memory.edit_proposal(proposal.id, content=typed.content, tags=_tags(typed), **fields)
        if do == "accept":
            note = await memory.accept(edited.id)
            return Redirect(asked.url("/memory/proposals", accepted=note.header.id))
    except PromptuaryError as error:
        problem = problem_of(error)
        return await _proposal_form(asked, proposal, typed, problem=asked.hide(problem.detail), status=problem.status)
    return Redirect(asked.url("/memory/proposals"))


async def _proposal_form(asked: Asked, proposal: Proposal, typed: Typed, *, status: int = 200, **about: Any) -> View:
    more = {
        **await _frame(asked),
        "problem": "",
        "preview": False,
        **about,
        "typed": typed,
        "kinds": KINDS,
        "audiences": AUDIENCES,
    }
    return View("memory/proposal.html", proposal, more, status)


async def _proposal(asked: Asked) -> Proposal:
    for proposal in await asked.workspace.memory.proposals():
        if proposal.id == asked.parts["proposal"]:
            return proposal
    raise Refusal(404, "this proposal is gone: it was accepted or rejected, or its address is wrong")


# What deserves a look


async def review(asked: Asked) -> View:
    """Show notes that say the same or may contradict each other, and those whose words come from elsewhere."""
    listed = await asked.workspace.memory.list(limit=_MAX_ALIKE)
    pairs: Sequence[AlikeNotes] = find_alike(listed.headers)[:_MAX_PAIRS]
    more = {**await _frame(asked), "total": listed.total, "compared": len(listed.headers)}
    return View("memory/review.html", pairs, more)


_NOTE: Final = "/memory/notes/{key}"
_PROPOSAL: Final = "/memory/proposals/{proposal}"
PAGES: Final = (
    Page("GET", "/memory", browse, nav="Memory"),
    Page("GET", "/memory/new", ask_new),
    Page("POST", "/memory/new", write_new, "write"),
    Page("GET", "/memory/review", review),
    Page("GET", _NOTE, show),
    Page("GET", f"{_NOTE}/edit", ask_changes),
    Page("POST", f"{_NOTE}/edit", change, "write"),
    Page("GET", f"{_NOTE}/history", show_history),
    Page("POST", f"{_NOTE}/undo", undo, "write"),
    Page("POST", f"{_NOTE}/archive", archive, "write"),
    Page("POST", f"{_NOTE}/restore", restore, "write"),
    Page("POST", f"{_NOTE}/replace", replace_older, "write"),
    Page("GET", f"{_NOTE}/forget", ask_forget),
    Page("GET", f"{_NOTE}/forget/places", show_reach),
    Page("POST", f"{_NOTE}/forget", forget, "write"),
    Page("GET", "/memory/proposals", show_proposals),
    Page("GET", _PROPOSAL, ask_proposal),
    Page("POST", _PROPOSAL, edit_proposal, "write"),
    Page("POST", f"{_PROPOSAL}/accept", accept, "write"),
    Page("POST", f"{_PROPOSAL}/reject", reject, "write"),
)

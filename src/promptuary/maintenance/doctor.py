"""Checks a workspace: its database, the queue of writeback, and every guarantee about the notes of the principal.

Nothing is reported about what may belong to somebody else: no id, no file name, no count. Repairs lose nothing: they
remove temporary files of killed processes, fix permissions, and rebuild lists and the index.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from msgspec.structs import replace

from promptuary.base.errors import NoteFileError, PromptuaryError
from promptuary.base.principals import Principal
from promptuary.memory.copies import CopyEraser
from promptuary.memory.forget import finish
from promptuary.memory.memory import Memory
from promptuary.memory.note_file import as_text, claimed_owner, owner_label
from promptuary.memory.notebook.external_edits import is_page
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.notebook.ownership import SAME_ID
from promptuary.memory.roots import LEFT_IN_FILES
from promptuary.memory.values import Examination, Finding, FindingCode, Note, NoteFilter
from promptuary.memory.writeback.values import QueuedTurn
from promptuary.state import LEFT_IN_STATE_FILE, StateDatabase
from promptuary.threads.ledger_values import ThreadSize

if TYPE_CHECKING:
    from promptuary.app import App

_EVERY: Final = NoteFilter(statuses=())
_PRIVATE: Final = NoteFilter(audiences=("private",), statuses=())
_LINK: Final = re.compile(r"\]\((?P<path>[^()\s:]{1,500}\.md)(?:#[^()\s]{0,200})?\)")
_WIKI_LINK: Final = re.compile(r"\[\[(?P<name>[^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]{0,200})?\]\]")

_LEFT: Final[Mapping[FindingCode, str]] = {"NOTES_IN_FILES": LEFT_IN_FILES, "STATE_IN_FILE": LEFT_IN_STATE_FILE}
"""What was told when something was opened beside what is used."""

Repair = Callable[[], object]
"""Carries out the advice of a finding."""


def examined(app: "App", *, fix: bool) -> Examination:
    """Return the problems; ``fix`` repairs what can be repaired without loss."""
    state, principal = app.state(create=False), app.principal
    memories = app.memory.erasers(state)
    waiting = state.writeback_queue(principal).waiting()
    has_vectors = app.settings.index == "database" and app.settings.embedder != "none"
    found = [*_of_database(state, has_vectors=has_vectors), *_of_writeback(waiting)]
    counts = Counter({"threads": len(state.threads(principal).threads())})
    if waiting:
        counts["waiting turns"] = len(waiting)
    for number, (thread, (memory, eraser)) in enumerate(memories.items()):
        notes, findings = _of_notes(memory, eraser, fix=fix)
        counts.update(notes)
        found += [replace(one, where=f"thread {thread}: {one.where}") if number else one for one in findings]
    for code, left in _LEFT.items():
        if left in app.notes:
            problem, _, advice = left.partition(": ")
            found.append(Finding(code, problem, advice=f"{advice}."))
    return Examination(list(counts.items()), found, _sizes(state, principal))


def _sizes(state: StateDatabase, principal: Principal) -> Sequence[ThreadSize]:
    """Return the sizes of the threads; empty if the database is damaged, which is reported as a finding."""
    with suppress(PromptuaryError):
        return state.threads(principal).sizes()
    return ()


def _of_database(state: StateDatabase, *, has_vectors: bool) -> Iterator[Finding]:
    try:
        state.verify()
    except PromptuaryError as error:
        yield Finding("DATABASE", str(error), state.name, "Restore it from a backup; files and notes are not lost.")
        return
    for problem, advice in state.database.problems(has_vectors=has_vectors):
        yield Finding("DATABASE", problem, state.name, advice)


def _of_writeback(waiting: Sequence[QueuedTurn]) -> Iterator[Finding]:
    for turn in waiting:
        if turn.tries:
            later = "It will be retried." if turn.due is not None else "It is not retried automatically."
            said = f"the writeback of turn {turn.id} failed: {turn.error}"
            yield Finding("WRITEBACK_FAILED", said, f"thread {turn.thread}", later)


def _of_notes(memory: Memory, eraser: CopyEraser, *, fix: bool) -> tuple[Mapping[str, int], Sequence[Finding]]:
    """Return how many notes there are, and what is wrong with them."""
    counts: dict[str, int] = {}
    findings: list[Finding] = []
    for notebook in memory.notebooks():
        if leftovers := notebook.files.leftovers():
            findings += _repaired([_leftovers(notebook, leftovers)], fix=fix)
    # A change made by hand just now is not a fault of the lists and the index.
    memory.refresh(wait=True)
    memory.settle()
    for notebook in memory.notebooks():
        counts[f"{notebook.scope} notes"] = notebook.view.count(_EVERY)
        findings += _of_files(notebook)
        findings += _of_texts(notebook)
        findings += _repaired(_of_upkeep(memory, notebook), fix=fix)
    findings += _repaired(_of_index(memory), fix=fix)
    findings += _repaired(_of_forgetting(memory, eraser), fix=fix)
    return counts, findings


def _repaired(found: Iterable[tuple[Finding, Repair]], *, fix: bool) -> Iterator[Finding]:
    for finding, repair in found:
        if not fix:
            yield finding
            continue
        try:
            repair()
        except PromptuaryError as error:
            yield replace(finding, advice=f"{finding.advice} It could not be repaired: {error}".strip())
        else:
            yield replace(finding, fixed=True)


def _leftovers(notebook: Notebook, count: int) -> tuple[Finding, Repair]:
    said = f"{count} temporary files were left by a process that was killed"
    return Finding("LEFTOVERS", said, notebook.scope, "The next write removes them.", fixable=True), notebook.clean


def _of_files(notebook: Notebook) -> Iterator[Finding]:
    """Yield what is wrong with the files themselves: their owners, and files that are not notes."""
    unadopted = {one.id for one in notebook.journal.unadopted()}
    shown = {one.id: one for one in notebook.unadopted()}
    for header in shown.values():
        doubled = header.problem == SAME_ID
        code: FindingCode = "DUPLICATE_ID" if doubled else "UNADOPTED"
        said = f"nobody here wrote this {header.audience} {'list' if is_page(header.path) else 'note'}"
        said = "its id is that of another note" if doubled else said
        yield Finding(
            code, said, _place(notebook, header.path), f"`promptuary memory adopt {header.id}` takes it over."
        )
    if unadopted - shown.keys() and notebook.is_of_this_machine:
        said = "there are private notes that name other people as their owners"
        named = f"`owner: {owner_label(notebook.owner)}`"
        advice = f"If one is yours, write {named} in its file; `promptuary memory adopt` lists it then."
        yield Finding("UNADOPTED", said, _place(notebook, "private"), advice)
    yield from _left_out(notebook)
    tracked = sorted(path for path in notebook.in_git() if path.startswith("private/"))
    advice = "`git rm --cached` it; what is committed stays in the history of git."
    for path in filter(notebook.may_name, tracked):
        yield Finding("TRACKED_BY_GIT", "git tracks this private file", _place(notebook, path), advice)
    if not all(map(notebook.may_name, tracked)) and notebook.is_of_this_machine:
        said = "git tracks private files that may be somebody else's"
        yield Finding("TRACKED_BY_GIT", said, _place(notebook, "private"), advice)
    for header in notebook.view.headers(_PRIVATE):
        yield from _of_owner(notebook, header.path)


def _left_out(notebook: Notebook) -> Iterator[Finding]:
    """Yield files that cannot be notes, by name unless the file may be somebody else's."""
    skipped = notebook.files.skipped()
    alone = notebook.is_alone()
    named = {path: reason for path, reason in skipped.items() if alone or notebook.may_name(path)}
    for path, reason in named.items():
        yield Finding("NOT_A_NOTE", f"it is left out: {reason}", _place(notebook, path), "Move it elsewhere.")
    if skipped.keys() - named.keys() and notebook.is_of_this_machine:
        yield Finding("NOT_A_NOTE", "private files are left out that may be somebody else's", notebook.scope)


def _of_owner(notebook: Notebook, path: str) -> Iterator[Finding]:
    try:
        claimed = claimed_owner(as_text(notebook.files.read(path) or b""))
    except NoteFileError:
        return
    if claimed and claimed != owner_label(notebook.owner):
        said = "the file names another owner than the journal; the journal counts"
        yield Finding("OTHER_OWNER", said, _place(notebook, path), "Change it back.")


def _of_texts(notebook: Notebook) -> Iterator[Finding]:
    """Yield what is wrong with the content of visible notes: front matter, links, and what they supersede."""
    notes = [note for header in notebook.view.headers(_EVERY) if (note := notebook.read(header.id)) is not None]
    paths = {note.header.path for note in notes}
    names = {name.casefold() for note in notes for name in _names(note)}
    ids = {note.header.id for note in notes}
    for note in notes:
        where = _place(notebook, note.header.path)
        if note.header.problem and note.header.problem != SAME_ID:
            yield Finding("UNREADABLE", f"its front matter is not read: {note.header.problem}", where, "Edit it.")
        if note.header.supersedes and note.header.supersedes not in ids:
            yield Finding("BROKEN_LINK", f"it supersedes {note.header.supersedes}, which is not there", where)
        for target in broken_links(note, paths, names):
            yield Finding("BROKEN_LINK", f"it links to {target}, which is not there", where, "Edit it.")


def broken_links(note: Note, paths: "set[str]", names: "set[str]") -> list[str]:
    """Return the broken links of a note: to files eraser it, and to notes by their name or title."""
    folder = PurePosixPath(note.header.path).parent
    found = [
        found["path"]
        for found in _LINK.finditer(note.body)
        if _joined(folder, unquote(found["path"])) not in paths and not found["path"].startswith("/")
    ]
    wiki = [found["name"].strip() for found in _WIKI_LINK.finditer(note.body)]
    return [*found, *(name for name in wiki if name.casefold().removesuffix(".md") not in names)]


def _joined(folder: PurePosixPath, link: str) -> str:
    parts: list[str] = []
    for part in (folder / link).parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _names(note: Note) -> tuple[str, ...]:
    return note.header.title, note.header.id, PurePosixPath(note.header.path).stem


def _of_upkeep(memory: Memory, notebook: Notebook) -> Iterator[tuple[Finding, Repair]]:
    """Yield faults of the program itself."""
    for path in notebook.files.exposed():
        finding = Finding(
            "EXPOSED", "others on this machine may read it", _place(notebook, path), "chmod go-rwx", fixable=True
        )
        yield finding, notebook.files.protect
    pages = memory.pages(notebook)
    for path in pages.outdated():
        finding = Finding(
            "LIST_OUTDATED",
            "the list does not match the notes",
            _place(notebook, path),
            "It is rebuilt.",
            fixable=True,
        )
        yield finding, pages.refresh


def _of_index(memory: Memory) -> Iterator[tuple[Finding, Repair]]:
    if not memory.search.is_current():
        finding = Finding(
            "INDEX_OUTDATED", "the index of notes does not match the files", advice="It is rebuilt.", fixable=True
        )
        yield finding, memory.search.rebuild


def _of_forgetting(memory: Memory, eraser: CopyEraser) -> Iterator[tuple[Finding, Repair]]:
    if unfinished := eraser.ledger.unfinished():
        said = f"something may be left of notes that are being forgotten: {', '.join(unfinished)}"
        advice = "Check the disk: forgetting them failed. It is finished when the notes are next opened."
        yield Finding("FORGETTING_UNFINISHED", said, advice=advice, fixable=True), lambda: finish(memory, eraser)


def _place(notebook: Notebook, path: str) -> str:
    return f"{notebook.scope}/{path}"

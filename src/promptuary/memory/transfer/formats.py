"""The formats of other memories: recognises which program wrote a folder of Markdown files, and parses its notes. Pure.

Every format is read as its program writes it: Xpert's file memory, the memory folders of Claude Code and Codex,
basic-memory, our own folders, and plain Markdown. Text that a model wrote there stays text of an agent here.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.base.front_matter import NoteText, parse
from promptuary.memory.note_file import Ownership, as_bytes, claimed_owner, normal_time, read_note
from promptuary.memory.values import (
    KINDS,
    LEGACY_KINDS,
    SCOPES,
    Audience,
    ForeignForm,
    Note,
    NoteDraft,
    NoteHeader,
    NoteKind,
    NoteTrust,
)

FORMS: Final[tuple[ForeignForm, ...]] = get_args(ForeignForm)

_XPERT: Final = re.compile(r"(?:^|/)xperts/([^/]+)/((?:private|shared)/[^/]+/[^/]+\.md)$")
_OWN: Final = re.compile(
    r"(?:^|/)(?:(project|user)/)?((?:private|shared)/(?:user|feedback|project|reference|profile|qa)/[^/]+\.md)$"
)
_CODEX: Final = ("raw_memories.md", "memory_summary.md")
_LOGS: Final = ("rollout_summaries/", "raw_memories.md")
_ONLY_A_LINK: Final = re.compile(r"\s*[-*+]\s+\[[^\]\n]{0,500}\]\([^)\n]{0,1000}\)[^\n]*")
_HEADING: Final = re.compile(r"^(#{1,2})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_MAX_SOURCE: Final = 200
_BY_PATH: Final[tuple[ForeignForm, ...]] = ("claude-code", "codex", "basic-memory", "markdown")
"""Formats that identify a note by its path, which is unique only within its folder."""
_NESTED_TYPE: Final = re.compile(r"[ \t]+type:[ \t]*(\w{1,20})[ \t]*")


class ForeignNote(Struct, frozen=True):
    """A note of another memory: its path there, its content, and its claimed owner.

    ``original`` is the note itself if Promptuary wrote it: then it can be taken over unchanged.
    """

    path: str
    draft: NoteDraft
    owner: str = ""
    original: Note | None = None


class ForeignMemory(Struct, frozen=True):
    """What a folder holds: its format, the notes, and the files that are not notes, each with the reason."""

    form: ForeignForm
    notes: Sequence[ForeignNote] = ()
    skipped: Mapping[str, str] | None = None


def form_of(files: Mapping[str, str]) -> ForeignForm:
    """Return which program wrote these files, which are texts by path."""
    names = {path.rpartition("/")[2] for path in files}
    if any(_XPERT.search(path) for path in files):
        return "xpert"
    if any(_OWN.search(path) for path in files):
        return "promptuary"
    if names.intersection(_CODEX):
        return "codex"
    if "MEMORY.md" in names:
        return "claude-code"
    if any(parse(text).value("permalink") for text in files.values()):
        return "basic-memory"
    return "markdown"


def read_memory(files: Mapping[str, str], form: ForeignForm | None = None, folder: str = "") -> ForeignMemory:
    """Return the notes in ``files``, which are texts by path, as the program of ``form`` writes them.

    ``folder`` identifies their folder: files with the same name in two folders are two notes.
    """
    chosen = form or form_of(files)
    notes: list[ForeignNote] = []
    skipped: dict[str, str] = {}
    for path, text in sorted(files.items()):
        try:
            found = [note for note in _READERS[chosen](path, text) if (note.draft.content or "").strip()]
        except PromptuaryError as error:
            skipped[path] = str(error)
            continue
        notes += [_in_folder(match, folder) for match in found] if chosen in _BY_PATH else found
        if not found:
            skipped[path] = "it has no text that could be a note"
    return ForeignMemory(chosen, notes, skipped)


def _in_folder(note: ForeignNote, folder: str) -> ForeignNote:
    program, _, place = (note.draft.source_ref or "").partition(":")
    source = f"{program}:{folder}/{place}"[:_MAX_SOURCE]
    return replace(note, draft=replace(note.draft, source_ref=source)) if folder else note


def _xpert(path: str, text: str) -> Iterator[ForeignNote]:
    if found := _XPERT.search(path):
        note = read_note(as_bytes(text), found[2], Ownership("project"))
        content = _without_section(_without_title(note.body, note.header.title))
        trust: NoteTrust = "person" if note.header.source == "manual" else "agent"
        owner = parse(text).value("ownerUserId")
        draft = _draft(note.header, content, f"xpert:{note.header.id}", trust)
        yield ForeignNote(path, draft, owner if isinstance(owner, str) else "")


def _promptuary(path: str, text: str) -> Iterator[ForeignNote]:
    if found := _OWN.search(path):
        scope = next((known for known in SCOPES if known == found[1]), None)
        note = read_note(as_bytes(text), found[2], Ownership(scope or "project"))
        source = note.header.source_ref or f"promptuary:{note.header.id}"
        draft = replace(_draft(note.header, note.body, source, note.header.trust), scope=scope)
        yield ForeignNote(path, draft, claimed_owner(text) if note.header.audience == "private" else "", note)


def _claude_code(path: str, text: str) -> Iterator[ForeignNote]:
    if path.rpartition("/")[2] == "MEMORY.md":
        # It lists the other files; what is more than a list was written for the model to read.
        kept = "\n".join(line for line in text.splitlines() if not _ONLY_A_LINK.fullmatch(line))
        yield from _sections(path, kept, "claude-code")
        return
    document = parse(text)
    title, summary = (_text(document.value(*names)) for names in (("name", "title"), ("description",)))
    kind = _text(document.value("type")) or _nested_type(document)
    body = document.body.strip()
    yield ForeignNote(
        path,
        NoteDraft(
            body,
            title=title or None,
            summary=summary or None,
            kind=_kind(kind),
            source="import",
            source_ref=_source("claude-code", path),
            trust="agent",
        ),
    )


def _nested_type(document: NoteText) -> str:
    """Return the type of a note that has it below ``metadata``, as later versions do."""
    if (field := document.fields.get("metadata")) is None:
        return ""
    found = (_NESTED_TYPE.fullmatch(line.rstrip("\r\n")) for line in document.lines[field.first + 1 : field.end])
    return next((match[1] for match in found if match), "")


def _codex(path: str, text: str) -> Iterator[ForeignNote]:
    if any(name in path for name in _LOGS):
        raise PromptuaryError("it is a log, whose notes are in MEMORY.md")
    yield from _sections(path, text, "codex")


def _basic_memory(path: str, text: str) -> Iterator[ForeignNote]:
    document = parse(text)
    header = read_note(as_bytes(text), f"private/reference/{path.replace('/', '-')}", Ownership("project")).header
    link = _text(document.value("permalink")) or path
    created = normal_time(_text(document.value("created", "created_at")))
    draft = _draft(header, document.body.strip(), f"basic-memory:{link}", "person")
    yield ForeignNote(path, replace(draft, kind="reference", created_at=created or None))


def _markdown(path: str, text: str) -> Iterator[ForeignNote]:
    note = read_note(as_bytes(text), f"private/reference/{path.replace('/', '-')}", Ownership("project"))
    yield ForeignNote(path, _draft(note.header, note.body, _source("markdown", path), "person"))


_READERS: Final[Mapping[ForeignForm, Callable[[str, str], Iterator[ForeignNote]]]] = {
    "promptuary": _promptuary,
    "xpert": _xpert,
    "claude-code": _claude_code,
    "codex": _codex,
    "basic-memory": _basic_memory,
    "markdown": _markdown,
}


def _draft(header: NoteHeader, content: str, source: str, trust: NoteTrust) -> NoteDraft:
    audience: Audience | None = header.audience if header.path.startswith("shared/") else None
    return NoteDraft(
        content,
        title=header.title,
        kind=header.kind,
        audience=audience,
        status=header.status,
        summary=header.summary or None,
        tags=header.tags or None,
        source="import",
        source_ref=source[:_MAX_SOURCE],
        valid_from=header.valid_from or None,
        valid_until=header.valid_until or None,
        pinned=header.pinned or None,
        confidence=header.confidence if header.confidence < 1 else None,
        trust=trust,
        created_at=header.created_at or None,
        updated_at=header.updated_at or None,
    )


def _sections(path: str, text: str, program: str) -> Iterator[ForeignNote]:
    """Yield each section of a page as a note: by first-level headings, or by second-level ones if there is only one."""
    body = parse(text).body
    headings = list(_HEADING.finditer(body))
    firsts = [match for match in headings if len(match[1]) == 1]
    chosen = firsts if len(firsts) > 1 else [match for match in headings if len(match[1]) == 2] or firsts
    ends = [*(match.start() for match in chosen[1:]), len(body)]
    if not chosen and body.strip():
        yield _section(path, path.rpartition("/")[2].removesuffix(".md"), body, program)
    for heading, end in zip(chosen, ends, strict=False):
        yield _section(path, heading[2].rstrip("# ").strip(), body[heading.end() : end], program)


def _section(path: str, title: str, content: str, program: str) -> ForeignNote:
    draft = NoteDraft(
        content.strip(),
        title=title,
        kind="feedback" if "preference" in title.lower() else None,
        source="import",
        source_ref=_source(program, f"{path}#{title}"),
        trust="agent",
    )
    return ForeignNote(path, draft)


def _without_title(body: str, title: str) -> str:
    first, _, rest = body.lstrip().partition("\n")
    return rest if first.lstrip("# ").strip() == title and first.startswith("# ") else body


def _without_section(body: str) -> str:
    """Return the text without the heading that the program puts above what was written."""
    first, _, rest = body.lstrip().partition("\n")
    return rest.strip() if first.startswith("## ") else body.strip()


def _kind(name: str) -> NoteKind | None:
    plain = name.lower()
    return next((kind for kind in KINDS if kind == plain), LEGACY_KINDS.get(plain))


def _text(value: str | tuple[str, ...] | None) -> str:
    return value.strip() if isinstance(value, str) else ""


def _source(program: str, path: str) -> str:
    return f"{program}:{path}"[:_MAX_SOURCE]

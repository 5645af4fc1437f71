"""The file of a note: parses bytes to a ``Note``, and turns a change of a note into bytes.

A file that a person wrote by hand is a note, too: missing front matter has defaults, and present front matter is used
only where it can do no harm. The folder decides the audience; the journal decides the owner; dates come from the front
matter, never from the file system. Keys of the seed's memory (``ownerUserId``, ``semanticKind``, ``createdAt`` …) are
read and, where a file has them, written.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TypeVar, get_args

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.front_matter import NewValue, NoteText, parse
from promptuary.base.principals import NoteScope, Owner
from promptuary.base.text import valid_unicode, with_unix_lines
from promptuary.memory.secret_texts import has_secret, without_secrets
from promptuary.memory.values import (
    KINDS,
    LEGACY_KINDS,
    STATUSES,
    Audience,
    Note,
    NoteHeader,
    NoteKind,
    NoteSource,
    NoteTrust,
    folder_name,
    is_note_id,
)

MAX_NOTE: Final = 1024 * 1024
"""The most bytes of a note's file."""

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "owner": ("owner", "ownerUserId"),
    "kind": ("semanticKind", "kind"),
    "created_at": ("created_at", "createdAt"),
    "created_by": ("created_by", "createdBy"),
    "updated_at": ("updated_at", "updatedAt"),
    "updated_by": ("updated_by", "updatedBy"),
    "source_ref": ("source_ref", "sourceRef"),
    "valid_from": ("valid_from", "validFrom"),
    "valid_until": ("valid_until", "validUntil"),
}
"""Keys with aliases; the first one that a file has counts."""

_MAX_LENGTH: Final[Mapping[str, int]] = {"title": 200, "summary": 500}
_MAX_TEXT: Final = 200
_MAX_NAME: Final = 100
_MAX_TAGS: Final = 50
_MAX_HEADING_SEARCH: Final = 65_536
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(\S[^\n]*)", re.MULTILINE)
_END_OF_A_SENTENCE: Final = ".!?…。！？;:, "

Choice = TypeVar("Choice", bound=str)


class Ownership(Struct, frozen=True):
    """What is decided outside a file: its id, its owner, whether it came from elsewhere, and whose words it holds.

    Without an ``id``, the file's own is used. Without ``trust``, too: only for a file that this program wrote, or that
    is the person's own.
    """

    scope: NoteScope
    owner: Owner | None = None
    external: bool = False
    id: str | None = None
    trust: NoteTrust | None = None


def rev_of(data: bytes) -> str:
    """Return the revision of a file: the SHA-256 of its bytes."""
    return hashlib.sha256(data).hexdigest()


def as_text(data: bytes) -> str:
    """Return bytes as text that ``as_bytes`` turns back into the same bytes, even if they are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Return the bytes of what ``as_text`` returned, or of any other text."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return valid_unicode(text).encode()


def claimed_id(data: bytes, path: str) -> str:
    """Return the id in a file, or one derived from its path."""
    found = parse(as_text(data)).value("id")
    return found if isinstance(found, str) and is_note_id(found) else id_of_path(path)


def id_of_path(path: str) -> str:
    """Return the id for a file that has none of its own."""
    return f"f-{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def read_note(data: bytes, path: str, standing: Ownership) -> Note:
    """Parse a file as a note. Never fails: what is wrong with the file is in the header's ``problem``."""
    text = as_text(data)
    document = parse(text)
    body = _body(document)
    title = _line(document, "title") or _title_of_body(body) or _title_of_path(path)
    shown = [title, _line(document, "summary"), *_tags(document)]
    if has_secret("\n".join(shown)):  # written by hand; titles are in lists, prompts and the journal
        shown = list(map(without_secrets, shown))
    audience: Audience = "shared" if path.startswith("shared/") else "private"
    header = NoteHeader(
        id=standing.id or claimed_id(data, path),
        path=path,
        scope=standing.scope,
        audience=audience,
        kind=_kind(document, path),
        title=shown[0],
        rev=rev_of(data),
        owner=standing.owner,
        status=_choice(document, "status", STATUSES, "active"),
        summary=shown[1],
        tags=tuple(shown[2:]),
        created_at=_time(document, "created_at"),
        created_by=_line(document, "created_by"),
        updated_at=_time(document, "updated_at") or _time(document, "created_at"),
        updated_by=_line(document, "updated_by"),
        source=_choice(document, "source", get_args(NoteSource), "manual"),
        source_ref=_line(document, "source_ref"),
        valid_from=_time(document, "valid_from"),
        valid_until=_time(document, "valid_until"),
        supersedes=_id(document, "supersedes"),
        pinned=_line(document, "pinned").lower() in {"true", "yes", "on", "1"},
        confidence=_confidence(document),
        trust="external" if standing.external else standing.trust or _trust(document),
        external=standing.external,
        fingerprint=fingerprint(title, body),
        problem=document.problem or ("it is not UTF-8" if _is_broken(text) else ""),
    )
    return Note(header, body, text)


def note_as(header: NoteHeader, data: bytes) -> Note:
    """Parse a file whose header is known because it was made from exactly these bytes."""
    text = as_text(data)
    return Note(header, _body(parse(text)), text)


def write_new(content: str, values: Mapping[str, NewValue]) -> bytes:
    """Return the file of a new note; ``values`` are those of its front matter, in this order."""
    return _check_size(NoteText("", (), _as_body(content, "\n")).with_values(values))


def rewrite(text: str, values: Mapping[str, NewValue], content: str | None = None) -> bytes:
    """Return a file with new values and, if ``content`` is given, a new body; the rest is preserved byte for byte."""
    document = parse(text)
    if content is not None and (document.problem or content != _body(document)):
        document = document.with_body(_as_body(content, document.newline))
    names = {_format_key(document, key): value for key, value in values.items()}
    return _check_size(document.with_values(names))


def fingerprint(title: str, body: str) -> str:
    """Return the fingerprint of a note's content; the title counts unless it is the beginning of the text."""
    said, named = _normal(body), _normal(title)
    if not said:
        return ""
    whole = said if said.startswith(named) else f"{named}\n{said}"
    return hashlib.sha256(whole.encode()).hexdigest()[:24]


def owner_label(owner: Owner) -> str:
    """Return how a file names its owner, for people. No two owners of an agent have the same label."""
    name = owner.name
    is_plain = ":" not in name and name == " ".join(name.split()) and len(name) <= _MAX_NAME
    if owner.kind == "user" and is_plain:
        return name
    return f"{owner.kind}:{name if is_plain else folder_name(name)}"


def claimed_owner(text: str) -> str:
    """Return the owner that a file names. Nothing relies on it."""
    return _line(parse(text), "owner")


def claimed_trust(text: str) -> NoteTrust:
    """Return whose words a file says that it holds."""
    return _trust(parse(text))


def _trust(document: NoteText) -> NoteTrust:
    return _choice(document, "trust", get_args(NoteTrust), "person")


def _check_size(document: NoteText) -> bytes:
    data = as_bytes(document.text)
    if len(data) > MAX_NOTE:
        raise PromptuaryError(f"a note may have {MAX_NOTE:,} bytes, and this one would have {len(data):,}; write less")
    return data


def _body(document: NoteText) -> str:
    return valid_unicode(with_unix_lines(document.body)).strip("\n").rstrip()


def _as_body(content: str, newline: str) -> str:
    text = with_unix_lines(valid_unicode(content)).strip("\n").rstrip()
    return f"\n{text}\n".replace("\n", newline) if text else ""


def _format_key(document: NoteText, key: str) -> str:
    return next((name for name in _KEYS.get(key, ()) if name in document.fields), key)


def _value(document: NoteText, key: str) -> str | tuple[str, ...]:
    return document.value(*_KEYS.get(key, (key,))) or ""


def _line(document: NoteText, key: str) -> str:
    """Return a value as one short line."""
    found = _value(document, key)
    if not found:
        return ""
    text = found if isinstance(found, str) else ", ".join(found)
    return valid_unicode(" ".join(text[:4_000].split())[: _MAX_LENGTH.get(key, _MAX_TEXT)])


def _choice(document: NoteText, key: str, choices: tuple[Choice, ...], default: Choice) -> Choice:
    found = _line(document, key).lower()
    return next((choice for choice in choices if choice == found), default)


def _kind(document: NoteText, path: str) -> NoteKind:
    """Return the kind in a file, else that of its folder."""
    for name in (_line(document, "kind").lower(), _line_of(document, "kind"), path.split("/")[1]):
        kind = next((kind for kind in KINDS if kind == name), LEGACY_KINDS.get(name))
        if kind is not None:
            return kind
    return "reference"


def _line_of(document: NoteText, key: str) -> str:
    found = document.value(key)
    return found.lower() if isinstance(found, str) else ""


def _tags(document: NoteText) -> tuple[str, ...]:
    found = document.value("tags", "tag") or ()
    listed = found.split(",") if isinstance(found, str) else found
    plain = (" ".join(valid_unicode(tag).split()).lstrip("#")[:_MAX_TEXT] for tag in listed)
    return tuple(dict.fromkeys(tag for tag in plain if tag))[:_MAX_TAGS]


def _time(document: NoteText, key: str) -> str:
    """Return a time in UTC, a day unchanged, and an empty text for anything else."""
    return normal_time(_line(document, key))


def normal_time(text: str) -> str:
    """Return a time, ISO 8601, in UTC and to the second; a day stays a day. Anything else is an empty text."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if len(text) <= len("2026-01-31"):
        return found.date().isoformat()
    try:
        in_utc = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except OverflowError:
        return ""
    return in_utc.isoformat(timespec="seconds").replace("+00:00", "Z")


def _id(document: NoteText, key: str) -> str:
    found = _line(document, key)
    return found if is_note_id(found) else ""


def _confidence(document: NoteText) -> float:
    try:
        found = float(_line(document, "confidence")[:20])
    except ValueError:
        return 1.0
    return min(max(found, 0.0), 1.0) if found == found else 1.0  # noqa: PLR0124  (not a number)


def _title_of_body(body: str) -> str:
    found = _HEADING.search(body[:_MAX_HEADING_SEARCH])
    return " ".join(found[1].rstrip("# \t").split())[: _MAX_LENGTH["title"]] if found else ""


def _title_of_path(path: str) -> str:
    name = valid_unicode(path.rsplit("/", 1)[-1]).removesuffix(".md")
    return " ".join(re.split(r"[-_\s]+", name)).strip() or "Note"


def _normal(text: str) -> str:
    folded = unicodedata.normalize("NFKC", valid_unicode(text)).casefold()
    return " ".join(folded.split()).rstrip(_END_OF_A_SENTENCE)


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False

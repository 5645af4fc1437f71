"""The state of tracked files: values, transitions and their JSON. Pure.

``reader`` reads the files and reports an ``Observation`` for each; ``transition`` decides what it means. The folder to
which paths are relative is not part of the state: a thread may be moved to another machine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.base.values import Json
from promptuary.layers.tracked.base import Base
from promptuary.layers.tracked.base import from_json as base_from_json
from promptuary.layers.tracked.base import to_json as base_json
from promptuary.layers.tracked.links import with_slug
from promptuary.references.selection import FilePart
from promptuary.workspace.disk.root import display_path, normalise

MAX_ASKED = 500
"""How many characters of the message that named a file are stored."""

# These codes mean that something exists at the path; the others leave that open.
_PROVES_EXISTENCE = frozenset(
    {Code.FILE_TOO_LARGE, Code.SYMLINK, Code.BINARY, Code.NOT_A_FILE, Code.BAD_RANGE, Code.NO_MATCH, Code.OTHER_DEVICE}
)


FileState = Literal["ok", "empty", "missing", "deleted", "error"]
"""``missing``: it never existed; ``deleted``: it existed before."""


class TrackedFile(Struct, frozen=True):
    """A tracked file as it is listed; ``tokens`` is what all of it would cost."""

    path: str
    state: FileState
    code: str
    tokens: int
    score: int
    pinned: bool


class Seen(Struct, frozen=True):
    """The file was read; ``revision`` is the SHA-256 of its bytes."""

    revision: str
    empty: bool = False


class Gone(Struct, frozen=True):
    """Nothing is there."""


class Refused(Struct, frozen=True):
    """Something is or may be there, but cannot be read."""

    code: Code
    reason: str


Observation = Seen | Gone | Refused
"""The result of reading a file once."""


class Condition(Struct, frozen=True):
    """The condition of a file; ``existed`` distinguishes a deleted file from one that never existed."""

    state: FileState = "missing"
    revision: str = ""
    code: str = ""
    reason: str = ""
    existed: bool = False

    @property
    def readable(self) -> bool:
        """Whether there is content to show, even if empty."""
        return self.state in {"ok", "empty"}


def transition(old: Condition, found: Observation) -> tuple[Condition, bool]:
    """Return the new condition, and whether it differs from the old one."""
    new = _after(old, found)
    return new, new != old


def _after(old: Condition, found: Observation) -> Condition:
    match found:
        case Seen(revision, empty):
            return Condition("empty" if empty else "ok", revision, existed=True)
        case Gone():
            return Condition("deleted" if old.existed else "missing", existed=old.existed)
        case Refused(code, reason):
            existed = old.existed or code in _PROVES_EXISTENCE
            return Condition("error", code=code.value, reason=reason, existed=existed)
        case _:
            assert_never(found)


class Tracked(Struct, frozen=True):
    """A file, or with a ``suffix`` (``:10-20``, ``#Name``) a part of one, that is kept in view.

    ``score`` belongs to the revision ``scored``; ``asked`` is the beginning of the message that named the file last.
    """

    path: str
    suffix: str = ""
    condition: Condition = Condition()
    score: int = 0
    why: str = ""
    scored: str = ""
    pinned: bool = False
    asked: str = ""

    @property
    def label(self) -> str:
        """The name of the file in headings and commands."""
        return self.path + self.suffix

    @property
    def priority(self) -> int:
        """The score, if there is something to read."""
        return self.score if self.condition.state == "ok" else 0

    @property
    def weight(self) -> int:
        """Its weight when room is shared: eleven times as much with a score of 100 as with 0, and more if pinned."""
        return 10 + self.priority + (200 if self.pinned else 0)

    @property
    def needs_score(self) -> bool:
        """Whether the content has changed since it was scored."""
        return self.condition.state == "ok" and self.scored != self.condition.revision


class Tracking(Struct, frozen=True):
    """All tracked files of a thread, in the order in which they were named.

    ``slugs`` includes files that are no longer tracked: links in old messages must never lead to another file.
    ``turned_away`` are the files that the last message named beyond the limit. ``base`` is what the last request showed
    of the files, and ``sending`` what this one shows, if different: recall may be called several times, and the last
    call counts.
    """

    files: tuple[Tracked, ...] = ()
    slugs: Mapping[str, str] = field(default_factory=dict)
    turned_away: tuple[str, ...] = ()
    base: Base | None = None
    sending: Base | None = None

    @property
    def outlook(self) -> tuple[object, ...]:
        """Everything that a recall depends on: equal outlooks give equal recalls."""
        files = tuple((file.label, file.condition, file.priority, file.pinned) for file in self.files)
        return (files, self.turned_away)

    @property
    def standing(self) -> str:
        """The hash of what is sent of the files, without changes; empty if it depends on the room."""
        base = self.sending or self.base
        return base.revision if base else ""

    def in_order(self) -> list[Tracked]:
        """Return the files by priority: pinned ones, then by score, then as they were named."""
        return sorted(self.files, key=lambda file: (not file.pinned, -file.priority))


def sent(tracking: Tracking) -> Tracking:
    """Return ``tracking`` after its request was sent: the base that it sent is that of the next request."""
    return replace(tracking, base=tracking.sending, sending=None) if tracking.sending else tracking


def target(reading: FilePart) -> Tracked:
    """Return what ``reading`` means as a file to track; a path that cannot be one stays as written."""
    selection = reading.selection
    heading = f'"{selection.symbol}"' if " " in selection.symbol else selection.symbol
    suffix = f"#{heading}" if selection.symbol else ""
    if selection.ranges:
        suffix = f":{','.join(map(str, selection.ranges))}"
    return Tracked(_normal(reading.path), suffix)


def _normal(path: str) -> str:
    try:
        return normalise(path)
    except SourceError:
        return path


def added(tracking: Tracking, targets: Iterable[Tracked], limit: int) -> Tracking:
    """Return ``tracking`` with ``targets``, each once, as long as there are no more than ``limit``."""
    files = {file.label: file for file in tracking.files}
    slugs = dict(tracking.slugs)
    turned_away: dict[str, None] = {}
    for one in targets:
        if one.label in files:
            files[one.label] = replace(files[one.label], asked=one.asked or files[one.label].asked)
        elif len(files) >= limit:
            turned_away[one.label] = None
        else:
            files[one.label] = one
            slugs = with_slug(slugs, one.label)
    return replace(tracking, files=tuple(files.values()), slugs=slugs, turned_away=tuple(turned_away))


def observed(tracking: Tracking, found: Sequence[Observation]) -> Tracking:
    """Return ``tracking`` after one observation of each of its files, in order."""
    files = tuple(_seen(file, one) for file, one in zip(tracking.files, found, strict=True))
    return replace(tracking, files=files)


def _seen(file: Tracked, found: Observation) -> Tracked:
    condition, changed = transition(file.condition, found)
    return replace(file, condition=condition) if changed else file


def scored(tracking: Tracking, scores: Mapping[str, tuple[int, str]]) -> Tracking:
    """Return ``tracking`` with ``scores`` (and reasons) for the current content of its files, by label."""

    def change(file: Tracked) -> Tracked:
        if file.label not in scores:
            return file
        score, why = scores[file.label]
        return replace(file, score=score, why=why, scored=file.condition.revision)

    return _mapped(tracking, change)


def dropped(tracking: Tracking, path: str) -> Tracking:
    """Return ``tracking`` without ``path``; raise ``SourceError`` if it is not tracked."""
    gone = _called(tracking, path)
    return replace(tracking, files=tuple(file for file in tracking.files if file.label not in gone))


def pinned(tracking: Tracking, path: str, *, on: bool) -> Tracking:
    """Return ``tracking`` with ``path`` pinned or unpinned; raise ``SourceError`` if it is not tracked."""
    meant = _called(tracking, path)
    return _mapped(tracking, lambda file: replace(file, pinned=on) if file.label in meant else file)


def _mapped(tracking: Tracking, change: Callable[[Tracked], Tracked]) -> Tracking:
    return replace(tracking, files=tuple(map(change, tracking.files)))


def _called(tracking: Tracking, path: str) -> set[str]:
    """Return the labels that ``path`` means: itself, or every tracked part of the file."""
    wanted = _normal(path.removeprefix("#"))
    exact = {file.label for file in tracking.files if file.label == wanted}
    if found := exact or {file.label for file in tracking.files if file.path == wanted}:
        return found
    known = ", ".join(file.label for file in tracking.files[:8]) or "nothing"
    raise SourceError(Code.NOT_FOUND, f"{display_path(path)} is not tracked; tracked in this thread: {known}.")


def to_json(tracking: Tracking) -> Json:
    return {
        "files": [_to_json(file) for file in tracking.files],
        "slugs": dict(tracking.slugs),
        "turned_away": list(tracking.turned_away),
        "base": base_json(tracking.base),
        "sending": base_json(tracking.sending),
    }


def _to_json(file: Tracked) -> dict[str, object]:
    condition = file.condition
    return {
        "path": file.path,
        "suffix": file.suffix,
        "state": condition.state,
        "sha256": condition.revision,
        "code": condition.code,
        "reason": condition.reason,
        "existed": condition.existed,
        "score": file.score,
        "why": file.why,
        "scored": file.scored,
        "pinned": file.pinned,
        "asked": file.asked,
    }


def from_json(value: Json) -> Tracking:
    """Return the state from its JSON; invalid entries are ignored."""
    fields = value if isinstance(value, dict) else {}
    entries = fields.get("files")
    files = {file.label: file for one in (entries if isinstance(entries, list) else ()) if (file := _from_json(one))}
    labels: dict[str, str] = {}
    known = fields.get("slugs")
    for label, slug in (known if isinstance(known, dict) else {}).items():
        if isinstance(label, str) and isinstance(slug, str):
            labels.setdefault(slug, label)
    slugs = {label: slug for slug, label in labels.items()}
    for label in files:
        slugs = slugs if label in slugs else with_slug(slugs, label)
    away = fields.get("turned_away")
    names = tuple(one for one in away if isinstance(one, str)) if isinstance(away, list) else ()
    base, sending = (base_from_json(fields.get(one)) for one in ("base", "sending"))
    return Tracking(tuple(files.values()), slugs, names, base, sending)


def _from_json(entry: object) -> Tracked | None:
    match entry:
        case {
            "path": str(path),
            "suffix": str(suffix),
            "state": ("ok" | "empty" | "missing" | "deleted" | "error") as state,
            "sha256": str(revision),
            "code": str(code),
            "reason": str(reason),
            "existed": bool(existed),
            "score": int(score),
            "why": str(why),
            "scored": str(scored),
            "pinned": bool(pinned),
            "asked": str(asked),
        }:
            condition = Condition(state, revision, code, reason, existed)
            return Tracked(
                path=path,
                suffix=suffix,
                condition=condition,
                score=min(max(score, 0), 100),
                why=why,
                scored=scored,
                pinned=pinned,
                asked=asked,
            )
        case _:
            return None

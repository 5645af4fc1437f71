"""Queries the ledger by source: which turns a file, a note, an experience, a commit or a page influenced.

People type a path, an id, a hash or a URL; receipts have addresses. This module maps the one to the other. If a source
is not in the ledger, the error says so and names the nearest ones.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.threads.ledger_values import Audit, AuditRow, Origin, SourceUse, listed, only_named
from promptuary.threads.records import Glance, TurnRecord
from promptuary.threads.sources_now import SourcesNow
from promptuary.threads.store.store import ThreadStore
from promptuary.threads.values import UNKNOWN_DRIFT
from promptuary.workspace.disk.current_folder import CurrentFolder

_MOST_NAMES: Final = 100_000
"""The most sources that are searched for near names."""
_NEAR: Final = 5
_HASH: Final = re.compile(r"[0-9a-fA-F]{4,64}")
_PREFIXED: Final = frozenset({"commit", "experience", "memory"})
"""Kinds of sources that people name by a prefix of their hash or id."""


class Auditor:
    """Which turns of one principal a source influenced. ``here`` is the folder that typed paths are relative to."""

    def __init__(self, store: ThreadStore, here: CurrentFolder, now: SourcesNow) -> None:
        self._store, self._here, self._now = store, here, now

    def audit(self, source: str, *, finished_only: bool, limit: int) -> Audit:
        """Do as ``find``; of each turn, also return how it begins, and whether it had only the name of the source."""
        found = self.find(source, finished_only=finished_only, limit=limit)
        glances = self._store.glances({(row.thread, row.number) for row in found.rows})
        rows = (_told(row, glances.get((row.thread, row.number))) for row in found.rows)
        return replace(found, rows=tuple(rows))

    def find(self, source: str, *, finished_only: bool, limit: int) -> Audit:
        """Return the turns that ``source`` influenced; raise ``SourceError`` if it was never in a prompt."""
        addresses = self.addresses(source)
        uses = self._store.uses(addresses, finished_only=finished_only, limit=limit + 1)
        found = tuple(self._rows(uses[:limit]))
        return Audit(tuple(addresses), found, more=len(uses) > limit)

    def sources(self, turn: TurnRecord) -> tuple[AuditRow, ...]:
        """Return what a turn was based on."""
        named = only_named(turn.receipt)
        rows = [_named(row, named) for row in self._rows(self._store.sources(turn.thread, turn.number))]
        lists = dict.fromkeys(listed(turn.receipt, turn.messages))
        uses = [SourceUse(turn.thread, turn.number, turn.created, turn.status, origin) for origin in lists]
        return (*rows, *self._rows(uses))

    def addresses(self, source: str) -> list[str]:
        """Return the addresses in the ledger that ``source`` means; raise ``SourceError`` if there are none."""
        typed = source.strip().removeprefix("@")
        found = self._used(typed)
        if found and not _is_prefix(typed):
            return found
        known = self._store.addresses(_MOST_NAMES)
        found = list(dict.fromkeys((*found, *_begun(typed, known))))
        note = None if found else self._now.note_address(typed)
        found = self._used(note) if note else found
        if not found:
            raise SourceError(Code.NOT_FOUND, _not_used(source, known))
        return found

    def _used(self, typed: str) -> list[str]:
        """Return the addresses that were in a prompt: those of the likeliest meaning of ``typed`` that has any."""
        ways = ([one for one in dict.fromkeys(way) if self._store.uses([one], limit=1)] for way in self._ways(typed))
        return next(filter(None, ways), [])

    def _ways(self, typed: str) -> Iterator[Sequence[str]]:
        """Yield what ``typed`` can mean, likeliest first, each as its possible addresses."""
        if "://" in typed:
            yield [typed, *_of_page(typed.removeprefix("url:"))]
            return
        scheme, _, rest = typed.partition(":")
        path = _of_path(rest) if scheme in {"file", "index"} else ()
        yield [typed, *path, *(f"{kind}:{typed}" for kind in ("memory", "experience", "commit", "git"))]
        with suppress(SourceError):
            for reading in self._here.readings(typed, absolute=True):
                yield [*_of_path(reading), f"folder:{reading}"]
        # A file outside of the workspace, such as one in another indexed folder, has its absolute path as address.
        start = self._here.folder or self._here.roots[0]
        yield _of_path(os.path.normpath(start / typed))
        yield [address for scheme in ("https", "http") for address in _of_page(f"{scheme}://{typed}")]

    def _rows(self, uses: Sequence[SourceUse]) -> Iterator[AuditRow]:
        known: dict[tuple[Origin, str], bool | None] = {}
        now = self._now.at_this_moment()
        for use in uses:
            origin = use.origin
            key = (origin._replace(how="list" if origin.how == "list" else "direct", layer=""), use.thread)
            if key not in known:
                known[key] = _is_current(now, origin, use.thread)
            yield AuditRow(
                thread=use.thread,
                number=use.number,
                created=use.created,
                status=use.status,
                **origin._asdict(),
                current=known[key],
            )


def _told(row: AuditRow, glance: Glance | None) -> AuditRow:
    if glance is None:  # it was removed meanwhile
        return row
    return _named(replace(row, text=glance.text, answer=glance.answer), only_named(glance.receipt))


def _named(row: AuditRow, named: Collection[Origin]) -> AuditRow:
    is_named = Origin(row.source, row.how, row.layer, row.revision, row.lines) in named
    return replace(row, how="name") if is_named else row


def _is_current(now: SourcesNow, origin: Origin, thread: str) -> bool | None:
    if not origin.revision:
        return False
    kind = now.drift(origin, thread=thread)
    return None if kind in UNKNOWN_DRIFT else kind is None


def _of_path(path: str) -> tuple[str, str]:
    return f"file:{path}", f"index:{path}"


def _of_page(url: str) -> tuple[str, ...]:
    """Return the addresses of a page for a typed or copied URL: with or without a final slash or a heading."""
    whole = url.partition("#")[0]
    plain = whole.rstrip("/")
    return tuple(f"url:{one}" for one in (url, whole, plain, f"{plain}/"))


def _is_prefix(typed: str) -> bool:
    """Return whether ``typed`` may be a prefix of a hash or an id."""
    kind, _, rest = typed.rpartition(":")
    return bool(_HASH.fullmatch(rest)) and (not kind or kind in _PREFIXED)


def _begun(typed: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the commits, notes and experiences that ``typed`` is a prefix of, or that are a prefix of it."""
    kind, _, rest = typed.lower().rpartition(":")
    if not _is_prefix(typed):
        return
    for address in known:
        scheme, _, value = address.lower().partition(":")
        if scheme not in _PREFIXED or kind not in {"", scheme}:
            continue
        is_hash = scheme == "commit" and _HASH.fullmatch(value) is not None
        if value.startswith(rest) or (is_hash and rest.startswith(value)):
            yield address


def _not_used(source: str, known: Sequence[str]) -> str:
    if not known:
        return f"{source!r} was in no prompt: no turn has had a source yet"
    names = {address.partition(":")[2] or address: address for address in reversed(known)}
    typed = source.strip().casefold()
    last = {name: PurePosixPath(name).name.casefold() for name in names}
    within = [name for name in names if typed and (typed in name.casefold() or last[name] in typed)]
    near = list(dict.fromkeys((*within, *get_close_matches(source.strip(), list(names), _NEAR, 0.6))))[:_NEAR]
    advice = f"near names: {', '.join(near)}" if near else f"sources that were: {', '.join(list(names)[:_NEAR])}"
    return f"{source!r} was in no prompt of yours; {advice}"

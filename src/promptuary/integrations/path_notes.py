"""Notes that an agent stores under its own names, such as ``projects/x.md``; stores and memory tools share this.

The name is in a tag of the note. A note is the agent's as long as no person has written, shared, pinned, edited or
adopted it: others are not changed here. It is unknown what the model has read, so its text is labelled as external, and
prompts show it so. A removed note is archived: a person can restore it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import PromptuaryError
from promptuary.integrations.conversation import checked_facade

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptuary.blocking import Promptuary
    from promptuary.memory.values import Note, NoteHeader

_LONGEST: Final = 100_000
_LONGEST_NAME: Final = 180
_BY_PERSONS: Final = frozenset({"edit", "adopt"})


class PathNotes:
    """The notes below ``root``, by name."""

    def __init__(self, promptuary: Promptuary, root: str) -> None:
        self.promptuary, self._root = checked_facade(promptuary), f"{root}/"

    def names(self) -> Mapping[str, NoteHeader]:
        """Return every name with its note, in the order of the names."""
        headers = self.promptuary.memory.list()
        named = {tag: one for one in headers for tag in one.tags if tag.startswith(self._root)}
        return {tag.removeprefix(self._root): named[tag] for tag in sorted(named)}

    def name_of(self, header: NoteHeader) -> str | None:
        return next((tag.removeprefix(self._root) for tag in header.tags if tag.startswith(self._root)), None)

    def read(self, name: str) -> Note | None:
        header = next(iter(self.promptuary.memory.list(tags=[self._root + name], limit=1)), None)
        return self.promptuary.memory.get(header.id) if header else None

    def write(self, name: str, text: str) -> Note:
        """Write the note with this name, or create it. Raises ``PromptuaryError`` if it is not the agent's."""
        if name != " ".join(name.split()) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            raise PromptuaryError(f"a name has up to {_LONGEST_NAME} printable characters, not {name[:40]!r}")
        if not text.strip():
            raise PromptuaryError(f"{name!r} would be empty, but a note cannot be: give it some text, or remove it")
        if len(text) > _LONGEST:
            raise PromptuaryError(f"a note has at most {_LONGEST:,} characters, and {name!r} would have {len(text):,}")
        memory, tag = self.promptuary.memory, self._root + name
        known = next(iter(memory.list(tags=[tag], statuses=["active", "archived"], limit=1)), None)
        if known is None:
            return self._created(tag, name, text)
        self.check(known)
        return memory.write(
            text, id=known.id, status="active", if_rev=known.rev, trust="external", reason="by an agent"
        )

    def _created(self, tag: str, title: str, text: str) -> Note:
        """Write a new note.

        Notes with the same words, whatever their case, count as one; here case matters, and so does the name. If such
        a note exists, this one gets a unique title.
        """
        note = self._add(tag, title, text)
        if tag in note.header.tags:
            return note
        return self._add(tag, f"{title} {sha256(tag.encode()).hexdigest()[:8]}", text)

    def _add(self, tag: str, title: str, text: str) -> Note:
        return self.promptuary.memory.write(
            text, title=title, tags=[tag], kind="project", trust="external", reason="by an agent"
        )

    def move(self, header: NoteHeader, name: str) -> Note:
        self.check(header)
        if self.read(name) is not None:
            raise PromptuaryError(f"there is a note {name!r} already")
        tags = [*(tag for tag in header.tags if not tag.startswith(self._root)), self._root + name]
        return self.promptuary.memory.write(id=header.id, title=name, tags=tags, trust="external", reason="renamed")

    def remove(self, header: NoteHeader) -> None:
        self.check(header)
        self.promptuary.memory.archive(header.id, reason="removed by an agent")

    def check(self, header: NoteHeader) -> None:
        """Raise ``PromptuaryError`` if a note has become a person's."""
        now = self.promptuary.memory.get(header.id)
        header = now.header if now is not None else header
        agents = header.source == "tool" and header.trust != "person" and header.audience == "private"
        changes = self.promptuary.memory.history(header.id)
        if not agents or header.pinned or any(one.kind in _BY_PERSONS for one in changes):
            raise PromptuaryError("this note is the person's; only they can change it")

"""Forgetting in ``state.db``: finds the texts that show a note, or say the same, and redacts them.

Above is ``state``; ``storage.redaction`` decides what is a copy of a note, and what replaces it.

The texts of prompts are shared by many turns. One that shows a note keeps its name, so the checksums of the turns stay
valid, and only the texts that name the note are read. What somebody said is redacted in their rows alone, which get
texts of another name: the same words can be said again.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from promptuary.base.messages import Item
from promptuary.context.receipt import receipt_from_json
from promptuary.database.columns import from_column, history_checksum, to_column
from promptuary.database.contents import PART, Contents, mentioned, pack, unpack
from promptuary.database.errors import sound
from promptuary.database.owners import EVERYBODY, Key, OwnedRows
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.memory.redaction import (
    attached_notes,
    holds,
    id_of,
    item_without_blocks,
    item_without_words,
    passages,
    receipt_without,
    state_without,
    without_blocks,
    without_images,
    without_words,
)
from promptuary.memory.values import Place
from promptuary.threads.store import rows
from promptuary.threads.store.prompts import Sent, entries_of, put_entries
from promptuary.threads.store.retention import texts_of
from promptuary.threads.store.store import NOUN

_QUERIES: Final = queries(__package__, "forgetting.sql")
_CONTENTS: Final = queries("promptuary.database", "contents.sql")
_THREADS: Final = queries("promptuary.threads.store", "threads.sql")
_SOURCES: Final = queries("promptuary.threads.store", "sources.sql")


class Forgetting(OwnedRows):
    """Removes the text of notes from a database, for one principal.

    ``address`` names the note (``memory:4f1c…``); ``texts`` are its title, summary and body, of earlier revisions too.
    Each method is idempotent. Removed text may remain in free pages and in the log until ``purge``.
    """

    _queries = _QUERIES

    def begin(self, note: str, *, everywhere: bool) -> None:
        """Record, before anything else is done, that the principal is forgetting a note, ``everywhere`` or not."""
        self._changed("begin_forgetting", {"note": to_column(note), "everywhere": int(everywhere)})

    def unfinished(self) -> Mapping[str, bool]:
        """Return the ids of the notes that the principal has begun to forget, and whether everywhere."""
        with sound(self._database.name):
            return {from_column(note): bool(everywhere) for note, everywhere in self._rows("unforgotten")}

    def end(self, note: str) -> None:
        """Record that a note has been forgotten completely."""
        self._changed("end_forgetting", {"note": to_column(note)})

    def redact_note(self, address: str, texts: Sequence[str] = ()) -> int:
        """Remove a note from the prompts, receipts and states of every owner; return how many texts were changed.

        A mark takes its place, and the turn names the note in ``TurnRecord.forgotten``. What people said is not
        changed. A turn in progress that shows the note does not store it again when it finishes.
        """

        def redact(connection: Connection) -> int:
            return self._told(connection, EVERYBODY, _Note(connection, address, texts).run())

        with sound(self._database.name):
            return self._database.write(redact)

    def places(self, address: str, texts: Sequence[str]) -> Sequence[Place]:
        """Return where else ``texts``, or sentences of them, occur in what the principal owns.

        A whole text is found if it has at least 8 characters, a line or sentence of it if it has at least 20; spacing
        is ignored. Leave out a title that is just a name: it would match wherever the name is used.
        """
        with sound(self._database.name):
            return self._read(lambda connection, owner: _Words(connection, owner, address, texts).places())

    def redact_places(self, address: str, texts: Sequence[str]) -> int:
        """Replace the texts by a mark in all those places; return how many. A proposal to write them is removed."""

        def redact(connection: Connection, owner: Key) -> int:
            # So that blocks are not searched for the words.
            everybodys = _Note(connection, address, texts).run()
            words = _Words(connection, owner, address, texts)
            said = words.run()
            for proposal in words.removed:
                self._database.notify(connection, owner["owner"], "proposal", proposal, event="removed")
            self._told(connection, EVERYBODY if everybodys else owner["owner"], everybodys + said)
            return said

        with sound(self._database.name):
            return self._write(redact)

    def redact_source(self, address: str) -> int:
        """Remove the blocks of a file or page (``file:…``, ``index:…``, ``url:…``) from what the principal owns.

        Return how many texts had one. A mark replaces each, in prompts, histories and receipts, and the turn names the
        file in ``TurnRecord.forgotten``. What people said and what summaries contain is not changed. A turn in progress
        stores what it shows when it finishes.
        """

        def redact(connection: Connection, owner: Key) -> int:
            return self._told(connection, owner["owner"], _Blocks(connection, owner, address, ()).run())

        with sound(self._database.name):
            return self._write(redact)

    def _told(self, connection: Connection, owner: int, changed: int) -> int:
        """Tell those who follow the threads of an owner, or of everybody, to read them again; return ``changed``."""
        if changed:
            self._database.notify(connection, owner, NOUN, "")
        return changed

    def purge(self) -> None:
        """Erase every byte of what was removed from the file and its log. Slow; call it once, at the end."""
        self._database.purge()


class _Note:
    """The removal of a note from prompts, receipts and states, within one transaction."""

    def __init__(self, connection: Connection, address: str, texts: Sequence[str]) -> None:
        self._connection = connection
        self._address, self._texts = address, texts

    def run(self) -> int:
        """Remove the note, and return how many texts were changed."""
        self._connection.act_as(None)
        self._connection.hold(None)
        note = {"tenant": self._connection.tenant, "note": id_of(self._address)}
        changed, threads = 0, set[tuple[int, int]]()
        for owner, content, is_receipt in self._connection.execute(_QUERIES["mentions"], note).fetchall():
            contents = Contents(self._connection, owner)
            before = contents.get(content)
            after = self._receipt(before) if is_receipt else without_blocks(before, self._address)
            for number, row, item in self._attached(owner, content):
                after = item.content
                _store_item(self._connection, owner, number, rows.changed_item(row, item, content))
                threads.add((owner, row[10]))
            if after != before:
                contents.redact(content, after)
                changed += 1
        self._connection.execute(_QUERIES["drop_mentions"], note)
        source = {"tenant": self._connection.tenant, "address": to_column(self._address), "owner": None}
        self._connection.execute(_SOURCES["forget_parts"], source)
        for owner, thread in threads:
            _seal(self._connection, owner, thread)
        return changed + self._clean_states()

    def _receipt(self, text: str) -> str:
        receipt = receipt_from_json(json.loads(text))
        return rows.receipt_text(receipt_without(receipt, self._address, self._texts))

    def _attached(self, owner: int, content: bytes) -> Iterator[tuple[int, rows.Row, Item]]:
        """Yield the items with this text to which the note was attached: number, row before, and what is left."""
        key = {"tenant": self._connection.tenant, "owner": owner, "content": content}
        for number, *row in self._connection.execute(_QUERIES["mentioning_items"], key).fetchall():
            item = rows.to_item(tuple(row))
            left = item_without_blocks(item, self._address)
            if left != item:
                yield number, tuple(row), left

    def _clean_states(self) -> int:
        """Remove the note from the states of layers, and return how many were changed."""
        if not self._texts:
            return 0
        changed, wanted = 0, passages(self._texts)
        tenant = {"tenant": self._connection.tenant}
        for *key, sha256, packed, body in self._connection.execute(_QUERIES["states"], tenant).fetchall():
            before = unpack(sha256, packed, body)
            after = state_without(before, self._address, self._texts, wanted)
            if after != before:
                left = pack(after)
                named = dict(zip(("owner", "layer", "scope", "name"), key, strict=True))
                values = {"sha256": left.sha256, "packed": left.packed, "body": left.body}
                self._connection.execute(_QUERIES["change_state"], tenant | named | values)
                changed += 1
        return changed


class _Words:
    """The places where an owner said, or was shown, what is also in a note; within one transaction."""

    def __init__(self, connection: Connection, owner: Key, address: str, texts: Sequence[str]) -> None:
        self._connection = connection
        self._owner = owner
        self._address, self._passages = address, passages(texts)
        self._contents = Contents(connection, owner["owner"])
        self._left: dict[bytes, bytes] = {}
        """Texts that hold a passage, and the name of each redacted text, empty while that is not stored."""
        self._clean: set[bytes] = set()
        self.removed: list[str] = []
        """The proposals that were removed, by their ids."""

    def places(self) -> tuple[Place, ...]:
        """Return every place, in order."""
        items = self._rows("items")
        said = {row[15] for row in items}
        found = [*self._said(items), *self._shown(said), *self._waiting(), *self._proposed()]
        return tuple(dict.fromkeys(found))

    def run(self) -> int:
        """Redact every place, and return how many there were."""
        count = len(self.places())
        self._change_items()
        self._change_turns()
        self._change_waiting()
        self._remove_unused()
        return count

    def _rows(self, query: str) -> list[rows.Row]:
        return self._connection.execute(_QUERIES[query], self._owner).fetchall()

    def _holds(self, text: str) -> bool:
        return holds(without_blocks(text, self._address), self._passages)

    def _is_hit(self, content: bytes, text: str | None = None) -> bool:
        """Return whether a text, which may be given if it is known, holds a passage; each is searched once."""
        if content not in self._left and content not in self._clean:
            if self._holds(self._contents.get(content) if text is None else text):
                self._left[content] = b""
            else:
                self._clean.add(content)
        return content in self._left

    def _said(self, items: Sequence[rows.Row]) -> Iterator[Place]:
        for thread, turn, _, *row in items:
            item = rows.to_item(tuple(row))
            if self._is_hit(row[12], item.content) or any(self._holds(call.arguments) for call in item.tool_calls):
                yield Place("summary" if item.kind == "summary" else "thread", from_column(thread), int(turn))

    def _shown(self, said: Collection[bytes]) -> Iterator[Place]:
        """Yield the turns whose message or prompt holds a passage that is not from the history, which was ``said``."""
        for row in self._rows("turns"):
            parts = [entry.content for entry in entries_of(row[6], self._contents)]
            if any(self._is_hit(text) for text in (row[5], *(part for part in parts if part not in said))):
                yield Place("thread", from_column(row[1]), int(row[2]))

    def _waiting(self) -> Iterator[Place]:
        for turn, thread, body, error in self._rows("queued"):
            if self._holds(from_column(body)) or self._holds(from_column(error)):
                found = self._connection.execute(_QUERIES["turn_number"], self._owner | {"turn": turn}).fetchone()
                yield Place("queue", from_column(thread), 0 if found is None else int(found[0]))

    def _proposed(self) -> Iterator[Place]:
        for proposal, body in self._rows("proposed"):
            if self._is_proposed(from_column(body)):
                yield Place("proposal", from_column(proposal))

    def _is_proposed(self, body: str) -> bool:
        changes = json.loads(body)["draft"]["id"] == id_of(self._address)
        return changes or self._holds(body)

    def _change_items(self) -> None:
        threads = set()
        for _, _, number, *row in self._rows("items"):
            item = rows.to_item(tuple(row))
            after = self._item(item)
            if after != item:
                left = self._left_of_item(row[12], after)
                changed = rows.changed_item(tuple(row), after, left)
                _store_item(self._connection, self._owner["owner"], number, changed | {"content": left})
                self._mention(left, int(row[10]), number, after)
                threads.add(int(row[10]))
        for thread in threads:
            _seal(self._connection, self._owner["owner"], thread)

    def _left_of_item(self, content: bytes, after: Item) -> bytes:
        del after  # its text is the redacted ``content``
        return self._left_of(content)

    def _mention(self, content: bytes, thread: int, number: int, item: Item) -> None:
        """Record which notes an item names, now that its text may have changed: they may be forgotten too."""
        if notes := mentioned(item.content) | attached_notes(item):
            self._contents.mention(content, notes)
            key = self._owner | {"content": content, "thread": thread, "item": number}
            self._connection.execute(_THREADS["add_mention_item"], key)

    def _left_of(self, content: bytes) -> bytes:
        """Return the name of the redacted text; of the text itself if it holds no passage."""
        if not self._is_hit(content):
            return content
        if not self._left[content]:
            # A unique name: no other text is ever mapped to it.
            self._left[content] = self._contents.put_redacted(self._text(self._contents.get(content)), os.urandom(32))
        return self._left[content]

    def _text(self, text: str) -> str:
        return without_words(text, self._address, self._passages)

    def _item(self, item: Item) -> Item:
        return item_without_words(item, self._address, self._passages)

    def _receipt(self, content: bytes) -> bytes:
        return self._left_of(content)

    def _change_turns(self) -> None:
        for row in self._rows("turns"):
            text, messages, receipt = row[5:8]
            before = entries_of(messages, self._contents)
            after = [self._sent(entry) for entry in before]
            if after != before:
                messages = put_entries(after, self._contents)
            changed = (self._left_of(text), messages, self._receipt(receipt))
            if changed != tuple(row[5:8]):
                self._store_turn(row, changed)

    def _sent(self, entry: Sent) -> Sent:
        entry = entry._replace(content=self._left_of(entry.content))
        rest = self._rest(entry.rest) if entry.rest else ""
        return entry if rest == entry.rest else entry._replace(rest=rest, is_redacted=True)

    def _rest(self, rest: str) -> str:
        """Return the JSON of a message, which has everything but its text, with what is left of it."""
        return self._text(rest) if self._holds(rest) else rest

    def _store_turn(self, row: rows.Row, texts: tuple[bytes, bytes, bytes]) -> None:
        checksum = rows.turn_checksum((row[0], row[9], row[2], row[4], row[8]), row[10], row[11], texts)
        names = dict(zip(("text", "messages", "receipt"), texts, strict=True))
        values = self._owner | names | {"id": row[0], "checksum": checksum}
        self._connection.execute(_QUERIES["change_turn"], values)

    def _change_waiting(self) -> None:
        for turn, _, body, error in self._rows("queued"):
            left = {"body": self._without(body), "error": self._without(error), "turn": turn}
            self._connection.execute(_QUERIES["change_queued"], self._owner | left)
        for proposal, body in self._rows("proposed"):
            if self._is_proposed(from_column(body)):
                self._connection.execute(_QUERIES["remove_proposed"], self._owner | {"proposal": proposal})
                self.removed.append(from_column(proposal))

    def _without(self, column: Any) -> str | bytes:
        return to_column(without_words(from_column(column), self._address, self._passages))

    def _remove_unused(self) -> None:
        """Remove the unused texts that hold a passage: these, and those of a turn before it ended.

        Unused parts of prompts go, too: a part that is there says that its texts are.
        """
        named = self._connection.execute(_SOURCES["used"], self._owner).fetchall()
        used = texts_of(named, self._contents)
        every = self._connection.execute(_CONTENTS["contents"], self._owner).fetchall()
        self._contents.remove(
            digest
            for digest, packed, body in every
            if digest not in used and (packed & PART or self._holds(unpack(digest, packed, body)))
        )


class _Blocks(_Words):
    """The removal of a file from what an owner was shown: only its blocks are removed, not the same words elsewhere."""

    def run(self) -> int:
        """Replace every block by a mark, and return how many texts had one."""
        self._change_items()
        self._change_turns()
        self._remove_unused()
        self._connection.execute(_SOURCES["forget_parts"], {"address": to_column(self._address), **self._owner})
        return len(self._left)

    def _holds(self, text: str) -> bool:
        return self._text(text) != text

    def _text(self, text: str) -> str:
        return without_blocks(text, self._address)

    def _rest(self, rest: str) -> str:
        return without_images(self._text(rest), self._address)

    def _item(self, item: Item) -> Item:
        return item_without_blocks(item, self._address)

    def _left_of_item(self, content: bytes, after: Item) -> bytes:
        # The positions of attachments are stored with an item, even if its text no longer has the format of a block.
        if after.content != self._contents.get(content) and not self._left.get(content):
            self._left[content] = self._contents.put_redacted(after.content, os.urandom(32))
        return self._left.get(content, content)

    def _receipt(self, content: bytes) -> bytes:
        before = receipt_from_json(json.loads(self._contents.get(content)))
        after = receipt_without(before, self._address, ())
        if after == before:
            return content
        return self._contents.put_redacted(rows.receipt_text(after), os.urandom(32), is_receipt=True)


def _store_item(connection: Connection, owner: int, number: int, changed: rows.Values) -> None:
    key = {"tenant": connection.tenant, "owner": owner, "item": number, "content": None}
    connection.execute(_QUERIES["change_item"], key | changed)


def _seal(connection: Connection, owner: int, thread: int) -> None:
    key = {"tenant": connection.tenant, "owner": owner, "thread": thread}
    standing = connection.execute(_THREADS["standing_of"], key).fetchall()
    connection.execute(_THREADS["seal_history"], key | {"history": history_checksum(standing)})

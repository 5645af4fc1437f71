"""Forgetting in dictionaries: for tests, and to compare other stores with."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from promptuary.core.json import receipt_from_json, receipt_json
from promptuary.core.messages import Item
from promptuary.core.notes import Place
from promptuary.core.ports.forgetting import Forgetting
from promptuary.core.ports.threads import TurnRecord
from promptuary.core.ports.writeback import NoteQueue, Proposal, ProposalStore, QueuedTurn
from promptuary.core.principals import Owner
from promptuary.storage.in_memory_tables import Tables, turn_without_blocks
from promptuary.storage.redaction import (
    Passages,
    holds,
    id_of,
    item_without_blocks,
    item_without_words,
    message_without_words,
    passages,
    state_without,
    without_blocks,
    without_words,
)
from promptuary.storage.values import to_text


class InMemoryForgetting(Forgetting):
    """``Forgetting`` over tables, which ``tables`` returns and ``write`` changes, and over an owner's queues."""

    def __init__(
        self,
        tables: Callable[[], Tables],
        write: Callable[[Callable[[Tables, str], None]], None],
        owner: Owner,
        waiting: tuple[NoteQueue, ProposalStore],
        begun: dict[str, bool],
    ) -> None:
        self._tables, self._write = tables, write
        self._owner = owner
        self._queue, self._proposals = waiting
        self._begun = begun

    def begin(self, note: str, *, everywhere: bool) -> None:
        """Record that the principal is forgetting a note."""
        self._begun[note] = everywhere or self._begun.get(note, False)

    def unfinished(self) -> Mapping[str, bool]:
        """Return the notes that the principal has begun to forget, and whether everywhere."""
        return dict(sorted(self._begun.items()))

    def end(self, note: str) -> None:
        """Record that a note has been forgotten completely."""
        self._begun.pop(note, None)

    def redact_note(self, address: str, texts: Sequence[str] = ()) -> int:
        """Remove a note from the prompts, receipts and states of every owner."""
        changed: list[str] = []

        def redacted(tables: Tables, _: str) -> None:
            for name, turn in tables.turns.items():
                if (left := turn_without_blocks(turn, address, texts)) != turn:
                    tables.turns[name] = left
                    changed.append(name)
            for name, item in tables.items.items():
                if (after := item_without_blocks(item, address)) != item:
                    tables.items[name] = after
                    changed.append(name)
            for name, origins in tables.origins.items():
                told = (one.without_content if one.source == address else one for one in origins)
                tables.origins[name] = tuple(dict.fromkeys(told))
            wanted = passages(texts)
            for key, (version, text) in tables.states.items():
                if (cleaned := state_without(text, address, texts, wanted)) != text:
                    tables.states[key] = (version, cleaned)
                    changed.append(key[1].layer)

        self._write(redacted)
        return len(changed)

    def places(self, address: str, texts: Sequence[str]) -> Sequence[Place]:
        """Return where else ``texts`` occur in what the principal owns."""
        wanted = passages(texts)
        found = [
            *(self._place(item) for item in self._items() if _said(item, address, wanted)),
            *(
                Place("thread", turn.thread, turn.number)
                for turn in self._turns()
                if self._shows(turn, address, wanted)
            ),
            *(Place("queue", turn.thread, self._number(turn.id)) for turn in self._queued(wanted)),
            *(Place("proposal", one.id) for one in self._proposed(address, wanted)),
        ]
        return tuple(dict.fromkeys(found))

    def redact_places(self, address: str, texts: Sequence[str]) -> int:
        """Replace the texts by a mark in all those places."""
        self.redact_note(address, texts)
        count, wanted = len(self.places(address, texts)), passages(texts)

        def redacted(tables: Tables, _: str) -> None:
            for item in self._items():
                tables.items[item.id] = item_without_words(item, address, wanted)
            for turn in self._turns():
                tables.turns[turn.id] = _turn_without_words(turn, address, wanted)

        self._write(redacted)
        for turn in self._queued(wanted):
            left = replace(
                turn, text=without_words(turn.text, address, wanted), error=without_words(turn.error, address, wanted)
            )
            self._queue.done(turn.id)
            self._queue.add(left)
        for one in self._proposed(address, wanted):
            self._proposals.remove(one.id, rejected=False)
        return count

    def redact_source(self, address: str) -> int:
        """Remove the blocks of a file from what the principal owns."""
        changed: list[str] = []

        def redacted(tables: Tables, _: str) -> None:
            for turn in self._turns():
                if (left := turn_without_blocks(turn, address, ())) != turn:
                    tables.turns[turn.id] = left
                    changed.append(turn.id)
            for item in self._items():
                if (after := item_without_blocks(item, address)) != item:
                    tables.items[item.id] = after
                    changed.append(item.id)
            for name in [*(turn.id for turn in self._turns()), *(item.id for item in self._items())]:
                told = (one.without_content if one.source == address else one for one in tables.origins.get(name, ()))
                tables.origins[name] = tuple(dict.fromkeys(told))

        self._write(redacted)
        return len(changed)

    def purge(self) -> None:
        """Do nothing: what is removed from a dictionary is gone."""

    def _items(self) -> list[Item]:
        tables = self._tables()
        return [item for item in tables.items.values() if tables.homes[item.id][0] == self._owner]

    def _turns(self) -> list[TurnRecord]:
        tables = self._tables()
        own = [thread for (owner, _), thread in tables.threads.items() if owner == self._owner]
        return [tables.turns[name] for thread in own for name in thread.turns]

    def _place(self, item: Item) -> Place:
        thread = self._tables().homes[item.id][1]
        return Place("summary" if item.kind == "summary" else "thread", thread, self._number(item.turn))

    def _number(self, turn: str) -> int:
        found = self._tables().turns.get(turn)
        return 0 if found is None else found.number

    def _shows(self, turn: TurnRecord, address: str, wanted: Passages) -> bool:
        """Return whether the message or the prompt of a turn holds a passage that is not from the history."""
        said = {item.content for item in self._items()}
        shown = [message["content"] for message in turn.messages if message["content"] not in said]
        return any(holds(without_blocks(text, address), wanted) for text in (turn.text, *shown))

    def _queued(self, wanted: Passages) -> list[QueuedTurn]:
        return [one for one in self._queue.waiting() if holds(one.text, wanted) or holds(one.error, wanted)]

    def _proposed(self, address: str, wanted: Passages) -> Iterator[Proposal]:
        for one in self._proposals.all():
            if one.draft.id == id_of(address) or holds(to_text(asdict(one)), wanted):
                yield one


def _said(item: Item, address: str, wanted: Passages) -> bool:
    texts = (without_blocks(item.content, address), *(call.arguments for call in item.tool_calls))
    return any(holds(text, wanted) for text in texts)


def _turn_without_words(turn: TurnRecord, address: str, wanted: Passages) -> TurnRecord:
    receipt = without_words(to_text(receipt_json(turn.receipt)), address, wanted)
    left = replace(
        turn,
        text=without_words(turn.text, address, wanted),
        messages=tuple(message_without_words(message, address, wanted) for message in turn.messages),
        receipt=receipt_from_json(json.loads(receipt)),
    )
    return left if left == turn else replace(left, forgotten=tuple(dict.fromkeys((*turn.forgotten, address))))

"""What a store remembers of what it read or wrote is what any other store on the same file would find."""

import gc
from pathlib import Path

import pytest

from promptuary.base.errors import ConflictError
from promptuary.base.messages import Item, Replacement
from promptuary.threads.records import ThreadChange
from promptuary.threads.store import history_cache
from tests.stores import FileStore


def test_what_another_store_adds_pins_or_compacts_is_seen(tmp_path: Path) -> None:
    mine, other = FileStore(tmp_path / "state.db"), FileStore(tmp_path / "state.db")
    first, second = Item("a", "user", "one"), Item("b", "assistant", "two")
    mine.apply(ThreadChange("t", items=[first]))
    assert mine.history("t") == (first,)

    other.apply(ThreadChange("t", items=[second], pinned=[("a", True)]))
    assert [(one.id, one.pinned) for one in mine.history("t")] == [("a", True), ("b", False)]

    other.apply(ThreadChange("t", pinned=[("a", False)]))
    summary = Item("s", "user", "both", kind="summary", stands_for=("a", "b"))
    other.apply(ThreadChange("t", replacements=[Replacement(("a", "b"), summary)]))
    assert mine.history("t") == other.history("t") == (summary,)
    mine.close()
    other.close()


def test_a_text_of_a_change_that_was_taken_back_is_written_again(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "state.db")
    store.apply(ThreadChange("t", items=[Item("a", "user", "one")]))
    text = "said once, taken back " * 40
    with pytest.raises(ConflictError):
        store.apply(ThreadChange("t", items=[Item("b", "user", text), Item("a", "user", "again")]))

    store.apply(ThreadChange("t", items=[Item("c", "user", text)]))

    store.close()
    again = FileStore(tmp_path / "state.db")
    assert [one.content for one in again.history("t")] == ["one", text]
    again.verify()
    again.close()


def test_more_than_is_kept_is_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_cache, "_KEPT_CHARACTERS", 10)
    store = FileStore(tmp_path / "state.db")
    items = tuple(Item(f"i{number}", "user", f"{number} " * 9) for number in range(5))
    store.apply(ThreadChange("t", items=items))

    assert store.history("t") == store.history("t") == items
    store.close()


def test_many_short_items_count_as_more_than_their_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_cache, "_KEPT_CHARACTERS", 5 * 1024)
    store = FileStore(tmp_path / "state.db")
    for number in range(40):
        store.apply(ThreadChange(f"t{number}", items=[Item(f"i{number}", "user", "ok")]))
        assert len(store.history(f"t{number}")) == 1

    gc.collect()
    assert sum(isinstance(one, Item) and one.content == "ok" for one in gc.get_objects()) <= 6
    store.close()

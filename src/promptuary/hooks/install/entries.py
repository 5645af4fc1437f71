"""The entries that install writes into a settings file: who owns them, how they are added and removed. Pure.

An entry is ours if install recorded that it wrote that value, or if it is what install writes for a program in another
place. Everything else is the person's: it is never replaced or removed unless the person asks for that. Of a hook, our
command is the entry: other commands in its group are the person's, and never change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, assert_never

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.hooks.install import jsonc, toml_text
from promptuary.hooks.install.hook_commands import commands_like, hook_words, own_arguments, without_command
from promptuary.hooks.install.jsonc import MISSING

EntryState = Literal["as wanted", "ours", "changed", "foreign"]
"""An existing value is the wanted one, one that install wrote earlier, the same program with changes, or another."""

_APPROVALS: Final = frozenset({"tools"})
"""A key that Codex writes into the table of a server: the tools that the person lets it call without asking.

It does not count as a change of our entry, and stays while the server does. It is removed with the server: Codex does
not start if there are approvals for a server without a command.
"""


class SettingsEntry(Struct, frozen=True):
    """An entry of a settings file: the value of a member, a table, a group of hooks, a line, or the whole text.

    A group is an item of a list, and has one command when it is written. A line and a text have no path. A first line
    is only for a file that install creates.
    """

    kind: Literal["member", "item", "table", "first line", "line", "text"]
    path: tuple[str, ...]
    value: Any

    @property
    def where(self) -> str:
        """Its place, for a person."""
        return ".".join(self.path) or "it"


class EditedText(Struct, frozen=True):
    """A text after an entry was added or removed, and a sentence if the entry was left unchanged."""

    text: str
    left: str = ""


def put_in(text: str, entry: SettingsEntry, written: Sequence[Any], *, force: bool) -> EditedText:
    """Return ``text`` with an entry. ``written`` are the values that install wrote there earlier.

    Raises ``PromptuaryError`` if something else is there, unless ``force`` replaces it.
    """
    standing = _entry_standing(text, entry, written)
    if standing == "as wanted":
        return EditedText(text)
    if standing == "changed" and not force:
        return EditedText(text, f"{entry.where} has changes of yours and stays as it is; --force overwrites it")
    if standing == "foreign" and not force:
        raise PromptuaryError(f"{_whose(entry, written)}; --force replaces it, and --undo puts it back")
    match entry.kind:
        case "member":
            return EditedText(jsonc.with_entry(text, entry.path, entry.value))
        case "table":
            return EditedText(toml_text.with_table(text, entry.path, entry.value, _APPROVALS))
        case "item":
            return EditedText(_with_hook(text, entry))
        case "first line" | "line":
            gap = "" if not text or text.endswith("\n") else "\n"
            return EditedText(f"{text}{gap}{entry.value}\n")
        case "text":
            return EditedText(entry.value)
        case _:
            assert_never(entry.kind)


def take_out(text: str, entry: SettingsEntry, written: Sequence[Any], before: str | None, *, force: bool) -> EditedText:
    """Return ``text`` without an entry that install wrote, and with the entry that it replaced.

    ``written`` are the values that install wrote there, ``before`` is the text without any of them; ``None`` if that
    is not known. An entry that differs from what install wrote is left, unless ``force`` removes it.
    """
    if entry.kind == "item":
        return _without_hook(text, entry, written, before, force=force)
    if entry.kind in {"first line", "line"}:
        if before is None or entry.value in before.splitlines():
            return EditedText(text)
        return EditedText(
            "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") != entry.value)
        )
    if entry.kind == "text":
        if not text or text == before or text in written or force:
            return EditedText(before or "")
        return EditedText(text, f"{_whose(entry, written)} and is left; --force takes it out")
    current = _own_value_at(text, entry)
    if current is MISSING or (before is not None and current == _own_value_at(before, entry)):
        return EditedText(text)
    if current not in written and not force:
        return EditedText(text, f"{_whose(entry, written)} and is left; --force takes it out")
    return EditedText(_without_value(text, entry, before))


def _entry_standing(text: str, entry: SettingsEntry, written: Sequence[Any]) -> EntryState:
    match entry.kind:
        case "member" | "table":
            current = _own_value_at(text, entry)
            return "ours" if current is MISSING else _standing(current, entry.value, written, _server_words)
        case "item":
            return _hook_standing(text, entry, written)
        case "first line":
            return "as wanted" if text else "ours"
        case "line":
            return "as wanted" if entry.value in text.splitlines() else "ours"
        case "text":
            return "as wanted" if text == entry.value else "ours" if not text or text in written else "foreign"
        case _:
            assert_never(entry.kind)


def _without_value(text: str, entry: SettingsEntry, before: str | None) -> str:
    is_table = entry.kind == "table"
    if before is not None and _value_at(before, entry) is not MISSING:
        if is_table:
            return toml_text.with_table_of(text, entry.path, before)
        return jsonc.with_raw(text, entry.path, jsonc.raw_at(before, entry.path))
    if is_table:
        return toml_text.without_table(text, entry.path)
    return jsonc.without(text, entry.path, keep=_kept(before, entry))


def _without_hook(
    text: str, entry: SettingsEntry, written: Sequence[Any], before: str | None, *, force: bool
) -> EditedText:
    wanted, values = _hook(entry.value), list(map(_hook, written))
    older = [] if before is None else commands_like(before, entry.path, wanted)
    there = commands_like(text, entry.path, wanted)
    chosen = [one for one in there if one.value not in [each.value for each in older]]
    left = ""
    if not force and any(one.value not in values for one in chosen):
        left = f"{_whose(entry, written)} and is left; --force takes it out"
        chosen = [one for one in chosen if one.value in values]
    back = [one.raw for one in older if one.value not in [each.value for each in there]]
    for number, one in reversed(list(enumerate(chosen))):
        if number < len(back):
            text = jsonc.with_raw(text, one.path, back[number])
        else:
            text = without_command(text, one, keep=_kept(before, entry))
    return EditedText(text, left)


def _with_hook(text: str, entry: SettingsEntry) -> str:
    """Add a hook in place of those of other installations: otherwise all of them would run."""
    there = commands_like(text, entry.path, _hook(entry.value))
    if not there:
        return jsonc.with_item(text, entry.path, entry.value)
    for number, one in reversed(list(enumerate(there))):
        if any(each.around == one.around for each in there[:number]):
            text = without_command(text, one, keep=len(entry.path))
        else:
            text = jsonc.with_entry(text, one.path, _hook(entry.value))
    return text


def _hook_standing(text: str, entry: SettingsEntry, written: Sequence[Any]) -> EntryState:
    wanted, values = _hook(entry.value), list(map(_hook, written))
    there = commands_like(text, entry.path, wanted)
    found = {_standing(one.value, wanted, values, hook_words) for one in there}
    if "as wanted" in found and "ours" not in found:
        return "as wanted"
    return "foreign" if "foreign" in found else "changed" if "changed" in found else "ours"


def _standing(
    value: Any, wanted: Any, written: Sequence[Any], words: Callable[[Mapping[str, Any]], list[str]]
) -> EntryState:
    """Classify the value in the place of ``wanted``. ``words`` returns its command."""
    if value == wanted:
        return "as wanted"
    if value in written:
        return "ours"
    if not isinstance(value, Mapping) or not isinstance(wanted, Mapping):
        return "foreign"
    moved = {**value, **{key: wanted[key] for key in ("command", "args") if key in wanted}}
    same = own_arguments(words(value)) == own_arguments(words(wanted)) is not None
    by_hand = own_arguments(words(value)) == ["mcp"]  # as a person writes it
    if (same or by_hand) and moved == wanted:
        return "ours"
    return "changed" if words(value) == words(wanted) else "foreign"


def _hook(group: Any) -> Mapping[str, Any]:
    """Return the command of a group that install writes; empty if the record is damaged."""
    match group:
        case {"hooks": [dict() as one, *_]}:
            return one
        case _:
            return {}


def _whose(entry: SettingsEntry, written: Sequence[Any]) -> str:
    what = f"the hook of promptuary in {entry.where}" if entry.kind == "item" else entry.where
    return f"{what} was changed since install wrote it" if written else f"{what} was not written by install"


def _value_at(text: str, entry: SettingsEntry) -> Any:
    return (toml_text if entry.kind == "table" else jsonc).value_at(text, entry.path)


def _own_value_at(text: str, entry: SettingsEntry) -> Any:
    """Return the value of an entry without the keys that an agent adds; ``MISSING`` if there is none."""
    found = _value_at(text, entry)
    if entry.kind != "table" or not isinstance(found, Mapping):
        return found
    return {name: one for name, one in found.items() if name not in _APPROVALS} or MISSING


def _kept(before: str | None, entry: SettingsEntry) -> int:
    """Return how many steps of an entry's path existed before: these stay, even if they are empty."""
    return len(entry.path) if before is None else jsonc.depth(before, entry.path)


def _server_words(value: Mapping[str, Any]) -> list[str]:
    """Return the command of a server; empty if there is none."""
    words = [value.get("command"), *(value["args"] if isinstance(value.get("args"), list) else [])]
    return [str(one) for one in words] if all(isinstance(one, str) for one in words) else []

"""What install writes into a settings file, piece by piece: whose it is, how it gets in, and how it gets out. Pure.

An entry is ours if install noted that it wrote that value, or if it is what install writes with a program in another
place. Everything else is somebody's own: it is never replaced or taken out unless the person asks for that. Of a hook
our command is the entry: what stands beside it in its group is somebody's own, whatever is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

from promptuary.core.errors import PromptuaryError
from promptuary.hooks.install import hook_commands, jsonc, toml_text
from promptuary.hooks.install.hook_commands import commands_like, hook_words, own_arguments
from promptuary.hooks.install.jsonc import MISSING

Standing = Literal["as wanted", "ours", "changed", "foreign"]
"""Of a value that is there: what is wanted, what install wrote earlier, the same program with changes, or another."""

_APPROVALS: Final = frozenset({"tools"})
"""What Codex writes into the table of a server: the tools that the person lets it call without asking.

They are no change of our entry, and stay while there is a server. They go with it: Codex does not start with approvals
of a server that has no command.
"""


@dataclass(frozen=True, slots=True)
class SettingsEntry:
    """Something that is in a settings file once it is written: the value of a member, a table, or a group of hooks.

    A group is an item of a list, and has one command when it is written.
    """

    kind: Literal["member", "item", "table"]
    path: tuple[str, ...]
    value: Any

    @property
    def where(self) -> str:
        """Its place as a person reads it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text after an entry was put in or taken out, and a sentence if the entry was left as it is."""

    text: str
    left: str = ""


def put_in(text: str, entry: SettingsEntry, written: Sequence[Any], *, force: bool) -> EditedText:
    """Return ``text`` with an entry. ``written`` are values that install has put there before.

    Raises ``PromptuaryError`` if something else is there, unless ``force`` replaces it.
    """
    match entry.kind:
        case "member" | "table":
            current = _own_value_at(text, entry)
            standing = "ours" if current is MISSING else _standing(current, entry.value, written, _server_words)
        case "item":
            standing = _hook_standing(text, entry, written)
        case _:
            assert_never(entry.kind)
    if standing == "as wanted":
        return EditedText(text)
    if standing == "changed" and not force:
        return EditedText(text, f"{entry.where} has changes of yours and stays as it is; --force writes it anew")
    if standing == "foreign" and not force:
        raise PromptuaryError(f"{_whose(entry, written)}; --force replaces it, and --undo puts it back")
    match entry.kind:
        case "member":
            return EditedText(jsonc.with_entry(text, entry.path, entry.value))
        case "table":
            return EditedText(toml_text.with_table(text, entry.path, entry.value, _APPROVALS))
        case "item":
            return EditedText(_with_hook(text, entry))
        case _:
            assert_never(entry.kind)


def take_out(text: str, entry: SettingsEntry, written: Sequence[Any], before: str | None, *, force: bool) -> EditedText:
    """Return ``text`` without an entry that install wrote, and with what was there before it.

    ``written`` are the values that install has put there, ``before`` is the text without any of them; ``None`` if that
    is not known. What is not as install wrote it is left, unless ``force`` takes it out.
    """
    if entry.kind == "item":
        return _without_hook(text, entry, written, before, force=force)
    current = _own_value_at(text, entry)
    if current is MISSING or (before is not None and current == _own_value_at(before, entry)):
        return EditedText(text)
    if current not in written and not force:
        return EditedText(text, f"{_whose(entry, written)} and is left; --force takes it out")
    return EditedText(_without_value(text, entry, before))


def _without_value(text: str, entry: SettingsEntry, before: str | None) -> str:
    is_table = entry.kind == "table"
    if before is not None and _value_at(before, entry) is not MISSING:
        if is_table:
            return toml_text.with_table_of(text, entry.path, before)
        return jsonc.with_raw(text, entry.path, jsonc.raw_at(before, entry.path))
    if is_table:
        return toml_text.without_table(text, entry.path)
    return jsonc.without_entry(text, entry.path, keep=_kept(before, entry))


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
            text = hook_commands.with_raw_command(text, entry.path, one, back[number])
        else:
            text = hook_commands.without_command(text, entry.path, one, keep=_kept(before, entry))
    return EditedText(text, left)


def _with_hook(text: str, entry: SettingsEntry) -> str:
    """Put a hook in, in the place of those of other installations: all of them would run."""
    there = commands_like(text, entry.path, _hook(entry.value))
    if not there:
        return jsonc.with_item(text, entry.path, entry.value)
    for number, one in reversed(list(enumerate(there))):
        if any(each.around == one.around for each in there[:number]):
            text = hook_commands.without_command(text, entry.path, one, keep=len(entry.path))
        else:
            text = hook_commands.with_command(text, entry.path, one, _hook(entry.value))
    return text


def _hook_standing(text: str, entry: SettingsEntry, written: Sequence[Any]) -> Standing:
    wanted, values = _hook(entry.value), list(map(_hook, written))
    there = commands_like(text, entry.path, wanted)
    found = {_standing(one.value, wanted, values, hook_words) for one in there}
    if "as wanted" in found and "ours" not in found:
        return "as wanted"
    return "foreign" if "foreign" in found else "changed" if "changed" in found else "ours"


def _standing(
    value: Any, wanted: Mapping[str, Any], written: Sequence[Any], words: Callable[[Mapping[str, Any]], list[str]]
) -> Standing:
    """Return what a value is that stands where ``wanted`` belongs. ``words`` returns its command."""
    if value == wanted:
        return "as wanted"
    if value in written:
        return "ours"
    if not isinstance(value, Mapping):
        return "foreign"
    moved = {**value, **{key: wanted[key] for key in ("command", "args") if key in wanted}}
    if own_arguments(words(value)) == own_arguments(words(wanted)) is not None and moved == wanted:
        return "ours"
    return "changed" if words(value) == words(wanted) else "foreign"


def _hook(group: Any) -> Mapping[str, Any]:
    """Return the command of a group that install writes; nothing if a note was damaged."""
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
    """Return the value of an entry without what an agent writes into it; ``MISSING`` if there is none."""
    found = _value_at(text, entry)
    if entry.kind != "table" or not isinstance(found, Mapping):
        return found
    return {name: one for name, one in found.items() if name not in _APPROVALS} or MISSING


def _kept(before: str | None, entry: SettingsEntry) -> int:
    """Return how much of the path of an entry was there before: that stays, even if it is empty."""
    return len(entry.path) if before is None else jsonc.depth(before, entry.path)


def _server_words(value: Mapping[str, Any]) -> list[str]:
    """Return the command of a server; empty if there is none."""
    words = [value.get("command"), *(value["args"] if isinstance(value.get("args"), list) else [])]
    return [str(one) for one in words] if all(isinstance(one, str) for one in words) else []

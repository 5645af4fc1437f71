"""The formats of Anthropic's memory tool: its commands, and how it shows files and folders. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import with_unix_lines

_LEVELS: Final = 2
_MOST_LINES: Final = 100
_NEEDS: Final[Mapping[str, Mapping[str, type]]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
_TYPES: Final[Mapping[type, str]] = {str: "a text", int: "a whole number"}


def what_is_wrong(command: Any) -> str:
    """Return what is wrong with a command, or empty: the client passes the model's input without a check."""
    name = getattr(command, "command", None)
    if not isinstance(name, str) or name not in _NEEDS:
        return f"Unknown command: {str(name)[:60]!r}. The commands are {', '.join(_NEEDS)}."
    for field, kind in _NEEDS[name].items():
        if not isinstance(getattr(command, field, None), kind) or isinstance(getattr(command, field), bool):
            return f"The command {name} needs `{field}`, {_TYPES[kind]}."
    if not isinstance(getattr(command, "new_str", None), str | None):
        return "Invalid `new_str` parameter: it should be a text."
    chosen = getattr(command, "view_range", None)
    if chosen and not (isinstance(chosen, list) and [type(one) for one in chosen] == [int, int]):
        return "Invalid `view_range` parameter: it should be a list of two line numbers, such as [1, 20]."
    return ""


def replaced(path: str, text: str, old: str, new: str) -> tuple[str, int]:
    """Return the text of a note with ``old`` replaced by ``new``, and the number of the line where that begins.

    Raises ``PromptuaryError`` with the wording of Anthropic's own tool if ``old`` does not occur exactly once.
    """
    whole = f"{text}\n"
    part = _as_kept(whole, old)
    if not part or part not in whole:
        raise PromptuaryError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if whole.count(part) > 1:
        lines = ", ".join(map(str, _lines_with(whole, part)))
        raise PromptuaryError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    return whole.replace(part, new).strip("\n"), whole[: whole.index(part)].count("\n") + 1


def _as_kept(text: str, part: str) -> str:
    """Return ``part`` as it would be stored in ``text``, which is a note with a line feed after its last line.

    Its author means a file. A note has no carriage returns before line feeds, no blank lines at its beginning and no
    blank space at its end, so these are not searched for there.
    """
    part = with_unix_lines(part)
    if part in text or not part.strip():
        return part
    first, last = part.lstrip("\n"), f"{part.rstrip()}\n"
    if text.startswith(first):
        return first
    if part != part.rstrip() and text.endswith(last):
        return last
    return last.lstrip("\n") if text == last.lstrip("\n") else part


def numbered(lines: Sequence[str], start: int, end: int) -> str:
    """Return the lines from ``start`` to ``end``, counted from 1, with their numbers."""
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines[start - 1 : end], start))


def _lines_with(text: str, part: str) -> list[int]:
    """Return the numbers of the lines in which ``part`` begins, the first hundred of them."""
    found, place = list[int](), text.find(part)
    while place >= 0 and len(found) < _MOST_LINES:
        found.append(text.count("\n", 0, place) + 1)
        place = text.find(part, place + 1)
    return found


def folder_text(path: str, sizes: Mapping[str, int], *, more: int = 0) -> str:
    """Return the listing of the folder ``path``; ``sizes`` are the sizes of its files, by names relative to it."""
    shown: Counter[tuple[str, ...]] = Counter({(): 0})
    for name, size in sizes.items():
        parts = tuple(name.split("/"))
        if not any(one.startswith(".") for one in parts):
            shown.update({parts[:depth]: size for depth in range(min(len(parts), _LEVELS) + 1)})
    lines = [f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"]
    for parts in sorted(shown):
        name = "/".join(parts)
        below = f"/{name}{'' if name in sizes else '/'}" if name else ""
        lines.append(f"{_size(shown[parts])}\t{path.rstrip('/')}{below}")
    return "\n".join([*lines, *([f"({more} more)"] if more else [])])


def is_below(name: str, folder: str) -> bool:
    """Return whether a file is in a folder; the top folder, whose name is empty, contains every file."""
    return name.startswith(f"{folder}/") or not folder


def _size(count: int) -> str:
    size, units = float(count), iter("BKMG")
    unit = next(units)
    while size >= 1024 and unit != "G":
        size, unit = size / 1024, next(units)
    return f"{int(size) if size == int(size) else f'{size:.1f}'}{unit}"

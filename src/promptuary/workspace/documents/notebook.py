"""Converts a Jupyter notebook to Markdown: its cells and their output. Pure, linear."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

_MAX_CHARACTERS: Final = 2 * 1024 * 1024
_LANGUAGE = re.compile(r"[A-Za-z][\w+#-]{0,20}")
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,30}[A-Za-z]")
_TICKS = re.compile(r"`{3,}")


class NotebookText(Struct, frozen=True):
    """The text of a notebook, and how many pictures were left out."""

    text: str
    images: int


def notebook_text(text: str) -> NotebookText | None:
    """Return the notebook in ``text``; ``None`` if it is not one."""
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = _cells(made)
    if cells is None:
        return None
    language = _language(made)
    parts, images, length = [], 0, 0
    for cell in cells:
        for part in _cell(cell, language):
            images += part is _IMAGE
            parts.append("(a picture is left out)" if part is _IMAGE else part)
            length += len(parts[-1])
        if length > _MAX_CHARACTERS:
            parts.append("(the rest of the notebook is left out)")
            break
    return NotebookText("\n\n".join(part for part in parts if part) + "\n", images)


_IMAGE: Final = "\0"


def _cells(made: object) -> list[Any] | None:
    if not isinstance(made, dict):
        return None
    sheets = made.get("worksheets")  # version 3 and before
    if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict):
        made = sheets[0]
    cells = made.get("cells")
    return cells if isinstance(cells, list) else None


def _language(made: Mapping[str, Any]) -> str:
    about = made.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        found = about.get(key) if isinstance(about, dict) else None
        written = found.get(name) if isinstance(found, dict) else None
        if isinstance(written, str) and _LANGUAGE.fullmatch(written):
            return written.lower()
    return "python"


def _cell(cell: object, language: str) -> Iterator[str]:
    """Yield the parts of a cell as Markdown; ``_IMAGE`` for a picture."""
    if not isinstance(cell, dict):
        return
    source = _text(cell.get("source", cell.get("input")))
    if cell.get("cell_type") != "code":
        yield source.strip("\n") if cell.get("cell_type") == "markdown" else _fence(source, "")
        return
    yield _fence(source, language)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        yield from _output(output)


def _output(output: object) -> Iterator[str]:
    if not isinstance(output, dict):
        return
    if output.get("output_type") == "error":
        trace = output.get("traceback")
        told = "\n".join(map(_text, trace)) if isinstance(trace, list) else ""
        yield _render_output(told or f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}")
        return
    data = output.get("data", output)  # version 3 has no separate field
    if not isinstance(data, dict):
        return
    plain = data.get("text/plain", data.get("text"))
    if any(key.startswith("image/") or key in {"png", "jpeg", "svg"} for key in data):
        yield _IMAGE
    elif plain is not None:
        yield _render_output(_text(plain))


def _render_output(text: str) -> str:
    plain = _COLOURS.sub("", text)
    return f"Output:\n\n{_fence(plain, 'text')}" if plain.strip() else ""


def _fence(text: str, language: str) -> str:
    if not text.strip():
        return ""
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(text))])
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"


def _text(written: object) -> str:
    if isinstance(written, list):
        return "".join(one for one in written if isinstance(one, str))
    return written if isinstance(written, str) else ""

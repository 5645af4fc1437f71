"""Finds the notes that a name may mean: by title, by file, or by something similar. Pure."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from promptuary.memory.values import NoteHeader

_MAX_COUNT: Final = 3
_MAX_LENGTH: Final = 80
_ALIKE: Final = 0.6
_MIN_WORD: Final = 3


def is_called(name: str, header: NoteHeader) -> bool:
    """Return whether ``name`` is the title of a note, or the name of its file with or without its ending."""
    wanted, file = name.strip().casefold(), header.path.rsplit("/", 1)[-1].casefold()
    return wanted != "" and wanted in {header.title.strip().casefold(), file, file.removesuffix(".md")}


def near(wanted: str, headers: Sequence[NoteHeader]) -> list[NoteHeader]:
    """Return the notes whose id or title is like ``wanted``, or has words of it, the nearest first."""
    said = _plain(wanted)
    words = {word for word in said.split() if len(word) >= _MIN_WORD}
    names = {header.id: header for header in headers}
    chosen = [names[name] for name in get_close_matches(wanted[:_MAX_LENGTH], list(names), _MAX_COUNT, _ALIKE)]
    scored = []
    for header in headers:
        title = _plain(header.title)
        shared = len(words & set(title.split())) / max(1, len(words))
        matcher = SequenceMatcher(None, said, title)
        alike = matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0
        if shared >= 0.5 or alike >= _ALIKE:
            scored.append((shared + alike, header))
    scored.sort(key=lambda one: -one[0])
    chosen += [header for _, header in scored if header not in chosen]
    return chosen[:_MAX_COUNT]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text[:_MAX_LENGTH].lower()))

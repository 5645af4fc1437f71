"""Passages of real text to index: what lies in this Python's own libraries, cut into pieces of some sixty words."""

import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

SIZE = 620
"""Bytes of a passage."""

PER_FILE = 20


def passages(count: int) -> list[str]:
    """Return ``count`` different passages; when the text is used up it is cut again at other places."""
    found: list[str] = []
    for turn in range(100):
        found += islice(_cut(turn * 97), count - len(found))
        if len(found) >= count:
            return found
    raise RuntimeError("there is too little text on this machine")


def _cut(offset: int) -> Iterator[str]:
    paths = sysconfig.get_paths()
    for root in (Path(paths["stdlib"]), Path(paths["purelib"])):
        for path in sorted(root.rglob("*")):
            if path.suffix not in {".py", ".md", ".rst", ".txt", ".pyi"} or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8", errors="ignore")[offset:]
            # A cap a file: one long table of numbers is not what people write.
            for start in range(0, min(len(text), 400_000) - SIZE // 2, SIZE):
                yield text[start : start + SIZE]


def questions(texts: list[str], count: int) -> list[str]:
    """Return questions of three to eight words that follow each other in some passage."""
    found = []
    step = max(len(texts) // (count * 2), 1)
    for number, text in enumerate(texts[::step]):
        words = [word for word in text.split() if word.isalpha() and word.isascii() and len(word) > 2]
        if len(words) >= 12:
            found.append(" ".join(words[3 : 6 + number % 6]))
    return found[:count]

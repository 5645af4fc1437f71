"""Reads a prompt as a model has to: which text of each tracked file is the current one, and what it says.

Written from the words of the documents, not from the code that writes prompts: a diff is applied here line by line.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

STANDING = "# Referenced Files"
CHANGED = "# Changed Files"
AS_DIFF = "the current version, as a diff to the outdated text above"
AS_TEXT = "the current version, in the place of the outdated text above"


def current_files(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what each tracked file is said to be now; raise ``AssertionError`` if a file is said to be two things."""
    texts = [message["content"] for message in messages if message["role"] in {"developer", "system"}]
    standing = [text for text in texts if text.startswith(STANDING)]
    changed = [text for text in texts if text.startswith(CHANGED)]
    assert len(standing) <= 1
    assert len(changed) <= 1
    if changed:
        assert texts.index(changed[0]) > texts.index(standing[0]) if standing else True
    files = _blocks(standing[0]) if standing else {}
    current = {label: body for label, (_, body) in files.items()}
    assert not any(AS_DIFF in head or AS_TEXT in head for head, _ in files.values())
    for label, (head, body) in (_blocks(changed[0]) if changed else {}).items():
        marks = head.count(AS_DIFF) + head.count(AS_TEXT) + head.count("The text above is outdated.")
        assert marks == (label in files)
        current[label] = patched(files[label][1], body) if AS_DIFF in head else body
    return current


def _blocks(text: str) -> dict[str, tuple[str, str]]:
    """Return the head and the body of each block, by its name; a block without a body is its head."""
    found: dict[str, tuple[str, str]] = {}
    lines, at = text.split("\n"), 0
    while at < len(lines):
        heading = re.fullmatch(r"## (.*?)(?: \{#.*\})?", lines[at])
        at += 1
        if not heading:
            continue
        head: list[str] = []
        while at < len(lines) and not re.match(r"`{3,}", lines[at]) and not lines[at].startswith("## "):
            head.append(lines[at])
            at += 1
        body = "\n".join(head).strip()
        if at < len(lines) and lines[at].startswith("`"):
            fence = re.match(r"`+", lines[at])
            assert fence
            end = lines.index(fence[0], at + 1)
            body = "\n".join([*lines[at + 1 : end], ""]) if end > at + 1 else ""
            at = end + 1
        assert heading[1] not in found
        found[heading[1]] = ("\n".join(head), body)
    return found


def patched(text: str, diff: str) -> str:
    """Return ``text`` after a unified diff."""
    old, new, at = text.split("\n"), list[str](), 0
    for line in diff.removesuffix("\n").split("\n"):
        if hunk := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            start = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:start]
            at = start
        elif line.startswith("\\"):
            continue
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            new += [old[at]] if line.startswith(" ") else []
            at += 1
    return "\n".join([*new, *old[at:]])

"""Untracked files as patches that add them.

Git shows no diff of an untracked file unless it is added to an index. So these files are read here: with a size limit
and without following links; a link is shown as its target. Attributes and line-ending rules are not applied: the patch
shows the bytes on disk.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from promptuary.base.errors import SourceError
from promptuary.workspace.git.locate import exists_inside, link_inside, open_inside
from promptuary.workspace.git.patch import FileChange, Patch, Refusal, display_name, quote

MAX_FILES: Final = 200
MAX_BYTES: Final = 1 << 20
_BINARY_IN = 8000


def as_new_files(folder: Path, names: Sequence[bytes], refusal: Refusal, *, budget: int, modes: bool) -> Patch:
    """Return the files below ``folder`` as one patch of at most ``budget`` characters.

    ``modes`` says whether the executable bit counts (``core.fileMode``).
    """
    text: list[str] = []
    files: list[FileChange] = []
    withheld: list[str] = []
    notes: tuple[str, ...] = ()
    for position, name in enumerate(names):
        if not exists_inside(folder, os.fsdecode(name)):
            continue
        if refusal(os.fsdecode(name)) is not None:
            withheld.append(display_name(name))
            continue
        section, change = _section(folder, name, modes=modes)
        budget -= len(section)
        if len(files) == MAX_FILES or budget < 0:
            notes = (f"{len(names) - position} more untracked files are not shown",)
            break
        text.append(section)
        files.append(change)
    return Patch("".join(text), tuple(files), tuple(withheld), truncated=bool(notes), notes=notes)


def _section(folder: Path, name: bytes, *, modes: bool) -> tuple[str, FileChange]:
    path = display_name(name)
    mode, content = _read(folder, os.fsdecode(name), modes=modes)
    if isinstance(content, str):
        head = _head(name, mode).decode("utf-8", "replace")
        return f"{head}{content}\n", FileChange(path, None, None)
    section = new_file(name, mode, content)
    binary = _is_binary(content)
    added = 0 if binary else content.count(b"\n") + (content[-1:] not in {b"", b"\n"})
    return section.decode("utf-8", "replace"), FileChange(path, added, 0, binary)


def _read(folder: Path, path: str, *, modes: bool) -> tuple[int, bytes | str]:
    """Return a file's mode, and its content or a sentence that says why it is not shown."""
    target = link_inside(folder, path)
    if target is not None:
        return stat.S_IFLNK, target
    try:
        with open_inside(folder, path) as opened:
            if opened is None:
                return 0o100644, "Not a regular file: not shown"
            file, found = opened
            mode = 0o100755 if modes and found.st_mode & stat.S_IXUSR else 0o100644
            if found.st_size > MAX_BYTES:
                return mode, f"File of {found.st_size:,} bytes: too large to show"
            return mode, file.read(MAX_BYTES)
    except SourceError as error:
        return 0o100644, f"Not readable: {error.code}"


def _is_binary(content: bytes) -> bool:
    """Return whether git treats content as binary: it has a NUL near its beginning."""
    return b"\0" in content[:_BINARY_IN]


def _head(name: bytes, mode: int) -> bytes:
    """Return the lines that open the patch of an added file."""
    old, new = (quote(side + name) for side in (b"a/", b"b/"))
    return b"diff --git %s %s\nnew file mode %06o\n" % (old, new, mode)


def new_file(name: bytes, mode: int, content: bytes) -> bytes:
    """Return the patch that adds a file, as git would write it, but without its hash."""
    head = _head(name, mode)
    target = quote(b"b/" + name)
    if _is_binary(content):
        return head + b"Binary files /dev/null and %s differ\n" % target
    if not content:
        return head
    lines = content.removesuffix(b"\n").split(b"\n")
    ending = b"" if content.endswith(b"\n") else b"\\ No newline at end of file\n"
    span = b"1" if len(lines) == 1 else b"1,%d" % len(lines)
    # Git adds a tab after a name with a space, which could be mistaken for its end.
    tab = b"\t" if b" " in name and target[:1] != b'"' else b""
    body = b"".join(b"+%b\n" % line for line in lines)
    return head + b"--- /dev/null\n+++ %b%b\n@@ -0,0 +%b @@\n%b%b" % (target, tab, span, body, ending)

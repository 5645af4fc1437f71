"""Reads the arguments of an action: ids of notes, fields, filters, and text from standard input."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import open_workspace, standard_input
from promptuary.memory.values import STATUSES, NoteFields, NoteSelection

Result = TypeVar("Result")

_THREAD = "{thread}"
_FIELDS = {"tag": "tags"}
"""Arguments whose name differs from that of the field."""
_NOTE_DEPTH = 3
"""The number of parts in the path of a note: audience, kind and file."""
_OF_A_NOTE = ("title", "id", "kind", "audience", "scope", "status", "summary", "tag", "valid_from", "valid_until")


def open_memory(options: argparse.Namespace) -> Promptuary:
    """Open the workspace with the notes of ``--thread``, if each thread has its own notes."""
    promptuary = open_workspace(options)
    thread = options.thread
    if thread is None:
        return promptuary
    template = promptuary.settings.memory_folder
    promptuary.close()
    if _THREAD not in template:
        raise PromptuaryError("--thread: all threads share their notes here; memory_folder does not contain {thread}")
    if not thread.strip() or set(thread) & set("/{}"):
        raise PromptuaryError(f"--thread {thread[:80]!r} cannot be the name of a folder")
    options.memory_folder = template.replace(_THREAD, thread)
    # The notes on the settings were printed already.
    return open_workspace(argparse.Namespace(**{**vars(options), "quiet": True}))


def names(options: argparse.Namespace, *, what: str = "note") -> Sequence[str]:
    """Return the given ids or paths. Raises ``PromptuaryError`` if there are none."""
    given = _read(options.words)
    if not given:
        action = options.action
        raise PromptuaryError(f"memory {action} needs the id of a {what}: promptuary memory {action} --help")
    return [_as_note(one) for one in given]


def _as_note(typed: str) -> str:
    """Return the path of a note inside its notebook, if ``typed`` is the path of an existing file."""
    if not typed.endswith(".md") or not os.path.lexists(typed):
        return typed
    return "/".join(Path(os.path.abspath(typed)).parts[-_NOTE_DEPTH:])  # noqa: PTH100  (links do not matter)


def one_name(options: argparse.Namespace) -> str:
    """Return the only id or path. Raises ``PromptuaryError`` if there are several."""
    given = names(options)
    if len(given) > 1:
        raise PromptuaryError(f"memory {options.action} takes one note at a time, not {len(given)}")
    return given[0]


def _read(words: Sequence[str]) -> Sequence[str]:
    if "-" not in words:
        return list(words)
    piped = [line.strip() for line in standard_input().decode("utf-8", "replace").splitlines()]
    return [*(word for word in words if word != "-"), *filter(None, piped)]


def fields(options: argparse.Namespace) -> NoteFields:
    """Return the fields of a note, without its text."""
    found: NoteFields = {}
    for name in (*_OF_A_NOTE, "supersedes", "pinned"):
        value = getattr(options, name, None)
        if value is not None:
            found[_FIELDS.get(name, name)] = value  # type: ignore[literal-required]
    return found


def selection(options: argparse.Namespace) -> NoteSelection:
    found: NoteSelection = {}
    if options.kind:
        found["kinds"] = options.kind
    if options.scope:
        found["scopes"] = [options.scope]
    if options.audience:
        found["audiences"] = [options.audience]
    if options.tag:
        found["tags"] = options.tag
    if statuses := getattr(options, "status", None):
        found["statuses"] = STATUSES if "all" in statuses else statuses
    return found


def do_each(given: Sequence[str], work: Callable[[str], Result]) -> tuple[list[Result], bool]:
    """Call ``work`` with each name, also after one has failed.

    Return the results, and whether all calls succeeded.
    """
    done: list[Result] = []
    failed = 0
    for name in given:
        try:
            done.append(work(name))
        except PromptuaryError as error:
            if len(given) == 1:
                raise
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
            failed += 1
    return done, not failed

"""Reads SQL from files beside the code that runs it.

A file of queries has, for each query, a line ``-- name: …``, at least one line that says what it is for, and the
statement. Placeholders are ``:name``. A script is a sequence of statements. Nothing here runs SQL.
"""

import functools
import os
import re
import sqlite3
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Self


class Query(str):
    """A statement that knows where it is from, so that a driver can put one of its own dialect in its place."""

    __slots__ = ("file", "name")

    def __new__(cls, text: str, file: str, name: str) -> Self:
        """Return the statement ``text``, which is called ``name`` in ``file``."""
        query = super().__new__(cls, text)
        query.file, query.name = file, name
        return query

    file: str
    name: str


_NAME = re.compile(r"^-- name: *(\w+) *\n", re.MULTILINE)
_SENTENCE = re.compile(r"--[ ]*\w")


def script(package: str, file: str) -> str:
    """Return the text of ``file`` in ``package``."""
    # Like ``importlib.resources``, which takes longer to import than reading all scripts.
    module = import_module(package)
    loader: Any = module.__loader__
    read: bytes = loader.get_data(os.path.join(module.__path__[0], file))  # noqa: PTH118
    return read.decode()


def statements(text: str) -> tuple[str, ...]:
    """Return the statements of a script one by one, so that they can share a transaction."""
    found: list[str] = []
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in pending.splitlines()):
        raise ValueError(f"a statement does not end: {pending.strip()[:80]!r}")
    return tuple(found)


@functools.cache
def queries(package: str, file: str) -> Mapping[str, Query]:
    """Return the queries of ``file`` by name."""
    found = named(script(package, file))
    return MappingProxyType({name: Query(text, f"{package}/{file}", name) for name, text in found.items()})


def named(text: str) -> dict[str, str]:
    """Return the queries in ``text`` by name; each must have a sentence and a unique name."""
    parts = _NAME.split(text)[1:]
    found: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in found:
            raise ValueError(f"two queries are called {name}")
        if not _SENTENCE.match(body):
            raise ValueError(f"query {name} does not say what it is for")
        found[name] = body.strip()
    return found

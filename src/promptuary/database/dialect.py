"""Turns SQL that is written for SQLite into that of PostgreSQL: queries when they are first run, and the schema.

Nearly all of it is the same text. A query that is not lies under the same name in a file beside it, whose name ends in
.postgres.sql. Nothing here runs SQL.
"""

import functools
import re
from typing import Final

from promptuary.database.queries import Query, named, script

_PARTS: Final = re.compile(r"""--[^\n]*|'[^']*'|"[^"]*"|::|%|:(\w+)""")
"""What may hold a colon that is no placeholder, and the per cent signs, which the driver takes for placeholders."""

_TYPES: Final = {
    " INTEGER": " BIGINT",
    " BLOB": " BYTEA",
    " TEXT": ' TEXT COLLATE "C"',
    ") WITHOUT ROWID;": ");",
    "    user ": '    "user" ',
}
"""How the schema differs: numbers have 64 bits and text is ordered by its bytes, as in SQLite."""


@functools.cache
def translate(query: str) -> str:
    """Return a query with the placeholders of the driver, or that which lies beside it under the same name."""
    text = _own(query.file).get(query.name, str(query)) if isinstance(query, Query) else query
    return _PARTS.sub(_translated, text).strip()


def translate_schema(text: str) -> str:
    """Return a script that makes tables."""
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    text = "\n".join(lines)
    for ours, theirs in _TYPES.items():
        text = text.replace(ours, theirs)
    return text


def _translated(found: re.Match[str]) -> str:
    if found[1]:
        return f"%({found[1]})s"
    if found[0].startswith("--"):
        return ""
    return found[0].replace("%", "%%")


@functools.cache
def _own(file: str) -> dict[str, str]:
    package, _, name = file.partition("/")
    try:
        return named(script(package, f"{name.removesuffix('.sql')}.postgres.sql"))
    except FileNotFoundError:
        return {}

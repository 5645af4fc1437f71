"""The kind of a file by its name, and the date it is about.

Pure: the name, the text and the time of the last change are arguments. ``core.texts.languages`` names languages;
``workspace.disk.sensitive_names`` lists extensions of text files.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Final

from promptuary.base.front_matter import START, fields
from promptuary.base.languages import language_of
from promptuary.search.dates.written import first_date, lone_date, seconds
from promptuary.search.values import FileKind
from promptuary.workspace.disk.sensitive_names import CODE_EXTENSIONS, DATA_EXTENSIONS

HEADED: Final = frozenset(
    ["adoc", "asciidoc", "markdown", "md", "mdc", "mdown", "mdwn", "mdx", "mkd", "org", "qmd", "rmd", "rst"]
)
"""Extensions of prose whose headings can be parsed."""

_DATA_LANGUAGES = frozenset({"json", "jsonl", "yaml", "toml", "ini", "csv", "xml"})
_PROSE_LANGUAGES = frozenset({"latex", "diff"})
_CODE_EXTENSIONS = frozenset(CODE_EXTENSIONS.split())
_DATA_EXTENSIONS = frozenset(DATA_EXTENSIONS.split())

_KEYS = ("date", "updated", "created")
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]{1,9})?)?[ ]?(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))?)?"
)
# Some note programs do not allow a hyphen in a name, and write an underscore; others have a folder for each year and
# month. Eight digits may have a time after them.
_DAY = re.compile(
    r"(?<![0-9])(?:([0-9]{4})([-_./])([0-9]{2})\2([0-9]{2})"
    r"|((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})(?:[0-9]{4}(?:[0-9]{2})?)?)(?![0-9])"
)
_HEADING = re.compile(r"\n(?:#{1,6}|\*|=)[ \t]([^\n]{0,400})")


def extension_of(path: str) -> str:
    """Return the extension of a file in lower case and without its dot; empty if it has none."""
    name = path.rsplit("/", 1)[-1].lower()
    return name.rpartition(".")[2] if "." in name else ""


@lru_cache(maxsize=16)
def kind_of(path: str) -> FileKind:
    """Return the kind of the file ``path`` by its name alone. Cached: it is called several times for each file."""
    extension = extension_of(path)
    if extension in HEADED:
        return "markdown"
    language = language_of(path)
    if language in _DATA_LANGUAGES:
        return "data"
    if language:
        return "text" if language in _PROSE_LANGUAGES else "code"
    if f".{extension}" in _CODE_EXTENSIONS:
        return "code"
    return "data" if f".{extension}" in _DATA_EXTENSIONS else "text"


def date_of(path: str, text: str, modified_ns: int) -> int:
    """Return the date that a file is about, in seconds since 1970; never raises.

    That is the date in its front matter, else one in its name or in a folder's (the innermost first), else one in its
    first heading (2024-03-05, 2024/03/05 17:17, 8 May 2023, May 8, 2023), else its last change. A date without a time
    is midnight in UTC; an impossible one is ignored.
    """
    start = text[:START].removeprefix("\ufeff")
    found = _of_front_matter(start)
    if found is None:
        found = date_of_name(path)
    if found is None and kind_of(path) == "markdown" and (heading := _HEADING.search(f"\n{start}")):
        found = first_date(heading[1])
    return found if found is not None else modified_ns // 1_000_000_000


def date_of_name(path: str) -> int | None:
    """Return the date in the name of a file, or in a folder's; the innermost first."""
    if not _DAY.search(path):
        return None
    days = map(_of_words, (*reversed(path.split("/")), path))
    return next((day for day in days if day is not None), None)


def stated_dates(path: str, text: str) -> list[int]:
    """Return the dates that a file says it is of: those in its front matter and in its name."""
    moments = [*_front_matter_moments(text[:START].removeprefix("\ufeff")), date_of_name(path)]
    return [moment for moment in moments if moment is not None]


def _of_front_matter(start: str) -> int | None:
    return next(_front_matter_moments(start), None)


def _front_matter_moments(start: str) -> Iterator[int]:
    values = fields(start)
    moments = (_moment(value) for key in _KEYS for value in values.get(key, ()))
    yield from (moment for moment in moments if moment is not None)


def _moment(value: str) -> int | None:
    """Parse the value of a line: a date, with or without a time, quotes, and a comment after it."""
    plain = value.partition(" #")[0].strip().strip("\"'")
    match = _MOMENT.fullmatch(plain)
    if match is None:
        return lone_date(plain)
    hour, minute, second = (int(match[n] or 0) for n in (4, 5, 6))
    ahead = timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
    return seconds(
        int(match[1]), int(match[2]), int(match[3]), (hour, minute, second), -ahead if match[8] == "-" else ahead
    )


def _of_words(words: str) -> int | None:
    numbers = (day.group(1, 3, 4) if day[1] else day.group(5, 6, 7) for day in _DAY.finditer(words))
    days = (seconds(int(year), int(month), int(day)) for year, month, day in numbers)
    return next((day for day in days if day is not None), None)

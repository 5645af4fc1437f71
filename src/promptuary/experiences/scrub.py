"""Removes secrets from what is about to be stored as an experience. Pure and linear.

Keys and passwords in sentences are recognised as in notes. The arguments of tools have more forms: a field whose name
says that it is a secret, an option of a command, a header, a password in a URL. A mark replaces the value, since an
experience is useful without it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from promptuary.core.layers import Json
from promptuary.memory.secret_texts import without_secrets

MASK: Final = "***"
_NAME_LENGTH: Final = 30

_NAME: Final = (
    r"pass(?:word|wd|phrase|code)?|pwd|passwort|kennwort|secret|credentials?|authorization|auth|cookie|"
    r"(?:access|api|auth|bearer|refresh|session|id)?[_-]?token|(?:api|access|secret|private|account)[_-]?key|"
    r"client[_-]?secret"
)
_FIELD: Final = rf"(?:.*[_.\- ])?(?:{_NAME})"
_WORDS: Final = r"(?<=[a-z0-9])(?=[A-Z])"
_BEFORE: Final = r"(?<![A-Za-z0-9])"
_VALUE: Final = r"(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"'`;&|<>]{1,400})"
_ASSIGNED: Final = rf"({_BEFORE}(?:{_NAME})[\"']?[ \t]{{0,3}}[=:][ \t]{{0,3}}){_VALUE}"
_OPTION: Final = rf"((?<![\w-])--?(?:[a-z]{{1,20}}-){{0,3}}(?:{_NAME})(?:=|[ \t]{{1,3}})){_VALUE}"
_SCHEME: Final = r"((?<!\w)(?:bearer|basic)[ \t]{1,3})[A-Za-z0-9+/=._~-]{8,4000}"
_URL: Final = r"((?<!\w)[a-z][a-z0-9+.-]{1,15}://[^\s/:@\"'<>]{0,200}:)[^\s/@\"'<>]{1,400}(?=@)"
_USER: Final = r"((?<![\w-])(?:-u|--user)(?:=|[ \t]{1,3})[\"']?[^\s:\"']{1,100}:)[^\s\"']{1,200}"
_PLACEHOLDER: Final = r"\*+|x+|\.+|…|\$\{?\w+\}?|%\w+%|⟨.*⟩|true|false|null|none|yes|no"


def scrubbed(text: str) -> str:
    """Return a text in which everything that looks like a secret is masked."""
    if text.replace("_", "").isalpha() and len(text) <= _NAME_LENGTH:  # a name, as most texts in a solution are
        return text
    text = without_secrets(text)
    # Most texts have nothing that a pattern needs; case-insensitive patterns also match some letters beyond ASCII.
    folded = text.lower() if text.isascii() else None
    for pattern, needed in _patterns():
        if folded is None or any(one in folded for one in needed):
            text = pattern.sub(_masked, text)
    return text


def scrubbed_value(value: Json) -> Json:
    """Return JSON with the same done to every text in it, names of fields included.

    A field whose name says that it is a secret loses its value, whatever that looks like.
    """
    match value:
        case str():
            return scrubbed(value)
        case Mapping():
            return _scrubbed_fields(value)
        case Sequence():
            return [scrubbed_value(one) for one in value]
        case _:
            return value


def _scrubbed_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, value in fields.items():
        plain = key = scrubbed(name)
        while key in found:  # two names may become one
            key = f"{plain} {len(found)}"
        found[key] = _hidden(value) if _names_secret(name) else scrubbed_value(value)
    return found


def _hidden(value: Json) -> Json:
    """Return what replaces the value of a secret field: it shows whether there was one, and its shape."""
    match value:
        case bool() | None:
            return value
        case str() if not value or _no_secret().fullmatch(value):
            return value
        case Mapping():
            return {name: _hidden(one) for name, one in _scrubbed_fields(value).items()}
        case str():
            return MASK
        case Sequence():
            return [_hidden(one) for one in value]
        case _:
            return MASK


def _masked(found: re.Match[str]) -> str:
    value = found[0][len(found[1]) :].strip("\"'")
    return found[0] if _no_secret().fullmatch(value) else found[1] + MASK


@lru_cache(maxsize=256)
def _names_secret(name: str) -> bool:
    words = _camel().sub("_", name[:200])
    return _field().fullmatch(words) is not None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Return the patterns, each with texts of which every match contains one."""
    # Headers before assignments: "Authorization: Bearer abc" has two words after the colon.
    every = (
        (_SCHEME, ("bearer", "basic")),
        (_URL, ("://",)),
        (_USER, ("-u",)),
        (_OPTION, ("-",)),
        (_ASSIGNED, ("=", ":")),
    )
    return tuple((re.compile(one, re.IGNORECASE), needed) for one, needed in every)


@cache
def _no_secret() -> re.Pattern[str]:
    return re.compile(_PLACEHOLDER, re.IGNORECASE)


@cache
def _field() -> re.Pattern[str]:
    return re.compile(_FIELD, re.IGNORECASE)


@cache
def _camel() -> re.Pattern[str]:
    return re.compile(_WORDS)

"""Which paths may be read at all: decided by the name alone, before anything is opened.

A name is compared as the most tolerant file system and the least attentive person would read it: compatibility forms,
case, invisible characters, trailing dots and NTFS streams make no difference. This module does not know whether the
file exists, nor what is in it.
"""

import re
import unicodedata
from dataclasses import dataclass

from promptuary.core.errors import Code, SourceError
from promptuary.core.text import one_line
from promptuary.workspace.disk.sensitive_names import (
    ALLOWED,
    BACKUPS,
    DESCRIBING,
    SECRET_ANYWHERE,
    SECRET_ENDINGS,
    SECRET_FILES,
    SECRET_PATHS,
    SECRET_SHAPES,
    SECRET_UNLESS_DESCRIBED,
    SECRET_WORDS,
    STEMS,
    TEMPLATE_ENDINGS,
    TEMPLATES,
)

__all__ = ["ALLOWED", "ReadPolicy"]

_MIB = 1024 * 1024

# Letters and symbols that are invisible, although their category does not say so.
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Mn", "Me"})
_PARTS = re.compile(r"[._-]")
_SECRET_PATH = re.compile("(?:^|/)(?:" + "|".join(map(re.escape, sorted(SECRET_PATHS))) + ")(?:/|$)")
_SECRET_PATH_STARTS = frozenset(path.split("/", 1)[0] for path in SECRET_PATHS)


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """What may be read.

    ``allowed`` holds extensions with their dot and whole names, in lower case; names without an extension are always
    allowed. ``also`` holds what a person allows in addition; ``*`` is every extension. ``allow_sensitive`` holds names,
    or paths relative to the workspace, that a person allows explicitly, whatever they are called.
    """

    max_bytes: int = _MIB
    allowed: frozenset[str] = ALLOWED
    also: frozenset[str] = frozenset()
    allow_sensitive: frozenset[str] = frozenset()

    def refusal(self, path: str) -> SourceError | None:
        """Return the error for reading the file ``path``, in normal form; ``None`` if it may be read."""
        names = _comparable(path)
        if self._allowed_by_name(names):
            return None
        if _is_sensitive(names):
            return SourceError(
                Code.SENSITIVE_PATH,
                f'"{one_line(path)}" is a usual name for secrets, so it is not read; '
                "if it holds none, allow it by name (--allow-sensitive, or allow_sensitive in your configuration).",
            )
        if not self._has_text_name(names[-1]):
            return SourceError(
                Code.DISALLOWED_EXTENSION,
                f'"{one_line(path)}" has an extension that is not known to be text; '
                "if it is, allow it (--allow-extension, or allowed_extensions in your configuration).",
            )
        return None

    def sensitive(self, path: str) -> bool:
        """Return whether ``path``, a file or a folder in normal form, must not be read or listed."""
        names = _comparable(path)
        return _is_sensitive(names) and not self._allowed_by_name(names)

    def _allowed_by_name(self, names: list[str]) -> bool:
        if not self.allow_sensitive:
            return False
        path = "/" + "/".join(names)
        return any(path.endswith("/" + "/".join(_comparable(name))) for name in self.allow_sensitive)

    def _has_text_name(self, name: str) -> bool:
        stem, dot, extension = name.rpartition(".")
        if not stem or not dot or extension.isdigit():
            return True
        if {f".{extension}", name, "*"} & self.also or f".{extension}" in self.allowed or name in self.allowed:
            return True
        return self.allowed is ALLOWED and name.split(".", 1)[0] in STEMS


def _comparable(path: str) -> list[str]:
    """Return the names in ``path`` in the form in which names are compared."""
    if path.isascii():
        plain = path.lower()
    else:
        # Case folding can undo the compatibility form, hence twice.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
        plain = "".join(
            c for c in folded if c not in _INVISIBLE and unicodedata.category(c) not in _INVISIBLE_CATEGORIES
        )
    if ":" in plain:
        plain = "/".join(name.split(":", 1)[0] for name in plain.split("/"))
    return [name.strip().rstrip(". ") for name in plain.split("/")]


def _is_sensitive(names: list[str]) -> bool:
    if not SECRET_ANYWHERE.isdisjoint(names):
        return True
    if not _SECRET_PATH_STARTS.isdisjoint(names) and _SECRET_PATH.search("/".join(names)):
        return True
    name = _without_backup_endings(names[-1])
    if name in SECRET_ANYWHERE:
        return True
    known = name in SECRET_FILES or f".{name.rpartition('.')[2]}" in SECRET_ENDINGS
    return (known or _has_secret_shape(name, names)) and not _is_template(name)


def _has_secret_shape(name: str, names: list[str]) -> bool:
    # The patterns are slow to match, and most names contain none of their words.
    if SECRET_WORDS.search(name) is None:
        return False
    if SECRET_SHAPES.fullmatch(name):
        return True
    return SECRET_UNLESS_DESCRIBED.fullmatch(name) is not None and DESCRIBING.isdisjoint(names[:-1])


def _without_backup_endings(name: str) -> str:
    name = name.rstrip("~")
    while True:
        stem, _, ending = name.rpartition(".")
        if not stem or ending not in BACKUPS:
            return name
        name = stem.rstrip("~")


def _is_template(name: str) -> bool:
    parts = _PARTS.split(name)
    if parts[-1] in TEMPLATE_ENDINGS and len(parts) > 1:
        parts.pop()
    return parts[-1] in TEMPLATES

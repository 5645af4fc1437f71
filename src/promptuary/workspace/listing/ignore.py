"""Ignore files: the rules of ``.gitignore``, with nesting, negation, anchors and folder-only patterns.

Used where git does not decide: for folders outside git, and for the two files that git does not know, ``.ignore`` and
``.promptuaryignore``. These can hide more than git hides, but never show more, so that a workspace has the same files
inside a repository and copied out of it. A malformed line is skipped. This module reads ignore files; it does not walk
folders.
"""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from promptuary.workspace.listing.glob import MalformedPatternError, glob_expression, segments

GIT_IGNORE_FILES = (".gitignore",)
OWN_IGNORE_FILES = (".ignore", ".promptuaryignore")
"""The later name overrides the earlier one in the same folder."""

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj", ".sl"})
"""Never listed, whatever an ignore file says."""

NOISE_FOLDERS = frozenset(
    {
        "__pycache__",
        ".cache",
        ".eggs",
        ".gradle",
        ".mypy_cache",
        ".next",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".terraform",
        ".tox",
        ".venv",
        "bower_components",
        "node_modules",
        "venv",
    }
)
"""Folders that are hidden outside git, unless a rule of an ignore file matches them."""

_MAX_RULES_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rule:
    expression: str
    matcher: re.Pattern[str]
    hides: bool
    folders_only: bool
    anchored: bool


class IgnoreFile:
    """The rules of one ignore file; the last rule that matches decides."""

    __slots__ = ("_any_name", "_any_path", "_rules")

    def __init__(self, text: str) -> None:
        rules = [rule for line in text.removeprefix("\ufeff").split("\n") if (rule := _parse(line))]
        self._rules = tuple(reversed(rules))
        # Most paths match no rule at all: one expression for all rules finds that out quickly.
        self._any_name = _any([rule.expression for rule in rules if not rule.anchored])
        self._any_path = _any([rule.expression for rule in rules if rule.anchored])

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Return whether ``path``, relative to this file's folder, is hidden; ``None`` if no rule matches."""
        path = _bytewise(path)
        name = path.rpartition("/")[2]
        if not ((self._any_name and self._any_name.match(name)) or (self._any_path and self._any_path.match(path))):
            return None
        for rule in self._rules:
            if (folder or not rule.folders_only) and rule.matcher.match(path if rule.anchored else name):
                return rule.hides
        return None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that apply inside one folder, the nearest first.

    ``noise`` says whether ``NOISE_FOLDERS`` are hidden where no rule matches; a repository turns it off, since there
    its own rules decide.
    """

    git: tuple[tuple[int, IgnoreFile], ...] = ()
    own: tuple[tuple[int, IgnoreFile], ...] = ()
    noise: bool = True

    def hides(self, path: str, *, folder: bool) -> bool:
        """Return whether ``path``, relative to the workspace, is hidden by the rules of its own folder."""
        name = path.rpartition("/")[2]
        if folder and name in VERSION_CONTROL:
            return True
        by_git = _verdict(self.git, path, folder=folder)
        by_own = _verdict(self.own, path, folder=folder)
        if by_git is None and by_own is None:
            return self.noise and folder and name in NOISE_FOLDERS
        return bool(by_git) or bool(by_own)

    def within(self, folder: str, rules: "FolderRules") -> "IgnoreRules":
        """Return the rules that apply inside ``folder``, which ends in ``/`` or is empty for the root."""
        offset = len(folder)
        git = () if rules.repository else self.git
        return IgnoreRules(
            tuple((offset, file) for file in rules.git) + git,
            tuple((offset, file) for file in rules.own) + self.own,
            noise=self.noise and not rules.repository,
        )


@dataclass(frozen=True, slots=True)
class FolderRules:
    """What one folder adds: its ignore files, the strongest first, and whether it is the top of a repository."""

    git: tuple[IgnoreFile, ...] = ()
    own: tuple[IgnoreFile, ...] = ()
    repository: bool = False


@dataclass(slots=True)
class OwnIgnoreRules:
    """The rules of ``.ignore`` and ``.promptuaryignore``, applied to whole paths: for a list that git made.

    A file is hidden if a rule hides it or any folder above it; each folder is decided once. ``counts`` returns whether
    the ignore files of a folder (empty, or ending in ``/``) apply; without it, those of every folder do.
    """

    root: Path
    counts: Callable[[str], bool] | None = None
    _inside: dict[str, IgnoreRules | None] = field(default_factory=dict)

    def hides(self, path: str) -> bool:
        """Return whether ``path``, relative to the workspace, is hidden."""
        folder = path[: path.rfind("/") + 1]
        inside = self._rules_inside(folder)
        return inside is None or inside.hides(path, folder=False)

    def _rules_inside(self, folder: str) -> IgnoreRules | None:
        """Return the rules inside ``folder``, or ``None`` if it is hidden itself."""
        if folder not in self._inside:
            self._inside[folder] = self._decide(folder)
        return self._inside[folder]

    def _decide(self, folder: str) -> IgnoreRules | None:
        above = self._rules_inside(folder[: folder.rfind("/", 0, -1) + 1]) if folder else IgnoreRules(noise=False)
        if above is None or (folder and above.hides(folder[:-1], folder=True)):
            return None
        if self.counts is not None and not self.counts(folder):
            return above
        files = tuple(read_ignore_file(self.root / folder / name) for name in reversed(OWN_IGNORE_FILES))
        return above.within(folder, FolderRules(own=tuple(file for file in files if file)))


def folder_rules(folder: Path, names: frozenset[str] | set[str]) -> FolderRules:
    """Return what ``folder``, which contains ``names``, adds to the rules from above."""
    if names.isdisjoint((".git", *GIT_IGNORE_FILES, *OWN_IGNORE_FILES)):
        return FolderRules()

    def files(wanted: tuple[str, ...]) -> tuple[IgnoreFile, ...]:
        found = (read_ignore_file(folder / name) for name in reversed(wanted) if name in names)
        return tuple(file for file in found if file)

    return FolderRules(files(GIT_IGNORE_FILES), files(OWN_IGNORE_FILES), ".git" in names)


def read_ignore_file(path: Path) -> IgnoreFile | None:
    """Read one ignore file; return ``None`` for a link, a pipe, and a huge or unreadable file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_RULES_FILE:
            return None
        return IgnoreFile(os.fsdecode(os.read(descriptor, _MAX_RULES_FILE)))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _verdict(levels: tuple[tuple[int, IgnoreFile], ...], path: str, *, folder: bool) -> bool | None:
    for offset, file in levels:
        verdict = file.verdict(path[offset:], folder=folder)
        if verdict is not None:
            return verdict
    return None


@lru_cache(maxsize=4096)
def _parse(line: str) -> _Rule | None:
    pattern = _bytewise(_without_trailing_spaces(line.removesuffix("\r")))
    if not pattern or pattern.startswith("#"):
        return None
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern[:-1] if folders_only else pattern
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not _can_match(pattern):
        return None
    expression = glob_expression(pattern if anchored else _in_one_segment(pattern))
    return _Rule(expression, re.compile(expression, re.DOTALL), not negated, folders_only, anchored)


def _can_match(pattern: str) -> bool:
    """Return whether any path can match: none does if a class is unclosed or a segment empty."""
    try:
        return "" not in segments(pattern)
    except MalformedPatternError:
        return False


def _bytewise(text: str) -> str:
    """Return one character for each byte: in git ``?`` matches a byte, not a letter."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def _in_one_segment(pattern: str) -> str:
    """Return the pattern for a name: ``**`` alone matches one name here, not a path."""
    return "*" if set(pattern) == {"*"} else pattern


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
    return f"{stripped} " if escaped and len(stripped) < len(line) else stripped


def _any(expressions: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{one})" for one in expressions), re.DOTALL) if expressions else None

"""Ignore files: the rules of ``.gitignore``, with nesting, negation, anchors and folder-only patterns.

Used where git does not decide: for folders outside git, and for the two files that git does not know, ``.ignore`` and
``.promptuaryignore``. These can hide more than git hides, but never show more, so that a workspace has the same files
inside a repository and copied out of it. A malformed line is skipped. This module reads ignore files; it does not walk
folders.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from msgspec import Struct, field

from promptuary.workspace.listing.glob import MalformedPatternError, glob_expression, segments
from promptuary.workspace.listing.noise import HIDDEN_FOLDERS, VERSION_CONTROL

GIT_IGNORE_FILES = (".gitignore",)
OWN_IGNORE_FILES = (".ignore", ".promptuaryignore")
"""The later name overrides the earlier one in the same folder."""

_MAX_RULES_FILE = 1 << 20
_MAX_WILDCARDS = 2_000
_MAX_WILDCARD_CHARACTERS = 1 << 16
"""The most rules of one file with wildcards, since each is tried on every path, and their total length. Later ones are
skipped, and the file is not ``complete``."""

_MAX_RULE = 4_096
"""No path is longer than this. A longer rule is skipped."""

_SPECIAL = frozenset("*?[\\")


class _Rule(Struct, frozen=True):
    pattern: str
    hides: bool
    folders_only: bool
    anchored: bool


class IgnoreFile:
    """The rules of one ignore file; the last rule that matches decides.

    It is not ``complete`` if it has more rules than are applied.
    """

    __slots__ = ("_any_name", "_any_path", "_literal", "_wildcards", "complete")

    def __init__(self, text: str, *, complete: bool = True) -> None:
        self.complete = complete
        rules = [rule for line in text.removeprefix("\ufeff").split("\n") if (rule := _parse(line))]
        # Rules without wildcards are looked up: by whether they are anchored or only for folders, and the name or path.
        self._literal: dict[tuple[bool, bool, str], tuple[int, bool]] = {}
        wildcards: list[tuple[int, _Rule]] = []
        room = _MAX_WILDCARD_CHARACTERS
        for number, rule in enumerate(rules):
            if _SPECIAL.isdisjoint(rule.pattern):
                self._literal[rule.anchored, rule.folders_only, rule.pattern] = number, rule.hides
            elif len(wildcards) < _MAX_WILDCARDS and (room := room - len(rule.pattern)) >= 0:
                wildcards.append((number, rule))
            else:
                self.complete = False
        self._wildcards = tuple(reversed(wildcards))
        # Most paths match no rule at all: one expression for all rules finds that out quickly.
        self._any_name = _any([_expression(rule) for _, rule in wildcards if not rule.anchored])
        self._any_path = _any([_expression(rule) for _, rule in wildcards if rule.anchored])

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Return whether ``path``, relative to this file's folder, is hidden; ``None`` if no rule matches."""
        path = _bytewise(path)
        name = path.rpartition("/")[2]
        last, hides = self._look_up(name, path, folder=folder)
        if not ((self._any_name and self._any_name.match(name)) or (self._any_path and self._any_path.match(path))):
            return hides
        for number, rule in self._wildcards:
            if number < last:
                break
            if (folder or not rule.folders_only) and _matcher(rule).match(path if rule.anchored else name):
                return rule.hides
        return hides

    def _look_up(self, name: str, path: str, *, folder: bool) -> tuple[int, bool | None]:
        """Return the number and the verdict of the last rule without wildcards that matches."""
        found: tuple[int, bool | None] = (-1, None)
        for only_folders in (False, True) if folder else (False,):
            for anchored, text in ((False, name), (True, path)):
                found = max(found, self._literal.get((anchored, only_folders, text), found), key=itemgetter(0))
        return found


class IgnoreRules(Struct, frozen=True):
    """The ignore files that apply inside one folder, the nearest first.

    ``noise`` says whether ``HIDDEN_FOLDERS`` are hidden where no rule matches; a repository turns it off, since there
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
            return self.noise and folder and name in HIDDEN_FOLDERS
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


class FolderRules(Struct, frozen=True):
    """The rules of one folder: its ignore files, the strongest first, and whether it is the top of a repository.

    ``cut`` are the names of those that have more rules than are applied.
    """

    git: tuple[IgnoreFile, ...] = ()
    own: tuple[IgnoreFile, ...] = ()
    repository: bool = False
    cut: tuple[str, ...] = ()


class OwnIgnoreRules(Struct):
    """The rules of ``.ignore`` and ``.promptuaryignore``, applied to whole paths: for a list that git made.

    A file is hidden if a rule hides it or any folder above it; each folder is decided once. ``counts`` returns whether
    the ignore files of a folder (empty, or ending in ``/``) apply; without it, those of every folder do. ``cut`` are
    the ignore files, of those read so far, that have more rules than are applied.
    """

    root: Path
    counts: Callable[[str], bool] | None = None
    cut: list[str] = field(default_factory=list)
    _inside: dict[str, IgnoreRules | None] = field(default_factory=dict)

    def hides(self, path: str) -> bool:
        """Return whether ``path``, relative to the workspace, is hidden."""
        folder = path[: path.rfind("/") + 1]
        inside = self._rules_inside(folder)
        return inside is None or inside.hides(path, folder=False)

    def without_ignored(self, paths: Iterable[str]) -> list[str]:
        """Return those of ``paths`` that are not hidden."""
        return [path for path in paths if not self.hides(path)]

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
        rules = folder_rules(self.root / folder, set(OWN_IGNORE_FILES))
        self.cut += [folder + name for name in rules.cut]
        return above.within(folder, rules)


def folder_rules(folder: Path, names: frozenset[str] | set[str]) -> FolderRules:
    """Return what ``folder`` adds to the rules from above; its only ignore files are those in ``names``."""
    if names.isdisjoint((".git", *GIT_IGNORE_FILES, *OWN_IGNORE_FILES)):
        return FolderRules()

    def files(wanted: tuple[str, ...]) -> dict[str, IgnoreFile]:
        found = ((name, read_ignore_file(folder / name)) for name in reversed(wanted) if name in names)
        return {name: file for name, file in found if file}

    git, own = files(GIT_IGNORE_FILES), files(OWN_IGNORE_FILES)
    cut = tuple(name for name, file in {**git, **own}.items() if not file.complete)
    return FolderRules(tuple(git.values()), tuple(own.values()), ".git" in names, cut)


def read_ignore_file(path: Path) -> IgnoreFile | None:
    """Read one ignore file, of a huge one the beginning; return ``None`` for a link, a pipe and an unreadable file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        text = os.read(descriptor, _MAX_RULES_FILE)
        if status.st_size <= _MAX_RULES_FILE:
            return IgnoreFile(os.fsdecode(text))
        return IgnoreFile(os.fsdecode(text[: text.rfind(b"\n") + 1]), complete=False)
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
    if len(pattern) > _MAX_RULE or not _can_match(pattern):
        return None
    return _Rule(pattern, not negated, folders_only, anchored)


def _expression(rule: _Rule) -> str:
    return glob_expression(rule.pattern if rule.anchored else _in_one_segment(rule.pattern))


@lru_cache(maxsize=4 * _MAX_WILDCARDS)
def _matcher(rule: _Rule) -> re.Pattern[str]:
    return re.compile(_expression(rule), re.DOTALL)


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
    return re.compile("|".join(f"(?:{expression})" for expression in expressions), re.DOTALL) if expressions else None

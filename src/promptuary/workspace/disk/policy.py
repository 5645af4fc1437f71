"""Which paths may be read at all: decided by the name alone, before anything is opened.

Names are compared in their ``comparable`` form, so that no spelling gets past a rule. This module does not know whether
the file exists, nor what is in it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.base.text import one_line, without_forged_masks
from promptuary.workspace.disk.comparable import comparable
from promptuary.workspace.disk.protected_folders import ClosedFolders, closed_error
from promptuary.workspace.disk.secret_values import mask_secrets
from promptuary.workspace.disk.sensitive_names import (
    ALLOWED,
    BACKUPS,
    DESCRIBING,
    SECRET_ANYWHERE,
    SECRET_ENDINGS,
    SECRET_FILES,
    SECRET_PATHS,
    SECRET_WORDS,
    STEMS,
    TEMPLATE_ENDINGS,
    TEMPLATES,
    VARIABLES,
    copy_marks,
    secret_shapes,
    secret_unless_described,
)

if TYPE_CHECKING:
    from promptuary.sessions.values import Reach, Sight

__all__ = ["ALLOWED", "IMAGES", "ReadPolicy"]

_MIB = 1024 * 1024

_LONGEST_NAME = 255
_LONGEST_PATH = 4096
"""No file has a longer name or path, but a git object may. The patterns here are slow to match long names."""

_LONGEST_SHOWN = 120

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
"""The images that models accept."""
_PICTURES = (".bmp", ".tif", ".tiff", ".ico", ".heic", ".avif")
_PARTS = re.compile(r"[._-]")
_SECRET_PATH_STARTS = frozenset(path.split("/", 1)[0] for path in SECRET_PATHS)


class ReadPolicy(Struct, frozen=True):
    """The rules for what may be read.

    ``allowed`` holds extensions with their dot and whole names, in lower case; names without an extension are always
    allowed. ``also`` holds what a person allows in addition; ``*`` is every extension. ``allow_sensitive`` holds names,
    or paths relative to the workspace, that a person allows explicitly, whatever they are called. Nothing opens
    what is ``closed``: Promptuary's own folders. ``None`` closes none, for reading the configuration in them. ``sight``
    is what a session may see, if one reads, and ``reach`` what people with restricted access may refer to: each refuses
    everything else, whether it exists or not.
    """

    max_bytes: int = _MIB
    allowed: frozenset[str] = ALLOWED
    also: frozenset[str] = frozenset()
    allow_sensitive: frozenset[str] = frozenset()
    closed: ClosedFolders | None = field(default_factory=ClosedFolders)
    sight: "Sight | None" = None
    reach: "Reach | None" = None

    def refusal(self, path: str) -> SourceError | None:
        """Return the error for reading the file ``path``, in normal form; ``None`` if it may be read."""
        if _is_too_long(path):
            shown = one_line(path[:_LONGEST_SHOWN])
            return SourceError(Code.BAD_NAME, f'"{shown}…" is longer than the name of a file can be; rename it.')
        if self.closes(path):
            return closed_error(path)
        if self.sight is not None and (outside := self.sight.refusal(path)) is not None:
            return outside
        if self.reach is not None and not self.reach.covers(path):
            return _unavailable()
        names = comparable(path)
        if self._allowed_by_name(names):
            return None
        if _is_sensitive(names):
            return SourceError(
                Code.SENSITIVE_PATH,
                f'"{one_line(path)}" is a usual name for secrets, so it is not read; '
                "if it holds none, allow it by name (--allow-sensitive, or allow_sensitive in your configuration).",
            )
        if not self._has_text_name(names[-1]):
            if names[-1].endswith(tuple(IMAGES)):
                return SourceError(
                    Code.DISALLOWED_EXTENSION,
                    f'"{one_line(path)}" is a picture, and only text is attached in this way; '
                    "@file: attaches it for a model that takes images.",
                )
            if names[-1].endswith(_PICTURES):
                return SourceError(
                    Code.DISALLOWED_EXTENSION,
                    f'"{one_line(path)}" is a picture, and only text is attached; write what is to be seen in it, '
                    "or give the picture to the model beside this message.",
                )
            return SourceError(
                Code.DISALLOWED_EXTENSION,
                f'"{one_line(path)}" has an extension that is not known to be text; '
                "if it is, allow it (--allow-extension, or allowed_extensions in your configuration).",
            )
        return None

    def for_images(self, max_bytes: int) -> "ReadPolicy":
        """Return the policy for images that models accept, unless the person allows only certain extensions."""
        also = self.also | IMAGES if self.allowed is ALLOWED else self.also
        return replace(self, max_bytes=max_bytes, also=also)

    def hides(self, path: str) -> bool:
        """Return whether ``path`` is neither inside what the reader may see nor a folder above it."""
        return any(one is not None and not one.leads_to(path) for one in (self.sight, self.reach))

    def outside(self, path: str, shown: str) -> SourceError | None:
        """Return the error if ``path`` is not inside what the reader may see; ``shown`` is how they wrote it."""
        if self.reach is not None and not self.reach.covers(path):
            return _unavailable()
        return self.sight.outside(shown) if self.sight is not None and not self.sight.covers(path) else None

    def inside(self, paths: Sequence[str]) -> Sequence[str]:
        """Return those of ``paths`` that the reader may see."""
        for one in (self.sight, self.reach):
            if one is not None and not one.whole:
                paths = [path for path in paths if one.covers(path)]
        return paths

    def kind_refusal(self, kind: str) -> SourceError | None:
        """Return the error for a kind of reference that the reader may not use at all."""
        if self.reach is not None and not self.reach.allows(kind):
            return _unavailable(kind)
        return None if self.sight is None else self.sight.kind_refusal(kind)

    def closes(self, path: str) -> bool:
        """Return whether ``path``, a file or a folder, is in a folder of Promptuary's own."""
        return self.closed is not None and self.closed.holds(path)

    def sensitive(self, path: str) -> bool:
        """Return whether ``path``, a file or a folder in normal form, must not be read or listed."""
        if _is_too_long(path) or self.closes(path):
            return True
        names = comparable(path)
        return _is_sensitive(names) and not self._allowed_by_name(names)

    def masked(self, text: str, *paths: str) -> str:
        """Return ``text``, which comes from ``paths``, with its secrets masked unless the person allows these names.

        What only looks like a mask is spelled differently: a file cannot claim that something was masked in it.
        """
        text = without_forged_masks(text)
        return text if paths and all(map(self.allows_secrets, paths)) else mask_secrets(text)

    def allows_secrets(self, path: str) -> bool:
        """Return whether the person allows the file ``path`` by name, including secrets in it."""
        return self._allowed_by_name(comparable(path))

    def _allowed_by_name(self, names: list[str]) -> bool:
        if not self.allow_sensitive:
            return False
        path = "/" + "/".join(names)
        return any(path.endswith("/" + "/".join(comparable(name))) for name in self.allow_sensitive)

    def _has_text_name(self, name: str) -> bool:
        stem, dot, extension = name.rpartition(".")
        if not stem or not dot or extension.isdigit():
            return True
        if {f".{extension}", name, "*"} & self.also or f".{extension}" in self.allowed or name in self.allowed:
            return True
        return self.allowed is ALLOWED and name.split(".", 1)[0] in STEMS


def _unavailable(kind: str = "file") -> SourceError:
    from promptuary.sessions.values import unavailable  # noqa: PLC0415  (most people may read what they like)

    return unavailable(kind)


def _is_too_long(path: str) -> bool:
    if len(path) <= _LONGEST_NAME:
        return False
    return len(path) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in path.split("/"))


@cache
def _secret_path() -> re.Pattern[str]:
    return re.compile("(?:^|/)(?:" + "|".join(map(re.escape, sorted(SECRET_PATHS))) + ")(?:/|$)")


def _is_sensitive(names: list[str]) -> bool:
    if not SECRET_ANYWHERE.isdisjoint(names):
        return True
    if not _SECRET_PATH_STARTS.isdisjoint(names) and any(
        _secret_path().search("/".join([*names[:-1], name])) for name in (names[-1], *_originals(names[-1]))
    ):
        return True
    if any(name.startswith(".") and not SECRET_ANYWHERE.isdisjoint(_originals(name)) for name in names[:-1]):
        return True
    return any(_is_secret_name(name, names) for name in _originals(names[-1]))


def _is_secret_name(name: str, names: list[str]) -> bool:
    if name in SECRET_ANYWHERE:
        return True
    known = name in SECRET_FILES or ("." in name and f".{name.rpartition('.')[2]}" in SECRET_ENDINGS)
    if name == "tokens.json":  # in an ordinary folder these are the colours and sizes of a design, or translations
        known = len(names) == 1 or any(folder.startswith(".") for folder in names[:-1])
    if name in {"vault", "vault.yml", "vault.yaml"}:  # elsewhere it is what a vault consists of
        known = not VARIABLES.isdisjoint(names[:-1])
    return (known or _has_secret_shape(name, names)) and not _is_template(name)


def _has_secret_shape(name: str, names: list[str]) -> bool:
    # The patterns are slow to match, and most names contain none of their words.
    if SECRET_WORDS.search(name) is None:
        return False
    if secret_shapes().fullmatch(name):
        return True
    return secret_unless_described().fullmatch(name) is not None and DESCRIBING.isdisjoint(names[:-1])


def _originals(name: str) -> Iterator[str]:
    """Yield ``name`` without the marks of a copy, one after another: ``#id_rsa#``, ``.env (1)``, ``server.key.txt``."""
    yield (name := _without_editor_marks(name))
    while (shorter := _without_one_mark(name)) != name:
        name = shorter
        yield name


def _without_editor_marks(name: str) -> str:
    """Return ``name`` without what Emacs, Vim and macOS put around the name of the file they stand for."""
    if name.startswith((".#", "._")) and len(name) > 2:
        name = name[2:]
    elif name.startswith(".") and name.endswith((".swp", ".swo", ".swn")):
        name = name[1:-4] or name
    return name.strip("#").rstrip("~") or name


def _without_one_mark(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    # A number may be the section of a manual: passwd.5 keeps its name.
    if stem and (ending in BACKUPS or ending == "txt" or (ending.isdigit() and "." in stem)):
        return stem.rstrip("~")
    if name.isascii() and SECRET_WORDS.search(name) is None:  # no mark of a copy, either
        return name.strip() or name
    return copy_marks().sub("", name, count=1).strip() or name


def _is_template(name: str) -> bool:
    parts = _PARTS.split(name)
    if parts[-1] in TEMPLATE_ENDINGS and len(parts) > 1:
        parts.pop()
    return parts[-1] in TEMPLATES

"""Which settings of a repository's configuration are used: harmless ones, read as data.

Git's configuration can name programs to run (filters, hooks, pagers, diff drivers, monitors), files to read and servers
to contact. None of these are used. An allow-list names the switches that legitimately change a diff (line endings, file
modes, rename detection, abbreviation), and the values that each may have. Pure: the text comes from
``git config --list -z`` and goes into our own configuration file.
"""

import os
import re
from collections.abc import Iterable, Mapping

GitSettings = list[tuple[str, str]]
"""Keys and values in the order in which git lists them; a key without a value means true."""

TRUE = frozenset({"true", "yes", "on", "1"})
"""The values that git treats as true, in lower case."""

_SWITCH = re.compile(r"true|false|yes|no|on|off|0|1", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,5}")
_ALLOWED: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        (
            "core.filemode",
            "core.ignorecase",
            "core.symlinks",
            "core.precomposeunicode",
            "core.trustctime",
            "core.sparsecheckout",
            "core.sparsecheckoutcone",
            "index.sparse",
            "diff.indentheuristic",
            "log.mailmap",
            "status.aheadbehind",
        ),
        _SWITCH,
    ),
    **dict.fromkeys(("diff.context", "diff.interhunkcontext", "diff.renamelimit"), _NUMBER),
    **dict.fromkeys(("diff.renames", "status.renames"), re.compile(f"{_SWITCH.pattern}|cop(y|ies)", re.IGNORECASE)),
    "core.autocrlf": re.compile(f"{_SWITCH.pattern}|input", re.IGNORECASE),
    "core.eol": re.compile(r"lf|crlf|native", re.IGNORECASE),
    "core.checkstat": re.compile(r"default|minimal", re.IGNORECASE),
    "core.abbrev": re.compile(r"auto|no|[4-9]|[1-5][0-9]|6[0-4]", re.IGNORECASE),
    "diff.algorithm": re.compile(r"default|myers|minimal|patience|histogram", re.IGNORECASE),
    "status.showuntrackedfiles": re.compile(r"no|normal|all", re.IGNORECASE),
}
# Files that the person chose: only from the person's own configuration, never from a repository's.
_OWN_FILES = frozenset({"core.excludesfile", "core.attributesfile"})
_NAME = re.compile(r"[\w./+@-]+")
_FETCH = re.compile(r"\+?refs/[\w./*-]+:refs/[\w./*-]+")

_OURS: GitSettings = [
    ("core.bare", "false"),
    ("core.fsmonitor", "false"),
    ("core.untrackedcache", "false"),
    ("core.hookspath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotepath", "false"),
    ("core.safecrlf", "false"),
    ("core.commitgraph", "false"),
    ("core.multipackindex", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("log.showsignature", "false"),
    ("submodule.recurse", "false"),
]


def parse_settings(listed: bytes) -> GitSettings:
    """Parse the output of ``git config --list -z``."""
    found = []
    for entry in os.fsdecode(listed).split("\0"):
        key, separator, value = entry.partition("\n")
        if key:
            found.append((key, value if separator else "true"))
    return found


def allowed_settings(settings: GitSettings, *, own: bool) -> dict[str, str]:
    """Return the settings that are on the allow-list; ``own`` says that they are the person's, not a repository's."""
    found = {}
    for key, value in settings:
        pattern = _ALLOWED.get(key)
        if (pattern and pattern.fullmatch(value)) or (own and key in _OWN_FILES and value.isprintable()):
            found[key] = value
    return found


def upstream_settings(settings: GitSettings, branch: str) -> GitSettings:
    """Return the settings of the upstream of ``branch``, so that ``@{u}`` and "ahead 2" work."""
    mine = {f"branch.{branch}.remote", f"branch.{branch}.merge"}
    found = [(key, value) for key, value in settings if key in mine and _NAME.fullmatch(value)]
    remotes = {value for key, value in found if key.endswith(".remote")}
    wanted = {f"remote.{remote}.fetch" for remote in remotes}
    return found + [(key, value) for key, value in settings if key in wanted and _FETCH.fullmatch(value)]


def format_settings(settings: Iterable[tuple[str, str]], *, sha256: bool) -> str:
    """Return the text of our own configuration file."""
    lines = [f"[core]\n\trepositoryformatversion = {int(sha256)}"]
    if sha256:
        lines.append("[extensions]\n\tobjectformat = sha256")
    # Our settings come last, because the last value counts.
    for key, value in (*settings, *_OURS):
        section, _, rest = key.partition(".")
        middle, _, name = rest.rpartition(".")
        head = f"[{section} {_quote(middle)}]" if middle else f"[{section}]"
        lines.append(f"{head}\n\t{name} = {_quote(value)}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

"""Builds the ``@``, ``#`` and ``[[`` menus for the end of a text.

A token is completed only where ``scan`` would find a reference in its place: there is no menu in an email address,
after an escaped sigil or in code. Pure, except for the functions in ``CompletionSources``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.references import KINDS, Completion, MenuItem, Sigil, format_reference
from promptuary.base.text import counted, one_line
from promptuary.references.completion.menu import (
    SPELLINGS,
    CompletionSources,
    kind_item,
    path_items,
    spell_value,
)
from promptuary.references.scan import MAX_BARE, MAX_VALUE, scan
from promptuary.workspace.git.repository import CommitLine
from promptuary.workspace.matching.grades import Tier
from promptuary.workspace.matching.ranker import MatchKind, PathMatch

LIMIT: Final = 20

_OPEN_QUOTE = re.compile(
    r"""(?P<sigil>[@#])(?:(?P<kind>[A-Za-z][\w-]*):)?(?:(?P<quote>['`])(?P<typed>(?:(?!(?P=quote)).)*)"""
    r"""|"(?P<escaped>(?:[^"\\]|\\.)*))\Z"""
)
# A quote or a sigil inside a name belongs to it while it is being typed; a quote at the beginning opens a quoted value.
_PLAIN = re.compile(r"""(?P<sigil>[@#])(?:(?P<kind>[A-Za-z][\w-]*):)?(?P<typed>(?:[^\s"'`@]\S*)?)\Z""")
_LINK = re.compile(r"\[\[(?P<typed>[^\[\]|#\n]*)\Z")
_LINK_KIND: Final = "[["
_NOT_IN_LINKS = re.compile(r"[\[\]|#]")
_NOTE_ENDING: Final = ".md"
_MOST_SIGILS: Final = 8
"""How many sigils of a word are tried as the beginning of the reference."""
_QUOTED_VALUE = re.compile(r"""[A-Za-z][\w-]*:["'`]""")
_ESCAPE = re.compile(r"""\\(["\\])""")
_COUNTS: Final = (("1", "the last commit"), ("3", "the last 3 commits"), ("10", "the last 10 commits"))
_BACK: Final = "HEAD~"


class Token(Struct, frozen=True):
    """The reference that is being typed: its start, its kind (empty if none is written) and the value so far."""

    start: int
    sigil: Sigil
    kind: str
    typed: str
    quoted: bool


def complete(text: str, sources: CompletionSources, *, limit: int = LIMIT) -> Completion:
    """Return the menu for the end of ``text``; it is empty if no reference is being typed there."""
    token = token_at_end(text, frozenset(sources.kinds))
    if token is None:
        return Completion(len(text), "")
    items = _items(token, sources, limit)
    return Completion(token.start, text[token.start :], tuple(items[:limit]), sources.scanning())


def token_at_end(text: str, kinds: frozenset[str] = KINDS) -> Token | None:
    """Return the reference that is being typed at the end of ``text``, or ``None``."""
    tail = max(0, len(text) - MAX_VALUE)
    link = _LINK.search(text, tail)
    if link and _is_live(text[: link.start()], _LINK_KIND):
        return Token(link.start(), "@", _LINK_KIND, link["typed"], quoted=False)
    for pattern in (_OPEN_QUOTE, _PLAIN):
        match = _live(pattern, text, tail)
        if match:
            groups = match.groupdict()
            kind = (groups["kind"] or "").lower()
            quoted = pattern is _OPEN_QUOTE
            escaped = groups.get("escaped")
            typed = groups["typed"] if escaped is None else _ESCAPE.sub(r"\1", escaped)
            if not quoted and _QUOTED_VALUE.match(typed):
                return None
            if kind and (kind not in kinds or match["sigil"] == "#"):
                kind, typed = "", f"{groups['kind']}:{typed}"
            sigil = cast("Sigil", match["sigil"])
            return Token(match.start(), sigil, kind, typed, quoted=quoted)
    return None


def _live(pattern: re.Pattern[str], text: str, start: int) -> re.Match[str] | None:
    """Return the first match at whose place a reference would be found: ``@`` may also be within a name."""
    for _ in range(_MOST_SIGILS):
        match = pattern.search(text, start)
        if match is None or _is_live(text[: match.start()], match["sigil"]):
            return match
        if len(scan(text[: match.start()])) >= MAX_BARE:  # nothing after so many is looked for
            return None
        start = match.start() + 1
    return None


def _is_live(before: str, sigil: str) -> bool:
    """Return whether a reference after ``before`` would be found, even if an open code span is closed later."""
    probe = _PROBES[sigil]
    closings = ("", " `", " ``", " ```") if "`" in before else ("",)
    return all(_found_at(before + probe + closing, len(before)) for closing in closings)


_PROBES: Final = {"@": "@file:x", "#": "#x", _LINK_KIND: "[[x]]"}


def _found_at(text: str, start: int) -> bool:
    return any(reference.start == start for reference in scan(text))


def _items(token: Token, sources: CompletionSources, limit: int) -> list[MenuItem]:
    if token.sigil == "#":
        return _paths(token, sources, limit, ("file",))
    if not token.kind:
        return _anything(token, sources, limit)
    offer = _OFFERS.get(token.kind, _resources if token.kind not in KINDS else None)
    return offer(token, sources, limit) if offer else []


def _anything(token: Token, sources: CompletionSources, limit: int) -> list[MenuItem]:
    """Offer kinds, then paths: after a bare ``@`` the files that were changed or used recently."""
    kinds = [] if token.quoted else _kinds(token.typed, sources.kinds)
    return kinds + _paths(token, sources, max(0, limit - len(kinds)), ("file", "folder"))


def _kinds(typed: str, kinds: Mapping[str, str]) -> list[MenuItem]:
    return [kind_item(kind, hint) for kind, hint in kinds.items() if kind.startswith(typed.lower())]


def _paths(token: Token, sources: CompletionSources, limit: int, kinds: Sequence[MatchKind]) -> list[MenuItem]:
    spell_path = SPELLINGS[token.sigil, bool(token.kind)]

    def spell(path: str, kind: MatchKind) -> str:
        return spell_path(sources.spelled(path), kind)

    typed = sources.query(token.typed)
    # The policy may refuse some: request enough that the others fill the menu.
    if typed:
        hits = sources.rank(typed, 2 * limit, kinds)
    elif "file" in kinds:
        hits = [PathMatch(path, "file", Tier.LOOSE) for path in sources.recent(2 * limit)]
    else:
        hits = ()
    if not typed and len(hits) < limit:
        known = {hit.path for hit in hits}
        more = sources.rank("", 2 * limit, kinds) if token.kind or token.sigil == "#" else ()
        hits = [*hits, *(hit for hit in more if hit.path not in known)]
    return path_items(hits, spell, sources, limit)


def _files(token: Token, sources: CompletionSources, limit: int) -> list[MenuItem]:
    return _paths(token, sources, limit, ("file",))


def _links(token: Token, sources: CompletionSources, limit: int) -> list[MenuItem]:
    """Offer the notes of the workspace, as links without their ending."""
    items = _paths(replace(token, kind="file"), sources, 4 * limit, ("file",))
    notes = [one for one in items if one.path.endswith(_NOTE_ENDING) and not _NOT_IN_LINKS.search(one.path)]
    return [replace(one, insert=f"[[{one.path.removesuffix(_NOTE_ENDING)}]]") for one in notes]


def _folders(token: Token, sources: CompletionSources, limit: int) -> list[MenuItem]:
    return _paths(token, sources, limit, ("folder",))


def _globs(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    """Offer a pattern for each file extension below the folder that is typed."""
    folder = token.typed[: token.typed.rfind("/") + 1]
    folder = "" if re.search(r"[*?\[{]", folder) else folder
    typed = token.typed[len(folder) :]
    items = []
    for extension, count in sources.extensions(folder).items():
        pattern = f"**/*.{extension}"
        if pattern.startswith(typed) or extension.startswith(typed.lstrip("*/.") or "\0"):
            items.append(
                MenuItem(spell_value("glob", folder + pattern), folder + pattern, "glob", counted(count, "file"))
            )
    return items


def _git(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    items = [MenuItem(f"@git:{count}", count, "git", hint) for count, hint in _COUNTS if count.startswith(token.typed)]
    for branch in sources.branches():
        value = f"{branch}..HEAD"
        if token.typed.lower() in value.lower():
            items.append(
                MenuItem(spell_value("git", value), one_line(value), "git", f"the commits since {one_line(branch)}")
            )
    if token.typed and _BACK.startswith(token.typed[: len(_BACK)].upper()):
        back = [f"{_BACK}{number}..HEAD" for number in range(1, sources.ancestors() + 1)]
        known = [value for value in back if value.startswith(token.typed.upper())]
        items = [*(MenuItem(f"@git:{value}", value, "git", "the commits since then") for value in known), *items]
    for commit in _matching(sources.commits(), token.typed):
        value = f"{commit.sha[:10]}..HEAD"
        items.append(MenuItem(f"@git:{value}", value, "git", f"since: {one_line(commit.subject)}"))
    return items


def _changes(token: Token, sources: CompletionSources, limit: int) -> list[MenuItem]:
    """Offer the branches to compare with, then paths."""
    typed = token.typed.lower()
    items = [
        MenuItem(spell_value("diff", branch), one_line(branch), "diff", f"all changes since {one_line(branch)}")
        for branch in sources.branches()
        if token.kind == "diff" and typed in branch.lower() and branch.isprintable()
    ]
    paths = _paths(token, sources, limit, ("file", "folder"))
    return items[: max(limit // 2, limit - len(paths))] + [
        replace(item, insert=spell_value(token.kind, item.label)) for item in paths
    ]


def _commits(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    return [
        MenuItem(
            f"@commit:{commit.sha[:10]}",
            one_line(commit.subject),
            "commit",
            f"{commit.sha[:10]} · {commit.when}",
        )
        for commit in _matching(sources.commits(), token.typed)
    ]


def _matching(commits: Sequence[CommitLine], typed: str) -> list[CommitLine]:
    """Return the commits whose id begins with ``typed``, or whose subject contains every word of it."""
    words = typed.lower().split()
    return [
        commit
        for commit in commits
        if commit.sha.startswith(typed.lower()) or all(word in commit.subject.lower() for word in words)
    ]


def _urls(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    found = (url for url in sources.urls() if token.typed.lower() in url.lower())
    return [MenuItem(spell_value("url", url), one_line(url), "url") for url in found if url.isprintable()]


def _symbols(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    found = sources.symbols(token.typed)
    return [
        MenuItem(spell_value("symbol", value), one_line(value), "symbol", one_line(place))
        for value, place in found
        if value.isprintable()
    ]


def _notes(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    """Offer the notes whose id begins with what is typed, or whose title has every word of it."""
    typed, words = token.typed.lower(), token.typed.lower().split()
    return [
        MenuItem(spell_value("memory", one.id), one_line(one.title), "memory", f"{one.id} · {one.hint}")
        for one in sources.notes()
        if one.id.startswith(typed) or all(word in one.title.lower() for word in words)
    ]


def _resources(token: Token, sources: CompletionSources, _limit: int) -> list[MenuItem]:
    """Offer the resources of a server that have every word of what is typed in their URI or name."""
    words = token.typed.lower().split()
    return [
        MenuItem(format_reference(token.kind, one.uri), one_line(one.uri), token.kind, one_line(one.name))
        for one in sources.resources(token.kind)
        if all(word in f"{one.uri} {one.name}".lower() for word in words)
    ]


_OFFERS: Mapping[str, Callable[[Token, CompletionSources, int], list[MenuItem]]] = {
    _LINK_KIND: _links,
    "file": _files,
    "folder": _folders,
    "glob": _globs,
    "git": _git,
    "commit": _commits,
    "diff": _changes,
    "staged": _changes,
    "url": _urls,
    "symbol": _symbols,
    "memory": _notes,
}

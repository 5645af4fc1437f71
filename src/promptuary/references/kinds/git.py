"""Changes and commits: ``@diff``, ``@diff:main``, ``@staged:src``, ``@status``, ``@git:5``, ``@commit:abc123``."""

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from promptuary.base.blocks import Source
from promptuary.base.errors import Code, SourceError
from promptuary.base.references import Reference
from promptuary.base.text import one_line
from promptuary.references.resolve_context import ResolveContext
from promptuary.references.shorten.patch import patch_forms
from promptuary.workspace.disk.protected_folders import CLOSED_NOTE
from promptuary.workspace.git.patch import MAX_COMMITS, Patch

if TYPE_CHECKING:
    from promptuary.workspace.git.repository import Repository


def diff(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the unstaged changes, untracked files included; with a value, those of a path or since a commit."""
    asked = _asked(reference, context)
    patch = context.visit.repository.diff(asked.since, asked.path)
    where = f" in {asked.path}" * bool(asked.path)
    if not asked.since:
        label = f"unstaged changes{where} (git diff, untracked files included)"
    elif ".." in asked.since:
        label = f"changes in {asked.since}{where} (git diff {asked.since})"
    else:
        label = f"changes since {asked.since}{where} (git diff {asked.since}, untracked files included)"
    return [_patch_source(asked.key("diff"), label, patch)]


def staged(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the staged changes, at and below a path if there is one."""
    path = _path(reference.value, reference, context) if reference.value else ""
    if path is None:
        raise _neither(reference.value, "path")
    where = f" in {path}" * bool(path)
    patch = context.visit.repository.staged(path)
    return [_patch_source(_Asked(path=path).key("staged"), f"staged changes{where} (git diff --staged)", patch)]


class _Asked(Struct, frozen=True):
    """Which changes: since a commit or in a range, if not the unstaged ones, and at which path, if not everywhere."""

    since: str = ""
    path: str = ""

    def key(self, kind: str) -> str:
        path = f"./{self.path}" if self.path else ""
        return ":".join(filter(None, (kind, self.since, path)))


def _asked(reference: Reference, context: ResolveContext) -> _Asked:
    """Return what the value of a ``@diff:`` asks for: a commit, a path, or a commit and a path.

    Both are written ``HEAD~2:src`` or, in quotes, ``"HEAD~2 -- src"``. Raises ``SourceError`` for a name that is both,
    and for one that is neither.
    """
    value, repository = reference.value, context.visit.repository
    if not value:
        return _Asked()

    def names_commits(text: str) -> bool:
        return (".." in text and not text.startswith(".")) or repository.has_commit(text)

    path = _path(value, reference, context)
    if path is not None:
        if repository.has_commit(value):
            reason = f"{value} is a branch, a tag or a commit, and a path, too; write @diff:./{value} for the path"
            raise SourceError(Code.BAD_REVISION, f"{reason}, @diff:refs/heads/{value} for the branch")
        return _Asked(path=path)
    since, mark, rest = map(str.strip, value.partition("--" if " -- " in value else ":"))
    if not mark and names_commits(value):
        return _Asked(since=value)
    below = _path(rest, reference, context) if rest else None
    if below is None or not names_commits(since):
        raise _neither(value, "commit, branch, tag or path")
    return _Asked(since, below)


def _path(typed: str, reference: Reference, context: ResolveContext) -> str | None:
    """Return the path in the workspace, existing or deleted but tracked; ``None`` if it is neither."""
    workspace = context.workspace
    try:
        meant = workspace.interpret(typed, absolute=True, rooted=reference.rooted)
    except SourceError:
        return None
    if meant.is_there:
        return meant.path
    return meant.path if meant.path and context.visit.repository.tracked_below(meant.path) else None


def _neither(value: str, what: str) -> SourceError:
    return SourceError(Code.BAD_REVISION, f"no {what} is called {one_line(value[:80])}")


def status(_: Reference, context: ResolveContext) -> list[Source]:
    """Return the branch and the state of each changed file."""
    text = context.visit.repository.status()
    return [Source(key="status", label="git status", kind="status", text=text, revision=_hash(text), language="text")]


def history(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return the last N commits, or the commits of a range, with their patches."""
    value = reference.value
    if value.isascii() and value.isdigit():
        count = int(value)
        if count < 1:
            raise SourceError(Code.BAD_RANGE, "@git:0 asks for no commits; write @git:5 for the last five")
        repository = context.visit.repository
        patch = repository.log(count)
        return [_patch_source(f"git:{count}", _heading(patch.commits, count, repository), patch)]
    if ".." in value:
        return [_patch_source(f"git:{value}", f"commits in {value}", context.visit.repository.range(value))]
    return commit(reference, context)


def _heading(found: int, asked: int, repository: "Repository") -> str:
    all_of_them, below_top = found < min(asked, MAX_COMMITS) and not repository.shallow, repository.below_top
    if found == 1:
        return f"the {'only' if all_of_them else 'last'} commit{' that touches this folder' * below_top}"
    return f"{'all' if all_of_them else 'the last'} {found} commits{' that touch this folder' * below_top}"


def commit(reference: Reference, context: ResolveContext) -> list[Source]:
    """Return one commit: its message and its patch."""
    value = reference.value
    return [_patch_source(f"commit:{value}", f"commit {value}", context.visit.repository.commit(value))]


def _patch_source(key: str, label: str, patch: Patch) -> Source:
    kind = key.partition(":")[0]
    text = patch.text or "(no changes)\n"
    count = len(patch.files)
    return Source(
        key=key,
        label=label,
        kind=kind,
        text=text,
        revision=_hash(text),
        language="diff" if patch.text else "text",
        facts=(f"{count} file{'s' * (count != 1)}",) if patch.files else (),
        notes=_notes(patch),
        partial=patch.truncated,
        outlines=lambda: patch_forms(patch.text, patch.total()),
        read_on="ask for fewer commits or for single files",
    )


def _notes(patch: Patch) -> tuple[str, ...]:
    notes = list(patch.notes)
    if patch.withheld:
        shown = ", ".join(patch.withheld[:5]) + (" …" if len(patch.withheld) > 5 else "")
        notes.append(f"withheld by the read policy: {shown}")
    if patch.closed:
        notes.append(CLOSED_NOTE)
    if patch.truncated and not patch.notes:
        notes.append("truncated: the output of git is too large")
    return tuple(notes)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()

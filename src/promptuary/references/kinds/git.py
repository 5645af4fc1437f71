"""Changes and commits: ``@diff``, ``@staged``, ``@status``, ``@git:5``, ``@git:main..HEAD``, ``@commit:abc123``."""

from hashlib import sha256
from typing import TYPE_CHECKING

from promptuary.core.blocks import Source
from promptuary.core.errors import Code, SourceError
from promptuary.core.references import Reference
from promptuary.references.forms.patch import patch_forms
from promptuary.references.resolve_context import ResolveContext
from promptuary.workspace.disk.own.closed_folders import CLOSED_NOTE
from promptuary.workspace.git.patch import MAX_COMMITS, Patch

if TYPE_CHECKING:
    from promptuary.workspace.git.repository import Repository


def diff(_: Reference, context: ResolveContext) -> list[Source]:
    """Return the unstaged changes, untracked files included."""
    patch = context.visit.repository.diff()
    return [_patch_source("diff", "unstaged changes (git diff, untracked files included)", patch)]


def staged(_: Reference, context: ResolveContext) -> list[Source]:
    """Return the staged changes."""
    return [_patch_source("staged", "staged changes (git diff --staged)", context.visit.repository.staged())]


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

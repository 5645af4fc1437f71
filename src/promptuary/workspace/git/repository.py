"""The history and the changes of a workspace: the only code that runs git.

Every result is limited in size and time, covers the workspace only, and follows the read policy: a file that may not
be read never shows a hunk, neither in a diff nor in a history; it is named in ``withheld``. Names and commit messages
may be shown, except the names of files in closed folders. A ``Repository`` is a snapshot of branches and index (see
``shadow``), made for one message; the working tree is read at each call.

Git's output is text from outside: hidden characters and the size of the window are handled elsewhere.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.concurrency import foreground
from promptuary.base.errors import Code, SourceError
from promptuary.base.text import one_line
from promptuary.workspace.access import Access
from promptuary.workspace.disk.protected_folders import ProtectedFolders
from promptuary.workspace.disk.root import comparable
from promptuary.workspace.git.config import TRUE
from promptuary.workspace.git.copied_tree import WorkspaceNames, copied_tree
from promptuary.workspace.git.locate import locate
from promptuary.workspace.git.patch import (
    MAX_COMMITS,
    Mask,
    Patch,
    PatchMismatchError,
    Refusal,
    build_patch,
    parse_names,
)
from promptuary.workspace.git.process import ProcessResult, run, stream
from promptuary.workspace.git.shadow import Shadow
from promptuary.workspace.git.submodules import Submodules
from promptuary.workspace.git.untracked import as_new_files

_MASK = Access().mask
_MAX_NAMES = 64 << 20
_MAX_ALL_NAMES = 1 << 30
_ATTEMPTS = 3
_PLAIN = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
)
_MESSAGES = ("--no-decorate", "--no-show-signature", "--encoding=UTF-8")
# To examine the files of a submodule, git would start another git in it, with the submodule's own configuration.
_SKIP_SUBMODULES = "--ignore-submodules=all"
_SKIP_SUBMODULE_FILES = "--ignore-submodules=dirty"
_SUBMODULE = b"160000"
_OTHERS = ("ls-files", "-z", "--others", "--exclude-standard")
_REVISION = re.compile(r"(?:[\w@][\w./+@-]*|(?=@\{))(?:@\{-?[\w.+/:-]*\}|[~^][0-9]*)*")
_RANGE = re.compile(r"(?P<old>.*?)(?P<dots>\.{2,3})(?P<new>[^.].*|)")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_ESCAPING = re.compile(rb"[\0/](?:/|\.\.?[/\0]|\.git[/\0])", re.IGNORECASE)


class CommitLine(Struct, frozen=True):
    """A commit in one line; ``when`` is its date in ISO 8601."""

    sha: str
    subject: str
    when: str


_DATED_COMMITS: Final = 5_000
_DATE: Final = re.compile(rb"\x01([0-9]{1,12})")


class Repository:
    """The history and the changes of a workspace; close it, or use it in a ``with`` block.

    ``timeout`` limits each git command in seconds, ``max_output`` each result in bytes.
    """

    def __init__(
        self, folder: Path, shadow: Shadow, refusal: Refusal, *, mask: Mask, below_top: bool, max_output: int
    ) -> None:
        self._folder, self._shadow, self._refusal, self._max_output = folder, shadow, refusal, max_output
        self._mask = mask
        self.below_top = below_top
        """Whether the workspace is a folder of the working tree, and not all of it."""
        self.shallow = shadow.shallow
        """Whether commits older than some are missing: a clone made with ``--depth``."""
        self._relative = ("--relative",) if below_top else ()
        self._pathspec = ("--", ".") if below_top else ("--",)
        self._checked = False
        self._closed = ProtectedFolders.of(folder)

    @classmethod
    def find(
        cls,
        worktree: Path,
        refusal: Refusal,
        *,
        mask: Mask = _MASK,
        timeout: float = 20.0,
        max_output: int = 8 << 20,
        confined: bool = True,
    ) -> Self:
        """Open the repository of ``worktree``; ``refusal`` returns the error for a path that may not be shown.

        ``mask`` returns a text that comes from some paths without its secrets.
        ``confined`` says that git may open only the workspace, if the system can enforce that; otherwise it compares
        copies.
        """
        folder = Path(os.path.realpath(worktree))
        git = locate(folder)
        shadow = Shadow(git, folder, timeout=timeout, confined=confined)
        return cls(folder, shadow, refusal, mask=mask, below_top=folder != git.top, max_output=max_output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary git folder; closing twice is harmless."""
        self._shadow.close()

    def diff(self, since: str = "", path: str = "") -> Patch:
        """Return the unstaged changes, or all since a commit, then the untracked files as added files.

        ``path`` is in normal form; changes elsewhere are left out. ``since`` may be a range: then two commits are
        compared, or with three dots the newer one with what both have in common, and the working tree does not count.
        """
        if ".." in since:
            return self._patch(("diff", *self._ends(since)), path=path)
        asked = ("diff", self._commit_id(since)) if since else ("diff",)
        with self._working_tree() as shadow:
            tracked = self._patch(asked, _SKIP_SUBMODULE_FILES, shadow=shadow, path=path)
        return tracked.followed_by(self._untracked(self._max_output - len(tracked.text), path))

    def staged(self, path: str = "") -> Patch:
        """Return the staged changes, at and below ``path``."""
        return self._patch(("diff", "--cached"), path=path)

    def has_commit(self, revision: str) -> bool:
        """Return whether a commit, branch or tag has this name."""
        try:
            return bool(self._commit_id(revision))
        except SourceError as error:
            if error.code is not Code.BAD_REVISION:
                raise
            return False

    def _ends(self, expression: str) -> tuple[str, str]:
        """Return the two commits that a range asks to compare."""
        old, dots, new = self._range(expression)
        if dots == "...":
            result = run(self._shadow.command("merge-base", old, new), max_output=1024)
            old = result.output.decode("ascii", "replace").strip()
            if not _COMMIT.fullmatch(old):
                raise _bad_revision(expression, "the two have no commit in common; write it with two dots")
        return old, new

    def _range(self, expression: str) -> tuple[str, str, str]:
        """Return the commit, the dots and the commit of ``old..new`` or ``old...new``; a missing one is ``HEAD``."""
        match = _RANGE.fullmatch(expression)
        if match is None or not (match["old"] or match["new"]):
            raise _bad_revision(expression, "a range is written like main..HEAD")
        return self._commit_id(match["old"] or "HEAD"), match["dots"], self._commit_id(match["new"] or "HEAD")

    def status(self) -> str:
        """Return git's short status with the branch: names only, so only the policy's closed folders apply."""
        with self._working_tree() as shadow:
            result = self._run("status", "--short", "--branch", _SKIP_SUBMODULE_FILES, *self._pathspec, shadow=shadow)
        lines = result.output.decode("utf-8", "replace").split("\n")
        text = "\n".join(line for line in lines if not self._is_closed(line))
        return self._mask(text) + ("…\n" if result.truncated else "")

    def _is_closed(self, line: str) -> bool:
        """Return whether a line of the status names a file in a closed folder."""
        names = () if line.startswith("## ") else line[3:].split(" -> ")
        return any(self._closed.holds(name.strip('"')) for name in names)

    def log(self, count: int) -> Patch:
        """Return the last ``count`` commits that touch the workspace, newest first, with their patches."""
        return self._history(count, "HEAD")

    def range(self, expression: str) -> Patch:
        """Return the commits of ``old..new`` or ``old...new``, newest first, with their patches."""
        return self._history(MAX_COMMITS, "".join(self._range(expression)))

    def commit(self, revision: str) -> Patch:
        """Return one commit with its message and patch; a merge is compared with its first parent."""
        sha = self._commit_id(revision)
        asked = ("show", *_MESSAGES, "-m", "--first-parent")
        patch = self._patch(asked, revisions=("--end-of-options", sha))
        merge = patch.text.startswith(f"commit {sha}\nMerge: ")
        return patch.followed_by(Patch("", notes=("a merge, shown against its first parent",) if merge else ()))

    def recent(self, count: int) -> list[CommitLine]:
        """Return the last commits, newest first; none in an empty repository."""
        if not self._has_commits():
            return []
        limit = f"-{max(1, min(count, 1000))}"
        result = self._run(
            "log", limit, "-z", "--format=%H%n%cI%n%s", "--no-show-signature", "--encoding=UTF-8", *self._pathspec
        )
        found = (entry.split("\n", 2) for entry in result.output.decode("utf-8", "replace").split("\0"))
        return [CommitLine(parts[0], parts[2], parts[1]) for parts in found if len(parts) == 3]

    def last_changes(self) -> dict[str, int]:
        """Return when a commit last changed each file, in seconds since 1970; only the newest commits are searched.

        The paths are those below the workspace. A file that only older commits changed is missing.
        """
        if not self._has_commits():
            return {}
        asked = ("log", f"--max-count={_DATED_COMMITS}", "-z", "--format=%x01%ct", "--name-only", "--no-renames")
        end = ("--no-show-signature", *self._relative, "--end-of-options", "HEAD", *self._pathspec)
        # The last name may be cut.
        entries = self._run(*asked, *end, max_output=_MAX_NAMES).output.split(b"\0")[:-1]
        found: dict[str, int] = {}
        date = 0
        for entry in entries:
            if match := _DATE.fullmatch(entry.lstrip(b"\n")):
                date = int(match[1])
            elif name := entry.removeprefix(b"\n"):
                found.setdefault(os.fsdecode(name), date)
        return found

    def ancestors(self, most: int) -> int:
        """Return how many commits there are before the last one, as ``HEAD~N`` counts them; at most ``most``."""
        if not self._has_commits():
            return 0
        limit = f"--max-count={max(0, most) + 1}"
        return len(self._run("rev-list", "--first-parent", limit, "HEAD", "--").output.splitlines()) - 1

    def branches(self) -> list[str]:
        """Return the names of the branches, local ones first."""
        return self._refs("refs/heads") + self._refs("refs/remotes")

    def tags(self) -> list[str]:
        return self._refs("refs/tags")

    def changed(self) -> set[str]:
        """Return the paths of changed, staged and untracked files."""
        asked = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", _SKIP_SUBMODULES)
        with self._working_tree() as shadow:
            result = self._run(*asked, *self._pathspec, max_output=_MAX_NAMES, shadow=shadow)
        prefix = self._run("rev-parse", "--show-prefix").output.removesuffix(b"\n")
        entries = foreground.yielding(result.output.split(b"\0")[:-1])
        paths = (os.fsdecode(entry[3:].removeprefix(prefix)) for entry in entries)
        return {path for path in paths if not self._closed.holds(path)}

    def tracked(self) -> Iterator[bytes]:
        """Yield the names of tracked files, with a NUL after each, in large pieces that end anywhere.

        The names come from the index, and a hostile index may contain any name: open them through ``Root`` only.
        """
        return self._names("--cached", "--deduplicate")

    def untracked(self) -> Iterator[bytes]:
        """Yield the names of untracked files that are not ignored; a nested repository is one name with a slash."""
        return self._names("--others", "--exclude-standard")

    def names(self, *paths: str) -> tuple[list[str], int]:
        """Return the tracked and untracked names, and how many folders git could not open.

        With ``paths``, only the names at and below them. As with ``tracked``, open them through ``Root`` only.
        """
        asked = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *paths)
        result = self._run(*asked, max_output=_MAX_ALL_NAMES)
        if result.truncated:
            raise SourceError(Code.GIT_FAILED, "the repository has more files than can be listed")
        return os.fsdecode(result.output).split("\0")[:-1], result.errors.count("could not open directory")

    def deciding_files(self) -> Sequence[Path]:
        """Return the files that decide which names are tracked and which are ignored, apart from the workspace's own.

        Some of them may not exist.
        """
        return self._shadow.deciding_files

    def tracked_below(self, path: str) -> list[str]:
        """Return the tracked names at and below ``path``, and the submodule that contains it, if one does.

        Where the file system does not distinguish upper and lower case, other spellings of ``path`` count, too.
        """
        start = comparable(path)
        # Git compares letter by letter, whatever the file system does, and does not name a submodule above a path.
        any_case = self._shadow.settings.get("core.ignorecase", "").lower() in TRUE
        asked = () if any_case else (path.split("/", 1)[0],)
        result = self._run("ls-files", "-z", "--cached", "--", *asked, max_output=_MAX_ALL_NAMES)
        listed = ((name, comparable(name)) for name in os.fsdecode(result.output).split("\0")[:-1])
        return [name for name, names in listed if names[: len(start)] == start[: len(names)]]

    def _names(self, *options: str) -> Iterator[bytes]:
        try:
            yield from stream(self._shadow.command("ls-files", "-z", *options))
        except SourceError as error:
            raise self._explain(error, "ls-files") from error

    def _explain(self, error: SourceError, command: str) -> SourceError:
        if error.code is not Code.GIT_FAILED:
            return error
        reason = f"git {command} failed: {self._shadow.without_paths(error.reason)}"
        return SourceError(error.code, f"{reason}{self._shadow.missing_objects}")

    def _refs(self, folder: str) -> list[str]:
        result = self._run("for-each-ref", "--format=%(refname)", folder)
        names = result.output.decode("utf-8", "replace").splitlines()
        return [name.removeprefix(f"{folder}/") for name in names]

    def _run(
        self,
        *arguments: str,
        max_output: int | None = None,
        shadow: Shadow | None = None,
        stdin: Path = Path(os.devnull),
    ) -> ProcessResult:
        command = (shadow or self._shadow).command(*arguments, stdin=stdin)
        result = run(command, max_output=max_output or self._max_output)
        if result.status:
            raise self._explain(SourceError(Code.GIT_FAILED, result.errors), arguments[0])
        return result

    def _has_commits(self) -> bool:
        command = self._shadow.command("rev-parse", "--verify", "--quiet", "HEAD")
        return run(command, max_output=1024).status == 0

    def _commit_id(self, revision: str) -> str:
        if len(revision) > 250 or ".." in revision or not _REVISION.fullmatch(revision):
            raise _bad_revision(revision, "name a commit, branch or tag, like HEAD~2 or v1.0")
        command = self._shadow.command("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = run(command, max_output=1024).output.decode("ascii", "replace").strip()
        if not _COMMIT.fullmatch(found):
            raise _bad_revision(revision, f"no commit, branch or tag has this name{self._shadow.missing_objects}")
        return found

    def _history(self, count: int, revisions: str) -> Patch:
        if count < 1:
            raise SourceError(Code.BAD_RANGE, "the number of commits must be at least 1")
        if not self._has_commits():
            raise SourceError(Code.NO_MATCH, "the repository has no commits yet")
        limit = min(count, MAX_COMMITS)
        patch = self._patch(("log", f"--max-count={limit}", *_MESSAGES), revisions=("--end-of-options", revisions))
        return patch.followed_by(Patch("", notes=self._cap_notes(count, revisions)))

    def _cap_notes(self, count: int, revisions: str) -> tuple[str, ...]:
        if count < MAX_COMMITS:
            return ()
        more = f"--max-count={MAX_COMMITS + 1}"
        result = self._run("rev-list", "--count", more, "--end-of-options", revisions, *self._pathspec)
        return (f"only the newest {MAX_COMMITS} commits are shown",) if int(result.output) > MAX_COMMITS else ()

    def _patch(
        self,
        asked: tuple[str, ...],
        *options: str,
        revisions: tuple[str, ...] = (),
        shadow: Shadow | None = None,
        path: str = "",
    ) -> Patch:
        """Ask git for the names, then for the patch; repeat if the files changed in between."""
        fixed = (*options, *_PLAIN, *self._relative)
        end = (*revisions, *(("--", path) if path else self._pathspec))
        listed = (*asked, *fixed, "--raw", "-z", *(("--format=%H",) if revisions else ()), *end)
        for _ in range(_ATTEMPTS):
            named = self._run(*listed, max_output=_MAX_NAMES, shadow=shadow)
            if named.truncated:
                raise SourceError(Code.GIT_FAILED, "more files changed than can be listed")
            if not named.output:
                return Patch("")
            result = self._run(*asked, *fixed, "--patch", *end, shadow=shadow)
            try:
                commits = parse_names(named.output)
                patch = build_patch(commits, result.output, self._refusal, truncated=result.truncated)
            except PatchMismatchError:
                continue
            return patch.mask(self._mask)
        raise SourceError(Code.GIT_FAILED, "the files were changed again and again during the comparison; try again")

    @contextmanager
    def _working_tree(self) -> Iterator[Shadow]:
        """Provide a working tree that git cannot leave: the real one if it is confined, else copies of what changed."""
        self._check_index()
        if self._shadow.confinement:
            yield self._shadow
            return
        top, workspace = self._shadow.top, self._shadow.workspace
        with copied_tree(top, workspace, self._workspace_names(), self._refusal) as copies:
            shadow = self._shadow.over(copies.top, copies.index)
            self._run("update-index", "--assume-unchanged", "-z", "--stdin", stdin=copies.unchanged, shadow=shadow)
            yield shadow

    def _workspace_names(self) -> WorkspaceNames:
        asked = ("diff", "--raw", "-z", "--no-renames", _SKIP_SUBMODULES, *self._relative, *self._pathspec)
        listed = parse_names(self._run(*asked, max_output=_MAX_NAMES).output)
        changed = dict.fromkeys(entry.names[-1] for commit in listed for entry in commit.entries)
        known = _index_entries(self._run("ls-files", "-z", "--stage", max_output=_MAX_ALL_NAMES))
        staged = {name: sha for name, (mode, sha) in known.items() if mode == _SUBMODULE}
        moved = Submodules(self._shadow.workspace, self._shadow.submodule_stores).moved(staged)
        changed |= dict.fromkeys(name for name, commit in moved.items() if commit is None)
        unchanged = [name for name in known if name not in changed and name not in moved]
        untracked = _names_in(self._run(*_OTHERS, max_output=_MAX_NAMES))
        at = {name: commit for name, commit in moved.items() if commit is not None}
        return WorkspaceNames(list(changed), unchanged, untracked, at)

    def _check_index(self) -> None:
        """Raise ``SourceError`` for an index that names files outside the working tree: git would read them."""
        if self._checked:
            return
        rest = b""
        for chunk in self._names("--cached"):
            complete, _, rest = (rest + chunk).rpartition(b"\0")
            if _ESCAPING.search(b"\0%b\0" % complete):
                raise SourceError(Code.GIT_FAILED, "the repository's index names files outside its working tree")
        self._checked = True

    def _untracked(self, budget: int, path: str) -> Patch:
        if self._shadow.settings.get("status.showuntrackedfiles", "").lower() == "no":
            return Patch("")
        below = ("--", path) if path else ()
        listed = _names_in(self._run(*_OTHERS, *below, max_output=_MAX_NAMES))
        names = [name for name in listed if not self._closed.holds(os.fsdecode(name))]
        modes = self._shadow.settings.get("core.filemode", "true").lower() in TRUE
        patch = as_new_files(
            self._folder,
            [name for name in names if not name.endswith(b"/")],
            self._refusal,
            budget=budget,
            modes=modes,
        )
        return replace(patch.mask(self._mask), closed=len(names) < len(listed))


def _names_in(result: ProcessResult) -> list[bytes]:
    return result.output.split(b"\0")[:-1]


def _index_entries(result: ProcessResult) -> dict[bytes, tuple[bytes, bytes]]:
    """Return the mode and the hash of each name that ``ls-files --stage`` lists."""
    entries = (entry.partition(b"\t") for entry in _names_in(result))
    return {name: (head[:6], head[7:-2]) for head, _, name in entries}


def _bad_revision(revision: str, advice: str) -> SourceError:
    return SourceError(Code.BAD_REVISION, f"{one_line(revision[:80])}: {advice}")

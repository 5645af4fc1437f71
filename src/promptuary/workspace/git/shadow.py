"""A temporary git folder, with which git reads a repository without using its configuration.

Plain git in a foreign repository runs the programs that its configuration names. The shadow is a temporary git folder
with our configuration, validated copies of HEAD, branches and index, and the repository's own objects; git gets this
folder and the working tree, and finds no program to run and no server to contact. It is a snapshot: it does not show
what is staged or committed later.

A filter that ``.gitattributes`` names (git-lfs) is not configured here, so git compares the plain content: a changed
file under git-lfs is compared with its pointer. Objects of other repositories (``objects/info/alternates``) are not
read, because a forged list would show another history.

Returns commands that are ready to run; does not know what they are used for.
"""

import contextlib
import copy
import functools
import os
import re
import shutil
import tempfile
import time
import weakref
from pathlib import Path

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.config import (
    TRUE,
    GitSettings,
    allowed_settings,
    format_settings,
    parse_settings,
    upstream_settings,
)
from promptuary.workspace.git.confine import Confinement, confinement_works
from promptuary.workspace.git.copied_tree import TEMPORARY
from promptuary.workspace.git.locate import GitFolder, copy_inside, not_a_repository, read_inside
from promptuary.workspace.git.patch import quote
from promptuary.workspace.git.process import ProcessCommand, find_program, run

_MAX_CONFIG = 1 << 20
_MAX_LIST = 4 << 20
_MAX_PACKED_REFS = 64 << 20
_MAX_INDEX = 512 << 20
_MAX_LOOSE_REFS = 200_000
_MAX_REF = 4 << 10
_PROBE_SECONDS = 5.0
_LEFT_FOR = 3600.0
"""Seconds after which a temporary git folder was left by a killed process: none is used for longer than a message."""

_REF_NAME = re.compile(r"refs(/(?!\.)[^\x00-\x20\x7f~^:?*\[\\/]+)+")
_NOT_IN_A_NAME = re.compile(r"\.\.|@\{|\.lock(/|$)|\.$")
_OBJECTS = re.compile("[0-9a-f]{2}")
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_OTHER_HEADS = ("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD")
_PASSED_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "TMPDIR")
_CONFIG_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


class Shadow:
    """The temporary git folder of one repository; removed by ``close``, or when the object is deleted."""

    def __init__(self, git: GitFolder, workspace: Path, *, timeout: float, confined: bool) -> None:
        program = find_program("git", workspace)
        if program is None:
            raise SourceError(Code.GIT_FAILED, "git is not installed: install it to use history and changes")
        self._program, self.workspace, self._timeout, self.top = program, workspace, timeout, git.top
        _remove_leftovers(Path(tempfile.gettempdir()))
        self._folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=TEMPORARY)))
        self.close = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.environment = _environment(self._folder, git.top)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                self.settings = self._build(git)
            except OSError as error:
                reason = f"the repository could not be read: {error.strerror}"
                raise SourceError(Code.GIT_FAILED, reason) from error
            undo.pop_all()
        self.submodule_stores = tuple(dict.fromkeys((git.common / "modules", git.own / "modules")))
        """Where the git folders of submodules are; those of a linked worktree are its own."""
        self.deciding_files = _deciding_files(git, workspace, self.settings)
        """What decides which names are tracked and which are ignored; some of it may not exist."""
        self.shallow = os.path.lexists(self._folder / "shallow")
        self.confinement = self._confinement(git) if confined and _may_be_confined(program) else None
        """What git may open; ``None`` if this system cannot confine it."""

    def command(self, *arguments: str, stdin: Path = Path(os.devnull)) -> ProcessCommand:
        """Return the command ``git <arguments>``, which runs in the workspace with this git folder."""
        line = (self._program, "--no-pager", *arguments)
        return ProcessCommand(line, self.workspace, self.environment, self._timeout, self.confinement, stdin)

    def over(self, top: Path, index: Path) -> "Shadow":
        """Return the same git folder with another working tree and a copy of the index, which git may write."""
        view = copy.copy(self)
        view.workspace = top / self.workspace.relative_to(self.top)
        view.environment = self.environment | {"GIT_WORK_TREE": str(top), "GIT_INDEX_FILE": str(index)}
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(self._folder / "index", index)
        return view

    def _confinement(self, git: GitFolder) -> Confinement:
        above = [folder for folder in self.workspace.parents if folder.is_relative_to(git.top)]
        rules = [folder / name for folder in above for name in (".gitignore", ".gitattributes")]
        return Confinement(
            self._program,
            (
                self._folder,
                self.workspace,
                git.common / "objects",
                *self.submodule_stores,
                *rules,
                *_own_files(self.settings),
            ),
        )

    def without_paths(self, error_output: str) -> str:
        """Return git's error message as one line, without the paths of this machine."""
        lines = [line for line in error_output.splitlines() if not line.startswith(("warning:", "hint:"))]
        first = lines[0] if lines else "git gave no reason"
        return re.sub(r"(?<![\w.])/[^\s'\":]+", "…", first).removeprefix("fatal: ").removeprefix("error: ")

    def _build(self, git: GitFolder) -> dict[str, str]:
        theirs = self._repository_settings(git)
        _check(git, dict(theirs))
        sha256 = dict(theirs).get("extensions.objectformat", "sha1").lower() == "sha256"
        length = 64 if sha256 else 40
        head = _head(git)
        kept = allowed_settings(self._user_settings(), own=True) | allowed_settings(theirs, own=False)
        upstream = upstream_settings(theirs, head.removeprefix("ref: refs/heads/"))
        (self._folder / "config").write_bytes(os.fsencode(format_settings([*kept.items(), *upstream], sha256=sha256)))
        (self._folder / "HEAD").write_bytes(os.fsencode(f"{head}\n"))
        self._copy_files(git)
        self._copy_refs(git, length)
        _share_objects(git.common / "objects", self._folder / "objects")
        self.missing_objects = _missing_objects(git, dict(theirs))
        return kept

    def _user_settings(self) -> GitSettings:
        """Read the person's own configuration, outside any repository."""
        own = {name: os.environ[name] for name in _CONFIG_VARIABLES if name in os.environ}
        kept = {name: value for name, value in self.environment.items() if name not in _CONFIG_VARIABLES}
        return self._list_settings(kept | own, "config", "--list", "-z")

    def _repository_settings(self, git: GitFolder) -> GitSettings:
        settings = self._settings_in(git.common, "config")
        if dict(settings).get("extensions.worktreeconfig", "").lower() in TRUE:
            settings += self._settings_in(git.own, "config.worktree")
        return settings

    def _settings_in(self, base: Path, name: str) -> GitSettings:
        copy = self._folder / "theirs"
        if not copy_inside(base, name, copy, _MAX_CONFIG):
            return []
        return self._list_settings(self.environment, "config", "--file", str(copy), "--no-includes", "--list", "-z")

    def _list_settings(self, environment: dict[str, str], *arguments: str) -> GitSettings:
        command = ProcessCommand((self._program, *arguments), self._folder, environment, self._timeout)
        return parse_settings(run(command, max_output=_MAX_CONFIG).output)

    def _copy_files(self, git: GitFolder) -> None:
        (self._folder / "info").mkdir()
        (self._folder / "logs" / "refs").mkdir(parents=True)
        if not copy_inside(git.own, "index", self._folder / "index", _MAX_INDEX) and os.path.lexists(git.own / "index"):
            raise SourceError(Code.GIT_FAILED, "the repository's index is not a regular file, or too large")
        with os.scandir(git.own) as entries:
            shared = [entry.name for entry in entries if entry.name.startswith("sharedindex.")]
        for name in shared:
            copy_inside(git.own, name, self._folder / name, _MAX_INDEX)
        for base, name in (
            (git.common, "info/exclude"),
            (git.common, "info/attributes"),
            (git.own, "info/sparse-checkout"),
            (git.common, "shallow"),
            (git.own, "logs/HEAD"),
            (git.common, "logs/refs/stash"),
        ):
            copy_inside(base, name, self._folder / name, _MAX_LIST)

    def _copy_refs(self, git: GitFolder, length: int) -> None:
        """Write all branches and tags into one file: writing thousands of small files would take long."""
        (self._folder / "refs").mkdir()
        refs = _read_packed_refs(git.common, length)
        symbolic: dict[str, str] = {}
        for base in dict.fromkeys((git.common, git.own)):
            for name, text in _loose(base):
                if text.startswith("ref: ") and _is_ref_name(text[5:]):
                    symbolic[name] = text
                elif _HEX.fullmatch(text[:length]):
                    refs[name] = text[:length]
        lines = [f"{value} {name}\n" for name, value in refs.items()]
        (self._folder / "packed-refs").write_bytes(os.fsencode("".join(lines)))
        for name, text in symbolic.items():
            target = self._folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(os.fsencode(f"{text}\n"))
        for name in _OTHER_HEADS:
            text = os.fsdecode(read_inside(git.own, name, _MAX_LIST) or b"")[:length]
            if _HEX.fullmatch(text):
                (self._folder / name).write_text(f"{text}\n")


@functools.cache
def _remove_leftovers(temporary: Path) -> None:
    """Remove the temporary folders that killed processes of this person left, once per process."""
    with contextlib.suppress(OSError), os.scandir(temporary) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.name.startswith(TEMPORARY) and entry.is_dir(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    if found.st_uid == os.getuid() and time.time() - found.st_mtime > _LEFT_FOR:
                        shutil.rmtree(entry.path, ignore_errors=True)


@functools.cache
def _may_be_confined(program: str) -> bool:
    """Return whether git starts with nothing but itself and the system's libraries."""
    if not confinement_works():
        return False
    probe = ProcessCommand((program, "--version"), Path("/"), {}, _PROBE_SECONDS, Confinement(program, ()))
    try:
        return run(probe, max_output=_MAX_CONFIG).status == 0
    except SourceError:
        return False


def _own_files(settings: dict[str, str]) -> list[Path]:
    """Return the person's own lists of ignored files and of attributes, wherever links lead."""
    chosen = [settings[key] for key in ("core.excludesfile", "core.attributesfile") if key in settings]
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    usual = [f"{base}/git/{name}" for name in ("ignore", "attributes")]
    return [Path(os.path.realpath(os.path.expanduser(path))) for path in (*chosen, *usual)]  # noqa: PTH111 - may raise


def _deciding_files(git: GitFolder, workspace: Path, settings: dict[str, str]) -> list[Path]:
    """Return git's index and settings, and the lists of ignored files that are not below the workspace."""
    above = [folder / ".gitignore" for folder in workspace.parents if folder.is_relative_to(git.top)]
    own = [git.own / name for name in ("HEAD", "index", "config.worktree", "info/sparse-checkout")]
    shared = [git.common / name for name in ("config", "info/exclude")]
    named = [os.environ[name] for name in _CONFIG_VARIABLES[:2] if name in os.environ]
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    usual = ("/etc/gitconfig", "~/.gitconfig", f"{base}/git/config")
    chosen = [Path(os.path.expanduser(path)) for path in (*named, *usual)]  # noqa: PTH111 - may raise
    return [*own, *shared, *above, *chosen, *_own_files(settings)]


def _environment(folder: Path, top: Path) -> dict[str, str]:
    """Return the environment of git: only the person's variables that locate the global ignore file."""
    kept = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    encoding = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"
    return kept | {
        "PATH": os.defpath,
        "LC_CTYPE": encoding,
        "LC_MESSAGES": "C",
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(top),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
        "GIT_ADVICE": "0",
    }


def _check(git: GitFolder, settings: dict[str, str]) -> None:
    named = settings.get("core.worktree")
    if not git.proven and (named is None or Path(os.path.realpath(git.own / named)) != git.top):
        raise not_a_repository(
            "the workspace's .git points at a folder elsewhere that does not name this workspace as its own; "
            "setting core.worktree there to this folder confirms it"
        )
    if not git.linked and settings.get("core.bare", "").lower() in TRUE:
        raise not_a_repository("this is a bare repository, which has no working tree")
    storage = settings.get("extensions.refstorage", "files")
    if storage != "files" or os.path.lexists(git.common / "reftable"):
        raise SourceError(
            Code.GIT_FAILED,
            "the repository stores its branches as a reftable, which is not supported; "
            "`git refs migrate --ref-format=files` converts it",
        )


def _missing_objects(git: GitFolder, settings: dict[str, str]) -> str:
    """Return why objects may be missing, to append to git's error message; empty if none should be."""
    if os.path.lexists(git.common / "objects/info/alternates"):
        return "; it borrows objects from another repository, which is not read: `git repack -a -d` copies them"
    if "extensions.partialclone" in settings:
        return "; it is a partial clone, and what was never fetched is not fetched now"
    return ""


def _head(git: GitFolder) -> str:
    pointer = git.own / "HEAD"
    if pointer.is_symlink():  # as in very old repositories
        text = f"ref: {pointer.readlink()}"
    else:
        text = os.fsdecode(read_inside(git.own, "HEAD", _MAX_CONFIG) or b"").strip()
    if _HEX.fullmatch(text) or (text.startswith("ref: ") and _is_ref_name(text[5:])):
        return text
    raise SourceError(Code.GIT_FAILED, "the repository's HEAD is damaged: it names neither branch nor commit")


def _is_ref_name(name: str) -> bool:
    return bool(_REF_NAME.fullmatch(name)) and not _NOT_IN_A_NAME.search(name)


def _read_packed_refs(common: Path, length: int) -> dict[str, str]:
    found = {}
    for line in os.fsdecode(read_inside(common, "packed-refs", _MAX_PACKED_REFS) or b"").split("\n"):
        value, _, name = line.partition(" ")
        if len(value) == length and _HEX.fullmatch(value) and _is_ref_name(name):
            found[name] = value
    return found


def _loose(base: Path) -> list[tuple[str, str]]:
    """Return the branches and tags that are stored in separate files; links are skipped."""
    found: list[tuple[str, str]] = []
    folders = ["refs"]
    while folders and len(found) < _MAX_LOOSE_REFS:
        folder = folders.pop()
        if (base / folder).is_symlink() or not (base / folder).is_dir():
            continue
        with os.scandir(base / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_file(follow_symlinks=False) and _is_ref_name(name):
                    found.append((name, os.fsdecode(_read_start(entry.path)).strip()))
    return found


def _read_start(path: str) -> bytes:
    """Return the start of a file, as much as a branch needs. Fast, because there may be thousands."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MAX_REF)
    finally:
        os.close(descriptor)


def _share_objects(theirs: Path, ours: Path) -> None:
    """Give git access to the repository's objects, but not to those of the alternates that it lists."""
    (ours / "info").mkdir(parents=True)
    if theirs.is_symlink():
        raise _link_error("objects")
    with os.scandir(theirs) as entries:
        folders = [entry for entry in entries if entry.name == "pack" or _OBJECTS.fullmatch(entry.name)]
    for folder in folders:
        if folder.is_symlink():
            raise _link_error(f"objects/{folder.name}")
        with os.scandir(folder) as objects:
            if any(one.is_symlink() for one in objects):
                raise _link_error(f"objects/{folder.name}")
    if not os.path.lexists(theirs / "info/alternates"):
        store = quote(os.fsencode(theirs))
        (ours / "info/alternates").write_bytes(store + b"\n")
        return
    # Git would follow the list of alternates; links to the folders, which take longer to create, leave it out.
    for folder in folders:
        (ours / folder.name).symlink_to(folder.path)


def _link_error(name: str) -> SourceError:
    return SourceError(Code.GIT_FAILED, f".git/{name} is or contains a symbolic link: objects elsewhere are not read")

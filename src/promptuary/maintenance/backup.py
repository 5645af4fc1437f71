"""Backs up, restores and removes all files of Promptuary, for one workspace or for all that the person has used.

A backup has the conversations, the notes and the configuration, but not what can be rebuilt: indexes, caches and
models. A restore checks everything before it writes anything, and binds a restored database to the person.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from promptuary.base.clock import now
from promptuary.base.errors import DatabaseDamagedError, PromptuaryError, UnknownFormatError
from promptuary.base.text import one_line
from promptuary.config.settings import user_file
from promptuary.database.binding import BoundDatabase
from promptuary.database.sqlite import copy_database, same_database
from promptuary.database.transfer import Copy, target_state
from promptuary.maintenance.old_format import bring_up_to_date
from promptuary.memory.persons import PERSONS
from promptuary.state import StateDatabase
from promptuary.workspace.data_folder import known_workspaces
from promptuary.workspace.data_folder.archive import NAME, unpack, write_archive
from promptuary.workspace.data_folder.data_path import data_path
from promptuary.workspace.data_folder.kept_files import (
    CONFIG,
    NOTES,
    STATE,
    KeptFile,
    KeptReport,
    files_below,
    is_plain_file,
    is_readable,
    is_there,
    list_kept_by_person,
    list_kept_files,
    put_file,
    remove,
    same_content,
    scratch_folder,
    size_of,
)
from promptuary.workspace.data_folder.notes_folders import person_notes
from promptuary.workspace.data_folder.private_folder import private_folder
from promptuary.workspace.data_folder.relocation import proof
from promptuary.workspace.indexed_folders import names_folders_outside
from promptuary.workspace.state_file import find_person, find_tenant
from promptuary.workspace.user_folders import make_folder, notes_folder, state_folder, workspace_file

if TYPE_CHECKING:
    from promptuary.database.tenant import TenantDatabase

_FOLDERS: Final = "folders.json"
_PERSON: Final = "person"
_LEFT_OUT: Final = "left out"
_WHY_LEFT_OUT: Final = (
    "what decides which servers get your messages, which folders are read or what git runs is left out; "
    "if the backup is yours, add --config"
)
_NOT_KEPT: Final = (".lock", ".tmp", "-wal", "-shm", "-journal")


class Server(Struct, frozen=True):
    """Where the state of workspaces is, if not in their files: in PostgreSQL, that of ``root`` in a named tenant."""

    url: str
    tenant: str
    root: Path
    has_notes: bool = False
    """Whether the notes are there, too, and with them those that follow the person."""

    def person(self) -> "TenantDatabase":
        """Return the rows of the notes that follow the person, of which there may be none."""
        return find_person(self.root, self.url, self.tenant, None)

    def tenant_of(self, root: Path) -> "TenantDatabase":
        """Return the rows of a workspace, of which there may be none."""
        return find_tenant(root, self.url, self.tenant if root == self.root else "")


def backup(root: Path, target: Path, *, everywhere: bool, force: bool, server: Server | None = None) -> KeptReport:
    """Write all stored files, of the workspace at ``root`` or of every known one, and of the person, to one file."""
    roots = list(dict.fromkeys([*known_workspaces.list_known(), root])) if everywhere else [root]
    gathered = _Gathering()
    with scratch_folder() as folder:
        for number, one in enumerate(roots):
            gathered.take_workspace(one, f"workspaces/{number}", folder, server)
        gathered.take_person(folder, server)
        if not gathered.files:
            raise PromptuaryError("nothing is stored yet, so there is nothing to back up")
        kept = [KeptFile(name, str(path), size_of(path)) for name, path in gathered.files.items()]
        write_archive(target.absolute(), now(), [str(one) for one in roots], gathered.files, force=force)
    return KeptReport(kept, done=True, notes=gathered.notes)


def restore(
    root: Path,
    source: Path,
    *,
    everywhere: bool,
    force: bool,
    config: bool,
    dry_run: bool,
    server: Server | None = None,
) -> KeptReport:
    """Restore a backup; existing files are replaced only with ``force``, otherwise nothing is done.

    Without ``config`` a configuration, folders outside of the workspace and a ``.git`` are left out.
    """
    with scratch_folder() as folder:
        manifest = unpack(source, folder)
        for database in [path for _, path in files_below(folder) if path.name == STATE]:
            _check_database(database)
        roots, notes = _targets(manifest.workspaces, root, everywhere=everywhere)
        steps: list[_Step | _TenantStep] = [
            step for number, one in roots for step in _workspace_steps(folder / f"workspaces/{number}", one, server)
        ]
        steps += _person_steps(folder / _PERSON, server)
        kept = [KeptFile(one.what, one.place, size_of(one.source), one.action(config=config)) for one in steps]
        if any(one.action == _LEFT_OUT for one in kept):
            notes = [*notes, _WHY_LEFT_OUT]
        in_the_way = sum(one.action == "replaced" for one in kept)
        if dry_run or (in_the_way and not force):
            return KeptReport(kept, done=False, notes=notes)
        for number, target in roots:
            _bind(folder / f"workspaces/{number}" / STATE, target)
        for step, one in zip(steps, kept, strict=True):
            if one.action in {"new", "replaced"}:
                step.write(step.source)
        return KeptReport(kept, done=True, notes=notes)


def purge(root: Path, *, everywhere: bool, models: bool, dry_run: bool) -> KeptReport:
    """Remove all stored files for the workspace at ``root``, or for every known one and for the person."""
    roots = list(dict.fromkeys([*known_workspaces.list_known(), root])) if everywhere else [root]
    kept = [one for each in roots for one in list_kept_files(each)]
    if everywhere:
        kept += list_kept_by_person(models=models)
    # Files in a folder that is removed are not counted twice.
    folders = [one.path for one in kept]
    kept = [
        one
        for one in kept
        if not any(Path(one.path) != Path(it) and Path(one.path).is_relative_to(it) for it in folders)
    ]
    if not dry_run:
        remove(kept, roots)
    return KeptReport(kept, done=not dry_run)


class _Gathering(Struct):
    """The files for an archive, by their names in it."""

    files: dict[str, Path] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take_workspace(self, root: Path, name: str, scratch: Path, server: Server | None) -> None:
        place = data_path(root)
        if server is None:
            self._take_database(place.folder / STATE, f"{name}/{STATE}", scratch, proof(root))
        else:
            self._take_tenant(server.tenant_of(root), f"{name}/{STATE}", scratch, proof(root))
        self._take_notes(place.folder / NOTES, f"{name}/{NOTES}")
        if place.inside:
            self._take(place.folder / CONFIG, f"{name}/{CONFIG}")
        self._take(_folders_file(root), f"{name}/{_FOLDERS}")

    def take_person(self, scratch: Path, server: Server | None) -> None:
        if server is not None and server.has_notes:
            self._take_tenant(server.person(), f"{_PERSON}/{STATE}", scratch, PERSONS)
        else:
            self._take_database(notes_folder() / STATE, f"{_PERSON}/{STATE}", scratch, None)
        self._take_notes(notes_folder(), f"{_PERSON}/{NOTES}")
        if (own := user_file()) is not None:
            self._take(own, f"{_PERSON}/{CONFIG}")

    def _take(self, path: Path, name: str) -> None:
        if is_readable(path):
            self.files[name] = path
        elif is_there(path):
            self.notes.append(one_line(f"{path} is left out: it is a link, or cannot be read"))

    def _take_notes(self, folder: Path, name: str) -> None:
        for inner, path in files_below(folder):
            if inner == STATE or inner.endswith(_NOT_KEPT):
                continue
            if NAME.fullmatch(f"{name}/{inner}"):
                self.files[f"{name}/{inner}"] = path
            else:
                self.notes.append(one_line(f"{path} is left out: its name cannot be in a backup"))

    def _take_database(self, path: Path, name: str, scratch: Path, binding: str | None) -> None:
        if not is_plain_file(path):
            return
        target = scratch / name.replace("/", "-")
        copy_database(path, target)
        if binding is not None:
            # Otherwise a restore would turn somebody else's words into the person's own.
            try:
                state = StateDatabase(target)
            except UnknownFormatError as error:  # which names the copy
                copied = f"{target.parent.name}/{target.name}"
                raise UnknownFormatError(str(error).replace(copied, str(path))) from error
            bound = state.database.binding
            state.close()
            if bound != binding:
                self.notes.append(one_line(f"{path} is left out: it is somebody else's, or of another folder"))
                return
        self.files[name] = target

    def _take_tenant(self, source: "TenantDatabase", name: str, scratch: Path, binding: str) -> None:
        """Copy rows of PostgreSQL to a file, in which they are like those of any other workspace."""
        target = scratch / name.replace("/", "-")
        with closing(source):
            if not source.found():
                return
            with closing(BoundDatabase(target)) as file:
                copy = Copy(source, file)
                copy.run()
                copy.finish(binding)
        self.files[name] = target


class _Step(Struct, frozen=True):
    """One file of a restore: its source, its target, and how it is written."""

    what: str
    source: Path
    target: Path
    write: Callable[[Path], None]

    @property
    def place(self) -> str:
        return str(self.target)

    def action(self, *, config: bool) -> str:
        same = same_database if self.target.name == STATE else same_content
        if is_plain_file(self.target) and same(self.target, self.source):
            return "same"
        if not config and self._decides():
            return _LEFT_OUT
        return "replaced" if is_there(self.target) else "new"

    def _decides(self) -> bool:
        """Return whether the file decides what is sent, read or run, rather than being read itself."""
        reaches = self.source.name == _FOLDERS and names_folders_outside(self.source)
        return reaches or self.source.name == CONFIG or ".git" in map(str.lower, self.source.parts)


class _TenantStep(Struct, frozen=True):
    """The rows of a workspace or a person in PostgreSQL, restored from a file in one transaction."""

    source: Path
    find: "Callable[[], TenantDatabase]"
    what: str = "threads"

    @property
    def place(self) -> str:
        with closing(self.find()) as target:
            return target.name

    def action(self, *, config: bool) -> str:  # noqa: ARG002  (as other steps)
        with closing(self.find()) as target, closing(BoundDatabase(self.source)) as source:
            state = target_state(source, target)
            return "replaced" if state == "continued" else state

    def write(self, source: Path) -> None:
        """Replace the rows: whoever is killed meanwhile has the old ones."""
        with (
            closing(self.find()) as target,
            closing(BoundDatabase(source)) as own,
            target.transaction(),
        ):
            copy = Copy(own, target)
            copy.run(replace=True)
            copy.finish(target.expected)


def _check_database(path: Path) -> None:
    """Bring a database of an unpacked archive up to date; raise an error if it is none of ours, or damaged."""
    try:
        bring_up_to_date(path)
        StateDatabase(path).close()
    except (UnknownFormatError, DatabaseDamagedError) as error:
        raise type(error)(f"nothing was restored, since the backup cannot be used: {error}") from error


def _bind(path: Path, root: Path) -> None:
    """Bind a database of an unpacked archive, before it is copied: who is killed then has the old one or this one."""
    if is_plain_file(path):
        with closing(StateDatabase(path)) as state:
            state.database.bind(proof(root))


def _workspace_steps(folder: Path, root: Path, server: Server | None) -> Iterator[_Step | _TenantStep]:
    place = data_path(root).folder

    def put_note(inner: str) -> Callable[[Path], None]:
        return lambda source: put_file(private_folder(root, NOTES), inner, source)

    def put_config(source: Path) -> None:
        put_file(private_folder(root), CONFIG, source)

    def put_state(source: Path) -> None:
        copy_database(source, private_folder(root) / STATE)

    def put_folders(source: Path) -> None:
        list_of_folders = _folders_file(root)
        put_file(make_folder(list_of_folders.parent), list_of_folders.name, source)

    for inner, source in files_below(folder):
        if inner == STATE and server is not None:
            yield _TenantStep(source, partial(server.tenant_of, root))
        elif inner == STATE:
            yield _Step("threads", source, place / STATE, put_state)
        elif inner == CONFIG:
            yield _Step("configuration", source, place / CONFIG, put_config)
        elif inner == _FOLDERS:
            yield _Step("indexed folders", source, _folders_file(root), put_folders)
        else:
            below = inner.removeprefix(f"{NOTES}/")
            yield _Step("note", source, place / inner, put_note(below))


def _person_steps(folder: Path, server: Server | None) -> Iterator[_Step | _TenantStep]:
    def put_note(inner: str) -> Callable[[Path], None]:
        return lambda source: put_file(person_notes(), inner, source)

    def put_config(source: Path) -> None:
        own = user_file()
        if own is not None:
            put_file(make_folder(own.parent), own.name, source)

    for inner, source in files_below(folder):
        if inner == STATE and server is not None and server.has_notes:
            yield _TenantStep(source, server.person, "your notes")
        elif inner == STATE:
            yield _Step(
                "your notes' journal",
                source,
                notes_folder() / STATE,
                lambda one: copy_database(one, person_notes() / STATE),
            )
        elif inner == CONFIG:
            if (own := user_file()) is not None:
                yield _Step("your configuration", source, own, put_config)
        else:
            below = inner.removeprefix(f"{NOTES}/")
            yield _Step("your note", source, notes_folder() / below, put_note(below))


def _targets(
    workspaces: Sequence[str], root: Path, *, everywhere: bool
) -> tuple[Sequence[tuple[int, Path]], Sequence[str]]:
    """Return the targets of the workspaces of an archive."""
    if not everywhere:
        if len(workspaces) == 1:
            return [(0, root)], []
        if str(root) in workspaces:
            return [(workspaces.index(str(root)), root)], []
        raise PromptuaryError(
            f"the backup has {len(workspaces):,} workspaces, and none of them is {root}; go to one of them, or use "
            "--everywhere"
        )
    there = [(number, Path(path)) for number, path in enumerate(workspaces) if Path(path).is_dir()]
    known = {str(path) for _, path in there}
    return there, [one_line(f"{path} does not exist and is left out") for path in workspaces if path not in known]


def _folders_file(root: Path) -> Path:
    return workspace_file(state_folder() / "folders", root)

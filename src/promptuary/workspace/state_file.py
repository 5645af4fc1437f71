"""Decides whether the ``state.db`` of a workspace is this person's: one from a clone or somebody else is not used.

A database holds conversations, and its content reaches the model as the person's own words. A repository could ship
one. So a database carries a binding, made from a key in the person's own state folder and the path of the workspace:
nobody else can make it, and it is worthless elsewhere. A database that git tracks may be changed by a pull, binding or
not, so it is never used before the person adopts it. Does not know the content of the database.
"""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import Code, ConfigError, ForeignStateError, PromptuaryError, SourceError, how_to_install
from promptuary.database.binding import MARK, Bound, BoundDatabase
from promptuary.workspace.data_folder.data_path import STATE, data_path
from promptuary.workspace.data_folder.notes_folders import notes_below
from promptuary.workspace.data_folder.private_folder import private_folder
from promptuary.workspace.data_folder.relocation import is_signed, proof
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.disk.protected_folders import FOLDER
from promptuary.workspace.user_folders import notes_folder, state_folder, workspace_file
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.database.tenant import TenantDatabase

_OTHER_STATE: Final = (
    "with another XDG_STATE_HOME than this program has now: start it with the same one (an agent passes it on to its "
    "server after `promptuary install`)."
)
_NAMED: Final = "tenant "
"""What the binding of a tenant with a name begins with."""
_ANYWHERE: Final = Path("/")
_ADOPT: Final = "promptuary doctor --adopt"
_PLACE: Final = f"{FOLDER}/{STATE}"
_FILES: Final = frozenset({FOLDER, *(f"{_PLACE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))})
"""Files that SQLite reads together with a database: a forged journal would be written back into it."""


class StateFile(Struct, frozen=True):
    """Where the database is, whether it exists, and the binding that it must carry."""

    path: Path
    exists: bool
    binding: str


def has_state(workspace: Workspace) -> bool:
    """Return whether a database exists for ``workspace``."""
    return data_path(workspace.root.path).has(STATE)


def state_file(workspace: Workspace) -> StateFile:
    """Return the database of ``workspace``, creating its folder if it is missing.

    Raises ``ForeignStateError`` if git tracks the database or another user owns it, unless the person has adopted it.
    The caller must compare the binding.
    """
    found = _find(workspace)
    if not _adopt(workspace).exists() and _is_tracked(workspace):
        raise ForeignStateError(
            f"{_PLACE} is not used: git tracks it, so it may hold somebody else's words. If it is yours, run "
            f"`promptuary doctor --adopt`; otherwise remove it: git rm -f '{_PLACE}*'."
        )
    return found


def adopt(workspace: Workspace) -> StateFile:
    """Record that the person adopted the database of ``workspace``, and return it."""
    found = _find(workspace)
    if _is_tracked(workspace):
        marker = _adopt(workspace)
        marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        durable.create(marker, os.fsencode(workspace.root.path))
    return found


def _find(workspace: Workspace) -> StateFile:
    path = private_folder(workspace.root.path) / STATE
    try:
        found = path.lstat()
    except FileNotFoundError:
        return StateFile(path, exists=False, binding=proof(workspace.root.path))
    if not is_own(found):
        raise ForeignStateError(
            f"{_PLACE} is not used: it belongs to another user, or others may write it. Remove it, or make it yours "
            "alone (chown, chmod 600)."
        )
    return StateFile(path, exists=stat.S_ISREG(found.st_mode), binding=proof(workspace.root.path))


def _is_tracked(workspace: Workspace) -> bool:
    """Return whether git tracks the database or a file that SQLite would read with it, such as a journal."""
    if not data_path(workspace.root.path).inside:
        return False
    try:
        # The folder itself is an entry if it is a submodule.
        return any(name in _FILES for name in workspace.tracked_names(FOLDER))
    except SourceError as error:
        if error.code is Code.NOT_A_REPOSITORY:
            return False
        raise ForeignStateError(
            f"{_PLACE} is not used: git could not tell whether it tracks it ({error.reason})"
        ) from error


def _adopt(workspace: Workspace) -> Path:
    return workspace_file(state_folder() / "adopted", workspace.root.path)


def check_binding(database: BoundDatabase, file: StateFile) -> None:
    """Bind ``database``, which was opened from ``file``, to this person if it is new.

    The files of notes that are there before it may have come with the folder, so they wait for the person. Closes it
    and raises ``ForeignStateError`` if it belongs to somebody else.
    """
    bound = database.binding
    try:
        database.check_complete(bound)
    except BaseException:
        database.close()
        raise
    if bound is None and database.is_unused:
        database.bind(file.binding, notes_below(file.path.parent / notes_folder().name))
        return
    if bound != file.binding:  # another process may have bound it just now
        bound = database.binding
    if bound == file.binding:
        return
    database.close()
    if is_signed(file.path.parent.parent):  # so the folder was not moved
        raise ForeignStateError(
            f"{database.name} is not used: it was made by somebody else, or {_OTHER_STATE} If your home is new, run "
            f"`{_ADOPT}`."
        )
    raise ForeignStateError(
        f"{database.name} is not used: it was made by somebody else, in another folder, or {_OTHER_STATE} If it is "
        f"yours (the folder was moved, or your home is new), run `{_ADOPT}`; otherwise remove it."
    )


def open_database(workspace: Workspace, url: str = "", tenant: str = "", *, create: bool = True) -> Bound | None:
    """Return the database of ``workspace``: its file or, with an address, the rows of its tenant there.

    If there is none, it is created and bound to this person, or ``None`` is returned. Raises ``ForeignStateError`` if
    it belongs to somebody else.
    """
    if url:
        return open_tenant(workspace.root.path, url, tenant, create=create)
    if not create and not has_state(workspace):
        return None
    file = state_file(workspace)
    database = BoundDatabase(file.path)
    check_binding(database, file)
    return database


def open_target(workspace: Workspace, url: str = "", tenant: str = "") -> tuple[Bound, str]:
    """Return the database of ``workspace`` that everything is copied to, in whatever state it is, and its binding.

    Raises ``ForeignStateError`` if it belongs to somebody else.
    """
    if url:
        target = find_tenant(workspace.root.path, url, tenant)
        return target, target.expected
    file = state_file(workspace)
    database = BoundDatabase(file.path)
    if not (database.binding or MARK).startswith(MARK):
        check_binding(database, file)
    return database, file.binding


def find_tenant(root: Path, url: str, tenant: str) -> "TenantDatabase":
    """Return the rows of the workspace at ``root`` in PostgreSQL, of which there may be none."""
    return _tenant_database(url, _bound_tenant(root, tenant))


def find_person(root: Path, url: str, tenant: str, user: str | None) -> "TenantDatabase":
    """Return the rows of the notes that follow a person, of which there may be none: they are a tenant of their own.

    Without a ``user`` the person is who runs this program, whose own key names the tenant: they find it in every
    workspace, and nobody else does. A user of a server is found by every server of the workspace ``tenant`` or, if that
    has no name, by those of this person.
    """
    if user is None:
        return _tenant_database(url, f"person {proof(_ANYWHERE, 'person')}")
    bound = _bound_tenant(root, tenant)
    place = bound if bound.startswith(_NAMED) else proof(_ANYWHERE, "people")
    name = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()
    return _tenant_database(url, f"person {name} of {place}")


def _tenant_database(url: str, binding: str) -> "TenantDatabase":
    try:
        from promptuary.database.tenant import TenantDatabase  # noqa: PLC0415  (few people have a server)
    except ImportError as error:
        raise PromptuaryError(f"PostgreSQL needs the 'postgres' extra: {how_to_install('postgres')}") from error
    return TenantDatabase(url, binding)


def open_tenant(root: Path, url: str, tenant: str, *, create: bool) -> "TenantDatabase | None":
    """Return them, as ``open_database`` does."""
    return opened(find_tenant(root, url, tenant), create=create)


def opened(database: "TenantDatabase", *, create: bool) -> "TenantDatabase | None":
    """Return a tenant, which is made if it does not exist and ``create`` is set; else close it and return ``None``."""
    try:
        if create:
            database.make()
            return database
        if database.found():
            return database
    except BaseException:
        database.close()
        raise
    database.close()
    return None


def _bound_tenant(root: Path, name: str) -> str:
    """Return the binding of the tenant of the workspace at ``root``, which the person's own folder records.

    Only the person's configuration names a tenant, and a folder is bound to it once: neither a clone nor another folder
    of this person gets at what is there. Without a name the tenant is one that only this person can make.
    """
    folder = state_folder() / "tenants"
    record = workspace_file(folder, root)
    bound = _record(record)
    if bound is None and not name:
        return proof(root, "tenant")
    if bound is None:
        taken = next((one for path in folder.glob("*.json") if (one := _record(path)) and one[0] == name), None)
        if taken is not None:
            raise ConfigError(f"tenant {name!r} is that of {taken[1]} on this machine; give this workspace another one")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        durable.create(record, json.dumps([name, str(root)]).encode())
        bound = _record(record) or (name, "")
    if name and bound[0] != name:
        raise ConfigError(
            f"this workspace is bound to the tenant {bound[0]!r}, not {name!r}; remove {record} to change it"
        )
    return f"{_NAMED}{bound[0]}"


def _record(path: Path) -> tuple[str, str] | None:
    """Return the name of a tenant, and the folder that is bound to it."""
    try:
        name, root = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read; remove it to bind the workspace again") from error
    return str(name), str(root)

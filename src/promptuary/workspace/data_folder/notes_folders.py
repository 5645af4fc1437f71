"""The two folders of notes: the workspace's own, and the person's, which follows them into every workspace.

Only the user can access them. Does not know what is in them: the store of notes does.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import ConfigError
from promptuary.workspace.data_folder.private_folder import private_folder
from promptuary.workspace.disk.ownership import is_own
from promptuary.workspace.user_folders import notes_folder

_MAX_FILES: Final = 100_000
"""The most files of notes that are listed."""


def workspace_notes(root: Path) -> Path:
    """Return the folder of the notes of the workspace ``root``, created if it is missing.

    Git ignores the private notes in it. After the first shared one, call ``unignore``. Raises ``ConfigError`` like
    ``private_folder``.
    """
    return private_folder(root, notes_folder().name)


def person_notes(folder: Path | None = None) -> Path:
    """Return the folder of a person's notes, created if it is missing: ``folder``, or that of the person here.

    Raises ``ConfigError`` if it is a link, belongs to another user, or cannot be created.
    """
    folder = folder or notes_folder()
    try:
        # How others may see the folders above is the person's choice; they hold the data of other programs.
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        durable.make_folder(folder.parent)
        with durable.opened_folder(folder.parent) as above:
            durable.make_folder(folder.name, dir_fd=above)
            with durable.opened_folder(folder.name, dir_fd=above) as opened:
                own = is_own(os.fstat(opened))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used for notes ({error.strerror}); check it.") from error
    if not own:
        raise ConfigError(
            f"{folder} belongs to another user, or others may write it, and is not used for notes; make it yours alone "
            "(chown, chmod 700)."
        )
    return folder


def notes_below(folder: Path) -> Sequence[str]:
    """Return the files of notes in ``folder``, by their paths: those that are there before their database is used.

    Returns one empty path, which stands for all of them, if they cannot be listed or are too many.
    """
    found: list[str] = []
    failed: list[OSError] = []
    for here, _, names in os.walk(folder, onerror=failed.append):
        found += [os.path.relpath(os.path.join(here, name), folder) for name in names if name.endswith(".md")]  # noqa: PTH118
        if len(found) > _MAX_FILES:
            return [""]
    return [""] if any(not isinstance(one, FileNotFoundError) for one in failed) else found

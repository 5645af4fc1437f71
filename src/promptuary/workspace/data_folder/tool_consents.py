"""Which tools of other servers models may call without asking: a file in the person's own state folder.

A consent is for one definition of a tool, by its hash. No file of a workspace has a say in it, and a file that others
could have written counts as absent.
"""

import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError
from promptuary.workspace.user_folders import make_folder, state_folder

_MAX_BYTES: Final = 4 << 20

Consents = Mapping[str, str]
"""The hash of the definition that the person agreed to, by the full name of the tool."""


def read_consents() -> Consents:
    """Return what the person agreed to; nothing, if the file is damaged, or others may have written it."""
    try:
        descriptor = os.open(_file(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o022 or found.st_uid != os.geteuid():
            return {}
        data = file.read(_MAX_BYTES + 1)
    try:
        value = json.loads(data) if len(data) <= _MAX_BYTES else None
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(name): digest for name, digest in value.items() if isinstance(digest, str)}


def keep_consent(tool: str, digest: str) -> None:
    """Record that the person agreed to a definition of a tool. Raises ``PromptuaryError`` if that is not possible."""
    _change(lambda known: {**known, tool: digest})


def forget_consents(prefix: str) -> int:
    """Forget what was agreed to for every tool whose full name begins with ``prefix``; return how many these were."""
    before = len(read_consents())
    after = _change(lambda known: {name: digest for name, digest in known.items() if not name.startswith(prefix)})
    return before - len(after)


def _change(change: Callable[[Consents], Consents]) -> Consents:
    path = _file()
    try:
        make_folder(path.parent)
        with durable.locked(path.with_suffix(".lock")):
            after = change(read_consents())
            with suppress(FileNotFoundError):
                if not after:
                    path.unlink()
                    return after
            durable.replace(path, json.dumps(after, indent=1, sort_keys=True).encode(), mode=0o600)
    except OSError as error:
        raise PromptuaryError(f"{path} cannot be written: {error.strerror}") from error
    return after


def _file() -> Path:
    return state_folder() / "mcp" / "consents.json"

"""Single files outside of the workspace that a person names: read whole for an import, written once for an export."""

import os
import stat
from contextlib import ExitStack
from pathlib import Path

from promptuary.base import durable
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line


def read_export(path: Path, largest: int) -> str:
    """Return the text of a file of at most ``largest`` bytes. Raises ``PromptuaryError`` if that fails."""
    name = one_line(str(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123  (it is open already)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PromptuaryError(f"{name} is not a file")
            content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        raise PromptuaryError(
            f"{name} cannot be read: {one_line(getattr(error, 'strerror', '') or str(error))}"
        ) from error
    if len(content) > largest:
        raise PromptuaryError(f"{name} is larger than {largest:,} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptuaryError(f"{name} is not UTF-8") from error


def write_export(path: Path, text: str, *, force: bool) -> None:
    """Write a file that only the user can access. Raises ``PromptuaryError`` if it exists and ``force`` is not set."""
    name = one_line(str(path))
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with ExitStack() as stack:
            stack.callback(os.close, folder)
            if force:
                durable.replace(path.name, text.encode(), dir_fd=folder)
                return
            is_new = durable.create(path.name, text.encode(), dir_fd=folder)
        if not is_new:
            raise PromptuaryError(f"{name} exists already; choose another name, or add --force")
    except (OSError, ValueError) as error:
        raise PromptuaryError(
            f"{name} cannot be written: {one_line(getattr(error, 'strerror', '') or str(error))}"
        ) from error

"""Which servers of this person run on this machine: a file for each, by its port, while it does."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from promptuary.base import durable
from promptuary.workspace.user_folders import make_folder, runtime_folder


class Serving(Struct, frozen=True):
    """A server on this machine without TLS: its process, its port, and the folders that it serves by name."""

    pid: int
    port: int
    folders: Mapping[str, Path]

    @property
    def base(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def announced(port: int, folders: Mapping[str, Path]) -> Iterator[None]:
    """Announce a server of this process until the end of the block."""
    file = make_folder(runtime_folder()) / f"serve-{port}.json"
    durable.replace(
        file, msgspec.json.encode(Serving(os.getpid(), port, folders), enc_hook=str), mode=0o600, sync=False
    )
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink()


def list_serving() -> list[Serving]:
    """Return the servers that were announced and whose processes exist, by their ports."""
    found = []
    for file in sorted(runtime_folder().glob("serve-*.json")):
        with suppress(OSError, ValueError):
            one = msgspec.json.decode(file.read_bytes(), type=Serving, dec_hook=_to_path)
            os.kill(one.pid, 0)
            found.append(one)
    return found


def _to_path(_: type, value: str) -> Path:
    return Path(value)

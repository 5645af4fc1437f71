"""Downloads large files from a host that the person trusts, such as models: resumable, verified, with progress.

Every hop is checked as for a page, and the connection is https unless the person allowed the host or it is this
machine. Partial data is in a file next to the target, and a later call resumes from there, so that neither Ctrl-C nor a
broken connection loses it. The target appears only when it is complete and has the expected hash. Synchronous: callers
run it in a thread.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from promptuary.base import durable
from promptuary.base.errors import Code, SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.web.addresses import Target, parse_url
from promptuary.workspace.web.deadline import Deadline, StallLimit
from promptuary.workspace.web.fetch import Resolver, get_following, hops, system_resolver

if TYPE_CHECKING:
    from promptuary.workspace.web.http import HttpStream

PARTIAL: Final = ".part"
"""The suffix of the name of an incomplete file."""

_MAX_SECONDS: Final = 24 * 3600.0
_ATTEMPTS: Final = 4
"""How often in a row a connection may break without sending anything."""
_PAUSE: Final = 0.5
_BLOCK: Final = 1024 * 1024
_RANGE: Final = re.compile(r"bytes ([0-9]{1,15})-[0-9]{1,15}/([0-9]{1,15})")

Progress = Callable[[int], None]
"""Called with how many bytes of a file have arrived. An exception that it raises stops the download."""


class ExpectedFile(Struct, frozen=True):
    """The expected file: its size, and its sha256 or git's object name of its content, if known."""

    size: int
    sha256: str = ""
    git_blob: str = ""


def read_json(url: str, access: Access, *, resolve: Resolver = system_resolver) -> Any:
    """Return the JSON at ``url``. Raises ``SourceError`` if it is refused, cannot be fetched, or is not JSON."""
    target = parse_url(url)
    _refuse_plain_http(target, access)
    deadline = Deadline(target.host, access.fetch_timeout, time.monotonic() + access.fetch_timeout)
    _, response = get_following(target, access, deadline, resolve)
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise SourceError(Code.FETCH_FAILED, f"{target.host} does not answer with JSON.") from error


def download(
    url: str,
    path: Path,
    expected: ExpectedFile,
    access: Access,
    *,
    progress: Progress = lambda _: None,
    resolve: Resolver = system_resolver,
) -> str:
    """Fetch the file at ``url`` to ``path``, whose folder exists, and return its sha256.

    ``fetch_timeout`` is how many seconds the server may be silent. Raises ``SourceError`` if the file is
    refused, cannot be fetched, or is not the expected one.
    """
    if expected.size > access.max_page_bytes:
        raise SourceError(Code.RESPONSE_TOO_LARGE, f"{path.name} has more than {access.max_page_bytes:,} bytes.")
    target = parse_url(url)
    deadline = StallLimit(target.host, access.fetch_timeout, time.monotonic() + _MAX_SECONDS)
    fetching = _Download(target, path.with_name(path.name + PARTIAL), expected.size, access, deadline, progress)
    failures = 0
    while (had := fetching.have()) != expected.size:
        try:
            fetching.proceed(had, resolve)
        except SourceError as error:
            failures = 1 if fetching.have() > had else failures + 1
            if error.code not in {Code.FETCH_FAILED, Code.TIMEOUT} or failures >= _ATTEMPTS:
                raise
            time.sleep(_PAUSE * failures)
    return _verify(fetching.partial, path, expected)


class _Download(Struct, frozen=True):
    """One download in progress: its source, what has arrived, and its expected size."""

    target: Target
    partial: Path
    size: int
    access: Access
    deadline: Deadline
    progress: Progress

    def have(self) -> int:
        """Return how many bytes have arrived; -1 if there is no file yet."""
        try:
            return self.partial.stat().st_size
        except FileNotFoundError:
            return -1

    def proceed(self, had: int, resolve: Resolver) -> None:
        """Fetch the missing part, as far as the server sends it."""
        had = had if 0 < had < self.size else 0
        steps = hops(self.target, self.access, self.deadline, resolve)
        target, addresses = next(steps)
        from promptuary.workspace.web.http import stream  # noqa: PLC0415  (90 ms, not for what is refused)

        headers = [("Range", f"bytes={had}-")] if had else []
        while True:
            _refuse_plain_http(target, self.access)
            with stream(target, addresses, headers, max_bytes=self.size, deadline=self.deadline) as response:
                if response.redirect is None:
                    self._store(response, self._start(response, had))
                    return
                location = response.redirect
            target, addresses = steps.send(location)

    def _start(self, response: "HttpStream", had: int) -> int:
        """Return where in the file the body of a response begins."""
        if response.status == 200:
            return 0
        found = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if response.status == 206 and found and (int(found[1]), int(found[2])) == (had, self.size):
            return had
        host = self.target.host
        if response.status in {206, 416}:
            self.partial.unlink(missing_ok=True)  # from the beginning, next time
            raise SourceError(Code.FETCH_FAILED, f"{host} does not continue the file where it broke off.")
        # A busy server may answer later; a missing file stays missing.
        busy = response.status in {408, 425, 429} or response.status >= 500
        code = Code.FETCH_FAILED if busy else Code.NOT_FOUND
        raise SourceError(code, f"{host} answers with HTTP status {response.status}.")

    def _store(self, response: "HttpStream", have: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (0 if have else os.O_TRUNC)
        descriptor = os.open(self.partial, flags, 0o600)
        try:
            os.lseek(descriptor, have, os.SEEK_SET)
            self.progress(have)
            for chunk in response.chunks:
                have += len(chunk)
                if have > self.size:
                    raise self._too_large()
                os.write(descriptor, chunk)
                self.progress(have)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if have < self.size:
            raise SourceError(Code.FETCH_FAILED, f"{self.target.host} closed the connection early.")

    def _too_large(self) -> SourceError:
        reason = f"{self.target.host} sends more than the {self.size:,} bytes that were expected."
        return SourceError(Code.RESPONSE_TOO_LARGE, reason)


def _refuse_plain_http(target: Target, access: Access) -> None:
    here = target.address is not None and target.address.is_loopback
    if target.scheme != "https" and not here and not target.named_in(access.hosts):
        raise SourceError(
            Code.BLOCKED_ADDRESS,
            f"{target.authority} is not on this machine, and with plain http anyone on the network could change what "
            f"arrives: use https. If you trust the network, allow the host {target.authority}.",
        )


def _verify(partial: Path, path: Path, expected: ExpectedFile) -> str:
    """Rename a complete file to its target. One that is not the expected file is deleted."""
    sha256, blob = hashlib.sha256(), hashlib.sha1(f"blob {expected.size}\0".encode(), usedforsecurity=False)
    with partial.open("rb") as file:
        while block := file.read(_BLOCK):
            sha256.update(block)
            blob.update(block)
    found = sha256.hexdigest()
    if (expected.sha256 or found) != found or (expected.git_blob or blob.hexdigest()) != blob.hexdigest():
        partial.unlink()
        raise SourceError(Code.FETCH_FAILED, f"{path.name} is not the file that was expected: its hash is another.")
    partial.rename(path)
    durable.sync_folder(path.parent)
    return found

"""Posts JSON to a service that the person configured, and returns its answer: JSON, or a stream of bytes.

``workspace.web.services`` says which addresses may be called. Redirects are not followed, because they would send the
person's key and texts elsewhere. The key never appears in an error or a log.
"""

import json
import random
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from promptuary.base.errors import Code, PromptuaryError, ServiceRefusedError, SourceError
from promptuary.base.values import pairs_without, shown_without
from promptuary.models.chat_model import Retrying
from promptuary.workspace.web.addresses import Target, parse_url
from promptuary.workspace.web.deadline import Deadline, StallLimit
from promptuary.workspace.web.fetch import Resolver, system_resolver
from promptuary.workspace.web.refusals import refusal, seconds_to_wait, words_of
from promptuary.workspace.web.services import service_addresses, service_target

if TYPE_CHECKING:
    from promptuary.workspace.web.http import CancelToken

_RETRY_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that may be temporary; 529 is Anthropic's for an overloaded service."""
_LONGEST_ANSWER: Final = 3600.0
"""The most seconds that a streamed answer may take in all."""
_LARGEST_ERROR: Final = 64 * 1024
_HUNG_UP: Final = "The connection was ended here."


class PostPolicy(Struct, frozen=True):
    """How to call a service. ``allow_hosts`` (``host`` or ``host:port``) may be called with plain http.

    ``timeout`` is in seconds and covers all attempts; ``pause`` is the wait before the second attempt, and doubles.
    """

    allow_hosts: frozenset[str] = frozenset()
    timeout: float = 60.0
    max_bytes: int = 64 * 1024 * 1024
    attempts: int = 4
    pause: float = 0.5


class Credential(Struct, frozen=True):
    """A key, and how a service expects it: as a bearer token, or in its own ``header``. ``more`` are further headers.

    ``advice`` is what the person can do if the service rejects it, or requires one and there is none.
    """

    key: str = ""
    header: str = ""
    more: tuple[tuple[str, str], ...] = ()
    advice: str = ""

    def __repr__(self) -> str:
        return shown_without(self, "key")

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return pairs_without(self, "key")

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers to send. Raises ``PromptuaryError`` if the key is invalid in a header."""
        if not all("!" <= letter <= "~" for letter in self.key):
            raise PromptuaryError("The key contains a space, a line break or another invalid character; copy it again.")
        if not self.key:
            return [*self.more]
        return [(self.header, self.key) if self.header else ("Authorization", f"Bearer {self.key}"), *self.more]


class Line(Struct, frozen=True):
    """The options of a streamed request: its key, what can end it, and what closes its connection."""

    credential: Credential
    cancel_token: "CancelToken"
    connection: ExitStack


_NO_KEY: Final = Credential()


class _Call(Struct, frozen=True):
    target: Target
    addresses: tuple[str, ...]
    body: bytes
    credential: Credential
    deadline: Deadline
    headers: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return shown_without(self, "headers")

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return pairs_without(self, "headers")


class _RetryError(Exception):
    """A failure that may be temporary, with its message and the least number of seconds to wait.

    ``last`` is the message if there are no further attempts.
    """

    def __init__(self, reason: str, wait: float = 0.0, last: str = "") -> None:
        super().__init__(reason.rstrip("."))
        self.wait, self.last = wait, (last or reason).rstrip(".")


def post_json(
    url: str, content: object, policy: PostPolicy, credential: Credential = _NO_KEY, resolve: Resolver = system_resolver
) -> object:
    """Return the service's answer to ``content``. Raises ``PromptuaryError`` if there is none."""
    headers, target = credential.headers(), service_target(url)
    try:
        deadline = Deadline(target.host, policy.timeout, time.monotonic() + policy.timeout)
        addresses = service_addresses(target, policy.allow_hosts, deadline, resolve)
        call = _Call(target, addresses, json.dumps(content).encode(), credential, deadline, tuple(headers))
        return _with_retries(call, policy)
    except SourceError as error:
        raise PromptuaryError(error.reason) from (None if credential.key else error)


def post_for_stream(
    url: str, content: object, policy: PostPolicy, line: Line
) -> Generator[Retrying, None, Iterator[bytes]]:
    """Yield each wait before a retry, and return the service's answer to ``content`` as it arrives.

    Only failures before the answer begins are retried. ``timeout`` of the policy is how long the service may be silent.
    The ``cancel_token`` of the line ends it from another thread, also while it waits; leaving its ``connection`` closes
    it. Raises ``PromptuaryError`` if there is no answer, and in ``connection`` if it breaks off.
    """
    headers = line.credential.headers()
    target = service_target(url)
    with ExitStack() as begun:
        begun.enter_context(_told(target, line))
        deadline = StallLimit(target.host, policy.timeout, time.monotonic() + _LONGEST_ANSWER)
        addresses = service_addresses(target, policy.allow_hosts, deadline)
        call = _Call(target, addresses, json.dumps(content).encode(), line.credential, deadline, tuple(headers))
        chunks = yield from _begun(call, policy, line.cancel_token, begun)
        line.connection.enter_context(begun.pop_all())
        return chunks


@contextmanager
def _told(target: Target, line: Line) -> Iterator[None]:
    """Translate connection errors into a sentence."""
    try:
        yield
    except SourceError as error:
        reason = _HUNG_UP if line.cancel_token.ended else _unreached(error, target)
        raise PromptuaryError(reason) from (None if line.credential.key else error)


def _begun(
    call: _Call, policy: PostPolicy, cancel_token: "CancelToken", connection: ExitStack
) -> Generator[Retrying, None, Iterator[bytes]]:
    """Return the chunks of a successful answer, retrying as often as needed."""
    pauses = _Pauses(policy)
    while True:
        try:
            return connection.enter_context(_answered(call, policy, cancel_token))
        except _RetryError as error:
            retry = error
        except SourceError as error:
            if cancel_token.ended or error.code is not Code.FETCH_FAILED:
                raise
            retry = _RetryError(_unreached(error, call.target))
        wait = pauses.after(retry, call.deadline)
        yield Retrying(str(retry), wait)
        if cancel_token.wait(wait):
            raise PromptuaryError(_HUNG_UP)


@contextmanager
def _answered(call: _Call, policy: PostPolicy, cancel_token: "CancelToken") -> Iterator[Iterator[bytes]]:
    """Yield the chunks of an answer; raise an error if the service refuses."""
    from promptuary.workspace.web.http import stream  # noqa: PLC0415  (90 ms, not for what is refused)

    headers = [("Accept", "text/event-stream"), ("Content-Type", "application/json"), *call.headers]
    with stream(
        call.target,
        call.addresses,
        headers,
        max_bytes=policy.max_bytes,
        deadline=call.deadline,
        body=call.body,
        cancel_token=cancel_token,
    ) as response:
        if not 200 <= response.status < 300:
            body = b"".join(_at_most(response.chunks, _LARGEST_ERROR))
            raise _refused(call, response.status, response.headers, body)
        yield response.chunks


def service_name(url: str) -> str:
    """Return the name of the service at ``url`` for messages: its host and port."""
    try:
        return parse_url(url).authority
    except SourceError:  # a call reports what is wrong with the address
        return "the service"


def _at_most(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk[:limit]
        limit -= len(chunk)
        if limit <= 0:
            return


class _Pauses:
    """The waits between attempts: longer each time, and at least as long as the service asks for.

    All waits together are shorter than the timeout, so a failure is reported by then, even if an answer may take long.
    """

    def __init__(self, policy: PostPolicy) -> None:
        self._pause, self._left, self._tried = policy.pause, policy.attempts, 0
        self._waiting = policy.timeout

    def after(self, failure: _RetryError, deadline: Deadline) -> float:
        """Return the seconds before the next attempt. Raises ``PromptuaryError`` if there is none."""
        self._left, self._tried = self._left - 1, self._tried + 1
        wait = max(failure.wait, random.uniform(self._pause / 2, self._pause))  # noqa: S311 - so that many clients do not retry at the same time
        if self._left <= 0 or wait >= min(self._waiting, deadline.remaining()):
            often = f" (asked {self._tried} times)." if self._tried > 1 else "."
            raise PromptuaryError(f"{failure.last}{often}") from None
        self._pause *= 2
        self._waiting -= wait
        return wait


def _with_retries(call: _Call, policy: PostPolicy) -> object:
    pauses = _Pauses(policy)
    while True:
        try:
            return _once(call, policy.max_bytes)
        except _RetryError as retry:
            wait = pauses.after(retry, call.deadline)
        time.sleep(wait)


def _once(call: _Call, max_bytes: int) -> object:
    from promptuary.workspace.web.http import post  # noqa: PLC0415  (90 ms, not for what is refused)

    headers = [("Accept", "application/json"), ("Content-Type", "application/json"), *call.headers]
    try:
        status, response = post(
            call.target, call.addresses, call.body, headers, max_bytes=max_bytes, deadline=call.deadline
        )
    except SourceError as error:
        if error.code is Code.FETCH_FAILED:
            raise _RetryError(_unreached(error, call.target)) from None
        raise
    if not 200 <= status < 300:
        raise _refused(call, status, response.headers, response.body)
    try:
        answer: object = json.loads(response.body)
    except (ValueError, RecursionError):
        name = call.target.authority
        raise PromptuaryError(f"{name} does not answer with JSON; check the address {call.target.url}.") from None
    return answer


def _unreached(error: SourceError, target: Target) -> str:
    """Return why a service did not answer, with the port that was tried: on one machine there may be several."""
    there = error.reason.removeprefix(target.host)
    return error.reason if there == error.reason else f"{target.authority}{there}"


def _refused(call: _Call, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    name, key = call.target.authority, call.credential.key
    wait = seconds_to_wait(headers)
    words = words_of(body, key)
    reason = refusal(name, status, words, has_key=bool(key), advice=call.credential.advice)
    if status in _RETRY_STATUSES:
        return _RetryError(reason, wait, refusal(name, status, words, wait=wait))
    return ServiceRefusedError(status, reason)

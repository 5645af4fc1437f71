"""Post JSON to a service that the person configured, and return the JSON that it answers with.

Unlike the URL of a page, this address is the person's own, so it may be on this machine or in a private network. Never
pass an address that comes from a workspace or a model. Plain http is used only for this machine and for hosts that the
person allowed, because a key and the person's texts are sent. Redirects are not followed, because they would send these
elsewhere. The key is in no error and no log.
"""

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from promptuary.core.errors import Code, PromptuaryError, ServiceRefusedError, SourceError
from promptuary.workspace.web.addresses import Target, parse_url
from promptuary.workspace.web.fetch import Resolver, resolve_host, system_resolver
from promptuary.workspace.web.policy import Deadline

_RETRY_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_ERROR_TEXT: Final = 300
"""How many characters of a service's error message to show."""


@dataclass(frozen=True, slots=True)
class PostPolicy:
    """How to call a service. ``allow_hosts`` (``host`` or ``host:port``) may be called with plain http.

    ``timeout`` is in seconds and covers all attempts; ``pause`` is the wait before the second attempt, and doubles.
    """

    allow_hosts: frozenset[str] = frozenset()
    timeout: float = 60.0
    max_bytes: int = 64 * 1024 * 1024
    attempts: int = 4
    pause: float = 0.5


@dataclass(frozen=True, slots=True)
class _Call:
    target: Target
    addresses: tuple[str, ...]
    body: bytes
    key: str = field(repr=False)
    deadline: Deadline


class _RetryError(Exception):
    """A failure that may be temporary, with its message and the least number of seconds to wait."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def post_json(
    url: str, content: object, policy: PostPolicy, *, key: str = "", resolve: Resolver = system_resolver
) -> object:
    """Return the service's answer to ``content``. Raises ``PromptuaryError`` if there is none."""
    if not all("!" <= letter <= "~" for letter in key):
        raise PromptuaryError("The key contains a space, a line break or another invalid character; copy it again.")
    try:
        target = parse_url(url)
        deadline = Deadline(target.host, policy.timeout, time.monotonic() + policy.timeout)
        addresses = _addresses(target, policy, resolve, deadline)
        return _with_retries(_Call(target, addresses, json.dumps(content).encode(), key, deadline), policy)
    except SourceError as error:
        raise PromptuaryError(error.reason) from (None if key else error)


def _addresses(target: Target, policy: PostPolicy, resolve: Resolver, deadline: Deadline) -> tuple[str, ...]:
    literal = target.address
    found = (literal,) if literal else resolve_host(target, resolve, deadline)
    plain = target.scheme == "http" and not target.named_in(policy.allow_hosts)
    if plain and not all(address.is_loopback for address in found):
        raise PromptuaryError(
            f"{target.authority} is not on this machine, and plain http shows your texts to anyone on the network: "
            f"use https. If you trust the network, allow the host {target.authority}."
        )
    return tuple(map(str, found))


def _with_retries(call: _Call, policy: PostPolicy) -> object:
    pause, tried = policy.pause, 0
    while True:
        try:
            return _once(call, policy.max_bytes)
        except _RetryError as retry:
            tried += 1
            wait = max(retry.wait, random.uniform(pause / 2, pause))  # noqa: S311 - so that many clients do not retry at the same time
            if tried >= policy.attempts or wait >= call.deadline.left():
                raise PromptuaryError(str(retry)) from None
        time.sleep(wait)
        pause *= 2


def _once(call: _Call, max_bytes: int) -> object:
    from promptuary.workspace.web.http import post  # noqa: PLC0415  (90 ms, not for what is refused)

    headers = [("Accept", "application/json"), ("Content-Type", "application/json")]
    headers += [("Authorization", f"Bearer {call.key}")] if call.key else []
    try:
        status, response = post(
            call.target, call.addresses, call.body, headers, max_bytes=max_bytes, deadline=call.deadline
        )
    except SourceError as error:
        if error.code is Code.FETCH_FAILED:
            raise _RetryError(error.reason) from None
        raise
    if not 200 <= status < 300:
        raise _refused(call.target, status, response.headers, response.body, call.key)
    try:
        answer: object = json.loads(response.body)
    except (ValueError, RecursionError):
        name = call.target.authority
        raise PromptuaryError(f"{name} does not answer with JSON; check the address {call.target.url}.") from None
    return answer


def _refused(target: Target, status: int, headers: Mapping[str, str], body: bytes, key: str) -> Exception:
    name = target.authority
    if status in {401, 403}:
        return PromptuaryError(f"{name} does not accept the key (HTTP status {status}): check it.")
    if 300 <= status < 400:
        return PromptuaryError(f"{name} redirects, which is not followed; configure the address that it redirects to.")
    reason = f"{name} answers with HTTP status {status}{_error_text(body, key)}"
    if status in _RETRY_STATUSES:
        return _RetryError(reason, _seconds(headers.get("retry-after", "")))
    return ServiceRefusedError(status, reason)


def _error_text(body: bytes, key: str) -> str:
    """Return the service's error message on one line, without the key."""
    words = " ".join(body[:4096].decode("utf-8", "replace").split())
    if key:
        words = words.replace(key, "…")
    shown = "".join(letter for letter in words if letter.isprintable())[:_MAX_ERROR_TEXT]
    return f": {shown}" if shown else "."


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() and len(text) < 6 else 0.0

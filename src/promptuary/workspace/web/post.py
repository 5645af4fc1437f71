"""The door to a service that the person named: posts JSON to its address and returns the JSON it answers with.

A fetched page is somebody else's idea; this address is the person's own, so it may be on this machine or in a private
network. Never hand over one that a workspace or a model brought along. Plain http is only spoken with this machine and
with hosts that the person allowed, because a key and a person's texts are sent. Redirects are not followed: they
would be sent elsewhere. The key is in no error and no log.
"""

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from promptuary.core.errors import Code, PromptuaryError, SourceError
from promptuary.workspace.web.addresses import Target, parse_url
from promptuary.workspace.web.fetch import Resolver, look_up, system_resolver
from promptuary.workspace.web.policy import Deadline

_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_TOLD: Final = 300
"""Characters of a service's own complaint that are passed on."""


@dataclass(frozen=True, slots=True)
class PostPolicy:
    """How a service is asked. ``allow_hosts`` (``host`` or ``host:port``) may be spoken to in plain http.

    ``deadline`` is in seconds and covers all attempts; ``pause`` is waited before the second and doubles after it.
    """

    allow_hosts: frozenset[str] = frozenset()
    deadline: float = 60.0
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


class _TryAgainError(Exception):
    """An attempt failed in a way that may pass; carries what to say if it does not, and how long to wait at least."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def post_json(
    url: str, content: object, policy: PostPolicy, *, key: str = "", resolve: Resolver = system_resolver
) -> object:
    """Return what the service at ``url`` answers to ``content``. Raises ``PromptuaryError`` if it does not."""
    if not all("!" <= letter <= "~" for letter in key):
        raise PromptuaryError("The key holds a space, a line break or a letter that no key has: copy it again.")
    try:
        target = parse_url(url)
        deadline = Deadline(target.host, policy.deadline, time.monotonic() + policy.deadline)
        addresses = _addresses(target, policy, resolve, deadline)
        return _persistently(_Call(target, addresses, json.dumps(content).encode(), key, deadline), policy)
    except SourceError as error:
        raise PromptuaryError(error.reason) from (None if key else error)


def _addresses(target: Target, policy: PostPolicy, resolve: Resolver, deadline: Deadline) -> tuple[str, ...]:
    literal = target.address
    found = (literal,) if literal else look_up(target, resolve, deadline)
    plain = target.scheme == "http" and not target.named_in(policy.allow_hosts)
    if plain and not all(address.is_loopback for address in found):
        raise PromptuaryError(
            f"{target.authority} is not on this machine, and plain http shows your texts to anyone on the way: "
            f"use https. If you trust the network, allow the host {target.authority}."
        )
    return tuple(map(str, found))


def _persistently(call: _Call, policy: PostPolicy) -> object:
    pause, tried = policy.pause, 0
    while True:
        try:
            return _once(call, policy.max_bytes)
        except _TryAgainError as again:
            tried += 1
            wait = max(again.wait, random.uniform(pause / 2, pause))  # noqa: S311 - so that many do not come back at once
            if tried >= policy.attempts or wait >= call.deadline.left():
                raise PromptuaryError(str(again)) from None
        time.sleep(wait)
        pause *= 2


def _once(call: _Call, max_bytes: int) -> object:
    from promptuary.workspace.web.http import post  # noqa: PLC0415  (90 ms, not for what is refused)

    headers = [("Accept", "application/json"), ("Content-Type", "application/json")]
    headers += [("Authorization", f"Bearer {call.key}")] if call.key else []
    try:
        status, reply = post(
            call.target, call.addresses, call.body, headers, max_bytes=max_bytes, deadline=call.deadline
        )
    except SourceError as error:
        if error.code is Code.FETCH_FAILED:
            raise _TryAgainError(error.reason) from None
        raise
    if not 200 <= status < 300:
        raise _refused(call.target, status, reply.headers, reply.body, call.key)
    try:
        answer: object = json.loads(reply.body)
    except (ValueError, RecursionError):
        name = call.target.authority
        raise PromptuaryError(f"{name} does not answer in JSON: is {call.target.url} the right address?") from None
    return answer


def _refused(target: Target, status: int, headers: Mapping[str, str], body: bytes, key: str) -> Exception:
    name = target.authority
    if status in {401, 403}:
        return PromptuaryError(f"{name} does not accept the key (HTTP status {status}): check it.")
    if 300 <= status < 400:
        return PromptuaryError(f"{name} redirects, which is not followed: configure the address it leads to.")
    reason = f"{name} answers with HTTP status {status}{_told(body, key)}"
    if status in _AGAIN:
        return _TryAgainError(reason, _seconds(headers.get("retry-after", "")))
    return PromptuaryError(reason)


def _told(body: bytes, key: str) -> str:
    """Return the service's own words, on one line, without anything that must not be repeated."""
    words = " ".join(body[:4096].decode("utf-8", "replace").split())
    if key:
        words = words.replace(key, "…")
    shown = "".join(letter for letter in words if letter.isprintable())[:_MAX_TOLD]
    return f": {shown}" if shown else "."


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() and len(text) < 6 else 0.0

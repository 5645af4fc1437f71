"""Which model service a request goes to, with which key and headers. Only the configuration names services. Pure.

Keys are read elsewhere: this module says where they are.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from promptuary.base.errors import ConfigError
from promptuary.base.principals import Owner
from promptuary.config.named_models import NamedModel
from promptuary.config.settings import Settings
from promptuary.server.errors import Protocol, Refusal
from promptuary.server.tokens import Token
from promptuary.tokens.counting import known_model
from promptuary.workspace.web.relay import HOP_HEADER

Headers = list[tuple[bytes, bytes]]

_IDEMPOTENCY: Final = b"idempotency-key"
_PASSED: Final = frozenset(
    {
        *(b"content-type", b"accept", b"anthropic-version", b"anthropic-beta", b"openai-beta", b"openai-organization"),
        *(b"openai-project", _IDEMPOTENCY, b"user-agent", b"x-stainless-retry-count", HOP_HEADER),
    }
)
"""The headers of a client that go to the service; no cookie, no key of ours, nothing about the connection."""
_OUR_TOKEN: Final = re.compile(rb"(?<![A-Za-z0-9_-])pt_")
_OWN_KEY: Final = (b"authorization", b"x-api-key")
_RETURNED: Final = frozenset(
    {
        *(b"content-type", b"content-encoding", b"retry-after", b"retry-after-ms", b"x-should-retry", b"request-id"),
        *(b"x-request-id", b"openai-processing-ms", b"openai-version", b"openai-model"),
    }
)
_RETURNED_PREFIXES: Final = (b"anthropic-ratelimit-", b"x-ratelimit-")
_HTTP: Final = frozenset({"openai", "anthropic"})


class Upstream(Struct, frozen=True):
    """Where a request goes, and as what. ``named`` has the key, the price and the window of the model.

    ``hosts`` may be called with plain http.
    """

    named: NamedModel
    own_key: bool
    hosts: frozenset[str] = frozenset()

    @property
    def window(self) -> int:
        """The window of the model, in tokens, so that nothing is added beyond it; 0 if it is unknown."""
        known = known_model(self.named.model)
        return self.named.window or (known.window if known else 0)

    @property
    def is_anthropic(self) -> bool:
        """Whether the service has Anthropic's cache, and takes its key as Anthropic does."""
        return self.named.provider == "anthropic"

    def url(self, path: str, query: bytes = b"") -> str:
        """Return the address for a path such as ``/v1/messages``."""
        base = self.named.base_url.rstrip("/")
        if not self.is_anthropic or base.endswith("/v1"):  # the addresses of OpenAI's protocol name the version
            path = path.removeprefix("/v1")
        return base + path + (f"?{query.decode('latin-1')}" if query else "")


def find_upstream(settings: Settings, token: Token, name: str, protocol: Protocol, *, own_key: bool) -> Upstream:
    """Return where a request for the model ``name`` goes.

    Raises ``Refusal``, the same for a model that is not configured and for one that the token may not use.
    """
    if not name or (token.models and name not in token.models):
        raise no_model(name, token)
    try:
        named = settings.chat(name)
    except ConfigError:
        named = None
    if named is not None and (named.given is not None or named.scripted or named.provider not in _HTTP):
        named = None  # no service that could be asked over HTTP
    if named is not None and not is_configured(settings, token, named) and not (own_key and named.key_env):
        named = None  # also a service on this machine that needs no key: the operator has to name it
    if named is None and own_key:
        return find_usual(settings, protocol, name, own_key=own_key)
    if named is None:
        raise no_model(name, token)
    return Upstream(named, own_key, plain_hosts(settings))


def find_usual(settings: Settings, protocol: Protocol, model: str = "-", *, own_key: bool) -> Upstream:
    """Return the service that clients of a protocol usually ask."""
    named = settings.chat(f"{'anthropic' if protocol == 'messages' else 'openai'}/{model}")
    return Upstream(named, own_key, plain_hosts(settings))


def plain_hosts(settings: Settings) -> frozenset[str]:
    """Return the hosts that may be asked with plain http."""
    return frozenset(host.lower() for host in settings.allow_hosts)


def is_configured(settings: Settings, token: Token, named: NamedModel) -> bool:
    """Return whether the operator means a model to be used: a table, a name in the token, or a key for it."""
    tables = {model.name for model in settings.models} | {settings.answer_model}
    is_named = named.name in tables or named.name in token.models
    return is_named or bool(named.key_env and os.environ.get(named.key_env, "").strip())


def list_models(settings: Settings, token: Token) -> Sequence[str]:
    """Return the names of the models that a token may use."""
    if token.models:
        return token.models
    named = [model.name for model in settings.models if not model.scripted and model.given is None]
    return tuple(dict.fromkeys([*named, *filter(None, [settings.answer_model])]))


def no_model(name: str, token: Token) -> Refusal:
    """Return the answer for a model that is not there for a token; whoever runs the server is told what is missing."""
    shown = name[:100] if name.isprintable() else "that"
    reason = f"the model {shown!r} does not exist or this token may not use it"
    if "admin" in token.scopes:
        reason += "; configure it as [models.NAME] where the server runs, or set the key of its provider there"
    return Refusal(404, reason, code="model_not_found")


def request_headers(upstream: Upstream, headers: Iterable[tuple[bytes, bytes]], key: str, owner: Owner) -> Headers:
    """Return the headers of a request to the service. ``key`` is the server's, unless the client brings its own."""
    passed = [(name, value) for name, value in headers if name in _PASSED]
    if upstream.own_key:
        # Ours is elsewhere; should it be here, too, it is nobody else's business.
        keys = [(name, value) for name, value in headers if name in _OWN_KEY]
        return passed + [(name, value) for name, value in keys if not _OUR_TOKEN.search(value)]
    # For the service, all who ask with one key are one: nobody gets the answer to what somebody else asked.
    passed = [(name, _scoped(value, owner) if name == _IDEMPOTENCY else value) for name, value in passed]
    if not key:
        return passed
    if upstream.is_anthropic:
        return [*passed, (b"x-api-key", key.encode("latin-1", "replace"))]
    return [*passed, (b"authorization", b"Bearer " + key.encode("latin-1", "replace"))]


def _scoped(value: bytes, owner: Owner) -> bytes:
    return hashlib.sha256(repr((owner.kind, owner.name, owner.agent, value)).encode()).hexdigest().encode()


def answer_headers(headers: Iterable[tuple[bytes, bytes]], ours: Mapping[bytes, str]) -> Headers:
    """Return the headers of an answer: those of the service that clients need, and ours."""
    passed = [
        (name.lower(), value)
        for name, value in headers
        if name.lower() in _RETURNED or name.lower().startswith(_RETURNED_PREFIXES)
    ]
    return passed + [(name, value.encode("ascii", "replace")) for name, value in ours.items() if value]

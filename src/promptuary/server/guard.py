"""In front of everything: whether a request is meant for this server, and whose token it carries.

A web page in a browser on this machine can also send requests to loopback. It does not know a token, and its origin
reveals it; a name that DNS resolves to this machine is not an accepted ``Host``. What is decided here is decided from
headers, address and method alone; of bodies this module knows nothing.
"""

import asyncio
import hashlib
import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.errors import ConfigError
from promptuary.server.asgi import Headers, Scope, find_session, values
from promptuary.server.errors import NOT_FOUND, Refusal
from promptuary.server.matches import Match, Route
from promptuary.server.routes import find_route, find_workspace
from promptuary.server.tokens import Token, TokenStore

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_KNOWN: Final = 1000
_MAX_LOOKUPS: Final = 4
"""How many unknown secrets are looked up at once: whoever tries some must not take the threads of others."""
_PREFIX: Final = "pt_"
_MAX_SECRET: Final = 200

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Doors(Struct, frozen=True):
    """Where the server listens and for whom: the accepted values of ``Host``, whether it has TLS, trusted proxies."""

    hosts: frozenset[str]
    scheme: str = "http"
    proxies: tuple[Network, ...] = ()
    port: int = 0

    @property
    def is_secure(self) -> bool:
        """Whether clients use TLS, with this server or with the proxy before it."""
        return self.scheme == "https" or bool(self.proxies)

    @property
    def cookie(self) -> str:
        """The name of the cookie of the page. Cookies do not know ports: without TLS, the name has it."""
        return "__Host-promptuary" if self.is_secure else f"promptuary-{self.port}"


def accepted_hosts(host: str, port: int, names: Collection[str] = (), *, scheme: str = "http") -> frozenset[str]:
    """Return the values of ``Host`` that mean a server which listens on ``host`` and ``port``.

    ``names`` are those that clients use besides, each with or without a port. Every value has its port, unless that is
    the one that clients leave out.
    """
    own = list(LOOPBACK_NAMES)
    if host not in ("", "0.0.0.0", "::", "localhost") and host not in own:  # noqa: S104  (asks whether it is that)
        own.append(f"[{host}]" if ":" in host else host)
    hosts = {f"{name.lower()}:{port}" for name in own}
    if port == _DEFAULT_PORTS[scheme]:
        hosts |= {name.lower() for name in own}
    for name in names:
        has_port = name.rpartition(":")[2].isdecimal() and not name.endswith("]")
        hosts |= {name.lower()} if has_port else {name.lower(), f"{name.lower()}:{port}"}
    return frozenset(hosts)


def read_networks(addresses: Collection[str]) -> tuple[Network, ...]:
    """Return the networks that addresses such as ``10.0.0.5`` or ``10.0.0.0/24`` name. Raises ``ConfigError``."""
    try:
        return tuple(ipaddress.ip_network(address) for address in addresses)
    except ValueError as error:
        raise ConfigError(f"--behind-proxy takes an address such as 10.0.0.5 or 10.0.0.0/24: {error}") from error


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on ``host``."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_sender(scope: Scope, doors: Doors) -> None:
    """Raise ``Refusal`` unless a request comes from where requests may come from, and is meant for this server."""
    headers: Headers = scope["headers"]
    peer = scope.get("client") or ("", 0)
    if doors.proxies and not _is_trusted(peer[0], doors.proxies):
        raise Refusal(403, "this server answers its proxy only")
    hosts = values(headers, b"host")
    host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
    if host not in doors.hosts:
        raise Refusal(421, "the Host of the request is not a name of this server; --allowed-host adds one")
    if not scope["raw_path"].startswith(b"/") or scope.get("promptuary.absolute"):
        raise Refusal(400, "the target of the request must be a path")
    # A trusted proxy may end TLS, so either scheme is this server's own there.
    own = {f"{scheme}://{host}" for scheme in (("http", "https") if doors.proxies else (doors.scheme,))}
    origins = [origin.decode("latin-1").lower() for origin in values(headers, b"origin")]
    if scope.get("promptuary.page") and values(headers, b"sec-fetch-site") == [b"same-origin"] and origins == ["null"]:
        origins = []  # pages of ours tell nobody where they are, so a browser calls their origin so
    is_own = all(site in (b"same-origin", b"none") for site in values(headers, b"sec-fetch-site"))
    if len(origins) > 1 or not own.issuperset(origins) or not (is_own or _follows_link(scope)):
        raise Refusal(403, "web pages of other origins may not use this server")


def _follows_link(scope: Scope) -> bool:
    """Return whether somebody followed a link to a page: nothing of the page it was on can read the answer."""
    is_navigation = values(scope["headers"], b"sec-fetch-mode") == [b"navigate"]
    is_whole = values(scope["headers"], b"sec-fetch-dest") == [b"document"]
    return bool(scope.get("promptuary.page")) and scope["method"] == "GET" and is_navigation and is_whole


def check_form(scope: Scope) -> None:
    """Raise ``Refusal`` unless a form comes from a page of this server, as browsers say."""
    headers: Headers = scope["headers"]
    kinds = values(headers, b"content-type")
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != b"application/x-www-form-urlencoded":
        raise Refusal(415, "forms are sent as application/x-www-form-urlencoded")
    sites = values(headers, b"sec-fetch-site")
    # That an Origin is one of ours was checked before.
    if sites != [b"same-origin"] and (sites or not values(headers, b"origin")) and not find_secret(headers)[0]:
        raise Refusal(403, "forms may only be sent from a page of this server")


def _is_trusted(address: str, proxies: Sequence[Network]) -> bool:
    try:
        peer = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped:
        peer = peer.ipv4_mapped
    return peer.is_loopback or any(peer in proxy for proxy in proxies)


def find_secret(headers: Headers) -> tuple[str, bool]:
    """Return the secret of ours that a request carries, and whether the client brings its own key for the upstream.

    The one function that reads credentials. In ``X-Promptuary-Token`` it leaves the usual headers to the client's own
    key; else it is in one of those, and whatever the other holds is not looked at again.
    """
    own = values(headers, b"x-promptuary-token")
    if own:
        return (own[0].decode("latin-1").strip() if len(own) == 1 else ""), True
    keys = [value.decode("latin-1").strip() for value in values(headers, b"x-api-key")]
    for value in values(headers, b"authorization"):
        scheme, _, secret = value.decode("latin-1").partition(" ")
        keys.append(secret.strip() if scheme.lower() == "bearer" else "")  # names of schemes have no case
    ours = {key for key in keys if key.startswith(_PREFIX)}
    return (ours.pop() if len(ours) == 1 and len(keys) <= 2 else ""), False


def check_route(match: Match | None, token: Token, served: Collection[str]) -> tuple[Match, str]:
    """Return the route of a request and its workspace, if its token may use both; raises ``Refusal``."""
    if match is None:
        raise Refusal(404, NOT_FOUND)
    route: Route = match.route
    if match.workspace is not None or route.area != "server":
        named = match.workspace
        if named is None and route.area == "page":  # the first; the page offers the others
            named = next((name for name in served if not token.workspaces or name in token.workspaces), None)
        workspace = find_workspace(named, token.workspaces, served)
    else:
        workspace = ""
    if route.scope is not None and route.scope not in token.scopes:
        raise Refusal(403, "the scopes of this token do not allow this")
    return match, workspace


def check_content(match: Match, scope: Scope) -> None:
    """Raise ``Refusal`` unless the body of a request is said to be JSON: a web page cannot send that unasked."""
    headers: Headers = scope["headers"]
    if match.route.area == "page" and match.route.method == "POST":
        check_form(scope)
    if match.route.method not in {"POST", "PATCH"} or match.route.any_body:
        return
    kinds = values(headers, b"content-type")
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != b"application/json":
        raise Refusal(415, "send the body as JSON, with Content-Type: application/json")


class KnownTokens:
    """The tokens that were shown to this process, so that the database is asked once for each, and off the loop."""

    def __init__(self, store: TokenStore) -> None:
        self.store = store
        self._known: OrderedDict[bytes, Token] = OrderedDict()
        self._lookups = asyncio.Semaphore(_MAX_LOOKUPS)

    async def find(self, secret: str) -> Token | None:
        """Return the token of a secret, if there is one that is valid."""
        if not secret.startswith(_PREFIX) or len(secret) > _MAX_SECRET:
            return None
        # Not compared but looked up by its hash, of which nobody can guess a part.
        key = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
        token = self._known.get(key)
        if token is None:
            async with self._lookups:
                token = await concurrency.run(lambda: self.store.find(secret))
            if token is not None:
                self._known[key] = token
                if len(self._known) > _MAX_KNOWN:
                    self._known.popitem(last=False)
        return token

    async def drop_ended(self, running: Collection[str] = ()) -> set[str]:
        """Forget the tokens that were revoked or have expired, and return their ids and those of ``running`` ones."""
        known = {token.id for token in self._known.values()}.union(running)
        if not known:
            return set()
        ended = await concurrency.run(lambda: {name for name in known if not self.store.is_active(name)})
        for key in [key for key, token in self._known.items() if token.id in ended]:
            del self._known[key]
        return ended


async def admit(
    scope: Scope, doors: Doors, tokens: KnownTokens, served: Collection[str], welcome: Callable[[Token], None]
) -> tuple[Match, str, bool]:
    """Return the route of a request, its workspace, and whether the client brings its own key; raises ``Refusal``.

    Puts the token into the scope, and calls ``welcome`` as soon as it is known. Of pages, some need no token, and the
    others take a session instead: then that is in the scope, too.
    """
    secret, own_key = find_secret(scope["headers"])
    match = find_route(scope["method"], scope["raw_path"])
    is_page = match.route.area == "page" if match else not secret and _is_browser(scope)
    if is_page:
        scope["promptuary.page"] = True
        if match and match.route.scope is None:
            check_sender(scope, doors)
            check_content(match, scope)
            return match, "", False
    token = await tokens.find(secret)
    if token is None and is_page and not secret:
        token = await _find_visitor(scope, doors, tokens)
    if token is None:
        raise Refusal(401, "a token of this server is needed: promptuary token create makes one")
    scope["promptuary.token"] = token
    welcome(token)
    check_sender(scope, doors)
    match, workspace = check_route(match, token, served)
    check_content(match, scope)
    return match, workspace, own_key


def _is_browser(scope: Scope) -> bool:
    """Return whether a person looks for a page that does not exist."""
    accepted = values(scope["headers"], b"accept")
    return scope["method"] == "GET" and any(b"text/html" in value for value in accepted)


async def _find_visitor(scope: Scope, doors: Doors, tokens: KnownTokens) -> Token | None:
    """Return the token of the session of a browser, which is put into the scope."""
    session = find_session(scope["headers"], doors.cookie)
    if not session or len(session) > _MAX_SECRET:
        return None
    token = await concurrency.run(lambda: tokens.store.find_session(session))
    if token is not None:
        scope["promptuary.session"] = session
    return token

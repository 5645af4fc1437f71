"""The tokens of ``promptuary serve``: who may ask for what, how much was used, and what was done.

A token is a secret that is shown once; the database has its hash only. It stands for a principal and says what that
may do. Knows nothing of HTTP. Everything here is synchronous: callers run it in threads.
"""

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, ConflictError
from promptuary.base.principals import LOCAL, Owner, Principal
from promptuary.database import schema
from promptuary.database.columns import from_body, from_column, to_body, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Cursor, Result, Work
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase
from promptuary.workspace.access import REMOTE_KINDS, WORKSPACE, Access
from promptuary.workspace.user_folders import make_folder, state_folder

_QUERIES: Final = queries(__package__, "tokens.sql")

Scope = Literal["read", "write", "proxy", "admin"]
"""Read what is stored; change it; send requests to models; see the server itself."""

SCOPES: Final[tuple[Scope, ...]] = ("read", "write", "proxy", "admin")

Record = Literal["full", "receipt", "off"]
"""What is stored of a request of the proxy: all of it, its receipt without texts, or nothing."""

Mode = Literal["augment", "own"]
"""Whose conversation a request is: the client's list of messages, or a thread of ours."""

MAX_TOKENS: Final = 10_000
MAX_CLAIMS: Final = 100_000
"""How many ids of a model service an owner may have; the oldest are dropped, and nobody can use them."""
MAX_AUDIT: Final = 100_000
"""How many rows the audit trail has; before the oldest are dropped, it may have a few more."""
MAX_ID: Final = 300
"""How long an id of a model service may be."""

_MAX_NAME: Final = 100
_MAX_NAMES: Final = 1000
_MAX_TEXT: Final = 200
_ENDED_DAYS: Final = 90
"""For how long a token that ended is listed."""
_USED_DAYS: Final = 400
_BEGUN_DAYS: Final = 1
_INVITATION_SECONDS: Final = 300
_SESSION_DAYS: Final = 14
_EVERY: Final = 1000
"""After how many new rows the oldest are dropped."""
_STALE_SECONDS: Final = 1.0
"""After how long a token that another process made or revoked is noticed."""

_SECRET: Final = re.compile(r"pt_([0-9a-f]{12})_[0-9a-f]{48}", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_NO_ID: Final = ""
_NO_HASH: Final = hashlib.sha256(b"").digest()


class Limits(Struct, frozen=True):
    """How much a token may use in a day; ``None`` is no limit. Money is in the currency of the prices of models."""

    requests: int | None = None
    tokens: int | None = None
    money: float | None = None


class Use(Struct, frozen=True):
    """How much a token used."""

    requests: int = 0
    tokens: int = 0
    money: float = 0.0


class Token(Struct, frozen=True):
    """Who may ask for what. The secret is not part of it.

    No ``models`` means every configured one, no ``workspaces`` every one that is served. ``kinds``, ``folders`` and
    ``hosts`` limit what messages may refer to, as ``Access.limited`` says; ``None`` as ``kinds`` is the whole
    workspace. Times are ISO 8601 in UTC; an empty one means never. ``last_used`` is a day, and only ``list`` knows it.
    """

    id: str
    name: str
    principal: Principal = LOCAL
    scopes: frozenset[Scope] = frozenset({"proxy"})
    models: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    kinds: frozenset[str] | None = None
    folders: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    limits: Limits = Limits()
    record: Record = "full"
    mode: Mode = "augment"
    created: str = ""
    expires: str = ""
    revoked: str = ""
    last_used: str = ""

    @property
    def access(self) -> Access:
        """What its messages may refer to. Raises ``ConfigError`` if its rules are no such."""
        if self.kinds is None:
            # Whoever sends it is not at this machine: no clipboard, no files of the person outside the workspace.
            return Access.limited(REMOTE_KINDS, (WORKSPACE,), self.hosts)
        return Access.limited(self.kinds, self.folders, self.hosts)

    def state(self, at: str) -> Literal["active", "expired", "revoked"]:
        """Return what has become of it at a time."""
        if self.revoked:
            return "revoked"
        return "expired" if self.expires and self.expires <= at else "active"


class AuditRow(Struct, frozen=True):
    """A request that was answered: who asked for what, without any text of it. ``route`` is a pattern, not a path."""

    time: str
    token: str
    principal: Principal
    method: str
    route: str
    status: int
    thread: str = ""
    turn: str = ""


class TokenStore:
    """The tokens in the file ``path``, which is created if needed; its folder must exist.

    When ``create``, ``revoke`` or ``claim`` returns, it is on the disk. A power cut may undo the last counts of what
    was used, and the last rows of the audit trail; the end of the process does not.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout: float = 30.0,
        clock: Callable[[], str] = now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._timeout, self._clock, self._monotonic = path, timeout, clock, monotonic
        self._database = self._opened()
        self._lock = threading.Lock()
        self._known: Mapping[str, tuple[bytes, Token]] = {}
        self._version: int | None = None
        self._fresh_until = 0.0

    @classmethod
    def open(cls) -> Self:
        """Open the tokens of this person's server."""
        make_folder(state_folder())
        return cls(cls.default_path())

    @staticmethod
    def default_path() -> Path:
        """Return the file of this person's tokens."""
        return state_folder() / "server.db"

    # Tokens

    def create(self, token: Token) -> tuple[Token, str]:
        """Store a token with a new id, and return it and its secret, which nobody can find out later.

        ``id``, ``created``, ``revoked`` and ``last_used`` of ``token`` are ignored. Raises ``ConfigError`` if it is not
        a valid token, ``ConflictError`` if there are too many.
        """
        at = self._clock()
        made = replace(token, id=secrets.token_hex(6), created=at, revoked="", last_used="")
        _check(made, at)
        secret = f"pt_{made.id}_{secrets.token_hex(24)}"
        row = {"id": made.id, "hash": _hash(secret), "body": to_body(made), "expires": made.expires}

        def created(connection: Connection) -> None:
            _run(connection, "drop_tokens", {"before": _days_before(at, _ENDED_DAYS)})
            _run(connection, "drop_used", {"before": _days_before(at, _USED_DAYS)})
            if _run(connection, "count_tokens", {}).fetchone()[0] >= MAX_TOKENS:
                raise ConflictError(
                    f"there are {MAX_TOKENS} tokens already; those that ended go after {_ENDED_DAYS} days"
                )
            _run(connection, "create", row)
            _run(connection, "change", {})

        self._change(created)
        return made, secret

    def list(self) -> Sequence[Token]:
        """Return every token, the oldest first: also those that expired or were revoked lately."""
        return sorted((token for _, token in self._read_tokens()), key=lambda token: (token.created, token.id))

    def revoke(self, token_id: str) -> bool:
        """Revoke a token, and return whether there was one that was not revoked."""
        row = {"id": to_column(token_id), "now": self._clock()}

        def revoked(connection: Connection) -> bool:
            _run(connection, "change", {})
            return _run(connection, "revoke", row).rowcount > 0

        return self._change(revoked)

    def find(self, secret: str) -> Token | None:
        """Return the token of a secret; ``None`` if there is none, or if it expired or was revoked.

        Does the same work for every text but a right one, so that nobody learns from the time which ids exist. What
        another process revoked is noticed within a second, what it created at once: who is not known is looked up anew.
        """
        token = self._match(secret)
        if token is None:
            self._fresh_until = 0.0
            token = self._match(secret)
        return token

    def _match(self, secret: str) -> Token | None:
        """Return the token of a secret, as far as is known here."""
        match = _SECRET.fullmatch(secret)
        expected, token = self._current().get(match[1] if match else _NO_ID, (_NO_HASH, None))
        # The end of a long text does not count: it cannot be a secret of ours.
        is_same = hmac.compare_digest(expected, _hash(secret[:_MAX_TEXT]))
        if not is_same or match is None or token is None:
            return None
        return token if token.state(self._clock()) == "active" else None

    def is_active(self, token_id: str) -> bool:
        """Return whether a token was neither revoked nor has expired, to end what runs with it."""
        _, token = self._current().get(token_id, (_NO_HASH, None))
        return token is not None and token.state(self._clock()) == "active"

    # What it used

    def add_use(self, token: Token, requests: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """Add to what a token used today."""
        row = {"token": token.id, "day": self._day(), "requests": requests, "tokens": tokens, "money": money}
        self._database.write(lambda connection: _run(connection, "add_use", row))

    def use_today(self, token: Token) -> Use:
        """Return what a token used today, in all processes."""
        row = {"token": token.id, "day": self._day()}
        return self._database.read(lambda connection: _read_use(connection, row))

    def over_limit(self, token: Token) -> str | None:
        """Return why a token may not be used any more today; ``None`` if it may."""
        return None if token.limits == Limits() else find_excess(token.limits, self.use_today(token))

    def count_request(self, token: Token) -> str | None:
        """Add a request to what a token used today; if it is over a limit, add nothing and return why.

        However many ask at once, in however many processes, no more requests are counted than the limit says.
        """
        row = {"token": token.id, "day": self._day()}

        def counted(connection: Connection) -> str | None:
            excess = find_excess(token.limits, _read_use(connection, row))
            if excess is None:
                _run(connection, "add_use", {**row, "requests": 1, "tokens": 0, "money": 0.0})
            return excess

        return self._database.write(counted)

    # Sessions of the page: like tokens, only their hashes are stored

    def invite(self, token_id: str) -> str:
        """Return a code with which one browser can sign in with a token, once and within five minutes."""
        code = secrets.token_urlsafe(32)
        row = {"id": _hash(code), "token": token_id, "expires": _after(self._clock(), seconds=_INVITATION_SECONDS)}
        self._database.checkpoint(lambda connection: _run(connection, "add_invitation", row))
        return code

    def redeem(self, code: str) -> str:
        """Start a session for a code, which is none any more then; "" if it is none."""
        row = {"id": _hash(code[:_MAX_TEXT]), "now": self._clock()}
        found = self._database.checkpoint(lambda connection: _run(connection, "take_invitation", row).fetchone())
        return self.start_session(str(found[0])) if found and self.is_active(str(found[0])) else ""

    def start_session(self, token_id: str) -> str:
        """Start a session of a browser that was shown a token, and return its secret."""
        session, at = secrets.token_urlsafe(32), self._clock()
        row = {"id": _hash(session), "token": token_id, "expires": _after(at, days=_SESSION_DAYS)}

        def started(connection: Connection) -> None:
            _run(connection, "drop_sessions", {"now": at})
            _run(connection, "drop_invitations", {"now": at})
            _run(connection, "add_session", row)

        self._database.checkpoint(started)
        return session

    def find_session(self, session: str) -> Token | None:
        """Return the token of a session; ``None`` if it has ended, or its token was revoked or has expired."""
        self._fresh_until = 0.0  # also what another process has just revoked
        known = self._current()
        row = {"id": _hash(session[:_MAX_TEXT]), "now": self._clock()}
        found = self._database.read(lambda connection: _run(connection, "find_session", row).fetchone())
        _, token = known.get(str(found[0]), (_NO_HASH, None)) if found else (_NO_HASH, None)
        return token if token is not None and token.state(self._clock()) == "active" else None

    def end_session(self, session: str) -> None:
        """End a session."""
        self._database.checkpoint(lambda connection: _run(connection, "end_session", {"id": _hash(session)}))

    # Ids that were made at a model service

    def claim(self, principal: Principal, upstream_id: str, what: str) -> bool:
        """Record that a principal made something at a model service, and return whether the id is theirs.

        The first claim of an id holds, whatever a service answers later. ``what`` says what it is, such as a file.
        """
        if not 0 < len(upstream_id) <= MAX_ID:
            return False
        owner = _owner_columns(principal.owner)
        row = {**owner, "id": to_column(upstream_id), "what": what[:_MAX_TEXT]}

        def claimed(connection: Connection) -> bool:
            (number,) = _run(connection, "count_claim", {}).fetchone()
            _run(connection, "claim", {**row, "number": number})
            if number % _EVERY == 0:
                _run(connection, "drop_claims", {**owner, "most": MAX_CLAIMS})
            return _find_owner(connection, upstream_id) == principal.owner

        return self._database.checkpoint(claimed)

    def claimed_by(self, upstream_id: str) -> Owner | None:
        """Return the owner of an id of a model service (as ``Principal.owner``); ``None`` if it is nobody's."""
        if len(upstream_id) > MAX_ID:
            return None
        return self._database.read(lambda connection: _find_owner(connection, upstream_id))

    # Requests that are carried out once

    def begin(self, key: bytes, body: bytes) -> Literal["new", "known", "other"]:
        """Record that a request is carried out; ``key`` and ``body`` are hashes, of who asks for what and of all of it.

        Returns whether it is new, was begun before, or was begun with another body. Known for a day.
        """
        at = self._clock()
        row = {"key": key, "body": body, "now": at}

        def begun(connection: Connection) -> Literal["new", "known", "other"]:
            _run(connection, "drop_begun", {"before": _days_before(at, _BEGUN_DAYS)})
            if _run(connection, "begin", row).rowcount:
                return "new"
            (stored,) = _run(connection, "begun", {"key": key}).fetchone()
            return "known" if stored == body else "other"

        return self._database.write(begun)

    def not_begun(self, key: bytes) -> None:
        """Forget a request that was refused, so that it can be repeated."""
        self._database.write(lambda connection: _run(connection, "not_begun", {"key": key}))

    # The audit trail

    def add_audit(
        self, token: Token, method: str, route: str, status: int, *, thread: str = "", turn: str = ""
    ) -> None:
        """Record that a request was answered. ``route`` is the pattern of its path: a path may hold anything."""
        row = {
            "time": self._clock(),
            "token": token.id,
            "user": to_column(token.principal.user),
            "agent": to_column(token.principal.agent),
            "group": None if token.principal.group is None else to_column(token.principal.group),
            "method": method[:_MAX_TEXT],
            "route": route[:_MAX_TEXT],
            "status": status,
            "thread": to_column(thread[:_MAX_TEXT]),
            "turn": to_column(turn[:_MAX_TEXT]),
        }

        def added(connection: Connection) -> None:
            (number,) = _run(connection, "count_audit", {}).fetchone()
            _run(connection, "add_audit", {**row, "number": number})
            if number % _EVERY == 0:
                _run(connection, "drop_audit", {"number": number - MAX_AUDIT})

        self._database.write(added)

    def list_audit(self, most: int = 1000) -> Sequence[AuditRow]:
        """Return the last rows of the audit trail, the newest first."""
        rows = self._database.read(lambda connection: _run(connection, "audit", {"most": most}).fetchall())
        with sound(self._database.name):
            return [_to_audit_row(row) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _opened(self) -> SqliteDatabase:
        return SqliteDatabase(self._path, schema.steps(schema.SERVER), timeout=self._timeout, durable=False)

    def _day(self) -> str:
        return self._clock()[:10]

    def _change(self, work: Work[Result]) -> Result:
        result = self._database.checkpoint(work)
        with self._lock:  # a thread that has just read the tokens as they were must not call them fresh
            self._fresh_until = 0.0
        return result

    def _current(self) -> Mapping[str, tuple[bytes, Token]]:
        """Return hashes and tokens by id, at most a second old."""
        if self._monotonic() < self._fresh_until:
            return self._known
        with self._lock:
            until = self._monotonic() + _STALE_SECONDS
            if not self._database.is_current():
                # The file was removed or replaced, by purge or restore: what was a token in it is none any more.
                self._database.close()
                self._database, self._version = self._opened(), None
            version = int(self._database.read(lambda connection: _run(connection, "version", {}).fetchone()[0]))
            if version != self._version:
                self._known = {token.id: (expected, token) for expected, token in self._read_tokens()}
                self._version = version
            self._fresh_until = until
            return self._known

    def _read_tokens(self) -> Sequence[tuple[bytes, Token]]:
        rows = self._database.read(lambda connection: _run(connection, "tokens", {}).fetchall())
        with sound(self._database.name):
            return [
                (bytes(expected), replace(from_body(body, Token), revoked=str(revoked), last_used=str(day)))
                for expected, body, revoked, day in rows
            ]


def find_excess(limits: Limits, use: Use) -> str | None:
    """Return which of its daily limits a token reached; ``None`` if none. Pure."""
    for what in Limits.__struct_fields__:
        most, used = getattr(limits, what), getattr(use, what)
        if most is not None and used >= most:
            return f"this token has used its {what} of today ({used:g} of {most:g}); the next day begins at 00:00 UTC"
    return None


def _check(token: Token, at: str) -> None:
    """Raise ``ConfigError`` for a token that could not be used, or whose lists have no end."""
    if not token.name.strip() or not token.name.isprintable() or len(token.name) > _MAX_NAME:
        raise ConfigError(f"the name of a token must be 1 to {_MAX_NAME} printable characters, not {token.name!r}")
    if not token.scopes:
        raise ConfigError(f"a token needs a scope: {', '.join(SCOPES)}")
    for names in (token.models, token.workspaces, token.folders, token.hosts):
        if len(names) > _MAX_NAMES or not all(len(name) <= _MAX_TEXT for name in names):
            raise ConfigError(f"a token names at most {_MAX_NAMES} models, workspaces, folders and hosts, each shortly")
    for what in Limits.__struct_fields__:
        most = getattr(token.limits, what)
        if most is not None and not 0 <= most < 1e15:
            raise ConfigError(f"the limit of {what} must be a number from 0, not {most}")
    if token.expires and not _TIME.fullmatch(token.expires):
        raise ConfigError(f"a token expires at a time such as 2026-01-31T00:00:00.000Z, not {token.expires!r}")
    if token.expires and token.expires <= at:
        raise ConfigError(f"the token would have expired already, on {token.expires}")
    _ = token.access


def _run(connection: Connection, query: str, values: Mapping[str, Any]) -> Cursor:
    return connection.execute(_QUERIES[query], {"tenant": connection.tenant, **values})


def _read_use(connection: Connection, row: Mapping[str, Any]) -> Use:
    found = _run(connection, "use", row).fetchone()
    return Use() if found is None else Use(int(found[0]), int(found[1]), float(found[2]))


def _find_owner(connection: Connection, upstream_id: str) -> Owner | None:
    found = _run(connection, "claimed_by", {"id": to_column(upstream_id)}).fetchone()
    return None if found is None else Owner(*map(from_column, found))


def _owner_columns(owner: Owner) -> dict[str, Any]:
    return {"kind": owner.kind, "name": to_column(owner.name), "agent": to_column(owner.agent)}


def _to_audit_row(row: tuple[Any, ...]) -> AuditRow:
    at, token, user, agent, group, method, route, status, thread, turn = row
    principal = Principal(from_column(user), from_column(agent), None if group is None else from_column(group))
    return AuditRow(
        str(at), str(token), principal, str(method), str(route), int(status), from_column(thread), from_column(turn)
    )


def _after(at: str, *, seconds: int = 0, days: int = 0) -> str:
    later = datetime.fromisoformat(at) + timedelta(days=days, seconds=seconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _days_before(at: str, days: int) -> str:
    return (datetime.fromisoformat(at) - timedelta(days=days)).date().isoformat()


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()

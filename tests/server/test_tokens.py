"""Tokens of the server: found by their secret only, limited by the day, and what was made by one is nobody else's."""

import hmac
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptuary.base.errors import ConfigError
from promptuary.base.principals import Principal
from promptuary.server import tokens
from promptuary.server.tokens import Limits, Token, TokenStore, Use

ALICE, BOB = Principal("alice"), Principal("bob")


class Clock:
    """A clock that is set by hand, in both of the forms that a store asks for."""

    now = "2026-03-01T12:00:00.000Z"
    seconds = 0.0

    def __call__(self) -> str:
        return self.now

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server.db"


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[TokenStore]:
    with closing(TokenStore(path, clock=clock, monotonic=clock.monotonic)) as opened:
        yield opened


def new(name: str = "laptop", **fields: Any) -> Token:
    return Token(id="", name=name, **fields)


def test_a_token_is_found_by_its_secret_with_everything_it_says(store: TokenStore) -> None:
    asked = new(
        principal=Principal("alice", "coder", "team"),
        scopes=frozenset({"read", "proxy"}),
        models=("gpt-5-mini", "claude"),
        workspaces=("site",),
        kinds=frozenset({"file", "url"}),
        folders=("docs",),
        hosts=frozenset({"wiki.example:8080"}),
        limits=Limits(10, 1000, 2.5),
        record="receipt",
        mode="own",
        expires="2026-04-01T00:00:00.000Z",
    )

    token, secret = store.create(asked)

    assert store.find(secret) == token
    assert store.list() == [token]
    fields = {name: getattr(token, name) for name in Token.__struct_fields__ if name not in {"id", "created"}}
    assert fields == {name: getattr(asked, name) for name in fields}
    assert secret.startswith(f"pt_{token.id}_")
    assert token.created == "2026-03-01T12:00:00.000Z"
    assert token.access.folders == ("docs",)


def test_a_token_for_a_whole_workspace_does_not_reach_the_person_at_the_machine() -> None:
    access = new().access

    assert access.is_whole
    assert access.allows("use", "diff")
    assert not access.allows("use", "clipboard")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_secret_is_found_only_as_itself(store: TokenStore, data: st.DataObject) -> None:
    _, secret = store.create(new())
    place = data.draw(st.integers(0, len(secret)))
    end = data.draw(st.integers(place, len(secret)))
    other = secret[:place] + data.draw(st.text(max_size=80)) + secret[end:]

    assert (store.find(other) is not None) == (other == secret)
    assert store.find(secret) is not None


@pytest.mark.parametrize("text", ["", "pt_", "pt__", "pt_000000000000_" + "0" * 48, "é" * 70, "\ud800", "x" * 10**6])
def test_what_is_no_secret_is_not_found(store: TokenStore, text: str) -> None:
    store.create(new())

    assert store.find(text) is None


def test_the_secret_of_one_token_does_not_open_another(store: TokenStore) -> None:
    (first, secret), (second, _) = store.create(new()), store.create(new())

    assert store.find(secret.replace(first.id, second.id)) is None


def test_every_text_but_a_right_one_takes_the_same_work(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    token, secret = store.create(new())
    revoked, old = store.create(new())
    store.revoke(revoked.id)
    work: list[str] = []
    hash_text, compare = tokens._hash, hmac.compare_digest

    def counted_hash(text: str) -> bytes:
        work.append("hash")
        return hash_text(text)

    def counted_compare(one: bytes, other: bytes) -> bool:
        work.append(f"compare {len(one)}")
        return compare(one, other)

    monkeypatch.setattr(tokens, "_hash", counted_hash)
    monkeypatch.setattr(hmac, "compare_digest", counted_compare)

    assert store.find(secret) == token
    assert work == ["hash", "compare 32"]
    for text in (old, f"pt_{token.id}_" + "0" * 48, "pt_000000000000_" + "0" * 48, "sk-other", ""):
        work.clear()
        store.find(text)
        assert work == ["hash", "compare 32"] * 2


def test_a_token_that_another_process_created_is_found_at_once(path: Path, store: TokenStore) -> None:
    assert store.find("pt_000000000000_" + "0" * 48) is None
    with closing(TokenStore(path)) as other:
        token, secret = other.create(new())

    assert store.find(secret) == token


def test_a_revoked_token_is_not_found_from_that_moment(store: TokenStore) -> None:
    token, secret = store.create(new())
    assert store.find(secret) is not None
    assert store.is_active(token.id)

    assert store.revoke(token.id)

    assert store.find(secret) is None
    assert not store.is_active(token.id)
    assert not store.revoke(token.id)
    (listed,) = store.list()
    assert listed.state("2026-03-01T12:00:00.000Z") == "revoked"


def test_a_token_that_another_process_revoked_is_not_found_a_second_later(
    path: Path, store: TokenStore, clock: Clock
) -> None:
    token, secret = store.create(new())
    assert store.find(secret) is not None
    with closing(TokenStore(path)) as other:
        other.revoke(token.id)
        _, later = other.create(new("later"))

    clock.seconds += 1.0

    assert store.find(secret) is None
    assert store.find(later) is not None


def test_a_token_whose_file_is_gone_is_not_found_a_second_later(path: Path, store: TokenStore, clock: Clock) -> None:
    _, secret = store.create(new())
    assert store.find(secret) is not None
    for file in path.parent.glob("server.db*"):
        file.unlink()

    clock.seconds += 1.0

    assert store.find(secret) is None


def test_an_expired_token_is_not_found(store: TokenStore, clock: Clock) -> None:
    token, secret = store.create(new(expires="2026-03-01T13:00:00.000Z"))
    clock.now = "2026-03-01T12:59:59.999Z"
    assert store.find(secret) is not None

    clock.now = "2026-03-01T13:00:00.000Z"

    assert store.find(secret) is None
    assert not store.is_active(token.id)
    assert token.state(clock.now) == "expired"


def test_the_files_hold_no_secret(path: Path, store: TokenStore) -> None:
    _, secret = store.create(new())
    store.find(secret)

    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())

    assert b"laptop" in stored
    assert secret.encode() not in stored
    assert secret[-48:].encode() not in stored
    assert bytes.fromhex(secret[-48:]) not in stored
    assert all(file.stat().st_mode & 0o077 == 0 for file in path.parent.iterdir())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": frozenset()}, "scope"),
        ({"models": ("m",) * 1001}, "models"),
        ({"models": ("m" * 201,)}, "models"),
        ({"limits": Limits(requests=-1)}, "requests"),
        ({"limits": Limits(money=float("nan"))}, "money"),
        ({"expires": "tomorrow"}, "expires"),
        ({"expires": "2026-03-01T11:00:00.000Z"}, "expired"),
        ({"kinds": frozenset({"clipboard"})}, "clipboard"),
        ({"kinds": frozenset({"file"}), "folders": ("../other",)}, "folder"),
    ],
)
def test_a_token_that_could_not_be_used_is_refused(store: TokenStore, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        store.create(new(**{"name": "laptop", **fields}))

    assert store.list() == []


def test_there_are_no_more_tokens_than_the_most(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_TOKENS", 1)
    store.create(new())

    with pytest.raises(Exception, match="tokens already"):
        store.create(new())


def test_tokens_that_ended_long_ago_are_dropped_with_what_they_used(
    path: Path, store: TokenStore, clock: Clock
) -> None:
    revoked, _ = store.create(new("revoked"))
    store.create(new("expired", expires="2026-03-02T00:00:00.000Z"))
    store.add_use(revoked, 1)
    store.revoke(revoked.id)

    clock.now = "2026-07-01T00:00:00.000Z"
    store.create(new("current"))

    assert [token.name for token in store.list()] == ["current"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM used").fetchone() == (0,)


def test_use_is_counted_by_token_and_day(store: TokenStore, clock: Clock) -> None:
    (token, _), (other, _) = store.create(new("one")), store.create(new("two"))
    store.add_use(token, 1, 100, 0.5)
    store.add_use(token, 1, 20, 0.25)
    assert store.use_today(token) == Use(2, 120, 0.75)
    assert store.use_today(other) == Use()
    assert {token.name: token.last_used for token in store.list()} == {"one": "2026-03-01", "two": ""}

    clock.now = "2026-03-02T00:00:00.000Z"

    assert store.use_today(token) == Use()


@pytest.mark.parametrize("limits", [Limits(requests=2), Limits(tokens=200), Limits(money=1.0)])
def test_a_token_is_over_its_limit_until_the_next_day(store: TokenStore, clock: Clock, limits: Limits) -> None:
    token, _ = store.create(new(limits=limits))
    store.add_use(token, 1, 100, 0.5)
    assert store.over_limit(token) is None
    store.add_use(token, 1, 100, 0.5)
    assert "00:00 UTC" in (store.over_limit(token) or "")

    clock.now = "2026-03-02T00:00:00.000Z"

    assert store.over_limit(token) is None


def test_a_token_without_limits_is_never_over_one(store: TokenStore) -> None:
    token, _ = store.create(new())
    store.add_use(token, 10**9, 10**12, 1e9)

    assert store.over_limit(token) is None
    assert store.count_request(token) is None


COUNTING = """
import sys
from pathlib import Path
from promptuary.server.tokens import TokenStore
store = TokenStore(Path(sys.argv[1]))
(token,) = store.list()
print(sum(store.count_request(token) is None for _ in range(40)))
"""


def test_no_more_requests_are_counted_than_the_limit_says_in_all_processes(path: Path) -> None:
    with closing(TokenStore(path)) as store:
        token, _ = store.create(new(limits=Limits(requests=50)))
        command = [sys.executable, "-c", COUNTING, str(path)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        counted = [int(process.communicate(timeout=60)[0]) for process in processes]

        assert sum(counted) == 50
        assert store.use_today(token).requests == 50


def test_an_id_belongs_to_who_claimed_it_first(store: TokenStore) -> None:
    assert store.claimed_by("resp_1") is None
    assert store.claim(ALICE, "resp_1", "response")

    assert not store.claim(BOB, "resp_1", "response")
    assert store.claim(ALICE, "resp_1", "response")

    assert store.claimed_by("resp_1") == ALICE.owner != BOB.owner
    assert store.claimed_by("RESP_1") is None


def test_an_id_belongs_to_an_agent_and_in_a_group_to_the_group(store: TokenStore) -> None:
    assert store.claim(Principal("alice", group="team"), "file-1", "file")

    assert store.claim(Principal("bob", group="team"), "file-1", "file")
    assert not store.claim(ALICE, "file-1", "file")
    assert not store.claim(Principal("team"), "file-1", "file")
    assert not store.claim(Principal("alice", "other", "team"), "file-1", "file")


@pytest.mark.parametrize("upstream_id", ["", "x" * 301])
def test_an_id_of_no_use_is_nobodys(store: TokenStore, upstream_id: str) -> None:
    assert not store.claim(ALICE, upstream_id, "response")
    assert store.claimed_by(upstream_id) is None


def test_the_oldest_claims_of_an_owner_are_dropped_and_nobody_elses(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MAX_CLAIMS", 10)
    monkeypatch.setattr(tokens, "_EVERY", 5)
    store.claim(BOB, "bob-1", "file")
    for number in range(1, 50):
        store.claim(ALICE, f"alice-{number}", "file")

    claimed = [number for number in range(1, 50) if store.claimed_by(f"alice-{number}")]

    assert claimed == list(range(40, 50))
    assert store.claimed_by("bob-1") == BOB.owner


def test_the_audit_trail_says_who_asked_for_what(store: TokenStore, clock: Clock) -> None:
    token, secret = store.create(new(principal=Principal("alice", "coder", "team")))
    store.add_audit(token, "POST", "/v1/messages", 200, thread="thread-1", turn="turn-1")
    store.add_audit(token, "GET", "/v1/responses/{id}", 404)

    last, first = store.list_audit()

    assert (first.time, first.token, first.principal) == (clock.now, token.id, token.principal)
    assert (first.method, first.route, first.status) == ("POST", "/v1/messages", 200)
    assert (first.thread, first.turn) == ("thread-1", "turn-1")
    assert (last.route, last.status, last.thread) == ("/v1/responses/{id}", 404, "")
    assert secret not in repr(store.list_audit())


def test_the_audit_trail_keeps_the_last_rows(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_AUDIT", 20)
    monkeypatch.setattr(tokens, "_EVERY", 5)
    token, _ = store.create(new())
    for number in range(60):
        store.add_audit(token, "GET", "/v1/models", number)

    assert [row.status for row in store.list_audit(most=100)] == list(range(59, 39, -1))

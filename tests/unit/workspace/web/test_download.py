"""Large files arrive whole and verified, or not at all; what has arrived of one is kept for the next time."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.testing.loopback import RESET, Loopback, Route, Step, answer, redirect
from promptuary.workspace.access import Access
from promptuary.workspace.web import download as module
from promptuary.workspace.web.download import ExpectedFile, download, read_json

CONTENT = bytes(range(256)) * 400
HASH = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob 102400\0" + CONTENT, usedforsecurity=False).hexdigest()
WHOLE = ExpectedFile(len(CONTENT), HASH)
OK = f"HTTP/1.1 200 OK\r\nContent-Length: {len(CONTENT)}\r\n\r\n".encode()
POLICY = Access(hosts=frozenset({"127.0.0.1", "models.test"}), fetch_timeout=5.0, max_page_bytes=10**6)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def resumable(server: Loopback) -> Route:
    """Return a route that answers the range that is asked for."""

    def steps() -> Sequence[Step]:
        asked = next((line for line in server.requests[-1].split("\r\n") if line.startswith("Range: ")), "")
        if not asked:
            return [OK + CONTENT]
        start = int(asked.removeprefix("Range: bytes=").removesuffix("-"))
        return [ranged(start)]

    return steps


def ranged(start: int, total: int = len(CONTENT)) -> bytes:
    headers = {"Content-Range": f"bytes {start}-{len(CONTENT) - 1}/{total}"}
    return answer(CONTENT[start:], "application/octet-stream", status=206, headers=headers)


def in_turn(*routes: Sequence[Step]) -> Callable[[], Sequence[Step]]:
    waiting = iter(routes)
    return lambda: next(waiting)


def fetched(server: Loopback, path: Path, route: Route, expected: ExpectedFile = WHOLE) -> str:
    server.routes["/model"] = route
    return download(server.url("/model"), path, expected, POLICY)


@pytest.mark.parametrize(
    "expected", [WHOLE, ExpectedFile(len(CONTENT)), ExpectedFile(len(CONTENT), git_blob=BLOB)], ids=["sha", "no", "git"]
)
def test_a_file_arrives_whole(server: Loopback, tmp_path: Path, expected: ExpectedFile) -> None:
    assert fetched(server, tmp_path / "model", OK + CONTENT, expected) == HASH
    assert (tmp_path / "model").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_empty_file_arrives_too(server: Loopback, tmp_path: Path) -> None:
    fetched(server, tmp_path / "model", answer(b""), ExpectedFile(0))

    assert (tmp_path / "model").read_bytes() == b""


@pytest.mark.parametrize(
    "expected",
    [ExpectedFile(len(CONTENT), "0" * 64), ExpectedFile(len(CONTENT), git_blob="0" * 40)],
    ids=["sha256", "git"],
)
def test_another_file_than_the_expected_one_is_deleted(
    server: Loopback, tmp_path: Path, expected: ExpectedFile
) -> None:
    with pytest.raises(SourceError, match="is not the file that was expected"):
        fetched(server, tmp_path / "model", OK + CONTENT, expected)

    assert list(tmp_path.iterdir()) == []


def test_a_broken_connection_is_taken_up_where_it_broke(server: Loopback, tmp_path: Path) -> None:
    broken: list[Step] = [OK + CONTENT[:70_000], 0.2, RESET]
    assert fetched(server, tmp_path / "model", in_turn(broken, [ranged(70_000)])) == HASH
    assert "Range: bytes=70000-" in server.requests[1]


def test_what_was_stopped_continues_in_another_call(server: Loopback, tmp_path: Path) -> None:
    server.routes["/model"] = resumable(server)

    def stop(done: int) -> None:
        if done > 50_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(server.url("/model"), tmp_path / "model", WHOLE, POLICY, progress=stop)
    had = (tmp_path / "model.part").stat().st_size
    assert 0 < had < len(CONTENT)
    assert not (tmp_path / "model").exists()
    seen: list[int] = []

    assert download(server.url("/model"), tmp_path / "model", WHOLE, POLICY, progress=seen.append) == HASH
    assert f"Range: bytes={had}-" in server.requests[-1]
    assert (seen[0], seen[-1]) == (had, len(CONTENT))


def test_a_file_that_had_arrived_before_a_kill_is_only_verified(server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "model.part").write_bytes(CONTENT)

    assert fetched(server, tmp_path / "model", b"") == HASH
    assert server.accepted == 0


@pytest.mark.parametrize("left", [b"x" * 200_000, CONTENT[:10]], ids=["too much", "a beginning"])
def test_a_server_that_knows_no_ranges_sends_all_again(server: Loopback, tmp_path: Path, left: bytes) -> None:
    (tmp_path / "model.part").write_bytes(left)

    assert fetched(server, tmp_path / "model", OK + CONTENT) == HASH


@pytest.mark.parametrize(
    "wrong",
    [ranged(11), ranged(10, total=5), answer(b"", status=206), answer(b"", status=416)],
    ids=["other start", "other size", "no range", "none left"],
)
def test_a_server_that_continues_somewhere_else_is_asked_for_all(
    server: Loopback, tmp_path: Path, wrong: bytes
) -> None:
    (tmp_path / "model.part").write_bytes(CONTENT[:10])

    assert fetched(server, tmp_path / "model", in_turn([wrong], [OK + CONTENT])) == HASH
    assert ["Range" in request for request in server.requests] == [True, False]


def test_a_damaged_beginning_is_noticed_at_the_end(server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "model.part").write_bytes(b"?" * 10)
    with pytest.raises(SourceError, match="its hash is another"):
        fetched(server, tmp_path / "model", resumable(server))

    assert fetched(server, tmp_path / "model", resumable(server)) == HASH


def test_a_server_that_never_gets_on_is_given_up(server: Loopback, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="closed the connection early") as caught:
        fetched(server, tmp_path / "model", lambda: [OK, RESET])

    assert caught.value.code is Code.FETCH_FAILED
    assert server.accepted == 4


def test_a_server_that_stalls_is_given_up(server: Loopback, tmp_path: Path) -> None:
    server.routes["/model"] = lambda: [OK + CONTENT[:10], 60.0]
    policy = replace(POLICY, fetch_timeout=0.1)

    with pytest.raises(SourceError, match=r"did not answer within 0\.1 seconds"):
        download(server.url("/model"), tmp_path / "model", WHOLE, policy)
    assert (tmp_path / "model.part").read_bytes() == CONTENT[:10]


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (403, 1), (503, 4), (429, 4)])
def test_what_may_pass_is_tried_again_and_what_is_not_there_is_not(
    server: Loopback, tmp_path: Path, status: int, asked: int
) -> None:
    with pytest.raises(SourceError, match=f"HTTP status {status}"):
        fetched(server, tmp_path / "model", answer("no", status=status))

    assert server.accepted == asked


def test_more_than_was_expected_is_not_stored(server: Loopback, tmp_path: Path) -> None:
    endless = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + CONTENT * 3
    with pytest.raises(SourceError) as caught:
        fetched(server, tmp_path / "model", endless)
    assert caught.value.code is Code.RESPONSE_TOO_LARGE
    assert (tmp_path / "model.part").stat().st_size <= len(CONTENT)
    with pytest.raises(SourceError, match="more than 1,000,000 bytes"):
        fetched(server, tmp_path / "other", OK, ExpectedFile(10**7))


def test_redirects_are_followed_and_keep_the_range(server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "model.part").write_bytes(CONTENT[:99])
    server.routes["/elsewhere"] = resumable(server)

    assert fetched(server, tmp_path / "model", redirect("/elsewhere")) == HASH
    assert "Range: bytes=99-" in server.requests[1]


@pytest.mark.parametrize("location", ["http://10.0.0.1/model", "http://169.254.169.254/", "http://localhost/x"])
def test_a_redirect_into_a_private_network_is_refused(server: Loopback, tmp_path: Path, location: str) -> None:
    with pytest.raises(SourceError) as caught:
        fetched(server, tmp_path / "model", redirect(location))

    assert caught.value.code is Code.BLOCKED_ADDRESS


def test_a_redirect_to_plain_http_elsewhere_is_refused(server: Loopback, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="use https"):
        fetched(server, tmp_path / "model", redirect("http://8.8.8.8/model"))


def test_plain_http_is_for_this_machine_and_for_hosts_that_were_allowed(server: Loopback, tmp_path: Path) -> None:
    server.routes["/model"] = OK + CONTENT
    allowed = Access(
        hosts=frozenset({"models.test", f"models.test:{server.port}"}), fetch_timeout=5.0, max_page_bytes=10**6
    )
    assert download(server.url("/model", "models.test"), tmp_path / "a", WHOLE, allowed, resolve=here) == HASH

    with pytest.raises(SourceError, match="use https"):
        download("http://8.8.8.8/model", tmp_path / "b", WHOLE, POLICY)
    with pytest.raises(SourceError, match="use https"):
        read_json("http://8.8.8.8/list", POLICY)
    with pytest.raises(SourceError, match="is not on the public internet"):
        download(server.url("/model"), tmp_path / "b", WHOLE, Access(fetch_timeout=5.0, ports=frozenset({server.port})))


def test_a_link_in_the_place_of_the_partial_file_is_not_followed(server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("mine")
    (tmp_path / "model.part").symlink_to(tmp_path / "own")

    with pytest.raises(OSError, match="symbolic links"):
        fetched(server, tmp_path / "model", OK + CONTENT)
    assert (tmp_path / "own").read_text() == "mine"


def test_a_compressed_answer_is_refused(server: Loopback, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        fetched(server, tmp_path / "model", answer(b"x", headers={"Content-Encoding": "gzip"}))

    assert caught.value.code is Code.UNSUPPORTED_TYPE


def test_json_is_read_and_anything_else_is_an_error(server: Loopback) -> None:
    server.routes["/list"] = redirect("/there")
    server.routes["/there"] = answer('{"a": [1]}', "application/json")
    assert read_json(server.url("/list"), POLICY) == {"a": [1]}
    for wrong in ("{", "[" * 100_000, ""):
        server.routes["/there"] = answer(wrong, "application/json")
        with pytest.raises(SourceError, match="does not answer with JSON"):
            read_json(server.url("/list"), POLICY)

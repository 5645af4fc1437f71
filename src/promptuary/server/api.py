"""The API: calls methods of ``Promptuary`` for the principal of a token, as the table of ``promptuary.api`` says.

A request is read into the parameters of its method, and the value that it returns is the answer. Errors are problems
as RFC 9457 has them. Runs and events are streams. Who may ask what was decided before (``guard``).
"""

import base64
import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from promptuary._version import __version__
from promptuary.api.endpoints import PREFIX
from promptuary.api.openapi import document
from promptuary.api.operations import MAX_PAGE, Operation, encode, operations, to_builtins
from promptuary.api.problems import ABSENT, CONTENT_TYPE, Problem, plain_problem, problem_of
from promptuary.api.values import OfferedTool, ServerStatus, TurnKey
from promptuary.base import concurrency
from promptuary.base.errors import ConfigError, ConflictError, PromptuaryError
from promptuary.engine import Promptuary
from promptuary.memory.values import Note
from promptuary.search.values import IndexStatus, SearchQuery, SyncReport
from promptuary.server.asgi import Receive, Scope, Send, read_body, send_answer, until_gone, values
from promptuary.server.errors import NOT_FOUND, Refusal
from promptuary.server.events import stream
from promptuary.server.once import MAX_KEY, Once, StoredAnswer
from promptuary.server.runs import Events, Runs
from promptuary.server.tokens import Token, TokenStore
from promptuary.server.workspaces import Workspaces
from promptuary.threads.prepared import Turn

logger = logging.getLogger(__name__)

_MAX_BODY: Final = 32 << 20
_JSON: Final = b"application/json"
_MAX_ROWS: Final = 10_000
"""How many rows of the ledger are read for the pages of an audit."""
_MAX_NAMED: Final = 16
"""How many elements a cursor names."""
_MAY_BE_ABSENT: Final = frozenset({"memory.get", "experiences.get"})
"""Methods that return ``None`` for what does not exist; over HTTP that is not found."""


class _Call(Struct, frozen=True):
    """A request that was read: what is called, with which arguments, and by whom."""

    operation: Operation
    arguments: dict[str, Any]
    token: Token
    scope: Scope
    body: bytes

    @property
    def workspace(self) -> str:
        """The name of its workspace."""
        name: str = self.scope["promptuary.request"].workspace
        return name

    def header(self, name: bytes) -> list[bytes]:
        return values(self.scope["headers"], name)


class Api:
    """Answers the requests of the API."""

    def __init__(self, workspaces: Workspaces, store: TokenStore, runs: Runs) -> None:
        self._workspaces, self._once = workspaces, Once(store)
        self._runs = runs
        self._document = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        route = scope["promptuary.request"].match.route
        if route.path == f"{PREFIX}/openapi.json":
            self._document = self._document or await concurrency.run(document)
            await send_answer(send, 200, self._document)
            return
        try:
            await self._serve(scope, receive, send)
        except PromptuaryError as error:  # before there was an answer, or in the middle of a stream, which ends
            problem = problem_of(error)
            raise Refusal(problem.status, problem.detail, code=problem.code) from error

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive, most=_MAX_BODY)
        call = await concurrency.run(lambda: _read_call(scope, body))
        if call.operation.endpoint.form == "value":
            answer = await self._answer_once(call)
            more = [*answer.headers, (b"cache-control", b"private, no-cache")]
            await send_answer(send, answer.status, answer.body, answer.content_type, more)
            return
        if call.header(b"idempotency-key"):
            raise Refusal(400, "a stream cannot be sent again: leave out Idempotency-Key", code="BAD_ARGUMENT")
        async with self._workspaces.of(call.token, call.workspace) as workspace:
            if call.operation.endpoint.form == "events":
                last = call.header(b"last-event-id")
                after = last[0].decode("latin-1") if last else str(call.arguments["after"])
                await until_gone(receive, stream(workspace, after, send))
            else:
                await self._runs.answer(workspace, call.token, call.arguments, receive, Events(send))

    async def shutdown(self) -> None:
        """Nothing goes on after the requests, which the server has ended by now."""

    async def _answer_once(self, call: _Call) -> StoredAnswer:
        """Return the answer to a request, which is carried out once for each Idempotency-Key."""
        endpoint = call.operation.endpoint
        keys = call.header(b"idempotency-key")
        if not keys or endpoint.method == "GET":
            return await self._answer(call)
        key = keys[0].decode("latin-1")
        if len(keys) > 1 or not 0 < len(key) <= MAX_KEY:
            raise Refusal(400, f"an Idempotency-Key has 1 to {MAX_KEY} characters", code="BAD_ARGUMENT")
        parts = call.scope["promptuary.request"].match.parts
        asked = (encode(parts), call.scope["query_string"], *call.header(b"if-match"), b"", call.body)
        route = f"{endpoint.method} {call.workspace} {endpoint.address}"
        return await self._once.answer(call.token, route, key, b"\0".join(asked), lambda: self._answer(call))

    async def _answer(self, call: _Call) -> StoredAnswer:
        root = str(self._workspaces.folders[call.workspace])
        try:
            async with self._workspaces.of(call.token, call.workspace) as workspace:
                value = await self._carry_out(call, workspace)
        except PromptuaryError as error:
            problem = problem_of(error)
            # A remote client does not learn where on this machine the workspace is.
            return _problem(replace(problem, detail=problem.detail.replace(root, f"/{call.workspace}")))
        if isinstance(value, Turn):
            request = call.scope["promptuary.request"]
            request.thread, request.turn = value.thread, value.id
        if value is None and call.operation.endpoint.call in _MAY_BE_ABSENT:
            return _problem(plain_problem(404, NOT_FOUND, ABSENT))
        try:
            return await concurrency.run(lambda: _build_answer(call, value, root))
        except PromptuaryError as error:  # a cursor that is none
            return _problem(problem_of(error))

    async def _carry_out(self, call: _Call, workspace: Promptuary) -> Any:
        """Return what the method of an operation returns."""
        operation, token, given = call.operation, call.token, dict(call.arguments)
        if operation.endpoint.page is not None:
            del given["limit"], given["cursor"]
        match operation.endpoint.call:
            case "status":
                return await _status(call, workspace)
            case "answer_call":
                self._runs.answer_call(token, given["run"], given["call"], given["answer"])
                return None
            case "threads.tools":
                return [OfferedTool(tool.spec, tool.writes) for tool in await workspace.threads.tools(**given)]
            case "threads.preview":
                given["tools"] = (await self._runs.tools(workspace, token, given))(lambda *_: None)
            case "threads.rerun" if given["model"]:
                await concurrency.run(lambda: self._runs.begin_request(workspace, token, given["model"]))
                rerun = await workspace.threads.rerun(**given)
                await concurrency.run(lambda: self._runs.count_rerun(token, rerun))
                return rerun
            case _:
                await concurrency.run(lambda: _fit_arguments(call, given, workspace.path))
        if "{turn}" in operation.endpoint.path:
            given["turn"] = await _find_turn(workspace, TurnKey(given.pop("thread"), given["turn"]))
        elif isinstance(given.get("turn"), TurnKey):
            given["turn"] = await _find_turn(workspace, given["turn"])
        noun: Any = getattr(workspace, operation.noun) if operation.noun else workspace
        return await getattr(noun, operation.name)(**given)


def _fit_arguments(call: _Call, given: dict[str, Any], root: Path) -> None:
    """Change or refuse arguments that a method takes and a server does not."""
    if call.header(b"if-match") and not call.operation.endpoint.needs_match:
        raise Refusal(400, "If-Match is only for PATCH of a note: leave it out", code="BAD_ARGUMENT")
    match call.operation.endpoint.call:
        case "threads.audit":
            given["limit"] = _MAX_ROWS
        case "search.find" if isinstance(given["query"], SearchQuery):
            given["query"] = replace(given["query"], limit=min(given["query"].limit, MAX_PAGE))
        case "search.index":
            _check_paths(call.token, given["paths"], root)
        case "memory.edit_proposal" if len(given) == 1:
            raise ConfigError("name at least one field to change")
        case "memory.write" if call.operation.endpoint.needs_match:
            given["if_rev"] = _matching(call.header(b"if-match"))
        case _:
            pass


def _read_call(scope: Scope, body: bytes) -> _Call:
    """Return what a request asks for. Raises ``Refusal`` if it does not fit. Blocks, since it may be long."""
    match = scope["promptuary.request"].match
    operation = operations()[f"{match.route.method} {match.route.path}"]
    try:
        arguments = _read_arguments(operation, match.parts, scope, body)
    except (ValueError, RecursionError) as error:  # also those of msgspec
        raise Refusal(400, f"the request does not fit: {error}", code="BAD_ARGUMENT") from error
    return _Call(operation, arguments, scope["promptuary.token"], scope, body)


def _read_arguments(operation: Operation, parts: Mapping[str, str], scope: Scope, body: bytes) -> dict[str, Any]:
    """Return the parameters in the address and the body of a request; those that were left out are not in it."""
    many = operation.many
    found: dict[str, Any] = {name: unquote(value, errors="strict") for name, value in parts.items()}
    query = scope["query_string"].decode("ascii")
    for name, value in parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"):
        if name in parts:
            raise ValueError(f"{name} is in the path already")
        if name in many:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise ValueError(f"{name} is given twice")
        else:
            found[name] = None if not value and name in operation.nullable else value
    address = msgspec.convert(found, operation.address, strict=False)
    sent: Struct | None = None
    if operation.endpoint.method in {"POST", "PATCH"}:
        sent = msgspec.json.decode(body or b"{}", type=operation.body)
    elif body:
        raise ValueError("this request has no body")
    both = {**asdict(address), **(asdict(sent) if sent is not None else {})}
    return {name: value for name, value in both.items() if value is not UNSET}


async def _find_turn(workspace: Promptuary, key: TurnKey) -> Turn:
    """Return the turn that a request names, as the method takes it."""
    found = await workspace.threads.pending(thread=key.thread, number=key.number)
    if found is None:
        turns = await workspace.threads.turns(thread=key.thread)
        status = next((turn.status for turn in turns if turn.number == key.number), None)
        became = f"is {status} already" if status else "is not in the ledger"
        raise ConflictError(f"turn {key.number} of thread {key.thread!r} {became}; prepare a new one")
    return found


def _matching(given: Sequence[bytes]) -> str | None:
    """Return the revision that If-Match names; ``None`` if any may be changed."""
    if not given:
        reason = "send the ETag of the note that you have read in If-Match, or * to change it whatever it is"
        raise Refusal(428, reason, code="MATCH_NEEDED")
    named = given[0].decode("latin-1").strip()
    if named == "*":
        return None
    if len(given) > 1 or len(named) < 2 or named[0] != '"' or named[-1] != '"':
        raise Refusal(400, 'If-Match takes one ETag in quotes, such as "4f1c…", or *', code="BAD_ARGUMENT")
    return named[1:-1]


async def _status(call: _Call, workspace: Promptuary) -> ServerStatus:
    return ServerStatus(
        version=__version__,
        workspace=call.workspace,
        principal=call.token.principal,
        scopes=tuple(sorted(call.token.scopes)),
        window=(await workspace.measure("")).spend.window,
        model=workspace.settings.answer_model or "",
    )


def _check_paths(token: Token, paths: str | Sequence[str], root: Path) -> None:
    """Raise ``ConfigError`` unless all of ``paths`` are in the workspace, and the token may read all of it."""
    named = [paths] if isinstance(paths, str) else paths
    if named and token.kinds is not None:
        raise ConfigError("this token may not choose what is indexed; without paths, the index is brought up to date")
    for path in named:
        is_plain = (
            not path.startswith(("/", "~")) and ".." not in path.replace("\\", "/").split("/") and "\0" not in path
        )
        if not is_plain or not Path(os.path.realpath(root / path)).is_relative_to(root):  # a link may lead elsewhere
            raise ConfigError("over a server, only folders of its workspace can be indexed: name one relative to it")


def _build_answer(call: _Call, value: Any, root: str) -> StoredAnswer:
    """Return the answer with a value. Blocks, since it may be long."""
    endpoint, headers = call.operation.endpoint, list[tuple[bytes, bytes]]()
    if endpoint.page is not None:
        value, following = _page(endpoint.page, value, call.arguments["limit"], call.arguments["cursor"])
        if following:
            headers.append((b"link", f'<{_next_address(call.scope, following)}>; rel="next"'.encode()))
    if isinstance(value, Note):
        etag = f'"{value.header.rev}"'.encode()
        headers.append((b"etag", etag))
        if endpoint.method == "GET" and etag in call.header(b"if-none-match"):
            return StoredAnswer(304, b"", _JSON, headers)
    if call.operation.noun == "search":
        value = _without_root(to_builtins(_for_token(call.token, value, root)), root, call.workspace)
    if isinstance(value, Turn):
        # What the value computes, and every client but ours would have to.
        value = {**asdict(value), "messages": value.messages}
    return StoredAnswer(200, encode(value), _JSON, headers)


def _problem(problem: Problem) -> StoredAnswer:
    current = problem.current
    headers = [(b"etag", f'"{current.header.rev}"'.encode())] if isinstance(current, Note) else []
    headers += [(b"retry-after", b"1")] if problem.status == 503 else []
    return StoredAnswer(problem.status, encode(problem), CONTENT_TYPE, headers)


def _page(field: str, value: Any, limit: int, cursor: str) -> tuple[Any, str]:
    """Return a part of a list after a cursor, and the cursor of the next part, if there is one.

    A cursor names the last elements that were answered, where they ended, and how long the list was: what is added,
    removed or moved meanwhile makes no other element come twice or not at all.
    """
    every: Sequence[Any] = getattr(value, field) if field else value
    start = _position(every, cursor) if cursor else 0
    part = every[start : start + limit]
    following = ""
    if (end := start + limit) < len(every):
        place = f"{end}.{len(every)}.{'.'.join(map(_name, part[-_MAX_NAMED:]))}"
        following = base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")
    return (replace(value, **{field: part}) if field else part), following


def _position(every: Sequence[Any], cursor: str) -> int:
    """Return where a list goes on after a cursor."""
    try:
        words = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii").split(".")
        end, length = (abs(int(word[:12])) for word in words[:2])
    except ValueError as error:  # also that of base64
        raise ConfigError("the cursor is not one of this list; begin without one") from error
    names = words[2:][:_MAX_NAMED]
    # Most lists have not changed in between; then they are where they were.
    if names and len(every) == length and 0 < end <= length and _name(every[end - 1]) == names[-1]:
        return end
    wanted = set(names)
    found = [number for number, one in enumerate(every) if _name(one) in wanted]
    if not found:  # all were removed, and as many before them as are missing now
        return max(0, end - max(0, length - len(every)))
    # One that was moved is far from the others.
    middle = found[len(found) // 2]
    return max(number for number in found if abs(number - middle) < _MAX_NAMED) + 1


def _name(element: Any) -> str:
    """Return what tells an element of a list from the others, as a short text."""
    named = getattr(element, "id", None)
    said = named.encode("utf-8", "surrogatepass") if isinstance(named, str) else encode(element)
    return hashlib.sha256(said).hexdigest()[:12]


def _next_address(scope: Scope, cursor: str) -> str:
    query = scope["query_string"].decode("ascii")
    kept = [part for part in query.split("&") if part and not part.startswith("cursor=")]
    return f"{scope['raw_path'].decode('ascii')}?{'&'.join([*kept, f'cursor={quote(cursor)}'])}"


def _for_token(token: Token, value: Any, root: str) -> Any:
    """Return what is said of the index without folders elsewhere, and without names for a token that sees some only."""
    match value:
        case IndexStatus():
            inside = [one for one in value.folders if one.path == root or one.path.startswith(f"{root}/")]
            if token.kinds is not None:
                return IndexStatus(embedder=value.embedder)
            return replace(value, folders=tuple(inside))
        case SyncReport() if token.kinds is not None:
            return replace(value, skipped={}, held=(), unparsed=(), cut_rules=())
        case _:
            return value


def _without_root(value: object, root: str, name: str) -> object:
    """Return the builtins of a value with paths of the workspace as if it were at ``/name``.

    A remote client does not learn where on this machine it is.
    """
    match value:
        case str() if value == root or value.startswith(f"{root}/"):
            return f"/{name}{value[len(root) :]}"
        case dict():
            # A text may hold anything, and is answered as it is.
            return {
                _without_root(key, root, name): one if key == "text" else _without_root(one, root, name)
                for key, one in value.items()
            }
        case list() | tuple():
            return [_without_root(one, root, name) for one in value]
        case _:
            return value

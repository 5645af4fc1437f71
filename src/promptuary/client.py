"""``Promptuary`` at a server: the same methods, which are sent over HTTP to ``promptuary serve``.

``Client`` takes the place of ``promptuary.Promptuary.open``, and ``BlockingClient`` that of ``promptuary.blocking``::

    async with Client("http://127.0.0.1:8766", token="pt_…") as p:
        turn = await p.threads.prepare("Review @diff", thread="review")

Each method is made from the table of the API (``promptuary.api``), has the signature of the method whose place it
takes, and returns and raises the same values. An editor, the clipboard and files to export to are those of this
machine. What needs the machine of the server, such as a backup, says so.
"""

import asyncio
import inspect
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final, NoReturn, Self
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from promptuary import blocking, engine
from promptuary.api.endpoints import ENDPOINTS, PREFIX
from promptuary.api.operations import MAX_PAGE, Operation, decode, encode, operations
from promptuary.api.problems import ABSENT, Problem, error_of
from promptuary.api.values import CallAnswer, CallWaits, OfferedTool, RunBegun, ServerStatus, TurnKey, event_name
from promptuary.base import concurrency
from promptuary.base.errors import (
    ConfigError,
    NotReachedError,
    PromptuaryError,
    RelayError,
    RunFailedError,
    UnknownNoteError,
)
from promptuary.base.messages import ToolCall
from promptuary.base.principals import Principal
from promptuary.base.text import one_line
from promptuary.calls import AsyncCalls, BlockingCalls
from promptuary.config.settings import Settings
from promptuary.memory.note_file import as_bytes, as_text
from promptuary.memory.values import Note
from promptuary.models.render import render_message
from promptuary.threads.exchange import LARGEST
from promptuary.threads.prepared import Turn
from promptuary.threads.run_values import Confirm, OnEvent, RunEnded, RunEvent, RunResult, Tool
from promptuary.threads.tool_calls import Toolbox
from promptuary.workspace.disk.export_files import read_export, write_export
from promptuary.workspace.programs.clipboard import write_clipboard
from promptuary.workspace.programs.editor import edit_copy
from promptuary.workspace.web.connection import MAX_ANSWER, ServerConnection

__all__ = ["BlockingClient", "Client"]

_NOUNS: Final = ("threads", "search", "memory", "experiences", "sessions", "models", "prompts")
_CALLBACKS: Final = frozenset({"progress", "on_event", "confirm"})
_RUN: Final = f"POST {PREFIX}/runs"


class _Remote:
    """Sends the calls of a client to its server. Blocks."""

    def __init__(self, url: str, token: str, workspace: str, timeout: float, allow_hosts: Iterable[str]) -> None:
        if not token.startswith("pt_") or not token.isascii() or not token.isprintable():
            raise ConfigError(
                "a token of the server is needed, which begins with pt_: promptuary token create makes one"
            )
        self.connection = ServerConnection(url, token, timeout=timeout, allow_hosts=allow_hosts)
        self._prefix = f"/w/{_part(workspace)}" if workspace else ""

    def call(self, name: str, given: Mapping[str, Any]) -> Any:
        """Return what a method returns."""
        here = _HERE.get(name)
        return self.ask(name, given) if here is None else here(self, dict(given))

    def ask(self, name: str, given: Mapping[str, Any]) -> Any:
        """Return what a method returns at the server."""
        operation = _choose(name, given)
        if operation.endpoint.page is None:
            return self.send(operation, given)[0]
        return self._all_pages(operation, given)

    def send(self, operation: Operation, given: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the answer to one request, and the address of the next page, if there is one."""
        path, body, headers = _request(operation, given)
        return self._ask(operation, f"{self._prefix}{path}", body, headers)

    def _ask(
        self, operation: Operation, path: str, body: bytes | None, headers: Sequence[tuple[str, str]]
    ) -> tuple[Any, str]:
        method = operation.endpoint.method
        if method != "GET":
            # The server may have got a request whose answer is lost: sent again, it is carried out once.
            headers = [*headers, ("Idempotency-Key", secrets.token_hex(16))]
        try:
            answer = self.connection.request(method, path, headers, body)
        except NotReachedError:
            raise
        except RelayError:
            answer = self.connection.request(method, path, headers, body)
        if answer.status != 200:
            problem = read_problem(answer.status, answer.body)
            if problem.code == ABSENT:
                return None, ""
            raise _raised(problem)
        link = answer.headers.get("link", "")
        following = link[1 : link.find(">")].removeprefix(self.connection.base) if 'rel="next"' in link else ""
        with _understood():
            return operation.decoder.decode(answer.body), following

    def _all_pages(self, operation: Operation, given: Mapping[str, Any]) -> Any:
        """Return a list as a whole, or as many elements as were asked for."""
        wanted = given.get("limit", operation.default_limit)
        limit = MAX_PAGE if wanted is None else max(1, min(int(wanted), MAX_PAGE))
        value, following = self.send(operation, {**given, "limit": limit})
        field = operation.endpoint.page
        found = list(getattr(value, field) if field else value)
        while following and (wanted is None or len(found) < wanted):
            more, following = self._ask(operation, following, None, ())
            part = getattr(more, field) if field else more
            if not part:  # a server that leads on without end
                break
            found += part
        kept = found if wanted is None else found[: max(0, int(wanted))]
        if not field:
            return kept
        changed: dict[str, Any] = {field: kept}
        if hasattr(value, "more"):
            changed["more"] = value.more or bool(following) or len(found) > len(kept)
        return replace(value, **changed)

    def answer_call(self, run: str, call: str, answer: CallAnswer) -> None:
        """Answer a call of a run that waits."""
        self.ask("answer_call", {"run": run, "call": call, "answer": answer})

    def events(
        self, given: Mapping[str, Any], begun: Callable[[Callable[[], None]], None]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the events of a run, each with its name and its JSON; ``begun`` gets what ends it."""
        path, body, headers = _request(operations()[_RUN], given)
        with self.connection.stream("POST", f"{self._prefix}{path}", headers, body) as answer:
            if answer.status != 200:
                raise _raised(read_problem(answer.status, _beginning(answer.chunks)))
            begun(answer.close)
            yield from read_events(answer.chunks)


@contextmanager
def _understood() -> Iterator[None]:
    """Turn what cannot be read of an answer into the error of a server that is none of ours."""
    try:
        yield
    except (ValueError, RecursionError, KeyError, TypeError) as error:  # also those of msgspec
        raise RelayError(502, f"the server answered with something else: {one_line(str(error))[:200]}") from error


def _beginning(chunks: Iterable[bytes]) -> bytes:
    """Return the first megabyte of a body."""
    found = b""
    for chunk in chunks:
        found += chunk
        if len(found) > _MAX_PROBLEM:
            break
    return found


def read_problem(status: int, body: bytes) -> Problem:
    """Return the problem in an answer, whoever wrote it."""
    try:
        return msgspec.json.decode(body, type=Problem)
    except (ValueError, RecursionError):  # also those of msgspec
        return Problem("", status, f"the server answered with HTTP status {status}", f"HTTP_{status}")


def read_events(chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the events in a stream, each with its name and its data."""
    rest: list[bytes] = []
    for chunk in chunks:
        rest.append(chunk)
        if b"\n" not in chunk:  # joined only where an event may end
            if sum(map(len, rest)) > MAX_ANSWER:
                raise RelayError(502, f"the server sent an event of more than {MAX_ANSWER >> 20} MiB")
            continue
        *whole, last = b"".join(rest).split(b"\n\n")
        rest = [last]
        for event in whole:
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line and line[:1] != b":")
            if b"data" in fields:
                yield fields.get(b"event", b"message").decode(), fields[b"data"]


def _raised(problem: Problem) -> PromptuaryError:
    """Return the error of a problem, with the values that it carries."""
    error = error_of(problem)
    with _understood():
        if problem.current is not None:
            error.current = msgspec.convert(problem.current, Note)  # type: ignore[attr-defined]
        if isinstance(error, RunFailedError) and problem.result is not None:
            error.result = decode(msgspec.json.encode(problem.result), RunResult)
    return error


def _choose(name: str, given: Mapping[str, Any]) -> Operation:
    """Return the operation of a method; of two addresses, the one of which all parts are given."""
    found = [operations()[f"{one.method} {one.address}"] for one in ENDPOINTS if one.call == name]
    complete = [
        one for one in found if all(given.get(part.name) is not None for part in one.at("path")) or len(found) == 1
    ]
    return max(complete, key=lambda one: len(one.at("path")))


def _request(operation: Operation, given: Mapping[str, Any]) -> tuple[str, bytes | None, list[tuple[str, str]]]:
    """Return the path with its query, the body and the headers of a request."""
    sent = {name: _plain(value) for name, value in given.items() if value is not UNSET}
    headers: list[tuple[str, str]] = []
    if operation.endpoint.needs_match:
        revision = sent.pop("if_rev", None)
        headers.append(("If-Match", "*" if revision is None else f'"{revision}"'))
    elif sent.get("if_rev", UNSET) is None:
        del sent["if_rev"]
    turn = sent.get("turn")
    if isinstance(turn, TurnKey) and "{turn}" in operation.endpoint.path:
        sent |= {"thread": turn.thread, "turn": turn.number}
    known = {one.name for one in operation.parameters}
    for name in sorted(sent.keys() - known):
        _refuse_argument(operation, name, sent.pop(name))
    for name in operation.nullable & sent.keys():
        sent[name] = "" if sent[name] is None else sent[name]
    path = operation.endpoint.address
    for part in operation.at("path"):
        path = path.replace(f"{{{part.name}}}", _part(sent.pop(part.name)))
    if operation.endpoint.method in {"POST", "PATCH"}:
        return path, encode(sent), headers
    query = [(name, _text(one)) for name, value in sent.items() for one in _each(value) if one is not None]
    return f"{path}?{urlencode(query)}" if query else path, None, headers


def _part(given: object) -> str:
    """Return a name as a part of a path; one of dots alone would be a way up."""
    value = "" if given is None else str(given)
    if not value:
        raise ConfigError("a name must not be empty")
    encoded = quote(value.encode("utf-8", "surrogatepass"), safe="")
    return encoded.replace(".", "%2E") if not value.strip(".") else encoded


def _refuse_argument(operation: Operation, name: str, value: object) -> None:
    """Raise ``ConfigError`` for an argument that cannot be sent, unless it says nothing."""
    if name in _CALLBACKS or not value:
        return
    raise ConfigError(f"{name} cannot be used over a server, in {operation.endpoint.call}")


def _plain(value: Any) -> Any:
    """Return how an argument is sent."""
    match value:
        case Turn():
            return TurnKey(value.thread, value.number)
        case Path():
            raise ConfigError(
                "a server takes no path of this machine; give the text, or a path of its workspace as text"
            )
        case float() if not math.isfinite(value):
            raise ConfigError(f"{value} cannot be sent to a server")
        case str() | bytes() | None | bool() | int() | float() | msgspec.Struct():
            return value
        case Mapping():
            return {key: _plain(one) for key, one in value.items()}
        case _ if hasattr(value, "model_dump"):
            return value.model_dump()
        case Iterable():
            return [_plain(one) for one in value]
        case _:
            return value


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# What is done at this machine


def _export(remote: _Remote, given: dict[str, Any]) -> str:
    file, force = given.pop("file", None), given.pop("force", False)
    text: str = remote.ask("threads.export", given)
    if file is not None:
        write_export(file, text, force=force)
    return text


def _import(remote: _Remote, given: dict[str, Any]) -> Any:
    if isinstance(given["source"], Path):
        given["source"] = read_export(given["source"], LARGEST)
    return remote.ask("threads.import_", given)


def _edit(remote: _Remote, given: dict[str, Any]) -> Any:
    note: Note | None = remote.ask("memory.get", {"key": given["key"]})
    if note is None:
        remote.ask("memory.history", {"key": given["key"]})  # raises an error that suggests a similar name
        raise UnknownNoteError(f"the file of the note {given['key']} is gone; memory.undo brings it back")
    with edit_copy(as_bytes(note.body), note.header.path.rpartition("/")[2]) as data:
        if data == as_bytes(note.body):
            return note
        if not data.strip():
            raise PromptuaryError("the text was emptied, so nothing was changed; to remove a note, archive it")
        about = {"id": note.header.id, "if_rev": note.header.rev, "reason": given.get("reason", "")}
        return remote.ask("memory.write", {"content": as_text(data), **about})


_HERE: Final[Mapping[str, Callable[[_Remote, dict[str, Any]], Any]]] = {
    "render": lambda _, given: render_message(given["expansion"].messages[-1], given["provider"]),
    "copy": lambda _, given: write_clipboard(given["text"], Path.cwd()),
    "warm_up": lambda *_: None,
    "threads.preview": lambda remote, given: remote.ask("threads.preview", given | _offer(given.get("tools", ()))),
    "threads.export": _export,
    "threads.import_": _import,
    "memory.edit": _edit,
    # The server learns by itself, and whose notes in its folder are is decided there.
    "memory.learn_later": lambda *_: None,
    "memory.catch_up": lambda *_: (),
    "memory.unadopted": lambda *_: (),
}
"""Methods of which a part, or all, is done at this machine."""

# Runs

_EVENTS: Final[Mapping[str, Any]] = {event_name(one): one for one in (*RunEvent.__args__, RunBegun, CallWaits, Problem)}
_MAX_RESULT: Final = 10_000_000
"""Tokens that the result of a tool may have; the server shortens it to its window."""
_MAX_PROBLEM: Final = 1 << 20


class _RunReader:
    """What a run of the server says, as the methods of ``threads.run`` have it."""

    def __init__(self, remote: _Remote, given: Mapping[str, Any], tools: Sequence[Tool]) -> None:
        self._remote = remote
        self.tools = [tool for tool in tools if not isinstance(tool, _ServerTool)]
        self._given = {**given, **_offer(tools)}
        self._run = ""
        self._end: Callable[[], None] | None = None
        self._is_ended = False
        self.result: RunResult | None = None

    def __iter__(self) -> Iterator[RunEvent | CallWaits]:
        for name, data in self._remote.events(self._given, self._begin):
            if name not in _EVENTS:
                continue  # of a newer server
            with _understood():
                event = decode(data, _EVENTS[name])
            match event:
                case RunBegun(run):
                    self._run = run
                case Problem():
                    raise _raised(event)
                case _:
                    self.result = event.result if isinstance(event, RunEnded) else self.result
                    yield event

    def _begin(self, end: Callable[[], None]) -> None:
        self._end = end
        if self._is_ended:
            end()

    def close(self) -> None:
        """End the run, from any thread: whoever reads it gets an error."""
        self._is_ended = True
        if self._end is not None:
            self._end()

    def answer(self, call: ToolCall, answer: CallAnswer) -> None:
        self._remote.answer_call(self._run, call.id, answer)

    def ended(self) -> RunResult:
        """Return the result. Raises ``RelayError`` if the stream ended before it."""
        if self.result is None:
            raise RelayError(502, "the server ended the answer before it was complete")
        return self.result


class _ServerTool(Tool, frozen=True):
    """A tool of the server, in a list of tools for ``run``."""


def _offer(tools: Iterable[Tool]) -> dict[str, Any]:
    """Return how tools are sent: those of the server by name, those of this program with their description."""
    own = [OfferedTool(tool.spec, tool.writes) for tool in tools if not isinstance(tool, _ServerTool)]
    return {"tools": [tool.name for tool in tools if isinstance(tool, _ServerTool)], "client_tools": own}


def _no_call(_: Mapping[str, Any]) -> NoReturn:
    raise PromptuaryError("this tool belongs to the server, and is called in a run there")


def _server_tools(offered: Iterable[OfferedTool]) -> list[Tool]:
    return [_ServerTool(one.spec, _no_call, one.writes) for one in offered]


async def _run(
    self: Any,
    text: str,
    model: str | None = None,
    tools: Sequence[Tool] = (),
    *,
    on_event: OnEvent | None = None,
    confirm: Confirm | None = None,
    **given: Any,
) -> RunResult:
    reader = _RunReader(self._remote, _run_arguments(text, model, given), tools)
    loop, inbox = asyncio.get_running_loop(), asyncio.Queue[Any]()

    def read() -> None:
        try:
            for event in reader:
                loop.call_soon_threadsafe(inbox.put_nowait, event)
        finally:
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(inbox.put_nowait, None)

    reading = asyncio.ensure_future(concurrency.run(read))
    try:
        while (event := await inbox.get()) is not None:
            if isinstance(event, CallWaits):
                answer = await _answer_call(reader, event, confirm)
                await concurrency.run(lambda: reader.answer(event.call, answer))  # noqa: B023  (awaited here)
            elif on_event is not None:
                said = on_event(event)
                if inspect.isawaitable(said):
                    await said
        await reading
    except BaseException:
        reader.close()
        with suppress(PromptuaryError):
            await asyncio.shield(reading)
        raise
    return reader.ended()


async def _answer_call(reader: _RunReader, waits: CallWaits, confirm: Confirm | None) -> CallAnswer:
    if waits.asks == "consent":
        return CallAnswer(agreed=bool(confirm is not None and await _awaited(confirm(waits.call))))
    # As where the files are: consent, bounds, the time that a tool may take, and what the model is told of errors.
    ended = await Toolbox(reader.tools, confirm).call(waits.call, most=_MAX_RESULT)
    return CallAnswer(result=ended.result, is_error=ended.is_error)


def _answer_call_blocking(reader: _RunReader, waits: CallWaits, confirm: Confirm | None) -> CallAnswer:
    """Answer a call. ``confirm`` is called in this thread, so that it may ask at a terminal; a tool in another one."""
    writes = any(tool.writes for tool in reader.tools if tool.name == waits.call.name)
    agreed = (waits.asks == "consent" or writes) and confirm is not None and bool(confirm(waits.call))
    if waits.asks == "consent":
        return CallAnswer(agreed=agreed)
    given: Confirm | None = None if confirm is None else lambda _: agreed
    # On a loop in a thread of its own: one may be running in this thread.
    return concurrency.begin(lambda: asyncio.run(_answer_call(reader, waits, given))).result()


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _run_blocking(
    self: Any,
    text: str,
    model: str | None = None,
    tools: Sequence[Tool] = (),
    *,
    on_event: OnEvent | None = None,
    confirm: Confirm | None = None,
    **given: Any,
) -> RunResult:
    def work() -> RunResult:
        reader = _RunReader(self._remote, _run_arguments(text, model, given), tools)
        for event in reader:
            if isinstance(event, CallWaits):
                reader.answer(event.call, _answer_call_blocking(reader, event, confirm))
            elif on_event is not None:
                on_event(event)
        return reader.ended()

    return self._calls.run(work)  # type: ignore[no-any-return]


def _run_arguments(text: str, model: object, given: Mapping[str, Any]) -> dict[str, Any]:
    if model is not None and not isinstance(model, str):
        raise ConfigError("over a server, a model is named: the server has the models, not this program")
    return {"text": text, "model": model, **given}


# The classes


def _method(name: str, original: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    """Return the method that takes the place of ``original``."""
    signature = inspect.signature(original)

    def work(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        bound = signature.bind(self, *args, **kwargs)
        given = dict(list(bound.arguments.items())[1:])
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given |= given.pop(parameter.name, {})
        # What the address needs may have been left to the default of the method.
        for part, parameter in signature.parameters.items():
            if part == "thread" and parameter.default is not inspect.Parameter.empty:
                given.setdefault(part, parameter.default)
        return lambda: self._remote.call(name, given)

    if is_async:

        @wraps(original)
        async def remote(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await self._calls.run(work(self, args, kwargs))

        return remote

    @wraps(original)
    def remote_blocking(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._calls.run(work(self, args, kwargs))

    return remote_blocking


def _missing(name: str, original: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    """Return a method that says that ``original`` cannot be called over a server."""
    reason = f"{name} works only where the files are; run it at the server's machine"

    if is_async:

        @wraps(original)
        async def missing(*_: Any, **__: Any) -> NoReturn:
            raise PromptuaryError(reason)

        return missing

    @wraps(original)
    def missing_blocking(*_: Any, **__: Any) -> NoReturn:
        raise PromptuaryError(reason)

    return missing_blocking


def _methods(owner: type, noun: str, *, is_async: bool) -> dict[str, Any]:
    """Return the methods that take the place of those of ``owner``."""
    calls = {one.call for one in ENDPOINTS}
    found: dict[str, Any] = {}
    for name, original in vars(owner).items():
        if name.startswith("_") or not inspect.isfunction(original) or name in {"close", "needs_compaction"}:
            continue
        full = f"{noun}.{name}" if noun else name
        build = _method if full in calls or full in _HERE else _missing
        found[name] = build(full, original, is_async=is_async)
    return found


def _remote_noun(owner: type, noun: str, *, is_async: bool) -> type:
    """Return the class of a noun whose methods are sent to a server."""

    def start(self: Any, remote: _Remote, calls: Any) -> None:
        self._remote, self._calls = remote, calls

    methods = _methods(owner, noun, is_async=is_async)
    if noun == "threads":
        methods["run"] = wraps(vars(owner)["run"])(_run if is_async else _run_blocking)
        methods["tools"] = _tools(methods["tools"], is_async=is_async)
    return type(f"Remote{owner.__name__}", (owner,), {**methods, "__init__": start, "__module__": __name__})


def _tools(ask: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    if is_async:

        @wraps(ask)
        async def tools(self: Any, **given: Any) -> Sequence[Tool]:
            return _server_tools(await ask(self, **given))

        return tools

    @wraps(ask)
    def tools_blocking(self: Any, **given: Any) -> Sequence[Tool]:
        return _server_tools(ask(self, **given))

    return tools_blocking


class _AtServer:
    """What both clients have besides the methods of ``Promptuary``."""

    _remote: _Remote
    _status: ServerStatus | None = None

    @property
    def path(self) -> Path:
        """A server does not say where its workspace is."""
        raise PromptuaryError("the path of a workspace is known only where its files are")

    @property
    def settings(self) -> Settings:
        """What the server tells of its settings: the answering model and the window. Asks it once, and blocks."""
        return Settings(answer_model=self._known_status.model, window=self._known_status.window)

    @property
    def principal(self) -> Principal:
        """Who acts: whom the token stands for. Asks the server once, and blocks."""
        return self._known_status.principal

    @property
    def _known_status(self) -> ServerStatus:
        if self._status is None:
            self._status = self._remote.ask("status", {})
        return self._status

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the person who runs the server are shown there."""
        return ()


class Client(_AtServer, engine.Promptuary):
    """A workspace at a server, for the principal of a token: ``Promptuary`` over HTTP.

    ``workspace`` names one if several are served. ``timeout`` is how many seconds an answer may take. Plain http is
    used for this machine only, unless ``allow_hosts`` names the host.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str,
        workspace: str = "",
        timeout: float = 120.0,
        allow_hosts: Iterable[str] = (),
    ) -> None:
        self._remote = _Remote(url, token, workspace, timeout, allow_hosts)
        self._calls = AsyncCalls()
        for noun in _NOUNS:
            setattr(self, noun, _ASYNC[noun](self._remote, self._calls))

    async def status(self) -> ServerStatus:
        """Return who the token stands for, and what is served."""
        status: ServerStatus = await self._calls.run(lambda: self._remote.ask("status", {}))
        return status

    async def close(self) -> None:
        """Close the connections."""
        await concurrency.run(self._remote.connection.close)

    async def __aenter__(self) -> Self:
        return self


class BlockingClient(_AtServer, blocking.Promptuary):
    """The same without ``async``."""

    def __init__(
        self,
        url: str,
        *,
        token: str,
        workspace: str = "",
        timeout: float = 120.0,
        allow_hosts: Iterable[str] = (),
    ) -> None:
        self._remote = _Remote(url, token, workspace, timeout, allow_hosts)
        self._calls = BlockingCalls()
        for noun in _NOUNS:
            setattr(self, noun, _BLOCKING[noun](self._remote, self._calls))

    def status(self) -> ServerStatus:
        """Return who the token stands for, and what is served."""
        status: ServerStatus = self._calls.run(lambda: self._remote.ask("status", {}))
        return status

    def close(self) -> None:
        """Close the connections."""
        self._remote.connection.close()


_ASYNC: Final = {
    noun: _remote_noun(getattr(engine, f"Async{noun.capitalize()}"), noun, is_async=True) for noun in _NOUNS
}
_BLOCKING: Final = {
    noun: _remote_noun(getattr(blocking, f"Blocking{noun.capitalize()}"), noun, is_async=False) for noun in _NOUNS
}
for _client, _owner in ((Client, engine.Promptuary), (BlockingClient, blocking.Promptuary)):
    for _name, _made in _methods(_owner, "", is_async=_client is Client).items():
        setattr(_client, _name, _made)

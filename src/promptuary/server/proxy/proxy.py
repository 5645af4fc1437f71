"""The proxy: takes a request of a chat client, adds what is known here, and brings it to a model service.

The client's list of messages is the conversation ("augment"), or a thread of ours is ("own"). A failure of ours never
fails a request: it goes on as the client sent it, with a warning in a header. What is counted and recorded of an answer
is done when the client has it, in tasks that ``shutdown`` waits for.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.errors import ConfigError, PromptuaryError, RelayError
from promptuary.base.messages import Message, message_cost
from promptuary.base.principals import Owner
from promptuary.engine import Promptuary
from promptuary.models.chat_model import ModelUsage
from promptuary.references.expansion import may_refer
from promptuary.server.asgi import Receive, Scope, Send, read_body, send_answer
from promptuary.server.clients import Clients
from promptuary.server.errors import NOT_FOUND, Protocol, Refusal
from promptuary.server.metrics import Metrics
from promptuary.server.proxy.call import Call
from promptuary.server.proxy.completions import COMPLETIONS
from promptuary.server.proxy.delivery import KEEP_ALIVE_SECONDS, Delivery, while_connected
from promptuary.server.proxy.known import Made, Recent
from promptuary.server.proxy.messages import MESSAGES
from promptuary.server.proxy.own import prepare_own
from promptuary.server.proxy.plain import PLAIN
from promptuary.server.proxy.responses import RESPONSES
from promptuary.server.proxy.upstreams import (
    Headers,
    Upstream,
    answer_headers,
    find_upstream,
    find_usual,
    list_models,
    no_model,
    plain_hosts,
    request_headers,
)
from promptuary.server.proxy.wire import (
    Dialect,
    Reply,
    Request,
    WireError,
    encoded,
    find_conversation,
    put_together,
    string,
    take_apart,
    value_of,
    with_model,
)
from promptuary.server.tokens import Limits, TokenStore
from promptuary.server.workspaces import Workspaces
from promptuary.threads.chain import links, without_instructions
from promptuary.threads.given import RecordedTurn, ReferenceKinds
from promptuary.threads.prepared import Turn
from promptuary.tokens.counting import Counter
from promptuary.workspace.web.relay import Answer, Relay

logger = logging.getLogger(__name__)

DIALECTS: Final[Mapping[str, Dialect]] = {
    "/v1/messages": MESSAGES,
    "/v1/messages/count_tokens": MESSAGES,
    "/v1/responses": RESPONSES,
    "/v1/chat/completions": COMPLETIONS,
}
_SERVER_KEY_PATHS: Final = frozenset({"/v1/embeddings", "/v1/completions"})
"""What else may be asked with the server's key."""
_RECALL_SECONDS: Final = 0.2
_RECORD_SECONDS: Final = 30.0
"""How long references may take to be read, before the request goes without them."""
_QUICK_SECONDS: Final = 3.0
"""How long a request that refers to nothing waits for a database that others have locked."""
_FINISH_SECONDS: Final = 10.0
"""How long the server waits, when it stops, for what is still being recorded."""
_ORDER_SECONDS: Final = 0.25
"""How long a request waits for the answer before it to be recorded."""
_BY_CHAIN: Final = "chat-"
"""How the names of threads begin that only their messages identify."""
_MAX_BACKGROUND: Final = 256
_MAX_KNOWN: Final = 2000
_MAX_REMEMBERED: Final = 64 * 1024 * 1024
"""Characters of conversations that are continued upstream."""
_MAX_IDS: Final = 200
_MAX_NAMED: Final = 5000
"""The most things of earlier answers that a request may name: some clients name all of them."""
_BIG: Final = 256 * 1024
"""A body of more bytes is parsed in a thread, so that others need not wait for it."""
_CLIENTS_OWN: Final = frozenset({"tools", "system", "history", "message"})
"""Parts of a receipt that the client sent."""
_WORDS: Final = frozenset(
    {
        *("files", "batches", "messages", "content", "results", "cancel", "responses", "input_items", "chat", "items"),
        *("completions", "conversations", "vector_stores", "file_batches", "search", "uploads", "parts", "complete"),
        *("images", "generations", "edits", "variations", "audio", "speech", "transcriptions", "translations", "jobs"),
        *("moderations", "embeddings", "fine_tuning", "checkpoints", "events", "evals", "runs", "assistants"),
        *("threads", "steps", "submit_tool_outputs", "videos", "containers", "realtime", "sessions", "models"),
        *("client_secrets", "calls", "skills", "versions", "compact", "input_tokens", "count_tokens", "permissions"),
    }
)
"""The words of a provider's paths. Every other part of a path is an id, and must be the principal's own."""
_ID_FIELDS: Final = ("input_file_id", "file_id", "file_ids", "training_file", "previous_response_id", "conversation")


_Place = tuple[Owner, str, str]
"""Whose thread it is, in which workspace, and its name."""


class _Prepared(Struct):
    """A request as it is sent, and what is recorded of it when the answer is there."""

    body: bytes
    thread: str = ""
    turn: Turn | None = None
    messages: Sequence[Message] = ()
    is_by_chain: bool = False
    """Whether only its messages say which thread it belongs to."""


class Proxy:
    """Answers the requests of chat clients.

    ``listening`` are the addresses of the server itself, which is no model service. ``keep_alive`` is how many seconds
    a client waits for a sign of life.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        store: TokenStore,
        metrics: Metrics,
        clients: Clients,
        *,
        listening: Sequence[tuple[str, int]] = (),
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._workspaces, self._store, self._metrics, self._keep_alive = workspaces, store, metrics, keep_alive
        self._clients = clients
        self._listening = listening
        self._relays: dict[frozenset[str], Relay] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._made: Recent[Made] = Recent(_MAX_KNOWN, _MAX_REMEMBERED)
        self._with_tools: Recent[str] = Recent(_MAX_KNOWN)
        self._added: Recent[Mapping[int, tuple[int, str]]] = Recent(_MAX_KNOWN)
        self._tool_costs: Recent[int] = Recent(_MAX_KNOWN)
        self._ends: Recent[str] = Recent(_MAX_KNOWN)
        """The threads that end with an answer, which may not be stored yet when the client goes on."""
        self._finishing: dict[_Place, asyncio.Task[None]] = {}
        metrics.gauges["unfinished_records"] = lambda: len(self._background)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the guard has admitted."""
        about = scope["promptuary.request"]
        call = Call(
            scope, receive, send, scope["promptuary.token"], about.match, about.workspace, about.own_key,
            dict(reversed(scope["headers"])), {},
        )  # fmt: skip
        path = call.match.route.path
        if path.startswith("/v1/models") and not (call.own_key and not call.token.models):
            await self._send_models(call)
        elif path in DIALECTS and scope["method"] == "POST":
            await self._converse(call, DIALECTS[path])
        else:
            await self._pass_through(call)

    async def shutdown(self) -> None:
        """Finish what is being recorded, and close the connections to services."""
        if self._background:
            await asyncio.wait(self._background, timeout=_FINISH_SECONDS)
        for task in [*self._background]:
            task.cancel()
        for relay in self._relays.values():
            await relay.aclose()

    # Models

    async def _send_models(self, call: Call) -> None:
        async with self._workspaces.of(call.token, call.workspace) as promptuary:
            names = list_models(promptuary.settings, call.token)
        if (asked := call.match.parts.get("model")) is not None:
            if asked not in names:
                raise no_model(asked, call.token)
            await send_answer(call.send, 200, encoded(_model(asked)))
            return
        page: dict[str, object] = {"models": []}  # which Codex looks for, in a form of its own
        page |= {"has_more": False, "first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        await send_answer(call.send, 200, encoded({"object": "list", "data": [_model(name) for name in names], **page}))

    # Conversations

    async def _converse(self, call: Call, dialect: Dialect) -> None:
        body = await read_body(call.scope, call.receive)
        call.is_big = len(body) > _BIG
        asked = await _parsed(dialect, body)
        async with self._workspaces.of(call.token, call.workspace) as promptuary:
            upstream = find_upstream(promptuary.settings, call.token, asked.model, call.protocol, own_key=call.own_key)
            await self._check_ids(call, [asked.previous, *asked.names])
            await self._count_request(call)
            call.key = await _read_key(upstream)
            work = self._exchange(call, dialect, with_model(asked, upstream.named.model), upstream, promptuary)
            await while_connected(call.receive, work)

    async def _exchange(
        self, call: Call, dialect: Dialect, asked: Request, upstream: Upstream, promptuary: Promptuary
    ) -> None:
        prepared = await self._prepare(call, dialect, asked, upstream, promptuary)
        if asked.choices > 1:
            call.warn(f"of {asked.choices} answers, the first is recorded")
        delivery = Delivery(call.send, dialect, call.protocol, self._keep_alive)

        def claim() -> None:
            self._claim(call, asked, upstream, prepared, delivery)

        try:
            await self._deliver(call, delivery, upstream, prepared.body, streams=asked.stream, on_read=claim)
        finally:
            if delivery.reader is not None:
                reply = delivery.reader.reply()
                task = await self._later(lambda: self._finish(call, asked, upstream, prepared, reply))
                if prepared.turn is not None:
                    self._note_finishing((call.owner, call.workspace, prepared.thread), task)

    async def _deliver(
        self,
        call: Call,
        delivery: Delivery,
        upstream: Upstream,
        body: bytes,
        *,
        streams: bool = False,
        on_read: Callable[[], None] = lambda: None,
    ) -> None:
        url = upstream.url(call.match.path, call.scope.get("query_string", b""))
        headers = request_headers(upstream, call.scope["headers"], call.key, call.owner)
        opening = self._open(upstream, call.scope["method"], url, headers, body)

        def ours(answer: Any) -> Headers:
            return answer_headers(answer.headers if answer else (), call.told)

        try:
            await delivery.bring(opening, ours, streams=streams, on_read=on_read)
        except RelayError as error:
            self._metrics.add("upstream_errors")
            await delivery.refuse(error.status, str(error), answer_headers((), call.told))

    async def _open(self, upstream: Upstream, method: str, url: str, headers: Headers, body: bytes) -> Answer:
        answer = await self._relay(upstream).open(method, url, headers, body)
        if answer.status == 401 and not upstream.own_key:
            # It is not the client's key that is wrong, and services repeat parts of the one that is.
            await answer.aclose()
            raise RelayError(502, "The service refuses the key of this server; whoever runs it has to set another.")
        return answer

    def _relay(self, upstream: Upstream) -> Relay:
        hosts = upstream.hosts
        if hosts not in self._relays:
            self._relays[hosts] = Relay(hosts, listening=self._listening)
        return self._relays[hosts]

    async def _prepare(
        self, call: Call, dialect: Dialect, asked: Request, upstream: Upstream, promptuary: Promptuary
    ) -> _Prepared:
        """Return the request as it is sent. Whatever fails here, it is sent."""
        try:
            async with asyncio.timeout(_RECORD_SECONDS if may_refer(asked.typed) else _QUICK_SECONDS):
                if call.match.route.path.endswith("/count_tokens") or asked.is_aside:
                    return self._repeat(call, dialect, asked)
                if call.is_own and asked.messages and not self._is_probe(call, asked):
                    if call.token.record == "full":
                        return await self._own(call, dialect, asked, promptuary)
                    call.warn("a thread of ours would be stored, which this token does not allow")
                return await self._augment(call, dialect, asked, upstream, promptuary)
        except TimeoutError:
            reason = "what belongs to it could not be read or written in time"
        except PromptuaryError as error:
            reason = str(error)
        except Exception as error:  # whatever it is, the client gets its answer
            # The message of an error may hold anything of the request.
            is_debug = logger.isEnabledFor(logging.DEBUG)
            logger.warning("a request went on unchanged: %s", type(error).__name__, exc_info=is_debug)
            reason = type(error).__name__
        self._metrics.add("warnings")
        call.warn(f"sent unchanged: {reason}")
        return _Prepared(dialect.insert(asked, {}, ""))

    async def _augment(
        self, call: Call, dialect: Dialect, asked: Request, upstream: Upstream, promptuary: Promptuary
    ) -> _Prepared:
        is_title = call.always_has_tools and not asked.tools
        if self._is_probe(call, asked) or not asked.messages or call.is_aside or is_title:
            return self._leave(dialect, asked)
        thread, earlier = await self._find_thread(call, asked, promptuary)
        place = (call.owner, call.workspace, thread)
        if not asked.tools and self._with_tools.get(place):
            return self._leave(dialect, asked)
        messages, places = _continued(asked.messages, earlier)
        if finishing := self._finishing.get(place):
            await asyncio.wait({finishing}, timeout=_ORDER_SECONDS)
        recorded = await promptuary.threads.record(
            messages,
            thread=thread,
            typed=asked.typed,
            at=places[asked.typed_at] if asked.typed_at >= 0 else None,
            tools=await self._cost_of_tools(asked, promptuary),
            references=_references(call, asked),
            recall=not asked.from_hook,
            within=_RECALL_SECONDS,
            keep=call.token.record,
            learn=not asked.from_hook,
            window=upstream.window,
        )
        if recorded is None:
            return self._leave(dialect, asked)
        if asked.tools:
            self._with_tools.put(place, thread)
        self._tell(call, thread, recorded)
        added = {at: recorded.added[there] for at, there in enumerate(places) if there in recorded.added}
        self._added.put(place, {at: (hash(asked.messages[at]["content"]), text) for at, text in added.items()})
        insert = partial(dialect.insert, asked, added, recorded.live, mark=upstream.is_anthropic)
        body = await concurrency.run(insert) if call.is_big else insert()
        return _Prepared(body, thread, recorded.turn, messages, is_by_chain=thread.startswith(_BY_CHAIN))

    def _leave(self, dialect: Dialect, asked: Request) -> _Prepared:
        """Return a request that is no part of a conversation, as the client sent it."""
        self._metrics.add("auxiliary")
        return _Prepared(dialect.insert(asked, {}, ""))

    @staticmethod
    def _is_probe(call: Call, asked: Request) -> bool:
        """Return whether a request is no part of a conversation; one that names a thread or refers to something is."""
        is_meant = b"x-promptuary-thread" in call.headers or may_refer(asked.typed)
        return asked.is_task or (asked.is_probe and not is_meant)

    def _tell(self, call: Call, thread: str, recorded: RecordedTurn) -> None:
        receipt = recorded.turn.receipt
        tokens = sum(entry.taken for entry in receipt.entries if entry.layer not in _CLIENTS_OWN)
        self._tell_turn(call, thread, recorded.turn, tokens)
        self._metrics.add("added_tokens", tokens)
        for warning in recorded.warnings[:3]:
            call.warn(warning)
        if any(failure.code == "TIMEOUT" for failure in receipt.failures):
            self._metrics.add("recall_timeouts")

    def _tell_turn(self, call: Call, thread: str, turn: Turn, tokens: int) -> None:
        about = call.scope["promptuary.request"]
        about.thread, about.turn = thread, turn.id
        call.added = tokens
        self._metrics.add("turns" if "." not in turn.id else "turn_extensions")
        call.told |= {
            b"x-promptuary-thread": thread,
            b"x-promptuary-turn": str(turn.number),
            b"x-promptuary-tokens": str(tokens),
        }

    def _repeat(self, call: Call, dialect: Dialect, asked: Request) -> _Prepared:
        """Return a request that is no turn but holds the conversation, with what was added to its messages before."""
        self._metrics.add("auxiliary")
        conversation = find_conversation(call.headers, asked.fields)
        named = call.headers.get(b"x-promptuary-thread", b"").decode("utf-8", "replace")
        thread = named or (conversation.thread if conversation else "")
        known = self._added.get((call.owner, call.workspace, thread)) or {}
        added = {
            at: text
            for at, (content, text) in known.items()
            if at < len(asked.messages) and hash(asked.messages[at]["content"]) == content
        }
        return _Prepared(dialect.insert(asked, added, ""))

    async def _own(self, call: Call, dialect: Dialect, asked: Request, promptuary: Promptuary) -> _Prepared:
        thread, _ = await self._find_thread(call, asked, promptuary)
        turn, request = await prepare_own(dialect, asked, promptuary, thread)
        receipt = turn.receipt
        self._tell_turn(call, thread, turn, receipt.tokens)
        for warning in receipt.warnings[:3]:
            call.warn(warning)
        return _Prepared(put_together(request.fields), thread, turn, ())

    async def _find_thread(self, call: Call, asked: Request, promptuary: Promptuary) -> tuple[str, Sequence[Message]]:
        """Return the thread of a conversation, and of one that is continued upstream what was said before."""
        if named := call.headers.get(b"x-promptuary-thread", b"").decode("utf-8", "replace"):
            return named, ()
        made = self._made.get(asked.previous) if asked.previous else None
        if made is not None and made.thread and made.workspace == call.workspace:
            return made.thread, made.messages
        if conversation := find_conversation(call.headers, asked.fields):
            return conversation.thread, ()
        if call.is_own:
            return "main", ()
        for link in reversed(links(without_instructions(asked.messages))):
            if thread := self._ends.get((call.owner, call.workspace, link)):
                return thread, ()
        known = await promptuary.threads.recorded_as(asked.messages, keep=call.token.record)
        return known or f"{_BY_CHAIN}{secrets.token_hex(6)}", ()

    async def _cost_of_tools(self, asked: Request, promptuary: Promptuary) -> int:
        if not asked.tools:
            return 0
        key = (hash(asked.tools), len(asked.tools))
        cost = self._tool_costs.get(key)
        if cost is None:
            counter = Counter(promptuary.settings.effective_vocabulary)
            cost = await concurrency.run(lambda: counter.count(asked.tools))
            self._tool_costs.put(key, cost)
        return cost

    # What was made upstream

    def _claim(self, call: Call, asked: Request, upstream: Upstream, prepared: _Prepared, delivery: Delivery) -> None:
        """Remember what the answer is, before the client can go on from it; it is stored with the rest."""
        if delivery.reader is None:
            return
        reply = delivery.reader.reply()
        if prepared.is_by_chain and reply.messages and prepared.turn and prepared.turn.given:
            link = links(reply.messages, prepared.turn.given.link)[-1]
            self._ends.put((call.owner, call.workspace, link), prepared.thread)
        if not _is_stored(call, asked):
            return
        first = next((at for at, one in enumerate(prepared.messages) if one["role"] != "system"), 0)
        said = (*prepared.messages[first:], *reply.messages) if prepared.messages else ()
        size = sum(len(message["content"]) for message in said)
        for name in reply.ids:
            if name.startswith("resp_"):  # the conversation can be continued from it
                self._remember(name, Made(call.owner, upstream.named, prepared.thread, said, call.workspace), size)
            else:
                self._remember(name, Made(call.owner, upstream.named))

    def _remember(self, name: str, made: Made, size: int = 0) -> None:
        """Remember what was made; whoever made it first keeps it, whatever a service answers later."""
        known = self._made.get(name)
        if known is None or known.owner == made.owner:
            self._made.put(name, made, size)

    async def _check_ids(self, call: Call, ids: Sequence[str]) -> None:
        """Raise ``Refusal`` unless everything that a request names was made by its principal."""
        named = [*filter(None, ids)]
        if len(named) > _MAX_NAMED:
            raise Refusal(400, f"a request may name {_MAX_NAMED} things that were made before")
        # Somebody else's are looked for as those that are absent, so that nobody can tell them apart by the time.
        unknown = [name for name in named if not ((made := self._made.get(name)) and made.owner == call.owner)]
        owners = set[Owner | None]()
        if unknown:
            owners |= set(await concurrency.run(lambda: [self._store.claimed_by(name) for name in unknown]))
        if owners - {call.owner}:
            raise Refusal(404, NOT_FOUND)

    # What is counted and recorded

    async def _count_request(self, call: Call) -> None:
        if call.token.limits == Limits():
            return  # it is counted with its tokens
        excess = await concurrency.run(lambda: self._store.count_request(call.token))
        if excess is not None:
            self._metrics.add("limited")
            raise Refusal(402 if "its money" in excess else 429, excess)

    async def _finish(self, call: Call, asked: Request, upstream: Upstream, prepared: _Prepared, reply: Reply) -> None:
        usage = reply.usage
        async with self._workspaces.of(call.token, call.workspace) as promptuary:
            if reply.messages and not (usage.is_known and reply.is_complete):
                # Who goes away before the end, where services say what was written, has read it all the same.
                counter = Counter(promptuary.settings.effective_vocabulary)
                usage = await concurrency.run(lambda: _estimate(counter, prepared, reply))
            price = upstream.named.price
            cost = price.cost(usage.input_tokens, usage.output_tokens, usage.cached_tokens) if price else None
            self._clients.add(call.token, call.headers.get(b"user-agent", b""), usage, call.added)
            # If one of these fails, the answer is recorded all the same.
            await self._guarded(lambda: self._store_use(call, usage.input_tokens + usage.output_tokens, cost or 0.0))
            if _is_stored(call, asked):
                await self._guarded(lambda: self._store_claims(call, reply.ids, "response"))
            turn = prepared.turn
            if turn is None or not reply.messages or not reply.is_complete:
                return
            if turn.given is not None or not any("tool_calls" in message for message in reply.messages):
                # A turn of ours that waits for tools is continued by the request with their results.
                await promptuary.threads.finish(turn, reply.messages, cost=cost)

    async def _store_use(self, call: Call, tokens: int, money: float) -> None:
        requests = 1 if call.token.limits == Limits() else 0
        await concurrency.run(lambda: self._store.add_use(call.token, requests, tokens, money))

    async def _store_claims(self, call: Call, ids: Sequence[str], what: str) -> None:
        principal = call.token.principal
        are_ours = await concurrency.run(lambda: [self._store.claim(principal, name, what) for name in ids[:_MAX_IDS]])
        for name in (name for name, is_ours in zip(ids, are_ours, strict=False) if not is_ours):
            self._made.drop(name)  # somebody has made it before

    def _note_finishing(self, place: _Place, task: asyncio.Task[None]) -> None:
        """Let the next request of a conversation wait for what is being recorded of it."""
        self._finishing[place] = task

        def forget(_: asyncio.Task[None]) -> None:
            if self._finishing.get(place) is task:
                del self._finishing[place]

        task.add_done_callback(forget)

    async def _later(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Do ``work`` beside the next requests; if too much waits already, wait for some of it."""
        if len(self._background) >= _MAX_BACKGROUND:
            await asyncio.wait(self._background, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._guarded(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  (the client has its answer; the message may hold parts of it)
            self._metrics.add("warnings")
            logger.warning("an answer was not recorded: %s", type(error).__name__)

    # Everything else of a service

    async def _pass_through(self, call: Call) -> None:
        method, path = call.scope["method"], call.match.path
        body = await read_body(call.scope, call.receive) if method == "POST" else b""
        is_response = call.match.route.path.startswith("/v1/responses/")
        if not call.own_key and not is_response and path not in _SERVER_KEY_PATHS:
            raise Refusal(404, NOT_FOUND)
        ids = [part for part in path.split("/")[2:] if part not in _WORDS]
        is_json = call.headers.get(b"content-type", b"").lower().startswith(b"application/json")
        fields = await _top_level(body) if body and is_json else {}
        for key in _ID_FIELDS:
            named = value_of(fields.get(key))
            ids += [string(one) for one in (named if isinstance(named, list) else [named])]
        await self._check_ids(call, ids)
        async with self._workspaces.of(call.token, call.workspace) as promptuary:
            model = string(value_of(fields.get("model")))
            made = self._made.get(ids[0]) if ids else None
            protocol: Protocol = "messages" if b"anthropic-version" in call.headers else call.protocol
            if made is not None:
                upstream = Upstream(made.upstream, call.own_key, plain_hosts(promptuary.settings))
            elif model or path in _SERVER_KEY_PATHS:
                upstream = find_upstream(promptuary.settings, call.token, model, protocol, own_key=call.own_key)
                fields["model"] = msgspec.Raw(encoded(upstream.named.model))
            else:
                upstream = find_usual(promptuary.settings, protocol, own_key=call.own_key)
        await self._count_request(call)
        call.key = await _read_key(upstream)
        work = self._pass_on(call, upstream, put_together(fields) if fields else body)
        await while_connected(call.receive, work)

    async def _pass_on(self, call: Call, upstream: Upstream, body: bytes) -> None:
        delivery = Delivery(call.send, PLAIN, call.protocol, self._keep_alive)
        makes = call.scope["method"] == "POST"

        def claim() -> None:
            for name in delivery.reader.reply().ids if delivery.reader and makes else ():
                self._remember(name, Made(call.owner, upstream.named))

        try:
            await self._deliver(call, delivery, upstream, body, on_read=claim)
        finally:
            if delivery.reader is not None:
                reply = delivery.reader.reply()
                await self._later(lambda: self._finish_passed(call, upstream, reply, makes=makes))

    async def _finish_passed(self, call: Call, upstream: Upstream, reply: Reply, *, makes: bool) -> None:
        usage, price = reply.usage, upstream.named.price
        self._clients.add(call.token, call.headers.get(b"user-agent", b""), usage, 0)
        cost = price.cost(usage.input_tokens, usage.output_tokens, usage.cached_tokens) if price else 0.0
        await self._store_use(call, usage.input_tokens + usage.output_tokens, cost)
        if makes:
            await self._store_claims(call, reply.ids, call.match.path.split("/")[2])


def _model(name: str) -> Mapping[str, object]:
    """Return a model as both protocols list it."""
    both = {"id": name, "object": "model", "type": "model", "display_name": name, "owned_by": "promptuary"}
    return {**both, "created": 0, "created_at": "1970-01-01T00:00:00Z"}


async def _parsed(dialect: Dialect, body: bytes) -> Request:
    try:
        if len(body) > _BIG:
            return await concurrency.run(lambda: dialect.parse(body))
        return dialect.parse(body)
    except WireError as error:
        raise Refusal(error.status, str(error)) from error


async def _top_level(body: bytes) -> dict[str, msgspec.Raw]:
    try:
        if len(body) > _BIG:
            return (await concurrency.run(lambda: take_apart(body, "")))[0]
        return take_apart(body, "")[0]
    except WireError as error:
        raise Refusal(error.status, str(error)) from error


async def _read_key(upstream: Upstream) -> str:
    """Return the server's key for a service; empty if the client brings its own."""
    if upstream.own_key:
        return ""
    place = upstream.named.key
    try:
        # The keyring is another program; the environment is here.
        return await concurrency.run(lambda: place.read("model")) if place.entry else place.read("model")
    except ConfigError:
        raise Refusal(502, "the server has no key for this model; whoever runs it has to set one") from None


def _references(call: Call, asked: Request) -> ReferenceKinds:
    if asked.from_hook:
        return "none"
    return "explicit" if call.expands_paths else "all"


def _is_stored(call: Call, asked: Request) -> bool:
    """Return whether the service stores the answer, so that its id can be used later."""
    stores = value_of(asked.fields.get("store"))
    return stores is not False if call.protocol == "responses" else stores is True


def _continued(messages: Sequence[Message], earlier: Sequence[Message]) -> tuple[Sequence[Message], list[int]]:
    """Return a conversation whose beginning is upstream, and where each of ``messages`` is in it."""
    first = next((at for at, one in enumerate(messages) if one["role"] not in ("system", "developer")), len(messages))
    places = [at if at < first else at + len(earlier) for at in range(len(messages))]
    return [*messages[:first], *earlier, *messages[first:]], places


def _estimate(counter: Counter, prepared: _Prepared, reply: Reply) -> ModelUsage:
    """Return what an exchange cost, as far as can be told here: the service has not said it."""
    written = sum(message_cost(message, counter) for message in reply.messages)
    read = prepared.turn.receipt.tokens if prepared.turn else len(prepared.body) // 4
    said = reply.usage
    # What the service has said by then is right, except for what it wrote since.
    return ModelUsage(said.input_tokens or read, max(said.output_tokens, written), said.cached_tokens)

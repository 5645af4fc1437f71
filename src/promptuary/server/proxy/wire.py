"""What the three protocols of chat clients share: requests taken apart and put together, answers, ids. Pure.

A body is taken apart into its top-level values and its list of messages, each of which stays the bytes that the client
sent. What is added is inserted into these bytes; everything else is repeated as it came, because the caches of
providers compare bytes. A body is always put together from the parts that were read: nobody reads a key we did not.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec import Raw, Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Message
from promptuary.base.text import valid_unicode
from promptuary.memory.writeback.own_words import without_spans, wrapped_spans
from promptuary.models.chat.event_stream import EventReader
from promptuary.models.chat_model import ModelUsage
from promptuary.server import errors
from promptuary.server.errors import Refusal

MAX_BODY: Final = 64 * 1024 * 1024
"""The most bytes of a request: a window of a million tokens, with images."""
_MAX_PARTS: Final = 8_000_000
"""The most commas and brackets of a body: each may become a value of many times its size in memory."""
_MAX_MESSAGES: Final = 50_000
_ALWAYS_FEW: Final = 4 * 1024 * 1024
"""A body of so many bytes has few enough parts, whatever is in it."""
_MAX_ID: Final = 256
_MAX_METADATA: Final = 16 * 1024
_MAX_ANSWER: Final = 64 * 1024 * 1024
"""The most bytes of an answer that are read to record it; the client gets all of it."""
_MAX_PROBE: Final = 100
"""A client that wants so few tokens asks for a title, or whether the service is there."""
_DROPPED: Final = frozenset(
    {
        *("api_base", "api_key", "api_type", "api_version", "aws_bedrock_runtime_endpoint", "azure_endpoint"),
        *("base_url", "custom_llm_provider", "extra_body", "extra_headers", "extra_query", "fallbacks"),
        *("mock_response", "mock_timeout", "organization", "timeout", "default_headers", "proxy", "proxies"),
    }
)
"""Fields that would say where a request goes, with whose key, or that it is not sent: only the configuration does."""
_READ: Final = frozenset(
    {
        *("model", "messages", "input", "instructions", "system", "stream", "store", "tools", "functions", "metadata"),
        *("previous_response_id", "conversation", "container", "prompt_cache_key", "n", "file_id", "file_ids"),
        *("max_tokens", "max_output_tokens", "max_completion_tokens", "input_file_id", "training_file"),
    }
)
"""Fields that are read here. A service that ignores case would read another spelling of them, too."""


class WireError(Refusal):
    """A request that cannot be read."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(status, reason)


class Request(Struct, frozen=True):
    """A request of a client, taken apart.

    ``fields`` are the values at the top level, without those that are dropped; ``wire`` is its list of messages, and
    ``roles`` are theirs. ``messages`` is the same conversation in our form, with the system prompt in front, and
    ``places`` has, for each of them, its index in ``wire``, or -1 for what is a field of its own. ``typed`` are the
    words that a person typed since the model's last answer, in the message ``typed_at``; empty, and -1, if there are
    none: a tool loop.
    """

    fields: dict[str, Raw]
    wire: list[Raw]
    messages: list[Message]
    places: list[int]
    roles: list[str]
    typed_at: int = -1
    typed: str = ""
    model: str = ""
    stream: bool = False
    tools: str = ""
    """The descriptions of the tools, as they are sent."""
    is_probe: bool = False
    """Whether it wants so few tokens that it is probably no part of a conversation: a title, tags, a test."""
    is_task: bool = False
    """Whether it says itself that it is none."""
    is_aside: bool = False
    """Whether the client asks something of its own about the conversation, such as a summary: nobody typed that."""
    from_hook: bool = False
    """Whether a hook of ours puts memory and references into this conversation."""
    choices: int = 1
    previous: str = ""
    """The response upstream that it continues, and whose messages it does not repeat."""
    names: tuple[str, ...] = ()
    """Other ids in it that were made upstream: a conversation, files."""

    @property
    def system(self) -> str:
        """The instructions at the beginning."""
        return "\n\n".join(_leading_instructions(self.messages))


def _leading_instructions(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if message["role"] not in ("system", "developer"):
            return
        yield message["content"]


class Reply(Struct, frozen=True):
    """An answer of a model service, as far as it arrived.

    ``messages`` are empty if it says nothing. ``ids`` were made upstream. ``finish`` is the service's own word for why
    it ended. ``error`` is what went wrong, in the service's words or ours; ``is_complete`` says that its end arrived.
    """

    messages: tuple[Message, ...] = ()
    usage: ModelUsage = ModelUsage()
    ids: tuple[str, ...] = ()
    finish: str = ""
    error: str = ""
    is_complete: bool = False


class Reading(Protocol):
    """An answer while it arrives: the events of a stream, or one whole body."""

    def take_event(self, event: Mapping[str, Any]) -> None: ...
    def take_body(self, body: Mapping[str, Any]) -> None: ...
    def end(self) -> None: ...
    def reply(self) -> Reply: ...


class Dialect(Struct, frozen=True):
    """One protocol: how its requests are read and added to, how its answers are read, and its own forms of ours."""

    name: errors.Protocol
    parse: Callable[[bytes], Request]
    insert: "Insert"
    reading: Callable[[], Reading]
    error_event: Callable[[int, str, str], bytes]
    keep_alive: bytes = b": keep-alive\n\n"


class Insert(Protocol):
    """Returns the body with a text at the end of each message in ``added``, and the live block at the very end.

    ``mark`` says that marks for a cache may be set, where the client has set none.
    """

    def __call__(self, request: Request, added: Mapping[int, str], live: str, *, mark: bool = False) -> bytes: ...


# Requests

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode: Callable[[Any], Any] = msgspec.json.Decoder().decode
_LONE_SURROGATES: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def take_apart(body: bytes, list_key: str) -> tuple[dict[str, Raw], list[Raw]]:
    """Return the values at the top level of a request, and the elements of its list of messages.

    Raises ``WireError`` if it is no JSON object.
    """
    if len(body) > MAX_BODY:
        raise WireError(
            f"The request is larger than {MAX_BODY // 1024 // 1024} MiB; send less of the conversation.", 413
        )
    if len(body) > _ALWAYS_FEW and sum(map(body.count, (b",", b"[", b"{"))) > _MAX_PARTS:
        raise WireError("The request has too many parts; send less of the conversation.", 413)
    try:
        fields = _read(_decode_fields, body)
    except msgspec.DecodeError:  # perhaps half an emoji, where a client cut a text in two; providers refuse that, too
        fields = _read_again(body)
    fields = {key: value for key, value in fields.items() if not _is_dropped(key)}
    if list_key not in fields:
        return fields, []
    raw = fields[list_key]
    if not bytes(raw).startswith(b"["):
        return fields, []
    elements: list[Raw] = _checked(_decode_list, raw)
    if len(elements) > _MAX_MESSAGES:
        raise WireError(f"The request has more than {_MAX_MESSAGES:,} messages; send less of the conversation.", 413)
    return fields, elements


def _is_dropped(key: str) -> bool:
    folded = key.casefold()
    return folded in _DROPPED or (folded != key and folded in _READ)


def _read_again(body: bytes) -> dict[str, Raw]:
    whole = _LONE_SURROGATES.sub(lambda found: b"\\ufffd" if found[1] else found[0], body)
    fields: dict[str, Raw] = _checked(_decode_fields, whole)
    return fields


def _read(decode: Callable[[Any], Any], data: Any) -> Any:
    """Decode ``data``, with every error but that of malformed JSON as ``WireError``."""
    try:
        return decode(data)
    except RecursionError:
        raise WireError("The request is nested too deeply.") from None
    except UnicodeDecodeError:
        raise WireError("The request is not UTF-8.") from None
    except msgspec.ValidationError:
        raise WireError("The request is not a JSON object.") from None


def _checked(decode: Callable[[Any], Any], data: Any) -> Any:
    try:
        return _read(decode, data)
    except msgspec.DecodeError as error:
        raise WireError(f"The request is not JSON: {error}.") from None


def value_of(raw: Raw | None) -> Any:
    """Return a part of a request as a value; ``None`` if it is absent. Raises ``WireError`` if it cannot be read."""
    return None if raw is None else _checked(_decode, raw)


def mapping(value: object) -> Mapping[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> Sequence[Any]:
    """Return ``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def string(value: object) -> str:
    """Return ``value`` if it is text, else an empty one."""
    return valid_unicode(value) if isinstance(value, str) else ""


def encoded(value: object) -> bytes:
    """Return ``value`` as JSON, as short as it gets."""
    return msgspec.json.encode(value)


def put_together(fields: Mapping[str, Raw]) -> bytes:
    """Return an object of these values, each as the bytes it is."""
    return b"{" + b",".join(encoded(key) + b":" + bytes(value) for key, value in fields.items()) + b"}"


def put_list(elements: Sequence[bytes | Raw]) -> Raw:
    """Return a list of these elements, each as the bytes it is."""
    return Raw(b"[" + b",".join(map(bytes, elements)) + b"]")


def with_model(request: Request, name: str) -> Request:
    """Return the request for the model that the service calls ``name``."""
    return msgspec.structs.replace(request, fields={**request.fields, "model": Raw(encoded(name))})


def appended(array: bytes, element: bytes) -> bytes:
    """Return a JSON array with one more element at its end."""
    inner = array[:-1].rstrip()
    return inner + (b"" if inner == b"[" else b",") + element + b"]"


def lengthened(text: bytes, more: str) -> bytes:
    """Return a JSON string with more text at its end, in a paragraph of its own."""
    separator = "" if text == b'""' else "\n\n"
    return text[:-1] + encoded(separator + more)[1:]


def replaced(message: bytes, key: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return a JSON object with one value changed, and all its other bytes as they are."""
    fields = _checked(_decode_fields, message)
    old = bytes(fields[key])
    new = change(old)
    if message.count(old) == 1:
        return message.replace(old, new)
    fields[key] = Raw(new)  # the same bytes are also elsewhere: only white space between its values is lost
    return put_together(fields)


def raw_field(message: bytes, key: str) -> bytes:
    """Return the bytes of one value of a JSON object; empty if it has none."""
    fields = _checked(_decode_fields, message) if message.startswith(b"{") else {}
    return bytes(fields[key]) if key in fields else b""


def is_small(fields: Mapping[str, Raw], *limits: str) -> bool:
    """Return whether a request wants a handful of tokens only."""
    most = next((value_of(fields[key]) for key in limits if key in fields), None)
    return isinstance(most, int) and not isinstance(most, bool) and most <= _MAX_PROBE


def is_task(fields: Mapping[str, Raw]) -> bool:
    """Return whether a request says that it is a task of the client's own."""
    return bool(mapping(value_of(fields.get("metadata"))).get("task"))


def texts_by_place(request: Request, added: Mapping[int, str]) -> dict[int, list[str]]:
    """Return what is added to the messages of ours, for each message of the client's list."""
    texts = dict[int, list[str]]()
    for index, text in sorted(added.items()):
        if 0 <= index < len(request.places) and request.places[index] >= 0 and text:
            texts.setdefault(request.places[index], []).append(text)
    return texts


def end_of_input(roles: Sequence[str]) -> int:
    """Return where the client's messages end: the beginning of an answer, which the model continues, stays last."""
    end = len(roles)
    while end > 1 and roles[end - 1] == "assistant":
        end -= 1
    return end


def count_of(raw: Raw | None) -> int:
    """Return a positive number of a request; 1 if it has none."""
    value = value_of(raw)
    return value if isinstance(value, int) and value > 1 else 1


def tools_text(*raws: Raw | None) -> str:
    """Return the descriptions of tools, to be counted."""
    return "\n".join(
        bytes(raw).decode("utf-8", "replace") for raw in raws if raw and bytes(raw) not in (b"[]", b"null")
    )


# What a person typed

_ASIDE: Final = re.compile(
    r"\s*(?:CRITICAL: Respond with TEXT ONLY\. Do NOT call any tools"
    r"|You are performing a CONTEXT CHECKPOINT COMPACTION"
    r"|\[SUGGESTION MODE: "
    r"|The user stepped away and is coming back\. "
    r"|You are now acting as the memory extraction subagent\. "
    r"|<system-reminder>This is a side question from the user\. )"
)
"""How Claude Code and Codex begin to ask, in a person's place, for what does not become part of the conversation: a
summary to go on with, what the person might type next, what to remember, an answer beside it."""
_CONTINUED: Final = re.compile(
    r"\s*(?:This session is being continued from a previous conversation"
    r"|Another language model started to solve this problem and produced a summary)"
)
"""How they begin the summary when the conversation goes on, in a person's place, too."""
_HOOK_MARK: Final = "<promptuary>"


def words_typed(text: str) -> str:
    """Return what a person typed of one block of text: without what clients wrap in tags of their own.

    Fenced code stays; whoever looks for references skips it.
    """
    if _ASIDE.match(text) or _CONTINUED.match(text):
        return ""
    return without_spans(text, wrapped_spans(text)).strip()


class Said(NamedTuple):
    """A message of the client in our form: its place in the client's list, and the texts in which a person may type."""

    message: Message
    place: int
    texts: Sequence[str] = ()


def find_typed(said: Sequence[Said]) -> tuple[int, str, bool]:
    """Return the message that a person typed since the model's last answer, its words, and whether hooks were there.

    Behind it there may be what the client adds: instructions, messages without typed words, the beginning of an answer.
    A client repeats what a hook added, and nothing that the proxy did: hooks that were there once add to later turns
    what these need, which may be nothing.
    """
    from_hook = any(
        one.message["role"] not in ("assistant", "tool") and _HOOK_MARK in one.message["content"] for one in said
    )
    is_new = True
    for at in range(len(said) - 1, -1, -1):
        message = said[at].message
        role = message["role"]
        typed = "\n\n".join(filter(None, map(words_typed, said[at].texts)))
        if typed:
            return (at, typed, from_hook) if is_new else (-1, "", from_hook)
        if role == "tool" or (role == "assistant" and (at < len(said) - 1 or "tool_calls" in message)):
            is_new = False  # the loop of an earlier message
    return -1, "", from_hook


def is_aside(said: Sequence[Said]) -> bool:
    """Return whether the client asks something of its own about the conversation, or runs tools for that."""
    for message in (one.message for one in reversed(said)):
        if message["role"] == "user":
            if _ASIDE.match(message["content"]):
                return True
            if words_typed(message["content"]):
                return False
    return False


def described(kind: str, media_type: object, data: object) -> str:
    """Return what stands for an image or a file in our form of a message: its type, and a hash of what it is."""
    text = string(data)
    if text.startswith("data:"):
        head, _, text = text.partition(",")
        media_type = media_type or head[5:].partition(";")[0]
    elif text.startswith(("https:", "http:", "file-", "file_")):
        return f"[{kind}: {text.split(maxsplit=1)[0][:200]}]"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"[{kind}: {string(media_type)[:80] or 'unknown type'} sha256:{digest}]"


def compact_json(value: object) -> str:
    """Return the arguments of a call as one text, the same whether they came from an answer or from a request."""
    try:
        return encoded(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "{}"


# Ids

_ID_HEADERS: Final = (
    (b"x-claude-code-session-id", "claude-code"),
    (b"thread-id", "codex"),
    (b"session-id", "codex"),
    (b"x-openwebui-chat-id", "open-webui"),
    (b"x-hermes-session-id", "hermes"),
    (b"x-sm-conversation-id", "supermemory"),
    (b"x-session-id", "session"),
    (b"x-session-affinity", "session"),
)


_RANDOM: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class ConversationId(NamedTuple):
    """The client's own id of a conversation, and which client it is, as a word."""

    client: str
    id: str

    @property
    def thread(self) -> str:
        """The name of the thread for it: the id itself could be anything."""
        return f"{self.client}-{hashlib.sha256(self.id.encode()).hexdigest()[:12]}"


def find_conversation(headers: Mapping[bytes, bytes], fields: Mapping[str, Raw]) -> ConversationId | None:
    """Return the id by which a client names its conversation in ``headers`` (names in small letters) or in the body."""
    for header, client in _ID_HEADERS:
        if name := _id(headers.get(header, b"").decode("latin-1")):
            return ConversationId(client, name)
    metadata = mapping(value_of(fields.get("metadata")))
    if name := _id(metadata.get("session_id")) or _id(_in_user_id(metadata.get("user_id"))):
        return ConversationId("session", name)
    conversation = value_of(fields.get("conversation"))
    if name := _id(mapping(conversation).get("id") or conversation):
        return ConversationId("conversation", name)
    # Many programs send one key for all that they ask; one that is made for a conversation is random.
    key = _id(value_of(fields.get("prompt_cache_key")))
    return ConversationId("session", key) if _RANDOM.fullmatch(key) else None


def _in_user_id(user_id: object) -> object:
    """Return the session in the ``user_id`` of Claude Code, which is JSON as text."""
    if not isinstance(user_id, str) or len(user_id) > 4096 or not user_id.startswith("{"):
        return None
    try:
        return mapping(json.loads(user_id)).get("session_id")
    except (ValueError, RecursionError):
        return None


def _id(value: object) -> str:
    is_name = isinstance(value, str) and 0 < len(value) <= _MAX_ID and value.isprintable()
    return str(value) if is_name else ""


_NAMING: Final = frozenset({"file_id", "file_ids", "vector_store_ids", "container", "container_id"})
_WRITTEN: Final = frozenset({"input", "arguments", "parameters", "input_schema", "function", "schema", "metadata"})
"""Fields whose values models and programs write: a key in them means what they say, not what a service says."""
_PAYLOADS: Final = {"reasoning": "encrypted_content", "image_generation_call": "result"}
"""Items of an earlier answer, and the field without which the service looks for them by their ids."""


def named_ids(contents: Iterable[Mapping[str, Any]], *others: object) -> tuple[str, ...]:
    """Return the ids of what a request only names, because it is upstream: files, items of earlier answers.

    ``contents`` are its messages; ``others`` are ids, or values such as its tools.
    """
    found = dict.fromkeys(filter(None, map(_id, others)))
    waiting: list[object] = [other for other in others if not isinstance(other, str)]
    for content in contents:
        kind = content.get("type")
        is_name = kind == "item_reference" or (kind is None and "role" not in content)
        if is_name or (kind in _PAYLOADS and not content.get(_PAYLOADS[kind])):
            found[_id(content.get("id"))] = None
        waiting.append(content)
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += [inner for inner in value if isinstance(inner, dict | list)]
        elif isinstance(value, dict):
            for key, inner in value.items():
                if key in _NAMING:
                    given = inner if isinstance(inner, list) else [mapping(inner).get("id") or inner]
                    found.update(dict.fromkeys(map(_id, given)))
                if isinstance(inner, dict | list) and key not in _WRITTEN:
                    waiting.append(inner)
    return tuple(filter(None, found))


def upstream_id(value: object) -> str:
    """Return an id that was made upstream, if ``value`` can be one."""
    return _id(value)


_AGENT_HEADERS: Final = frozenset(
    {b"x-claude-code-agent-id", b"x-openai-subagent", b"x-codex-parent-thread-id", b"x-parent-session-id"}
)
"""What Claude Code, Codex and opencode send for an agent that their own agent has started."""


def is_for_an_agent(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request is one of an agent that the client's own agent has started: nobody typed anything."""
    if not _AGENT_HEADERS.isdisjoint(headers):
        return True
    about = headers.get(b"x-codex-turn-metadata", b"")
    if not about or len(about) > _MAX_METADATA:
        return False
    try:
        return bool(mapping(json.loads(about)).get("thread_source", "user") != "user")
    except (ValueError, RecursionError):
        return False


# Answers


class AnswerReader:
    """Reads an answer on its way to the client. Nothing that a service sends makes it raise, or grow without end."""

    def __init__(self, dialect: Dialect, *, streams: bool) -> None:
        self._reading = dialect.reading()
        self._events = EventReader("The service") if streams else None
        self._body: list[bytes] = []
        self._left = _MAX_ANSWER
        self._problem = ""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the answer."""
        if self._problem:
            return
        self._left -= len(chunk)
        if self._left < 0:
            self._give_up("The answer is too long to be recorded.")
        elif self._events is None:
            self._body.append(chunk)
        else:
            self._read_events(chunk, self._events)

    def _read_events(self, chunk: bytes, events: EventReader) -> None:
        try:
            for event in events.feed(chunk):
                if event.data.strip() == "[DONE]":
                    self._reading.end()
                else:
                    self._reading.take_event(mapping(_decode(event.data)))
        except PromptuaryError as error:
            self._give_up(str(error))
        except (ValueError, RecursionError):  # and what of msgspec: DecodeError is a ValueError
            self._give_up("The service sends a malformed piece of an answer.")

    def _give_up(self, problem: str) -> None:
        self._problem, self._body = problem, []

    def reply(self) -> Reply:
        """Return what has arrived."""
        if self._body:
            body, self._body = b"".join(self._body), []
            try:
                self._reading.take_body(mapping(_decode(body)))
            except (ValueError, RecursionError):
                self._problem = "The service does not answer with JSON."
        reply = self._reading.reply()
        if self._problem:
            return msgspec.structs.replace(reply, error=reply.error or self._problem, is_complete=False)
        return reply

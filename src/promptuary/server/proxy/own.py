"""Own mode: a thread of ours is the conversation, and only the last message of the client's list is taken.

As in ``integrations.conversation``, what the request is (a new message, or the results of tools for one that waits)
follows only from its texts, so that nothing is lost if the server is restarted between two requests.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Prompt, as_message
from promptuary.base.references import Span
from promptuary.engine import Promptuary
from promptuary.memory.writeback.own_words import wrapped_spans
from promptuary.models.render import FORMS, Provider
from promptuary.server.proxy.wire import Dialect, Request, encoded
from promptuary.threads.prepared import Turn

_FORMS: Mapping[str, Provider] = {"messages": "anthropic", "responses": "openai-responses", "chat": "openai"}


async def prepare_own(dialect: Dialect, asked: Request, promptuary: Promptuary, thread: str) -> tuple[Turn, Request]:
    """Return the turn for a request, and the request with the conversation of the thread in place of the client's.

    The client's instructions, tools and other fields stay. Raises ``PromptuaryError`` if there is no message.
    """
    said_by_user = [at for at, message in enumerate(asked.messages) if message["role"] == "user"]
    if not said_by_user:
        raise PromptuaryError("a request has a message of the role user")
    last = said_by_user[-1] if asked.typed_at < 0 else asked.typed_at
    text = asked.messages[last]["content"]
    said = [message for message in asked.messages[last + 1 :] if message["role"] in ("assistant", "tool")]
    threads, turn = promptuary.threads, None
    if said:
        waiting = await threads.pending(thread=thread)
        if waiting is not None and waiting.text == text:
            before = [as_message(item) for item in waiting.said]
            turn = waiting if before == said[: len(before)] else None
    if turn is None:
        turn = await threads.prepare(text, thread=thread, pasted=_foreign_spans(text, asked))
    answered = max((at + 1 for at, message in enumerate(said) if message["role"] == "tool"), default=0)
    if new := said[len(turn.said) : answered]:
        turn = await threads.extend(turn, new)
    return turn, replace(asked, fields={**asked.fields, **_rendered(dialect, asked, turn.prompt)})


def _foreign_spans(text: str, asked: Request) -> Sequence[Span]:
    """Return the parts of a message that nobody typed: nothing in them is a reference."""
    if not asked.typed:
        return [(0, len(text))]
    start = text.find(asked.typed)
    if start < 0:
        return wrapped_spans(text)
    end = start + len(asked.typed)
    return [span for span in ((0, start), (end, len(text))) if span[0] < span[1]]


def _rendered(dialect: Dialect, asked: Request, prompt: Prompt) -> dict[str, Raw]:
    """Return the fields of the request that hold the conversation: the client's instructions, then the thread's."""
    theirs = [message for message in asked.messages[:1] if message["role"] in ("system", "developer")]
    rendered: Any = FORMS[_FORMS[dialect.name]](replace(prompt, stable=[*theirs, *prompt.stable]))
    match dialect.name:
        case "messages":
            fields = {key: value for key, value in rendered.items() if value}
        case "responses":
            fields = {"input": rendered, "instructions": None}
        case _:
            fields = {"messages": rendered}
    return {key: Raw(encoded(value)) for key, value in fields.items()}

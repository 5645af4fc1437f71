"""Values that only the API has: what the server says of itself, and how a client takes part in a run."""

import re
from typing import Literal

from msgspec import Struct

from promptuary.base.messages import ToolCall
from promptuary.base.principals import Principal
from promptuary.models.chat_model import ToolSpec


class ServerStatus(Struct, frozen=True):
    """Who the token stands for, and what is served.

    ``scopes`` is what the token may do, ``workspace`` the name of the served folder. ``window`` is the window for which
    messages are fitted, ``model`` the model that answers, if there is one. ``notes`` are remarks for the person.
    """

    version: str
    workspace: str
    principal: Principal
    scopes: tuple[str, ...]
    window: int
    model: str
    notes: tuple[str, ...] = ()


class TurnKey(Struct, frozen=True):
    """A turn that waits for its reply, by the name of its thread and its number there."""

    thread: str
    number: int


class OfferedTool(Struct, frozen=True):
    """A tool of the server that a run may use. One that ``writes`` is called only if the client agrees."""

    spec: ToolSpec
    writes: bool = False


class RunBegun(Struct, frozen=True):
    """The first event of a run: its id, with which the client answers calls."""

    run: str


class CallWaits(Struct, frozen=True):
    """A call that waits for the client: for its consent, or for the result of a tool that the client has."""

    call: ToolCall
    asks: Literal["consent", "result"]


class CallAnswer(Struct, frozen=True):
    """What a client says to a call that waits: whether it agrees, or the result of its tool."""

    agreed: bool = True
    result: str = ""
    is_error: bool = False


def event_name(event: type) -> str:
    """Return the name of an event of a run in the stream: that of ``TurnPrepared`` is "turn_prepared"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event.__name__).lower()


class ServerCalls:
    """What only a server can be asked. The server answers these itself."""

    async def status(self) -> ServerStatus:
        """Return who the token stands for, and what is served."""
        raise NotImplementedError

    async def events(self, *, after: str = "") -> None:
        """Stream what changes, as it happens: turns, notes and proposals, also those that other programs write.

        ``after`` is the cursor of the last event that was seen; the header Last-Event-ID says the same.
        """
        raise NotImplementedError

    async def answer_call(self, run: str, call: str, *, answer: CallAnswer) -> None:
        """Answer a call of a run that waits for the client."""
        raise NotImplementedError

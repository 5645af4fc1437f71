"""What the proxy remembers between requests, in memory and in bounds: no request fails because it was forgotten."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from promptuary.base.messages import Message
from promptuary.base.principals import Owner
from promptuary.config.named_models import NamedModel

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values that were used last, by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """Return a value; ``None`` if there is none any more."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Remember a value, and forget the one that was not used for longest."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)


class Made(Struct, frozen=True):
    """Something that was made upstream: who made it, where it is, and for a response the conversation so far."""

    owner: Owner
    upstream: NamedModel
    thread: str = ""
    messages: Sequence[Message] = ()

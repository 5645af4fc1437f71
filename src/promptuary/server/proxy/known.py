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
    """The values that were used last, by key: at most so many, and of at most some size together."""

    def __init__(self, most: int, most_size: int = 0) -> None:
        self._most, self._most_size, self._size = most, most_size, 0
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """Return a value; ``None`` if there is none any more."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: Hashable, value: Value, size: int = 0) -> None:
        """Remember a value, and forget those that were not used for longest."""
        self._size += size - self._values.pop(key, (value, 0))[1]
        self._values[key] = value, size
        while len(self._values) > self._most or self._size > self._most_size:
            _, (_, gone) = self._values.popitem(last=False)
            self._size -= gone

    def drop(self, key: Hashable) -> None:
        """Forget a value."""
        self._size -= self._values.pop(key, (None, 0))[1]


class Made(Struct, frozen=True):
    """Something that was made upstream: who made it, where it is, and for a response the conversation so far."""

    owner: Owner
    upstream: NamedModel
    thread: str = ""
    messages: Sequence[Message] = ()
    workspace: str = ""
    """Where the thread is."""

"""The principal of a message, its thread, what it may refer to, and how many messages a person may send. Pure.

In a direct chat everything belongs to the person: their private memories follow them into every chat with the bot. A
group has its own thread and notes, and no private note of anybody is recalled in it.
"""

from collections import deque
from collections.abc import Callable
from itertools import islice

from msgspec import Struct, field

from promptuary.base.principals import Principal
from promptuary.config.gateways import ChatRules, NamedGateway
from promptuary.gateways.port import Inbound
from promptuary.workspace.access import OPEN_KINDS, REMOTE_KINDS, Access

MINUTE = 60.0
HOUR = 3600.0
_MAX_KNOWN = 10_000


def find_principal(gateway: NamedGateway, message: Inbound) -> Principal:
    """Return who acts: a user by the platform's id, which nobody can choose, or by the name that people gives it."""
    user = gateway.people.get(message.user) or f"{gateway.platform}:{message.user}"
    group = None if message.direct else f"{gateway.platform}:{message.chat}"
    return Principal(user=user[:200], group=group)


def thread_of(gateway: NamedGateway, message: Inbound) -> str:
    """Return the name of the thread of a conversation. Two bots on one platform have separate threads."""
    return f"{gateway.name}:{message.place}"[:200]


def chat_access(rules: ChatRules) -> Access:
    """Return what messages of a chat may refer to: pages and notes, and files of its workspace, if it has one."""
    hosts = frozenset(host.lower() for host in rules.hosts)
    if not rules.workspace:
        kinds = frozenset(rules.kinds) & OPEN_KINDS if rules.kinds else OPEN_KINDS
        return Access.limited(kinds, (), hosts)
    return Access.limited(frozenset(rules.kinds) or REMOTE_KINDS, rules.folders or ("",), hosts)


class RateLimit(Struct):
    """How many messages each person has sent in the last minute. ``clock`` returns seconds."""

    most: int
    clock: Callable[[], float]
    _sent: dict[str, deque[float]] = field(default_factory=dict)

    def wait(self, user: str) -> float:
        """Count a message and return 0; if it exceeds the limit, count nothing and return the seconds to wait."""
        now = self.clock()
        if len(self._sent) > _MAX_KNOWN:
            self._sent = {one: times for one, times in self._sent.items() if times and now - times[-1] < MINUTE}
        times = self._sent.setdefault(user, deque())
        while times and now - times[0] >= MINUTE:
            times.popleft()
        if len(times) >= self.most:
            return max(MINUTE - (now - times[0]), 1.0)
        times.append(now)
        return 0.0


class RecentMessages(Struct):
    """Who was sent a sentence in the last ``seconds``, so that it is not repeated.

    It remembers some thousand people, however many write; beyond that, it forgets the oldest entries first. It is said
    at most ``a_minute`` times in a minute, to all people together.
    """

    seconds: float
    clock: Callable[[], float]
    most: int = _MAX_KNOWN
    a_minute: int = _MAX_KNOWN
    _said: dict[str, float] = field(default_factory=dict)

    def may_say(self, user: str) -> bool:
        """Return whether it may be sent again, and record that it is sent now."""
        now, before = self.clock(), self._said.get(user)
        if before is not None and now - before < self.seconds:
            return False
        latest = islice(reversed(self._said.values()), self.a_minute - 1, None)
        if now - next(latest, -MINUTE) < MINUTE:
            return False
        self._said.pop(user, None)  # keeps the dictionary in the order of time
        self._said[user] = now
        while len(self._said) > self.most:
            del self._said[next(iter(self._said))]
        return True

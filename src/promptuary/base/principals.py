"""The principal: the one value that decides about ownership.

Ownership is never taken from an argument, a file or a message: the code that opens the engine names the principal, and
everything below asks that. This module knows nothing of storage or of authentication.
"""

from typing import Final, Literal

from msgspec import Struct

from promptuary.base.errors import ConfigError

LOCAL_USER: Final = "local"
"""The local user, which is the default."""
DEFAULT_AGENT: Final = "default"

_LONGEST: Final = 200


class Principal(Struct, frozen=True):
    """A user who acts through an agent, optionally in a group.

    Threads and private state belong to the user with that agent, or, in a group, to the group with that agent: then
    ``user`` is recorded with each turn, and nothing that is private to any user is recalled.
    """

    user: str = LOCAL_USER
    agent: str = DEFAULT_AGENT
    group: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("user", self.user), ("agent", self.agent), ("group", self.group)):
            if value is None and name == "group":
                continue
            if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > _LONGEST:
                raise ConfigError(f"a principal's {name} must be 1 to {_LONGEST} printable characters, not {value!r}")

    @property
    def owner(self) -> "Owner":
        """The owner of threads and private state."""
        if self.group is not None:
            return Owner("group", self.group, self.agent)
        return Owner("user", self.user, self.agent)


class Owner(Struct, frozen=True):
    """The owner of something: a user or a group, each with an agent. ``Principal.owner`` and the database make one."""

    kind: str
    name: str
    agent: str

    @property
    def principal(self) -> Principal:
        """A principal that it is the owner of."""
        return (
            Principal(agent=self.agent, group=self.name) if self.kind == "group" else Principal(self.name, self.agent)
        )


LOCAL: Final = Principal()
"""The default principal: the person on this machine."""


NoteScope = Literal["project", "user"]
"""Where a note lives: in the workspace, or in the person's own data folder, from where it follows the person."""

"""What a page is given, and what it answers with. Knows nothing of templates or of HTTP beyond method and path."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.errors import ConfigError
from promptuary.engine import Promptuary
from promptuary.server.clients import Clients
from promptuary.server.jobs import Jobs
from promptuary.server.page.once import Secrets
from promptuary.server.tokens import Scope, Token, TokenStore

Result = TypeVar("Result")


class Asked(Struct, frozen=True):
    """A request for a page: by whom, of which workspace, with which parts of the path, query and fields of a form.

    ``root`` is what precedes every path of this workspace: ``/w/NAME``, or nothing where there is only one.
    ``names`` are the workspaces that the token may use. ``session`` is that of the browser, else the id of the token.
    """

    workspace: Promptuary
    token: Token
    store: TokenStore
    clients: Clients
    jobs: Jobs
    secrets: Secrets
    session: str
    name: str
    names: Sequence[str]
    root: str
    path: str
    parts: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = {}

    def url(self, path: str, /, *names: object, **query: object) -> str:
        """Return an address of this workspace: a path, names below it, and a query; what is empty is left out."""
        return self.root + address(path, *names, **query)

    @staticmethod
    async def run(work: Callable[[], Result]) -> Result:
        """Do what blocks in a thread."""
        return await concurrency.run(work)

    def hide(self, text: str) -> str:
        """Return a text without where on the machine the workspace is."""
        return text.replace(str(self.workspace.path), f"/{self.name}")

    def number(self, name: str, value: str) -> int:
        """Return a number that the request names. Raises ``ConfigError``."""
        if not value.isascii() or not value.isdecimal() or len(value) > 18:
            raise ConfigError(f"{name} must be a number, not {value[:20]!r}")
        return int(value)


def address(path: str, /, *names: object, **query: object) -> str:
    """Return a path with names below it, encoded, and a query."""
    # A full stop would be the end of a name before ``.json``, or a step of the path.
    below = "".join(f"/{quote(str(name), safe='').replace('.', '%2E')}" for name in names)
    given = {name: value for name, value in query.items() if value not in ("", None)}
    return path + below + (f"?{urlencode(given)}" if given else "")


class View(Struct, frozen=True):
    """A page: the template that shows ``value``, which ``.json`` answers with, and what else the template needs."""

    template: str
    value: Any
    more: Mapping[str, Any] = {}
    status: int = 200


class Redirect(Struct, frozen=True):
    """The answer to a form: go to this address."""

    address: str


class Run(Struct, frozen=True):
    """The answer to a message: a model answers, with these arguments of ``threads.run`` as the API has them.

    ``is_streamed``: the events are sent as they come, to a script; else the answer is a redirect to ``following``.
    """

    arguments: Mapping[str, Any]
    is_streamed: bool
    following: str


class Consent(Struct, frozen=True):
    """The answer to a call of a run that waits: whether the person agrees."""

    run: str
    call: str
    agreed: bool


Answer = Callable[[Asked], Awaitable[View | Redirect | Run | Consent]]


class Page(Struct, frozen=True):
    """An address of the page, and who answers. ``nav`` is its name in the navigation."""

    method: str
    path: str
    answer: Answer
    scope: Scope = "read"
    nav: str = ""

"""The tables ``[mcp.NAME]``: MCP servers whose tools and resources the person uses. Pure.

They are read only from the person's own configuration, because each names a program to start or an address to call. The
file ``.mcp.json`` of other clients has the same values (``servers_of_json``); a person looks at it and imports it. What
depends on the environment stays ``${NAME}`` until a server is started, so no secret needs to be in a file.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from promptuary.base.errors import ConfigError
from promptuary.base.references import KEYWORDS, KINDS
from promptuary.base.values import shown_without
from promptuary.config.values import cut, integer, nearest, number

MOST_SERVERS: Final = 32
SEPARATOR: Final = "__"
"""Between the name of a server and that of its tool, as a model sees them."""
FOLDER: Final = "workspaceFolder"
"""The name, as in ``${workspaceFolder}``, that stands for the folder of the workspace."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
_LONGEST_NAME: Final = 32
_RESERVED: Final = frozenset({"codebase", "http", "https", "mcp", "path"})
"""What a message may mean otherwise, besides the kinds of references."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,127})(?::-([^{}]*))?\}")
_ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_MOST_PARTS: Final = 256
_LONGEST_PART: Final = 8_192
_KEYS: Final = (
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "tools",
    "reference",
    "start_timeout",
    "timeout",
    "result_tokens",
)


class NamedServer(Struct, frozen=True):
    """An MCP server: a program with its arguments and environment, or an address with its headers.

    ``tools`` are the names of the tools that models may be offered, ``*`` for any characters; none for a server of
    which only resources are used. ``reference`` is the tool that ``@NAME:value`` calls with the value, instead of
    reading a resource. ``start_timeout`` is how many seconds a turn waits for the server to start and to list its
    tools, ``timeout`` how many a call may take; ``result_tokens`` limits a result, 0 is a quarter of the window.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ("*",)
    reference: str = ""
    start_timeout: float = 10.0
    timeout: float = 60.0
    result_tokens: int = 0

    def __repr__(self) -> str:
        return shown_without(self, "env", "headers")  # somebody may have written a key into them

    @property
    def target(self) -> str:
        """What it is, in a form for people: its command line as it is written, or its address."""
        return self.url or " ".join((self.command, *self.args))

    @property
    def identity(self) -> str:
        """A hash of what is started or called, as it is written: consent is given for this and nothing else."""
        said = [self.command, self.args, sorted(self.env.items()), self.cwd, self.url, sorted(self.headers.items())]
        return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the person's environment that it gets, in order."""
        texts = (self.command, *self.args, self.cwd, *self.env.values(), self.url, *self.headers.values())
        found = dict.fromkeys(one[1] for text in texts for one in _VARIABLE.finditer(text))
        return tuple(name for name in found if name != FOLDER)

    def filled_in(self, environment: Mapping[str, str], folder: str) -> "NamedServer":
        """Return it with the values of its variables. Raises ``ConfigError`` if one is not set and has no default."""

        def fill(text: str) -> str:
            return _VARIABLE.sub(value, text)

        def value(found: re.Match[str]) -> str:
            if found[1] == FOLDER:
                return folder
            given = environment.get(found[1], "")
            if not given and found[2] is None:
                raise ConfigError(
                    f"the variable {found[1]}, which [mcp.{self.name}] uses, is not set; "
                    f"set it, or write ${{{found[1]}:-…}} with a default"
                )
            return given or found[2] or ""

        return NamedServer(
            self.name,
            fill(self.command),
            tuple(map(fill, self.args)),
            {name: fill(text) for name, text in self.env.items()},
            fill(self.cwd),
            fill(self.url),
            {name: fill(text) for name, text in self.headers.items()},
            self.tools,
            self.reference,
            self.start_timeout,
            self.timeout,
            self.result_tokens,
        )


def named_servers(tables: object, where: str) -> tuple[NamedServer, ...]:
    """Return the servers of a table of tables. Raises ``ConfigError``, whose message begins with ``where``."""
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{where} must be a table of servers, such as [mcp.docs]")
    if len(tables) > MOST_SERVERS:
        raise ConfigError(f"{where} names {len(tables)} servers; there may be {MOST_SERVERS}")
    return tuple(_server(str(name), given, where) for name, given in tables.items())


def servers_of_json(text: str, where: str) -> tuple[NamedServer, ...]:
    """Return the servers in the text of a ``.mcp.json``, or of a file of another client in that format.

    Raises ``ConfigError`` if it is not one. Keys that are not ours are left out.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {cut(str(error))}") from None
    tables = next((value[key] for key in ("mcpServers", "servers") if isinstance(value, dict) and key in value), None)
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise ConfigError(f"{where} has no servers: it must be an object with mcpServers, as other clients write it")
    known = ("command", "args", "env", "cwd", "url", "headers")
    kept = {name: {key: one[key] for key in known if one.get(key)} for name, one in tables.items()}
    return named_servers({_as_name(name): one for name, one in kept.items()}, where)


def _as_name(name: str) -> str:
    """Return a name of another client as ours, if it differs only in letters that a reference cannot have."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or name


def toml_table(server: NamedServer) -> str:
    """Return the table that defines a server, as it is written into the person's own configuration."""
    pairs: dict[str, object] = {"command": server.command, "args": list(server.args), "cwd": server.cwd}
    pairs |= {"url": server.url, "env": dict(server.env), "headers": dict(server.headers)}
    lines = [f"{key} = {_spelled(value)}" for key, value in pairs.items() if value]
    return "\n".join([f"[mcp.{server.name}]", *lines, ""])


def _spelled(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_spelled(str(key))} = {_spelled(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _server(name: str, given: object, where: str) -> NamedServer:
    _check_name(name, where)
    here = f"{where}: {name}"
    if not isinstance(given, Mapping):
        raise ConfigError(f"{here} must be a table with a command or a url")
    for key in given:
        if key not in _KEYS:
            meant = nearest(str(key), _KEYS)
            advice = f"did you mean {meant}?" if meant else f"use {', '.join(_KEYS)}"
            raise ConfigError(f"{here}.{cut(str(key))} is unknown; {advice}")
    server = NamedServer(
        name,
        command=_text(given, "command", here),
        args=_texts(given, "args", here),
        env=_pairs(given, "env", here, _ENVIRONMENT_NAME),
        cwd=_text(given, "cwd", here),
        url=_text(given, "url", here),
        headers=_pairs(given, "headers", here, _HEADER_NAME),
        tools=_texts(given, "tools", here) if "tools" in given else ("*",),
        reference=_text(given, "reference", here),
        start_timeout=number(given.get("start_timeout", 10.0), f"{here}.start_timeout", least=0.1, most=600.0),
        timeout=number(given.get("timeout", 60.0), f"{here}.timeout", least=0.1, most=3600.0),
        result_tokens=integer(given.get("result_tokens", 0), f"{here}.result_tokens", least=0, most=10**7),
    )
    _check_target(server, here)
    return server


def _check_name(name: str, where: str) -> None:
    if len(name) > _LONGEST_NAME or _NAME.fullmatch(name) is None:
        raise ConfigError(
            f"{where}: {cut(name)!r} cannot be the name of a server; use up to {_LONGEST_NAME} lower-case letters and "
            "digits, with single '-' or '_' between them"
        )
    if name in KINDS | KEYWORDS | _RESERVED:
        raise ConfigError(f"{where}: a server cannot be called {name}, since @{name} means something else; rename it")


def _check_target(server: NamedServer, here: str) -> None:
    if bool(server.command) == bool(server.url):
        raise ConfigError(f"{here} needs either command, the program to start, or url, the address to call")
    unused = ("headers",) if server.command else ("args", "env", "cwd")
    for key in unused:
        if getattr(server, key):
            what = "a url" if server.command else "a command"
            raise ConfigError(f"{here}.{key} has an effect only with {what}")
    if server.url and not server.url.startswith(("https://", "http://", "${")):
        raise ConfigError(f"{here}.url must begin with https://, or with http:// for a server on this machine")
    if server.cwd and not server.cwd.startswith(("/", "~", "${")):
        raise ConfigError(f"{here}.cwd must be a full path: write it from / or from ~, or ${{{FOLDER}}}")


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    return _part(given.get(key, ""), f"{where}.{key}")


def _texts(given: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > _MOST_PARTS:
        raise ConfigError(f"{where}.{key} must be a list of at most {_MOST_PARTS} texts")
    return tuple(_part(one, f"{where}.{key}") for one in value)


def _pairs(given: Mapping[str, Any], key: str, where: str, name: re.Pattern[str]) -> Mapping[str, str]:
    value = given.get(key, {})
    if not isinstance(value, Mapping) or len(value) > _MOST_PARTS:
        raise ConfigError(f"{where}.{key} must be a table of at most {_MOST_PARTS} texts")
    for one in value:
        if name.fullmatch(str(one)) is None:
            raise ConfigError(f"{where}.{key}: {cut(str(one))!r} cannot be a name there")
    return {str(one): _part(text, f"{where}.{key}.{one}") for one, text in value.items()}


def _part(value: object, where: str) -> str:
    # The value itself is in no message: it may be a secret.
    if not isinstance(value, str) or len(value) > _LONGEST_PART or any(mark in value for mark in "\0\r\n"):
        raise ConfigError(f"{where} must be text of one line, at most {_LONGEST_PART:,} characters")
    return value

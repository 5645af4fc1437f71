"""What a server says about its tools and resources, as far as it is used. Pure.

All of it is text of somebody else, which may change at any time: it is bounded and made visible, and what does not fit
is left out with a reason. A consent is for a hash of everything that the server said about a tool, and of the server.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from msgspec import Struct

from promptuary.base.text import beginning, one_line, valid_unicode, visible
from promptuary.config.tool_servers import SEPARATOR, NamedServer
from promptuary.models.chat_model import ToolSpec

MOST_TOOLS: Final = 64
"""Of one server."""
MOST_RESOURCES: Final = 1_000
_LONGEST_NAME: Final = 64
"""Of a tool with its server: what services of models accept."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_ARGUMENT: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LONGEST_DESCRIPTION: Final = 1_000
_LONGEST_SCHEMA: Final = 8_000
_DEEPEST: Final = 16
_LONGEST_URI: Final = 2_000
_MOST_REASONS: Final = 5


class ServerTool(Struct, frozen=True):
    """A tool of a server: how a model sees it, its ``name`` there, and the hash of its definition."""

    server: NamedServer
    name: str
    spec: ToolSpec
    digest: str

    @property
    def argument(self) -> str:
        """Its one needed argument, if that is a text: what a reference can give it. Empty if there is none."""
        needed = self.spec.parameters.get("required", ())
        properties = self.spec.parameters.get("properties", {})
        if not isinstance(needed, Sequence) or len(needed) != 1 or not isinstance(properties, Mapping):
            return ""
        shape = properties.get(needed[0], {})
        return str(needed[0]) if isinstance(shape, Mapping) and shape.get("type") == "string" else ""


class ServerResource(Struct, frozen=True):
    """A resource of a server as a menu offers it."""

    uri: str
    name: str
    description: str = ""


class Listing(Struct, frozen=True):
    """The tools and resources of a server that can be used, and a sentence for each that cannot."""

    tools: Sequence[ServerTool] = ()
    resources: Sequence[ServerResource] = ()
    left_out: Sequence[str] = ()


def usable_tools(server: NamedServer, said: Iterable[Mapping[str, Any]]) -> Listing:
    """Return the tools that models may be offered, of the definitions that a server sent."""
    found: dict[str, ServerTool] = {}
    left_out: list[str] = []
    for one in said:
        name = str(one.get("name", ""))
        if not is_wanted(server, name):
            continue
        if len(found) >= MOST_TOOLS:
            left_out.append(f"it has more than {MOST_TOOLS} tools; name those that you want in tools = […]")
            break
        tool = _tool(server, name, one)
        if name in found:
            left_out.append(f"{_shown(name)} is there twice")
        elif isinstance(tool, str):
            left_out.append(f"{_shown(name)} {tool}")
        else:
            found[name] = tool
    return Listing(tuple(found.values()), left_out=tuple(left_out[:_MOST_REASONS]))


def is_wanted(server: NamedServer, tool: str) -> bool:
    """Return whether the person wants models to be offered a tool, or has a reference call it."""
    return tool == server.reference or any(fnmatchcase(tool, pattern) for pattern in server.tools)


def usable_resources(said: Iterable[Mapping[str, Any]]) -> Listing:
    """Return the resources that can be referred to, of those that a server sent."""
    found: dict[str, ServerResource] = {}
    for one in said:
        uri = str(one.get("uri", ""))
        if len(found) >= MOST_RESOURCES:
            return Listing(
                resources=tuple(found.values()), left_out=(f"it has more than {MOST_RESOURCES:,} resources",)
            )
        if uri.isprintable() and 0 < len(uri) <= _LONGEST_URI:
            name, about = (_shown(str(one.get(key) or "")) for key in ("name", "description"))
            found.setdefault(uri, ServerResource(uri, name, about))
    return Listing(resources=tuple(found.values()))


def _tool(server: NamedServer, name: str, said: Mapping[str, Any]) -> ServerTool | str:
    """Return a tool, or why it cannot be used."""
    full, schema = f"{server.name}{SEPARATOR}{name}", said.get("inputSchema")
    if _NAME.fullmatch(name) is None or len(full) > _LONGEST_NAME:
        return f"has a name that models cannot call ({_LONGEST_NAME} letters, digits, - and _ with that of the server)"
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "does not say that its arguments are an object"
    if not _is_usable(schema):
        return "describes its arguments in a way that services of models refuse"
    try:
        if len(json.dumps(schema)) > _LONGEST_SCHEMA:
            return f"describes its arguments in more than {_LONGEST_SCHEMA:,} characters"
        parameters = _cleaned(schema, _DEEPEST)
        everything = json.dumps([server.identity, said], sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        return "describes its arguments in a way that cannot be followed"
    about = visible(valid_unicode(str(said.get("description") or said.get("title") or "")))[0]
    spec = ToolSpec(full, beginning(about.strip(), _LONGEST_DESCRIPTION), parameters)
    return ServerTool(server, name, spec, hashlib.sha256(everything.encode("utf-8", "surrogatepass")).hexdigest())


def _is_usable(schema: Mapping[str, Any]) -> bool:
    """Return whether services of models take the arguments: for one that is wrong, they refuse the whole request."""
    properties, needed = schema.get("properties", {}), schema.get("required", [])
    return (
        isinstance(properties, dict)
        and all(_ARGUMENT.fullmatch(name) and isinstance(shape, dict) for name, shape in properties.items())
        and isinstance(needed, list)
        and all(isinstance(name, str) and name in properties for name in needed)
    )


def _cleaned(value: Any, deep: int) -> Any:
    """Return a part of a schema with hidden characters spelled out. Raises ``ValueError`` if it is too deep."""
    if deep == 0:
        raise ValueError("too deep")
    if isinstance(value, dict):
        return {visible(valid_unicode(str(key)))[0]: _cleaned(one, deep - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_cleaned(one, deep - 1) for one in value]
    return visible(valid_unicode(value))[0] if isinstance(value, str) else value


def _shown(text: str) -> str:
    return beginning(one_line(valid_unicode(text)), 100)

"""What each address takes and answers: read off the signature of the method that it calls.

So a parameter that a method gets is one of the API, and the same for the server, the client and the OpenAPI document.
"""

import ast
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from promptuary import engine
from promptuary.api import values
from promptuary.api.endpoints import ENDPOINTS, Endpoint
from promptuary.api.values import OfferedTool, ServerCalls, TurnKey
from promptuary.base.blocks import nothing_shorter
from promptuary.base.messages import Answer, Message
from promptuary.memory import values as memory_values
from promptuary.references import expansion
from promptuary.threads import records, run_values
from promptuary.threads.prepared import Turn
from promptuary.threads.run_values import AnyModel

MAX_PAGE: Final = 1000
PAGE: Final = 100
"""How many elements of a list are answered, unless the request says otherwise."""

Place = Literal["path", "query", "body"]

_HIDDEN_TYPES: Final = (engine, memory_values, expansion, records, run_values)
"""Modules that import types only for type checkers, so that a start is fast."""

_BOUNDS: Final[Mapping[str, Meta]] = {
    "limit": Meta(ge=1, le=MAX_PAGE),
    "first_line": Meta(ge=1, le=2**53),
    "timeout": Meta(ge=0, le=60),
    "number": Meta(ge=-(2**53), le=2**53),
    "max_requests": Meta(ge=1, le=1000),
    "older_than_days": Meta(ge=0, le=100_000),
    "half_life_days": Meta(gt=0, le=100_000),
    "min_weight": Meta(ge=0, le=1),
    "window": Meta(ge=1, le=100_000_000),
}
"""Bounds of numbers, by the name of the parameter: what a method would not refuse itself, and a server has to."""

MAX_TOOLS: Final = 128


class Parameter(Struct, frozen=True):
    """A parameter of an operation. ``default`` is ``msgspec.NODEFAULT`` if it must be given."""

    name: str
    type: Any
    default: Any
    place: Place


class Operation:
    """A method that can be called over HTTP: its parameters, and what it returns."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.noun, _, self.name = endpoint.call.rpartition(".")
        self._function = _find_function(endpoint.call)

    @property
    def id(self) -> str:
        """How the OpenAPI document names it. A method with two addresses is named after what it does there."""
        return "memory.update" if self.endpoint.needs_match else self.endpoint.call

    @property
    def description(self) -> str:
        """The docstring of the method."""
        return inspect.getdoc(self._function) or ""

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self._function, _types(), include_extras=True)

    @cached_property
    def result(self) -> Any:
        """The type that is answered."""
        if self.endpoint.call == "threads.tools":
            return Sequence[OfferedTool]
        return self._hints["return"]

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """What a request holds."""
        path = set(_parts(self.endpoint.path))
        rest: Place = "query" if self.endpoint.method in {"GET", "DELETE"} else "body"
        found: list[Parameter] = []
        for name, given in list(inspect.signature(self._function).parameters.items())[1:]:
            if name in self.endpoint.without:
                continue
            if given.kind is inspect.Parameter.VAR_KEYWORD:
                fields = get_type_hints(get_args(self._hints[name])[0])
                found += [
                    Parameter(
                        field, _bounded(field, _wire(type_) | UnsetType), UNSET, "path" if field in path else rest
                    )
                    for field, type_ in fields.items()
                    if field not in self.endpoint.without
                ]
                continue
            default = msgspec.NODEFAULT if given.default is inspect.Parameter.empty else given.default
            if name == "turn" and "turn" in path:
                found.append(Parameter("thread", str, msgspec.NODEFAULT, "path"))
                found.append(Parameter("turn", _bounded("number", int), msgspec.NODEFAULT, "path"))
                continue
            type_ = _wire(self._hints[name])
            found.append(
                Parameter(name, str, msgspec.NODEFAULT, "path")
                if name in path
                else Parameter(name, _bounded(name, type_), default, rest)
            )
        if self.endpoint.call in {"threads.run", "threads.preview"}:  # tools are named, or described, over HTTP
            found.append(Parameter("tools", Annotated[Sequence[str], Meta(max_length=MAX_TOOLS)], (), rest))
            offered = Annotated[Sequence[OfferedTool], Meta(max_length=MAX_TOOLS)]
            found.append(Parameter("client_tools", offered, (), rest))
        if self.endpoint.page is not None:
            found = [one for one in found if one.name != "limit"]
            found.append(Parameter("limit", _bounded("limit", int), PAGE, rest))
            found.append(Parameter("cursor", str, "", rest))
        return found

    def at(self, *places: Place) -> list[Parameter]:
        """Return the parameters in these places."""
        return [one for one in self.parameters if one.place in places]

    @cached_property
    def body(self) -> type[Struct]:
        """The shape of the body."""
        return _shape(f"{self.id}.body", self.at("body"))

    @cached_property
    def address(self) -> type[Struct]:
        """The shape of what is in the address."""
        return _shape(f"{self.id}.address", self.at("path", "query"))

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """Reads an answer."""
        _types()
        return msgspec.json.Decoder(self.result, dec_hook=_decode_callable)

    @property
    def default_limit(self) -> int | None:
        """How many elements of a list the method returns if it is not told."""
        given = inspect.signature(self._function).parameters.get("limit")
        return None if given is None else given.default

    @property
    def many(self) -> frozenset[str]:
        """The parameters in the query that may be repeated."""
        return frozenset(one.name for one in self.at("query") if _is_list(one.type))

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The parameters in the query that are null if they are empty, since to leave them out means something else."""
        return frozenset(
            one.name for one in self.at("query") if isinstance(one.default, str) and NoneType in get_args(one.type)
        )


@cache
def operations() -> Mapping[str, Operation]:
    """Return every operation, by its method and address."""
    return {f"{one.method} {one.address}": Operation(one) for one in ENDPOINTS}


def encode(value: object) -> bytes:
    """Return the JSON of a value of ours. What cannot be in UTF-8 is replaced."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_sendable(to_builtins(value)))


def to_builtins(value: object) -> object:
    """Return a value of ours made of dicts, lists and the like."""
    return msgspec.to_builtins(value, enc_hook=_encode_callable)


def decode(data: bytes, type_: Any) -> Any:
    """Return a value of ours from its JSON."""
    _types()
    return msgspec.json.decode(data, type=type_, dec_hook=_decode_callable)


def _encode_callable(value: object) -> object:
    if isinstance(value, partial) or value is tuple:
        return value()  # the words of a query that a hit has, which are looked for on demand
    if callable(value):
        return None  # how a source could be shortened, which is known only where it was read
    raise NotImplementedError(f"a {type(value).__name__} cannot be sent")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode_callable)


def _decode_callable(type_: Any, value: Any) -> object:
    if get_origin(type_) is not Callable:
        return value  # anything that JSON has
    return nothing_shorter if value is None else lambda: tuple(value)


def _sendable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_sendable(key): _sendable(one) for key, one in value.items()}
        case list() | tuple():
            return [_sendable(one) for one in value]
        case _:
            return value


def _parts(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def _find_function(call: str) -> Callable[..., Any]:
    noun, _, name = call.rpartition(".")
    owner = getattr(engine, f"Async{noun.capitalize()}") if noun else engine.Promptuary
    found: Callable[..., Any] = getattr(owner, name, None) or getattr(ServerCalls, name)
    return found


@cache
def _types() -> dict[str, Any]:
    """Return the names in the annotations of ``engine``; completes the modules whose types are hidden."""
    for module in _HIDDEN_TYPES:
        _complete(module)
    return {**vars(values), **vars(engine)}


def _complete(module: ModuleType) -> None:
    """Import what ``module`` imports for type checkers only: msgspec looks types up in the module itself."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module.__name__, "exec"), vars(module))  # noqa: S102  (our own file)


def _wire(type_: Any) -> Any:
    """Return how a parameter of a type is sent."""
    if type_ is Turn:
        return TurnKey
    if type_ == Answer:
        return Any
    if type_ == Sequence[Message]:
        return Sequence[Mapping[str, Any]]  # as every provider spells them
    if type_ == AnyModel | None:
        return str | None
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in {Union, UnionType}:
        kept = [_wire(one) for one in arguments if one is not Path]
        return Union[tuple(kept)]  # noqa: UP007  (made of what is in a tuple)
    if origin is not None and Path in arguments:
        return origin[tuple(one for one in arguments if one is not Path)]
    if origin is not None and any(get_origin(one) in {Union, UnionType} for one in arguments):
        return origin[tuple(_wire(one) for one in arguments)]
    return type_


def _bounded(name: str, type_: Any) -> Any:
    bound = _BOUNDS.get(name)
    if bound is None:
        return type_
    arguments = get_args(type_) or (type_,)
    numbers = [one for one in arguments if one in {int, float}]
    others = [one for one in arguments if one not in {int, float}]
    bounded = tuple(Annotated[one, bound] for one in numbers) + tuple(others)
    return Union[bounded] if numbers else type_  # noqa: UP007


def _is_list(type_: Any) -> bool:
    inner = [one for one in get_args(type_) if one not in {NoneType, UnsetType}] if _is_union(type_) else [type_]
    return any(get_origin(one) in {Sequence, list, tuple} for one in inner)


def _is_union(type_: Any) -> bool:
    return get_origin(type_) in {Union, UnionType, typing.Union}


def _shape(name: str, parameters: Sequence[Parameter]) -> type[Struct]:
    fields = [
        (one.name, one.type) if one.default is msgspec.NODEFAULT else (one.name, one.type, one.default)
        for one in parameters
    ]
    # The title of its schema; every part of a name begins with a capital letter.
    title = "".join(part.capitalize() for part in name.replace("_", ".").split("."))
    return msgspec.defstruct(title, fields, kw_only=True, forbid_unknown_fields=True, module=__name__)

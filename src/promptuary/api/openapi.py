"""The OpenAPI document, made from the table of addresses and the signatures of the methods."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec import UNSET

from promptuary._version import __version__
from promptuary.api.endpoints import ENDPOINTS, PREFIX
from promptuary.api.operations import Operation, Parameter, operations
from promptuary.api.problems import Problem
from promptuary.api.values import CallWaits, RunBegun

_REF: Final = "#/components/schemas/{name}"
_KEYED: Final = frozenset({"POST", "PATCH", "DELETE"})
_TEXT_OF_TAGS: Final = {
    "": "Messages, and the server itself",
    "threads": "Conversations: their turns, what is attached, and what models saw",
    "search": "The file index",
    "memory": "Durable notes, and what is proposed to be remembered",
    "experiences": "What worked and what went wrong",
    "sessions": "What a conversation may see",
}


def document() -> bytes:
    """Return the document as JSON."""
    return msgspec.json.format(msgspec.json.encode(build()), indent=1)


def build() -> dict[str, Any]:
    """Return the document."""
    every = [operations()[f"{one.method} {one.address}"] for one in ENDPOINTS]
    types: list[Any] = [Problem, RunBegun, CallWaits]
    for operation in every:
        types += [one.type for one in operation.parameters]
        types += [operation.body] if operation.at("body") else []
        types += [operation.result] if operation.endpoint.form == "value" else []
    schemas, components = msgspec.json.schema_components(types, schema_hook=_custom, ref_template=_REF)
    # What the value computes, and every client but ours would have to.
    components["Turn"]["properties"]["messages"] = {"type": "array", "items": {"type": "object"}}
    # In the order in which they were asked for; the same type may be there twice.
    by_type = {id(type_): schema for type_, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for operation in every:
        described = _operation(operation, lambda type_: by_type[id(type_)])
        paths.setdefault(operation.endpoint.address, {})[operation.endpoint.method.lower()] = described
    paths[f"{PREFIX}/openapi.json"] = {"get": _own_document()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Promptuary",
            "version": __version__,
            "description": "A workspace over HTTP. docs/api.md begins with an example.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            {"url": "/", "description": "The only workspace that is served"},
            {
                "url": "/w/{workspace}",
                "description": "One of several workspaces",
                "variables": {"workspace": {"default": "main"}},
            },
        ],
        "security": [{"token": []}],
        "tags": [{"name": name or "messages", "description": text} for name, text in _TEXT_OF_TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Problem": _content("What went wrong", {"$ref": _REF.format(name="Problem")}, "problem+json")
            },
        },
    }


def _custom(type_: Any) -> dict[str, Any]:
    """Return the schema of what msgspec has none for: how a source could be shortened is not sent, words on demand are.

    Anything else may be any value.
    """
    if get_origin(type_) is not Callable:
        return {"description": "Any value"}
    return {"type": "array", "items": {"type": "string"}} if get_args(type_)[1] == tuple[str, ...] else {"type": "null"}


def _operation(operation: Operation, schema: Callable[[Any], Any]) -> dict[str, Any]:
    endpoint = operation.endpoint
    first, _, rest = operation.description.partition("\n\n")
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.noun or "messages"],
        "summary": " ".join(first.split()),
        **({"description": " ".join(rest.split())} if rest else {}),
        "x-scope": endpoint.scope,
        "parameters": [_parameter(one, schema) for one in operation.at("path", "query")],
    }
    if endpoint.needs_match:
        described["parameters"].append(
            _header("If-Match", "The ETag of the note that was read, in quotes, or *", required=True)
        )
    if endpoint.method in _KEYED and endpoint.form == "value":
        described["parameters"].append(
            _header("Idempotency-Key", "Sent again with the same key, a request is carried out once")
        )
    if endpoint.form == "events":
        described["parameters"].append(_header("Last-Event-ID", "The id of the last event that was seen"))
    if endpoint.method in {"POST", "PATCH"}:
        body = schema(operation.body) if operation.at("body") else {"type": "object", "maxProperties": 0}
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if endpoint.form == "value":
        answer = _content("The result", schema(operation.result))
        if endpoint.page is not None:
            answer["headers"] = {"Link": {"description": "The address of the next page", "schema": {"type": "string"}}}
    else:
        answer = _content("Events, one after another", {"type": "string"}, "", "text/event-stream")
    described["responses"] = {"200": answer, "default": {"$ref": "#/components/responses/Problem"}}
    return described


def _parameter(one: Parameter, schema: Callable[[Any], Any]) -> dict[str, Any]:
    described = dict(schema(one.type))
    if one.default is not msgspec.NODEFAULT and one.default is not UNSET:
        described["default"] = msgspec.to_builtins(one.default)
    required = one.place == "path" or one.default is msgspec.NODEFAULT
    if one.place == "path" and described.get("type") == "string":
        described["minLength"] = 1
    return {"name": one.name, "in": one.place, "required": required, "schema": described}


def _header(name: str, description: str, *, required: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    }


def _content(description: str, schema: Mapping[str, Any], kind: str = "json", whole: str = "") -> dict[str, Any]:
    return {"description": description, "content": {whole or f"application/{kind}": {"schema": schema}}}


def _own_document() -> dict[str, Any]:
    return {
        "operationId": "openapi",
        "tags": ["messages"],
        "summary": "Return this document.",
        "x-scope": "read",
        "responses": {"200": _content("This document", {"type": "object"})},
    }

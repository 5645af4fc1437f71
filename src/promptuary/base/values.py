"""What a value of ours does otherwise than its fields say: fields that are not shown, or do not count."""

from typing import Any

from msgspec import Struct


def shown_without(value: Struct, *hidden: str) -> str:
    """Return the ``repr`` of ``value`` without the fields ``hidden``: secrets, and what is too long to read."""
    shown = (f"{name}={field!r}" for name, field in pairs_without(value, *hidden))
    return f"{type(value).__name__}({', '.join(shown)})"


def pairs_without(value: Struct, *hidden: str) -> list[tuple[str, object]]:
    """Return the fields of ``value`` without those ``hidden``: the package Rich asks for them, not for the ``repr``."""
    return [(name, getattr(value, name)) for name in value.__struct_fields__ if name not in hidden]


def fields_without(value: Struct, *ignored: str) -> tuple[object, ...]:
    """Return what counts when ``value`` is compared: its fields without those that are ``ignored``."""
    return tuple(getattr(value, name) for name in value.__struct_fields__ if name not in ignored)


Json = Any
"""A value that JSON can represent; layer state is one."""

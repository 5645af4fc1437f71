"""The static layers that files of settings define: ``[layers.static.NAME]``. Pure.

Each shows one file on every turn. The person may name any of their files by its absolute path; a workspace only a file
inside it. Other modules read the file and create the layer.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from promptuary.base.errors import ConfigError
from promptuary.config.values import cut, integer, nearest, number

MAX_LAYERS: Final = 20
"""The most such layers."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAG: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
SCOPES: Final = ("thread", "user", "resource", "global", "execution")
"""The same as ``core.layers.Scope``, which would take longer to import than this whole module."""
_OPTIONS: Final = ("file", "tag", "slot", "scope", "budget", "reload")


class StaticLayer(Struct, frozen=True):
    """One file that is shown in the window; ``reload`` is when it is reread, in seconds or by name.

    ``budget`` is the least and the most tokens; without it, the file gets what fits. ``of_workspace``: a file of the
    workspace defines it, so ``file`` must be inside the workspace.
    """

    name: str
    file: str
    tag: str = "instructions"
    slot: int = 105
    scope: str = "resource"
    budget: tuple[int, int | None] | None = None
    reload: Literal["never", "on_change"] | float = "on_change"
    of_workspace: bool = False

    @property
    def id(self) -> str:
        """The id of the layer."""
        return f"static.{self.name}"


def static_layers(tables: object, where: str, *, of_workspace: bool) -> tuple[StaticLayer, ...]:
    """Return the layers of a table of tables. Raises ``ConfigError``, whose message begins with ``where``."""
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{where} must be a table of layers, such as [layers.static.style]")
    if len(tables) > MAX_LAYERS:
        raise ConfigError(f"{where} has {len(tables):,} layers; {MAX_LAYERS} are possible")
    return tuple(_layer(str(name), given, where, of_workspace) for name, given in tables.items())


def _layer(name: str, given: object, where: str, of_workspace: bool) -> StaticLayer:  # noqa: FBT001
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{where}: {cut(name)!r} cannot be a name; use letters, digits, '-' and '_'")
    if not isinstance(given, Mapping) or not given.get("file"):
        raise ConfigError(f'{where}: {name} needs a file, such as file = "docs/style.md"')
    values: dict[str, Any] = {key: _value(key, value, f"{where}: {name}.{cut(key)}") for key, value in given.items()}
    layer = StaticLayer(name, of_workspace=of_workspace, **values)
    if of_workspace and (layer.file.startswith(("/", "~")) or ".." in layer.file.split("/")):
        raise ConfigError(f"{where}: {name}.file must be inside the workspace; use your own configuration for others")
    return layer


def _value(key: str, value: object, where: str) -> object:
    match key:
        case "file" if isinstance(value, str):
            return value
        case "tag" if isinstance(value, str) and _TAG.fullmatch(value):
            return value
        case "scope" if value in SCOPES:
            return value
        case "slot":
            return integer(value, where, least=0, most=10**6)
        case "budget":
            return _budget(value, where)
        case "reload":
            return value if value in ("never", "on_change") else number(value, where, least=0, most=10**9)
        case "file" | "tag":
            raise ConfigError(f"{where} must be a {'path' if key == 'file' else 'name of letters and digits'}")
        case "scope":
            raise ConfigError(f"{where} must be one of: {', '.join(SCOPES)}")
    meant = nearest(key, _OPTIONS)
    raise ConfigError(f"{where} is unknown; {f'did you mean {meant}?' if meant else 'use ' + ', '.join(_OPTIONS)}")


def _budget(value: object, where: str) -> tuple[int, int | None] | None:
    if value == "auto":
        return None
    if not isinstance(value, Mapping):
        tokens = integer(value, where, least=0, most=10**10)
        return tokens, tokens
    if not value or not value.keys() <= {"min", "max"}:
        raise ConfigError(f"{where} must be a number of tokens, auto, or {{ min = 100, max = 500 }}")
    ends = {key: integer(one, f"{where}.{key}", least=0, most=10**10) for key, one in value.items()}
    if "max" in ends and ends["max"] < ends.get("min", 0):
        raise ConfigError(f"{where} has a min above its max")
    return ends.get("min", 0), ends.get("max")

"""A file of settings: TOML whose tables become the flat names of settings. It knows neither settings nor defaults."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptuary.base.errors import ConfigError
from promptuary.config.values import cut

STATIC_LAYERS: Final = "static_layers"
"""The setting for the tables of ``[layers.static]``."""
_TABLES: Final = ("recall", "writeback")
"""Settings with these prefixes may be written in a table with that name."""
SHORT_NAMES: Final = {"scoring_model": "file_reference_scoring_model"}
"""Aliases of settings, which match the names of related settings."""
_COMPACTION: Final = ("history_", "compact_", "shorten_", "summary_")
"""The prefixes of settings that may be written in ``[compaction]``; ``compact_`` can be left out there."""
_KEY: Final = r"""(?:[\w-]++|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"|'[^'\n]*+')"""
_MAX_DEPTH: Final = 16
_MAX_TABLES: Final = 20_000
# tomllib takes quadratic time and memory for a key of many parts, and a kilobyte for every table.
_DEEP_KEY: Final = rf"(?<![\w\\-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{_MAX_DEPTH}}}"


def parse_settings(text: str, name: str) -> Mapping[str, Any]:
    """Parse a file. Raises ``ConfigError`` if it is not TOML, or more complex than settings need."""
    import tomllib  # noqa: PLC0415  (most workspaces have no settings file)

    if re.search(_DEEP_KEY, text):
        raise ConfigError(f"{name} is too complex: a key in it has more than {_MAX_DEPTH} parts")
    if sum(map(text.count, ".[{")) > _MAX_TABLES:
        raise ConfigError(f"{name} is too complex: it can have at most {_MAX_TABLES:,} dots and opening brackets")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not valid TOML: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{name} is not valid TOML: a number in it is too long") from error
    except RecursionError as error:
        raise ConfigError(f"{name} is not valid TOML: it is nested too deeply") from error


def without_tables(values: Mapping[str, Any], origin: str) -> Mapping[str, Any]:
    """Return settings with their tables flattened: a key of ``[recall]`` gets that prefix."""
    flat = dict(values)
    for table in _TABLES:
        if isinstance(values.get(table), dict):
            for key, value in flat.pop(table).items():
                name = f"{table}_{key}"
                if name in flat:
                    raise ConfigError(f"{cut(name)} in {origin} is set twice, once as {cut(key)} in [{table}]")
                flat[name] = value
    _layer_tables(flat, origin)
    for short in flat.keys() & SHORT_NAMES.keys():
        if SHORT_NAMES[short] in flat:
            raise ConfigError(f"{SHORT_NAMES[short]} in {origin} is set twice, once as {short}")
        flat[SHORT_NAMES[short]] = flat.pop(short)
    return flat


def spellings(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths at which a file may have a setting: by itself, by a short name, and in tables."""
    yield (name,)
    yield from ((short,) for short, long in SHORT_NAMES.items() if long == name)
    yield from ((table, name.removeprefix(f"{table}_")) for table in _TABLES if name.startswith(f"{table}_"))
    if name.startswith(_COMPACTION):
        yield from (("compaction", key) for key in {name, name.removeprefix("compact_")})
    # The tables of layers have the prefixes of their settings as names.
    yield from (("layers", name[:place], name[place + 1 :]) for place, char in enumerate(name) if char == "_")


def _layer_tables(flat: dict[str, Any], origin: str) -> None:
    """Rename the keys in the tables of ``layers`` and in ``[compaction]``, in place."""
    compaction = flat.pop("compaction", {})
    layers = flat.pop("layers", {})
    for name, table in {
        "compaction": compaction,
        "layers": layers,
        **(layers if isinstance(layers, dict) else {}),
    }.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{cut(str(name))} in {origin} must be a table")
    renamed = {key if key.startswith(_COMPACTION) else f"compact_{key}": value for key, value in compaction.items()}
    for layer, table in layers.items():
        if layer == "static":
            renamed[STATIC_LAYERS] = table
        else:
            # An unknown one gets the error of an unknown setting.
            renamed |= {f"{layer}_{key}": value for key, value in table.items()}
    for name, value in renamed.items():
        if name in flat:
            raise ConfigError(f"{cut(name)} in {origin} is set twice, once in a table")
        flat[name] = value


def workspace_table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the settings in the file called ``name`` of a workspace."""
    for key in ("tool", "promptuary") if name == "pyproject.toml" else ():
        values = values.get(key, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{key} in {name} must be a table")
    return without_tables(values, name)

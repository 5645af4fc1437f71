"""Converts one value, as written in a file, a variable or a call, to the type of its setting. Pure.

Knows types, bounds and error messages; not where values come from nor which of them wins.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from promptuary.base.errors import ConfigError
from promptuary.base.text import beginning
from promptuary.tokens.counting import VOCABULARIES

_MAX_SHOWN: Final = 60
# No size has more digits, and Python refuses to parse or print thousands of them.
_SIZE = re.compile(r"(?P<digits>[0-9][0-9_]{0,17})(?P<unit>|[kmg](?:i?b)?|b)")
_SPELLED: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_BOUNDS: Final[Mapping[str, tuple[float, float, str]]] = {
    "window": (100, 10**10, "tokens"),
    "budget": (0, 10**10, "tokens"),
    "reply_reserve": (0, 10**10, "tokens"),
    "max_file_size": (1, 10**12, "bytes"),
    "timeout": (0.001, 10**6, "seconds"),
    "fetch_timeout": (0.001, 10**6, "seconds"),
    "chunk_tokens": (16, 100_000, "tokens"),
    "chunk_overlap": (0, 50_000, "tokens"),
    "rerank_timeout": (0.01, 600, "seconds"),
    "watch_debounce": (0.0, 60.0, "seconds"),
    "memory_tokens": (0, 10**10, "tokens"),
    "experience_tokens": (0, 10**10, "tokens"),
    "recorded_days": (0, 36_500, "days"),
    "recall_tokens": (0, 10**10, "tokens"),
    "recall_timeout_ms": (1, 600_000, "milliseconds"),
    "recall_max_selected": (1, 50, "notes"),
    "model_timeout": (0.01, 3600, "seconds"),
    "model_max_tokens": (0, 10**7, "tokens"),
    "model_window": (0, 10**10, "tokens"),
    "model_input_price": (0.0, 10**6, "dollars"),
    "model_output_price": (0.0, 10**6, "dollars"),
    "model_cached_price": (0.0, 10**6, "dollars"),
    "compact_keep": (0, 10**6, "messages"),
    "shorten_over": (80, 10**10, "tokens"),
    "shorten_to": (40, 10**10, "tokens"),
    "summary_tokens": (100, 10**10, "tokens"),
    "summary_least": (0, 10**10, "tokens"),
    "summary_input": (1000, 10**10, "tokens"),
    "summary_timeout": (0.001, 10**6, "seconds"),
    "file_reference_slot": (0, 10**6, ""),
    "file_reference_max_file_size": (0, 10**12, "bytes"),
    "file_reference_max_files": (1, 10_000, "files"),
    "instructions_slot": (0, 10**6, ""),
    "instructions_max_bytes": (1, 10**8, "bytes"),
    "instructions_max_file_bytes": (1, 10**8, "bytes"),
    "instructions_budget": (0, 10**10, "tokens"),
}
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "index": ("embedded", "database"),
    "notes": ("files", "database"),
    "vocabulary": ("", *VOCABULARIES),
    "model_provider": ("openai", "anthropic", "pydantic-ai"),
    "recall_mode": ("hybrid_async", "legacy_blocking"),
    "writeback_wait_policy": ("never_wait", "soft_drain"),
}
_TAG: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")


def convert(name: str, value: object, where: str, default: object) -> object:
    """Return ``value`` in the type of ``default``; text is parsed.

    Raises ``ConfigError``, whose message begins with ``where``.
    """
    match default:
        case bool():
            return _boolean(value, where)
        case int():
            return _check_bounds(name, _integer(value, where), where)
        case float() if name.endswith("_share"):
            return _share(value, where)
        case float():
            return _check_bounds(name, _number(value, where), where)
        case tuple():
            return _names(value, where)
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be text, not {_format(value)}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigError(
            f"{where} is unknown: {_format(value)}; use one of: {', '.join(filter(None, _CHOICES[name]))}"
        )
    if name == "memory_folder" and (unknown := set(_PLACEHOLDER.findall(value)) - {"{user}", "{thread}"}):
        raise ConfigError(f"{where} knows {{user}} and {{thread}}, not {_format(min(unknown))}")
    if name.endswith("_tag") and _TAG.fullmatch(value) is None:
        raise ConfigError(f"{where} must be a name of letters and digits, not {_format(value)}")
    return value


def integer(value: object, where: str, *, least: int, most: int) -> int:
    """Return ``value``, or the text that spells it, as a whole number. Raises ``ConfigError`` if it is not one."""
    found = _integer(value, where)
    if not least <= found <= most:
        raise ConfigError(f"{where} must be between {least:,} and {most:,}, not {_format(found)}")
    return found


def number(value: object, where: str, *, least: float, most: float) -> float:
    """Return ``value``, or the text that spells it, as a number. Raises ``ConfigError`` if it is not one."""
    found = _number(value, where)
    if not least <= found <= most:
        raise ConfigError(f"{where} must be between {least:,} and {most:,}, not {_format(found)}")
    return found


def _boolean(value: object, where: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _SPELLED:
        return _SPELLED[value.strip().lower()]
    raise ConfigError(f"{where} must be true or false, not {_format(value)}")


def _integer(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    spelled = _SIZE.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    if spelled is None:
        raise ConfigError(f"{where} must be a whole number (128000, 128k, 2MB), not {_format(value)}")
    scale = 1024 if "b" in spelled["unit"] else 1000
    steps = "kmg".find(spelled["unit"][:1] or "-") + 1
    return int(spelled["digits"].replace("_", "")) * math.prod([scale] * steps)


def _number(value: object, where: str) -> float:
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            percent = isinstance(value, str) and value.rstrip().endswith("%")
            number = float(value.rstrip().removesuffix("%") if isinstance(value, str) else value)
            if math.isfinite(number):
                return number / 100 if percent else number
    except (ValueError, OverflowError):
        pass
    raise ConfigError(f"{where} must be a number, not {_format(value)}")


def _share(value: object, where: str) -> float:
    share = _number(value, where)
    if 0 < share <= 1:
        return share
    advice = f"; did you mean {share:g}%?" if 1 < share <= 100 else ""
    raise ConfigError(f"{where} must be above 0 and at most 1 (or 100%), not {_format(value)}{advice}")


def _check_bounds(name: str, number: float, where: str) -> float:
    least, most, unit = _BOUNDS[name]
    if not least <= number <= most:
        raise ConfigError(
            f"{where} must be between {least:,} and {most:,} {unit}".rstrip() + f", not {_format(number)}"
        )
    return number


def _names(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ConfigError(f"{where} must be a list of names, not {_format(value)}")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of ``names`` that is most similar to ``name``, or ``None`` if none is similar."""
    import difflib  # noqa: PLC0415  (only a mistake needs it)

    return next(iter(difflib.get_close_matches(cut(name), names, n=1, cutoff=0.5)), None)


def cut(text: str) -> str:
    """Return ``text``, shortened if it is too long for a sentence."""
    return beginning(text, _MAX_SHOWN)


def _format(value: object) -> str:
    try:
        return cut(repr(value))
    except (ValueError, RecursionError):
        return "a value that is too long to show"

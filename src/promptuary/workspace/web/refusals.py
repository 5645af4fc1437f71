"""Turns the refusal of a service into one sentence for the person: why, and what to do. Pure.

The body of a refusal is untrusted text in any format. The key that was sent is never part of the sentence.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Final

from promptuary.base.text import one_line

_MAX_BYTES: Final = 64 * 1024
"""How many bytes of a body are read."""
_MAX_LENGTH: Final = 300
"""How many characters of a service's own words are shown."""
_MIN_KEY: Final = 8
"""What has fewer characters is no key: local servers are given any word, which may be a part of every message."""
_BEGINNING: Final = 6
"""A word that begins with this many characters of the key counts as a part of it: some services repeat its ends."""
_SECONDS: Final = re.compile(r"\d{1,6}(\.\d{1,6})?")


def refusal(where: str, status: int, said: str, *, wait: float = 0.0, has_key: bool = False, advice: str = "") -> str:
    """Return the sentence: ``where`` is the service, ``said`` its own words, ``advice`` what to do about the key."""
    why = f"HTTP status {status}{f': {said}' if said else ''}"
    match status:
        case 401 | 403 if has_key:
            sentence = f"{where} does not accept the key{' for this' if status == 403 else ''} ({why}); "
            return f"{sentence}{advice or 'check it'}."
        case 401 | 403 if advice:
            return f"{where} requires a key, and none is configured ({why}); {advice}."
        case _ if 300 <= status < 400:
            return f"{where} redirects, which is not followed; configure the address that it redirects to."
        case 429:
            later = f"; it asks to wait {wait:,.0f} seconds" if wait else ""
            return f"{where} is rate limiting ({why}){later}."
        case 529:
            return f"{where} is busy ({why})."
        case 404:
            return f"{where} answers with {why}; check the address and the name of the model."
        case _:
            return f"{where} answers with {why}."


def words_of(body: bytes, key: str) -> str:
    """Return a service's error message on one line and without the key; empty if it is not readable."""
    text = body[:_MAX_BYTES].decode("utf-8", "replace")
    try:
        said = _message(json.loads(text))
    except (ValueError, RecursionError):
        said = ""
    if not said and text.lstrip().startswith("<"):
        return ""  # a page for browsers: it is not from the service
    shown = one_line(" ".join((said or text).split()))
    return without_key(shown, key)[:_MAX_LENGTH].rstrip(" .")


def without_key(text: str, key: str) -> str:
    """Return ``text`` with an ellipsis for the key and for every word that begins like it."""
    if len(key) < _MIN_KEY:
        return text
    return re.sub(rf"{re.escape(key[:_BEGINNING])}\S*", "…", text.replace(key, "…"))


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Return the retry delay that a service asks for, given as seconds or a date; zero if it asks for none."""
    asked = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        return float(asked)
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  (slow, and seldom needed)

    try:
        return max(parsedate_to_datetime(asked).timestamp() - time.time(), 0.0) if asked else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _message(value: object) -> str:
    """Return the message in an error in the formats that services use; empty if it is none of them."""
    match value:
        case {"error": dict() as error}:
            return _message(error)
        case {"error": str(said)} | {"message": str(said)} | {"detail": str(said)} | {"msg": str(said)}:
            return said
        case {"detail": [first, *_]} | {"errors": [first, *_]} | [first, *_]:
            return first if isinstance(first, str) else _message(first)
        case _:
            return ""

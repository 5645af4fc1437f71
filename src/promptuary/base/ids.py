"""Ids of things that are created: unique, and sortable by the time of creation."""

import secrets
import time


def new_id(kind: str) -> str:
    """Return a new id such as ``turn-018f3a2b6c1d-9e4f0a5c77d1``: its kind, the time, and 48 random bits."""
    return f"{kind}-{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(6)}"

"""Names for things that are made: unique, sortable by when they were made, short enough to type."""

import secrets
import time


def new_id(kind: str) -> str:
    """Return a new name such as ``turn-018f3a2b6c1d-9e4f0a``."""
    return f"{kind}-{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(3)}"

"""The current time as it is stored: ISO 8601 in UTC."""

from datetime import UTC, datetime


def now() -> str:
    """Return the current time to the millisecond, as threads and experiences store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now_in_seconds() -> str:
    """Return the current time to the second, as notes store it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

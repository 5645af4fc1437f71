"""The age of a note, by the dates stored in it: those of files change when they are copied or cloned. Pure."""

from datetime import UTC, datetime
from typing import Final

from promptuary.memory.values import NoteHeader

_DAY: Final = 86_400.0
_DAYS: Final = len("2026-01-31")
_MINUTES: Final = len("2026-01-31T09:30")


def change_time(header: NoteHeader) -> float | None:
    """Return when a note was last changed, in seconds since 1970; ``None`` if that is unknown."""
    return _moment(header.updated_at) if header.updated_at else _moment(header.created_at)


def change_day(header: NoteHeader) -> str:
    """Return the day on which a note was last changed; empty if that is unknown."""
    return "" if change_time(header) is None else (header.updated_at or header.created_at)[:_DAYS]


def age_in_days(header: NoteHeader, now: str) -> float | None:
    """Return how many days ago a note was last changed; ``None`` if that is unknown. A future date counts as now."""
    then, today = change_time(header), _moment(now)
    return None if then is None or today is None else max(0.0, (today - then) / _DAY)


def freshness(header: NoteHeader, now: str) -> str:
    """Return when a note was written; if that is more than a day ago or unknown, with a warning."""
    age = age_in_days(header, now)
    if age is None:
        return "of unknown age: check it before you rely on it"
    days = int(age)
    written = header.updated_at or header.created_at
    if days < 1:
        return f"written {written[:_MINUTES].replace('T', ' ')}"
    ago = "yesterday" if days == 1 else f"{days:,} days ago"
    return f"written {ago}, {written[:_DAYS]}: check it before you rely on it"


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None

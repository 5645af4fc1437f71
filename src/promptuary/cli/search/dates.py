"""Parses dates: a day, a day with a time, or a time ago such as ``2w``. Pure."""

import re
from datetime import UTC, date, datetime, timedelta

# At most eight digits: no duration needs more, and Python refuses to parse numbers with thousands of digits.
_AGO = re.compile(r"(\d{1,8})([dwmy])", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def moment(text: str, now: datetime, *, after: bool = False) -> int:
    """Return ``text`` as seconds since 1970; with ``after``, a day means its end.

    Days are in UTC, like the dates of files. Raises ``ValueError`` with a sentence about the accepted formats.
    """
    spelled = text.strip()
    try:
        if ago := _AGO.fullmatch(spelled.lower()):
            day = _before(now, int(ago[1]), ago[2]).replace(hour=0, minute=0, second=0, microsecond=0)
            return int((day + timedelta(days=after)).timestamp())
        if _DAY.fullmatch(spelled):
            day = datetime.combine(date.fromisoformat(spelled), datetime.min.time(), UTC)
            return int((day + timedelta(days=after)).timestamp())
        exact = datetime.fromisoformat(spelled)
        return int((exact if exact.tzinfo else exact.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        accepted = "a date (2026-01-31, 2026-01-31T15:00) nor a time ago (7d, 2w, 3m, 1y)"
        raise ValueError(f"{text[:60]!r} is neither {accepted}") from None


def _before(now: datetime, count: int, unit: str) -> datetime:
    if unit in "dw":
        return now - timedelta(days=count * (7 if unit == "w" else 1))
    months = now.year * 12 + now.month - 1 - count * (12 if unit == "y" else 1)
    year, month = divmod(months, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    # The 31st of a shorter month is its last day.
    return now.replace(year=year, month=month + 1, day=min(now.day, (following - timedelta(days=1)).day))

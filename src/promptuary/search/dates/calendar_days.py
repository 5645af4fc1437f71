"""Days, weeks and months around today, each as its first day and the first after it. Pure."""

from datetime import date, timedelta
from typing import TypeAlias

Days: TypeAlias = tuple[date, date]


def one_day(day: date) -> Days:
    """Return a single day."""
    return day, day + timedelta(1)


def period(unit: str, offset: int, today: date) -> Days:
    """Return the day, week, weekend, month or year that is ``offset`` after that of today."""
    monday = today - timedelta(today.weekday())
    match unit:
        case "week":
            return monday + timedelta(7 * offset), monday + timedelta(7 * offset + 7)
        case "weekend":
            return monday + timedelta(7 * offset + 5), monday + timedelta(7 * offset + 7)
        case "month":
            first = month_after(today.replace(day=1), offset)
            return first, month_after(first, 1)
        case "year":
            return date(today.year + offset, 1, 1), date(today.year + offset + 1, 1, 1)
        case _:
            return one_day(today + timedelta(offset))


def month_after(day: date, count: int) -> date:
    """Return the same day some months later, or the last of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(1)).day))


def ago(number: int, unit: str, today: date) -> Days:
    """Return the days that an "ago" phrase means, as precisely as people count: a week ago is not one exact day."""
    match unit:
        case "week":
            then, spare = today - timedelta(7 * number), 3
        case "month":
            then, spare = month_after(today, -number), 15
        case "year":
            then, spare = month_after(today, -12 * number), 182
        case _:
            then, spare = today - timedelta(number), 0
    return then - timedelta(spare), then + timedelta(spare + 1)


def weekday_of(offset: int, weekday: int, today: date) -> Days:
    """Return a day of the week that is ``offset`` after this one."""
    return one_day(today - timedelta(today.weekday()) + timedelta(7 * offset + weekday))


def last_weekday(weekday: int, today: date) -> Days:
    """Return the last day before today that is this day of the week."""
    return one_day(today - timedelta((today.weekday() - weekday - 1) % 7 + 1))


def next_weekday(weekday: int, today: date) -> Days:
    """Return the next day after today that is this day of the week."""
    return one_day(today + timedelta((weekday - today.weekday() - 1) % 7 + 1))


def last_day_like(year: int | None, month: int, day: int, today: date) -> Days:
    """Return a day of a year, or else the last such day that is not after today."""
    found = date(year or today.year, month, day)
    return one_day(found if year or found <= today else found.replace(year=found.year - 1))


def last_months_like(year: int | None, month: int, count: int, today: date) -> Days:
    """Return some months of a year, or else the last such months that have begun."""
    first = date(year or today.year, month, 1)
    if not year and first > today:
        first = first.replace(year=first.year - 1)
    return first, month_after(first, count)

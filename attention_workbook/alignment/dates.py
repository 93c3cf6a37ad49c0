"""The dates: twenty-one ways in which people write one, and the rules that read them back."""

import calendar
import datetime
import re
import tomllib
from functools import cache
from pathlib import Path

from attention_workbook.arguments import require_a

__all__ = ["FORMATS", "days", "parse_date", "split_dates", "write_date"]

FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
_KNOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MONTHS = {name: words.split() for name, words in _KNOWN["months"].items()}
WEEKDAYS = {name: words.split() for name, words in _KNOWN["weekdays"].items()}
FORMATS: tuple[str, ...] = tuple(_KNOWN["formats"])


def write_date(date: datetime.date, form: str) -> str:
    """Write a date in one of the ways of :data:`FORMATS`.

    Parameters
    ----------
    date : datetime.date
    form : str
        A template with fields for the day, ``d`` or ``dd`` with a leading zero, the month, ``m``,
        ``mm`` or its name in a language, and the year ``y``.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        If ``date`` is none, or ``form`` no such template.

    Examples
    --------
    >>> date = datetime.date(2010, 11, 1)
    >>> write_date(date, "{english} {nth}, {y}"), write_date(date, "{jour} {premier} {french} {y}")
    ('November 1st, 2010', 'lundi 1er novembre 2010')
    """
    require_a("date", date, datetime.date)
    require_a("form", form, str)
    day, month = date.day, date.month
    fields: dict[str, object] = {"y": date.year, "m": month, "d": day}
    fields |= {"mm": f"{month:02}", "dd": f"{day:02}", "nth": f"{day}{_ending(day)}"}
    fields |= {"premier": "1er" if day == 1 else day}
    fields |= {name: words[month - 1] for name, words in MONTHS.items()}
    fields |= {name: words[date.weekday()] for name, words in WEEKDAYS.items()}
    try:
        return form.format(**fields)
    except (AttributeError, LookupError, TypeError, ValueError):  # what a wrong template raises
        expected = f"a template with the fields {', '.join(fields)}"
        raise ValueError(f"form: expected {expected}, got {form!r}") from None


def _ending(day: int) -> str:
    """What English hangs on the number of a day."""
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def parse_date(text: str) -> datetime.date:
    """Read a date by rules: what a network has to learn from examples, written down.

    Capitals do not count. Everything else does: who writes another way is refused, not guessed at.

    Parameters
    ----------
    text : str

    Returns
    -------
    datetime.date

    Raises
    ------
    TypeError
        If ``text`` is no string.
    ValueError
        If the text is written in none of the ways of :data:`FORMATS`, if there is no such date,
        or if the weekday is another one.

    Examples
    --------
    >>> parse_date("12. November 2010"), parse_date("12/11/2010")
    (datetime.date(2010, 11, 12), datetime.date(2010, 12, 11))
    >>> parse_date("31 February 2010")
    Traceback (most recent call last):
        ...
    ValueError: There is no such date as 2010-02-31: February 2010 has 28 days.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: expected a date as a string, got {type(text).__name__}")
    for form, pattern in _patterns().items():
        if match := pattern.fullmatch(text.strip().lower()):
            date = real_date(*_numbers(match.groupdict()))
            if (right := write_date(date, form)).lower() != text.strip().lower():
                raise ValueError(f"“{text}” contradicts itself: it would have to be “{right}”.")
            return date
    raise ValueError(f"“{text}” is written in none of the {len(FORMATS)} ways that are known here.")


def real_date(year: int, month: int, day: int) -> datetime.date:
    """Return a date, or say in a sentence why there is none.

    Examples
    --------
    >>> real_date(2011, 2, 29)
    Traceback (most recent call last):
        ...
    ValueError: There is no such date as 2011-02-29: February 2011 has 28 days.
    """
    none = f"There is no such date as {year:04}-{month:02}-{day:02}"
    if not 1 <= year <= 9999:
        raise ValueError(f"{none}: years go from 1 to 9999.")
    if not 1 <= month <= 12:
        raise ValueError(f"{none}: months go from 1 to 12.")
    length = calendar.monthrange(year, month)[1]
    if not 1 <= day <= length:
        raise ValueError(f"{none}: {calendar.month_name[month]} {year} has {length} days.")
    return datetime.date(year, month, day)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """For each format, what finds its numbers and names in lower-case letters."""
    two = r"\d\d"
    fields = {"y": r"\d{4}", "m": r"\d\d?", "d": r"\d\d?", "mm": two, "dd": two}
    fields |= {"nth": r"\d\d?(?:st|nd|rd|th)", "premier": r"1er|\d\d?"}
    for name, words in (MONTHS | WEEKDAYS).items():
        fields[name] = "|".join(words).lower()
    groups = {name: f"(?P<{name}>{pattern})" for name, pattern in fields.items()}
    return {form: re.compile(re.sub(r"[.]", r"\\.", form).format(**groups)) for form in FORMATS}


def _numbers(parts: dict[str, str]) -> tuple[int, int, int]:
    """Year, month and day of what a pattern has found."""
    numbers = {}
    for name, text in parts.items():
        if name in MONTHS:
            numbers["m"] = [word.lower() for word in MONTHS[name]].index(text) + 1
        elif name not in WEEKDAYS:
            kind = "d" if name in ("nth", "premier") else name[0]
            numbers[kind] = int(re.match(r"\d+", text)[0])  # type: ignore[index]
    return numbers["y"], numbers["m"], numbers["d"]


@cache
def days() -> tuple[datetime.date, ...]:
    """Return every day from 1900 to 2099, in order.

    Examples
    --------
    >>> len(days()), str(days()[-1])
    (73049, '2099-12-31')
    """
    return tuple(map(datetime.date.fromordinal, range(FIRST.toordinal(), LAST.toordinal() + 1)))


def split_dates() -> tuple[list[datetime.date], list[datetime.date]]:
    """Return the dates to learn from and those to be tested on: every tenth day is tested on.

    A date that is tested on was never seen in training, however it is written.

    Returns
    -------
    train, test : list of datetime.date

    Examples
    --------
    >>> train, test = split_dates()
    >>> len(train), len(test), {*train} & {*test}
    (65744, 7305, set())
    """
    train = [date for date in days() if date.toordinal() % 10]
    test = [date for date in days() if date.toordinal() % 10 == 0]
    return train, test

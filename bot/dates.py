"""Days and periods in words, in the three languages."""

from datetime import datetime, timedelta

from bot.texts import say_plain
from knowledge.language import Language

# Shorter periods are told with their hours: a digest may come twice a day.
_SHORT = timedelta(hours=20)
_HALF_A_DAY = timedelta(hours=12)


def period(language: Language, start: datetime, end: datetime) -> str:
    """ "23–29 November": the days that are in the period for the most part, by their own clocks."""
    if end - start < _SHORT:
        if start.date() == end.date():
            times = from_to(language, _time(start), _time(end))
            return say_plain(language, "day_and_time", day=day(language, start), time=times)
        return from_to(language, *(day_and_time(language, moment) for moment in (start, end)))
    last = max(start, end - _HALF_A_DAY)
    if start.date() == last.date():
        return day(language, start)
    if (start.year, start.month) == (last.year, last.month):
        return say_plain(language, "days_of_a_month", first=start.day, last=last.day, month=start.month)
    with_year = start.year != last.year
    return from_to(language, *(day(language, moment, with_year=with_year) for moment in (start, last)))


def since(language: Language, moment: datetime, now: datetime) -> str:
    """ "since Tuesday", or by its date what is a week old; both times in the same zone."""
    days = (now.date() - moment.date()).days
    if days <= 0:
        return say_plain(language, "since_today")
    if days < 7:
        return say_plain(language, "since_weekday", weekday=moment.weekday())
    when = day(language, moment, with_year=moment.year != now.year)
    return say_plain(language, "since_day", day=when)


def day(language: Language, moment: datetime, *, with_year: bool = False) -> str:
    """ "29 November", "29 November 2026"."""
    params = {"day": moment.day, "month": moment.month}
    if with_year:
        return say_plain(language, "day_of_a_year", **params, year=moment.year)
    return say_plain(language, "day", **params)


def day_and_time(language: Language, moment: datetime) -> str:
    return say_plain(language, "day_and_time", day=day(language, moment), time=_time(moment))


def from_to(language: Language, start: str, end: str) -> str:
    return say_plain(language, "from_to", start=start, end=end)


def _time(moment: datetime) -> str:
    return f"{moment:%H:%M}"

"""When the digest is due: a crontab line in a time zone, and the scheduler that fires then."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from operator import attrgetter
from zoneinfo import ZoneInfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger

from knowledge.digests import Slot

_TINY = timedelta(microseconds=1)

# No clock is set forward or back by more.
_CLOCK_CHANGE = timedelta(hours=3)

# From one leap day to the next it can be eight years.
_LONGEST = timedelta(days=16 * 366)

_WEEKDAY = "(?:mon|tue|wed|thu|fri|sat|sun)"
_WEEKDAYS = re.compile(rf"\*|{_WEEKDAY}(?:-{_WEEKDAY})?(?:,{_WEEKDAY}(?:-{_WEEKDAY})?)*")

_LEAP_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


class BadSchedule(ValueError):
    """A crontab line or time zone that cannot be used; the sentence says what it may be."""


def parse_cron(text: str) -> CronTrigger:
    """When a crontab line fires, on a clock without a zone (it says UTC); raises `BadSchedule`.

    Weekdays are names: of numbers crontab calls Sunday 0 and APScheduler Monday, so that `0 9 * * 1` would
    fire on Tuesday. Nor are days of the month and weekdays given both: crontab takes days that are either,
    APScheduler those that are both.
    """
    fields = text.lower().split()
    if len(fields) != 5:
        raise BadSchedule('it has five fields: minute, hour, day, month and weekday, such as "0 9 * * mon"')
    if _WEEKDAYS.fullmatch(fields[4]) is None:
        raise BadSchedule(
            f'"{fields[4]}" is no weekday by name (mon, tue, wed, thu, fri, sat, sun; mon-fri; mon,thu; *): '
            "not every program counts Monday as 1"
        )
    if fields[2] != "*" and fields[4] != "*":
        raise BadSchedule("it names days of the month and weekdays; one of the two is *")
    try:
        trigger = CronTrigger.from_crontab(" ".join(fields), timezone=UTC)
    except ValueError as error:
        raise BadSchedule(f"it is no crontab line ({error})") from None
    if trigger.get_next_fire_time(None, _LEAP_YEAR) is None:
        raise BadSchedule("there is no such day in any year")
    return trigger


def parse_timezone(text: str) -> ZoneInfo:
    """A time zone by its IANA name; raises `BadSchedule`."""
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):  # unknown; a path; a folder such as "Europe"
        raise BadSchedule("it is no time zone such as Europe/Paris, Asia/Tokyo or UTC") from None


@dataclass(frozen=True)
class Schedule:
    """The slots of a crontab line in a zone.

    The line is read against the clock on the wall, and each time on it is one slot: an hour that comes twice
    is its first, a time that is skipped is as much later as the clock was set forward. APScheduler's own
    triggers fire twice in the one, and not at all in the other where midnight is skipped (Santiago).
    """

    cron: str
    zone: ZoneInfo

    @classmethod
    def parse(cls, cron: str, timezone: str) -> "Schedule":
        """Raises `BadSchedule`."""
        parse_cron(cron)
        return cls(" ".join(cron.lower().split()), parse_timezone(timezone))

    def slots(self, after: datetime, until: datetime) -> list[Slot]:
        """The slots later than `after`, up to `until`; of several at one moment the last on the wall."""
        by_moment: dict[datetime, Slot] = {}
        for slot in self._about(after):
            if slot.local > self._wall(until) + _CLOCK_CHANGE:
                break
            if after < slot.moment <= until:
                by_moment[slot.moment] = slot
        return [by_moment[moment] for moment in sorted(by_moment)]

    def next(self, after: datetime) -> Slot:
        """The first slot later than `after`."""
        slots = self._about(after)
        found = next(slot for slot in slots if slot.moment > after)
        # What is skipped comes later than it stands on the wall, and what stands there below it may be first.
        below = takewhile(lambda slot: slot.local < self._wall(found.moment), slots)
        return min((found, *(slot for slot in below if slot.moment > after)), key=attrgetter("moment"))

    def latest(self, until: datetime) -> Slot:
        """The last slot up to `until`, found by halving the time before it: there may be one each minute."""
        look = timedelta(hours=1)
        while self.next(until - look).moment > until:
            look *= 2
            if look > _LONGEST:
                raise BadSchedule(f"{self.cron} has no slot in the sixteen years before {until:%Y-%m-%d}")
        after = until - look
        while look > timedelta(hours=1):
            look /= 2
            if self.next(after + look).moment <= until:
                after += look
        return self.slots(after, until)[-1]

    def interval(self, until: datetime) -> timedelta:
        """How long it is from slot to slot, by the last two up to `until`."""
        last = self.latest(until)
        return last.moment - self.latest(last.moment - _TINY).moment

    def _about(self, moment: datetime) -> Iterator[Slot]:
        """The slots from shortly before a moment on, in the order of the wall."""
        trigger = parse_cron(self.cron)
        wall = self._wall(moment) - _CLOCK_CHANGE
        while (found := trigger.get_next_fire_time(None, wall.replace(tzinfo=UTC))) is not None:
            local = found.replace(tzinfo=None)
            yield Slot(local, local.replace(tzinfo=self.zone).astimezone(UTC))
            wall = local + _TINY

    def _wall(self, moment: datetime) -> datetime:
        return moment.astimezone(self.zone).replace(tzinfo=None)


class Slots:
    """A schedule as an APScheduler trigger."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return self._schedule.next(previous_fire_time or now).moment


BaseTrigger.register(Slots)  # not a subclass: APScheduler has no types


async def at_start_and_when_due(trigger: object, act: Callable[[], Awaitable[object]]) -> None:
    """`act` at once, and whenever the APScheduler trigger fires; until cancelled, or `act` raises.

    What fires while `act` is at work has it act once more.
    """
    due = asyncio.Event()

    async def fire() -> None:
        due.set()

    # In memory: with a store that processes share, each of three ran a job. None: never too late to fire.
    scheduler = AsyncIOScheduler(timezone=UTC)
    scheduler.add_job(fire, trigger, misfire_grace_time=None, coalesce=True, max_instances=1)
    scheduler.start()
    try:
        while True:
            due.clear()
            await act()
            await due.wait()
    finally:
        scheduler.shutdown(wait=False)

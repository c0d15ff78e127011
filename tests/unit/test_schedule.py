"""When the digest is due: crontab lines, time zones, and the two nights on which clocks are set."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from apscheduler.triggers.date import DateTrigger

from bot.schedule import (
    BadSchedule,
    Schedule,
    Slots,
    at_start_and_when_due,
    parse_cron,
    parse_timezone,
)
from knowledge.digests import Slot


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(schedule: Schedule, after: str, until: str) -> list[tuple[str, str]]:
    """Slots as (on the wall, in UTC)."""
    return [
        (f"{slot.local:%d %H:%M}", f"{slot.moment:%d %H:%M}") for slot in schedule.slots(at(after), at(until))
    ]


def test_a_week_of_mondays_is_counted_by_names() -> None:
    schedule = Schedule.parse("0 9 * * MON", "UTC")
    assert schedule.next(at("2026-11-30T09:00")).moment == at("2026-12-07T09:00")
    assert schedule.latest(at("2026-11-30T09:00")).moment == at("2026-11-30T09:00")
    assert schedule.latest(at("2026-11-30T08:59")).moment == at("2026-11-23T09:00")
    assert schedule.interval(at("2026-11-30T09:00")) == timedelta(days=7)


def test_twice_on_each_working_day() -> None:
    schedule = Schedule.parse("0 9,17 * * mon-fri", "Asia/Tokyo")
    assert times(schedule, "2026-11-26T12:00", "2026-11-30T12:00") == [
        ("27 09:00", "27 00:00"),
        ("27 17:00", "27 08:00"),
        ("30 09:00", "30 00:00"),
        ("30 17:00", "30 08:00"),
    ]
    assert schedule.interval(at("2026-11-30T01:00")) == timedelta(hours=64)


def test_an_hour_that_comes_twice_has_its_slot_once() -> None:
    schedule = Schedule.parse("30 2 * * *", "Europe/Paris")
    assert times(schedule, "2026-10-24T12:00", "2026-10-26T12:00") == [
        ("25 02:30", "25 00:30"),
        ("26 02:30", "26 01:30"),
    ]


def test_a_time_that_is_skipped_comes_when_the_clock_has_been_set() -> None:
    schedule = Schedule.parse("30 2 * * *", "Europe/Paris")
    assert times(schedule, "2026-03-28T12:00", "2026-03-30T12:00") == [
        ("29 02:30", "29 01:30"),  # the clock on the wall says 03:30
        ("30 02:30", "30 00:30"),
    ]


def test_a_midnight_that_is_skipped_is_not_lost() -> None:
    # APScheduler's own trigger goes from the 5th to the 7th.
    schedule = Schedule.parse("30 0 * * *", "America/Santiago")
    assert [local for local, _ in times(schedule, "2026-09-04T12:00", "2026-09-07T12:00")] == [
        "05 00:30",
        "06 00:30",
        "07 00:30",
    ]


def test_no_moment_has_two_slots_where_two_times_become_one() -> None:
    schedule = Schedule.parse("*/30 * * * *", "Europe/Paris")
    moments = [slot.moment for slot in schedule.slots(at("2026-03-29T00:00"), at("2026-03-29T03:00"))]
    assert moments == sorted(set(moments))
    assert len(moments) == 6


@pytest.mark.parametrize("line", ["15,30 2 * * *", "*/20 * * * *"])
def test_what_is_skipped_does_not_keep_the_times_after_it_from_their_turn(line: str) -> None:
    # At 02:00 the clock is set to 02:30: 02:15 comes at 02:45, and 02:30 before it.
    schedule = Schedule.parse(line, "Australia/Lord_Howe")
    after, until = at("2026-10-03T14:00"), at("2026-10-03T17:00")
    came, moment = [], after
    while (moment := schedule.next(moment).moment) <= until:
        came.append(moment)
    assert came == [slot.moment for slot in schedule.slots(after, until)]
    assert at("2026-10-03T15:30" if "," in line else "2026-10-03T15:40") in came


def test_a_leap_day_is_found_years_away() -> None:
    schedule = Schedule.parse("0 0 29 feb *", "UTC")
    assert schedule.latest(at("2104-02-28T00:00")).moment == at("2096-02-29T00:00")
    assert schedule.next(at("2096-03-01T00:00")).moment == at("2104-02-29T00:00")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "America/Santiago", "Australia/Lord_Howe"])
@pytest.mark.parametrize("line", ["30 2 * * *", "*/30 * * * *", "0 9,17 * * mon-fri", "0 0 1 * *"])
def test_the_latest_and_the_next_are_those_beside_a_moment_all_the_year(line: str, zone: str) -> None:
    schedule = Schedule.parse(line, zone)
    span, moment = timedelta(days=32), at("2026-01-01T00:07")
    while moment < at("2027-01-01T00:00"):
        assert schedule.latest(moment) == schedule.slots(moment - span, moment)[-1]
        assert schedule.next(moment).moment == schedule.slots(moment, moment + span)[0].moment
        moment += timedelta(days=9, hours=5)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0 9 * * 1", "by name"),  # a Tuesday for APScheduler, a Monday for crontab
        ("0 9 * * */2", "by name"),
        ("0 9 * * mon/2", "by name"),
        ("0 9 * * Montag", "by name"),
        ("0 9 1 * mon", "one of the two"),
        ("0 9 * *", "five fields"),
        ("@weekly", "five fields"),
        ("毎週 月曜 9 時", "five fields"),
        ("", "five fields"),
        ("60 9 * * mon", "no crontab line"),
        ("0 9 * * fri-mon", "no crontab line"),
        ("九 9 * * mon", "no crontab line"),
        ("0 0 30 feb *", "no such day"),
    ],
)
def test_a_line_that_would_not_do_what_it_says_is_refused(line: str, says: str) -> None:
    with pytest.raises(BadSchedule, match=says):
        parse_cron(line)


@pytest.mark.parametrize("name", ["Europe", "Paris", "/etc/passwd", "../UTC", "", "东京", "UTC+1"])
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(BadSchedule, match="Europe/Paris"):
        parse_timezone(name)


async def test_it_acts_at_the_start_and_each_time_the_trigger_fires() -> None:
    acted = asyncio.Semaphore(0)

    async def act() -> None:
        acted.release()

    soon = DateTrigger(datetime.now(UTC) + timedelta(milliseconds=50))
    running = asyncio.create_task(at_start_and_when_due(soon, act))
    async with asyncio.timeout(10):
        for _ in ("at the start", "when due"):
            await acted.acquire()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


class EverySoon(Schedule):
    """Due all the time."""

    def next(self, after: datetime) -> Slot:
        moment = after + timedelta(milliseconds=20)
        return Slot(moment.replace(tzinfo=None), moment)


async def test_a_schedule_fires_again_and_again_and_what_fails_ends_it() -> None:
    acts = 0

    async def act() -> None:
        nonlocal acts
        acts += 1
        if acts == 4:
            raise OSError("the database is away")

    schedule = EverySoon("* * * * *", parse_timezone("UTC"))
    async with asyncio.timeout(10):
        with pytest.raises(OSError, match="away"):
            await at_start_and_when_due(Slots(schedule), act)
    assert acts == 4

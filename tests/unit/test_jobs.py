"""When the jobs of a worker come round."""

from datetime import UTC, datetime
from itertools import pairwise

from croniter import croniter

from bot.jobs import DEAD_AFTER_SECONDS, EVERY_FIVE_SECONDS


def test_dead_workers_are_looked_for_every_five_seconds_of_every_minute() -> None:
    times = croniter(EVERY_FIVE_SECONDS, datetime(2026, 11, 30, 8, 36, 58, tzinfo=UTC))
    following = [times.get_next(datetime) for _ in range(15)]
    steps = {(later - earlier).total_seconds() for earlier, later in pairwise(following)}
    assert steps == {5.0}
    assert DEAD_AFTER_SECONDS + 5 < 30  # the design's time for a takeover

"""No schedule of words, clicks, forms, second deliveries and edits breaks a rule, whatever agents do.

`RACES=200 pytest tests/races` plays 200 schedules, and more of them at random; without it fewer are played.
"""

import os
from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.races.conftest import House
from tests.races.schedules import SCHEDULES, Schedule

AT_ONCE = 4  # articles beside each other: they share pools, the sender, and the listeners
EXAMPLES = max(1, int(os.environ.get("RACES", "28")) // AT_ONCE)


@settings(
    max_examples=EXAMPLES,
    # No shrinking: what happens at once does not happen again in the same way.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(schedules=st.lists(SCHEDULES, min_size=AT_ONCE, max_size=AT_ONCE))
def test_no_schedule_breaks_a_rule(house: House, schedules: Sequence[Schedule]) -> None:
    house.play(schedules)

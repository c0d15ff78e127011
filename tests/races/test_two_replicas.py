"""Two people who do the same at once, each through another replica."""

import pytest

from knowledge.article import Mode, Status
from tests.races.conftest import House
from tests.races.room import Room
from tests.races.schedules import Act, Deed, Round, Schedule

APART = [0, 50]  # ms


def to_gate(deed: Deed) -> Round:
    """One person speaks, then agents work until they have something to show."""
    return Round((Act(deed, 0, 0, None),), legs=6, twice=False, broken=False)


def both(first: Deed, second: Deed, *, apart: int) -> Round:
    """Two people within so many ms, while agents stand still."""
    acts = (Act(first, 0, 0, None), Act(second, apart, 1, None))
    return Round(acts, legs=0, twice=False, broken=False)


async def outcome(room: Room) -> tuple[list[str], list[tuple[str, str]]]:
    """Who approved what, and who was told that somebody was faster: (whom, who was)."""
    article = await room.article()
    approved = [f"{one.by} {one.on} {one.version}" for one in article.decisions if one.action == "approve"]
    notes = await room.notes()
    told = [
        (note["to"], str(note["params"]["by"])) for note in notes.values() if note["key"] == "somebody_faster"
    ]
    return approved, told


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Deed.CLICK_APPROVE, Deed.CLICK_APPROVE),
        (Deed.APPROVE, Deed.CLICK_APPROVE),
        (Deed.APPROVE, Deed.APPROVE),
    ],
)
def test_two_approvals_make_one_move_and_the_second_person_hears_who_was_first(
    house: House, first: Deed, second: Deed
) -> None:
    schedules = [
        Schedule(
            Mode.SUPERVISED,
            chance,
            (
                to_gate(Deed.TALK),
                both(first, second, apart=apart),
                to_gate(Deed.TALK),
                both(first, second, apart=apart),
            ),
        )
        for apart in APART
        for chance in range(3)
    ]
    for room in house.play(schedules):
        approved, told = house.run(outcome(room))
        assert [what.split(" ", 1)[1] for what in approved] == ["outline 1", "draft 1"]
        first_ones = [what.split(" ", 1)[0] for what in approved]
        others = {"UANA": "UBO", "UBO": "UANA"}
        assert told == [(others[by], by) for by in first_ones]


def test_of_an_approval_and_a_request_at_once_one_is_first_and_the_other_is_kept_or_answered(
    house: House,
) -> None:
    schedules = [
        Schedule(
            Mode.SUPERVISED, chance, (to_gate(Deed.TALK), both(Deed.CLICK_APPROVE, Deed.FORM, apart=apart))
        )
        for apart in (0, 2, 5)
        for chance in range(3)
    ]
    for room in house.play(schedules):
        article = house.run(room.article())
        done = [(one.action, one.on, one.state) for one in article.decisions]
        if article.status is Status.AWAITING_APPROVAL:  # approved first: the request was kept for the draft
            assert done == [("approve", "outline", "done"), ("revise", "draft", "done")]
        else:  # changed first: what was approved is not what is there now
            assert (article.status, article.outline_version) == (Status.AWAITING_OUTLINE, 2)
            assert done == [("revise", "outline", "done")]

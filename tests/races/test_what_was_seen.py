"""An approval is for what its author saw: not for what came since, and not for what stood there before."""

import pytest

from knowledge.article import Mode, Status
from tests.races.conftest import House
from tests.races.schedules import Act, Deed, Round, Schedule

CHANCES = range(4)  # how late Slack's answers are


def alone(deed: Deed, *, legs: int = 6) -> Round:
    """One person speaks, while agents work until they have something to show."""
    return Round((Act(deed, 0, 0, None),), legs=legs, twice=False, broken=False)


def test_a_word_the_moment_a_version_appears_is_about_that_version(house: House) -> None:
    """Slack has it, and the bot does not know its ts yet."""
    quick = Round((Act(Deed.QUICK_APPROVE, 20_000, 0, None),), legs=2, twice=False, broken=False)
    schedules = [Schedule(Mode.SUPERVISED, chance, (quick, quick)) for chance in CHANCES]  # outline, draft
    for room in house.play(schedules):
        article = house.run(room.article())
        assert [(one.on, one.version) for one in article.decisions] == [("outline", 1), ("draft", 1)]
        assert article.status is Status.PUBLISHED


@pytest.mark.parametrize("deed", [Deed.FORM, Deed.REVISE])
def test_a_click_below_an_older_version_approves_nothing_and_is_answered(house: House, deed: Deed) -> None:
    first = (alone(Deed.TALK), alone(deed), alone(Deed.CLICK_OLD_APPROVE))
    then = (alone(Deed.CLICK_APPROVE), alone(deed), alone(Deed.CLICK_OLD_APPROVE))
    schedules = [Schedule(Mode.SUPERVISED, chance, first + then) for chance in CHANCES]
    for room in house.play(schedules):
        article = house.run(room.article())
        assert (article.outline_version, article.version) == (2, 2)
        assert article.status is Status.AWAITING_APPROVAL
        told = [note["key"] for note in house.run(room.notes()).values()]
        assert told.count("older_version") == 2


def test_a_request_in_the_form_of_an_older_version_is_carried_out_on_the_current_one(house: House) -> None:
    schedules = [
        Schedule(Mode.SUPERVISED, chance, (alone(Deed.TALK), alone(Deed.FORM), alone(Deed.OLD_FORM)))
        for chance in CHANCES
    ]
    for room in house.play(schedules):
        article = house.run(room.article())
        assert article.outline_version == 3
        told = [note["key"] for note in house.run(room.notes()).values()]
        assert told.count("request_for_current") == 1

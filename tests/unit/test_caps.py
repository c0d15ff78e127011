"""What follows an outline and a review that nobody has asked to change: modes and caps."""

from dataclasses import replace

import pytest

from bot.decisions import Limits, after_outline, after_review, research_used_up
from knowledge.article import Action, Article, Mode, Status
from tests.unit.situations import DRAFT, decision, make

LIMITS = Limits(max_reviews=3, max_research_rounds=2)


def reviewed(count: int, *, rounds: int = 0, mode: Mode = Mode.AUTO) -> Article:
    article = make(Status.REVIEWING, draft_phase=True, mode=mode)
    return replace(article, review_count=count, research_rounds=rounds)


@pytest.mark.parametrize(
    ("decision", "count", "rounds", "to", "stopped_by"),
    [
        ("approve", 1, 0, Status.AWAITING_APPROVAL, None),
        ("approve", 3, 2, Status.AWAITING_APPROVAL, None),
        ("revise", 1, 0, Status.REVISING, None),
        ("revise", 2, 0, Status.REVISING, None),
        ("revise", 3, 0, Status.AWAITING_APPROVAL, "max_reviews"),
        ("revise", 4, 0, Status.AWAITING_APPROVAL, "max_reviews"),
        ("research", 1, 0, Status.RESEARCHING, None),
        ("research", 2, 1, Status.RESEARCHING, None),
        # No rounds left: it revises with the evidence at hand.
        ("research", 2, 2, Status.REVISING, None),
        ("research", 3, 2, Status.AWAITING_APPROVAL, "max_research_rounds"),
        ("research", 3, 1, Status.AWAITING_APPROVAL, "max_reviews"),
    ],
)
def test_in_auto_mode_the_reviewer_drives_up_to_the_caps(
    decision: str, count: int, rounds: int, to: Status, stopped_by: str | None
) -> None:
    assert after_review(reviewed(count, rounds=rounds), decision, LIMITS) == (to, stopped_by)


@pytest.mark.parametrize("decision", ["approve", "revise", "research"])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_in_supervised_mode_people_decide_after_every_review(decision: str, count: int) -> None:
    article = reviewed(count, mode=Mode.SUPERVISED)
    assert after_review(article, decision, LIMITS) == (Status.AWAITING_APPROVAL, None)


def test_an_outline_that_lacks_evidence_gets_one_more_round() -> None:
    first = replace(make(Status.OUTLINING), analysis=None, outline_version=0)
    assert after_outline(first, lacks_evidence=True, limits=LIMITS) is Status.RESEARCHING
    assert after_outline(first, lacks_evidence=False, limits=LIMITS) is Status.AWAITING_OUTLINE
    second = replace(make(Status.OUTLINING), outline_version=0, research_rounds=1)
    assert after_outline(second, lacks_evidence=True, limits=LIMITS) is Status.AWAITING_OUTLINE
    none_left = Limits(max_reviews=3, max_research_rounds=0)
    assert after_outline(first, lacks_evidence=True, limits=none_left) is Status.AWAITING_OUTLINE


def test_an_outline_goes_to_people_or_in_auto_mode_straight_on() -> None:
    for mode, to in ((Mode.SUPERVISED, Status.AWAITING_OUTLINE), (Mode.AUTO, Status.WRITING)):
        assert after_outline(make(Status.OUTLINING, mode=mode), lacks_evidence=False, limits=LIMITS) is to


@pytest.mark.parametrize("mode", Mode)
def test_new_evidence_for_a_draft_needs_no_second_gate(mode: Mode) -> None:
    article = replace(make(Status.OUTLINING, draft_phase=True, mode=mode), draft=DRAFT)
    assert after_outline(article, lacks_evidence=True, limits=LIMITS) is Status.REVISING


def test_what_was_not_researched_is_named_only_where_the_cap_is_the_reason() -> None:
    wanted = {"decision": "research", "issues": []}
    at_cap = replace(
        make(Status.REVISING, draft_phase=True, mode=Mode.AUTO), review=wanted, research_rounds=2
    )
    assert research_used_up(at_cap, LIMITS)
    assert not research_used_up(replace(at_cap, research_rounds=1), LIMITS)
    assert not research_used_up(replace(at_cap, mode=Mode.SUPERVISED), LIMITS)
    assert not research_used_up(replace(at_cap, review={"decision": "revise", "issues": []}), LIMITS)
    asked = replace(decision("draft", Action.REVISE, "UANA", 3, text="もっと短く"), state="taken")
    assert not research_used_up(replace(at_cap, decisions=(asked,)), LIMITS)

"""When a near miss is answered, and what becomes of requests that were kept."""

from dataclasses import replace
from itertools import product

import pytest

from bot.decisions import Reply, carry_on, near_miss
from bot.replies import NearMiss
from bot.texts import say
from knowledge.article import Action, Mode, Status, may_follow
from knowledge.language import Language
from tests.unit.situations import SITUATIONS, decision, make

# --- requests that were kept -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("situation", "actions", "to"),
    [
        ("outlining", [], None),
        ("outlining", [Action.REVISE], Status.OUTLINING),
        ("outlining", [Action.REVISE, Action.RESEARCH], Status.RESEARCHING),
        ("reviewing the first draft", [], None),
        ("reviewing the first draft", [Action.REVISE, Action.REVISE], Status.REVISING),
        ("reviewing the first draft", [Action.RESEARCH, Action.REVISE], Status.RESEARCHING),
        # These legs end at no gate: what was kept waits on.
        ("researching", [Action.REVISE], None),
        ("writing", [Action.REVISE], None),
        ("revising", [Action.RESEARCH], None),
        ("outlining for a draft", [Action.REVISE], None),
        ("researching for a draft", [Action.REVISE], None),
    ],
)
def test_kept_requests_go_first_where_people_would_be_asked(
    situation: str, actions: list[Action], to: Status | None
) -> None:
    article = SITUATIONS[situation]
    kept = tuple(decision("draft", action, "UBO", 1, text="短一点", waiting=True) for action in actions)
    done = decision("outline", Action.RESEARCH, "UANA", 1, text="費用")
    assert carry_on(replace(article, decisions=(done, *kept))) is to
    assert to is None or may_follow(article, to)


@pytest.mark.parametrize("action", [Action.REVISE, Action.RESEARCH])
def test_a_bare_request_that_was_kept_goes_by_the_review_that_came(action: Action) -> None:
    bare = decision("draft", action, "UBO", 1, waiting=True)
    article = replace(SITUATIONS["reviewing the first draft"], analysis=None, decisions=(bare,))
    clean = {"decision": "approve", "issues": []}
    assert carry_on(replace(article, review=clean)) is None
    asks = {"decision": "revise", "issues": [{"severity": "low", "description": "題", "suggested_fix": ""}]}
    to = Status.REVISING if action is Action.REVISE else Status.RESEARCHING
    assert carry_on(replace(article, review=asks)) is to
    # Beside one with words it is no reason to do more than that one asks.
    words = decision("draft", Action.REVISE, "UANA", 1, text="短一点", waiting=True)
    assert carry_on(replace(article, review=clean, decisions=(bare, words))) is Status.REVISING


def test_kept_requests_lead_only_where_the_states_allow() -> None:
    for status, mode, draft_phase, action in product(Status, Mode, (False, True), Action):
        article = make(status, mode=mode, draft_phase=draft_phase)
        to = carry_on(replace(article, decisions=(decision("draft", action, "UBO", 1, waiting=True),)))
        assert to is None or may_follow(article, to)


# --- near misses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_a_near_miss_is_answered_with_the_word_to_use(language: Language) -> None:
    article = replace(SITUATIONS["at the outline"], language=language)
    for said in ("approve?", "通过吧", "承認しますか"):
        assert near_miss(article, NearMiss(said, Action.APPROVE)) == Reply(
            "near_miss", {"word": "approve", "on": "outline", "version": 2, "said": said}
        )
    assert near_miss(article, NearMiss("ok", Action.APPROVE, courtesy=True)) == Reply(
        "thanks_use_word", {"on": "outline", "version": 2}
    )
    assert near_miss(article, NearMiss("修改引言", Action.REVISE)) == Reply(
        "near_miss_revise", {"said": "修改引言"}
    )


@pytest.mark.parametrize(
    ("situation", "answered"),
    [
        ("at the outline", {Action.APPROVE, Action.REVISE, Action.RESEARCH, Action.CANCEL}),
        ("at the draft", {Action.APPROVE, Action.REVISE, Action.RESEARCH, Action.CANCEL}),
        ("writing", {Action.REVISE, Action.RESEARCH, Action.CANCEL}),
        ("researching", {Action.REVISE, Action.RESEARCH, Action.CANCEL}),
        ("failed while outlining", {Action.RETRY, Action.CANCEL}),
        ("published", {Action.REVISE}),
        ("publishing", set()),
        ("cancelled", set()),
    ],
)
def test_near_misses_are_answered_where_the_word_would_do_something(
    situation: str, answered: set[Action]
) -> None:
    article = SITUATIONS[situation]
    assert {action for action in Action if near_miss(article, NearMiss("…", action)) is not None} == answered


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_every_answer_to_a_near_miss_can_be_told(language: Language) -> None:
    for article, action, courtesy in product(SITUATIONS.values(), Action, (False, True)):
        answer = near_miss(article, NearMiss("修改 <引言>", action, courtesy))
        assert answer is None or say(language, answer.key, **answer.params)


def test_courtesies_are_answered_only_at_a_gate() -> None:
    courtesy = NearMiss("好的", Action.APPROVE, courtesy=True)
    for situation, article in SITUATIONS.items():
        assert (near_miss(article, courtesy) is not None) == situation.startswith("at ")

"""Which state may follow which: what must hold of the table, and of walks through it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.article import (
    AT_WORK,
    FOLLOWS,
    Action,
    Article,
    ArticleError,
    Decision,
    Mode,
    Status,
    may_follow,
)
from knowledge.language import Language

NOW = datetime(2026, 11, 30, tzinfo=UTC)
GATES = {Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL}
TOPICS: dict[Language, str] = {"en": "Password hashing", "zh": "密码哈希", "ja": "パスワードのハッシュ"}


def make(status: Status, *, language: Language = "en", error: ArticleError | None = None) -> Article:
    return Article(
        id=1,
        topic=TOPICS[language],
        language=language,
        mode=Mode.SUPERVISED,
        status=status,
        moves=1,
        heard=0,
        team_id="T1",
        channel_id="C1",
        thread_ts=None,
        permalink=None,
        requested_by="U1",
        outline_version=0,
        version=0,
        research=None,
        analysis=None,
        draft=None,
        review=None,
        review_count=0,
        research_rounds=0,
        approved_by=None,
        stopped_by=None,
        error=error,
        usage={},
        created_at=NOW,
        updated_at=NOW,
    )


def asked(number: int, text: str, state: str) -> Decision:
    assert state in ("waiting", "taken", "done")
    decision = Decision(number, "draft", Action.REVISE, text, None, "U1", 1, NOW, "waiting", None)
    return (
        decision if state == "waiting" else replace(decision, state="taken" if state == "taken" else "done")
    )


def test_every_state_is_in_the_table_and_reached_from_some_other() -> None:
    assert set(FOLLOWS) == set(Status)
    reached = {to for status in Status for to in FOLLOWS[status] if to is not status}
    assert reached == set(Status)


def test_every_state_leads_to_an_end() -> None:
    ends = {Status.PUBLISHED, Status.CANCELLED}
    leading = set(ends)
    while more := {status for status in Status if FOLLOWS[status] & leading} - leading:
        leading |= more
    assert leading == set(Status)


def test_only_an_approval_leads_to_publishing() -> None:
    before = {status for status in Status if Status.PUBLISHING in FOLLOWS[status]}
    assert before == {Status.AWAITING_APPROVAL, Status.FAILED}
    assert {status for status in Status if Status.PUBLISHED in FOLLOWS[status]} == {Status.PUBLISHING}


def test_work_and_gates_can_fail_and_be_cancelled_but_publishing_cannot_be_cancelled() -> None:
    for status in AT_WORK | GATES:
        assert Status.FAILED in FOLLOWS[status]
        assert (Status.CANCELLED in FOLLOWS[status]) == (status is not Status.PUBLISHING)


def test_nothing_follows_cancelled() -> None:
    assert not any(may_follow(make(Status.CANCELLED), to) for to in Status)


@pytest.mark.parametrize("leg", sorted(AT_WORK))
@pytest.mark.parametrize("message", ["The key was refused.", "密钥被拒绝。", "キーが拒否されました。"])
def test_a_failed_article_goes_back_only_to_the_leg_it_failed_in(leg: Status, message: str) -> None:
    article = make(Status.FAILED, error=ArticleError(leg, "model_refused_key", message))
    assert {to for to in Status if may_follow(article, to)} == {leg, Status.CANCELLED}


@pytest.mark.parametrize(
    "leg", [Status.RESEARCHING, Status.OUTLINING, Status.REVISING, Status.REVIEWING], ids=str
)
@pytest.mark.parametrize("message", ["The budget is used up.", "预算已用完。", "予算を使い切りました。"])
def test_a_draft_that_the_budget_stopped_goes_back_to_the_leg_it_was_stopped_in(
    leg: Status, message: str
) -> None:
    stopped = make(Status.AWAITING_APPROVAL, error=ArticleError(leg, "budget", message))
    others = FOLLOWS[Status.AWAITING_APPROVAL]
    assert {to for to in Status if may_follow(stopped, to)} == others | {leg}
    assert {to for to in Status if may_follow(replace(stopped, error=None), to)} == others


def test_a_failed_article_of_an_unknown_leg_can_only_be_cancelled() -> None:
    assert {to for to in Status if may_follow(make(Status.FAILED), to)} == {Status.CANCELLED}


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_the_straight_way_is_open(language: Language) -> None:
    article = make(Status.RESEARCHING, language=language)
    for to in (
        Status.OUTLINING,
        Status.AWAITING_OUTLINE,
        Status.WRITING,
        Status.REVIEWING,
        Status.AWAITING_APPROVAL,
        Status.PUBLISHING,
        Status.PUBLISHED,
    ):
        assert may_follow(article, to)
        article = replace(article, status=to)


@given(st.lists(st.integers(0, 99), max_size=40))
def test_no_walk_publishes_without_a_gate(choices: list[int]) -> None:
    """Whichever way through the allowed moves is taken, people were asked about a draft before."""
    article, walked = make(Status.RESEARCHING), [Status.RESEARCHING]
    for choice in choices:
        allowed = sorted(to for to in Status if may_follow(article, to))
        if not allowed:
            break
        to = allowed[choice % len(allowed)]
        error = ArticleError(article.status, "unexpected", "…") if to is Status.FAILED else None
        article = replace(article, status=to, error=error)
        walked.append(to)
    if Status.PUBLISHED in walked:
        assert Status.AWAITING_APPROVAL in walked[: walked.index(Status.PUBLISHED)]


def test_requests_are_told_apart_by_how_far_they_are() -> None:
    requests = tuple(
        asked(number, text, state)
        for number, (text, state) in enumerate(
            [
                ("shorter", "done"),
                ("短一点", "taken"),
                ("もっと短く", "waiting"),
                ("先讲迁移", "taken"),
                ("b", "waiting"),
            ]
        )
    )
    article = replace(make(Status.REVISING), decisions=requests)
    assert [decision.text for decision in article.taken] == ["短一点", "先讲迁移"]
    assert [decision.text for decision in article.waiting] == ["もっと短く", "b"]

"""The reviewer's answer is held to its rules; sections are named by headings that exist."""

from typing import Any

import pytest

from agents.reviewer import section_named
from tests.unit.agent_runs import run_review
from tests.unit.answers import REVIEW, Scripted
from tests.unit.password_article import Example, chinese, desk_with, english

HEADINGS = ["Why MD5 fails", "参数", "移行の手順"]


def found(severity: str, section: str | None = None) -> dict[str, Any]:
    return {"severity": severity, "description": "d", "suggested_fix": "f", "section": section}


async def test_no_approval_with_an_issue_of_high_severity() -> None:
    wrong = {**REVIEW, "issues": [found("high")]}
    right = {**wrong, "decision": "revise"}
    scripted = Scripted(return_review=[wrong, right])
    result = await run_review(english(), desk_with(scripted.model))
    assert result.decision == "revise"
    assert "approve with an issue of high severity" in scripted.refusals[0]


@pytest.mark.parametrize("decision", ["revise", "research"])
async def test_other_decisions_need_an_issue(decision: str) -> None:
    scripted = Scripted(return_review=[{**REVIEW, "decision": decision}, REVIEW])
    result = await run_review(english(), desk_with(scripted.model))
    assert result.decision == "approve"
    assert f"The decision is {decision} without an issue" in scripted.refusals[0]


@pytest.mark.parametrize("blank", ["", " \n", "\u200b", "　"])
async def test_an_issue_that_says_nothing_goes_back(blank: str) -> None:
    wrong = {**REVIEW, "decision": "research", "issues": [{**found("high"), "description": blank}]}
    scripted = Scripted(return_review=[wrong, REVIEW])
    result = await run_review(english(), desk_with(scripted.model))
    assert (result.decision, result.issues) == ("approve", [])
    assert "no description" in scripted.refusals[0]


async def test_an_approval_may_have_lesser_issues_and_no_score() -> None:
    answer = {**REVIEW, "score": None, "issues": [found("medium", "1"), found("low", "nowhere")]}
    scripted = Scripted(return_review=[answer])
    result = await run_review(english(), desk_with(scripted.model))
    assert (result.decision, result.score) == ("approve", None)
    assert [issue.section for issue in result.issues] == ["Why MD5 fails", None]
    assert scripted.refusals == []


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("1", "Why MD5 fails"),
        ("§2", "参数"),
        ("Section 3", "移行の手順"),
        ("#3", "移行の手順"),
        ("第2节", "参数"),
        ("第３節", "移行の手順"),
        ("why md5 FAILS", "Why MD5 fails"),
        ("1. Why MD5 fails", "Why MD5 fails"),
        ("## 参数", "参数"),
        ("§3 移行の手順", "移行の手順"),
        ("4", None),
        ("0", None),
        ("Introduction", None),
        ("", None),
        ("MD5", None),
        (None, None),
    ],
)
def test_a_section_is_a_heading_that_exists_or_none(name: str | None, heading: str | None) -> None:
    assert section_named(name, HEADINGS) == heading


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_the_reviewer_sees_draft_evidence_requests_and_its_last_review(example: Example) -> None:
    scripted = Scripted()
    await run_review(example, desk_with(scripted.model))
    (asked,) = scripted.texts("return_review")
    assert all(section.content in asked for section in example.draft.sections)
    assert all(passage.text in asked for passage in example.research.passages)
    assert all(request.text in asked for request in example.requests)
    assert all(issue.description in asked for issue in example.review.issues)
    assert all(gap in asked for gap in example.analysis.missing_evidence)

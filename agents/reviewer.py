"""The reviewer: reads a draft against its evidence and against what people asked for."""

import re
from collections.abc import Sequence

from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewIssue, ReviewResult
from agents.desk import Desk, StandingRequest
from agents.evidence import evidence, gaps, issue, outline, requests_of_people
from agents.headings import unseen
from agents.prompt import element, prompt, restored, tag, topic_and_language
from agents.stage import Stage, answer_of
from agents.wire import ReviewAnswer
from knowledge.language import Language

_TEXTS = 6_000  # tokens of passages against which a draft is read


def _broken_rules(_: None, answer: ReviewAnswer) -> list[str]:
    if any(unseen(found.description) for found in answer.issues):
        return ["An issue has no description. Say what is wrong and where, or leave the issue out."]
    if answer.decision != "approve" and not answer.issues:
        return [
            f"The decision is {answer.decision} without an issue. Name at least one issue that says what to "
            "change, or approve."
        ]
    if answer.decision == "approve" and any(found.severity == "high" for found in answer.issues):
        return [
            "The decision is approve with an issue of high severity. Decide revise or research, or give the "
            "issue the severity that it has."
        ]
    return []


_DECISION = re.compile(r"decision\W{1,8}(approve|revise|research)\b(?!\s*[,/|]|\s+or\b)", re.IGNORECASE)


def _decided(said: str, answer: ReviewAnswer | None) -> bool:
    """A decision is a reviewer's: none is made of words that name none, or more than one."""
    named = {word.lower() for word in _DECISION.findall(said)}
    return len(named) == 1 and (answer is None or answer.decision in named)


_REVIEWER = Stage("reviewer", ReviewAnswer, "return_review", _broken_rules, agrees=_decided)


async def review(
    topic: str,
    language: Language,
    research: ResearchResult,
    analysis: AnalysisResult,
    draft: DraftResult,
    *,
    requests: Sequence[StandingRequest],
    last: ReviewResult | None,
    desk: Desk,
) -> ReviewResult:
    """What a careful editor would say of a draft. `last` is the review before. Raises AgentError."""
    headings = [section.heading for section in draft.sections]
    answer = await answer_of(
        _REVIEWER,
        lambda share: prompt(
            [
                topic_and_language(topic, language),
                outline(analysis.outline),
                *gaps(analysis),
                evidence(research, about=draft.content, texts=_TEXTS, share=share),
                element(
                    "draft",
                    tag("title", draft.title),
                    tag("description", draft.description),
                    *(
                        element(
                            "section",
                            tag("heading", section.heading),
                            tag("content", section.content),
                            number=number,
                        )
                        for number, section in enumerate(draft.sections, start=1)
                    ),
                ),
                *(tag("note", note) for note in draft.notes),
                *requests_of_people(requests),
                ""
                if last is None
                else element(
                    "previous",
                    *(issue(found, headings) for found in last.issues),
                    tag("feedback", last.feedback),
                ),
            ]
        ),
        model=desk.models.reviewer,
        deps=None,
        desk=desk,
        step="review",
    )
    return ReviewResult(
        decision=answer.decision,
        score=answer.score,
        issues=[
            ReviewIssue(
                severity=found.severity,
                description=restored(found.description.strip()),
                suggested_fix=restored(found.suggested_fix.strip()),
                section=section_named(found.section, headings),
            )
            for found in answer.issues
        ],
        feedback=restored(answer.feedback.strip()),
    )


def section_named(name: str | None, headings: Sequence[str]) -> str | None:
    """The heading that a model means by a number or a heading; None when it means none of them."""
    if name is None:
        return None
    said = " ".join(name.split())
    number = re.fullmatch(r"(?:§|#|(?:the )?section|第)?\s*(\d{1,3})\s*[.)節节章]?", said, re.IGNORECASE)
    if number:
        at = int(number[1])
        return headings[at - 1] if 1 <= at <= len(headings) else None
    bare = re.sub(r"^(?:#+|§?\s*\d{1,3}[.)、．:：]?)\s*", "", said).casefold()
    for heading in headings:
        if heading.casefold() in (said.casefold(), bare):
            return heading
    return None

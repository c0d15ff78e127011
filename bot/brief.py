"""What an article's row says, in the terms of the agents: their brief for one leg. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewResult
from agents.desk import StandingRequest
from bot.decisions import missing_evidence
from bot.texts import say_plain
from knowledge.article import Action, Article, Decision, Status
from knowledge.shared_sources import Unread


def research_of(article: Article) -> ResearchResult | None:
    return None if article.research is None else ResearchResult.model_validate(article.research)


def analysis_of(article: Article) -> AnalysisResult | None:
    return None if article.analysis is None else AnalysisResult.model_validate(article.analysis)


def plan_of(article: Article) -> tuple[ResearchResult, AnalysisResult]:
    """What an outline that was decided on rests on, and the outline."""
    return ResearchResult.model_validate(article.research), AnalysisResult.model_validate(article.analysis)


def draft_of(article: Article) -> DraftResult | None:
    return None if article.draft is None else DraftResult.model_validate(article.draft)


def review_of(article: Article) -> ReviewResult | None:
    return None if article.review is None else ReviewResult.model_validate(article.review)


def requests_of(article: Article) -> list[StandingRequest]:
    """Every request of people so far, oldest first; those without an outcome are to be carried out now.

    What was researched for somebody shall also show in the text: it is a request like any other.
    """
    return [
        StandingRequest(
            text=_asked_for(article, decision),
            section=decision.section,
            on=decision.on,
            by=decision.by,
            version=decision.version,
            outcome=decision.outcome,
        )
        for decision in article.decisions
        if decision.action in (Action.REVISE, Action.RESEARCH) and decision.state != "waiting"
    ]


def questions_of(article: Article) -> list[str]:
    """What to look for beyond the topic: people's questions, else what reviewer or analyst miss."""
    asked = [decision.text for decision in article.taken if decision.action is Action.RESEARCH]
    return [text for text in asked if text] or missing_evidence(article)


def questions_on(article: Article, unread: Sequence[Unread]) -> list[str]:
    """What people have shared in the thread is looked at, whatever the topic's own words find."""
    return [say_plain(article.language, "read_shared", title=one.title) for one in unread]


def reading_first(to: Status, unread: Sequence[Unread]) -> Status:
    """Where a change of the text leads: past research, if something was shared that none has looked at.

    It is the way of `research: …`, and ends where `to` would.
    """
    return Status.RESEARCHING if unread and to in (Status.OUTLINING, Status.REVISING) else to


def has_researched(history: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there was a round of research since the last review, by the article's moves."""
    for move in reversed(history):
        if move["to"] in (Status.RESEARCHING, Status.REVIEWING):
            return bool(move["to"] == Status.RESEARCHING)
    return False


def _asked_for(article: Article, decision: Decision) -> str:
    if decision.action is Action.REVISE:
        return decision.text
    if decision.text or decision.outcome is None:
        question = decision.text or "; ".join(missing_evidence(article))
        return say_plain(article.language, "more_on", text=question) if question else ""
    return ""  # what was missing then is not what is missing now

"""One leg of work each: agents at work on an article between two decisions. No Slack here."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.usage import RunUsage

from agents.analyst import analyse
from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewResult
from agents.desk import AgentProgress, Desk, StandingRequest
from agents.errors import AgentError
from agents.models import Models
from agents.researcher import research
from agents.reviewer import review
from agents.writer import revise_draft, write_draft
from bot import announcements
from bot.article_file import to_markdown, word_count
from bot.decisions import carry_on, missing_evidence
from bot.messages import Progress
from bot.texts import failure, say_plain
from knowledge.article import AT_WORK, Action, Article, ArticleError, Decision, Mode, Status
from knowledge.articles import Articles
from knowledge.changes import Change, Moved, NewVersion
from knowledge.search import Search

log = logging.getLogger(__name__)

# Slack asks for no more than one edit of a message every 3 s (chat.update is a tier 3 method).
PROGRESS_EVERY_SECONDS = 3.0


@dataclass(frozen=True)
class Limits:
    """The caps of the settings; they bind the reviewer, never people."""

    max_reviews: int
    max_research_rounds: int


class Legs:
    """Works on an article until it waits for people or ends; each method is one leg."""

    def __init__(self, articles: Articles, search: Search, models: Models, limits: Limits) -> None:
        self._articles = articles
        self._search = search
        self._models = models
        self._limits = limits

    async def work(self, article_id: int, moves: int) -> None:
        """The leg that a job was made for; one that is out of date does nothing and says nothing."""
        article = await self._articles.get(article_id)
        if article is None or article.moves != moves or article.status not in AT_WORK:
            log.info("article %s: the leg for move %s is out of date", article_id, moves)
            return
        legs: Mapping[Status, Callable[[Article, Desk], Awaitable[None]]] = {
            Status.RESEARCHING: self._research,
            Status.OUTLINING: self._outline,
            Status.WRITING: self._write,
            Status.REVISING: self._revise,
            Status.REVIEWING: self._review,
            Status.PUBLISHING: self._publish,
        }
        async with self._desk(article) as desk:
            try:
                await legs[article.status](article, desk)
            except Moved:
                log.info("article %s: overtaken in %s, nothing written", article_id, article.status)
            except AgentError as error:
                log.warning("article %s: %s failed: %s", article_id, article.status, error)
                await self._fail(article, desk, error.code, error.facts)
            except Exception:
                log.exception("article %s: %s failed", article_id, article.status)
                await self._fail(article, desk, "unexpected", {})

    async def _research(self, article: Article, desk: Desk) -> None:
        before = _research_of(article)
        result = await research(
            article.topic,
            article.language,
            questions=_questions(article),
            previous=before,
            desk=desk,
        )
        rounds = article.research_rounds + (before is not None)
        await self._conclude(
            article,
            desk,
            lambda now: Change(
                replace(
                    now,
                    status=Status.OUTLINING,
                    research=result.model_dump(mode="json"),
                    research_rounds=rounds,
                ),
                why=f"{len(result.findings)} findings from {len(result.sources)} sources",
            ),
        )

    async def _outline(self, article: Article, desk: Desk) -> None:
        evidence = ResearchResult.model_validate(article.research)
        result = await analyse(
            article.topic,
            article.language,
            evidence,
            requests=_requests(article),
            previous=_analysis_of(article),
            desk=desk,
        )

        def conclusion(now: Article) -> Change:
            after = replace(now, analysis=result.model_dump(mode="json"))
            if now.draft is not None:
                # New evidence for a draft: no second gate, the revision follows.
                return Change(replace(after, status=Status.REVISING), why="the outline was looked at again")
            rounds_left = now.research_rounds < self._limits.max_research_rounds
            if result.needs_more_research and result.missing_evidence and rounds_left and not now.taken:
                return Change(replace(after, status=Status.RESEARCHING), why="evidence is missing")
            done = _outcome(result.notes) if now.taken else None
            if (kept := carry_on(now)) is not None:
                return Change(replace(after, status=kept), why="requests were kept", take=True, outcome=done)
            auto = now.mode is Mode.AUTO
            shown = replace(
                after,
                status=Status.WRITING if auto else Status.AWAITING_OUTLINE,
                outline_version=now.outline_version + 1,
            )
            return Change(
                shown,
                why=f"outline {shown.outline_version} is ready",
                outcome=done,
                messages=[announcements.outline(shown, result, evidence, asks=not auto)],
            )

        await self._conclude(article, desk, conclusion)

    async def _write(self, article: Article, desk: Desk) -> None:
        evidence, analysis = _plan(article)
        draft = await write_draft(
            article.topic, article.language, evidence, analysis, requests=_requests(article), desk=desk
        )
        await self._conclude(
            article,
            desk,
            lambda now: Change(
                replace(now, status=Status.REVIEWING, draft=draft.model_dump(mode="json")),
                why=f"{len(draft.sections)} sections written",
            ),
        )

    async def _revise(self, article: Article, desk: Desk) -> None:
        evidence, analysis = _plan(article)
        draft = DraftResult.model_validate(article.draft)
        revised = await revise_draft(
            article.topic,
            article.language,
            evidence,
            analysis,
            draft,
            requests=_requests(article),
            review=_review_of(article),
            desk=desk,
        )
        await self._conclude(
            article,
            desk,
            lambda now: Change(
                replace(now, status=Status.REVIEWING, draft=revised.model_dump(mode="json")),
                why="revised",
                outcome=_outcome(revised.notes),
            ),
        )

    async def _review(self, article: Article, desk: Desk) -> None:
        evidence, analysis = _plan(article)
        draft = DraftResult.model_validate(article.draft)
        result = await review(
            article.topic,
            article.language,
            evidence,
            analysis,
            draft,
            requests=_requests(article),
            last=_review_of(article),
            desk=desk,
        )
        versions = await self._articles.versions(article.id)
        previous = DraftResult.model_validate(versions[-1]["draft"]) if versions else None

        def conclusion(now: Article) -> Change:
            number = now.version + 1
            reviewed = replace(now, review=result.model_dump(mode="json"), review_count=now.review_count + 1)
            recorded = (number, self._models.reviewer.model_name, result.model_dump(mode="json"))
            if (kept := carry_on(now)) is not None:
                return Change(
                    replace(reviewed, status=kept), why="requests were kept", take=True, review=recorded
                )
            to, stopped_by = self._after_review(reviewed, result)
            shown = replace(reviewed, status=to, stopped_by=stopped_by, version=number)
            markdown = to_markdown(
                draft, evidence.sources, language=now.language, on=datetime.now(UTC).date()
            )
            asks = to is Status.AWAITING_APPROVAL
            return Change(
                shown,
                why=f"review {shown.review_count}: {result.decision}",
                review=recorded,
                version=NewVersion(
                    number, draft.model_dump(mode="json"), markdown, word_count(draft.content)
                ),
                messages=[
                    announcements.draft_file(shown, draft, markdown),
                    announcements.draft(shown, draft, result, previous=previous, asks=asks),
                ],
            )

        await self._conclude(article, desk, conclusion)

    def _after_review(self, article: Article, result: ReviewResult) -> tuple[Status, str | None]:
        """Supervised: people decide. Auto: the reviewer, up to the caps; with no research left it revises."""
        if article.mode is Mode.SUPERVISED or result.decision == "approve":
            return Status.AWAITING_APPROVAL, None
        if article.review_count >= self._limits.max_reviews:
            return Status.AWAITING_APPROVAL, "max_reviews"
        if result.decision == "research":
            if article.research_rounds < self._limits.max_research_rounds:
                return Status.RESEARCHING, None
            return Status.REVISING, "max_research_rounds"
        return Status.REVISING, None

    async def _publish(self, article: Article, desk: Desk) -> None:
        draft = DraftResult.model_validate(article.draft)
        review = _review_of(article)
        file = await self._articles.message(announcements.file_key(article))
        params: dict[str, str | int] = {
            "version": article.version,
            "words": word_count(draft.content),
            "sources": len(draft.used_source_ids),
            "by": article.approved_by or "",
            "link": (file[1] if file else None) or "",
        }
        open_issues = [issue for issue in review.issues if issue.severity == "high"] if review else []
        text_key = "published"
        if open_issues:
            text_key = "published_over"
            params["issues"] = "\n".join(f"🔴 {issue.description}" for issue in open_issues)
        await self._conclude(
            article,
            desk,
            lambda now: Change(
                replace(now, status=Status.PUBLISHED),
                why=f"draft {now.version} approved by {now.approved_by}",
                messages=[announcements.note(now, f"published:{now.version}", text_key, params)],
            ),
        )

    async def _fail(self, article: Article, desk: Desk, code: str, facts: Mapping[str, str]) -> None:
        """Keep what there is, say what happened and what to do; Retry starts this leg again."""
        with contextlib.suppress(Moved):
            await self._conclude(article, desk, lambda now: failed(now, code, facts))

    async def _conclude(self, article: Article, desk: Desk, conclusion: Callable[[Article], Change]) -> None:
        """Write what a leg found out; if somebody spoke meanwhile, conclude again with what was said.

        Raises `Moved` when the article itself has moved on: then nothing of the leg is written.
        """
        now = article
        while True:
            change = conclusion(replace(now, usage=_used(desk.usage)))
            status = announcements.status(change.after, max_reviews=self._limits.max_reviews)
            try:
                await self._articles.save(now, replace(change, messages=[*change.messages, status]))
                return
            except Moved:
                fresh = await self._articles.get(article.id)
                if fresh is None or fresh.moves != article.moves:
                    raise
                now = fresh

    @asynccontextmanager
    async def _desk(self, article: Article) -> AsyncIterator[Desk]:
        """What agents work with; how far they are is shown in the status message, at most every 3 s."""
        latest: list[AgentProgress] = []

        async def show_progress() -> None:
            shown: AgentProgress | None = None
            while True:
                await asyncio.sleep(PROGRESS_EVERY_SECONDS)
                if latest and latest[-1] != shown:
                    shown = latest[-1]
                    status = announcements.status(
                        article, max_reviews=self._limits.max_reviews, progress=Progress(**asdict(shown))
                    )
                    if not await self._articles.tell_progress(article, status):
                        return

        usage = RunUsage(
            requests=article.usage["requests"],
            input_tokens=article.usage["input_tokens"],
            output_tokens=article.usage["output_tokens"],
        )
        ticker = asyncio.create_task(show_progress())
        try:
            yield Desk(models=self._models, search=self._search, usage=usage, progress=latest.append)
        finally:
            ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticker


def failed(article: Article, code: str, facts: Mapping[str, str]) -> Change:
    """The article stops where it is, and the thread is told why and what to do."""
    message = failure(article.language, code, facts)
    after = replace(article, status=Status.FAILED, error=ArticleError(article.status, code, message))
    # What Slack said, or the raw answer of a model that could not be used, is kept in the history.
    why = "\n".join([code, *(facts[name] for name in ("code", "answer") if name in facts)])
    note = announcements.note(after, f"failed:{article.moves}", "failed", {"message": message})
    return Change(after, why=why, messages=[note])


def _used(usage: RunUsage) -> dict[str, Any]:
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": None,
    }


def _research_of(article: Article) -> ResearchResult | None:
    return None if article.research is None else ResearchResult.model_validate(article.research)


def _analysis_of(article: Article) -> AnalysisResult | None:
    return None if article.analysis is None else AnalysisResult.model_validate(article.analysis)


def _plan(article: Article) -> tuple[ResearchResult, AnalysisResult]:
    """What an outline that was decided on rests on, and the outline."""
    return ResearchResult.model_validate(article.research), AnalysisResult.model_validate(article.analysis)


def _review_of(article: Article) -> ReviewResult | None:
    return None if article.review is None else ReviewResult.model_validate(article.review)


def _requests(article: Article) -> list[StandingRequest]:
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


def _asked_for(article: Article, decision: Decision) -> str:
    if decision.action is Action.REVISE:
        return decision.text
    question = decision.text or "; ".join(missing_evidence(article))
    return say_plain(article.language, "more_on", text=question)


def _questions(article: Article) -> list[str]:
    """What to look for beyond the topic: people's questions, else what reviewer or analyst miss."""
    asked = [decision.text for decision in article.taken if decision.action is Action.RESEARCH]
    return [text for text in asked if text] or missing_evidence(article)


def _outcome(notes: Sequence[str]) -> str:
    return " ".join(notes)

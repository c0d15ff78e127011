"""One leg of work each: agents at work on an article between two decisions. No Slack here."""

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace

from agents.account import Account, Budget
from agents.analyst import analyse
from agents.contracts import DraftResult, ResearchResult
from agents.desk import AgentProgress, Desk, PublishedBefore, Web
from agents.errors import AgentError
from agents.models import Models
from agents.prices import Prices
from agents.researcher import research
from agents.reviewer import review
from agents.web_search import WebSearch
from agents.writer import revise_draft, write_draft
from bot import announcements
from bot.brief import (
    analysis_of,
    draft_of,
    has_researched,
    plan_of,
    questions_of,
    questions_on,
    reading_first,
    requests_of,
    research_of,
    review_of,
)
from bot.conclusions import failed, outcome, published, showing, trimmed, untold
from bot.decisions import Limits, after_outline, after_review, carry_on, research_used_up
from bot.messages import Progress
from bot.texts import failure, say_plain
from knowledge.article import AT_WORK, Article, ArticleError, Status
from knowledge.articles import Articles
from knowledge.changes import Change, Moved
from knowledge.database import AWAY, hangs
from knowledge.model_record import ModelRecord
from knowledge.pages import Pages
from knowledge.search import Search
from knowledge.shared_sources import SharedSources
from knowledge.similar import SimilarArticles

log = logging.getLogger(__name__)

# Slack asks for no more than one edit of a message every 3 s (chat.update is a tier 3 method).
PROGRESS_EVERY_SECONDS = 3.0

# Bounds a leg in which every call goes wrong slowly: docs/decisions/0012 has what that adds up to.
LEG_SECONDS = 3_600.0


class Legs:
    """Works on an article until it waits for people or ends; each method is one leg."""

    def __init__(
        self,
        articles: Articles,
        similar: SimilarArticles,
        search: Search,
        models: Models,
        limits: Limits,
        *,
        shared: SharedSources,
        record: ModelRecord,
        budget: Budget,
        prices: Prices,
        web: tuple[WebSearch, Pages] | None = None,
        longest: float = LEG_SECONDS,
    ) -> None:
        self._articles = articles
        self._similar = similar
        self._search = search
        self._models = models
        self._limits = limits
        self._shared = shared
        self._record = record
        self._budget = budget
        self._prices = prices
        self._web = web
        self._longest = longest

    async def work(self, article_id: int, moves: int) -> None:
        """The leg that a job was made for; one that is out of date does nothing and says nothing."""
        article = await self._articles.get(article_id)
        if article is None or article.moves != moves or article.status not in AT_WORK:
            log.info("article %s: the leg for move %s is out of date", article_id, moves)
            return
        async with self._desk(article) as desk:
            try:
                await self._carry_out(article, desk)
            except Moved:
                log.info("article %s: overtaken in %s, nothing written", article_id, article.status)
            finally:
                # Also of a leg that wrote nothing, since somebody cancelled: what was used is told.
                await self._articles.spent(article, desk.account.as_json())
                await self._record.add(desk.conducts)

    async def _carry_out(self, article: Article, desk: Desk) -> None:
        """The leg, or what becomes of the article when it cannot end; raises `Moved`."""
        legs: Mapping[Status, Callable[[Article, Desk], Awaitable[None]]] = {
            Status.RESEARCHING: self._research,
            Status.OUTLINING: self._outline,
            Status.WRITING: self._write,
            Status.REVISING: self._revise,
            Status.REVIEWING: self._review,
            Status.PUBLISHING: self._publish,
        }
        limit = asyncio.timeout(self._longest)
        try:
            async with limit:
                await legs[article.status](article, desk)
        except (Moved, *AWAY):  # cut off from the database: the job comes again, and the journal has the rest
            raise
        except AgentError as error:
            log.warning("article %s: %s failed: %s", article.id, article.status, error)
            if error.code == "budget" and article.draft is not None:
                await self._deliver(article, desk, error.facts)
            else:
                await self._fail(article, desk, error.code, error.facts)
        except Exception as fault:
            if not limit.expired() and hangs(fault):  # as if it were away
                raise
            log.exception("article %s: %s failed", article.id, article.status)
            if limit.expired():
                minutes = math.ceil(self._longest / 60)
                await self._fail(article, desk, "leg_timeout", {"minutes": str(minutes)})
            else:
                await self._fail(article, desk, "unexpected", {})

    async def _research(self, article: Article, desk: Desk) -> None:
        before = research_of(article)
        unread = await self._shared.unread(article.id)
        result = await research(
            article.topic,
            article.language,
            questions=[*questions_of(article), *questions_on(article, unread)],
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
        # Last: should it not come to this, they are read once more with the next request.
        await self._shared.have_been_read(article.id, unread)

    async def _outline(self, article: Article, desk: Desk) -> None:
        evidence = ResearchResult.model_validate(article.research)
        similar = await self._similar.published(article)
        result = await analyse(
            article.topic,
            article.language,
            evidence,
            requests=requests_of(article),
            previous=analysis_of(article),
            published=[PublishedBefore(one.title, one.description) for one in similar],
            desk=desk,
        )
        gate = await self._articles.message(
            announcements.gate_key(article, "outline", article.outline_version)
        )
        unseen = untold(analysis_of(article), gate[0] if gate else None)
        told = result.model_copy(update={"notes": list(dict.fromkeys([*unseen, *result.notes]))})
        unread = await self._shared.unread(article.id)

        def conclusion(now: Article) -> Change:
            after = replace(now, analysis=told.model_dump(mode="json"))
            lacks_evidence = result.needs_more_research and bool(result.missing_evidence)
            to = after_outline(now, lacks_evidence=lacks_evidence, limits=self._limits)
            if to in (Status.REVISING, Status.RESEARCHING):
                why = "new evidence for the draft" if to is Status.REVISING else "evidence is missing"
                return Change(replace(after, status=to), why=why)
            done = outcome(result.notes) if now.taken else None
            if (kept := carry_on(now)) is not None:
                to = reading_first(kept, unread)
                return Change(replace(after, status=to), why="requests were kept", take=True, outcome=done)
            shown = replace(after, status=to, outline_version=now.outline_version + 1)
            asks = to is Status.AWAITING_OUTLINE
            return Change(
                shown,
                why=f"outline {shown.outline_version} is ready",
                outcome=done,
                messages=[announcements.outline(shown, told, evidence, published=similar, asks=asks)],
            )

        await self._conclude(article, desk, conclusion)

    async def _write(self, article: Article, desk: Desk) -> None:
        evidence, analysis = plan_of(article)
        draft = await write_draft(
            article.topic, article.language, evidence, analysis, requests=requests_of(article), desk=desk
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
        evidence, analysis = plan_of(article)
        draft = DraftResult.model_validate(article.draft)
        revised = await revise_draft(
            article.topic,
            article.language,
            evidence,
            analysis,
            draft,
            requests=requests_of(article),
            review=review_of(article),
            desk=desk,
        )
        notes = list(revised.notes)
        if research_used_up(article, self._limits) and not has_researched(
            await self._articles.history(article.id)
        ):
            missing = "; ".join(questions_of(article))
            notes.append(say_plain(article.language, "not_researched", text=missing))
        # As with outlines: what was said of a draft that nobody has seen is told with the next.
        unseen = [] if draft == await self._last_shown(article) else draft.notes
        revised = revised.model_copy(update={"notes": list(dict.fromkeys([*unseen, *notes]))})
        await self._conclude(
            article,
            desk,
            lambda now: Change(
                replace(now, status=Status.REVIEWING, draft=revised.model_dump(mode="json")),
                why="revised",
                outcome=outcome(notes),
            ),
        )

    async def _review(self, article: Article, desk: Desk) -> None:
        evidence, analysis = plan_of(article)
        draft = DraftResult.model_validate(article.draft)
        result = await review(
            article.topic,
            article.language,
            evidence,
            analysis,
            draft,
            requests=requests_of(article),
            last=review_of(article),
            desk=desk,
        )
        before = await self._last_shown(article)
        unread = await self._shared.unread(article.id)

        def conclusion(now: Article) -> Change:
            reviewed = replace(now, review=result.model_dump(mode="json"), review_count=now.review_count + 1)
            number = now.version + 1
            recorded = (number, self._models.reviewer.model_name, result.model_dump(mode="json"))
            if (kept := carry_on(reviewed)) is not None:
                to = reading_first(kept, unread)
                return Change(
                    replace(reviewed, status=to), why="requests were kept", take=True, review=recorded
                )
            to, stopped_by = after_review(reviewed, result.decision, self._limits)
            to = reading_first(to, unread)
            shown = replace(reviewed, status=to, stopped_by=stopped_by, version=number)
            change = showing(shown, draft, evidence, review=result, before=before)
            why = f"review {shown.review_count}: {result.decision}"
            return replace(change, why=why, review=recorded, settle=True)

        await self._conclude(article, desk, conclusion)

    async def _publish(self, article: Article, desk: Desk) -> None:
        draft = DraftResult.model_validate(article.draft)
        review = review_of(article)
        file = await self._articles.message(announcements.file_key(article))
        link = (file[1] if file else None) or ""
        # Approved while the budget kept requests from being carried out: people read that they were not.
        left = "; ".join(decision.text for decision in (*article.taken, *article.waiting) if decision.text)

        def conclusion(now: Article) -> Change:
            messages = [published(now, draft, review, link=link)]
            if left:
                messages.append(announcements.note(now, f"left:{now.moves}", "left_undone", {"text": left}))
            return Change(
                replace(now, status=Status.PUBLISHED),
                why=f"draft {now.version} approved by {now.approved_by}",
                outcome=say_plain(now.language, "not_carried_out") if now.taken else None,
                settle=True,
                messages=messages,
            )

        await self._conclude(article, desk, conclusion)

    async def _fail(self, article: Article, desk: Desk, code: str, facts: Mapping[str, str]) -> None:
        """Keep what there is, say what happened and what to do; Retry starts this leg again."""
        await self._conclude(article, desk, lambda now: failed(now, code, facts))

    async def _deliver(self, article: Article, desk: Desk, facts: Mapping[str, str]) -> None:
        """The budget is used up: the best draft so far goes to people, with its open points.

        Requests that were taken stay so: Retry, or the next revision, carries them out.
        """
        draft = draft_of(article)
        assert draft is not None
        evidence, _ = plan_of(article)
        before = await self._last_shown(article)
        gate = None
        if draft == before:  # it was shown, and is asked about once more
            gate = await self._articles.message(announcements.gate_key(article, "draft", article.version))
        message = failure(article.language, "budget", facts)

        def conclusion(now: Article) -> Change:
            stopped = replace(
                now,
                status=Status.AWAITING_APPROVAL,
                stopped_by="budget",
                error=ArticleError(now.status, "budget", message),
            )
            note = announcements.note(stopped, f"failed:{now.moves}", "failed", {"message": message})
            if gate is not None:
                return Change(
                    stopped, why="budget", messages=[note, announcements.asked_again(stopped, gate[0])]
                )
            # In the review that was stopped the row still has the one of the draft before.
            review = None if now.status is Status.REVIEWING else review_of(now)
            shown = replace(stopped, version=now.version + 1, review=None if review is None else now.review)
            change = showing(shown, draft, evidence, review=review, before=before)
            return replace(change, why="budget", messages=[note, *change.messages])

        await self._conclude(article, desk, conclusion)

    async def _last_shown(self, article: Article) -> DraftResult | None:
        versions = await self._articles.versions(article.id)
        return DraftResult.model_validate(versions[-1]["draft"]) if versions else None

    async def _conclude(self, article: Article, desk: Desk, conclusion: Callable[[Article], Change]) -> None:
        """Write what a leg found out; if somebody spoke meanwhile, conclude again with what was said.

        Raises `Moved` when the article itself has moved on: then nothing of the leg is written.
        """
        now = article
        while True:
            change = conclusion(replace(now, usage=desk.account.as_json()))
            status = announcements.status(change.after, max_reviews=self._limits.max_reviews)
            messages = [*trimmed(now, desk.trimmed), *change.messages, status]
            try:
                await self._articles.save(now, replace(change, messages=messages))
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
                    try:
                        if not await self._articles.tell_progress(article, status):
                            return
                    except Exception as fault:  # of the database: the leg itself can do without
                        log.warning("article %s: progress is not shown: %s", article.id, fault)

        account = Account.of(article.usage, budget=self._budget, prices=self._prices)
        journal = await self._articles.journal(article)
        ticker = asyncio.create_task(show_progress())
        try:
            yield Desk(
                self._models,
                self._search.for_article(article.id),
                account,
                latest.append,
                journal=journal,
                web=self._web and Web(*self._web, article_id=article.id),
            )
        finally:
            ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticker

"""Legs of an article with real agents and a real database, while somebody speaks in between."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agents.account import Budget
from agents.models import Models, models_from
from agents.offline.model import OfflineModel
from bot.decisions import Limits
from bot.legs import LEG_SECONDS, Legs
from knowledge.article import Action, Article, Mode, On, Status
from knowledge.articles import Articles
from knowledge.changes import Change, NewArticle, NewDecision
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.language import Language
from knowledge.model_record import ModelRecord
from knowledge.search import Search
from knowledge.shared_sources import SharedSources
from knowledge.similar import SimilarArticles

SAMPLE = Path(__file__).parents[2] / "knowledge" / "sample"
LIMITS = Limits(max_reviews=3, max_research_rounds=2)
TOPICS: dict[Language, str] = {
    "en": "Why should Go backends move from MD5 to Argon2id?",
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
}
WISHES: dict[Language, str] = {"en": "drop section 1", "zh": "删除第1节", "ja": "第1節を削除"}


class Interrupted(WrapperModel):
    """The model that needs no key; something happens before its first answer."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(OfflineModel())
        self.answers = 0
        self._meanwhile = meanwhile

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if self.answers == 0:
            await self._meanwhile()
        self.answers += 1
        return await super().request(messages, model_settings, model_request_parameters)


class Stage:
    """One article over the sample knowledge, and the legs that work on it."""

    def __init__(self, pool: Pool) -> None:
        self.articles = Articles(pool)
        self._pool = pool
        self._similar = SimilarArticles(pool)
        self._search = Search(pool, None)

    async def start(self, language: Language = "en") -> Article:
        new = NewArticle(TOPICS[language], language, Mode.SUPERVISED, "T1", "C1", "U1")
        return await self.articles.add(new, first_messages=lambda article: [])

    async def now(self, article: Article) -> Article:
        found = await self.articles.get(article.id)
        assert found is not None
        return found

    async def work(
        self,
        article: Article,
        models: Models | None = None,
        *,
        budget: Budget | None = None,
        longest: float = LEG_SECONDS,
    ) -> Article:
        """The leg that `article` is in."""
        legs = Legs(
            self.articles,
            self._similar,
            self._search,
            models or models_from(None),
            LIMITS,
            shared=SharedSources(self._pool),
            record=ModelRecord(self._pool),
            budget=budget or Budget(),
            prices={},
            longest=longest,
        )
        await legs.work(article.id, article.moves)
        return await self.now(article)

    async def approve_outline(self, article: Article) -> Article:
        decision = NewDecision("outline", Action.APPROVE, "", None, "U1", article.outline_version)
        writing = replace(article, status=Status.WRITING)
        return await self.articles.save(article, Change(writing, why="approve", decision=decision))

    async def keep(self, article: Article, text: str) -> Article:
        """What somebody says while agents are at work."""
        on: On = "outline" if article.status is Status.RESEARCHING else "draft"
        decision = NewDecision(on, Action.REVISE, text, None, "U2", 1, kept=True)
        current = await self.now(article)
        return await self.articles.save(current, Change(current, why="kept", decision=decision))


@pytest.fixture
async def stage(pool: Pool) -> Stage:
    await Documents(pool).ingest([SAMPLE])
    return Stage(pool)


async def test_a_job_that_comes_a_second_time_does_nothing(stage: Stage) -> None:
    article = await stage.start()
    outlining = await stage.work(article)
    assert outlining.status is Status.OUTLINING
    assert await stage.work(article) == outlining


@pytest.mark.parametrize("language", TOPICS)
async def test_a_leg_that_ends_after_somebody_spoke_keeps_its_work_and_the_request(
    stage: Stage, language: Language
) -> None:
    article = await stage.start(language)
    model = Interrupted(lambda: stage.keep(article, WISHES[language]))
    after = await stage.work(article, replace(models_from(None), research=model))
    assert after.status is Status.OUTLINING
    assert after.research is not None
    assert [decision.text for decision in after.waiting] == [WISHES[language]]


async def test_a_leg_whose_article_was_cancelled_meanwhile_writes_nothing(stage: Stage) -> None:
    article = await stage.start()

    async def cancel() -> None:
        await stage.articles.save(article, Change(replace(article, status=Status.CANCELLED), why="cancel"))

    model = Interrupted(cancel)
    after = await stage.work(article, replace(models_from(None), research=model))
    assert (after.status, after.moves, after.research) == (Status.CANCELLED, article.moves + 1, None)


@pytest.mark.parametrize("language", TOPICS)
async def test_what_is_said_during_the_review_is_carried_out_before_people_are_asked(
    stage: Stage, language: Language
) -> None:
    article = await stage.start(language)
    while article.status is not Status.AWAITING_OUTLINE:
        article = await stage.work(article)
    article = await stage.work(await stage.approve_outline(article))
    assert article.status is Status.REVIEWING
    model = Interrupted(lambda: stage.keep(article, WISHES[language]))
    after = await stage.work(article, replace(models_from(None), reviewer=model))
    assert (after.status, after.version) == (Status.REVISING, 0)
    assert [decision.text for decision in after.taken] == [WISHES[language]]


@pytest.mark.parametrize("language", TOPICS)
async def test_a_request_that_the_budget_stopped_stays_to_be_done_beside_the_draft_shown_for_the_first_time(
    stage: Stage, language: Language
) -> None:
    article = await stage.start(language)
    while article.status is not Status.AWAITING_OUTLINE:
        article = await stage.work(article)
    article = await stage.work(await stage.approve_outline(article))
    model = Interrupted(lambda: stage.keep(article, WISHES[language]))
    revising = await stage.work(article, replace(models_from(None), reviewer=model))
    stopped = await stage.work(revising, budget=Budget(tokens=0))
    assert (stopped.status, stopped.version, stopped.stopped_by) == (Status.AWAITING_APPROVAL, 1, "budget")
    assert [decision.text for decision in stopped.taken] == [WISHES[language]]


@pytest.mark.parametrize("language", TOPICS)
async def test_a_leg_that_never_ends_is_stopped_and_keeps_what_was_made_before(
    stage: Stage, language: Language
) -> None:
    article = await stage.start(language)
    outlining = await stage.work(article)
    model = Interrupted(asyncio.Event().wait)
    async with asyncio.timeout(20):
        stopped = await stage.work(outlining, replace(models_from(None), analysis=model), longest=0.2)
    assert (stopped.status, stopped.research) == (Status.FAILED, outlining.research)
    assert stopped.error is not None
    assert (stopped.error.leg, stopped.error.code) == (Status.OUTLINING, "leg_timeout")
    assert re.search(r"1 (minutes|分)", stopped.error.message)


async def test_a_timeout_of_something_else_is_none_of_the_leg(stage: Stage) -> None:
    async def broken() -> None:
        raise TimeoutError

    article = await stage.start("ja")
    stopped = await stage.work(article, replace(models_from(None), research=Interrupted(broken)))
    assert stopped.error is not None
    assert stopped.error.code == "unexpected"

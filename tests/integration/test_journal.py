"""A leg that starts again makes no finished call again and pays for none, over the wire."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.models import override_allow_model_requests

from agents.models import Models, models_from
from agents.patience import Patience
from knowledge.article import Article, Status
from knowledge.changes import Change, Moved
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.journal import Journal
from knowledge.language import Language
from tests.editorial_office import Office, stage_of
from tests.integration.test_legs import SAMPLE, TOPICS, Stage
from tests.scripted_openai.replies import Failure, Hang, Reply, Text
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

ALL = "select step from journal order by step, n"
LANGUAGES = pytest.mark.parametrize("language", TOPICS)


class Host:
    """An office at a host; one kind of request can get something else instead, `spoilt`."""

    def __init__(self, server: ScriptedOpenAI, models: Models) -> None:
        self.server = server
        self.models = models
        self._office = Office()
        self.spoilt: Callable[[ChatRequest], Reply | None] = lambda request: None
        server.answer = self._answer

    def _answer(self, request: ChatRequest) -> Reply:
        return self.spoilt(request) or self._office(request)

    def asked(self, stage: str) -> int:
        return sum(stage_of(request) == stage for request in self.server.requests)


@pytest.fixture
async def stage(pool: Pool) -> Stage:
    await Documents(pool).ingest([SAMPLE])
    return Stage(pool)


@pytest.fixture
async def host(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Host]:
    async with ScriptedOpenAI(Office()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
        with override_allow_model_requests(True):
            models = models_from("openai-chat:gpt-4.1-mini", patience=Patience(tries=1))
            async with models.connected():
                yield Host(server, models)
        assert server.refusals == []


async def killed(leg: Coroutine[Any, Any, Article], pool: Pool, host: Host, *kept: str) -> None:
    """Starts a leg and cuts it off, as if its worker died: once its journal has these steps, and what is
    not answered has reached its host."""
    running = asyncio.create_task(leg)
    async with asyncio.timeout(30):
        while [row["step"] for row in await pool.fetch(ALL)] != [*kept] or not host.server.under_way:
            assert not running.done()
            await asyncio.sleep(0.02)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def entries(pool: Pool, article: Article) -> list[str]:
    rows = await pool.fetch("select step from journal where article_id = $1 order by step, n", article.id)
    return [row["step"] for row in rows]


async def to_writing(stage: Stage, host: Host, language: Language) -> Article:
    article = await stage.start(language)
    while article.status is not Status.AWAITING_OUTLINE:
        article = await stage.work(article, host.models)
    return await stage.approve_outline(article)


@LANGUAGES
async def test_research_that_was_cut_off_goes_on_after_its_last_answer(
    stage: Stage, host: Host, pool: Pool, language: Language
) -> None:
    article = await stage.start(language)
    host.spoilt = lambda request: Hang() if request.tool_results else None
    await killed(stage.work(article, host.models), pool, host, "research", "research:search")
    # What is added meanwhile does not change what was found: else each later call would be another one.
    await pool.execute("delete from chunks")

    host.spoilt = lambda request: None
    outlining = await stage.work(article, host.models)
    assert outlining.status is Status.OUTLINING
    assert outlining.research is not None
    assert len(outlining.research["findings"]) > 1
    asked = [request for request in host.server.requests if stage_of(request) == "knowledge_search"]
    assert [bool(request.tool_results) for request in asked] == [False, True, True]
    assert asked[1].tool_results[0].text == asked[2].tool_results[0].text
    # Its own call of then, the report, the findings: each counted once, the one that hung not at all.
    assert outlining.usage["requests"] == 3
    assert await entries(pool, article) == []


@LANGUAGES
async def test_of_sections_side_by_side_only_those_without_an_answer_are_written_again(
    stage: Stage, host: Host, pool: Pool, language: Language
) -> None:
    article = await to_writing(stage, host, language)
    before = article.usage

    def second_hangs(request: ChatRequest) -> Reply | None:
        here = '<section number="2">\n<heading>' in request.last_user.partition("</outline>")[2]
        return Hang() if stage_of(request) == "return_section" and here else None

    host.spoilt = second_hangs
    await killed(stage.work(article, host.models), pool, host, "front", "section:1", "section:3")
    host.spoilt = lambda request: None
    reviewing = await stage.work(article, host.models)
    assert reviewing.status is Status.REVIEWING
    assert (host.asked("return_section"), host.asked("return_front")) == (4, 1)
    assert reviewing.usage["requests"] == before["requests"] + 4
    answered = [request for request in host.server.requests if not request.gone]
    assert reviewing.usage["requests"] == len(answered)


@LANGUAGES
async def test_retry_after_a_host_that_failed_keeps_what_was_paid(
    stage: Stage, host: Host, language: Language
) -> None:
    article = await to_writing(stage, host, language)
    host.spoilt = lambda request: (
        Failure.server_error(delay=0.3) if stage_of(request) == "return_front" else None
    )
    failed = await stage.work(article, host.models)
    assert failed.status is Status.FAILED
    host.spoilt = lambda request: None
    reviewing = await stage.work(await retried(stage, failed), host.models)
    assert reviewing.status is Status.REVIEWING
    assert host.asked("return_section") == 3


async def retried(stage: Stage, failed: Article) -> Article:
    assert failed.error is not None
    again = replace(failed, status=Status(failed.error.leg), error=None)
    return await stage.articles.save(failed, Change(again, why="retry"))


@LANGUAGES
async def test_retry_after_bad_answers_does_not_get_them_once_more(
    stage: Stage, host: Host, language: Language
) -> None:
    article = await stage.start(language)
    outlining = await stage.work(article, host.models)
    host.spoilt = lambda request: Text("?", broken=True) if stage_of(request) != "knowledge_search" else None
    failed = await stage.work(outlining, host.models)
    assert failed.error is not None
    assert failed.error.code == "bad_answer"
    host.spoilt = lambda request: None
    assert (await stage.work(await retried(stage, failed), host.models)).status is Status.AWAITING_OUTLINE


async def test_retry_after_nothing_was_found_looks_again(stage: Stage, host: Host, pool: Pool) -> None:
    rows = await pool.fetch("select id from documents")
    await pool.execute("delete from documents")
    failed = await stage.work(await stage.start("ja"), host.models)
    assert rows
    assert failed.error is not None
    assert failed.error.code == "nothing_found"
    await Documents(pool).ingest([SAMPLE])
    assert (await stage.work(await retried(stage, failed), host.models)).status is Status.OUTLINING


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        "[]",
        '[{"kind": "response", "parts": [{"part_kind": "of a later version"}]}]',
        '[{"kind": "request", "parts": []}]',
    ],
)
async def test_an_entry_that_cannot_be_read_is_said_and_the_call_made_again(
    stage: Stage, host: Host, pool: Pool, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    article = await stage.start("zh")
    host.spoilt = lambda request: Hang() if request.tool_results else None
    await killed(stage.work(article, host.models), pool, host, "research", "research:search")
    # Of a search `[]` is an answer.
    await pool.execute("update journal set body = $1 where step = 'research' or $1 <> '[]'", body)
    host.spoilt = lambda request: None
    assert (await stage.work(article, host.models)).status is Status.OUTLINING
    assert "cannot be read" in caplog.text


async def test_what_is_asked_differently_is_asked(stage: Stage, host: Host, pool: Pool) -> None:
    article = await stage.start("ja")
    host.spoilt = lambda request: Hang() if request.tool_results else None
    await killed(stage.work(article, host.models), pool, host, "research", "research:search")
    host.spoilt = lambda request: None
    other = models_from("openai-chat:gpt-4.1", patience=Patience(tries=1))
    async with other.connected():
        outlining = await stage.work(article, other)
    assert outlining.status is Status.OUTLINING
    asked = [request.model for request in host.server.requests if stage_of(request) == "knowledge_search"]
    assert asked == ["gpt-4.1-mini", "gpt-4.1-mini", "gpt-4.1", "gpt-4.1"]


async def test_a_worker_that_wakes_up_too_late_keeps_nothing(stage: Stage, pool: Pool) -> None:
    article = await stage.start("zh")
    journal = await stage.articles.journal(article)
    await stage.articles.save(article, Change(replace(article, status=Status.CANCELLED), why="cancel"))
    usage: dict[str, Any] = {**article.usage, "requests": 99}
    with pytest.raises(Moved):
        await journal.write("research", 0, "…", "[]", usage=usage)
    assert await entries(pool, article) == []
    assert (await stage.now(article)).usage == article.usage


async def test_while_the_database_is_away_an_answer_is_used_all_the_same(
    stage: Stage, pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    article = await stage.start("en")
    journal = await Journal.of(pool, article)
    await pool.execute("alter table journal rename to journal_away")
    await journal.write("research", 0, "…", "[]")
    assert "is not kept" in caplog.text


async def test_retry_asks_a_fallback_anew_that_gave_nothing_of_use(
    stage: Stage, host: Host, pool: Pool
) -> None:
    fallback = models_from("openai-chat:gpt-4.1", patience=Patience(tries=1)).writer
    models = replace(host.models, fallback=fallback)
    outlining = await stage.work(await stage.start("zh"), models)

    def spoilt(request: ChatRequest) -> Reply | None:
        if stage_of(request) != "return_analysis":
            return None
        return Failure.server_error() if request.model == "gpt-4.1-mini" else Text("?", broken=True)

    host.spoilt = spoilt
    async with fallback:
        failed = await stage.work(outlining, models)
        assert failed.status is Status.FAILED
        host.spoilt = lambda request: spoilt(request) if request.model == "gpt-4.1-mini" else None
        again = await stage.work(await retried(stage, failed), models)
    assert again.status is Status.AWAITING_OUTLINE


async def test_of_two_workers_on_one_leg_the_account_never_goes_back(stage: Stage, pool: Pool) -> None:
    article = await stage.start("ja")
    ahead, behind = await stage.articles.journal(article), await stage.articles.journal(article)
    await ahead.write("research", 0, "…", "[]", usage={**article.usage, "requests": 9})
    await behind.write("research", 1, "…", "[]", usage={**article.usage, "requests": 1})
    assert (await stage.now(article)).usage["requests"] == 9

"""A worker that is told to stop: vectors are left, legs are ended, and nothing is left behind."""

import asyncio

import pytest

from bot.jobs import build_jobs
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import Pool
from tests.integration.worker_of import worker_of

TOPICS = {"en": "Why Argon2id?", "zh": "为什么用 Argon2id？", "ja": "なぜ Argon2id か"}


async def nothing_ended() -> list[int]:
    return []


@pytest.mark.parametrize("under_way", ["a batch after another", "one that takes hours"])
async def test_vectors_that_are_under_way_hold_nobody_up(
    dsn: str, caplog: pytest.LogCaptureFixture, under_way: str
) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()
    stopping = asyncio.Event()
    caplog.set_level("INFO", logger="procrastinate")

    async def work(article_id: int, moves: int) -> None: ...

    async def embed() -> int:
        begun.set()
        if under_way == "a batch after another":
            await asyncio.sleep(0.01)
            return 16
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return 16

    app = build_jobs(dsn, work=work, embed=embed, free_ended=nothing_ended, stopping=stopping)
    async with worker_of(app, stopping), asyncio.timeout(20):
        await begun.wait()
    assert cancelled.is_set() == (under_way == "one that takes hours")
    assert "graceful timeout" not in caplog.text
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
async def test_a_leg_ends_also_when_the_worker_is_told_to_stop_twice(
    dsn: str, pool: Pool, topic: str
) -> None:
    new = NewArticle(topic, "en", Mode.SUPERVISED, "T1", "C1", "U1")
    await Articles(pool).add(new, first_messages=lambda article: [])
    begun, may_end, ended, stopping = (asyncio.Event() for _ in range(4))

    async def work(article_id: int, moves: int) -> None:
        begun.set()
        await may_end.wait()
        ended.set()

    app = build_jobs(dsn, work=work, embed=None, free_ended=nothing_ended, stopping=stopping)
    async with worker_of(app, stopping) as running:
        async with asyncio.timeout(20):
            await begun.wait()
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0.1)
        may_end.set()
    assert ended.is_set()
    left = "select count(*) from procrastinate_jobs where task_name = 'copydesk.leg'"
    assert await pool.fetchval(left) == 0

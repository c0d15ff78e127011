"""A leg whose database hangs for longer than a statement is waited for."""

import asyncio

import asyncpg
import pytest

from knowledge import database
from knowledge.article import Status
from knowledge.database import open_pool
from knowledge.documents import Documents
from tests.integration.test_legs import SAMPLE, Stage


async def test_a_database_that_hangs_at_the_end_of_a_leg_fails_no_article(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_SECONDS", 1.0)
    pool = await open_pool(dsn)
    looking = await asyncpg.connect(dsn)
    holding = await asyncpg.connect(dsn)
    try:
        await Documents(pool).ingest([SAMPLE])
        stage = Stage(pool)
        article = await stage.start("zh")
        hold = holding.transaction()
        await hold.start()
        await holding.execute("select from articles where id = $1 for update", article.id)
        leg = asyncio.create_task(stage.work(article))
        async with asyncio.timeout(30):
            while True:
                if await looking.fetchval(
                    "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
                    " and query like '%moves = $2 and heard%'"
                ):
                    break
                await asyncio.sleep(0.02)
        await asyncio.sleep(1.5)  # until nobody waits for that statement any more
        await hold.rollback()
        await asyncio.wait({leg})
        assert (await stage.now(article)).status is not Status.FAILED
        # What could not be written the job that comes again writes.
        assert (await stage.work(article)).status is Status.OUTLINING
    finally:
        await looking.close()
        await holding.close()
        await pool.close()

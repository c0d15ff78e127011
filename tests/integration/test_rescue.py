"""The rescue of dead workers' legs while there is much to do, and a leg that cannot end for long."""

import asyncio
from collections import Counter

import asyncpg
import pytest

from bot import jobs
from bot.jobs import build_jobs
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.leg_jobs import free_ended_legs
from tests.integration.worker_of import worker_of

TOPICS = ("Why Argon2id?", "为什么用 Argon2id？", "なぜ Argon2id か")


async def test_a_dead_workers_leg_is_taken_over_although_many_others_wait(
    dsn: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CONCURRENCY", 2)
    articles = Articles(pool)
    for number in range(60):
        new = NewArticle(f"{TOPICS[number % 3]} {number}", "en", Mode.SUPERVISED, "T1", "C1", "U1")
        await articles.add(new, first_messages=lambda article: [])
    # The first one's worker has been silent for a minute.
    await pool.execute(
        "insert into procrastinate_workers (last_heartbeat) values (now() - interval '1 minute')"
    )
    await pool.execute(
        "update procrastinate_jobs set status = 'doing',"
        " worker_id = (select max(id) from procrastinate_workers)"
        " where id = (select min(id) from procrastinate_jobs)"
    )
    done: list[int] = []
    taken_over = asyncio.Event()

    async def work(article_id: int, moves: int) -> None:
        done.append(article_id)
        if article_id == 1:
            taken_over.set()
        await asyncio.sleep(1.0)

    async def free_ended() -> list[int]:
        return await free_ended_legs(pool, seconds=15)

    app = build_jobs(dsn, work=work, embed=None, free_ended=free_ended, stopping=asyncio.Event())
    async with worker_of(app):
        try:
            # It counts as dead already: 5 s until it is looked for, and some room.
            async with asyncio.timeout(15):
                await taken_over.wait()
        except TimeoutError:
            pytest.fail(f"{len(done)} of 59 others were done first")


async def test_a_leg_that_could_not_end_for_long_is_not_given_up(dsn: str, pool: Pool) -> None:
    """For minutes there was no connection for it, while its queue had one."""
    new = NewArticle(TOPICS[1], "zh", Mode.SUPERVISED, "T1", "C1", "U1")
    await Articles(pool).add(new, first_messages=lambda article: [])
    await pool.execute("update procrastinate_jobs set attempts = 60")
    tried = 0
    ended = asyncio.Event()

    async def work(article_id: int, moves: int) -> None:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise asyncpg.TooManyConnectionsError("too many clients")
        ended.set()

    async def free_ended() -> list[int]:
        return []

    app = build_jobs(dsn, work=work, embed=None, free_ended=free_ended, stopping=asyncio.Event())
    async with worker_of(app), asyncio.timeout(20):
        await ended.wait()


async def test_a_leg_whose_failure_could_not_be_written_down_is_not_stuck_in_a_living_worker(
    dsn: str, pool: Pool
) -> None:
    """The database is away for longer than the queue waits for it, for less than the next heartbeat does."""
    new = NewArticle(TOPICS[2], "ja", Mode.SUPERVISED, "T1", "C1", "U1")
    await Articles(pool).add(new, first_messages=lambda article: [])
    await pool.execute(
        """
        create function away() returns trigger language plpgsql as $$
        begin raise exception 'away' using errcode = 'cannot_connect_now'; end $$;
        create trigger away before update on procrastinate_jobs for each row
            when (old.status = 'doing' and old.task_name = 'copydesk.leg') execute function away();
        """
    )
    begun = asyncio.Queue[int]()
    tries = Counter[int]()

    async def work(article_id: int, moves: int) -> None:
        tries[article_id] += 1
        await begun.put(article_id)
        if tries[article_id] == 1:
            raise ConnectionResetError

    async def free_ended() -> list[int]:
        return await free_ended_legs(pool, seconds=15)

    app = build_jobs(dsn, work=work, embed=None, free_ended=free_ended, stopping=asyncio.Event())
    async with worker_of(app), asyncio.timeout(40):
        await begun.get()
        await asyncio.sleep(1.0)
        await pool.execute("drop trigger away on procrastinate_jobs")
        await begun.get()


async def test_the_rescue_also_frees_legs_that_go_on_only_on_paper(dsn: str) -> None:
    freed = asyncio.Event()

    async def work(article_id: int, moves: int) -> None: ...

    async def free_ended() -> list[int]:
        freed.set()
        return []

    app = build_jobs(dsn, work=work, embed=None, free_ended=free_ended, stopping=asyncio.Event())
    async with worker_of(app), asyncio.timeout(20):
        await freed.wait()

"""/healthz and /readyz: what is in order, what is not, and that nobody learns more than that."""

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import psycopg
import pytest
from aiohttp import web
from psycopg import sql

from bot.health import DatabaseCheck, Health, Heartbeat, State, listening
from bot.jobs import DEAD_AFTER_SECONDS, build_jobs
from knowledge.database import Pool, open_pool
from tests.free_port import free_port
from tests.integration.worker_of import worker_of

PATIENCE = 30.0


async def get(port: int, path: str) -> tuple[int, dict[str, Any]]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.json()


async def well() -> State:
    return State(True, "well")


@pytest.fixture
def port() -> Iterator[int]:
    with free_port() as port:
        yield port


async def test_a_process_whose_parts_are_in_order_is_ready(pool: Pool, port: int) -> None:
    async with listening(port, Health({"database": DatabaseCheck(pool), "slack": well}).routes):
        assert await get(port, "/healthz") == (200, {"ok": True})
        assert await get(port, "/readyz") == (
            200,
            {
                "ok": True,
                "database": {"ok": True, "why": "answers"},
                "slack": {"ok": True, "why": "well"},
            },
        )


async def test_one_part_that_is_not_in_order_is_named(port: int) -> None:
    async def ill() -> State:
        return State(False, "Socket Mode is not connected")

    async with listening(port, Health({"database": well, "slack": ill}).routes):
        status, said = await get(port, "/readyz")
        assert (status, said["ok"]) == (503, False)
        assert said["slack"] == {"ok": False, "why": "Socket Mode is not connected"}
        assert said["database"]["ok"]
        assert (await get(port, "/healthz"))[0] == 200  # a restart would not mend it


async def test_a_database_that_is_gone_is_not_ready_and_comes_back(server: str, dsn: str, port: int) -> None:
    name = urlsplit(dsn).path.removeprefix("/")
    pool = await open_pool(dsn)
    async with listening(port, Health({"database": DatabaseCheck(pool)}).routes):
        assert (await get(port, "/readyz"))[0] == 200
        with psycopg.connect(server, autocommit=True) as connection:
            allow = sql.SQL("alter database {} with allow_connections {}")
            connection.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name]
            )
            said = (await until(port, 503))[1]
            assert said["database"] == {"ok": False, "why": "cannot be reached"}
            connection.execute(allow.format(sql.Identifier(name), sql.SQL("true")))
        await until(port, 200)
    await pool.close()


async def test_a_database_that_hangs_is_not_ready_and_is_not_asked_twice(dsn: str, port: int) -> None:
    pool = await open_pool(dsn, max_size=1)
    check = DatabaseCheck(pool)
    async with listening(port, Health({"database": check}).routes):
        async with pool.acquire() as connection:  # the only one: who asks now gets no answer
            for _ in range(3):
                assert await check() == State(False, "no answer within 1 s")
            assert (await get(port, "/readyz"))[0] == 503
            asking = [task for task in asyncio.all_tasks() if "reachable" in repr(task.get_coro())]
            assert len(asking) == 1
            await connection.execute("select 1")
        await until(port, 200)
    await pool.close()


async def test_however_often_it_is_asked_the_parts_are_looked_at_once(port: int) -> None:
    looks = 0

    async def counted() -> State:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0)
        return State(True, "well")

    async with listening(port, Health({"slack": counted}).routes):
        await asyncio.gather(*(get(port, "/readyz") for _ in range(20)))
    assert looks < 5


async def test_a_worker_is_ready_from_its_first_heartbeat_until_the_last_is_too_old(
    dsn: str, port: int
) -> None:
    heartbeat = Heartbeat(DEAD_AFTER_SECONDS)
    jobs = build_jobs(dsn, work=nothing, embed=None, free_ended=none_ended, stopping=asyncio.Event())
    heartbeat.watch(jobs)
    async with listening(port, Health({"worker": heartbeat.check}).routes):
        assert (await get(port, "/readyz"))[1]["worker"] == {"ok": False, "why": "has not started yet"}
        async with worker_of(jobs):
            _, said = await until(port, 200)
            assert said["worker"]["why"].startswith("last heartbeat ")


async def test_a_worker_whose_heartbeats_do_not_arrive_is_not_ready(dsn: str, port: int) -> None:
    """The database takes no heartbeat any more: others will take its work over, and so it says."""
    heartbeat = Heartbeat(dead_after=0.3)
    jobs = build_jobs(dsn, work=nothing, embed=None, free_ended=none_ended, stopping=asyncio.Event())
    heartbeat.watch(jobs)
    async with jobs.open_async():
        worker = await jobs.job_manager.register_worker()
        assert (await heartbeat.check()).ok
        async with asyncio.timeout(PATIENCE), listening(port, Health({"worker": heartbeat.check}).routes):
            await until(port, 503)
        await jobs.job_manager.update_heartbeat(worker)
        assert (await heartbeat.check()).ok


async def nothing(article_id: int, moves: int) -> None: ...


async def none_ended() -> list[int]:
    return []


async def test_without_a_port_nothing_is_listened_on() -> None:
    async with listening(None, Health({}).routes) as close:
        await close()


async def test_a_port_is_closed_once_what_came_in_is_answered(port: int) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        begun.set()
        await go_on.wait()
        return web.json_response({"ok": True})

    async with listening(port, [web.get("/slow", slow)]) as close:
        asked = asyncio.create_task(get(port, "/slow"))
        await begun.wait()
        closing = asyncio.create_task(close())
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await get(port, "/slow/not")
                except (aiohttp.ClientConnectionError, aiohttp.ContentTypeError):
                    break
        go_on.set()
        assert await asked == (200, {"ok": True})
        await closing


async def until(port: int, wanted: int) -> tuple[int, dict[str, Any]]:
    """The first answer of /readyz with this status."""
    async with asyncio.timeout(PATIENCE):
        while True:
            status, said = await get(port, "/readyz")
            if status == wanted:
                return status, said
            await asyncio.sleep(0.05)

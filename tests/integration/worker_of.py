"""A worker of some jobs, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import procrastinate

from bot.jobs import run_worker


@asynccontextmanager
async def worker_of(jobs: procrastinate.App) -> AsyncIterator[None]:
    """While it lasts; then it is told to stop, and has."""

    async def run() -> None:
        async with jobs.open_async():
            await run_worker(jobs)

    running = asyncio.create_task(run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})

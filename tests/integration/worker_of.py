"""A worker of some jobs, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import procrastinate

from bot.jobs import run_worker


@asynccontextmanager
async def worker_of(
    jobs: procrastinate.App, stopping: asyncio.Event | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """While it lasts; then it is told to stop, and has. `stopping` is what `jobs` were built with."""

    async def run() -> None:
        async with jobs.open_async():
            await run_worker(jobs, stopping or asyncio.Event())

    running = asyncio.create_task(run())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.wait({running})

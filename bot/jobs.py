"""The jobs of a worker: one leg of an article each, vectors in the background, the rescue of dead workers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

import procrastinate
import psycopg
from procrastinate import PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.jobs import Status as JobStatus
from procrastinate.manager import JobManager

from knowledge.leg_jobs import LEG_TASK, QUEUE

log = logging.getLogger(__name__)

# A worker that has not been heard of for this long is dead, and its jobs are taken over. Three heartbeats.
DEAD_AFTER_SECONDS = 15
HEARTBEAT_SECONDS = 5

# Legs at once in one process: they wait for models most of the time.
CONCURRENCY = 10

# On SIGTERM a leg gets this long to end; after that it is aborted, and another worker starts it again.
GRACE_SECONDS = 20

# croniter, which procrastinate uses, has the seconds in the sixth place.
EVERY_FIVE_SECONDS = "* * * * * */5"

# Before legs that wait for a free place, or a dead worker's leg would wait behind all of them.
RESCUE_FIRST = 10

# Embedding jobs keep to their own queue, so that they can be looked at and stopped apart.
KNOWLEDGE_QUEUE = "knowledge"


# While the database is away, how a job has ended is told again this much later.
RECORD_AGAIN_SECONDS = 2.0


class Recorder(JobManager):
    """procrastinate's own, which does not give up telling how a job has ended.

    It would count as running in a worker that lives: nobody takes it over, and its lock holds the article.
    """

    async def finish_job(self, job: Job, status: JobStatus, delete_job: bool) -> None:
        tell = super().finish_job
        await _until_recorded(lambda: tell(job, status, delete_job))

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        tell = super().retry_job
        await _until_recorded(lambda: tell(job, retry_at, priority, queue, lock))


async def _until_recorded(tell: Callable[[], Awaitable[None]]) -> None:
    """What the database refuses, rather than not taking it, is raised: somebody else has ended the job."""
    while True:
        try:
            return await tell()
        except ConnectorException as error:
            if not isinstance(error.__cause__, psycopg.OperationalError):
                raise
            log.warning("how a job has ended is not recorded yet: %s", error.__cause__)
            await asyncio.sleep(RECORD_AGAIN_SECONDS)


def build_jobs(
    dsn: str,
    *,
    work: Callable[[int, int], Awaitable[None]],
    embed: Callable[[], Awaitable[int]] | None,
    free_ended: Callable[[], Awaitable[list[int]]],
    stopping: asyncio.Event,
) -> procrastinate.App:
    """The procrastinate app.

    `work(article_id, moves)` is one leg, `embed()` gives a few chunks vectors, and `free_ended()` ends jobs
    that go on only on paper. Once `stopping` is set no more vectors are made.
    """
    jobs = procrastinate.App(connector=PsycopgConnector(conninfo=dsn, min_size=1, max_size=4))
    jobs.job_manager = Recorder(jobs.connector)

    # A leg records its own failures; only what keeps it from recording them (the database is away) ends here.
    # Its lock holds back what follows for the article, so the wait is short (DESIGN: at most 30 s). No
    # try is the last: nobody would take up the article then, and nobody would be told.
    @jobs.task(name=LEG_TASK, queue=QUEUE, retry=RetryStrategy(wait=5))
    async def leg(article_id: int, moves: int) -> None:
        await work(article_id, moves)

    @jobs.periodic(cron=EVERY_FIVE_SECONDS)
    @jobs.task(name="copydesk.rescue", queue=QUEUE, queueing_lock="copydesk.rescue", priority=RESCUE_FIRST)
    async def rescue(timestamp: int) -> None:
        for job in await jobs.job_manager.get_stalled_jobs(seconds_since_heartbeat=DEAD_AFTER_SECONDS):
            log.warning("job %s (%s) had a dead worker: taken over", job.id, job.task_kwargs)
            await jobs.job_manager.retry_job(job, retry_at=datetime.now(UTC))
        for job_id in await free_ended():
            log.warning("job %s had ended without its end being recorded: freed", job_id)

    if embed is not None:
        some_vectors = embed

        @jobs.periodic(cron=EVERY_FIVE_SECONDS)
        @jobs.task(
            name="copydesk.embed",
            queue=KNOWLEDGE_QUEUE,
            queueing_lock="copydesk.embed",
            lock="copydesk.embed",
        )
        async def vectors(timestamp: int) -> None:
            stopped = asyncio.create_task(stopping.wait())
            try:
                more = 1
                while more and not stopped.done():
                    some = asyncio.ensure_future(some_vectors())
                    await asyncio.wait({some, stopped}, return_when=asyncio.FIRST_COMPLETED)
                    more = await some if some.done() else await _left(some)
            finally:
                stopped.cancel()

    return jobs


async def _left(some: "asyncio.Future[int]") -> Literal[0]:
    """Nobody waits for vectors: those that are under way are made again later."""
    some.cancel()
    with suppress(asyncio.CancelledError):
        await some
    return 0


async def run_worker(jobs: procrastinate.App, stopping: asyncio.Event) -> None:
    """Work until cancelled; then `stopping` is set, and the legs at work get `GRACE_SECONDS` to end."""
    working = asyncio.create_task(
        jobs.run_worker_async(
            name="copydesk",
            concurrency=CONCURRENCY,
            fetch_job_polling_interval=2.0,
            abort_job_polling_interval=2.0,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=DEAD_AFTER_SECONDS,
            shutdown_graceful_timeout=GRACE_SECONDS,
            delete_jobs="successful",
            install_signal_handlers=False,
        )
    )
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        stopping.set()
        working.cancel()
        while not working.done():  # told a second time it would leave its jobs behind, and the pool closes
            with suppress(asyncio.CancelledError):
                await asyncio.wait({working})
        raise

"""Whether this process is well, for whoever starts and stops it: `/healthz` and `/readyz` on `PORT`."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

import procrastinate
from aiohttp import web

from bot.jobs import Recorder
from bot.slack_http import LARGEST_BODY
from knowledge.database import Pool
from knowledge.reachable import reachable

log = logging.getLogger(__name__)

# A probe mostly waits for a second; what is not there within that is not ready.
CHECK_SECONDS = 1.0
# However often it is asked, the database is asked no more often.
FRESH_SECONDS = 0.5
# On the way out: for requests that have come in.
CLOSE_SECONDS = 3.0
# What comes after a refusal is thrown away so long, or who sends it would not see the answer.
LINGER_SECONDS = 1.0


class PortError(Exception):
    """The port cannot be listened on; the sentence says why and what to set."""


@dataclass(frozen=True, slots=True)
class State:
    """Whether a part is in order, and in a few words why (not). It is seen by anyone who reaches the port."""

    ok: bool
    why: str


Check = Callable[[], Awaitable[State]]


class Health:
    """The parts of this process that have to be in order before work is given to it."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._looking = asyncio.Lock()
        self._seen: dict[str, State] = {}
        self._seen_at = -FRESH_SECONDS

    @property
    def routes(self) -> list[web.RouteDef]:
        return [web.get("/healthz", self._alive), web.get("/readyz", self._ready)]

    async def _alive(self, _: web.Request) -> web.Response:
        """That it answers is the answer: one loop does everything."""
        return web.json_response({"ok": True})

    async def _ready(self, _: web.Request) -> web.Response:
        async with self._looking:
            if time.monotonic() - self._seen_at >= FRESH_SECONDS:
                states = await asyncio.gather(*(check() for check in self._checks.values()))
                self._seen = dict(zip(self._checks, states, strict=True))
                self._seen_at = time.monotonic()
        ok = all(state.ok for state in self._seen.values())
        said = {"ok": ok, **{part: asdict(state) for part, state in self._seen.items()}}
        return web.json_response(said, status=200 if ok else 503)


class DatabaseCheck:
    """Asks the database. One question at a time: those to a database that hangs do not pile up."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._asking: asyncio.Task[bool] | None = None

    async def __call__(self) -> State:
        # Waited for from outside: cancelling a query asks the database, too, and would hang as it does.
        if self._asking is None:
            self._asking = asyncio.create_task(reachable(self._pool))
        done, _ = await asyncio.wait({self._asking}, timeout=CHECK_SECONDS)
        if not done:
            return State(False, f"no answer within {CHECK_SECONDS:g} s")
        asked, self._asking = self._asking, None
        return State(True, "answers") if asked.result() else State(False, "cannot be reached")


class Heartbeat:
    """When this process's worker last wrote into the database that it is alive."""

    def __init__(self, dead_after: float) -> None:
        """`dead_after` seconds others take its work over."""
        self._dead_after = dead_after
        self._last: float | None = None

    def watch(self, jobs: procrastinate.App) -> None:
        """Hear of the heartbeats of the worker that `jobs` is about to run."""
        jobs.job_manager = _Heard(jobs.connector, self._beat)

    async def check(self) -> State:
        if self._last is None:
            return State(False, "has not started yet")
        age = time.monotonic() - self._last
        return State(age < self._dead_after, f"last heartbeat {age:.0f} s ago")

    def _beat(self) -> None:
        self._last = time.monotonic()


class _Heard(Recorder):
    """The one that says when a heartbeat has reached the database."""

    def __init__(self, connector: procrastinate.BaseConnector, beat: Callable[[], None]) -> None:
        super().__init__(connector)
        self._beat = beat

    async def register_worker(self) -> int:
        worker_id = await super().register_worker()
        self._beat()
        return worker_id

    async def update_heartbeat(self, worker_id: int) -> None:
        await super().update_heartbeat(worker_id)
        self._beat()


@asynccontextmanager
async def listening(
    port: int | None, routes: Sequence[web.RouteDef]
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, None]]]:
    """Serve `routes` on all interfaces while it lasts; None = on no port. Raises `PortError`.

    What it gives closes the port earlier, once requests that have come in are answered.
    """
    server = web.Application(client_max_size=LARGEST_BODY)
    server.add_routes(routes)
    runner = web.AppRunner(
        server, access_log=None, shutdown_timeout=CLOSE_SECONDS, lingering_time=LINGER_SECONDS
    )
    await runner.setup()
    try:
        if port is not None:
            try:
                await web.TCPSite(runner, port=port).start()
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno else str(error)
                raise PortError(f"PORT={port} cannot be listened on ({reason}): set another one.") from error
            log.info("listening on port %s for %s", port, ", ".join(route.path for route in routes))
        yield runner.cleanup
    finally:
        await runner.cleanup()

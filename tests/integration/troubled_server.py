"""A PostgreSQL that can be stopped, cut off, frozen and killed."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg

from knowledge.embedded import EmbeddedPostgres

PATIENCE = 30.0


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> bool:
    """Waits for it so long; whether it came."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                if await holds():
                    return True
                await asyncio.sleep(0.05)
    return False


@asynccontextmanager
async def looking(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection that is none of the bot's."""
    connection = await asyncpg.connect(dsn, server_settings={"application_name": "test"})
    try:
        yield connection
    finally:
        await connection.close()


class Server:
    """A PostgreSQL of this test alone, whose processes may be hurt."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._embedded = EmbeddedPostgres(home)  # durable: some tests kill it
        self.dsn = ""

    async def start(self) -> None:
        self.dsn = await asyncio.to_thread(self._embedded.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self._embedded.stop)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.postmaster, number)

    @property
    def postmaster(self) -> int:
        return int((self._home / "database/data/postmaster.pid").read_text().splitlines()[0])

    async def gone(self) -> None:
        """Until it has stopped in order."""

        async def no_pid_file() -> bool:
            return not (self._home / "database/data/postmaster.pid").exists()

        assert await until(no_pid_file)

    async def backends(self, which: str) -> list[int]:
        """Process ids of clients' connections, but for the one that asks."""
        async with looking(self.dsn) as connection:
            rows = await connection.fetch(
                "select pid from pg_stat_activity where backend_type = 'client backend'"
                f" and application_name <> 'test' and {which}"
            )
        return [row["pid"] for row in rows]

    async def cut(self, which: str, *, but: Sequence[int] = ()) -> int:
        """Ends connections; returns how many."""
        pids = [pid for pid in await self.backends(which) if pid not in but]
        async with looking(self.dsn) as connection:
            await connection.execute("select pg_terminate_backend(pid) from unnest($1::int[]) pid", pids)
        return len(pids)

    @asynccontextmanager
    async def frozen(self, which: str, *, whole: bool = False, but: Sequence[int] = ()) -> AsyncIterator[int]:
        """Connections get no answer meanwhile; with `whole` there are no new ones either."""
        pids = [pid for pid in await self.backends(which) if pid not in but]
        pids += [self.postmaster] if whole else []
        with stopped(pids):
            yield len(pids)


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Processes that live and do nothing."""
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

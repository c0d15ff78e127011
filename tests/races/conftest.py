"""Two replicas on one database, and rooms in it."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest

from knowledge.database import Pool, open_pool
from knowledge.documents import Documents
from tests.races.replica import Replica, open_replica
from tests.races.room import Room
from tests.races.schedules import Schedule
from tests.races.thread import Thread

T = TypeVar("T")

SAMPLE = Path(__file__).parents[2] / "knowledge" / "sample"
DOCUMENTS = ("argon2id-in-go.md", "salts-and-peppers.md")  # few, since each leg searches them


class House:
    """Made once for a whole test, with the loop it runs in: an example takes less time than this."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._threads: dict[str, Thread] = {}
        self._numbers = count(1)
        self._replicas: list[Replica] = []
        self._pool: Pool
        self._runner.run(self._set_up())

    def play(self, schedules: Sequence[Schedule]) -> list[Room]:
        """All of them at once, each with an article of its own; the rooms as they were left."""
        return self.run(self._play_all(schedules))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Something that a test wants to know of a room."""
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    async def _set_up(self) -> None:
        self._pool = await open_pool(self._dsn)
        self._stack.push_async_callback(self._pool.close)
        await Documents(self._pool).ingest([SAMPLE / name for name in DOCUMENTS])
        for _ in range(2):
            replica = await self._stack.enter_async_context(open_replica(self._dsn, self._threads))
            self._replicas.append(replica)

    async def _play_all(self, schedules: Sequence[Schedule]) -> list[Room]:
        return await asyncio.gather(*(self._play(schedule) for schedule in schedules))

    async def _play(self, schedule: Schedule) -> Room:
        room = await Room.open(self._pool, self._replicas, self._threads, schedule, self._numbers)
        for this in schedule.rounds:
            await room.play(this)
        await room.finish()
        return room


@pytest.fixture
def house(dsn: str) -> Iterator[House]:
    house = House(dsn)
    yield house
    house.close()
